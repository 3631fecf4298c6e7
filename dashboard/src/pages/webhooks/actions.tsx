/** The buttons of a webhook: test, pause, resume, replay, rotate its secret, remove; and their dialogs. */
import { useState } from 'preact/hooks';
import type { AnswerOf } from '../../../../src/http/dashboard/interface.ts';
import { post } from '../../api/client.ts';
import { toApiError } from '../../api/use-load.ts';
import { navigate } from '../../router.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm, FormDialog } from '../../ui/dialog/form-dialog.tsx';
import { TextField } from '../../ui/form/field.tsx';
import { toast } from '../../ui/toaster.tsx';
import type { Webhook } from './words.tsx';

export type NewSecretView = AnswerOf<'POST /webhooks/rotate'>;

export interface WebhookActionsProps {
  webhook: Webhook;
  /** Whether no other new secret is shown. */
  mayRotate: boolean;
  onTested: (outcome: AnswerOf<'POST /webhooks/test'>) => void;
  onRotated: (issued: NewSecretView) => void;
  onDone: () => void;
}

export function WebhookActions({ webhook, mayRotate, onTested, onRotated, onDone }: WebhookActionsProps) {
  const { id, url, state } = webhook;
  const [dialog, setDialog] = useState<'replay' | 'rotate' | 'remove'>();
  const [busy, setBusy] = useState<'test' | 'turn'>();
  const close = () => setDialog(undefined);
  const act = async (what: typeof busy, call: () => Promise<unknown>) => {
    setBusy(what);
    try {
      await call();
      onDone();
    } catch (fault) {
      toast(toApiError(fault).message, 'bad');
    }
    setBusy(undefined);
  };
  const test = async () => onTested(await post('/webhooks/test', { id }));
  const turn = () => (state === 'paused' ? post('/webhooks/replay', { id }) : post('/webhooks/pause', { id }));
  const rotate = async () => {
    onRotated(await post('/webhooks/rotate', { id }));
    close();
    onDone();
  };
  const remove = async () => {
    await post('/webhooks/remove', { id });
    toast('Webhook removed');
    navigate('/webhooks');
  };
  return (
    <>
      <Button isBusy={busy === 'test'} onClick={() => void act('test', test)}>
        Send test
      </Button>
      <Button isBusy={busy === 'turn'} onClick={() => void act('turn', turn)}>
        {state === 'paused' ? 'Resume' : 'Pause'}
      </Button>
      <Button onClick={() => setDialog('replay')}>Replay</Button>
      <Button disabled={!mayRotate} onClick={() => setDialog('rotate')}>
        Rotate secret
      </Button>
      <Button onClick={() => setDialog('remove')}>Remove</Button>
      {dialog === 'replay' && <Replay webhook={webhook} onReplayed={onDone} onClose={close} />}
      {dialog === 'rotate' && (
        <FormDialog title="Rotate the secret?" action="Rotate" onSubmit={rotate} onClose={close}>
          <p>
            The new secret is shown once. The old one stays valid for a while, so that you can replace it in your app.
          </p>
        </FormDialog>
      )}
      {dialog === 'remove' && (
        <Confirm title="Remove this webhook?" action="Remove" onConfirm={remove} onClose={close}>
          <code>{url}</code> receives no more changes, and its deliveries are no longer listed. This cannot be undone.
        </Confirm>
      )}
    </>
  );
}

interface ReplayProps {
  webhook: Webhook;
  onReplayed: () => void;
  onClose: () => void;
}
function Replay({ webhook: { id, position, newest }, onReplayed, onClose }: ReplayProps) {
  const [after, setAfter] = useState(position);
  const replay = async () => {
    await post('/webhooks/replay', { id, after });
    toast('Deliveries continue');
    onReplayed();
    onClose();
  };
  return (
    <FormDialog
      title="Replay changes"
      description="Delivers changes in order from a number on, again if they were delivered before. This also ends a pause."
      onClose={onClose}
      action="Replay"
      onSubmit={replay}
    >
      <TextField
        label="After change"
        name="after"
        type="number"
        hint={`Deliveries stand at ${position}, and ${newest} is the newest change. The Changes page lists the numbers.`}
        min={0}
        max={Number(newest)}
        step={1}
        required
        autofocus
        value={after}
        onValue={setAfter}
      />
    </FormDialog>
  );
}
