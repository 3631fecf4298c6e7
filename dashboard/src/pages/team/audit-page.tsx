/** The audit log, for owners: lists its records, newest first, and searches, exports and verifies them. */
import { useEffect, useState } from 'preact/hooks';
import type { AuditCheckView, AuditView } from '../../../../src/http/dashboard/interface.ts';
import { get } from '../../api/client.ts';
import { downloadCSV } from '../../browser/download.ts';
import { useGet, usePages } from '../../api/use-load.ts';
import { Link, pathOf, useQuery } from '../../browser/router.tsx';
import { useSession } from '../../api/session.tsx';
import { OwnersOnly } from './owners-only.tsx';
import { Button, Refresh } from '../../ui/button.tsx';
import { Copy, CopyText } from '../../ui/text/copy.tsx';
import { Empty, Notice, Page, Toolbar, WhenLoaded } from '../../ui/page.tsx';
import { TextField } from '../../ui/form/field.tsx';
import { column, LoadMore, Table, textColumn, timeColumn, type TableColumn } from '../../ui/table/table.tsx';
import { countOf, None } from '../../ui/text/text.tsx';
import { toast, toastError } from '../../ui/toaster.tsx';

type AuditRow = AuditView['records'][number];

export default function AuditPage() {
  const { may } = useSession();
  return may('owner') ? <AuditLog /> : <OwnersOnly title="Audit log" />;
}

const HASH_SHOWN = 10;
/** Maximum records that a search or an export looks at, in pages of 100. */
const LOOKED_AT_MAX = 10_000;
/** The number of found records after which a search waits for Load more. */
const FOUND_MIN = 50;
const FILTERS = { actor: 'Who', action: 'What', target: 'Target' } as const;
type FilterName = keyof typeof FILTERS;
const FILTER_NAMES = Object.keys(FILTERS) as FilterName[];

/** Returns the path of a target that has a page: an order, a customer or a part. */
function pathOfTarget({ action, target }: AuditRow): string | undefined {
  if (/[oO]rder|LineItem|invoice/.test(action)) return pathOf('/records/orders/:key', { key: target });
  if (/Customer/.test(action)) return pathOf('/records/customers/:key', { key: target });
  return /Stock$|Part$/.test(action) ? pathOf('/records/inventory/:key', { key: target }) : undefined;
}

const Target = ({ row }: { row: AuditRow }) => {
  const path = pathOfTarget(row);
  return path === undefined ? <span title={row.target}>{row.target}</span> : <Link to={path}>{row.target}</Link>;
};

const COLUMNS: readonly TableColumn<AuditRow>[] = [
  textColumn('number', 'Number', 'mono'),
  timeColumn('at', 'Time', 'seconds'),
  column('Who', ({ actor }) => <span title={actor}>{actor}</span>),
  textColumn('action', 'What'),
  column('Target', (row) => <Target row={row} />),
  column('Details', ({ detail }) => <Chips of={detail} />, 'wide'),
  column('Client', ({ client }) => client || <None />, 'mono'),
  column(
    'Hash',
    ({ number, hash }) => (
      <span class="copy-text">
        <code title={hash}>{hash.slice(0, HASH_SHOWN)}</code>
        <Copy text={hash} label={`Copy the hash of record ${number}`} />
      </span>
    ),
    'mono',
  ),
];

/** Returns the filter of the address, as a condition on a record, or undefined if there is none. */
function parseFilter(query: URLSearchParams): ((row: AuditRow) => boolean) | undefined {
  const wanted = FILTER_NAMES.map((name) => [name, (query.get(name) ?? '').trim().toLowerCase()] as const);
  if (wanted.every(([, text]) => text === '')) return undefined;
  return (row) => wanted.every(([name, text]) => row[name].toLowerCase().includes(text));
}

const HEAD = ['number', 'at', 'actor', 'action', 'target', 'client', 'detail', 'hash'] as const;

