/**
 * A call of the API as text: its URL, and the same call as a curl command with placeholders for the keys.
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

/** Formats a body for reading: a list with one item per line, any other body indented. */
export function formatBody(body: unknown): string {
  if (!Array.isArray(body) || body.length === 0) return JSON.stringify(body, null, 2);
  return `[\n${body.map((item) => `  ${JSON.stringify(item)}`).join(',\n')}\n]`;
}

/** Formats the call as curl. Without `pair`, curl gets the keys from the environment, so that no history has them. */
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

/**
 * Quotes a text as one word of a POSIX shell (sh, bash, zsh), for commands that people copy. Example:
 * `shellQuote("it's")` gives `'it'\''s'`; a word that the shell does not change is returned without quotes.
 */
function shellQuote(word: string): string {
  // A shell cannot pass a NUL to a command. A NUL would silently truncate the word.
  const sent = word.replaceAll('\0', '');
  return /^[\w@%+:,./-]+$/.test(sent) && !sent.startsWith('-') ? sent : `'${sent.replaceAll("'", "'\\''")}'`;
}
