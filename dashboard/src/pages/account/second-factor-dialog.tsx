/**
 * Sets up two-step verification: shows a new secret as QR code and text, then asks for six digits and the password.
 */
import type { SecondFactorView } from '../../../../src/http/dashboard/interface.ts';
import { post } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { useSession } from '../../session.tsx';
import { SubmitActions } from '../../ui/button.tsx';
import { useEntry } from '../../ui/form/field.tsx';
import { CodeField, CurrentPassword } from '../../ui/form/secret-fields.tsx';
import { Copy } from '../../ui/text/copy.tsx';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { Form } from '../../ui/form/form.tsx';
import { WhenLoaded } from '../../ui/notice.tsx';
import { QrCode } from '../../ui/text/qr-code.tsx';

interface SetUpProps {
  onDone: (recoveryCodes: readonly string[]) => void;
  onClose: () => void;
}

export function SetUpSecondFactor({ onDone, onClose }: SetUpProps) {
  const { user } = useSession();
  const factor = useLoad('second factor', () => post('/second-factor/begin', {}));
  return (
    <Dialog
      title={user.hasSecondFactor ? 'Set up two-step verification again' : 'Set up two-step verification'}
      description={
        user.hasSecondFactor
          ? 'You get a new secret for the app and ten new recovery codes. The old ones stop working when you are done.'
          : 'Scan the code with an authenticator app, or type in the secret. Then enter the six digits that the app shows.'
      }
      width="wide"
      onClose={onClose}
    >
      <WhenLoaded from={factor}>
        {(fresh) => (
          <div class="set-up">
            <Secret factor={fresh} />
            <ProofForm secret={fresh.secret} onDone={onDone} onClose={onClose} />
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

function ProofForm({ secret, onDone, onClose }: SetUpProps & { secret: string }) {
  const code = useEntry('');
  const password = useEntry('');
  const enable = async () => {
    const proof = { password: password.value, secret, code: code.value.replaceAll(/\s/g, '') };
    onDone((await post('/second-factor/enable', proof)).recoveryCodes);
  };
  return (
    <Form onSubmit={enable} label="Two-step verification">
      <CodeField {...code} />
      <CurrentPassword {...password} />
      <SubmitActions onCancel={onClose}>Turn on</SubmitActions>
    </Form>
  );
}
