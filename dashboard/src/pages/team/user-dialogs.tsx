/**
 * The dialogs by which an owner changes users: invite one, change a role, make a new link.
 */
import { useState } from 'preact/hooks';
import { EMAIL_CHARACTERS_MAX } from '../../../../src/account/account-bounds.ts';
import type { Role } from '../../../../src/account/roles.ts';
import type { UserLinkView, UsersView } from '../../../../src/http/dashboard/interface.ts';
import { post } from '../../api/client.ts';
import { rewordError } from '../../api/reword-error.ts';
import { useSession } from '../../session.tsx';
import { FormDialog } from '../../ui/dialog/form-dialog.tsx';
import { RadioGroup, TextField } from '../../ui/form/field.tsx';
import { focusHeading } from '../../ui/focus.ts';
import { Notice } from '../../ui/notice.tsx';
import { toast } from '../../ui/toaster.tsx';

export type UserRow = UsersView['users'][number];
type OnIssued = (email: string, link: UserLinkView) => void;

const ROLES: readonly { value: Role; label: string; hint: string }[] = [
  { value: 'viewer', label: 'Viewer', hint: 'Sees records, requests, usage and settings; changes nothing.' },
  {
    value: 'developer',
    label: 'Developer',
    hint: 'Also changes orders and fields, uses the whole API explorer, makes and replaces keys.',
  },
  { value: 'owner', label: 'Owner', hint: 'Also changes the settings and the users, reads the audit log.' },
];

/** Why the service keeps somebody an owner. */
export const lastOwner = ({ email, isYou }: UserRow): string =>
  `${isYou ? 'You are' : `${email} is`} the only owner. A team keeps at least one: make somebody else an owner first.`;

export function Invite({ onIssued, onClose }: { onIssued: OnIssued; onClose: () => void }) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const invite = async () => {
    const request = { email: email.trim(), role };
    const link = await rewordError(
      post('/users', request),
      'USER_EXISTS',
      'The team has a user with this address. Give them a new link or another role instead.',
      'email',
    );
    onIssued(request.email, link);
  };
  return (
    <FormDialog
      title="Invite user"
      description="Makes a one-time link to set a password. Storeroom sends no e-mail: you hand the link over."
      onClose={onClose}
      action="Invite"
      onSubmit={invite}
    >
      <TextField
        label="E-mail address"
        name="email"
        type="email"
        required
        autofocus
        maxLength={EMAIL_CHARACTERS_MAX}
        isExact
        value={email}
        onValue={setEmail}
      />
      <RadioGroup label="Role" name="role" value={role} onValue={setRole} options={ROLES} />
    </FormDialog>
  );
}

export function ChangeRole({
  user,
  onChanged,
  onClose,
}: {
  user: UserRow;
  onChanged: () => void;
  onClose: () => void;
}) {
  const { reload } = useSession();
  const [role, setRole] = useState(user.role);
  const save = async () => {
    if (role !== user.role) {
      await rewordError(post('/users/role', { email: user.email, role }), 'LAST_OWNER', lastOwner(user));
      toast(`${user.email} is now ${role}`);
      onChanged();
      if (user.isYou) {
        await reload();
        focusHeading(); // Users who are not owners now see another page.
      }
    }
    onClose();
  };
  return (
    <FormDialog
      title="Change role"
      description={`Of ${user.email}. It holds from their next request on.`}
      onClose={onClose}
      action="Save"
      onSubmit={save}
    >
      <RadioGroup label="Role" name="role" value={role} onValue={setRole} options={ROLES} autofocus />
      {user.isYou && role !== user.role && (
        <Notice tone="warn" title="This is your own role">
          Once you are no owner, only another owner can make you one again.
        </Notice>
      )}
    </FormDialog>
  );
}

export function NewLink({ user, onIssued, onClose }: { user: UserRow; onIssued: OnIssued; onClose: () => void }) {
  const make = async () => onIssued(user.email, await post('/users/link', { email: user.email }));
  return (
    <FormDialog title="Make a new link?" onClose={onClose} action="Make link" onSubmit={make}>
      <div class="confirm-text">
        <p>
          For <strong>{user.email}</strong>, for a forgotten password or a lost telephone.
        </p>
        <p>
          {user.hasPassword
            ? 'Using the link sets a new password, removes the second factor and ends all their sessions.'
            : 'They set their password by it. A link made before can no longer be used.'}
        </p>
      </div>
    </FormDialog>
  );
}
