/** One webhook: its state, what a developer can do with it, and its deliveries. */
import { useRef, useState } from 'preact/hooks';
import type { AnswerOf } from '../../../../src/http/dashboard/interface.ts';
import { get, type ApiError } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { useParams } from '../../router.tsx';
import { useSession } from '../../session.tsx';
import { Button } from '../../ui/button.tsx';
import { LoadError, Notice, PageSkeleton } from '../../ui/notice.tsx';
import { Card, Page } from '../../ui/page.tsx';
import { CopyText } from '../../ui/text/copy.tsx';
import { KeyValue } from '../../ui/text/key-value.tsx';
import { countOf } from '../../ui/text/text.tsx';
import { Time } from '../../ui/text/time.tsx';
import { formatDuration } from '../requests/list-page.tsx';
import { WebhookActions, type NewSecretView } from './actions.tsx';
import { Deliveries } from './deliveries.tsx';
import { NewSecret } from './new-secret.tsx';
import { nameTypes, Outcome, WebhookState, type Webhook } from './words.tsx';

export function WebhookPage() {
  const { id = '' } = useParams();
  const webhooks = useLoad('webhooks', (signal) => get('/webhooks', {}, signal));
  const { data, error, isLoading } = webhooks;
  /** Grows when something was done, so that the deliveries are loaded again. */
  const [round, setRound] = useState(0);
  const reload = () => {
    webhooks.reload();
    setRound(round + 1);
  };
  /** The webhook stays on the page when it cannot be loaded again: a new secret may be shown. */
  const known = useRef<Webhook>(undefined);
  if (data !== undefined) known.current = data.webhooks.find((one) => one.id === id);
  if (known.current !== undefined) return <Shown {...{ webhook: known.current, error, round, isLoading, reload }} />;
  if (data === undefined && error === undefined) return <PageSkeleton />;
  return (
    <Page title="Webhook">
      {error ? (
        <LoadError error={error} onRetry={reload} />
      ) : (
        <Notice title={`No webhook '${id}'`}>It may have been removed.</Notice>
      )}
    </Page>
  );
}

type Test = AnswerOf<'POST /webhooks/test'>;
interface ShownProps {
  webhook: Webhook;
  error: ApiError | undefined;
  round: number;
  isLoading: boolean;
  reload: () => void;
}

function Shown({ webhook, error, round, isLoading, reload }: ShownProps) {
  const { id, url } = webhook;
  const { may } = useSession();
  const [tested, setTested] = useState<Test>();
  const [issued, setIssued] = useState<NewSecretView>();
  return (
    <Page
      title={URL.parse(url)?.host ?? url}
      description={<CopyText text={url} label="Copy the address" />}
      actions={
        <>
          <Button icon="reload" isBusy={isLoading} onClick={reload}>
            Refresh
          </Button>
          {may('developer') && (
            <WebhookActions
              webhook={webhook}
              mayRotate={issued === undefined}
              onTested={setTested}
              onRotated={setIssued}
              onDone={reload}
            />
          )}
        </>
      }
    >
      <div class="stack">
        {issued && (
          <NewSecret title="New secret" secret={issued.secret} onStored={() => setIssued(undefined)}>
            <p>
              Until <Time at={issued.oldSecretEndsAt} /> each delivery also has a signature by the old secret. Replace
              it in your app by then.
            </p>
          </NewSecret>
        )}
        {error && <LoadError error={error} onRetry={reload} />}
        <div role="status">{tested && <Tested outcome={tested} />}</div>
        <Card>
          <Facts webhook={webhook} />
        </Card>
      </div>
      <Deliveries id={id} round={round} />
    </Page>
  );
}

const Tested = ({ outcome }: { outcome: Test }) => {
  const { status, durationMs } = outcome;
  const isTaken = status !== null && status >= 200 && status < 300;
  return (
    <Notice tone={isTaken ? 'good' : 'warn'} title={isTaken ? 'The test was delivered' : 'The test was not delivered'}>
      <p>
        <Outcome of={outcome} /> · {formatDuration(durationMs)}
      </p>
      {!isTaken && (
        <p>Your app must answer with a status from 200 to 299. Check the address and the log of your app.</p>
      )}
    </Notice>
  );
};

const Facts = ({ webhook }: { webhook: Webhook }) => {
  const { types, position, newest, lag, lastDeliveredAt, nextTryAt, createdAt, secretEndsAt } = webhook;
  return (
    <KeyValue
      rows={[
        ['State', <WebhookState webhook={webhook} />],
        ['Records', nameTypes(types)],
        ['Delivered up to', `Change ${position} of ${newest}, ${countOf(lag, 'change')} behind`],
        ['Last delivery', <Time at={lastDeliveredAt} to="seconds" none="Not yet" />],
        ['Next try', <Time at={nextTryAt} to="seconds" />],
        ['Created', <Time at={createdAt} />],
        ...(secretEndsAt === null ? [] : [['Old secret valid until', <Time at={secretEndsAt} />] as const]),
      ]}
    />
  );
};
