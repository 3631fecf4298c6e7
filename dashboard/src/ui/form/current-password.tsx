/**
 * The field for the password the user has: at sign-in, and again where proof is needed.
 */
import { PasswordField } from './field.tsx';

interface CurrentPasswordProps {
  label?: string;
  autofocus?: boolean;
  value: string;
  onValue: (value: string) => void;
}

/** Example: `<CurrentPassword value={password} onValue={setPassword} />`. */
export const CurrentPassword = ({ label = 'Your password', ...props }: CurrentPasswordProps) => (
  <PasswordField {...props} label={label} name="password" autocomplete="current-password" required />
);
