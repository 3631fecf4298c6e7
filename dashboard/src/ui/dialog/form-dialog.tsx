/**
 * A dialog with a form: what it asks, the button that sends it, and a button that leaves without sending.
 */
import { SubmitActions, type ButtonTone } from '../button.tsx';
import { Dialog, type DialogProps } from './dialog.tsx';
import { Form } from '../form/form.tsx';

export interface FormDialogProps extends DialogProps {
  /** What the button says, e.g. `Save`. */
  action: string;
  tone?: ButtonTone | undefined;
  /** Throws what `post` throws. */
  onSubmit: () => Promise<unknown>;
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
