/** The stock of one part: what people can do to it, its ledger, and the orders that wait for it. */
import { useState } from 'preact/hooks';
import type { MovementsView, WaitingView } from '../../../../src/http/dashboard/interface.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { get } from '../../api/client.ts';
import { useGet, usePages } from '../../api/use-load.ts';
import { recordPath } from '../../api/records.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty, Section } from '../../ui/page.tsx';
import { Table, textColumn, timeColumn, type TableColumn } from '../../ui/table/table.tsx';
import { Text } from '../../ui/text/text.tsx';
import { RecordLink } from '../records/field-column.tsx';
import { ACTIONS, signed, StockDialog, type Action } from './stock-dialog.tsx';

type Movement = MovementsView['movements'][number];

/** The buttons of a part, for clerks. Example: `<StockActions part={values} onDone={reload} />`. */
export function StockActions({ part, onDone }: { part: Values; onDone: () => void }) {
  const [action, setAction] = useState<Action>();
  return (
    <>
      {(Object.keys(ACTIONS) as Action[]).map((name) => (
        <Button key={name} onClick={() => setAction(name)}>
          {ACTIONS[name].title}
        </Button>
      ))}
      {action && <StockDialog action={action} part={part} onDone={onDone} onClose={() => setAction(undefined)} />}
    </>
  );
}

const LEDGER: readonly TableColumn<Movement>[] = [
  timeColumn('at', 'When'),
  { key: 'kind', head: 'What', cell: ({ kind }) => kind[0]!.toUpperCase() + kind.slice(1) },
  { key: 'quantity', head: 'Units', align: 'end', cell: ({ quantity }) => signed(quantity) },
  { key: 'after', head: 'On hand', align: 'end', cell: ({ before, after }) => `${before} → ${after}` },
  { key: 'order', head: 'Order', cell: ({ orderNumber }) => <RecordLink kind="orders" code={orderNumber} /> },
  textColumn('by', 'Who'),
  {
    key: 'reason',
    head: 'Reason',
    isWide: true,
    cell: ({ reason, serials }) => <Text value={[reason, serials.join(', ')].filter(Boolean).join(' · ')} />,
  },
];

/** Example: `<Ledger partCode="11" round={rounds} />`; it is loaded again in each round. */
export function Ledger({ partCode, round }: { partCode: string; round: string }) {
  const list = usePages<number, MovementsView>(`${partCode} ${round}`, (before, signal) =>
    get('/stock/movements', { PART_CODE: partCode, before }, signal),
  );
  return (
    <Section title="Stock ledger" description="Every change of the units on hand.">
      <Table
        label="Movements"
        columns={LEDGER}
        rows={list.pages.length === 0 ? undefined : list.pages.flatMap(({ movements }) => movements)}
        from={list}
        skeletonRows={3}
        rowKey="number"
        empty={<Empty title="No movements yet">Receive or count the part to begin.</Empty>}
      />
      {list.more && <Button onClick={list.more}>Show older</Button>}
    </Section>
  );
}

const WAITING: readonly TableColumn<WaitingView>[] = [
  textColumn('ORDER_NUMBER', 'Order'),
  textColumn('ORDER_DATE', 'Date'),
  { key: 'customer', head: 'Customer', isWide: true, cell: (order) => <bdi>{order.BNAME || order.CUSTOMER_CODE}</bdi> },
  textColumn('quantity', 'Units', { align: 'end' }),
  {
    key: 'fill',
    head: 'Stock',
    cell: ({ canFill }) => <Badge tone={canFill ? 'good' : 'warn'}>{canFill ? 'Can be shipped' : 'Short'}</Badge>,
  },
];

/** Example: `<WaitingOrders partCode="11" round={rounds} />`. */
export function WaitingOrders({ partCode, round }: { partCode: string; round: string }) {
  const waiting = useGet('/stock/waiting', { PART_CODE: partCode }, round);
  return (
    <Section title="Orders waiting for this part" description="Open sales orders, the oldest first.">
      <Table
        label="Waiting orders"
        columns={WAITING}
        rows={waiting.data?.orders}
        from={waiting}
        skeletonRows={2}
        rowKey="ORDER_NUMBER"
        rowLink={(order) => recordPath('orders', order.ORDER_NUMBER)}
        empty={<Empty title="No order waits for this part" />}
      />
    </Section>
  );
}
