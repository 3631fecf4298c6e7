/**
 * The user's own account: profile, password, two-step verification and sessions. Begin here.
 */
import { useState } from 'preact/hooks';
import { post } from '../../api/client.ts';
import { useSession } from '../../api/session.tsx';
import { Badge, KeyValue, Time } from '../../ui/text/text.tsx';
import { SubmitActions } from '../../ui/button.tsx';
import { useEntry } from '../../ui/form/field.tsx';
import { CurrentPassword, checkLength, NewPasswordField, UserName } from '../../ui/form/secret-fields.tsx';
import { Form } from '../../ui/form/form.tsx';
import { Card, Page, Section } from '../../ui/page.tsx';
import { toast } from '../../ui/toaster.tsx';
import { SecondFactor } from './second-factor.tsx';
import { Sessions } from './session-list.tsx';

export default function AccountPage() {
  const { user, tenant } = useSession();
  // A new password ends the other sessions, so the table of sessions is loaded again.
  const [round, setRound] = useState(0);
  return (
    <Page title="Account" width="narrow">
      <Card>
        <KeyValue
          rows={[
            ['Email address', user.email],
            [
              'Team',
              <>
                <bdi>{tenant.name}</bdi> ({tenant.teamID})
              </>,
            ],
            ['Role', <Badge>{user.role}</Badge>],
            ['Password set', <Time at={user.passwordSetAt} />],
          ]}
        />
      </Card>
      <Section title="Password" description="Changing your password signs you out everywhere else.">
        <Card>
          <PasswordForm onChanged={() => setRound(round + 1)} />
        </Card>
      </Section>
      <SecondFactor />
      <Sessions key={round} />
    </Page>
  );
}

function PasswordForm({ onChanged }: { onChanged: () => void }) {
  const { user, reload } = useSession();
  const password = useEntry('');
  const newPassword = useEntry('');
  const change = async () => {
    checkLength(newPassword.value, 'newPassword');
    await post('/password', { password: password.value, newPassword: newPassword.value });
    password.onValue('');
    newPassword.onValue('');
    toast('Password changed. You are signed out everywhere else.');
    await reload();
    onChanged();
  };
  return (
    <Form onSubmit={change} label="Change password">
      <UserName email={user.email} />
      <CurrentPassword label="Old password" {...password} />
      <NewPasswordField label="New password" name="newPassword" {...newPassword} />
      <SubmitActions>Change password</SubmitActions>
    </Form>
  );
}
