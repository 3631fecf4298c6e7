/**
 * Asks before something that cannot be undone. A refusal is shown in the dialog; success closes it and moves the focus
 * to the page's heading.
 */
import type { ComponentChildren } from 'preact';
import { type ButtonTone } from '../button.tsx';
import { FormDialog } from './form-dialog.tsx';
import { focusHeading } from '../focus.ts';

export interface ConfirmProps {
  title: string;
  /** What the button says, e.g. `End now`. */
  action: string;
  tone?: ButtonTone;
  /** Throws what `post` throws. */
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
  children: ComponentChildren;
}

/**
 * Example: `{ending && <Confirm title="End these keys now?" action="End now" onConfirm={end} onClose={close}>Programs
 * with them are refused.</Confirm>}`.
 */
export function Confirm({ title, action, tone = 'danger', onConfirm, onClose, children }: ConfirmProps) {
  const confirm = async () => {
    await onConfirm();
    onClose();
    focusHeading();
  };
  return (
    <FormDialog title={title} onClose={onClose} action={action} tone={tone} onSubmit={confirm}>
      <div class="confirm-text">{children}</div>
    </FormDialog>
  );
}
