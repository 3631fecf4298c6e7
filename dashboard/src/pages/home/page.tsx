/** The first page: what waits, stock that is short, the calls of the month, and the first steps of a new team. */
import { get } from '../../api/client.ts';
import { filteredPath, formatFilter, type RecordFilter } from '../../api/filters.ts';
import { countRecords, type Kind } from '../../api/records.ts';
import { useLoad } from '../../api/use-load.ts';
import { Link } from '../../router.tsx';
import { useSession } from '../../session.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Columns, Figure, Page, Section } from '../../ui/page.tsx';
import { Meter } from '../../ui/text/meter.tsx';

const where = (field: string, op: RecordFilter['op'], value: string): RecordFilter => ({
  conjunction: 'AND',
  field,
  op,
  value,
});
const notCancelled = where('ORDER_STATUS', 'ne', 'CANCELLED');
const WAITING: readonly (readonly [label: string, kind: Kind, filters: readonly RecordFilter[]])[] = [
  ['Open orders', 'orders', [where('ORDER_TYPE', 'eq', 'sales_order'), notCancelled]],
  ['Quotes to approve', 'orders', [where('ORDER_TYPE', 'eq', 'quote'), notCancelled]],
  ['Drafts', 'orders', [where('ORDER_TYPE', 'eq', 'worksheet'), notCancelled]],
  ['Parts that are short', 'inventory', [where('QTY_AVAILABLE', 'lt', '0')]],
];

export function HomePage() {
  const { may, tenant } = useSession();
  const counts = useLoad('waiting', async (signal) => {
    const found = await Promise.allSettled(WAITING.map(([, kind, filters]) => countRecords(kind, filters, signal)));
    return found.map((one) => (one.status === 'fulfilled' ? one.value : undefined));
  });
  const orders = useLoad('orders', (signal) => countRecords('orders', [], signal));
  const search = (filters: readonly RecordFilter[]) =>
    new URLSearchParams(filters.map((filter) => ['filter', formatFilter(filter)])).toString();
  return (
    <Page title={tenant.name}>
      {orders.data === 0 && <FirstSteps />}
      <Section title="Waiting">
        <Columns>
          {WAITING.map(([label, kind, filters], at) => (
            <Figure
              key={label}
              label={label}
              value={counts.data?.[at]?.toLocaleString() ?? '–'}
              note={<Link to={`/records/${kind}?${search(filters)}`}>Show</Link>}
            />
          ))}
        </Columns>
      </Section>
      {may('developer') && <Calls />}
    </Page>
  );
}

/** The calls of the month and of today, and how many failed. Days are UTC. */
function Calls() {
  const { data } = useLoad('usage', (signal) => get('/usage', {}, signal));
  const day = new Date().toISOString().slice(0, 10);
  const today = data?.rows.filter((row) => row.day === day) ?? [];
  const sum = (of: 'calls' | 'refused') => today.reduce((total, row) => total + row[of], 0);
  return (
    <Section title="API">
      <Columns>
        <Figure
          label="Calls today"
          value={data ? sum('calls').toLocaleString() : '–'}
          note={<Link to="/usage">Usage</Link>}
        />
        <Figure
          label="Failed today"
          value={data ? sum('refused').toLocaleString() : '–'}
          note={<Link to="/requests?status=4xx">Requests</Link>}
        />
        <Figure
          label="Calls this month"
          value={data?.total.toLocaleString() ?? '–'}
          note={
            data?.monthQuota ? (
              <>
                of {data.monthQuota.toLocaleString()}
                <Meter label="Used part of the quota" value={data.total} max={data.monthQuota} />
              </>
            ) : (
              'No limit'
            )
          }
        />
      </Columns>
    </Section>
  );
}

function FirstSteps() {
  const { may } = useSession();
  return (
    <Notice
      title="There are no orders yet"
      actions={
        <>
          {may('developer') && <ButtonLink to="/api-settings">Create keys</ButtonLink>}
          {may('clerk') && <ButtonLink to="/records/orders/new">New order</ButtonLink>}
          <ButtonLink to={filteredPath('orders', {})}>Orders</ButtonLink>
        </>
      }
    >
      Orders come in two ways: your shop sends them through the API with a pair of keys, or the operator imports a CSV
      file with <code>storeroom import</code>.
    </Notice>
  );
}
