/**
 * The form that replaces the keys: when those before them stop, and the password again. Hands what was issued to the page and keeps nothing of it.
 */
import { useState } from 'preact/hooks';
import type { IssuedKeyView, ReplaceKeysRequest } from '../../../../src/http/dashboard/interface.ts';
import { post } from '../../api/client.ts';
import { useNow } from './use-now.ts';
import { SubmitActions } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { PasswordField, RadioGroup } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Time } from '../../ui/time.tsx';

type Overlap = ReplaceKeysRequest['overlap'];
const HOUR_MS = 3_600_000;
const LATER: readonly { value: Exclude<Overlap, 'none'>; label: string; hours: number }[] = [
  { value: '1h', label: 'After 1 hour', hours: 1 },
  { value: '24h', label: 'After 24 hours', hours: 24 },
  { value: '7d', label: 'After 7 days', hours: 7 * 24 },
];
const REFRESH_MS = 5000;

export interface ReplaceKeysProps {
  /** Whether there are any that could stop. */
  hasKeys: boolean;
  onIssued: (issued: IssuedKeyView) => void;
  onClose: () => void;
}

export function ReplaceKeys({ hasKeys, onIssued, onClose }: ReplaceKeysProps) {
  const [overlap, setOverlap] = useState<string>('none');
  const [password, setPassword] = useState('');
  const now = useNow(REFRESH_MS);
  const save = async () => {
    const request: ReplaceKeysRequest = { password, overlap: overlap as Overlap };
    onIssued(await post<IssuedKeyView>('keys/replace', request));
  };
  return (
    <Dialog
      title="Replace Keys"
      description={
        hasKeys
          ? 'Issues a new API ID and API Secret. Give the old ones time where a program still needs them.'
          : 'Issues the first pair of API ID and API Secret. The secret is shown once.'
      }
      onClose={onClose}
    >
      <Form onSubmit={save}>
        {hasKeys && (
          <RadioGroup
            label="When do the old keys stop?"
            name="overlap"
            value={overlap}
            onValue={setOverlap}
            autofocus
            options={[
              { value: 'none', label: 'At once', hint: 'Programs that still use them are refused from then on.' },
              ...LATER.map(({ value, label, hours }) => ({
                value,
                label,
                hint: <Time at={new Date(now + hours * HOUR_MS).toISOString()} />,
              })),
            ]}
          />
        )}
        <PasswordField
          label="Your password"
          name="password"
          autocomplete="current-password"
          required
          autofocus={!hasKeys}
          value={password}
          onValue={setPassword}
        />
        <SubmitActions onCancel={onClose}>Save</SubmitActions>
      </Form>
    </Dialog>
  );
}
