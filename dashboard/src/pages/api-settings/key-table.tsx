/**
 * Pairs of keys as a table: name, scope, creator, expiry, last use and calls; and revoking one.
 */
import type { ComponentChildren } from 'preact';
import type { KeysView } from '../../../../src/http/dashboard/interface.ts';
import { post } from '../../api/client.ts';
import { Badge, Time } from '../../ui/text/text.tsx';
import { Button } from '../../ui/button.tsx';
import { Link } from '../../browser/router.tsx';
import { useSession } from '../../api/session.tsx';
import { Confirm, openDialog } from '../../ui/dialog/dialog.tsx';
import { CopyText } from '../../ui/text/copy.tsx';
import { column, Table, type TableColumn } from '../../ui/table/table.tsx';
import { toast } from '../../ui/toaster.tsx';
import { RenameKeys } from './key-dialogs.tsx';
import { useNow } from './use-now.ts';

export type KeyRow = KeysView['keys'][number];

const MINUTE_MS = 60_000;
const REFRESH_MS = 15_000;
const UNUSED_MS = 90 * 24 * 60 * MINUTE_MS;
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always' });

/** Formats a duration in the largest unit of which there are at least two, such as `in 24 hours`. */
function formatIn(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / MINUTE_MS));
  if (minutes < 120) return relative.format(minutes, 'minute');
  const hours = Math.round(minutes / 60);
  return hours < 48 ? relative.format(hours, 'hour') : relative.format(Math.round(hours / 24), 'day');
}

/** A remark below a value, so that the table fits on a laptop. */
const Below = ({ children }: { children: ComponentChildren }) => <div class="muted small">{children}</div>;

const listColumns = (now: number): TableColumn<KeyRow>[] => [
  column('Name and API ID', ({ name, apiID }) => (
    <>
      <strong>{name}</strong>
      <Below>
        <CopyText text={apiID} label={`Copy the API ID of ${name}`} />
      </Below>
    </>
  )),
  column('Scope', ({ scope }) => <Badge tone={scope === 'read' ? 'neutral' : 'info'}>{scope}</Badge>),
  column('Created', ({ issuedAt, issuedBy }) => (
    <>
      <Time at={issuedAt} />
      <Below>by {issuedBy}</Below>
    </>
  )),
  column('Expires', ({ endsAt }) => (
    <>
      <Time at={endsAt} none="Never" />
      {endsAt !== null && <Below>{formatIn(Date.parse(endsAt) - now)}</Below>}
    </>
  )),
  column('Last used', ({ lastUsedAt, lastUsedFrom, issuedAt }) => (
    <>
      <Time at={lastUsedAt} none="Not yet" />
      {now - Date.parse(lastUsedAt ?? issuedAt) > UNUSED_MS && <Below>Not used for 90 days</Below>}
      {lastUsedAt !== null && lastUsedFrom && (
        <Below>
          from <code>{lastUsedFrom}</code>
        </Below>
      )}
    </>
  )),
  column(
    'Calls this month',
    ({ apiID, monthCalls }) => (
      <Link
        to={`/requests?key=${encodeURIComponent(apiID)}`}
        aria-label={`Calls this month: ${monthCalls}. Show requests`}
      >
        {monthCalls.toLocaleString()}
      </Link>
    ),
    'end',
  ),
];

interface KeyTableProps {
  label: string;
  keys: readonly KeyRow[];
  onEnded: () => void;
  onReplace?: (name: string) => void;
}

/** Example: `<KeyTable label="Valid keys" keys={keys} onEnded={reload} />`. */
export function KeyTable({ label, keys, onEnded, onReplace }: KeyTableProps) {
  const now = useNow(REFRESH_MS);
  const { may } = useSession();
  const end = async ({ apiID, name }: KeyRow) => {
    await post('/keys/end', { apiID });
    toast(`Keys ${name} revoked`);
    onEnded();
  };
  const confirm = (pair: KeyRow) => (
    <Confirm title={`Revoke the keys ${pair.name}?`} action="Revoke" onSubmit={() => end(pair)}>
      Apps using <code>{pair.apiID}</code> stop working immediately. This cannot be undone.
    </Confirm>
  );
  const action: TableColumn<KeyRow> = column(
    'Action',
    (pair) => (
      <span class="row-actions">
        {onReplace && (
          <>
            <Button size="small" aria-label={`Replace ${pair.name}`} onClick={() => onReplace(pair.name)}>
              Replace
            </Button>
            <Button
              size="small"
              aria-label={`Rename ${pair.name}`}
              onClick={() => openDialog(<RenameKeys pair={pair} onDone={onEnded} />)}
            >
              Rename
            </Button>
          </>
        )}
        <Button size="small" aria-label={`Revoke ${pair.apiID}`} onClick={() => openDialog(confirm(pair))}>
          Revoke
        </Button>
      </span>
    ),
    'end',
  );
  const columns = listColumns(now);
  return (
    <Table
      label={label}
      columns={may('developer') ? [...columns, action] : columns}
      rows={keys.filter(({ endsAt }) => endsAt === null || Date.parse(endsAt) > now)}
      rowKey="apiID"
    />
  );
}
