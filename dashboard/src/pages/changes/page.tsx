/** The changes of orders, customers and parts, newest first, live. Begin here. */
import { useState } from 'preact/hooks';
import type { Change } from '../../../../client/src/contract.ts';
import { KINDS, recordPath } from '../../records/records.ts';
import { usePages } from '../../api/use-load.ts';
import { useQuery } from '../../browser/router.tsx';
import { Badge } from '../../ui/text/text.tsx';
import { Button } from '../../ui/button.tsx';
import { Select, type Option } from '../../ui/form/field.tsx';
import { Empty, Notice, Page } from '../../ui/page.tsx';
import { column, Table, textColumn, timeColumn, type TableColumn } from '../../ui/table/table.tsx';
import { useLive } from '../../ui/table/use-live.ts';
import { CHANGES_MAX, loadNewer, loadNewest, type Feed } from './feed.ts';

const COLUMNS: readonly TableColumn<Change>[] = [
  column('Record', ({ key }) => <bdi>{key}</bdi>),
  column('Type', ({ type }) => KINDS[type].noun),
  column('Change', ({ change }) => <Badge tone={change === 'created' ? 'good' : 'info'}>{change}</Badge>),
  timeColumn('at', 'Time', 'seconds'),
  textColumn('operation', 'Operation', 'mono'),
  textColumn('by', 'Who'),
  textColumn('seq', 'Number', 'mono end'),
];
const TYPES: readonly Option[] = [
  ['', 'All records'],
  ...Object.entries(KINDS).map(([type, { label }]): Option => [type, label]),
];

export default function ChangesPage() {
  const [query, setQuery] = useQuery();
  const type = query.get('type') ?? '';
  const [isPaused, setPaused] = useState(false);
  const key = `changes ${type}`;
  const list = usePages<never, Feed>(key, (_next, signal) => loadNewest(type, signal));
  const [feed] = list.pages;
  const follow = async (signal: AbortSignal) => {
    if (feed === undefined) return [];
    // After a fault the next call does not wait, so that the page soon says that it is live again.
    const newer = await loadNewer(type, feed, live.error === undefined, signal);
    if (!signal.aborted) list.setPages(() => [newer]);
    return newer.changes.map(({ seq }) => seq).filter((seq) => Number(seq) > feed.after);
  };
  const live = useLive(!isPaused, follow, 'change', key);
  const state = isPaused ? 'Paused' : live.error ? 'Disconnected' : 'Live';
  return (
    <Page
      title="Changes"
      badge={<Badge tone={state === 'Live' ? 'good' : 'warn'}>{state}</Badge>}
      description={`The page lists the last ${CHANGES_MAX} changes to orders, customers and parts, including those by imports and commands.`}
      actions={
        <>
          <Select
            label="Type"
            name="type"
            isLabelHidden
            value={type}
            onValue={(value) => setQuery({ type: value })}
            options={TYPES}
          />
          <Button onClick={() => setPaused(!isPaused)}>{isPaused ? 'Resume' : 'Pause'}</Button>
        </>
      }
    >
      {live.error && (
        <Notice tone="warn" title="Disconnected">
          {live.error.message} Trying again.
        </Notice>
      )}
      <Table
        label="Changes"
        columns={COLUMNS}
        rows={feed?.changes}
        from={list}
        rowKey="seq"
        rowLink={({ type: kind, key: record }) => recordPath(kind, record)}
        rowClass={({ seq }) => (live.marked.has(seq) ? 'is-new info' : undefined)}
        empty={
          <Empty title={type ? 'No recent changes of this type' : 'No changes yet'}>New changes appear here.</Empty>
        }
      />
    </Page>
  );
}
