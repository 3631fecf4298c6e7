/** One webhook: its state, the actions of developers, and its deliveries. */
import { useRef, useState } from 'preact/hooks';
import { get } from '../../api/client.ts';
import { useGet, usePages } from '../../api/use-load.ts';
import { pathOf, useParams, useQuery } from '../../browser/router.tsx';
import { useSession } from '../../api/session.tsx';
import { Refresh } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { Card, Empty, LoadError, Notice, Page, Section } from '../../ui/page.tsx';
import { column, LoadMore, Table, textColumn, timeColumn, type TableColumn } from '../../ui/table/table.tsx';
import { CodeBlock, CopyText } from '../../ui/text/copy.tsx';
import { formatDuration, KeyValue, Time } from '../../ui/text/text.tsx';
import { WebhookActions } from './actions.tsx';
import { COLUMNS, NEXT_TRY, Outcome, toFacts, type Delivery, type Webhook } from './words.tsx';

export default function WebhookPage() {
  const { id = '' } = useParams();
  const { may } = useSession();
  const webhooks = useGet('/webhooks');
  const { data, error, isLoading } = webhooks;
  /** A number that grows after each action, so that the deliveries are loaded again. */
  const [round, setRound] = useState(0);
  const reload = () => {
    webhooks.reload();
    setRound((before) => before + 1);
  };
  /** The webhook stays on the page when it cannot be loaded again, because a new secret may be shown. */
  const known = useRef<Webhook>(undefined);
  if (data) known.current = data.webhooks.find((one) => one.id === id);
  const webhook = known.current;
  if (webhook === undefined && isLoading) return null;
  return (
    <Page
      title={(webhook && URL.parse(webhook.url)?.host) ?? 'Webhook'}
      description={webhook && <CopyText text={webhook.url} label="Copy the address" />}
      actions={<Refresh isBusy={isLoading} onClick={reload} />}
    >
      {error && <LoadError error={error} />}
      {webhook ? (
        <>
          {may('developer') && <WebhookActions webhook={webhook} onDone={reload} />}
          <Card>
            <KeyValue
              rows={[
                ...toFacts(COLUMNS, webhook),
                ['Created', <Time at={webhook.createdAt} />],
                ['Old secret valid until', <Time at={webhook.secretEndsAt} />],
              ]}
            />
          </Card>
          <Deliveries key={round} id={id} />
        </>
      ) : (
        !error && <Notice title={`There is no webhook '${id}'. It may have been removed.`} />
      )}
    </Page>
  );
}

const DELIVERY_COLUMNS: readonly TableColumn<Delivery>[] = [
  textColumn('type', 'Event'),
  column('Outcome', Outcome, 'wide'),
  column('Record', ({ key }) => <bdi>{key}</bdi>),
  timeColumn('at', 'Time', 'seconds'),
  textColumn('attempt', 'Attempt', 'end'),
  column('Duration', ({ durationMs }) => formatDuration(durationMs), 'end'),
  NEXT_TRY,
];

function Deliveries({ id }: { id: string }) {
  const [query, setQuery] = useQuery();
  const list = usePages(`deliveries ${id}`, (before: string | undefined, signal) =>
    get('/webhooks/deliveries', { id, before }, signal),
  );
  const { pages, isLoading, more } = list;
  const rows = pages.flatMap(({ deliveries }) => deliveries);
  const opened = rows.find(({ number }) => number === query.get('delivery'));
  return (
    <Section title="Deliveries" description="The table lists the attempts of the last 30 days, newest first.">
      <Table
        label="Attempts"
        columns={DELIVERY_COLUMNS}
        rows={pages.length === 0 ? undefined : rows}
        from={list}
        rowKey="number"
        rowLink={({ number }) => `${pathOf('/webhooks/:id', { id })}?delivery=${number}`}
        empty={<Empty title="No deliveries yet. Send a test to see that your app answers." />}
      />
      {more && <LoadMore label="Older" onMore={more} isBusy={isLoading} />}
      {opened && (
        <Dialog title={opened.type} width="wide" onClose={() => setQuery({ delivery: null }, { replace: true })}>
          <KeyValue rows={toFacts(DELIVERY_COLUMNS, opened)} />
          <CodeBlock label="Request" code={JSON.stringify(JSON.parse(opened.request), null, 2)} />
          <CodeBlock label="Response" code={opened.response} />
        </Dialog>
      )}
    </Section>
  );
}
