/** The first page: the work that waits, short stock, the calls of the month, and the first steps of a new team. */
import { searchOf } from '../../records/filters.ts';
import { queryRecords, type Kind } from '../../records/records.ts';
import { useGet, useLoad } from '../../api/use-load.ts';
import { Link } from '../../browser/router.tsx';
import { useSession } from '../../api/session.tsx';
import { Actions, ButtonLink } from '../../ui/button.tsx';
import { Card, Columns, Figure, Page, Section } from '../../ui/page.tsx';
import { Meter } from '../../ui/text/meter.tsx';
import { countViews, VIEWS } from '../../records/views.tsx';

const LABELS: Readonly<Record<string, string>> = {
  Open: 'Open orders',
  Quotes: 'Quotes to approve',
  Short: 'Parts in short supply',
};
const WAITING = VIEWS.orders.filter(([label]) => ['Open', 'Quotes', 'Drafts'].includes(label));
const SHORT = VIEWS.inventory.filter(([label]) => label === 'Short');

export default function HomePage() {
  const { may, tenant } = useSession();
  const orders = useLoad('orders', (signal) => countViews('orders', WAITING, signal));
  const parts = useLoad('parts', (signal) => countViews('inventory', SHORT, signal));
  const all = useLoad('all', (signal) => queryRecords('orders', [], { maxReturn: 1 }, signal));
  const figures = (kind: Kind, views = kind === 'orders' ? WAITING : SHORT) =>
    views.map(([view, filters, count]) => {
      const label = LABELS[view] ?? view;
      return (
        <Figure
          key={view}
          label={label}
          value={count?.toLocaleString() ?? '–'}
          note={<Link to={`/records/${kind}?${searchOf(filters)}`}>Show {label.toLowerCase()}</Link>}
        />
      );
    });
  return (
    <Page title={tenant.name}>
      {all.data?.rows.length === 0 && <FirstSteps />}
      <Section title="Waiting">
        <Columns>
          {figures('orders', orders.data)}
          {figures('inventory', parts.data)}
        </Columns>
      </Section>
      {may('developer') && <Calls />}
    </Page>
  );
}

/** The calls of the month and of today, and how many failed. Days are UTC. */
function Calls() {
  const { data } = useGet('/usage');
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
          note={<Link to="/requests?status=failed&range=24h">Requests</Link>}
        />
        <Figure
          label="Calls this month"
          value={data?.total.toLocaleString() ?? '–'}
          note={
            data?.monthQuota ? (
              <>
                of {data.monthQuota.toLocaleString()}
                <Meter label="Used share of the quota" value={data.total} max={data.monthQuota} />
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

/** The first steps of a team without orders: both ways to add orders. */
function FirstSteps() {
  const { may } = useSession();
  return (
    <Section
      title="Begin here"
      description="Orders appear when your shop sends them, or when you import or enter them."
    >
      <Columns>
        <Card>
          <h3 class="card-title">From your shop, through the API</h3>
          <p>Create keys for your shop. Then send a test order and look for it in the list.</p>
          {may('developer') ? (
            <Actions>
              <ButtonLink to="/explorer/createOrder">Send a test order</ButtonLink>
              <ButtonLink to="/api-settings" tone="primary">
                Create keys
              </ButtonLink>
            </Actions>
          ) : (
            <p class="muted">Ask an owner or a developer of your team for this.</p>
          )}
        </Card>
        <Card>
          <h3 class="card-title">From a file, or by hand</h3>
          <p>Import CSV files of parts, customers and orders, or type an order in.</p>
          {may('clerk') && (
            <Actions>
              <ButtonLink to="/imports" tone="primary">
                Import CSV
              </ButtonLink>
              <ButtonLink to="/records/orders/new">New order</ButtonLink>
            </Actions>
          )}
        </Card>
      </Columns>
    </Section>
  );
}
