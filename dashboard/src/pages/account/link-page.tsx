/**
 * A one-time link, /dashboard/link#TOKEN: shows its user, sets the password and signs in. It first removes the token
 * from the address, so that the history never contains it.
 */
import { useState } from 'preact/hooks';
import type { LinkView } from '../../../../src/http/dashboard/interface.ts';
import { ApiError, post } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { navigate } from '../../browser/router.tsx';
import { useSessionState } from '../../api/session.tsx';
import { Brand } from '../../ui/brand.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { TextField, useEntry } from '../../ui/form/field.tsx';
import { Form } from '../../ui/form/form.tsx';
import { Notice, Page, WhenLoaded } from '../../ui/page.tsx';
import { checkLength, NewPasswordField } from '../../ui/form/secret-fields.tsx';

function takeToken(): string {
  const token = location.hash.slice(1);
  history.replaceState(null, '', location.pathname + location.search);
  return token;
}

export default function LinkPage() {
  const [token] = useState(takeToken);
  const link = useLoad('link', () => post('/link/check', { token }));
  const { data, error } = link;
  return (
    <div class="entry">
      <Brand />
      <Page title="Set your password" description={data && `You are ${data.email} in the team ${data.teamID}.`}>
        {error?.code === 'LINK_INVALID' ? (
          <Notice tone="bad" title="This link cannot be used" actions={<ButtonLink to="/sign-in">Sign in</ButtonLink>}>
            Reopen the link you received. If it still fails, it was used or has expired: ask an owner of your team for a
            new one.
          </Notice>
        ) : (
          <WhenLoaded from={link} lines={4}>
            {(found) => <PasswordForm token={token} link={found} />}
          </WhenLoaded>
        )}
      </Page>
    </div>
  );
}

function PasswordForm({ token, link }: { token: string; link: LinkView }) {
  const { begin } = useSessionState();
  const password = useEntry('');
  const again = useEntry('');
  const send = async () => {
    checkLength(password.value, 'password');
    if (again.value !== password.value)
      throw new ApiError('INVALID_VALUE', 'The passwords do not match.', 0, { field: 'again' });
    begin(await post('/link', { token, password: password.value }));
    navigate('/api-settings', { replace: true });
  };
  return (
    <Form onSubmit={send}>
      {/** This field tells a password manager the user name. */}
      <TextField
        label="Email address"
        name="email"
        type="email"
        autocomplete="username"
        readOnly
        value={link.email}
        onValue={() => {}}
      />
      <NewPasswordField label="Password" name="password" autofocus {...password} />
      <TextField label="Repeat password" name="again" type="password" autocomplete="new-password" required {...again} />
      <Button type="submit" tone="primary" class="whole">
        Set password and sign in
      </Button>
    </Form>
  );
}
