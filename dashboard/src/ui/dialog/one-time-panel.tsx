/**
 * A panel for a value that the service shows once, such as a new secret. It takes the focus, is announced, and asks
 * before the user leaves the page.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { holdPage, navigate } from '../../router.tsx';
import { Actions, Button } from '../button.tsx';
import { focusHeading, useFocusWhenShown } from '../focus.ts';
import { Dialog } from './dialog.tsx';
import { Notice } from '../notice.tsx';
import { announce } from '../toaster.tsx';

export interface OneTimePanelProps {
  title: string;
  /** The beginning of a sentence that ends with `not shown again`: `The API Secret is`. */
  what: string;
  onStored: () => void;
  children: ComponentChildren;
}

/**
 * Example: `{issued && <OneTimePanel title="New keys" what="The API Secret is" onStored={() =>
 * setIssued(undefined)}>…</OneTimePanel>}`.
 */
export function OneTimePanel({ title, what, onStored, children }: OneTimePanelProps) {
  const id = useId();
  const heading = useFocusWhenShown<HTMLHeadingElement>();
  useEffect(() => announce(`${title}. ${what} not shown again.`), []);
  const close = () => {
    onStored();
    focusHeading();
  };
  return (
    <section class="card stack shown-once" aria-labelledby={id}>
      <h2 id={id} ref={heading} tabIndex={-1}>
        {title}
      </h2>
      <Notice tone="warn" title={`${what} not shown again. Copy it now.`} />
      {children}
      <Actions>
        <Button tone="primary" onClick={close}>
          Done
        </Button>
      </Actions>
      <LeaveGuard what={what} />
    </section>
  );
}

/** Asks before the user leaves: with a dialog for links and Back, and with the browser's own question otherwise. */
function LeaveGuard({ what }: { what: string }) {
  const [target, setTarget] = useState<string>();
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', warn);
    const release = holdPage(setTarget);
    return () => {
      removeEventListener('beforeunload', warn);
      release();
    };
  }, []);
  if (target === undefined) return null;
  const stay = () => setTarget(undefined);
  return (
    <Dialog
      title="Leave without copying it?"
      description={`${what} not shown again once you leave this page.`}
      onClose={stay}
    >
      <Actions>
        <Button tone="danger" onClick={() => navigate(target)}>
          Leave
        </Button>
        <Button tone="primary" onClick={stay}>
          Stay
        </Button>
      </Actions>
    </Dialog>
  );
}
