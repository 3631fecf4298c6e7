/**
 * Lists the sessions of the user, and ends one or all others.
 */
import { useState } from 'preact/hooks';
import { SESSION_HOURS, SESSION_IDLE_MINUTES } from '../../../../src/account/account-bounds.ts';
import type { SessionsView } from '../../../../src/http/dashboard/interface.ts';
import { post } from '../../api/client.ts';
import { nameBrowser } from './browser-name.ts';
import { useGet } from '../../api/use-load.ts';
import { Badge } from '../../ui/text/text.tsx';
import { Button } from '../../ui/button.tsx';
import { focusHeading } from '../../ui/focus.ts';
import { Section } from '../../ui/page.tsx';
import { column, Table, textColumn, timeColumn, type TableColumn } from '../../ui/table/table.tsx';
import { toast, toastError } from '../../ui/toaster.tsx';

type SessionRow = SessionsView['sessions'][number];
const ALL_OTHERS = '';
const DESCRIPTION =
  `These are the browsers in which you are signed in. A session expires after ${SESSION_IDLE_MINUTES} minutes without use, ` +
  `and ${SESSION_HOURS} hours after you signed in.`;

const COLUMNS: readonly TableColumn<SessionRow>[] = [
  column('Browser', ({ agent }) => <span title={agent}>{nameBrowser(agent)}</span>),
  timeColumn('createdAt', 'Opened'),
  timeColumn('seenAt', 'Last seen'),
  textColumn('client', 'Client', 'mono'),
];

export function Sessions() {
  const sessions = useGet('/sessions');
  const { data, reload } = sessions;
  /** The session that is being ended. */
  const [ending, setEnding] = useState<string>();
  const others = data?.sessions.filter(({ isThisOne }) => !isThisOne) ?? [];
  const end = async (sessionId: string) => {
    if (ending !== undefined) return;
    setEnding(sessionId);
    try {
      await post('/sessions/end', sessionId === ALL_OTHERS ? {} : { sessionId });
      toast(sessionId === ALL_OTHERS ? 'All other sessions have ended' : 'The session has ended');
      focusHeading();
    } catch (fault) {
      toastError(fault);
    }
    setEnding(undefined);
    reload();
  };
  const action: TableColumn<SessionRow> = column(
    'Action',
    ({ sessionId, isThisOne, agent, client }) =>
      isThisOne ? (
        <Badge tone="good">This session</Badge>
      ) : (
        <Button
          size="small"
          isBusy={ending === sessionId}
          aria-label={`End: ${nameBrowser(agent)} at ${client}`}
          onClick={() => void end(sessionId)}
        >
          End
        </Button>
      ),
    'end',
  );
  return (
    <Section
      title="Sessions"
      description={DESCRIPTION}
      actions={
        others.length > 0 && (
          <Button isBusy={ending === ALL_OTHERS} onClick={() => void end(ALL_OTHERS)}>
            End all others
          </Button>
        )
      }
    >
      <Table
        label="Your sessions"
        columns={[...COLUMNS, action]}
        rows={data?.sessions}
        from={sessions}
        rowKey="sessionId"
        skeletonRows={2}
      />
    </Section>
  );
}
