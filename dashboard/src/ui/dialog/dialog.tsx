/**
 * A dialog over the page: the browser's own <dialog>, so Esc closes it and the focus returns. A click outside keeps it
 * open, so that typed text is not lost. Also a dialog with a form and its two buttons, and a confirmation before an
 * action that cannot be undone.
 */
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button, IconButton, SubmitActions, type ButtonProps, type ButtonTone } from '../button.tsx';
import { focusHeading } from '../focus.ts';
import { Form } from '../form/form.tsx';

export interface DialogProps {
  title: string;
  description?: ComponentChildren;
  onClose: () => void;
  width?: 'narrow' | 'wide';
  children?: ComponentChildren;
}

/**
 * A dialog that is open while it is rendered. Example: `{isAdding && <Dialog title="Add a user" onClose={close}><Form
 * …/></Dialog>}`.
 */
export function Dialog({ title, description, onClose, width = 'narrow', children }: DialogProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current!;
    element.showModal();
    return () => element.close();
  }, []);
  const cancel = (event: Event) => {
    event.preventDefault();
    onClose();
  };
  return (
    <dialog
      ref={dialog}
      class={`dialog ${width}`}
      aria-labelledby={id}
      aria-describedby={description === undefined ? undefined : `${id}-about`}
      onCancel={cancel}
    >
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </header>
      {description && (
        <p class="muted" id={`${id}-about`}>
          {description}
        </p>
      )}
      {children}
    </dialog>
  );
}

interface DialogButtonProps extends ButtonProps {
  dialog: (close: () => void) => ComponentChildren;
}
/**
 * A button that opens a dialog: `<DialogButton dialog={(close) => <Rename onClose={close} />}>Rename</DialogButton>`.
 */
export function DialogButton({ dialog, ...button }: DialogButtonProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
      {isOpen && dialog(() => setOpen(false))}
    </>
  );
}

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
  /** Does the confirmed action. Throws the errors of `post`. */
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
