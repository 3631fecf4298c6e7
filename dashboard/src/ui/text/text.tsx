/**
 * A text of the tenant, isolated from the direction of its surroundings, and shortened if it is very long.
 */
import { useState } from 'preact/hooks';
import { Button } from '../button.tsx';

/** The placeholder for a missing value. */
export const None = () => <span class="muted">–</span>;

/** Example: `shorten(customer.CUSTOMER_NAME, 120)`, if there is no room to expand the text. */
export const shorten = (text: string, charactersMax: number): string =>
  text.length <= charactersMax ? text : `${text.slice(0, charactersMax).replace(/[\ud800-\udbff]$/, '')}…`;

/** Example: `<Text value={order.NOTES} />`. */
export function Text({ value, charactersMax = 300 }: { value: string; charactersMax?: number }) {
  const [isWhole, setWhole] = useState(false);
  const isLong = value.length > charactersMax * 1.2;
  return (
    <>
      <bdi class="text">{isLong && !isWhole ? shorten(value, charactersMax) : value}</bdi>
      {isLong && (
        <Button size="small" tone="quiet" class="text-more" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : `Show all ${value.length} characters`}
        </Button>
      )}
    </>
  );
}

/** Example: `countOf(1, 'record')` gives `1 record`, `countOf(1200, 'record')` gives `1,200 records`. */
export const countOf = (count: number, noun: string): string =>
  `${count.toLocaleString()} ${count === 1 ? noun : `${noun}s`}`;
