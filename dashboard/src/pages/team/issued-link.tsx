/**
 * Shows a new one-time link once, and says how to hand it over.
 */
import type { UserLinkView } from '../../../../src/http/dashboard/interface.ts';
import { toAddress } from '../../api/address.ts';
import { Actions, Button } from '../../ui/button.tsx';
import { CopyText } from '../../ui/text/copy.tsx';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { useFocusWhenShown } from '../../ui/focus.ts';
import { Notice } from '../../ui/notice.tsx';
import { Time } from '../../ui/text/time.tsx';

export function ShowLink({
  email,
  link: { link, endsAt },
  onClose,
}: {
  email: string;
  link: UserLinkView;
  onClose: () => void;
}) {
  // Not on a button: Enter pressed once too often would close the dialog, and the link with it.
  const text = useFocusWhenShown<HTMLDivElement>();
  return (
    <Dialog title="One-time link" description={`For ${email}, to set their password.`} onClose={onClose}>
      <div class="link-once" ref={text} tabIndex={-1}>
        <CopyText text={toAddress(link)} label="Copy the link" />
      </div>
      <Notice tone="warn" title="The link is not shown again">
        Hand it over in a way only {email} can read: the first person to open it sets the password. It ends at{' '}
        <Time at={endsAt} />.
      </Notice>
      <Actions>
        <Button tone="primary" onClick={onClose}>
          Done
        </Button>
      </Actions>
    </Dialog>
  );
}
