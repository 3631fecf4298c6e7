/**
 * Signing in: team, email address and password, then the code of two-step verification if it is on. Remembers the team
 * on this device.
 */
import { useState } from 'preact/hooks';
import { hasCode, post } from '../../api/client.ts';
import { loadChoice, saveChoice } from '../../browser/device.ts';
import { navigate, useQuery } from '../../browser/router.tsx';
import { parseReturnPath, useSessionState } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeField, CurrentPassword } from '../../ui/form/secret-fields.tsx';
import { TextField, useEntry } from '../../ui/form/field.tsx';
import { Form } from '../../ui/form/form.tsx';
import { Page } from '../../ui/page.tsx';
import { Brand } from '../../ui/brand.tsx';

const TEAM = 'storeroom.team';

export default function SignInPage() {
  const [query] = useQuery();
  const { begin } = useSessionState();
  const teamID = useEntry(query.get('team') ?? loadChoice(TEAM) ?? '');
  const email = useEntry('');
  const password = useEntry('');
  const [isCodeNeeded, setCodeNeeded] = useState(false);

  const send = async (code?: string) => {
    const request = {
      teamID: teamID.value.trim(),
      email: email.value.trim(),
      password: password.value,
      ...(code === undefined ? {} : { code: code.trim() }),
    };
    const session = await post('/sign-in', request);
    saveChoice(TEAM, request.teamID);
    begin(session);
    navigate(parseReturnPath(query), { replace: true });
  };
  const signIn = async () => {
    try {
      await send();
    } catch (fault) {
      if (!hasCode(fault, 'SECOND_FACTOR_NEEDED')) throw fault;
      setCodeNeeded(true);
    }
  };
  if (isCodeNeeded) return <CodeStep email={email.value} onCode={send} onBack={() => setCodeNeeded(false)} />;
  return (
    <div class="entry">
      <Brand />
      <Page title="Sign in">
        <Form onSubmit={signIn}>
          <TextField
            label="Team"
            name="teamID"
            autocomplete="organization"
            required
            isExact
            {...teamID}
            autofocus={teamID.value === ''}
          />
          <TextField
            label="Email address"
            name="email"
            type="email"
            autocomplete="username"
            required
            {...email}
            autofocus={teamID.value !== ''}
          />
          <CurrentPassword label="Password" {...password} />
          <Button type="submit" tone="primary" class="whole">
            Sign in
          </Button>
        </Form>
      </Page>
      <p class="entry-note">No password yet, or forgotten? Ask your team owner for a new link.</p>
    </div>
  );
}

function CodeStep({
  email,
  onCode,
  onBack,
}: {
  email: string;
  onCode: (code: string) => Promise<void>;
  onBack: () => void;
}) {
  const code = useEntry('');
  const [isRecovery, setRecovery] = useState(false);
  const change = () => {
    code.onValue('');
    setRecovery(!isRecovery);
  };
  return (
    <div class="entry">
      <Brand />
      <Page title="Two-step verification" description={`You are signing in as ${email}.`}>
        <Form onSubmit={() => onCode(code.value)}>
          {isRecovery ? (
            <TextField
              key="recovery"
              label="Recovery code"
              name="code"
              isMono
              required
              autofocus
              isExact
              {...code}
              hint="Each recovery code works once."
            />
          ) : (
            <CodeField key="code" {...code} />
          )}
          <Button type="submit" tone="primary" class="whole">
            Sign in
          </Button>
        </Form>
        <div class="entry-ways">
          <Button tone="quiet" size="small" onClick={change}>
            {isRecovery ? 'Use the authenticator app' : 'Use a recovery code'}
          </Button>
          <Button tone="quiet" size="small" onClick={onBack}>
            Back
          </Button>
        </div>
      </Page>
    </div>
  );
}
