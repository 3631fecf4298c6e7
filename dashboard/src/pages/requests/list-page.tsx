/**
 * The list of requests, newest first: search, table, older pages, and live updates. Back from a request restores the
 * list. Begin here.
 */
import { useRef, useState } from 'preact/hooks';
import type { RequestsView, RequestView } from '../../../../src/http/dashboard/interface.ts';
import { get } from '../../api/client.ts';
import { usePages } from '../../api/use-load.ts';
import { pathOf, useQuery } from '../../browser/router.tsx';
import { useSession } from '../../api/session.tsx';
import { Badge, countOf, formatDuration, None, StatusBadge, Time } from '../../ui/text/text.tsx';
import { Button, Refresh } from '../../ui/button.tsx';
import { Empty, Notice, Page } from '../../ui/page.tsx';
import { column, LoadMore, Table, textColumn, timeColumn, type TableColumn } from '../../ui/table/table.tsx';
import { toRequestsQuery, isNarrowed, parseSearch } from './search.ts';
import { RequestFilters } from './search-form.tsx';
import { Failures, Rejected } from './failures.tsx';
import { mergeNewest } from './merge-newest.ts';
import { findPages, usePlace } from '../../ui/table/place.ts';
import { useLive } from '../../ui/table/use-live.ts';

const COLUMNS: readonly TableColumn<RequestView>[] = [
  timeColumn('at', 'Time', 'milliseconds'),
  column('Status', ({ httpStatus }) => <StatusBadge status={httpStatus} />),
  column(
    'Operation',
    ({ operation, explorerUser }) => (
      <>
        {operation} {explorerUser !== null && <Badge>explorer</Badge>}
      </>
    ),
    'mono',
  ),
  column('Key', ({ keyName, explorerUser }) => keyName ?? (explorerUser !== null ? 'Explorer' : <None />)),
  column('Duration', ({ milliseconds }) => formatDuration(milliseconds), 'end'),
  column('Error code', ({ code }) => code ?? <None />, 'mono'),
  textColumn('client', 'Client', 'mono'),
  textColumn('requestID', 'Request ID', 'mono'),
];

export default function RequestListPage() {
  const [query, setQuery] = useQuery();
  const { user, tenant, may } = useSession();
  const filter = parseSearch(query);
  const owner = `${tenant.teamID} ${user.email}`;
  const [kept] = useState(() => findPages<RequestsView>(owner));
  const from = useRef('');
  const list = usePages(
    `${owner} ${JSON.stringify(filter)}`,
    (next: string | undefined, signal) => {
      const asked = toRequestsQuery(filter, Date.now());
      // Older pages are from the same period as the first page, not from an hour that ends now.
      if (next === undefined || from.current === '') from.current = asked.from ?? '';
      return get('/requests', { ...asked, from: from.current, cursor: next }, signal);
    },
    kept,
  );
  const { pages, isLoading, more, reload, setPages } = list;
  const isLive = query.get('live') === '1';
  const live = useLive(isLive, async (signal) => {
    if (isLoading) return [];
    const newest = await get('/requests', toRequestsQuery(filter, Date.now()), signal);
    const { added } = mergeNewest(pages, newest);
    if (added.length > 0) setPages((now) => mergeNewest(now, newest).pages);
    return added;
  });
  usePlace(pages.length > 0, pages, owner);
  const rows = pages.flatMap(({ requests }) => requests);
  const last = pages.at(-1);
  const period = last === undefined ? '' : ` in the last ${countOf(last.keptDays, 'day')}`;
  return (
    <Page
      title="Requests"
      description={`The page lists the calls to operations${period}, with valid keys or from the explorer.`}
      actions={
        <>
          <Refresh isBusy={isLoading && pages.length > 0} onClick={reload} />
          <Button
            class={isLive ? 'live on good' : 'live'}
            aria-pressed={isLive}
            onClick={() => setQuery({ live: isLive ? null : '1' }, { replace: true })}
          >
            Live
          </Button>
        </>
      }
    >
      <div class="requests">
        <RequestFilters />
        {live.error && (
          <Notice tone="warn" title="Live updates are interrupted">
            {live.error.message} Trying again.
          </Notice>
        )}
        <Table
          label="Requests"
          columns={COLUMNS}
          rows={last && rows}
          from={list}
          rowKey="requestID"
          rowLink={({ requestID }) => pathOf('/requests/:requestID', { requestID })}
          rowClass={({ requestID }) => (live.marked.has(requestID) ? 'is-new info' : undefined)}
          empty={<NoRequests last={last} isAll={!isNarrowed(filter)} />}
        />
        <Failures rows={rows} />
        {last && (
          <LoadMore label="Older" onMore={more} isBusy={isLoading}>
            {countOf(rows.length, 'request')}
            {last.next !== null && last.requests.length === 0 && <SearchedTo at={last.searchedTo} />}
          </LoadMore>
        )}
        {may('developer') && <Rejected />}
      </div>
    </Page>
  );
}

const SearchedTo = ({ at }: { at: string }) => (
  <>
    {' '}
    since <Time at={at} to="seconds" />. Older continues the search.
  </>
);

function NoRequests({ last, isAll }: { last: RequestsView | undefined; isAll: boolean }) {
  if (last?.next) return <Empty title="Nothing found yet">To search further back, select Older.</Empty>;
  if (!isAll) return <Empty title="No requests match">Try a longer period or remove a filter.</Empty>;
  return <Empty title="No requests yet">Select Live to see new calls within a second.</Empty>;
}
