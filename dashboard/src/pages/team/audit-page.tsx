/** The audit log, for owners: its records, newest first, and their verification. */
import { useState } from 'preact/hooks';
import type { AuditCheckView, AuditView } from '../../../../src/http/dashboard/interface.ts';
import { get } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { usePages } from '../../api/use-pages.ts';
import { useSession } from '../../session.tsx';
import { OwnersOnly } from './owners-only.tsx';
import { Button } from '../../ui/button.tsx';
import { Copy, CopyText } from '../../ui/text/copy.tsx';
import { Empty, LoadError, Notice, WhenLoaded } from '../../ui/notice.tsx';
import { Page } from '../../ui/page.tsx';
import { LoadMore } from '../../ui/table/page-buttons.tsx';
import { Table, type TableColumn } from '../../ui/table/table.tsx';
import { countOf, None } from '../../ui/text/text.tsx';
import { Time } from '../../ui/text/time.tsx';

type AuditRow = AuditView['records'][number];

export function AuditPage() {
  const { may } = useSession();
  return may('owner') ? <AuditLog /> : <OwnersOnly title="Audit log" />;
}

const HASH_SHOWN = 10;

const COLUMNS: readonly TableColumn<AuditRow>[] = [
  { key: 'number', head: 'Number', isMono: true, cell: ({ number }) => number },
  { key: 'at', head: 'Time', cell: ({ at }) => <Time at={at} to="seconds" /> },
  { key: 'actor', head: 'Who', cell: ({ actor }) => <span title={actor}>{actor}</span> },
  { key: 'action', head: 'What', cell: ({ action }) => action },
  { key: 'target', head: 'Target', cell: ({ target }) => <span title={target}>{target}</span> },
  { key: 'detail', head: 'Details', isWide: true, cell: ({ detail }) => <Chips of={detail} /> },
  { key: 'client', head: 'Client', isMono: true, cell: ({ client }) => client || <None /> },
  {
    key: 'hash',
    head: 'Hash',
    isMono: true,
    cell: ({ number, hash }) => (
      <span class="copy-text">
        <code title={hash}>{hash.slice(0, HASH_SHOWN)}</code>
        <Copy text={hash} label={`Copy the hash of record ${number}`} />
      </span>
    ),
  },
];

function AuditLog() {
  const list = usePages<number, AuditView>('audit', (next, signal) => get('/audit', { before: next }, signal));
  const { pages, error, isLoading, more, reload } = list;
  /** The number of requested verifications. */
  const [round, setRound] = useState(0);
  const rows = pages.flatMap(({ records }) => records);
  return (
    <Page
      title="Audit log"
      description="Sign-ins, and changes to users, keys, settings, fields and stages of orders, protected by a chain of hashes."
      actions={
        <>
          <Button icon="reload" isBusy={isLoading && pages.length > 0} onClick={reload}>
            Refresh
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
      {error && pages.length > 0 && <LoadError error={error} onRetry={more ?? reload} />}
      <Table
        label="Audit log"
        columns={COLUMNS}
        rows={pages.length === 0 ? undefined : rows}
        from={list}
        rowKey={({ number }) => String(number)}
        empty={<Empty title="No records yet">Changes to users, keys and settings appear here.</Empty>}
      />
      {pages.length > 0 && (
        <LoadMore label="Load more" onMore={more} isBusy={isLoading}>
          {countOf(rows.length, 'record')}
        </LoadMore>
      )}
    </Page>
  );
}

const Verification = () => (
  <WhenLoaded from={useLoad('verify', (signal) => get('/audit/verify', {}, signal))} lines={2}>
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
          The {counted} before it are unchanged. Someone changed the database directly: tell the operator, who has
          backups of it.
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
