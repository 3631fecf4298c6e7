/**
 * Shows new recovery codes once: to copy, or to download as a text file made in the browser.
 */
import { useEffect, useState } from 'preact/hooks';
import { useSession } from '../../session.tsx';
import { Copy } from '../../ui/text/copy.tsx';
import { Icon } from '../../ui/icon.tsx';
import { OneTimePanel } from '../../ui/dialog/one-time-panel.tsx';

export function RecoveryCodes({ codes, onStored }: { codes: readonly string[]; onStored: () => void }) {
  const { user, tenant } = useSession();
  const heading = `Storeroom recovery codes of ${user.email} (${tenant.teamID}).`;
  const file = useTextFile(`${heading} Each is good once, in place of the six digits.\n\n${codes.join('\n')}\n`);
  return (
    <OneTimePanel
      title="Second factor on: your recovery codes"
      what="The recovery codes are"
      action="I have stored them"
      onStored={onStored}
    >
      <p>
        Each is good once, in place of the six digits, when the telephone is not at hand. Those from before have ended.
      </p>
      <ul class="codes" aria-label="Recovery codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div class="page-actions">
        {file !== undefined && (
          <a class="button secondary" href={file} download={`storeroom-recovery-codes-${tenant.teamID}.txt`}>
            <Icon name="download" />
            <span>Download as text</span>
          </a>
        )}
        <Copy text={codes.join('\n')} label="Copy all recovery codes" />
      </div>
    </OneTimePanel>
  );
}

/** The address of a text as a file, good as long as the component is there. */
function useTextFile(text: string): string | undefined {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([text], { type: 'text/plain;charset=utf-8' }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [text]);
  return address;
}
