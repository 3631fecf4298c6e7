/**
 * The dialogs that create a pair of keys with a name, a scope and an expiry, replace one, and rename one. The user who
 * replaces a pair chooses how long the old one keeps working.
 */
import type { CreatedKeyView, IssuedKeyView } from '../../../../src/http/dashboard/interface.ts';
import {
  DAYS_MAX,
  endOfOverlap,
  KEY_NAME_CHARACTERS_MAX,
  OVERLAPS,
  type Overlap,
  type Scope,
} from '../../../../src/tenant/keys.ts';
import { post } from '../../api/client.ts';
import { useNow } from './use-now.ts';
import { FormDialog } from '../../ui/dialog/dialog.tsx';
import { RadioGroup, TextField, useEntry, type Option } from '../../ui/form/field.tsx';
import { Time } from '../../ui/text/text.tsx';

const SCOPE_OPTIONS: readonly Option<Scope>[] = [
  ['read', 'Read', 'Reads only. Other calls are rejected with 403 SCOPE_MISSING.'],
  ['write', 'Read and write', 'Also creates and changes orders and customers.'],
  ['office', 'Back office', 'Also approves, invoices, voids, and changes parts and stock.'],
];

export function CreateKeys({ onIssued }: { onIssued: (issued: CreatedKeyView) => void }) {
  const name = useEntry('');
  const scope = useEntry<Scope>('write');
  const days = useEntry('');
  const create = async () => {
    const end = days.value === '' ? {} : { days: Number(days.value) };
    onIssued(await post('/keys', { name: name.value.trim(), scope: scope.value, ...end }));
  };
  return (
    <FormDialog title="Create Keys" description="Existing keys keep working." action="Create" onSubmit={create}>
      <KeyNameField hint="Name the app, such as Web shop." {...name} />
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

const LABELS: Readonly<Record<Overlap, string>> = {
  none: 'Immediately',
  '1h': 'After 1 hour',
  '24h': 'After 24 hours',
  '7d': 'After 7 days',
};
const REFRESH_MS = 5000;

interface ReplaceKeysProps {
  /** The name of the replaced pair, or undefined if there are no keys. */
  replaced: string | undefined;
  /** Whether the pair was chosen in its row. */
  isChosen?: boolean;
  onIssued: (issued: IssuedKeyView) => void;
}

export function ReplaceKeys({ replaced, isChosen = false, onIssued }: ReplaceKeysProps) {
  const overlap = useEntry<Overlap>(replaced ? '24h' : 'none');
  const now = useNow(REFRESH_MS);
  const name = isChosen && replaced !== undefined ? { name: replaced } : {};
  const replace = async () => onIssued(await post('/keys/replace', { overlap: overlap.value, ...name }));
  return (
    <FormDialog
      title="Replace Keys"
      description={`You get new keys without an expiry${replaced ? ` in place of ${replaced}` : ''}. The secret is shown once.`}
      action="Save"
      onSubmit={replace}
    >
      {replaced && (
        <RadioGroup
          label="Revoke the old pair"
          name="overlap"
          {...overlap}
          autofocus
          options={OVERLAPS.map((value) => [
            value,
            LABELS[value],
            value === 'none' ? (
              'Apps using the old pair stop working immediately.'
            ) : (
              <>
                It works until <Time at={endOfOverlap(value, now)} />
              </>
            ),
          ])}
        />
      )}
    </FormDialog>
  );
}

/** The field for the name of a pair of keys, to create and to rename one. */
interface KeyNameFieldProps {
  /** A text before the hint that says what a name may contain. */
  hint?: string;
  value: string;
  onValue: (value: string) => void;
}

function KeyNameField({ hint = '', ...field }: KeyNameFieldProps) {
  return (
    <TextField
      label="Name"
      name="name"
      hint={`${hint} Use up to 64 letters, digits, spaces, dots, _ and -, with a letter or digit at both ends. Names must be unique.`.trim()}
      required
      autofocus
      maxLength={KEY_NAME_CHARACTERS_MAX}
      isExact
      {...field}
    />
  );
}

export function RenameKeys({ pair, onDone }: { pair: { name: string; apiID: string }; onDone: () => void }) {
  const name = useEntry(pair.name);
  const rename = async () => {
    await post('/keys/rename', { apiID: pair.apiID, name: name.value.trim() });
    onDone();
  };
  return (
    <FormDialog title={`Rename the keys ${pair.name}`} action="Rename" onSubmit={rename}>
      <KeyNameField {...name} />
    </FormDialog>
  );
}
