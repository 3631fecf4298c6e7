/**
 * The field for the name of a pair of keys, to create and to rename one.
 */
import { KEY_NAME_CHARACTERS_MAX } from '../../../../src/tenant/keys.ts';
import { TextField } from '../../ui/form/field.tsx';

interface KeyNameFieldProps {
  /** A text before the hint that says what a name may contain. */
  hint?: string;
  value: string;
  onValue: (value: string) => void;
}

export function KeyNameField({ hint = '', ...field }: KeyNameFieldProps) {
  return (
    <TextField
      label="Name"
      name="name"
      hint={`${hint} Use letters, numbers, spaces, . _ - (up to 64). Names must be unique.`.trim()}
      required
      autofocus
      maxLength={KEY_NAME_CHARACTERS_MAX}
      isExact
      {...field}
    />
  );
}
