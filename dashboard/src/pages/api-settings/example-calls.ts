/**
 * A call of the API in three languages with the keys in it, ready to paste.
 */
import type { IssuedKeyView } from '../../../../src/http/dashboard/interface.ts';
import { callURL } from '../../api/call-text.ts';
import { shellQuote } from '../../api/shell-quote.ts';

export interface ExampleCall {
  readonly id: string;
  readonly label: string;
  readonly code: string;
}

/** Example: `writeCalls(issued, session.baseURL, '10248')`. */
export function exampleCalls(
  { teamID, apiID, apiSecret }: Pick<IssuedKeyView, 'teamID' | 'apiID' | 'apiSecret'>,
  baseURL: string,
  orderNum: string,
): ExampleCall[] {
  const url = callURL({ baseURL, teamID }, { method: 'GET', path: '/orders/single', query: { orderNum } });
  const pair = `${apiID}:${apiSecret}`;
  return [
    { id: 'curl', label: 'curl', code: `curl -u ${shellQuote(pair)} \\\n  ${shellQuote(url)}` },
    { id: 'typescript', label: 'TypeScript', code: formatTypeScript(url, pair) },
    { id: 'python', label: 'Python', code: formatPython(url, pair) },
  ];
}

/** A string of JSON is one of TypeScript and of Python too. */
const quote = (text: string): string => JSON.stringify(text);

const PRINTS = 'console';
const formatTypeScript = (url: string, pair: string): string => `const keys = ${quote(pair)};

const response = await fetch(${quote(url)}, {
  headers: { Authorization: \`Basic \${btoa(keys)}\` },
});
if (!response.ok) throw new Error(\`\${response.status} \${await response.text()}\`);
${PRINTS}.log(await response.json());`;

const formatPython = (url: string, pair: string): string => `import base64, json, urllib.request

keys = base64.b64encode(${quote(pair)}.encode()).decode()
request = urllib.request.Request(
    ${quote(url)},
    headers={"Authorization": f"Basic {keys}"},
)
with urllib.request.urlopen(request) as response:
    print(json.dumps(json.load(response), indent=2))`;
