/** Shows new recovery codes once, to copy or to download as a text file that the browser makes. */
import { downloadFile } from '../../api/download.ts';
import { useSession } from '../../session.tsx';
import { Copy } from '../../ui/text/copy.tsx';
import { Button } from '../../ui/button.tsx';
import { OneTimePanel } from '../../ui/dialog/one-time-panel.tsx';

export function RecoveryCodes({ codes, onStored }: { codes: readonly string[]; onStored: () => void }) {
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
