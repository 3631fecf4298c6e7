/**
 * Opens one record by its code, an order also by its storefront number.
 */
import { useState } from 'preact/hooks';
import { KEY_CHARACTERS_MAX } from '../../../../src/pims/rules/record-bounds.ts';
import { findPath, KINDS, type Kind } from '../../api/records.ts';
import { navigate } from '../../router.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/form/field.tsx';
import { Form } from '../../ui/form/form.tsx';

/** Example: `<FindRecord kind="orders" />`. */
export function FindRecord({ kind }: { kind: Kind }) {
  const [key, setKey] = useState('');
  const { keyLabel, noun } = KINDS[kind];
  const find = async () => navigate(await findPath(kind, key.trim()));
  return (
    <div class="find" role="search" aria-label={`Find one ${noun}`}>
      <Form onSubmit={find}>
        <TextField
          label={keyLabel}
          isLabelHidden
          name="key"
          type="search"
          placeholder={keyLabel}
          required
          maxLength={KEY_CHARACTERS_MAX}
          isExact
          value={key}
          onValue={setKey}
        />
        <Button type="submit" icon="search">
          Open
        </Button>
      </Form>
    </div>
  );
}
