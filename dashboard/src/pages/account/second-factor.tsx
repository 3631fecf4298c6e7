/**
 * Two-step verification of the user: its state, setting it up (again), and turning it off.
 */
import { useState } from 'preact/hooks';
import { RECOVERY_CODES } from '../../../../src/account/account-bounds.ts';
import { post } from '../../api/client.ts';
import { useSession } from '../../session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Actions, Button } from '../../ui/button.tsx';
import { FormDialog } from '../../ui/dialog/form-dialog.tsx';
import { TextField, useEntry } from '../../ui/form/field.tsx';
import { focusHeading } from '../../ui/focus.ts';
import { CurrentPassword } from '../../ui/form/secret-fields.tsx';
import { KeyValue } from '../../ui/text/key-value.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Card, Section } from '../../ui/page.tsx';
import { toast } from '../../ui/toaster.tsx';
import { RecoveryCodes } from './recovery-codes.tsx';
import { SetUpSecondFactor } from './second-factor-dialog.tsx';

const FEW_CODES = 3;

export function SecondFactor() {
  const { user, reload } = useSession();
  const [open, setOpen] = useState<'set up' | 'turn off'>();
  const [codes, setCodes] = useState<readonly string[]>();
  const close = () => setOpen(undefined);
  const show = (fresh: readonly string[]) => {
    close();
    setCodes(fresh);
    void reload();
  };
  return (
    <Section
      title="Two-step verification"
      description="Signing in requires your password and six digits from an authenticator app."
    >
      {codes ? (
        <RecoveryCodes codes={codes} onStored={() => setCodes(undefined)} />
      ) : (
        <Card>
          {user.hasSecondFactor ? (
            <FactorOn
              codesLeft={user.recoveryCodesLeft}
              onSetUp={() => setOpen('set up')}
              onTurnOff={() => setOpen('turn off')}
            />
          ) : (
            <div class="card-row">
              <p>
                <Badge>Off</Badge> <span class="muted">Only your password protects your account.</span>
              </p>
              <Button tone="primary" onClick={() => setOpen('set up')}>
                Set up
              </Button>
            </div>
          )}
        </Card>
      )}
      {open === 'set up' && <SetUpSecondFactor onDone={show} onClose={close} />}
      {open === 'turn off' && <TurnOff onClose={close} />}
    </Section>
  );
}

function FactorOn({
  codesLeft,
  onSetUp,
  onTurnOff,
}: {
  codesLeft: number;
  onSetUp: () => void;
  onTurnOff: () => void;
}) {
  return (
    <div class="stack">
      <KeyValue
        rows={[
          ['Two-step verification', <Badge tone="good">On</Badge>],
          ['Recovery codes left', `${codesLeft} of ${RECOVERY_CODES}`],
        ]}
      />
      {codesLeft <= FEW_CODES && (
        <Notice
          tone="warn"
          title={
            codesLeft === 0
              ? 'No recovery codes are left'
              : `Only ${codesLeft} recovery ${codesLeft === 1 ? 'code is' : 'codes are'} left`
          }
        >
          If you lose your phone without one, you need a new link from an owner. Create ten new ones now.
        </Notice>
      )}
      <Actions>
        <Button onClick={onTurnOff}>Turn off</Button>
        <Button onClick={onSetUp}>New recovery codes</Button>
      </Actions>
    </div>
  );
}

function TurnOff({ onClose }: { onClose: () => void }) {
  const { reload } = useSession();
  const password = useEntry('');
  const code = useEntry('');
  const turnOff = async () => {
    await post('/second-factor/disable', { password: password.value, code: code.value.trim() });
    toast('Two-step verification is off');
    onClose();
    await reload();
    focusHeading();
  };
  return (
    <FormDialog
      title="Turn off two-step verification?"
      description="You then sign in with only your password. The recovery codes stop working."
      onClose={onClose}
      action="Turn off"
      tone="danger"
      onSubmit={turnOff}
    >
      <CurrentPassword autofocus {...password} />
      <TextField
        label="Code"
        name="code"
        isMono
        required
        autocomplete="one-time-code"
        isExact
        {...code}
        hint="Six digits from the app, or a recovery code."
      />
    </FormDialog>
  );
}
