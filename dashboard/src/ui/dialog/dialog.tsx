/**
 * A dialog over the page: the browser's own <dialog>, so Esc closes it and the focus returns. A click outside keeps it
 * open, so that typed text is not lost. Also a dialog with a form and its two buttons, and a confirmation before an
 * action that cannot be undone.
 */
import { createContext, type ComponentChildren, type VNode } from 'preact';
import { useContext, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { IconButton, SubmitActions, type ButtonTone } from '../button.tsx';
import { focusHeading } from '../focus.ts';
import { Form } from '../form/form.tsx';

const CloseContext = createContext((): void => {});
/** Returns the function that closes the dialog around a component. */
export const useClose = () => useContext(CloseContext);

let show: (dialog: VNode) => void = () => {};
/**
 * Opens a dialog until it is closed or the page is left. It keeps the properties that it has now: `openDialog(<Rename
 * pair={pair} onDone={reload} />)`.
 */
export const openDialog = (dialog: VNode): void => show(dialog);

/** The dialog that is open on the page. */
export function OpenedDialog() {
  const [shown, setShown] = useState<VNode>();
  useLayoutEffect(() => {
    show = setShown;
  }, []);
  // A dialog may have opened the next one before it closes.
  const close = () => setShown((now) => (now === shown ? undefined : now));
  return <CloseContext.Provider value={close}>{shown}</CloseContext.Provider>;
}

export interface DialogProps {
  title: string;
  description?: ComponentChildren;
  /** Closes a dialog that was not opened by `openDialog`. */
  onClose?: () => void;
  width?: 'narrow' | 'wide';
  children?: ComponentChildren;
}

/** Example: `<Dialog title="Columns">…</Dialog>`, which is open while it is rendered. */
export function Dialog({ title, description, onClose, width = 'narrow', children }: DialogProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const close = useClose();
  const end = onClose ?? close;
  useLayoutEffect(() => {
    const element = dialog.current!;
    element.showModal();
    return () => element.close();
  }, []);
  const cancel = (event: Event) => {
    event.preventDefault();
    end();
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
        <IconButton icon="close" label="Close" onClick={end} />
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

interface FormDialogProps extends DialogProps {
  /** The text of the button, e.g. `Save`. */
  action: string;
  tone?: ButtonTone;
  /** Sends the form, which closes the dialog. Throws the errors of `post`. */
  onSubmit: () => unknown;
}

/** Example: `<FormDialog title="Change role" action="Save" onSubmit={save}>…</FormDialog>`. */
export function FormDialog({ action, tone, onSubmit, children, ...dialog }: FormDialogProps) {
  const close = useClose();
  const submit = async () => {
    await onSubmit();
    close();
  };
  return (
    <Dialog {...dialog}>
      <Form onSubmit={submit}>
        {children}
        <SubmitActions onCancel={dialog.onClose ?? close} tone={tone}>
          {action}
        </SubmitActions>
      </Form>
    </Dialog>
  );
}

/** Example: `<Confirm title="Revoke the keys?" action="Revoke" onSubmit={revoke}>Apps stop working.</Confirm>`. */
export function Confirm({ onSubmit, children, ...dialog }: FormDialogProps) {
  const confirm = async () => {
    await onSubmit();
    focusHeading();
  };
  return (
    <FormDialog tone="danger" {...dialog} onSubmit={confirm}>
      <div class="confirm-text">{children}</div>
    </FormDialog>
  );
}
