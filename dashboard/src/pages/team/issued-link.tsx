/**
 * Shows a new one-time link once, and says how to send it.
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
  // The focus is not on a button, because pressing Enter again would close the dialog with the link.
  const text = useFocusWhenShown<HTMLDivElement>();
  return (
    <Dialog title="One-time link" description={`For ${email}, to set their password.`} onClose={onClose}>
      <div class="card link-once" ref={text} tabIndex={-1}>
        <CopyText text={toAddress(link)} label="Copy the link" />
      </div>
      <Notice tone="warn" title="The link is not shown again">
        Send it privately: whoever opens it first can set the password. It expires <Time at={endsAt} />.
      </Notice>
      <Actions>
        <Button tone="primary" onClick={onClose}>
          Done
        </Button>
      </Actions>
    </Dialog>
  );
}
