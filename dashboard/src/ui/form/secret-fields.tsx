/** The fields for secrets: the user's password, a new password, and codes of two-step verification. */
import { PASSWORD_MIN } from '../../../../src/account/account-bounds.ts';
import { ApiError } from '../../api/client.ts';
import { TextField, type TextFieldProps } from './field.tsx';

interface CurrentPasswordProps {
  label?: string;
  autofocus?: boolean;
  value: string;
  onValue: (value: string) => void;
}

/** Example: `<CurrentPassword value={password} onValue={setPassword} />`. */
export const CurrentPassword = ({ label = 'Your password', ...props }: CurrentPasswordProps) => (
  <TextField {...props} label={label} type="password" name="password" autocomplete="current-password" required />
);

/** Tells a password manager the user name of the passwords in a form. */
export const UserName = ({ email }: { email: string }) => (
  <input hidden readOnly autocomplete="username" value={email} />
);

const lengthOf = (password: string) => Array.from(password).length;

/** Throws WEAK_PASSWORD for a password that is too short, without a call. */
export function checkLength(password: string, field: string): void {
  const length = lengthOf(password);
  if (length < PASSWORD_MIN)
    throw new ApiError('WEAK_PASSWORD', `Use at least ${PASSWORD_MIN} characters; this has ${length}.`, 0, { field });
}

/** Example: `<NewPasswordField label="New password" name="newPassword" value={password} onValue={setPassword} />`. */
export function NewPasswordField(field: Omit<TextFieldProps, 'type' | 'autocomplete' | 'hint' | 'required'>) {
  const missing = PASSWORD_MIN - lengthOf(field.value);
  const hint =
    field.value !== '' && missing > 0
      ? `Characters still needed: ${missing}.`
      : `Use at least ${PASSWORD_MIN} characters, such as four unrelated words.`;
  return <TextField {...field} type="password" autocomplete="new-password" required hint={hint} />;
}

interface PresentCodeProps {
  label?: string;
  value: string;
  onValue: (value: string) => void;
}

/** Asks for a code of the factor that is on: `<PresentCode value={code} onValue={setCode} />`. */
export const PresentCode = ({ label = 'Code', ...props }: PresentCodeProps) => (
  <TextField
    {...props}
    label={label}
    name="presentCode"
    isMono
    required
    autocomplete="one-time-code"
    isExact
    hint="Enter the six digits from the app, or a recovery code."
  />
);

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
    hint="Enter the six digits that your authenticator app shows now."
  />
);
