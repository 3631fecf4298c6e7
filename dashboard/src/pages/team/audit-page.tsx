/**
 * The audit log, for owners: who did what and when, newest first, and a check that it is whole.
 */
import { useState } from 'preact/hooks';
import type { AuditCheckView, AuditView } from '../../../../src/http/dashboard/interface.ts';
import { get, type ApiError } from '../../api/client.ts';
import { toApiError } from '../../api/use-load.ts';
import { usePages } from '../../api/use-pages.ts';
import { useSession } from '../../session.tsx';
import { Button } from '../../ui/button.tsx';
import { Copy, CopyText } from '../../ui/text/copy.tsx';
import { Empty, LoadError, Notice } from '../../ui/notice.tsx';
import { Page } from '../../ui/page.tsx';
import { LoadMore } from '../../ui/table/page-buttons.tsx';
import { Table, type TableColumn } from '../../ui/table/table.tsx';
import { countOf } from '../../ui/text/text.tsx';
import { Time } from '../../ui/text/time.tsx';

type AuditRow = AuditView['records'][number];

export function AuditPage() {
  const { may } = useSession();
  if (may('owner')) return <AuditLog />;
  return (
    <Page title="Audit log">
      <Notice title="Only owners see the audit log">Ask an owner of your team for what you need from it.</Notice>
    </Page>
  );
}

const HASH_SHOWN = 10;

const COLUMNS: readonly TableColumn<AuditRow>[] = [
  { key: 'number', head: 'Number', isMono: true, cell: ({ number }) => number },
  { key: 'at', head: 'Time', cell: ({ at }) => <Time at={at} to="seconds" /> },
  { key: 'actor', head: 'Who', cell: ({ actor }) => <span title={actor}>{actor}</span> },
  { key: 'action', head: 'What', cell: ({ action }) => action },
  { key: 'target', head: 'Target', cell: ({ target }) => <span title={target}>{target}</span> },
  { key: 'detail', head: 'Details', isWide: true, cell: ({ detail }) => <Chips of={detail} /> },
  { key: 'client', head: 'Client', isMono: true, cell: ({ client }) => client || <span class="muted">–</span> },
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
  const { pages, error, isBusy, more, reload } = usePages<number, AuditView>('audit', (next, signal) =>
    get('/audit', { before: next }, signal),
  );
  const [check, setCheck] = useState<{ view?: AuditCheckView; error?: ApiError }>({});
  const [isChecking, setChecking] = useState(false);
  const verify = async () => {
    setChecking(true);
    try {
      setCheck({ view: await get('/audit/verify') });
    } catch (fault) {
      setCheck({ error: toApiError(fault) });
    }
    setChecking(false);
  };
  const rows = pages.flatMap(({ records }) => records);
  return (
    <Page
      title="Audit log"
      description="What people and the command line changed. Each record carries a hash that binds it to all before it."
      actions={
        <>
          <Button icon="reload" isBusy={isBusy && pages.length > 0} onClick={reload}>
            Refresh
          </Button>
          <Button icon="audit" isBusy={isChecking} onClick={() => void verify()}>
            Verify
          </Button>
        </>
      }
    >
      <div class={check.view === undefined && check.error === undefined ? undefined : 'audit-check'} role="status">
        {check.view !== undefined && <Check view={check.view} />}
        {check.error !== undefined && <LoadError error={check.error} onRetry={() => void verify()} />}
      </div>
      {error !== undefined && <LoadError error={error} onRetry={pages.length === 0 ? reload : (more ?? reload)} />}
      {(error === undefined || pages.length > 0) && (
        <Table
          label="Audit log"
          columns={COLUMNS}
          rows={pages.length === 0 ? undefined : rows}
          rowKey={({ number }) => String(number)}
          isLoading={isBusy && pages.length > 0}
          empty={
            <Empty title="Nothing has been changed yet">
              Users, keys, settings and stages of orders leave a record here.
            </Empty>
          }
        />
      )}
      {pages.length > 0 && (
        <LoadMore onMore={more} isBusy={isBusy}>
          {countOf(rows.length, 'record')}
        </LoadMore>
      )}
    </Page>
  );
}

function Check({ view: { isWhole, records, head, fault } }: { view: AuditCheckView }) {
  const counted = countOf(records, 'record');
  if (!isWhole)
    return (
      <Notice tone="bad" title="The log is not whole">
        <p>
          {fault === null ? '' : `Record ${fault.number}: ${fault.reason}. `}
          The {counted} before it are as they were written. The store was changed past the service: tell the operator,
          who keeps a copy of it.
        </p>
      </Notice>
    );
  return (
    <Notice tone="good" title={`The log is whole: ${counted}, each as it was written`}>
      {head !== '' && (
        <>
          <CopyText text={head} label="Copy the hash of the last record" />
          <p>
            This is the hash of record {records.toLocaleString('en')}. Keep both outside the service: as long as the log
            is whole and that record has this hash, nothing up to it was changed, taken out or put in.
          </p>
        </>
      )}
    </Notice>
  );
}

const Chips = ({ of }: { of: AuditRow['detail'] }) => {
  const members = Object.entries(of);
  if (members.length === 0) return <span class="muted">–</span>;
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
