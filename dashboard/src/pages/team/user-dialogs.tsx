/**
 * The dialogs in which an owner invites a user, changes a role, creates a new link, sees a link once, or removes a
 * user.
 */
import { useState } from 'preact/hooks';
import { EMAIL_CHARACTERS_MAX } from '../../../../src/account/account-bounds.ts';
import type { Role } from '../../../../src/account/roles.ts';
import type { UserLinkView, UsersView } from '../../../../src/http/dashboard/interface.ts';
import { post, rewordError, toAddress } from '../../api/client.ts';
import { useSession } from '../../api/session.tsx';
import { Actions, Button } from '../../ui/button.tsx';
import { Confirm, Dialog, FormDialog, useClose } from '../../ui/dialog/dialog.tsx';
import { focusHeading, useFocusWhenShown } from '../../ui/focus.ts';
import { RadioGroup, TextField, useEntry, type Option } from '../../ui/form/field.tsx';
import { Notice } from '../../ui/page.tsx';
import { CopyText } from '../../ui/text/copy.tsx';
import { Time } from '../../ui/text/text.tsx';
import { toast } from '../../ui/toaster.tsx';

export type UserRow = UsersView['users'][number] & { readonly isYou: boolean };
type OnIssued = (email: string, link: UserLinkView) => void;

const ROLES: readonly Option<Role>[] = [
  ['viewer', 'Viewer', 'Can view records, requests, usage and settings.'],
  ['clerk', 'Clerk', 'Can also change orders, customers and stock.'],
  ['developer', 'Developer', 'Can also manage keys and webhooks, add fields, and write in the explorer.'],
  ['owner', 'Owner', 'Can also change settings and users, and read the audit log.'],
];

/** Explains why the service refuses to remove the last owner. */
const lastOwner = ({ email, isYou }: UserRow): string =>
  `${isYou ? 'You are' : `${email} is`} the only owner. Make another user an owner first.`;

export function Invite({ onIssued }: { onIssued: OnIssued }) {
  const email = useEntry('');
  const role = useEntry<Role>('viewer');
  const invite = async () => {
    const request = { email: email.value.trim(), role: role.value };
    const link = await rewordError(post('/users', request), 'USER_EXISTS', {
      message: 'A user with this address exists. Create a new link for them, or change their role.',
      field: 'email',
    });
    onIssued(request.email, link);
  };
  return (
    <FormDialog
      title="Invite user"
      description="You get a one-time link with which the user sets a password. Storeroom sends no email, so send the link yourself."
      action="Invite"
      onSubmit={invite}
    >
      <TextField
        label="Email address"
        name="email"
        type="email"
        required
        autofocus
        maxLength={EMAIL_CHARACTERS_MAX}
        isExact
        {...email}
      />
      <RadioGroup label="Role" name="role" {...role} options={ROLES} />
    </FormDialog>
  );
}

export function ChangeRole({ user, onChanged }: { user: UserRow; onChanged: () => void }) {
  const { reload } = useSession();
  const role = useEntry(user.role);
  const save = async () => {
    if (role.value === user.role) return;
    await rewordError(post('/users/role', { email: user.email, role: role.value }), 'LAST_OWNER', {
      message: lastOwner(user),
    });
    toast(`${user.email} is now ${role.value}`);
    onChanged();
    if (!user.isYou) return;
    await reload();
    focusHeading(); // A user who is no longer an owner now sees another page.
  };
  return (
    <FormDialog
      title="Change role"
      description={`The role of ${user.email} changes immediately.`}
      action="Save"
      onSubmit={save}
    >
      <RadioGroup label="Role" name="role" {...role} options={ROLES} autofocus />
      {user.isYou && role.value !== user.role && (
        <Notice tone="warn" title="This is your own role">
          Only another owner can undo this.
        </Notice>
      )}
    </FormDialog>
  );
}

export function NewLink({ user, onIssued }: { user: UserRow; onIssued: OnIssued }) {
  const make = async () => onIssued(user.email, await post('/users/link', { email: user.email }));
  return (
    <FormDialog title="Create a new link?" action="Create link" onSubmit={make}>
      <div class="confirm-text">
        <p>
          Use this if <strong>{user.email}</strong> forgot the password or lost the phone.
        </p>
        <p>
          {user.hasPassword
            ? 'The link sets a new password, turns off two-step verification and signs them out everywhere.'
            : 'They set their password with the new link. Earlier links stop working.'}
        </p>
      </div>
    </FormDialog>
  );
}

/** Removes a user after one question, or after two if it is the user's own account. */
export function RemoveUser({ user, onRemoved }: { user: UserRow; onRemoved: () => void }) {
  const close = useClose();
  const [isMeant, setMeant] = useState(false);
  const remove = async () => {
    await rewordError(post('/users/remove', { email: user.email }), 'LAST_OWNER', { message: lastOwner(user) });
    if (user.isYou) return location.assign('/dashboard/sign-in');
    toast(`${user.email} was removed`);
    return onRemoved();
  };
  if (!user.isYou)
    return (
      <Confirm title={`Remove ${user.email}?`} action="Remove" onSubmit={remove}>
        They are signed out immediately and can no longer sign in. The audit log keeps their actions, and the API keys
        that they created keep working.
      </Confirm>
    );
  if (isMeant)
    return (
      <Confirm key="really" title="Really remove your own account?" action="Remove my account" onSubmit={remove}>
        <strong>{user.email}</strong> is removed from this team and signed out. Only another owner can invite you again.
      </Confirm>
    );
  return (
    <Dialog key="first" title="Remove yourself?" description={`${user.email} is the account you are signed in with.`}>
      <p>You lose access to this team immediately. To sign out, use “Sign out” below the menu.</p>
      <Actions>
        <Button tone="primary" onClick={close}>
          Keep my account
        </Button>
        <Button onClick={() => setMeant(true)}>Continue</Button>
      </Actions>
    </Dialog>
  );
}

/** Shows a new one-time link once, and says how to send it. */
export function ShowLink({ email, link: { link, endsAt } }: { email: string; link: UserLinkView }) {
  // The focus is not on a button, because pressing Enter again would close the dialog with the link.
  const text = useFocusWhenShown<HTMLDivElement>();
  return (
    <Dialog title="One-time link" description={`With this link, ${email} can set a password.`}>
      <div class="card link-once" ref={text} tabIndex={-1}>
        <CopyText text={toAddress(link)} label="Copy the link" />
      </div>
      <Notice tone="warn" title="The link is not shown again">
        Send it privately: whoever opens it first can set the password. It expires <Time at={endsAt} />.
      </Notice>
      <Actions>
        <Button tone="primary" onClick={useClose()}>
          Done
        </Button>
      </Actions>
    </Dialog>
  );
}
