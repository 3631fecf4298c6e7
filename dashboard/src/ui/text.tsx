/**
 * A text of the tenant's, whatever is in it: kept apart from the direction of what stands around it, and a very long one only begun until somebody wants
 * the rest.
 */
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';

/** Example: `shorten(customer.CUSTOMER_NAME, 120)`, for where there is no room to unfold. */
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
