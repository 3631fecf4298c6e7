/**
 * Webhooks: lists the endpoints that receive changes and adds one. Only the state of a page holds a secret. Begin here.
 */
import { useState } from 'preact/hooks';
import { ApiError, post } from '../../api/client.ts';
import { KINDS } from '../../records/records.ts';
import { useGet } from '../../api/use-load.ts';
import { pathOf } from '../../browser/router.tsx';
import { useSession } from '../../api/session.tsx';
import { Button, Refresh } from '../../ui/button.tsx';
import { FormDialog, openDialog } from '../../ui/dialog/dialog.tsx';
import { Checkbox, TextField, useEntry } from '../../ui/form/field.tsx';
import { Empty, Notice, Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table/table.tsx';
import { NewSecret } from './new-secret.tsx';
import { COLUMNS, TYPES } from './words.tsx';

export default function WebhooksPage() {
  const { user, may } = useSession();
  const webhooks = useGet('/webhooks');
  const { data, isLoading, reload } = webhooks;
  const [secret, setSecret] = useState('');
  const mayAdd = may('developer');
  const show = (added: string) => {
    setSecret(added);
    reload();
  };
  return (
    <Page
      title="Webhooks"
      description="Storeroom sends changes of records to your apps in order, and retries a failed call for three days."
      actions={
        <>
          <Refresh isBusy={isLoading} onClick={reload} />
          {mayAdd && (
            <Button
              tone="primary"
              icon="plus"
              disabled={secret !== ''}
              onClick={() => openDialog(<AddWebhook onAdded={show} />)}
            >
              Add webhook
            </Button>
          )}
        </>
      }
    >
      <div class="stack">
        {secret && <NewSecret title="New webhook" secret={secret} onStored={() => setSecret('')} />}
        {!mayAdd && (
          <Notice title={`You are a ${user.role}. To change webhooks, ask an owner for the developer role.`} />
        )}
        <Table
          label="Webhooks"
          columns={COLUMNS}
          rows={data?.webhooks}
          from={webhooks}
          rowKey="id"
          rowLink={({ id }) => pathOf('/webhooks/:id', { id })}
          empty={<Empty title="No webhooks yet">{USE}</Empty>}
        />
      </div>
    </Page>
  );
}

const USE =
  'A webhook tells your app about each change, so that the app need not ask. ' +
  'A developer or owner adds one with Add webhook and an HTTPS address of the app.';

function AddWebhook({ onAdded }: { onAdded: (secret: string) => void }) {
  const url = useEntry('');
  const [types, setTypes] = useState(TYPES);
  const add = async () => {
    if (types.length === 0) throw new ApiError('MISSING_FIELD', 'Choose at least one type of record.', 0);
    onAdded((await post('/webhooks', { url: url.value.trim(), types })).secret);
  };
  return (
    <FormDialog title="Add webhook" action="Add" onSubmit={add}>
      <TextField
        label="Address"
        name="url"
        hint="Enter an HTTPS address of your app that can be reached from the internet."
        placeholder="https://shop.example.com/storeroom"
        required
        autofocus
        isExact
        {...url}
      />
      <fieldset class="field">
        <legend class="label">Records</legend>
        {TYPES.map((type) => (
          <Checkbox
            key={type}
            name={type}
            label={KINDS[type].label}
            isChecked={types.includes(type)}
            onChecked={(isChecked) => setTypes(TYPES.filter((one) => (one === type ? isChecked : types.includes(one))))}
          />
        ))}
      </fieldset>
    </FormDialog>
  );
}
