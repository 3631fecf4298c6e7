/**
 * The dialog that replaces the keys: when the old ones stop.
 */
import { useState } from 'preact/hooks';
import type { IssuedKeyView } from '../../../../src/http/dashboard/interface.ts';
import { endOfOverlap, OVERLAPS, type Overlap } from '../../../../src/tenant/keys.ts';
import { post } from '../../api/client.ts';
import { useNow } from './use-now.ts';
import { FormDialog } from '../../ui/dialog/form-dialog.tsx';
import { RadioGroup } from '../../ui/form/field.tsx';
import { Time } from '../../ui/text/time.tsx';

const LABELS: Readonly<Record<Overlap, string>> = {
  none: 'At once',
  '1h': 'After 1 hour',
  '24h': 'After 24 hours',
  '7d': 'After 7 days',
};
const REFRESH_MS = 5000;

export interface ReplaceKeysProps {
  /** The name of the pair that is replaced; undefined when there are no keys. */
  replaced: string | undefined;
  onIssued: (issued: IssuedKeyView) => void;
  onClose: () => void;
}

export function ReplaceKeys({ replaced, onIssued, onClose }: ReplaceKeysProps) {
  const hasKeys = replaced !== undefined;
  const [overlap, setOverlap] = useState<Overlap>('none');
  const now = useNow(REFRESH_MS);
  const save = async () => {
    onIssued(await post('/keys/replace', { overlap }));
  };
  return (
    <FormDialog
      title="Replace Keys"
      description={
        hasKeys
          ? `Issues a new API ID and API Secret in place of ${replaced}. Give the old ones time where a program still needs them.`
          : 'Issues the first pair of API ID and API Secret. The secret is shown once.'
      }
      onClose={onClose}
      action="Save"
      onSubmit={save}
    >
      {hasKeys && (
        <RadioGroup
          label="When do the old keys stop?"
          name="overlap"
          value={overlap}
          onValue={setOverlap}
          autofocus
          options={OVERLAPS.map((value) => ({
            value,
            label: LABELS[value],
            hint:
              value === 'none' ? (
                'Programs that still use them are refused from then on.'
              ) : (
                <Time at={endOfOverlap(value, now)} />
              ),
          }))}
        />
      )}
    </FormDialog>
  );
}
