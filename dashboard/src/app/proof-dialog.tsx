/** Asks for the password if the service needs a proof of the user's identity, and then continues the user's action. */
import { useEffect, useState } from 'preact/hooks';
import { PROOF_MINUTES } from '../../../src/account/account-bounds.ts';
import { onProofNeeded, post } from '../api/client.ts';
import { useSession } from '../session.tsx';
import { useEntry } from '../ui/form/field.tsx';
import { CurrentPassword, UserName } from '../ui/form/secret-fields.tsx';
import { FormDialog } from '../ui/dialog/dialog.tsx';

/** There is one such dialog, next to the shell. */
export function ProofDialog() {
  const { user } = useSession();
  const password = useEntry('');
  const [asked, setAsked] = useState<{ readonly tell: (isProven: boolean) => void }>();
  useEffect(() => onProofNeeded(() => new Promise((tell) => setAsked({ tell }))), []);
  // If the session has ended in the meantime, the next dialog must not wait for this one.
  useEffect(() => () => asked?.tell(false), [asked]);
  if (asked === undefined) return null;
  const end = (isProven: boolean) => {
    setAsked(undefined);
    password.onValue('');
    asked.tell(isProven);
  };
  const confirm = async () => {
    await post('/confirm', { password: password.value });
    end(true);
  };
  return (
    <FormDialog
      title="Confirm your password"
      description={`For your security. You will not be asked again for ${PROOF_MINUTES} minutes.`}
      action="Confirm"
      onSubmit={confirm}
      onClose={() => end(false)}
    >
      <UserName email={user.email} />
      <CurrentPassword autofocus {...password} />
    </FormDialog>
  );
}
