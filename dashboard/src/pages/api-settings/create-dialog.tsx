/**
 * The dialog that makes a further pair of keys: its name, what it may do, and when it ends by itself.
 */
import { useState } from 'preact/hooks';
import type { CreatedKeyView } from '../../../../src/http/dashboard/interface.ts';
import { DAYS_MAX, KEY_NAME_CHARACTERS_MAX, type Scope } from '../../../../src/tenant/keys.ts';
import { post } from '../../api/client.ts';
import { RadioGroup, TextField } from '../../ui/form/field.tsx';
import { FormDialog } from '../../ui/dialog/form-dialog.tsx';

const SCOPE_OPTIONS: readonly { value: Scope; label: string; hint: string }[] = [
  { value: 'write', label: 'Read and write', hint: 'Every operation, as the keys a team begins with.' },
  { value: 'read', label: 'Read', hint: 'What only reads. Writes are refused with 403 SCOPE_MISSING.' },
];

export function CreateKeys({ onIssued, onClose }: { onIssued: (issued: CreatedKeyView) => void; onClose: () => void }) {
  const [name, setName] = useState('');
  const [scope, setScope] = useState<Scope>('write');
  const [days, setDays] = useState('');
  const create = async () => {
    const end = days === '' ? {} : { days: Number(days) };
    onIssued(await post('/keys', { name: name.trim(), scope, ...end }));
  };
  return (
    <FormDialog
      title="Create Keys"
      description="Creates one more pair, for another program. The other pairs do not change."
      onClose={onClose}
      action="Create"
      onSubmit={create}
    >
      <TextField
        label="Name"
        name="name"
        hint="What it is for, such as Web shop. No other valid pair has the name."
        required
        autofocus
        maxLength={KEY_NAME_CHARACTERS_MAX}
        isExact
        value={name}
        onValue={setName}
      />
      <RadioGroup label="Scope" name="scope" value={scope} onValue={setScope} options={SCOPE_OPTIONS} />
      <TextField
        label="Days until it ends"
        name="days"
        type="number"
        hint="Empty: it does not end by itself."
        min={1}
        max={DAYS_MAX}
        step={1}
        value={days}
        onValue={setDays}
      />
    </FormDialog>
  );
}
