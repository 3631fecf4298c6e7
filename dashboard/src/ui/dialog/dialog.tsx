/**
 * A dialog over the page: the browser's own <dialog>, so Esc closes it and the focus returns. A click outside keeps it
 * open, so that typed text is not lost.
 */
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button, IconButton, type ButtonProps } from '../button.tsx';

export interface DialogProps {
  title: string;
  description?: ComponentChildren;
  onClose: () => void;
  width?: 'narrow' | 'wide';
  children?: ComponentChildren;
}

/**
 * Open while it is rendered. Example: `{isAdding && <Dialog title="Add a user" onClose={close}><Form
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
/** A button that opens a dialog: `<DialogButton dialog={(close) => <Rename onClose={close} />}>Rename</DialogButton>`. */
export function DialogButton({ dialog, ...button }: DialogButtonProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
      {isOpen && dialog(() => setOpen(false))}
    </>
  );
}
