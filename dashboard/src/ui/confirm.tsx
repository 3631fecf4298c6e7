/**
 * Asks before something that cannot be undone. A refusal is shown in the dialog; success closes it and moves the focus
 * to the page's heading.
 */
import type { ComponentChildren } from 'preact';
import { type ButtonTone, SubmitActions } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { focusHeading } from './focus.ts';
import { Form } from './form.tsx';

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
    <Dialog title={title} onClose={onClose}>
      <Form onSubmit={confirm}>
        <div class="confirm-text">{children}</div>
        <SubmitActions onCancel={onClose} tone={tone}>
          {action}
        </SubmitActions>
      </Form>
    </Dialog>
  );
}
