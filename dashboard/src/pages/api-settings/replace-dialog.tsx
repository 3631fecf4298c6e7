/** The dialog that replaces the keys, and sets how long the old ones keep working. */
import type { IssuedKeyView } from '../../../../src/http/dashboard/interface.ts';
import { endOfOverlap, OVERLAPS, type Overlap } from '../../../../src/tenant/keys.ts';
import { post } from '../../api/client.ts';
import { useNow } from './use-now.ts';
import { FormDialog } from '../../ui/dialog/form-dialog.tsx';
import { RadioGroup, useEntry } from '../../ui/form/field.tsx';
import { Time } from '../../ui/text/time.tsx';

const LABELS: Readonly<Record<Overlap, string>> = {
  none: 'Revoke immediately',
  '1h': '1 hour',
  '24h': '24 hours',
  '7d': '7 days',
};
const REFRESH_MS = 5000;

interface ReplaceKeysProps {
  /** The name of the replaced pair, or undefined if there are no keys. */
  replaced: string | undefined;
  /** Whether the pair was chosen in its row. */
  isChosen?: boolean;
  onIssued: (issued: IssuedKeyView) => void;
  onClose: () => void;
}

export function ReplaceKeys({ replaced, isChosen = false, onIssued, onClose }: ReplaceKeysProps) {
  const overlap = useEntry<Overlap>(replaced ? '24h' : 'none');
  const now = useNow(REFRESH_MS);
  const name = isChosen && replaced !== undefined ? { name: replaced } : {};
  const replace = async () => onIssued(await post('/keys/replace', { overlap: overlap.value, ...name }));
  return (
    <FormDialog
      title="Replace Keys"
      description={`Creates a new API ID and API Secret${replaced ? ` in place of ${replaced}` : ''}. The secret is shown once.`}
      onClose={onClose}
      action="Save"
      onSubmit={replace}
    >
      {replaced && (
        <RadioGroup
          label="Keep the old pair working for"
          name="overlap"
          {...overlap}
          autofocus
          options={OVERLAPS.map((value) => ({
            value,
            label: LABELS[value],
            hint:
              value === 'none' ? (
                'Apps using the old pair stop working immediately.'
              ) : (
                <>
                  Until <Time at={endOfOverlap(value, now)} />
                </>
              ),
          }))}
        />
      )}
    </FormDialog>
  );
}
