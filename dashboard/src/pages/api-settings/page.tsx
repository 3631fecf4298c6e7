/**
 * API Settings: the base URL, the keys in force, replaced keys that still work, and replacing them. Only the state of
 * this page holds a new secret.
 */
import { useState } from 'preact/hooks';
import type { IssuedKeyView } from '../../../../src/http/dashboard/interface.ts';
import { get, fetchOperation } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { useSession } from '../../session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CopyText } from '../../ui/copy.tsx';
import { KeyValue } from '../../ui/key-value.tsx';
import { Empty, LoadError, Notice, Skeleton } from '../../ui/notice.tsx';
import { Card, Columns, Page } from '../../ui/page.tsx';
import { IssuedKeys } from './issued-keys.tsx';
import { OldKeys } from './replaced-keys.tsx';
import { PairInForce, UrlWarning } from './key-pair.tsx';
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
  const [isReplacing, setReplacing] = useState(false);
  const [issued, setIssued] = useState<{ keys: IssuedKeyView; hadKeys: boolean }>();
  const inForce = data?.keys.find((key) => key.endsAt === null);
  const oldKeys = data?.keys.filter((key) => key.endsAt !== null) ?? [];
  const mayReplace = may('developer');
  const show = (keys: IssuedKeyView) => {
    setReplacing(false);
    setIssued({ keys, hadKeys: inForce !== undefined });
    reload();
  };
  return (
    <Page
      title="API Settings"
      description="What a program needs to call the API: team ID, base URL, API ID and API Secret."
      actions={
        mayReplace && (
          <Button
            tone="primary"
            icon="keys"
            disabled={issued !== undefined || data === undefined}
            onClick={() => setReplacing(true)}
          >
            Replace Keys
          </Button>
        )
      }
    >
      <div class="stack">
        {issued && (
          <IssuedKeys
            issued={issued.keys}
            hadKeys={issued.hadKeys}
            baseURL={baseURL}
            orderNum={orderNum}
            onStored={() => setIssued(undefined)}
          />
        )}
        {error && <LoadError error={error} onRetry={reload} />}
        {inForce?.lastUsedInUrlAt && <UrlWarning at={inForce.lastUsedInUrlAt} />}
        {!mayReplace && (
          <Notice>Replacing keys needs the role developer; yours is {user.role}. Ask an owner of your team.</Notice>
        )}
        <Columns>
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
          {(data || !error) && (
            <Card>
              <h2 class="card-title">Keys {inForce && <Badge tone="good">In force</Badge>}</h2>
              {inForce && <PairInForce pair={inForce} />}
              {!data && isLoading && <Skeleton lines={5} />}
              {data && !inForce && <NoKeys mayReplace={mayReplace} />}
            </Card>
          )}
        </Columns>
      </div>
      {oldKeys.length > 0 && <OldKeys keys={oldKeys} mayEnd={mayReplace} onEnded={reload} />}
      {isReplacing && (
        <ReplaceKeys hasKeys={inForce !== undefined} onIssued={show} onClose={() => setReplacing(false)} />
      )}
    </Page>
  );
}

const NoKeys = ({ mayReplace }: { mayReplace: boolean }) => (
  <Empty title="No keys yet">
    Until there are some, every call to the API is refused with 401.{' '}
    {mayReplace ? 'Replace Keys issues the first pair.' : 'A developer or owner issues the first pair.'}
  </Empty>
);
