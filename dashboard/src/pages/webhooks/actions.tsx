/** The buttons of a webhook and their dialogs: test, pause, resume, replay, rotate the secret, remove. */
import { useState } from 'preact/hooks';
import { post } from '../../api/client.ts';
import { navigate } from '../../browser/router.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm, FormDialog, openDialog } from '../../ui/dialog/dialog.tsx';
import { TextField, useEntry } from '../../ui/form/field.tsx';
import { Notice, Toolbar } from '../../ui/page.tsx';
import { toastError } from '../../ui/toaster.tsx';
import { NewSecret } from './new-secret.tsx';
import { Outcome, type Attempt, type Webhook } from './words.tsx';

interface ActionsProps {
  webhook: Webhook;
  onDone: () => void;
}

/** Example: `<WebhookActions webhook={webhook} onDone={reload} />`. */
export function WebhookActions({ webhook, onDone }: ActionsProps) {
  const { id, url, state } = webhook;
  const isPaused = state === 'paused';
  const [isBusy, setBusy] = useState(false);
  const [tested, setTested] = useState<Attempt>();
  const [secret, setSecret] = useState('');
  const act = async (call: () => Promise<unknown>) => {
    setBusy(true);
    await call().then(onDone, toastError);
    setBusy(false);
  };
  const test = () => post('/webhooks/test', { id }).then(setTested);
  const turn = () => post(isPaused ? '/webhooks/replay' : '/webhooks/pause', { id });
  const rotate = async () => {
    setSecret((await post('/webhooks/rotate', { id })).secret);
    onDone();
  };
  const remove = () => post('/webhooks/remove', { id }).then(() => navigate('/webhooks'));
  const rotation = (
    <FormDialog
      title="Rotate the secret?"
      description="The new secret is shown once. The old one stays valid for a day, so that you can replace it in your app."
      action="Rotate"
      onSubmit={rotate}
    />
  );
  const removal = (
    <Confirm title="Remove this webhook?" action="Remove" onSubmit={remove}>
      <code>{url}</code> receives no more changes. This cannot be undone.
    </Confirm>
  );
  return (
    <>
      <Toolbar label="Actions">
        <Button isBusy={isBusy} onClick={() => void act(test)}>
          Send test
        </Button>
        <Button isBusy={isBusy} onClick={() => void act(turn)}>
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
        <Button onClick={() => openDialog(<Replay webhook={webhook} onDone={onDone} />)}>Replay</Button>
        <Button disabled={secret !== ''} onClick={() => openDialog(rotation)}>
          Rotate secret
        </Button>
        <Button onClick={() => openDialog(removal)}>Remove</Button>
      </Toolbar>
      {secret && <NewSecret title="New secret" secret={secret} onStored={() => setSecret('')} />}
      <div class={tested && 'audit-check'} role="status">
        {tested && <Tested {...tested} />}
      </div>
    </>
  );
}

const Tested = (test: Attempt) =>
  test.error === null ? (
    <Notice tone="good" title={`The test was delivered in ${test.durationMs} ms`} />
  ) : (
    <Notice tone="warn" title="The test was not delivered. Your app must answer with a status from 200 to 299.">
      <Outcome {...test} />
    </Notice>
  );

function Replay({ webhook: { id, position, newest }, onDone }: ActionsProps) {
  const after = useEntry(position);
  const replay = () => post('/webhooks/replay', { id, after: after.value }).then(onDone);
  return (
    <FormDialog
      title="Replay changes"
      description="Storeroom delivers the changes after this number again, in order. This also ends a pause."
      action="Replay"
      onSubmit={replay}
    >
      <TextField
        label="After change"
        name="after"
        type="number"
        hint={`Changes up to ${position} of ${newest} have been delivered. The Changes page lists the numbers.`}
        required
        autofocus
        {...after}
      />
    </FormDialog>
  );
}
