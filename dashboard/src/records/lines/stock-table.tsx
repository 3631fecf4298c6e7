/**
 * The stock of an order's parts, before and after the last transition. Care plans have no stock.
 */
import { addDecimals, compareDecimals, subtractDecimals } from '../../../../src/pims/rules/decimal.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { useLoad } from '../../api/use-load.ts';
import { loadStock, type Stock } from '../records.ts';
import { Notice, Section } from '../../ui/page.tsx';
import { column, Table, type TableColumn } from '../../ui/table/table.tsx';
import { shorten } from '../../ui/text/text.tsx';
import { Amount, RecordLink } from '../field-column.tsx';

/** Returns the part codes of the lines, each once, without care plans. */
export const stockedParts = (lines: readonly Values[]): string[] => [
  ...new Set(lines.flatMap(({ CARE_PLAN, PART_CODE }) => (CARE_PLAN === 'Y' || !PART_CODE ? [] : [PART_CODE]))),
];

/** Returns how many units of a part the lines have together. */
export const unitsOf = (part: string, lines: readonly Values[]): string =>
  lines
    .filter((line) => line.PART_CODE === part && line.CARE_PLAN !== 'Y')
    .reduce((total, line) => addDecimals(total, line.QUANTITY ?? ''), '0');

interface ShortagesProps {
  lines: readonly Values[];
  stock: ReadonlyMap<string, Stock> | undefined;
}
/**
 * Says of which parts these lines ship more units than are on hand. Example: `<Shortages lines={lines} stock={stock}
 * />`.
 */
export function Shortages({ lines, stock }: ShortagesProps) {
  const shortages = stockedParts(lines).flatMap((part) => {
    const onHand = stock?.get(part)?.onHand;
    const units = unitsOf(part, lines);
    const left = subtractDecimals(onHand ?? '', units);
    const isShort = onHand !== undefined && left.startsWith('-') && compareDecimals(units, '0') > 0;
    return isShort
      ? [`${shorten(part, 80)}: ${units} to ship, ${onHand || 0} on hand; the stock becomes ${left}.`]
      : [];
  });
  return shortages.length === 0 ? null : (
    <Notice tone="warn" title="This ships units that are not in stock">
      {shortages.join(' ')}
    </Notice>
  );
}

interface OrderStockProps {
  parts: readonly string[];
  isDropShip: boolean;
  /** The stock before the last transition; undefined if there was none. */
  before: ReadonlyMap<string, Stock> | undefined;
  /** The tag of the order. Another one loads the stock again. */
  version: string;
}

export function OrderStock({ parts, isDropShip, before, version }: OrderStockProps) {
  const stock = useLoad(`${version} ${JSON.stringify(parts)}`, (signal) => loadStock(parts, signal));
  const { data } = stock;
  if (parts.length === 0) return null;
  const count = (name: keyof Stock, head: string): TableColumn<string> => ({
    key: name,
    head,
    cell: (part) => <Change before={before?.get(part)?.[name]} now={data?.get(part)?.[name] ?? ''} />,
    look: 'end',
  });
  return (
    <Section
      title="Stock"
      description={
        isDropShip
          ? 'This order is drop-shipped, so it does not change any stock.'
          : before && 'The table shows the stock before and after this change.'
      }
    >
      <Table
        label="Stock of the parts"
        rows={data && parts.filter((part) => data.has(part))}
        from={stock}
        skeletonRows={Math.min(parts.length, 5)}
        rowKey={(part) => part}
        columns={[
          column('Part', (part: string) => <RecordLink kind="inventory" code={part} />),
          count('onHand', 'On hand'),
          count('committed', 'Committed'),
          count('available', 'Available'),
        ]}
        empty={<p class="muted no-rows">None of the parts is in the inventory.</p>}
      />
    </Section>
  );
}

function Change({ before, now }: { before: string | undefined; now: string }) {
  if (before === undefined || before === now) return <Amount value={now} />;
  return (
    <>
      <span class="muted">{before}</span> <span aria-hidden="true">→</span>
      <span class="hidden">, now </span>{' '}
      <strong>
        <Amount value={now} />
      </strong>
    </>
  );
}
