/** The dialog that adds a webhook: its address, and the types of records whose changes it receives. */
import { useState } from 'preact/hooks';
import { ApiError, post } from '../../api/client.ts';
import { KINDS, type Kind } from '../../api/records.ts';
import { FormDialog } from '../../ui/dialog/form-dialog.tsx';
import { Checkbox, TextField } from '../../ui/form/field.tsx';
import { TYPES } from './words.tsx';

export function AddWebhook({ onAdded, onClose }: { onAdded: (secret: string) => void; onClose: () => void }) {
  const [url, setUrl] = useState('');
  const [types, setTypes] = useState<readonly Kind[]>(TYPES);
  const add = async () => {
    if (types.length === 0) throw new ApiError('MISSING_FIELD', 'Choose at least one type of record.', 0);
    onAdded((await post('/webhooks', { url: url.trim(), types: [...types] })).secret);
  };
  return (
    <FormDialog
      title="Add webhook"
      description="It receives the changes from now on."
      onClose={onClose}
      action="Add"
      onSubmit={add}
    >
      <TextField
        label="Address"
        name="url"
        hint="An HTTPS address of your app that the internet can reach."
        placeholder="https://shop.example.com/storeroom"
        required
        autofocus
        isExact
        value={url}
        onValue={setUrl}
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
