/**
 * A panel for a value that the service shows once, such as a new secret. It takes the focus, is announced, and asks
 * before the user leaves the page.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useId } from 'preact/hooks';
import { Actions, Button } from '../button.tsx';
import { focusHeading, useFocusWhenShown } from '../focus.ts';
import { LeaveGuard } from './leave-guard.tsx';
import { Notice } from '../page.tsx';
import { announce } from '../toaster.tsx';

interface OneTimePanelProps {
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
      <Notice tone="warn" title={`${what} not shown again. Make a copy now.`} />
      {children}
      <Actions>
        <Button tone="primary" onClick={close}>
          Done
        </Button>
      </Actions>
      <LeaveGuard title="Leave without a copy?" description={`${what} not shown again once you leave this page.`} />
    </section>
  );
}
