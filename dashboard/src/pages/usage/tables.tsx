/**
 * The calls of a month as tables, by operation, day or pair of keys. The address keeps the selected table and its sort
 * order.
 */
import type { UsageView } from '../../../../src/http/dashboard/interface.ts';
import { useQuery } from '../../browser/router.tsx';
import { ShareBar } from '../../ui/text/meter.tsx';
import { Empty, Section } from '../../ui/page.tsx';
import { useSort } from '../../ui/table/sort.ts';
import { column, Table, textColumn, type TableColumn } from '../../ui/table/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { formatCount, formatDay, sumBy, type Counts } from './daily-counts.ts';

export const TABLES_ID = 'usage-tables';
const VALUES = {
  name: ({ name }: Counts) => name,
  calls: ({ calls }: Counts) => calls,
  answered: ({ calls, refused }: Counts) => calls - refused,
  refused: ({ refused }: Counts) => refused,
};

export function UsageTables({ view }: { view: UsageView }) {
  const [query, setQuery] = useQuery();
  return (
    <div id={TABLES_ID}>
      <Section title="Calls in detail">
        <Tabs
          label="Calls in detail"
          selected={query.get('by') ?? 'operation'}
          onSelect={(by) => setQuery({ by: by === 'operation' ? null : by, sort: null }, { replace: true })}
          tabs={[
            {
              id: 'operation',
              label: 'By operation',
              content: () => <CountTable key="operation" view={view} by="operation" />,
            },
            { id: 'day', label: 'By day', content: () => <CountTable key="day" view={view} by="day" /> },
            { id: 'keys', label: 'By keys', content: () => <KeyCountTable view={view} /> },
          ]}
        />
      </Section>
    </div>
  );
}

const count = (key: string, head: string, of: (row: Counts) => number): TableColumn<Counts> => ({
  key,
  head,
  look: 'end',
  isSortable: true,
  cell: (row) => formatCount(of(row)),
});
const shareOf = <Row extends { calls: number }>(total: number): TableColumn<Row> =>
  column('Share of the calls', ({ calls }) => <ShareBar part={calls} whole={total} />, 'wide');

function CountTable({ view, by }: { view: UsageView; by: 'day' | 'operation' }) {
  const isByDay = by === 'day';
  const { sorted, sort } = useSort(sumBy(view.rows, by), VALUES, isByDay ? 'name' : '-calls');
  return (
    <Table
      label={isByDay ? 'Calls by day' : 'Calls by operation'}
      columns={[
        {
          key: 'name',
          head: isByDay ? 'Day (UTC)' : 'Operation',
          look: isByDay ? undefined : 'mono',
          isSortable: true,
          cell: ({ name }) => (isByDay ? <time dateTime={name}>{formatDay(name)}</time> : name),
        },
        count('calls', 'Calls', VALUES.calls),
        count('answered', 'Succeeded', VALUES.answered),
        count('refused', 'Failed', VALUES.refused),
        shareOf(view.total),
      ]}
      rows={sorted}
      rowKey="name"
      sort={sort}
      empty={
        <Empty title="No calls in this month">
          Every call to an operation with valid keys counts, even if it fails.
        </Empty>
      }
    />
  );
}

/** Calls without a pair, or from before pairs were counted, have a separate row. */
function KeyCountTable({ view: { byKey, total } }: { view: UsageView }) {
  const others = total - byKey.reduce((sum, { calls }) => sum + calls, 0);
  const rest = { apiID: '', name: 'Explorer and older calls', calls: others };
  return (
    <Table
      label="Calls by keys"
      columns={[
        column('Keys', ({ name, apiID }: Record<'name' | 'apiID', string>) =>
          apiID ? name : <span class="muted">{name}</span>,
        ),
        textColumn('apiID', 'API ID', 'mono'),
        column('Calls', ({ calls }: { calls: number }) => formatCount(calls), 'end'),
        shareOf(total),
      ]}
      rows={others > 0 ? [...byKey, rest] : byKey}
      rowKey="apiID"
      empty={<Empty title="No calls in this month">Every call with valid keys counts.</Empty>}
    />
  );
}
