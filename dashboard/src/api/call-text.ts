/**
 * A call of the API as text: its URL, and the same call as a curl command with placeholders for the keys.
 */
import type { QueryValues } from './client.ts';
import { shellQuote } from './shell-quote.ts';

export interface ApiCallText {
  readonly method: string;
  /** Below the base URL: `/orders/query`. */
  readonly path: string;
  /** Without teamID, which is added. */
  readonly query?: QueryValues | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** In its place: a body that is already a text, sent unchanged. */
  readonly bodyText?: string | undefined;
  /** Beyond that of the body. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Example: `callURL(session, { method: 'GET', path: '/orders/single', query: { orderNum: '10248' } })`. */
export function callURL(
  { baseURL, teamID }: { baseURL: string; teamID: string },
  { path, query = {} }: ApiCallText,
): string {
  const all: QueryValues = { teamID, ...query };
  const given = Object.entries(all).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return addQuery(`${baseURL}${path}`, Object.fromEntries(given.map(([name, value]) => [name, String(value)])));
}

/** Adds the parameters unchanged, also empty ones. */
export const addQuery = (url: string, query: Readonly<Record<string, string>>): string =>
  `${url}?${new URLSearchParams(query).toString().replaceAll('+', '%20')}`;

/** Formats a body for reading: one member a line where a list of objects would be too long for one. */
export function formatBody(body: unknown): string {
  if (!Array.isArray(body) || body.length === 0) return JSON.stringify(body, null, 2);
  return `[\n${body.map((item) => `  ${JSON.stringify(item)}`).join(',\n')}\n]`;
}

/** Expects API_ID and API_SECRET in the environment, so that no key comes into the history of the shell. */
export function formatCurl(url: string, { method, body, bodyText, headers = {} }: Omit<ApiCallText, 'path'>): string {
  const sent = bodyText ?? (body === undefined ? undefined : formatBody(body));
  const verb = method === 'GET' || (method === 'POST' && sent !== undefined) ? '' : `-X ${shellQuote(method)} `;
  const words = [`curl ${verb}-u "$API_ID:$API_SECRET" ${shellQuote(url)}`];
  for (const [name, value] of Object.entries(headers)) words.push(`-H ${shellQuote(`${name}: ${value}`)}`);
  if (sent !== undefined) words.push(`-H 'Content-Type: application/json'`, `--data-raw ${shellQuote(sent)}`);
  return words.join(' \\\n  ');
}
