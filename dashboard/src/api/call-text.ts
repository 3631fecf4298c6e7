/**
 * A call of the API as text: its URL, and the same call as a curl command with placeholders for the keys.
 */
import { givenValues, type QueryValues } from './client.ts';
import { shellQuote } from './shell-quote.ts';

export interface ApiCallText {
  readonly method: string;
  /** Below the base URL: `/orders/query`. */
  readonly path: string;
  /** Without teamID, which is added. */
  readonly query?: QueryValues;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** A body that is a text already, sent unchanged in place of `body`. */
  readonly bodyText?: string | undefined;
  /** Headers besides the Content-Type. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Example: `callURL(session, { method: 'GET', path: '/orders/single', query: { orderNum: '10248' } })`. */
export function callURL(
  { baseURL, teamID }: { baseURL: string; teamID: string },
  { path, query = {} }: ApiCallText,
): string {
  return addQuery(`${baseURL}${path}`, givenValues({ teamID, ...query }));
}

/** Adds the parameters unchanged, also empty ones. */
export const addQuery = (url: string, query: Readonly<Record<string, string>>): string =>
  `${url}?${new URLSearchParams(query).toString().replaceAll('+', '%20')}`;

/** Formats a body for reading: one member a line where a list of objects would be too long for one. */
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
