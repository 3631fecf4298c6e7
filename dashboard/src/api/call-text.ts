/**
 * A call of the API as text: its URL, and the same call as curl, TypeScript or Python, with the keys or with code that
 * reads them from the environment.
 */
import { givenValues, type QueryValues } from './client.ts';

export interface ApiCallText {
  readonly method: string;
  /** The path below the base URL: `/orders/query`. */
  readonly path: string;
  /** Parameters without teamID, which is added. */
  readonly query?: QueryValues;
  /** A body to send as JSON. */
  readonly body?: unknown;
  /** A text to send unchanged instead of `body`. */
  readonly bodyText?: string | undefined;
  /** Headers in addition to the Content-Type. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Example: `callURL(session, { method: 'GET', path: '/orders/single', query: { orderNum: '10248' } })`. */
export function callURL(
  { baseURL, teamID }: { baseURL: string; teamID: string },
  { path, query = {} }: ApiCallText,
): string {
  return addQuery(`${baseURL}${path}`, givenValues({ teamID, ...query }));
}

/** Adds the parameters unchanged, including empty ones. */
export const addQuery = (url: string, query: Readonly<Record<string, string>>): string =>
  `${url}?${new URLSearchParams(query).toString().replaceAll('+', '%20')}`;

/** Formats a body for reading, with one member a line if a list of objects would be too long for one line. */
export function formatBody(body: unknown): string {
  if (!Array.isArray(body) || body.length === 0) return JSON.stringify(body, null, 2);
  return `[\n${body.map((item) => `  ${JSON.stringify(item)}`).join(',\n')}\n]`;
}

/** Formats the call as curl. Without `pair` it reads the keys from the environment, so that no history has them. */
export function formatCurl(
  url: string,
  { method, body, bodyText, headers = {} }: Omit<ApiCallText, 'path'>,
  pair?: string,
): string {
  const sent = bodyText ?? (body === undefined ? undefined : formatBody(body));
  const verb = method === 'GET' || (method === 'POST' && sent !== undefined) ? '' : `-X ${shellQuote(method)} `;
  const keys = pair === undefined ? '"$API_ID:$API_SECRET"' : shellQuote(pair);
  const words = [`curl ${verb}-u ${keys} ${shellQuote(url)}`];
  for (const [name, value] of Object.entries(headers)) words.push(`-H ${shellQuote(`${name}: ${value}`)}`);
  if (sent !== undefined) words.push(`-H 'Content-Type: application/json'`, `--data-raw ${shellQuote(sent)}`);
  return words.join(' \\\n  ');
}

export interface CallCode {
  readonly id: string;
  readonly label: string;
  readonly code: string;
}

/**
 * Example: `formatCode(url, { method: 'GET' }, 'sr_…:sr_sk_…')`; without a pair, the code reads the keys from the
 * environment.
 */
export const formatCode = (url: string, call: CallOfCode, pair?: string): CallCode[] => [
  { id: 'curl', label: 'curl', code: formatCurl(url, call, pair) },
  { id: 'typescript', label: 'TypeScript', code: formatTypeScript(url, call, pair) },
  { id: 'python', label: 'Python', code: formatPython(url, call, pair) },
];
type CallOfCode = Omit<ApiCallText, 'path'>;

const allHeaders = ({ body, headers = {} }: CallOfCode): [string, string][] => [
  ...(body === undefined ? [] : [['Content-Type', 'application/json'] as [string, string]]),
  ...Object.entries(headers),
];

/** Quotes a text for TypeScript and for Python, which both read strings of JSON. */
const quote = (text: string) => JSON.stringify(text);
const shift = (text: string, by: string) => text.replaceAll('\n', `\n${by}`);

const PRINTS = 'console'; // No code here writes to it.
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

/** Formats a value of JSON as Python writes it. */
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

/**
 * Quotes a text as one word of a POSIX shell (sh, bash, zsh), for commands that people copy. Example:
 * `shellQuote("it's")` gives `'it'\''s'`; a word that the shell does not change is returned without quotes.
 */
function shellQuote(word: string): string {
  // A shell cannot pass a NUL to a command. A NUL would silently truncate the word.
  const sent = word.replaceAll('\0', '');
  return /^[\w@%+:,./-]+$/.test(sent) && !sent.startsWith('-') ? sent : `'${sent.replaceAll("'", "'\\''")}'`;
}
