/**
 * A dialog with a form, a button that sends it, and a button that cancels. Also a confirmation before an action that
 * cannot be undone.
 */
import { SubmitActions, type ButtonTone } from '../button.tsx';
import { Dialog, type DialogProps } from './dialog.tsx';
import { focusHeading } from '../focus.ts';
import { Form } from '../form/form.tsx';

interface FormDialogProps extends DialogProps {
  /** The text of the button, e.g. `Save`. */
  action: string;
  tone?: ButtonTone;
  /** Sends the form. Throws the errors of `post`. */
  onSubmit: () => unknown;
}

/** Example: `<FormDialog title="Change role" action="Save" onSubmit={save} onClose={close}>…</FormDialog>`. */
export const FormDialog = ({ action, tone, onSubmit, children, ...dialog }: FormDialogProps) => (
  <Dialog {...dialog}>
    <Form onSubmit={onSubmit}>
      {children}
      <SubmitActions onCancel={dialog.onClose} tone={tone}>
        {action}
      </SubmitActions>
    </Form>
  </Dialog>
);

interface ConfirmProps extends Omit<FormDialogProps, 'onSubmit'> {
  /** Throws what `post` throws. */
  onConfirm: () => unknown;
}

/**
 * Example: `{revoked && <Confirm title="Revoke the keys?" action="Revoke" onConfirm={revoke} onClose={close}>Apps using
 * them stop working.</Confirm>}`.
 */
export function Confirm({ onConfirm, children, ...dialog }: ConfirmProps) {
  const confirm = async () => {
    await onConfirm();
    dialog.onClose();
    focusHeading();
  };
  return (
    <FormDialog tone="danger" {...dialog} onSubmit={confirm}>
      <div class="confirm-text">{children}</div>
    </FormDialog>
  );
}
