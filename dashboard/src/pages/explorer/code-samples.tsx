/**
 * The call of the form in three languages. The keys come from the environment, so the text holds none.
 */
import { callURL, formatCurl, type ApiCallText } from '../../api/call-text.ts';
import { useSession } from '../../session.tsx';
import { CodeBlock } from '../../ui/text/copy.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { findJsonFault, headersOf, type CallInput } from './use-call.ts';
import type { ExplorerOperation } from './contract.ts';

/** Example: `<CallCode operation={operation} input={call.input} />`. */
export function CallCode({ operation, input }: { operation: ExplorerOperation; input: CallInput }) {
  const { baseURL, tenant } = useSession();
  const isReadable = operation.body === undefined || findJsonFault(input.body) === undefined;
  if (!isReadable) return <Notice>The call is written here as code once the JSON of the form can be read.</Notice>;
  const call: ApiCallText = {
    method: operation.method,
    path: operation.path,
    query: input.query,
    ...(operation.body && { body: JSON.parse(input.body) as unknown }),
    headers: headersOf(input),
  };
  const url = callURL({ baseURL, teamID: tenant.teamID }, call);
  const languages = [
    { id: 'curl', label: 'curl', format: formatCurl },
    { id: 'typescript', label: 'TypeScript', format: formatTypeScript },
    { id: 'python', label: 'Python', format: formatPython },
  ];
  return (
    <div>
      <Tabs
        label="The call as code"
        tabs={languages.map(({ id, label, format }) => ({
          id,
          label,
          content: () => <CodeBlock label={label} code={format(url, call)} />,
        }))}
      />
      <p class="hint">
        With your keys in the environment, as <code>API_ID</code> and <code>API_SECRET</code>.
      </p>
    </div>
  );
}

const allHeaders = ({ body, headers = {} }: ApiCallText): [string, string][] => [
  ...(body === undefined ? [] : [['Content-Type', 'application/json'] as [string, string]]),
  ...Object.entries(headers),
];

/** A string of JSON is one of TypeScript and of Python too. */
const quote = (text: string): string => JSON.stringify(text);
const shift = (text: string, by: string): string => text.replaceAll('\n', `\n${by}`);

const PRINTS = 'console'; // Nothing here writes to it.
const formatTypeScript = (url: string, call: ApiCallText): string =>
  [
    'const keys = btoa(`${process.env.API_ID}:${process.env.API_SECRET}`);',
    '',
    `const response = await fetch(${quote(url)}, {`,
    ...(call.method === 'GET' ? [] : [`  method: ${quote(call.method)},`]),
    '  headers: {',
    '    Authorization: `Basic ${keys}`,',
    ...allHeaders(call).map(([name, value]) => `    ${quote(name)}: ${quote(value)},`),
    '  },',
    ...(call.body === undefined ? [] : [`  body: JSON.stringify(${shift(JSON.stringify(call.body, null, 2), '  ')}),`]),
    '});',
    'if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);',
    `${PRINTS}.log(await response.json());`,
  ].join('\n');

const formatPython = (url: string, call: ApiCallText): string =>
  [
    'import base64, json, os, urllib.request',
    '',
    `pair = os.environ["API_ID"] + ":" + os.environ["API_SECRET"]`,
    'request = urllib.request.Request(',
    `    ${quote(url)},`,
    ...(call.method === 'GET' ? [] : [`    method=${quote(call.method)},`]),
    '    headers={',
    '        "Authorization": "Basic " + base64.b64encode(pair.encode()).decode(),',
    ...allHeaders(call).map(([name, value]) => `        ${quote(name)}: ${quote(value)},`),
    '    },',
    ...(call.body === undefined
      ? []
      : [`    data=json.dumps(${shift(formatLiteral(call.body, ''), '    ')}).encode(),`]),
    ')',
    'with urllib.request.urlopen(request) as response:',
    '    print(json.dumps(json.load(response), indent=2))',
  ].join('\n');

/** A value of JSON as Python writes it. */
function formatLiteral(value: unknown, indent: string): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = `${indent}    `;
  const [start, end, items] = Array.isArray(value)
    ? ['[', ']', value.map((item) => formatLiteral(item, inner))]
    : ['{', '}', Object.entries(value).map(([name, item]) => `${quote(name)}: ${formatLiteral(item, inner)}`)];
  return items.length === 0
    ? start + end
    : `${start}\n${items.map((item) => `${inner}${item},\n`).join('')}${indent}${end}`;
}
