/** Webhooks: the endpoints that receive changes, and adding one. Only the state of a page holds a secret. Begin here. */
import { useState } from 'preact/hooks';
import { get } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { pathOf } from '../../router.tsx';
import { useSession } from '../../session.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty, Notice } from '../../ui/notice.tsx';
import { Page } from '../../ui/page.tsx';
import { Table, type TableColumn } from '../../ui/table/table.tsx';
import { Time } from '../../ui/text/time.tsx';
import { AddWebhook } from './add-dialog.tsx';
import { NewSecret } from './new-secret.tsx';
import { nameTypes, WebhookState, type Webhook } from './words.tsx';

const COLUMNS: readonly TableColumn<Webhook>[] = [
  { key: 'url', head: 'Address', cell: ({ url }) => <span title={url}>{url.replace(/^https:\/\//, '')}</span> },
  { key: 'state', head: 'State', isWide: true, cell: (webhook) => <WebhookState webhook={webhook} /> },
  { key: 'types', head: 'Records', cell: ({ types }) => nameTypes(types) },
  { key: 'lag', head: 'Changes behind', align: 'end', cell: ({ lag }) => lag.toLocaleString('en') },
  {
    key: 'delivered',
    head: 'Last delivery',
    cell: ({ lastDeliveredAt }) => <Time at={lastDeliveredAt} to="seconds" none="Not yet" />,
  },
  { key: 'next', head: 'Next try', cell: ({ nextTryAt }) => <Time at={nextTryAt} to="seconds" /> },
];

export function WebhooksPage() {
  const { user, may } = useSession();
  const webhooks = useLoad('webhooks', (signal) => get('/webhooks', {}, signal));
  const { data, isLoading, reload } = webhooks;
  const [isAdding, setAdding] = useState(false);
  const [secret, setSecret] = useState<string>();
  const mayChange = may('developer');
  const add = (
    <Button tone="primary" icon="plus" disabled={secret !== undefined} onClick={() => setAdding(true)}>
      Add webhook
    </Button>
  );
  return (
    <Page
      title="Webhooks"
      description="Storeroom calls your apps when orders, customers or parts change: in order, and again until they answer."
      actions={
        <>
          <Button icon="reload" isBusy={isLoading && data !== undefined} onClick={reload}>
            Refresh
          </Button>
          {mayChange && add}
        </>
      }
    >
      <div class="stack">
        {secret !== undefined && (
          <NewSecret title="New webhook" secret={secret} onStored={() => setSecret(undefined)} />
        )}
        {!mayChange && <Notice>You are a {user.role}. To change webhooks, ask an owner for the developer role.</Notice>}
        <Table
          label="Webhooks"
          columns={COLUMNS}
          rows={data?.webhooks}
          from={webhooks}
          rowKey={({ id }) => id}
          rowLink={({ id }) => pathOf('/webhooks/:id', { id })}
          empty={
            <Empty title="No webhooks yet">
              A webhook tells your app about each change, so that it need not ask.{' '}
              {mayChange
                ? 'Press Add webhook and enter an HTTPS address of your app.'
                : 'A developer or owner can add one.'}
            </Empty>
          }
          skeletonRows={3}
        />
      </div>
      {isAdding && (
        <AddWebhook
          onAdded={(added) => {
            setAdding(false);
            setSecret(added);
            reload();
          }}
          onClose={() => setAdding(false)}
        />
      )}
    </Page>
  );
}
