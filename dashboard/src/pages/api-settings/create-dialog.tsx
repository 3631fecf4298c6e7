/**
 * The dialog that creates a pair of keys: its name, its scope, and when it expires.
 */
import type { CreatedKeyView } from '../../../../src/http/dashboard/interface.ts';
import { DAYS_MAX, type Scope } from '../../../../src/tenant/keys.ts';
import { post } from '../../api/client.ts';
import { RadioGroup, TextField, useEntry } from '../../ui/form/field.tsx';
import { FormDialog } from '../../ui/dialog/form-dialog.tsx';
import { KeyNameField } from './key-name-field.tsx';

const SCOPE_OPTIONS: readonly { value: Scope; label: string; hint: string }[] = [
  { value: 'write', label: 'Read and write', hint: 'Full access.' },
  { value: 'read', label: 'Read', hint: 'Read only. Writes are rejected with 403 SCOPE_MISSING.' },
];

export function CreateKeys({ onIssued, onClose }: { onIssued: (issued: CreatedKeyView) => void; onClose: () => void }) {
  const name = useEntry('');
  const scope = useEntry<Scope>('write');
  const days = useEntry('');
  const create = async () => {
    const end = days.value === '' ? {} : { days: Number(days.value) };
    onIssued(await post('/keys', { name: name.value.trim(), scope: scope.value, ...end }));
  };
  return (
    <FormDialog
      title="Create Keys"
      description="Existing keys keep working."
      onClose={onClose}
      action="Create"
      onSubmit={create}
    >
      <KeyNameField hint="The app, such as Web shop." {...name} />
      <RadioGroup label="Scope" name="scope" {...scope} options={SCOPE_OPTIONS} />
      <TextField
        label="Expires after (days)"
        name="days"
        type="number"
        hint="Leave empty for no expiry."
        min={1}
        max={DAYS_MAX}
        step={1}
        {...days}
      />
    </FormDialog>
  );
}
