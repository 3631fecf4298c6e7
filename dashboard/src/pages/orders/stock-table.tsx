/**
 * The stock of an order's parts, before and after the last transition. Care plans have no stock.
 */
import type { Values } from '../../../../src/pims/rules/values.ts';
import { useLoad } from '../../api/use-load.ts';
import { loadStock, type Stock } from '../../api/records.ts';
import { Section } from '../../ui/page.tsx';
import { Table, type TableColumn } from '../../ui/table/table.tsx';
import { Amount, RecordLink } from '../records/field-column.tsx';

/** Returns the part codes of the lines, each once, without care plans. */
export const stockedParts = (lines: readonly Values[]): string[] => [
  ...new Set(lines.flatMap(({ CARE_PLAN, PART_CODE }) => (CARE_PLAN === 'Y' || !PART_CODE ? [] : [PART_CODE]))),
];

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
  const column = (name: keyof Stock, head: string): TableColumn<string> => ({
    key: name,
    head,
    cell: (part) => <Change before={before?.get(part)?.[name]} now={data?.get(part)?.[name] ?? ''} />,
    align: 'end',
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
          { key: 'part', head: 'Part', cell: (part) => <RecordLink kind="inventory" code={part} /> },
          column('onHand', 'On hand'),
          column('committed', 'Committed'),
          column('available', 'Available'),
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
