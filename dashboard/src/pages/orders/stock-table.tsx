/**
 * The stock of an order's parts, before and after the last transition. Care plans have no stock.
 */
import type { Values } from '../../../../src/pims/rules/values.ts';
import { useLoad } from '../../api/use-load.ts';
import { loadStock, recordPath, type Stock } from '../../api/records.ts';
import { Link } from '../../router.tsx';
import { LoadError } from '../../ui/notice.tsx';
import { Section } from '../../ui/page.tsx';
import { Table, type TableColumn } from '../../ui/table/table.tsx';

export const stockedParts = (lines: readonly Values[]): string[] =>
  [...new Set(lines.filter((line) => line['CARE_PLAN'] !== 'Y').map((line) => line['PART_CODE'] ?? ''))].filter(
    (code) => code !== '',
  );

interface OrderStockProps {
  parts: readonly string[];
  isDropShip: boolean;
  /** Before the last step; undefined before the first. */
  before: ReadonlyMap<string, Stock> | undefined;
  /** Goes up with each step. */
  round: number;
}

export function OrderStock({ parts, isDropShip, before, round }: OrderStockProps) {
  const { data, error, isLoading, reload } = useLoad(`${round} ${JSON.stringify(parts)}`, (signal) =>
    loadStock(parts, signal),
  );
  if (parts.length === 0) return null;
  const rows = data && parts.filter((part) => data.has(part));
  const column = (name: keyof Stock, head: string): TableColumn<string> => ({
    key: name,
    head,
    cell: (part) => <Change before={before?.get(part)?.[name]} now={data?.get(part)?.[name] ?? ''} />,
    align: 'end',
  });
  const partColumn: TableColumn<string> = {
    key: 'part',
    head: 'PART_CODE',
    cell: (part) => (
      <Link class="row-link" to={recordPath('inventory', part)}>
        <bdi>{part}</bdi>
      </Link>
    ),
  };
  return (
    <Section
      title="Stock"
      description={
        isDropShip
          ? 'This order is drop-shipped: it touches no stock.'
          : before && 'Before and after the step just taken.'
      }
    >
      {error === undefined ? (
        <Table
          label="Stock of the parts"
          rows={rows}
          isLoading={isLoading}
          skeletonRows={Math.min(parts.length, 5)}
          rowKey={(part) => part}
          columns={[
            partColumn,
            column('onHand', 'QTY_ONHAND'),
            column('committed', 'QTY_COMMITTED'),
            column('available', 'QTY_AVAILABLE'),
          ]}
          empty={<p class="muted no-rows">None of the parts is in the inventory.</p>}
        />
      ) : (
        <LoadError error={error} onRetry={reload} />
      )}
    </Section>
  );
}

function Change({ before, now }: { before: string | undefined; now: string }) {
  const value = <span class={now.startsWith('-') ? 'negative' : undefined}>{now}</span>;
  if (before === undefined || before === now) return value;
  return (
    <span class="change">
      <span class="muted">{before}</span> <span aria-hidden="true">→</span>
      <span class="hidden">, now </span> <strong>{value}</strong>
    </span>
  );
}
