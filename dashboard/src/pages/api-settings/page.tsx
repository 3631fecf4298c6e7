/**
 * API Settings: the base URL, the pairs of keys, replaced ones that still work, creating and replacing. Only the state
 * of this page holds a new secret.
 */
import { useState } from 'preact/hooks';
import { get, fetchOperation } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { useSession } from '../../session.tsx';
import { Button } from '../../ui/button.tsx';
import { CopyText } from '../../ui/text/copy.tsx';
import { KeyValue } from '../../ui/text/key-value.tsx';
import { Empty, LoadError, Notice, Skeleton } from '../../ui/notice.tsx';
import { Card, Page, Section } from '../../ui/page.tsx';
import { Time } from '../../ui/text/time.tsx';
import { CreateKeys } from './create-dialog.tsx';
import { IssuedKeys, type NewKeys } from './issued-keys.tsx';
import { KeyTable, type KeyRow } from './key-table.tsx';
import { ReplaceKeys } from './replace-dialog.tsx';

/** An order to ask for in the ready calls; null when there is none. */
async function findOrder(signal: AbortSignal): Promise<string | null> {
  const { body } = await fetchOperation<{ data: { ORDER_NUMBER?: string }[] }>(
    '/records',
    'POST',
    '/orders/query',
    { maxReturn: 1 },
    [],
    { signal },
  );
  return body.data[0]?.ORDER_NUMBER ?? null;
}

export function ApiSettingsPage() {
  const { user, tenant, baseURL, may } = useSession();
  const { data, error, isLoading, reload } = useLoad('keys', (signal) => get('/keys', {}, signal));
  const { data: orderNum } = useLoad('an order', findOrder);
  const [dialog, setDialog] = useState<'replace' | 'create'>();
  const [issued, setIssued] = useState<NewKeys>();
  const inForce = data?.keys.filter(({ isReplaced }) => !isReplaced) ?? [];
  const mayReplace = may('developer');
  const isReady = issued === undefined && data !== undefined;
  const show = (keys: NewKeys) => {
    setDialog(undefined);
    setIssued(keys);
    reload();
  };
  return (
    <Page
      title="API Settings"
      description="What a program needs to call the API: team ID, base URL, API ID and API Secret."
      actions={
        mayReplace && (
          <Button tone="primary" icon="keys" disabled={!isReady} onClick={() => setDialog('replace')}>
            Replace Keys
          </Button>
        )
      }
    >
      <div class="stack">
        {issued && (
          <IssuedKeys issued={issued} baseURL={baseURL} orderNum={orderNum} onStored={() => setIssued(undefined)} />
        )}
        {error && <LoadError error={error} onRetry={reload} />}
        {inForce.map((pair) => pair.lastUsedInUrlAt && <UrlWarning key={pair.apiID} pair={pair} />)}
        {!mayReplace && (
          <Notice>Replacing keys needs the role developer; yours is {user.role}. Ask an owner of your team.</Notice>
        )}
        <Card>
          <h2 class="card-title">Connection</h2>
          <KeyValue
            rows={[
              ['Team ID', <CopyText text={tenant.teamID} label="Copy the team ID" />],
              ['Base URL', <CopyText text={baseURL} label="Copy the base URL" />],
              ['Credentials', 'HTTP Basic: API ID as the user name, API Secret as the password'],
            ]}
          />
        </Card>
      </div>
      <Section
        title="Keys"
        description="A pair for each program: its calls are counted apart, and it can end without the others."
        actions={
          mayReplace && (
            <Button icon="plus" disabled={!isReady} onClick={() => setDialog('create')}>
              Create Keys
            </Button>
          )
        }
      >
        {!data && isLoading && <Skeleton lines={3} />}
        {data && inForce.length === 0 && <NoKeys mayReplace={mayReplace} />}
        {inForce.length > 0 && <KeyTable label="Keys in force" keys={inForce} mayEnd={mayReplace} onEnded={reload} />}
      </Section>
      <OldKeys keys={data?.keys.filter(({ isReplaced }) => isReplaced) ?? []} mayEnd={mayReplace} onEnded={reload} />
      {dialog === 'create' && (
        <CreateKeys onIssued={(pair) => show({ ...pair, oldKeysEndAt: null })} onClose={() => setDialog(undefined)} />
      )}
      {dialog === 'replace' && (
        <ReplaceKeys
          replaced={(inForce.find(({ name }) => name === 'default') ?? inForce[0])?.name}
          onIssued={(pair) => show({ ...pair, oldKeysEndAt: inForce.length > 0 ? pair.oldKeysEndAt : null })}
          onClose={() => setDialog(undefined)}
        />
      )}
    </Page>
  );
}

function OldKeys({ keys, ...table }: { keys: readonly KeyRow[]; mayEnd: boolean; onEnded: () => void }) {
  if (keys.length === 0) return null;
  return (
    <Section
      title="Old keys that are still good"
      description="Replaced, and taken beside the keys in force until they end."
    >
      <KeyTable label="Old keys" keys={keys} {...table} />
    </Section>
  );
}

const UrlWarning = ({ pair: { name, lastUsedInUrlAt } }: { pair: KeyRow }) => (
  <Notice tone="warn" title="The API Secret came in a URL">
    A program last sent that of <strong>{name}</strong> this way on <Time at={lastUsedInUrlAt} />. URLs end up in logs
    and histories, where others can read them. Send the pair in a Basic header instead (
    <code>Authorization: Basic …</code>, with curl <code>-u</code>), then replace the keys.
  </Notice>
);

const NoKeys = ({ mayReplace }: { mayReplace: boolean }) => (
  <Empty title="No keys yet">
    Until there are some, every call to the API is refused with 401.{' '}
    {mayReplace ? 'Replace Keys issues the first pair.' : 'A developer or owner issues the first pair.'}
  </Empty>
);
