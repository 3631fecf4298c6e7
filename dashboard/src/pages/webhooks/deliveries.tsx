/** The deliveries of a webhook, newest first, and one of them with its request and its response. */
import { useEffect } from 'preact/hooks';
import { get } from '../../api/client.ts';
import { isKind, recordPath } from '../../api/records.ts';
import { usePages } from '../../api/use-pages.ts';
import { Link, pathOf, useQuery } from '../../router.tsx';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { Empty, LoadError } from '../../ui/notice.tsx';
import { Section } from '../../ui/page.tsx';
import { LoadMore } from '../../ui/table/page-buttons.tsx';
import { Table, type TableColumn } from '../../ui/table/table.tsx';
import { CodeBlock } from '../../ui/text/copy.tsx';
import { KeyValue } from '../../ui/text/key-value.tsx';
import { countOf, None } from '../../ui/text/text.tsx';
import { Time } from '../../ui/text/time.tsx';
import { formatDuration } from '../requests/list-page.tsx';
import { Outcome, type Delivery } from './words.tsx';

interface DeliveryPage {
  readonly deliveries: readonly Delivery[];
  readonly next: string | null;
}

const COLUMNS: readonly TableColumn<Delivery>[] = [
  { key: 'type', head: 'Event', cell: ({ type }) => type },
  { key: 'outcome', head: 'Outcome', isWide: true, cell: (delivery) => <Outcome of={delivery} /> },
  { key: 'key', head: 'Record', cell: ({ key }) => (key === '' ? <None /> : <bdi>{key}</bdi>) },
  { key: 'at', head: 'Time', cell: ({ at }) => <Time at={at} to="seconds" /> },
  { key: 'attempt', head: 'Attempt', align: 'end', cell: ({ attempt }) => attempt },
  { key: 'duration', head: 'Duration', align: 'end', cell: ({ durationMs }) => formatDuration(durationMs) },
  { key: 'next', head: 'Next try', cell: ({ nextTryAt }) => <Time at={nextTryAt} to="seconds" /> },
];

/** Loads them again when `round` changes. */
export function Deliveries({ id, round }: { id: string; round: number }) {
  const [query, setQuery] = useQuery();
  const list = usePages<string, DeliveryPage>(`deliveries ${id}`, async (before, signal) => {
    const { deliveries, more } = await get('/webhooks/deliveries', { id, before }, signal);
    return { deliveries, next: more ? deliveries.at(-1)!.number : null };
  });
  const { pages, error, isLoading, more, reload } = list;
  useEffect(() => {
    if (round > 0) reload();
  }, [round]);
  const rows = pages.flatMap(({ deliveries }) => deliveries);
  const opened = rows.find(({ number }) => number === query.get('delivery'));
  const toDelivery = ({ number }: Delivery) =>
    `${pathOf('/webhooks/:id', { id })}?${new URLSearchParams({ delivery: number }).toString()}`;
  return (
    <Section title="Deliveries" description="Attempts of the last 30 days, newest first.">
      {error && pages.length > 0 && <LoadError error={error} onRetry={more ?? reload} />}
      <Table
        label="Attempts"
        columns={COLUMNS}
        rows={pages.length === 0 ? undefined : rows}
        from={list}
        rowKey={({ number }) => number}
        rowLink={toDelivery}
        empty={<Empty title="No deliveries yet">Send a test to see that your app answers.</Empty>}
      />
      {pages.length > 0 && (
        <LoadMore label="Older" onMore={more} isBusy={isLoading}>
          {countOf(rows.length, 'attempt')}
        </LoadMore>
      )}
      {opened && <Opened delivery={opened} onClose={() => setQuery({ delivery: null }, { replace: true })} />}
    </Section>
  );
}

function Opened({ delivery, onClose }: { delivery: Delivery; onClose: () => void }) {
  const { seq, type, key, at, attempt, durationMs, request, response, nextTryAt } = delivery;
  const kind = type.split('.')[0]!;
  return (
    <Dialog title={type} width="wide" onClose={onClose}>
      <KeyValue
        rows={[
          ['Outcome', <Outcome of={delivery} />],
          ['Time', <Time at={at} to="milliseconds" />],
          ['Attempt', attempt],
          ['Duration', formatDuration(durationMs)],
          ['Next try', <Time at={nextTryAt} to="seconds" />],
          ['Change', seq],
          ['Record', isKind(kind) ? <Link to={recordPath(kind, key)}>{key}</Link> : key],
        ]}
      />
      <CodeBlock label="Request" code={indent(request)} copied={request} />
      {response === '' ? <p class="muted">No response body.</p> : <CodeBlock label="Response" code={response} />}
    </Dialog>
  );
}

/** Returns JSON with one member a line. */
function indent(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
