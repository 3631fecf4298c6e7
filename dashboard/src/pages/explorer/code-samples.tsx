/**
 * The form's call as code in three languages. The code reads the keys from the environment, so the text contains none.
 */
import { formatCode } from '../../api/call-code.ts';
import { callURL } from '../../api/call-text.ts';
import { useSession } from '../../api/session.tsx';
import { Notice } from '../../ui/page.tsx';
import { CodeTabs, KeysHint } from '../../ui/text/copy.tsx';
import { findJsonFault, headersOf, type CallInput } from './use-call.ts';
import type { ExplorerOperation } from './contract.ts';

/** Example: `<CodeSamples operation={operation} input={call.input} />`. */
export function CodeSamples({ operation, input }: { operation: ExplorerOperation; input: CallInput }) {
  const { baseURL, tenant } = useSession();
  const hasBody = operation.body !== undefined;
  if (hasBody && findJsonFault(input.body) !== undefined)
    return <Notice>Correct the JSON of the body to see the call as code.</Notice>;
  const call = {
    method: operation.method,
    path: operation.path,
    query: input.query,
    body: hasBody ? (JSON.parse(input.body) as unknown) : undefined,
    headers: headersOf(input),
  };
  return (
    <div>
      <CodeTabs label="The call as code" codes={formatCode(callURL({ baseURL, teamID: tenant.teamID }, call), call)} />
      <KeysHint what="code" />
    </div>
  );
}
