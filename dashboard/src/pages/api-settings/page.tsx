/**
 * API Settings: the base URL, the keys, the replaced keys that still work, and the dialogs that create and replace
 * keys. Only the state of this page holds a new secret. Begin here.
 */
import { useState } from 'preact/hooks';
import { fetchOperation } from '../../api/client.ts';
import { useGet, useLoad } from '../../api/use-load.ts';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { openDialog } from '../../ui/dialog/dialog.tsx';
import { CopyText } from '../../ui/text/copy.tsx';
import { KeyValue, Time } from '../../ui/text/text.tsx';
import { Card, Empty, Notice, Page, Section, WhenLoaded } from '../../ui/page.tsx';
import { CreateKeys, ReplaceKeys } from './key-dialogs.tsx';
import { IssuedKeys, type NewKeys } from './issued-keys.tsx';
import { KeyTable, type KeyRow } from './key-table.tsx';

/** Returns the number of an order for the example calls, or null if there is none. */
async function findOrder(signal: AbortSignal): Promise<string | null> {
  const { body } = await fetchOperation<{ data: { ORDER_NUMBER?: string }[] }>(
    'POST',
    '/orders/query',
    { maxReturn: 1 },
    [],
    { signal },
  );
  return body.data[0]?.ORDER_NUMBER ?? null;
}

export default function ApiSettingsPage() {
  const { user, tenant, baseURL, may } = useSession();
  const keys = useGet('/keys');
  const { data, reload } = keys;
  const { data: orderNum } = useLoad('an order', findOrder);
  const [issued, setIssued] = useState<NewKeys>();
  const inForce = data?.keys.filter(({ isReplaced }) => !isReplaced) ?? [];
  const mayReplace = may('developer');
  const isFirst = inForce.length === 0;
  const isReady = issued === undefined && data !== undefined;
  const show = (pair: NewKeys) => {
    setIssued(pair);
    reload();
  };
  const create = () => openDialog(<CreateKeys onIssued={(pair) => show({ ...pair, oldKeysEndAt: null })} />);
  const replace = (chosen?: string) =>
    openDialog(
      <ReplaceKeys
        replaced={chosen ?? (inForce.find(({ name }) => name === 'default') ?? inForce[0])?.name}
        isChosen={chosen !== undefined}
        onIssued={(pair) => show({ ...pair, oldKeysEndAt: isFirst ? null : pair.oldKeysEndAt })}
      />,
    );
  return (
    <Page
      title="API Settings"
      description="To call the API, an app needs the team ID, the base URL, an API ID and an API Secret."
      actions={
        mayReplace && (
          <Button tone={isFirst ? 'secondary' : 'primary'} icon="keys" disabled={!isReady} onClick={() => replace()}>
            Replace Keys
          </Button>
        )
      }
    >
      <div class="stack">
        {issued && (
          <IssuedKeys issued={issued} baseURL={baseURL} orderNum={orderNum} onStored={() => setIssued(undefined)} />
        )}
        {inForce.map((pair) => pair.lastUsedInUrlAt && <UrlWarning key={pair.apiID} pair={pair} />)}
        {!mayReplace && (
          <Notice>You are a {user.role}. To create or replace keys, ask an owner for the developer role.</Notice>
        )}
        <Connection teamID={tenant.teamID} baseURL={baseURL} />
      </div>
      <Section
        title="Keys"
        description="Use one key pair per app, so that you can see its usage and revoke it alone."
        actions={
          mayReplace && (
            <Button tone={isFirst ? 'primary' : 'secondary'} icon="plus" disabled={!isReady} onClick={create}>
              Create Keys
            </Button>
          )
        }
      >
        <WhenLoaded from={keys} lines={3}>
          {() =>
            isFirst ? (
              <NoKeys mayReplace={mayReplace} />
            ) : (
              <KeyTable label="Valid keys" keys={inForce} onEnded={reload} onReplace={replace} />
            )
          }
        </WhenLoaded>
      </Section>
      <OldKeys keys={data?.keys.filter(({ isReplaced }) => isReplaced) ?? []} onEnded={reload} />
    </Page>
  );
}

const Connection = ({ teamID, baseURL }: { teamID: string; baseURL: string }) => (
  <Card>
    <h2 class="card-title">Connection</h2>
    <KeyValue
      rows={[
        ['Team ID', <CopyText text={teamID} label="Copy the team ID" />],
        ['Base URL', <CopyText text={baseURL} label="Copy the base URL" />],
        ['Credentials', 'HTTP Basic: API ID as the user name, API Secret as the password'],
      ]}
    />
  </Card>
);

function OldKeys({ keys, onEnded }: { keys: readonly KeyRow[]; onEnded: () => void }) {
  if (keys.length === 0) return null;
  return (
    <Section title="Being replaced" description="These keys still work until they expire.">
      <KeyTable label="Old keys" keys={keys} onEnded={onEnded} />
    </Section>
  );
}

const UrlWarning = ({ pair: { name, lastUsedInUrlAt } }: { pair: KeyRow }) => (
  <Notice tone="warn" title="The API Secret was sent in a URL">
    The key <strong>{name}</strong> was last sent this way on <Time at={lastUsedInUrlAt} />. Others can read URLs in
    logs and histories. Send the keys in a Basic header (<code>Authorization: Basic …</code>, with curl <code>-u</code>
    ), then replace them.
  </Notice>
);

const NoKeys = ({ mayReplace }: { mayReplace: boolean }) => (
  <Empty title="No keys yet">
    {mayReplace ? 'Create a key pair to call the API.' : 'A developer or owner can create a key pair.'}
  </Empty>
);
