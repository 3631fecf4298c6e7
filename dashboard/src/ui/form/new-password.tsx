/**
 * The field for a new password: counts the characters that are missing. The service refuses passwords that are easy to
 * guess.
 */
import { PASSWORD_MIN } from '../../../../src/account/account-bounds.ts';
import { ApiError } from '../../api/client.ts';
import { PasswordField, type PasswordFieldProps } from './field.tsx';

const lengthOf = (password: string): number => Array.from(password).length;

/** Throws what the service would refuse, without the way there. */
export function checkLength(password: string, field: string): void {
  const length = lengthOf(password);
  if (length < PASSWORD_MIN)
    throw new ApiError('WEAK_PASSWORD', `It has ${length} characters; at least ${PASSWORD_MIN} are needed.`, 0, {
      field,
    });
}

/** Example: `<NewPasswordField label="New password" name="newPassword" value={password} onValue={setPassword} />`. */
export function NewPasswordField(field: Omit<PasswordFieldProps, 'autocomplete' | 'hint' | 'required'>) {
  const length = lengthOf(field.value);
  const isShort = length > 0 && length < PASSWORD_MIN;
  const hint = isShort
    ? `${PASSWORD_MIN - length} more to go.`
    : `${PASSWORD_MIN} characters or more, such as four words that do not belong together.`;
  return <PasswordField {...field} autocomplete="new-password" required hint={hint} />;
}
