/**
 * Replaced keys that still work: until when, last used when, and ending them early.
 */
import { useState } from 'preact/hooks';
import { post } from '../../api/client.ts';
import { useNow } from './use-now.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Section } from '../../ui/page.tsx';
import { Table, type TableColumn } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { toast } from '../../ui/toaster.tsx';
import { LastUse, type KeyRow } from './key-pair.tsx';

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

export function OldKeys({ keys, mayEnd, onEnded }: { keys: readonly KeyRow[]; mayEnd: boolean; onEnded: () => void }) {
  const [ending, setEnding] = useState<string>();
  const now = useNow(REFRESH_MS);
  const good = keys.filter(({ endsAt }) => Date.parse(endsAt!) > now);
  const end = async (apiID: string) => {
    await post('/keys/end', { apiID });
    toast('The old keys have ended');
    onEnded();
  };
  const columns: TableColumn<KeyRow>[] = [
    { key: 'apiID', head: 'API ID', isMono: true, cell: ({ apiID }) => apiID },
    { key: 'issued', head: 'Issued', cell: ({ issuedAt }) => <Time at={issuedAt} /> },
    {
      key: 'ends',
      head: 'Ends',
      cell: ({ endsAt }) => (
        <>
          <Time at={endsAt} /> <span class="muted">· {formatIn(Date.parse(endsAt!) - now)}</span>
        </>
      ),
    },
    { key: 'used', head: 'Last used', cell: (pair) => <LastUse pair={pair} /> },
  ];
  const action: TableColumn<KeyRow> = {
    key: 'end',
    head: 'Action',
    align: 'end',
    cell: ({ apiID }) => (
      <Button size="small" aria-label={`End now: ${apiID}`} onClick={() => setEnding(apiID)}>
        End now
      </Button>
    ),
  };
  if (good.length === 0) return null;
  return (
    <Section
      title="Old keys that are still good"
      description="Replaced, and taken beside the keys in force until they end."
    >
      <Table
        label="Old keys"
        columns={mayEnd ? [...columns, action] : columns}
        rows={good}
        rowKey={({ apiID }) => apiID}
      />
      {ending !== undefined && (
        <Confirm
          title="End these keys now?"
          action="End now"
          onConfirm={() => end(ending)}
          onClose={() => setEnding(undefined)}
        >
          Programs that still use <code>{ending}</code> are refused from this moment. This cannot be undone.
        </Confirm>
      )}
    </Section>
  );
}
