/** The history of an order, newest first: who did what, and the old and new values of changed fields. */
import type { AnswerOf } from '../../../../src/http/dashboard/interface.ts';
import { useGet } from '../../api/use-load.ts';
import { Link } from '../../browser/router.tsx';
import { useSession } from '../../api/session.tsx';
import { Empty, Section } from '../../ui/page.tsx';
import { column, Table, textColumn, timeColumn, type TableColumn } from '../../ui/table/table.tsx';
import { labelOf } from '../../records/label.ts';
import { formatDate } from '../../ui/text/text.tsx';

type Entry = AnswerOf<'GET /orders/history'>['entries'][number];

const OPERATIONS: Readonly<Record<string, string>> = {
  createOrder: 'Created',
  addLineItem: 'Line added',
  updateLineItem: 'Line changed',
  updateOrder: 'Changed',
  cancelOrder: 'Cancelled',
  approveOrder: 'Approved',
  invoiceOrder: 'Invoiced',
  voidInvoice: 'Voided',
  returnOrder: 'Returned',
  import: 'Imported',
};

/** Describes an entry. A partial invoice creates the order of the open units. */
const describe = ({ operation, changes }: Entry) =>
  operation === 'invoiceOrder' && changes.every(([field]) => field !== 'ORDER_TYPE')
    ? 'Split off as a backorder'
    : (OPERATIONS[operation] ?? operation);

const show = (field: string, value: string) => (field === 'ORDER_DATE' ? formatDate(value) : value);

const COLUMNS: readonly TableColumn<Entry>[] = [
  timeColumn('at', 'Time', 'seconds'),
  column('What', describe),
  textColumn('by', 'Who'),
  column(
    'Changes',
    ({ changes }) => (
      <ul class="changes">
        {changes.map(([field, before, after, line], index) => (
          <li key={index}>
            {line !== undefined && `Line ${line}: `}
            {field === 'line' ? '' : `${labelOf(field)} `}
            {before !== '' && <del>{show(field, before)}</del>}{' '}
            <bdi>{after === '' ? 'removed' : show(field, after)}</bdi>
          </li>
        ))}
      </ul>
    ),
    'wide',
  ),
];

/** Example: `<History number="20015" version={tag} />`. Another version loads it again. */
export function History({ number, version }: { number: string; version: string }) {
  const { may } = useSession();
  const history = useGet('/orders/history', { ORDER_NUMBER: number }, version);
  return (
    <Section
      title="History"
      description={history.data?.isWhole === false ? 'Older changes are not shown.' : undefined}
      actions={
        may('developer') && <Link to={`/requests?order=${encodeURIComponent(number)}`}>Requests of this order</Link>
      }
    >
      <Table
        label="Changes of the order"
        columns={COLUMNS}
        rows={history.data?.entries}
        from={history}
        skeletonRows={3}
        rowKey={({ at, operation, changes }) => `${at} ${operation} ${JSON.stringify(changes)}`}
        empty={<Empty title="No recorded changes">The last change is older than the changes that are kept.</Empty>}
      />
    </Section>
  );
}
