/**
 * Two-step verification of the user: its state, setting it up (again) with a new secret, the recovery codes, which are
 * shown once, and turning it off.
 */
import { useState } from 'preact/hooks';
import { RECOVERY_CODES } from '../../../../src/account/account-bounds.ts';
import type { SecondFactorView } from '../../../../src/http/dashboard/interface.ts';
import { post } from '../../api/client.ts';
import { downloadFile } from '../../browser/download.ts';
import { useLoad } from '../../api/use-load.ts';
import { useSession } from '../../api/session.tsx';
import { Badge, KeyValue } from '../../ui/text/text.tsx';
import { Actions, Button, SubmitActions } from '../../ui/button.tsx';
import { Dialog, FormDialog, openDialog, useClose } from '../../ui/dialog/dialog.tsx';
import { OneTimePanel } from '../../ui/dialog/one-time-panel.tsx';
import { focusHeading } from '../../ui/focus.ts';
import { useEntry } from '../../ui/form/field.tsx';
import { Form } from '../../ui/form/form.tsx';
import { CodeField, CurrentPassword, PresentCode } from '../../ui/form/secret-fields.tsx';
import { Card, Notice, Section, WhenLoaded } from '../../ui/page.tsx';
import { Copy } from '../../ui/text/copy.tsx';
import { QrCode } from '../../ui/text/qr-code.tsx';
import { toast } from '../../ui/toaster.tsx';

const FEW_CODES = 3;

export function SecondFactor() {
  const { user, reload } = useSession();
  const [codes, setCodes] = useState<readonly string[]>();
  const show = (fresh: readonly string[]) => {
    setCodes(fresh);
    void reload();
  };
  const setUp = () => openDialog(<SetUpSecondFactor onDone={show} />);
  return (
    <Section
      title="Two-step verification"
      description="If two-step verification is on, signing in requires your password and six digits from an authenticator app."
    >
      {codes ? (
        <RecoveryCodes codes={codes} onStored={() => setCodes(undefined)} />
      ) : (
        <Card>
          {user.hasSecondFactor ? (
            <FactorOn codesLeft={user.recoveryCodesLeft} onSetUp={setUp} />
          ) : (
            <div class="card-row">
              <p>
                <Badge>Off</Badge> <span class="muted">Only your password protects your account.</span>
              </p>
              <Button tone="primary" onClick={setUp}>
                Set up
              </Button>
            </div>
          )}
        </Card>
      )}
    </Section>
  );
}

function FactorOn({ codesLeft, onSetUp }: { codesLeft: number; onSetUp: () => void }) {
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
          If you lose your phone and have no recovery code, you need a new link from an owner. Create ten new codes now.
        </Notice>
      )}
      <Actions>
        <Button onClick={() => openDialog(<TurnOff />)}>Turn off</Button>
        <Button onClick={onSetUp}>New recovery codes</Button>
      </Actions>
    </div>
  );
}

function TurnOff() {
  const { reload } = useSession();
  const password = useEntry('');
  const code = useEntry('');
  const turnOff = async () => {
    await post('/second-factor/disable', { password: password.value, code: code.value.trim() });
    toast('Two-step verification is off');
    await reload();
    focusHeading();
  };
  return (
    <FormDialog
      title="Turn off two-step verification?"
      description="You then sign in with only your password. The recovery codes stop working."
      action="Turn off"
      tone="danger"
      onSubmit={turnOff}
    >
      <CurrentPassword autofocus {...password} />
      <PresentCode {...code} />
    </FormDialog>
  );
}

interface SetUpProps {
  onDone: (recoveryCodes: readonly string[]) => void;
}

/** Shows a new secret as QR code and text, then asks for six digits, the password, and a code of the present factor. */
function SetUpSecondFactor({ onDone }: SetUpProps) {
  const { user } = useSession();
  const factor = useLoad('second factor', () => post('/second-factor/begin', {}));
  return (
    <Dialog
      title={user.hasSecondFactor ? 'Set up two-step verification again' : 'Set up two-step verification'}
      description={
        user.hasSecondFactor
          ? 'You get a new secret for the app and ten new recovery codes. The old ones stop working when you are done, and one of them is needed now.'
          : 'Scan the code with an authenticator app, or type in the secret. Then enter the six digits that the app shows.'
      }
      width="wide"
    >
      <WhenLoaded from={factor}>
        {(fresh) => (
          <div class="set-up">
            <Secret factor={fresh} />
            <ProofForm secret={fresh.secret} onDone={onDone} />
          </div>
        )}
      </WhenLoaded>
    </Dialog>
  );
}

function Secret({ factor: { secret, uri } }: { factor: SecondFactorView }) {
  return (
    <div class="set-up-secret">
      <QrCode text={uri} label="QR code for the authenticator app" />
      <p class="muted small">If you cannot scan, enter this secret:</p>
      <p class="copy-text">
        <code class="groups">
          {secret.match(/.{1,4}/g)?.map((group, place) => (
            <span key={place}>{group} </span>
          ))}
        </code>
        <Copy text={secret} label="Copy the secret" />
      </p>
      {uri.startsWith('otpauth:') && (
        <a class="small" href={uri}>
          Open in an app on this device
        </a>
      )}
    </div>
  );
}

function ProofForm({ secret, onDone }: SetUpProps & { secret: string }) {
  const close = useClose();
  const { user } = useSession();
  const code = useEntry('');
  const password = useEntry('');
  const presentCode = useEntry('');
  const enable = async () => {
    const proof = {
      password: password.value,
      secret,
      code: code.value.replaceAll(/\s/g, ''),
      ...(user.hasSecondFactor && { presentCode: presentCode.value.trim() }),
    };
    onDone((await post('/second-factor/enable', proof)).recoveryCodes);
    close();
  };
  return (
    <Form onSubmit={enable} label="Two-step verification">
      <CodeField {...code} />
      <CurrentPassword {...password} />
      {user.hasSecondFactor && <PresentCode label="Present code" {...presentCode} />}
      <SubmitActions onCancel={close}>Turn on</SubmitActions>
    </Form>
  );
}

/** Shows new recovery codes once, to copy or to download as a text file that the browser makes. */
function RecoveryCodes({ codes, onStored }: { codes: readonly string[]; onStored: () => void }) {
  const { user, tenant } = useSession();
  const heading = `Storeroom recovery codes of ${user.email} (${tenant.teamID}).`;
  const file = `${heading} Each works once, in place of the six digits.\n\n${codes.join('\n')}\n`;
  return (
    <OneTimePanel
      title="Two-step verification is on: your recovery codes"
      what="The recovery codes are"
      onStored={onStored}
    >
      <p>Each works once, in place of the six digits, when you do not have your phone. Old codes no longer work.</p>
      <ul class="codes" aria-label="Recovery codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div class="page-actions">
        <Button
          icon="download"
          onClick={() =>
            downloadFile(`storeroom-recovery-codes-${tenant.teamID}.txt`, 'text/plain;charset=utf-8', file)
          }
        >
          Download as text
        </Button>
        <Copy text={codes.join('\n')} label="Copy all recovery codes" />
      </div>
    </OneTimePanel>
  );
}
