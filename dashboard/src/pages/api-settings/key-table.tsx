/**
 * Pairs of keys as a table: name, scope, who made them and when, their end, last use and calls; and ending one.
 */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { KeysView } from '../../../../src/http/dashboard/interface.ts';
import { post } from '../../api/client.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog/confirm.tsx';
import { CopyText } from '../../ui/text/copy.tsx';
import { Table, type TableColumn } from '../../ui/table/table.tsx';
import { Time } from '../../ui/text/time.tsx';
import { toast } from '../../ui/toaster.tsx';
import { useNow } from './use-now.ts';

export type KeyRow = KeysView['keys'][number];

const MINUTE_MS = 60_000;
const REFRESH_MS = 15_000;
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always' });

/** `in 24 hours`, in the largest unit there are at least two of. */
function formatIn(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / MINUTE_MS));
  if (minutes < 120) return relative.format(minutes, 'minute');
  const hours = Math.round(minutes / 60);
  return hours < 48 ? relative.format(hours, 'hour') : relative.format(Math.round(hours / 24), 'day');
}

/** What is said about a value, below it, so that the table fits a laptop. */
const Below = ({ children }: { children: ComponentChildren }) => <div class="muted small">{children}</div>;

const listColumns = (now: number): TableColumn<KeyRow>[] => [
  {
    key: 'name',
    head: 'Name and API ID',
    cell: ({ name, apiID }) => (
      <>
        <strong>{name}</strong>
        <Below>
          <CopyText text={apiID} label={`Copy the API ID of ${name}`} />
        </Below>
      </>
    ),
  },
  {
    key: 'scope',
    head: 'Scope',
    cell: ({ scope }) => <Badge tone={scope === 'write' ? 'info' : 'neutral'}>{scope}</Badge>,
  },
  {
    key: 'created',
    head: 'Created',
    cell: ({ issuedAt, issuedBy }) => (
      <>
        <Time at={issuedAt} />
        {issuedBy !== '' && <Below>by {issuedBy}</Below>}
      </>
    ),
  },
  {
    key: 'ends',
    head: 'Ends',
    cell: ({ endsAt }) => (
      <>
        <Time at={endsAt} none="Never" />
        {endsAt !== null && <Below>{formatIn(Date.parse(endsAt) - now)}</Below>}
      </>
    ),
  },
  {
    key: 'used',
    head: 'Last used',
    cell: ({ lastUsedAt, lastUsedFrom }) => (
      <>
        <Time at={lastUsedAt} none="Not yet" />
        {lastUsedAt !== null && lastUsedFrom && (
          <Below>
            from <code>{lastUsedFrom}</code>
          </Below>
        )}
      </>
    ),
  },
  { key: 'calls', head: 'Calls this month', align: 'end', cell: ({ monthCalls }) => monthCalls.toLocaleString('en') },
];

export interface KeyTableProps {
  label: string;
  keys: readonly KeyRow[];
  mayEnd: boolean;
  onEnded: () => void;
}

/** Example: `<KeyTable label="Keys in force" keys={keys} mayEnd={may('developer')} onEnded={reload} />`. */
export function KeyTable({ label, keys, mayEnd, onEnded }: KeyTableProps) {
  const [ending, setEnding] = useState<KeyRow>();
  const now = useNow(REFRESH_MS);
  const end = async ({ apiID, name }: KeyRow) => {
    await post('/keys/end', { apiID });
    toast(`The keys ${name} have ended`);
    onEnded();
  };
  const action: TableColumn<KeyRow> = {
    key: 'end',
    head: 'Action',
    align: 'end',
    cell: (pair) => (
      <Button size="small" aria-label={`End now: ${pair.apiID}`} onClick={() => setEnding(pair)}>
        End now
      </Button>
    ),
  };
  const columns = listColumns(now);
  return (
    <>
      <Table
        label={label}
        columns={mayEnd ? [...columns, action] : columns}
        rows={keys.filter(({ endsAt }) => endsAt === null || Date.parse(endsAt) > now)}
        rowKey={({ apiID }) => apiID}
      />
      {ending !== undefined && (
        <Confirm
          title="End these keys now?"
          action="End now"
          onConfirm={() => end(ending)}
          onClose={() => setEnding(undefined)}
        >
          Programs that still use <strong>{ending.name}</strong> (<code>{ending.apiID}</code>) are refused from this
          moment. This cannot be undone.
        </Confirm>
      )}
    </>
  );
}
