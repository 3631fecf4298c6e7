/**
 * Formats a call of the API as code in three languages, with the keys or with code that reads them from the
 * environment. Few pages need it, so it is separate from call-text.ts.
 */
import { formatCurl, type ApiCallText } from './call-text.ts';

/** A piece of code, and what it is written in. */
export type CallCode = readonly [label: string, code: string];

/**
 * Example: `formatCode(url, { method: 'GET' }, 'sr_…:sr_sk_…')`; without a pair, the code reads the keys from the
 * environment.
 */
export const formatCode = (url: string, call: CallOfCode, pair?: string): CallCode[] => [
  ['curl', formatCurl(url, call, pair)],
  ['TypeScript', formatTypeScript(url, call, pair)],
  ['Python', formatPython(url, call, pair)],
];
type CallOfCode = Omit<ApiCallText, 'path'>;

const allHeaders = ({ body, headers = {} }: CallOfCode): [string, string][] => [
  ...(body === undefined ? [] : [['Content-Type', 'application/json'] as [string, string]]),
  ...Object.entries(headers),
];

/** Quotes a text for TypeScript and for Python, which both read strings of JSON. */
const quote = (text: string) => JSON.stringify(text);
const shift = (text: string, by: string) => text.replaceAll('\n', `\n${by}`);

const PRINTS = 'console'; // The dashboard itself never writes to it.
const formatTypeScript = (url: string, call: CallOfCode, pair: string | undefined) =>
  [
    `const keys = btoa(${pair === undefined ? '`${process.env.API_ID}:${process.env.API_SECRET}`' : quote(pair)});`,
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

const formatPython = (url: string, call: CallOfCode, pair: string | undefined) =>
  [
    'import base64, json, os, urllib.request',
    '',
    `pair = ${pair === undefined ? 'os.environ["API_ID"] + ":" + os.environ["API_SECRET"]' : quote(pair)}`,
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

/** Formats a value of JSON as a Python literal. */
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
