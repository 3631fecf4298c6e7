/**
 * Removes a user after one question, or after two if it is the user's own account.
 */
import { useState } from 'preact/hooks';
import { post } from '../../api/client.ts';
import { rewordError } from '../../api/reword-error.ts';
import { Actions, Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialog/form-dialog.tsx';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { toast } from '../../ui/toaster.tsx';
import { lastOwner, type UserRow } from './user-dialogs.tsx';

interface RemoveUserProps {
  user: UserRow;
  onRemoved: () => void;
  onClose: () => void;
}

export function RemoveUser({ user, onRemoved, onClose }: RemoveUserProps) {
  const [isMeant, setMeant] = useState(false);
  const remove = async () => {
    await rewordError(post('/users/remove', { email: user.email }), 'LAST_OWNER', { message: lastOwner(user) });
    if (user.isYou) return location.assign('/dashboard/sign-in');
    toast(`${user.email} was removed`);
    return onRemoved();
  };
  if (!user.isYou)
    return (
      <Confirm title={`Remove ${user.email}?`} action="Remove" onConfirm={remove} onClose={onClose}>
        They are signed out immediately and can no longer sign in. The audit log keeps their actions, and their API keys
        keep working.
      </Confirm>
    );
  if (isMeant)
    return (
      <Confirm
        key="really"
        title="Really remove your own account?"
        action="Remove my account"
        onConfirm={remove}
        onClose={onClose}
      >
        <strong>{user.email}</strong> is removed from this team and signed out. Only another owner can invite you again.
      </Confirm>
    );
  return (
    <Dialog
      key="first"
      title="Remove yourself?"
      description={`${user.email} is the account you are signed in with.`}
      onClose={onClose}
    >
      <p>You lose access to this team immediately. To sign out, use Sign out below the menu.</p>
      <Actions>
        <Button tone="primary" onClick={onClose}>
          Keep my account
        </Button>
        <Button onClick={() => setMeant(true)}>Continue</Button>
      </Actions>
    </Dialog>
  );
}
