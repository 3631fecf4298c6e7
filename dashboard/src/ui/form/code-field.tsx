/**
 * The field for the six digits of an authenticator app.
 */
import { TextField } from './field.tsx';

/** Example: `<CodeField value={code} onValue={setCode} />`. */
export const CodeField = ({ value, onValue }: { value: string; onValue: (value: string) => void }) => (
  <TextField
    label="Code"
    name="code"
    isMono
    required
    autofocus
    autocomplete="one-time-code"
    inputmode="numeric"
    pattern="\s*\d{3}\s?\d{3}\s*"
    title="Six digits"
    value={value}
    onValue={onValue}
    hint="The six digits your authenticator app shows now."
  />
);
