/**
 * Asks before the user leaves a page with something that would be lost.
 */
import { useEffect, useState } from 'preact/hooks';
import { holdPage, navigate } from '../../browser/router.tsx';
import { Actions, Button } from '../button.tsx';
import { Dialog } from './dialog.tsx';

/** Asks before the user leaves: with a dialog for links and Back, and with the browser's own question otherwise. */
export function LeaveGuard({ title, description }: { title: string; description: string }) {
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
    <Dialog title={title} description={description} onClose={stay}>
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
