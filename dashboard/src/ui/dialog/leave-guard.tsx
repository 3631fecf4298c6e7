/**
 * Asks before the user leaves a page that shows something once: a dialog for links and Back, the browser's own question
 * for the rest.
 */
import { useEffect, useState } from 'preact/hooks';
import { holdPage, navigate } from '../../router.tsx';
import { Actions, Button } from '../button.tsx';
import { Dialog } from './dialog.tsx';

/** Example: `<LeaveGuard what="The API Secret is" />`, the beginning of a sentence that ends in `not shown again`. */
export function LeaveGuard({ what }: { what: string }) {
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
      title="Leave without storing it?"
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
