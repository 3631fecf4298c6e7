/** The changes of orders, customers and parts, newest first, live. Begin here. */
import { useState } from 'preact/hooks';
import { KINDS, recordPath } from '../../api/records.ts';
import { usePages } from '../../api/use-pages.ts';
import { useQuery } from '../../router.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Select } from '../../ui/form/field.tsx';
import { Empty, LoadError, Notice } from '../../ui/notice.tsx';
import { Page, Toolbar } from '../../ui/page.tsx';
import { Table, type TableColumn } from '../../ui/table/table.tsx';
import { countOf, None } from '../../ui/text/text.tsx';
import { Time } from '../../ui/text/time.tsx';
import { useLive, type Live } from '../requests/use-live.ts';
import { addNewer, CHANGES_MAX, loadNewer, loadNewest, type Change, type Feed } from './feed.ts';

const COLUMNS: readonly TableColumn<Change>[] = [
  { key: 'key', head: 'Record', cell: ({ key }) => <bdi>{key}</bdi> },
  { key: 'type', head: 'Type', cell: ({ type }) => KINDS[type].noun },
  {
    key: 'change',
    head: 'Change',
    cell: ({ change }) => <Badge tone={change === 'created' ? 'good' : 'info'}>{change}</Badge>,
  },
  { key: 'at', head: 'Time', cell: ({ at }) => <Time at={at} to="seconds" /> },
  { key: 'operation', head: 'Operation', isMono: true, cell: ({ operation }) => operation || <None /> },
  { key: 'seq', head: 'Number', align: 'end', isMono: true, cell: ({ seq }) => seq },
];
const ALL = { value: '', label: 'All records' };
const TYPES = [ALL, ...Object.entries(KINDS).map(([value, { label }]) => ({ value, label }))];

export function ChangesPage() {
  const [query, setQuery] = useQuery();
  const { value: type } = TYPES.find(({ value }) => value === query.get('type')) ?? ALL;
  const [isPaused, setPaused] = useState(false);
  const key = `changes ${type}`;
  const list = usePages<never, Feed>(key, (_next, signal) => loadNewest(type, signal));
  const { pages, error, isLoading, reload, setPages } = list;
  const [feed] = pages;
  const follow = async (signal: AbortSignal) => {
    if (feed === undefined || isLoading) return [];
    // After a fault the next call does not wait, so that the page soon says that it is live again.
    const newer = await loadNewer(type, feed, live.error === undefined, signal);
    if (newer === undefined) {
      reload();
      return [];
    }
    if (!signal.aborted) setPages(([before]) => (before === undefined ? [] : [addNewer(before, newer)]));
    return newer.changes.map(({ seq }) => seq);
  };
  const live = useLive(!isPaused, follow, 'change', key);
  const turn = () => {
    if (isPaused) reload();
    setPaused(!isPaused);
  };
  return (
    <Page
      title="Changes"
      badge={<State isPaused={isPaused} live={live} />}
      description={`The last ${CHANGES_MAX} changes of orders, customers and parts, by the API, the dashboard, commands and imports.`}
      actions={<Button onClick={turn}>{isPaused ? 'Resume' : 'Pause'}</Button>}
    >
      <Toolbar label="Filters">
        <Select
          label="Type"
          name="type"
          isLabelHidden
          value={type}
          onValue={(value) => setQuery({ type: value })}
          options={TYPES}
        />
      </Toolbar>
      {isPaused && <Notice title="Paused">New changes are not shown until you press Resume.</Notice>}
      {live.error && (
        <Notice tone="warn" title="Disconnected">
          {live.error.message} New changes are not shown. Trying again.
        </Notice>
      )}
      {error !== undefined && feed !== undefined && <LoadError error={error} onRetry={reload} />}
      <Table
        label="Changes"
        columns={COLUMNS}
        rows={feed?.changes}
        from={list}
        rowKey={({ seq }) => seq}
        rowLink={({ type: kind, key: record }) => recordPath(kind, record)}
        rowClass={({ seq }) => (live.marked.has(seq) ? 'is-new info' : undefined)}
        empty={<NoChanges isAll={type === ''} />}
      />
      {feed && <p class="muted under-table">{countOf(feed.changes.length, 'change')}</p>}
    </Page>
  );
}

function State({ isPaused, live }: { isPaused: boolean; live: Live }) {
  if (isPaused) return <Badge>Paused</Badge>;
  return live.error ? <Badge tone="warn">Disconnected</Badge> : <Badge tone="good">Live</Badge>;
}

const NoChanges = ({ isAll }: { isAll: boolean }) =>
  isAll ? (
    <Empty title="No changes yet">New changes appear here immediately.</Empty>
  ) : (
    <Empty title="No changes of this type">None is among the newest changes. New ones appear here.</Empty>
  );
