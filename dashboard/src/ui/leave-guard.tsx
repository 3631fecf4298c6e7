/**
 * Asks before a page is left that shows something for the only time: links and Back within the dashboard by a dialog of ours, everything else by the
 * browser's own. On guard as long as it is rendered. A session that ends is not held up.
 */
import { useEffect, useState } from 'preact/hooks';
import { holdPage, navigate } from '../router.tsx';
import { Actions, Button } from './button.tsx';
import { Dialog } from './dialog.tsx';

/** Example: `<LeaveGuard what="The API Secret is" />`, which begins the sentence that goes on `not shown again`. */
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