/** Loads the records that are not shown yet, and downloads those that match. */
async function exportRecords(pages: readonly AuditView[], matches: (row: AuditRow) => boolean, teamID: string) {
  const records = pages.flatMap((page) => page.records);
  let next = pages.at(-1)?.next ?? null;
  while (next !== null && records.length < LOOKED_AT_MAX) {
    const page: AuditView = await get('/audit', { before: next });
    records.push(...page.records);
    next = page.next;
  }
  const rows = records
    .filter(matches)
    .map((row) => HEAD.map((name) => (name === 'detail' ? JSON.stringify(row.detail) : String(row[name]))));
  downloadCSV(`storeroom-audit-${teamID}.csv`, HEAD, rows);
  toast(
    next === null
      ? `${countOf(rows.length, 'record')} exported`
      : `The export covers the last ${LOOKED_AT_MAX} records`,
  );
}

function AuditLog() {
  const list = usePages('audit', (before: number | undefined, signal) => get('/audit', { before }, signal));
  const { pages, error, isLoading, more, reload } = list;
  const { tenant } = useSession();
  const [query, setQuery] = useQuery();
  const [round, setRound] = useState(0);
  const all = pages.flatMap(({ records }) => records);
  const filter = parseFilter(query);
  const matches = filter ?? (() => true);
  const rows = all.filter(matches);
  // A search continues with older pages until it has found enough or has looked far enough.
  const isSearching = filter !== undefined && rows.length < FOUND_MIN && all.length < LOOKED_AT_MAX;
  useEffect(() => {
    if (isSearching && !isLoading && error === undefined) more?.();
  }, [isSearching, isLoading, error]);
  const download = () => void exportRecords(pages, matches, tenant.teamID).catch(toastError);
  return (
    <Page
      title="Audit log"
      description="The log lists sign-ins, and changes made in the dashboard or by commands. A chain of hashes protects it."
      actions={
        <>
          <Refresh isBusy={isLoading && pages.length > 0} onClick={reload} />
          <Button icon="download" onClick={download}>
            Export CSV
          </Button>
          <Button icon="audit" onClick={() => setRound(round + 1)}>
            Verify
          </Button>
        </>
      }
    >
      <div class={round === 0 ? undefined : 'audit-check'} role="status">
        {round > 0 && <Verification key={round} />}
      </div>
      <Toolbar label="Filters">
        {FILTER_NAMES.map((name) => (
          <TextField
            key={name}
            label={FILTERS[name]}
            name={name}
            type="search"
            isExact
            value={query.get(name) ?? ''}
            onValue={(text) => setQuery({ [name]: text }, { replace: true })}
          />
        ))}
      </Toolbar>
      <Table
        label="Audit log"
        columns={COLUMNS}
        rows={pages.length === 0 ? undefined : rows}
        from={list}
        rowKey="number"
        empty={
          filter ? (
            <Empty title="No records match">Remove a filter, or load more.</Empty>
          ) : (
            <Empty title="No records yet">Changes to users, keys and settings appear here.</Empty>
          )
        }
      />
      {pages.length > 0 && (
        <LoadMore label="Load more" onMore={more} isBusy={isLoading}>
          {countOf(rows.length, 'record')}
          {filter && ` of the last ${all.length.toLocaleString()}`}
        </LoadMore>
      )}
    </Page>
  );
}

const Verification = () => (
  <WhenLoaded from={useGet('/audit/verify')} lines={2}>
    {(view) => <Check view={view} />}
  </WhenLoaded>
);

function Check({ view: { isWhole, records, head, fault } }: { view: AuditCheckView }) {
  const counted = countOf(records, 'record');
  if (!isWhole)
    return (
      <Notice tone="bad" title="The log has been changed">
        <p>
          {fault && `Record ${fault.number}: ${fault.reason}. `}
          The first {counted} are unchanged. The database was changed directly or is damaged: tell the operator.
        </p>
      </Notice>
    );
  return (
    <Notice tone="good" title={`Verified: ${counted}, none changed.`}>
      {head && (
        <>
          <CopyText text={head} label="Copy the hash of the last record" />
          <p>
            This is the hash of record {records.toLocaleString('en')}. Keep both outside the service: while that record
            has this hash, no record up to it was changed, removed or added.
          </p>
        </>
      )}
    </Notice>
  );
}

const Chips = ({ of }: { of: AuditRow['detail'] }) => {
  const members = Object.entries(of);
  if (members.length === 0) return <None />;
  return (
    <dl class="chips">
      {members.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd title={value}>{value === '' ? '–' : value}</dd>
        </div>
      ))}
    </dl>
  );
};
