/**
 * The dialogs about the session: they warn that it ends, sign the user in again over the page, and ask for a proof of
 * the user's identity.
 */
import { useEffect, useState } from 'preact/hooks';
import { PROOF_MINUTES, SESSION_IDLE_MINUTES } from '../../../src/account/account-bounds.ts';
import { get, hasCode, lastCallAt, onProofNeeded, post } from '../api/client.ts';
import { leaveForSignIn, useSession, useSessionState } from '../api/session.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog, FormDialog } from '../ui/dialog/dialog.tsx';
import { useEntry } from '../ui/form/field.tsx';
import { CodeField, CurrentPassword, PresentCode, UserName } from '../ui/form/secret-fields.tsx';

const MINUTE_MS = 60_000;
const LOOK_MS = 10_000;
const WARNED_MS = 2 * MINUTE_MS;

/**
 * Warns two minutes before a session ends, and lets the user stay signed in. After it has ended, the user signs in
 * again over the page, which keeps what was typed. Source: WCAG 2.2.1. It exists once, next to the shell.
 */
export function SessionEnd() {
  const { hasEnded } = useSessionState();
  const { endsAt } = useSession();
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const look = setInterval(() => setNow(Date.now()), LOOK_MS);
    return () => clearInterval(look);
  }, []);
  if (hasEnded) return <SignInAgain />;
  const idleAt = lastCallAt() + SESSION_IDLE_MINUTES * MINUTE_MS;
  if (Date.parse(endsAt) - now < WARNED_MS) return <SignInAgain isEnding />;
  return idleAt - now < WARNED_MS ? <Stay onStay={() => setNow(Date.now())} /> : null;
}

function Stay({ onStay }: { onStay: () => void }) {
  const stay = () => void get('/session').then(onStay, onStay);
  return (
    <Dialog title="You will be signed out in two minutes" onClose={stay}>
      <p>You have not used the dashboard for a while.</p>
      <Button tone="primary" onClick={stay}>
        Stay signed in
      </Button>
    </Dialog>
  );
}

function SignInAgain({ isEnding = false }: { isEnding?: boolean }) {
  const { user, tenant } = useSession();
  const { begin } = useSessionState();
  const password = useEntry('');
  const [code, setCode] = useState<string>();
  const signIn = async () => {
    const { teamID } = tenant;
    try {
      begin(
        await post('/sign-in', {
          teamID,
          email: user.email,
          password: password.value,
          ...(code === undefined ? {} : { code }),
        }),
      );
    } catch (fault) {
      if (!hasCode(fault, 'SECOND_FACTOR_NEEDED')) throw fault;
      setCode('');
    }
  };
  return (
    <FormDialog
      title={isEnding ? 'Your session ends in two minutes' : 'You were signed out'}
      description={`Sign in again as ${user.email} to continue. What you typed is kept.`}
      action="Sign in"
      onSubmit={signIn}
      onClose={leaveForSignIn}
    >
      <UserName email={user.email} />
      <CurrentPassword autofocus {...password} />
      {code !== undefined && <CodeField value={code} onValue={setCode} />}
    </FormDialog>
  );
}

/**
 * Asks for the password, and the code of two-step verification if it is on, if the service needs a proof of the user's
 * identity, and then continues the user's action. It exists once, next to the shell.
 */
export function ProofDialog() {
  const { user } = useSession();
  const password = useEntry('');
  const code = useEntry('');
  const [asked, setAsked] = useState<{ readonly tell: (isProven: boolean) => void }>();
  useEffect(() => onProofNeeded(() => new Promise((tell) => setAsked({ tell }))), []);
  // If the session has ended in the meantime, the next dialog must not wait for this one.
  useEffect(() => () => asked?.tell(false), [asked]);
  if (asked === undefined) return null;
  const end = (isProven: boolean) => {
    setAsked(undefined);
    password.onValue('');
    code.onValue('');
    asked.tell(isProven);
  };
  const confirm = async () => {
    await post('/confirm', { password: password.value, ...(user.hasSecondFactor && { code: code.value.trim() }) });
    end(true);
  };
  return (
    <FormDialog
      title={user.hasSecondFactor ? 'Confirm your identity' : 'Confirm your password'}
      description={`This protects your account. You will not be asked again for ${PROOF_MINUTES} minutes.`}
      action="Confirm"
      onSubmit={confirm}
      onClose={() => end(false)}
    >
      <UserName email={user.email} />
      <CurrentPassword autofocus {...password} />
      {user.hasSecondFactor && <PresentCode {...code} />}
    </FormDialog>
  );
}
