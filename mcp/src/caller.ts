/**
 * Calls the service through the project's own client, with the keys of the environment. Calls are counted and limited.
 * Cuts a response to a number of bytes: drops whole records, or shortens texts, and says how to get the rest.
 */
import { randomUUID } from 'node:crypto';
import { Caller, type Answer as ClientAnswer, type OperationName } from '../../client/src/caller.ts';
import { StoreroomError } from '../../client/src/error.ts';
import { refuseCommand } from '../../src/errors.ts';
import { CLIENT_VARIABLES } from './options.ts';
import type { Tool, ToolRequest } from './tools.ts';

/** The data of the envelope, and values of the headers. */
export interface ToolAnswer {
  readonly data: unknown;
  readonly subRecords?: unknown;
  readonly nextCursor?: string;
  readonly nextAfter?: string;
  readonly totalCount?: number;
  readonly etag?: string;
}

const [URL_VARIABLE, ...KEY_VARIABLES] = CLIENT_VARIABLES;
const DEFAULT_URL = 'http://127.0.0.1:8080';
/** An agent that waits longer assumes that the tool hangs. */
const PATIENCE = { tries: 3, timeoutMs: 15_000, totalTimeoutMs: 20_000 };

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Creates a caller for the operations below a path of the service. Throws COMMAND_REFUSED with the names of the
 * variables that are missing or wrong.
 */
export function openCaller(environment: Environment, basePath: string): Caller {
  const missing = KEY_VARIABLES.filter((name) => !environment[name]);
  if (missing.length > 0)
    throw refuseCommand(`Set ${missing.join(', ')}: the keys of a tenant, as \`storeroom keys create\` prints them.`);
  const [teamID, apiID, apiSecret] = KEY_VARIABLES.map((name) => environment[name]!) as [string, string, string];
  const url = environment[URL_VARIABLE] || DEFAULT_URL;
  if (!/^https?:\/\/[^\s/?#@]+\/?$/.test(url) || !URL.canParse(url))
    throw refuseCommand(`${URL_VARIABLE} must be the address of the service without a path, such as ${DEFAULT_URL}.`);
  return new Caller({ baseUrl: new URL(url).origin + basePath, teamID, apiID, apiSecret, ...PATIENCE });
}

/** A call that the service refused or did not respond to. The message is for the agent. */
export class FailedCall extends Error {}

/**
 * Calls an operation, and repeats the call if a short wait can help. A repeated write has the same idempotency key, so
 * that it takes effect once.
 */
export async function callService(
  caller: Caller,
  { name, isWrite }: Tool,
  { query, header, body }: ToolRequest,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  const key = isWrite ? (header['Idempotency-Key'] ?? randomUUID()) : undefined;
  const headers = { ...header, 'Idempotency-Key': key };
  try {
    return readAnswer(await caller.call(name as OperationName, { query, headers, body, options: { signal } }));
  } catch (fault) {
    throw fault instanceof StoreroomError ? new FailedCall(explain(fault, key)) : fault;
  }
}

/** Reads a response. The responses to lookups of storefront numbers have no envelope. */
function readAnswer({ body, headers }: ClientAnswer): ToolAnswer {
  const { data, subRecords } = ('status' in (body as object) ? body : { data: body }) as Partial<ToolAnswer>;
  const names = ['x-next-cursor', 'x-next-after', 'x-total-count', 'etag'];
  const [nextCursor, nextAfter, total, etag] = names.map((name) => headers.get(name));
  return {
    data,
    ...(subRecords != null && { subRecords }),
    ...(nextCursor != null && { nextCursor }),
    ...(nextAfter != null && { nextAfter }),
    ...(total != null && { totalCount: Number(total) }),
    ...(etag != null && { etag }),
  };
}

/** Formats the message, the remedy and the details of an error. */
function explain(error: StoreroomError, key: string | undefined): string {
  const { message, field, suggestion, step, requestId, status } = error;
  const details = Object.entries({ field, suggestion, step, requestId, status: status || undefined })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${value}`);
  const lines = [message, `What to do: ${findRemedy(error)}`];
  if (details.length > 0) lines.push(details.join(', '));
  if (key !== undefined && (status === 0 || status >= 500))
    lines.push(`The outcome of the call is unknown. Repeat it with idempotencyKey "${key}".`);
  return lines.join('\n');
}

function findRemedy({ code, retryAfter, remedy }: StoreroomError): string {
  if (code === 'INVALID_CREDENTIALS')
    return `Tell the user that the service rejects the ${KEY_VARIABLES.join(', ')} of this server.`;
  if (retryAfter) return `Wait ${retryAfter} seconds before the next call.`;
  return remedy ?? `Check that the service runs at the address in ${URL_VARIABLE}.`;
}

/** A list that was cut, by its place in the response. */
interface Cut {
  readonly list: string;
  readonly shown: number;
  readonly of: number;
}

interface List {
  readonly place: string;
  readonly items: unknown[];
  readonly bytes: number;
}

/** Deeper lists, such as serial numbers, are not cut. */
const DEPTH_MAX = 3;
const TEXT_CHARACTERS = 200;
/** Bytes reserved for the note about the cut. */
const NOTE_BYTES = 600;

/** Maximum number of lists in the note. The largest are cut first. */
const CUTS_TOLD = 3;

const sizeOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/** Renders the response as JSON of at most `bytesMax` bytes. */
export function renderAnswer(answer: ToolAnswer, bytesMax: number): string {
  const whole = JSON.stringify(answer);
  if (Buffer.byteLength(whole) <= bytesMax) return whole;
  const recordBytes = bytesMax - NOTE_BYTES;
  const rest = JSON.parse(whole) as ToolAnswer;
  const cuts = cutLists(rest, recordBytes);
  const areTextsCut = sizeOf(rest) > recordBytes;
  const shown = areTextsCut ? (JSON.parse(JSON.stringify(rest, shorten)) as ToolAnswer) : rest;
  const { nextCursor, nextAfter, ...others } = shown;
  const isPageCut = cuts.some(({ list }) => list === 'data');
  const note = {
    cut: {
      bytesMost: bytesMax,
      lists: cuts.slice(0, CUTS_TOLD),
      ...(areTextsCut && { textsAfterCharacters: TEXT_CHARACTERS }),
    },
    howToGetTheRest: tellHow(cuts, answer),
  };
  // The cursors continue after the last record of the page, so they would skip the records that were cut.
  const told = JSON.stringify({
    ...others,
    ...(!isPageCut && { nextCursor, nextAfter }),
    ...note,
  });
  if (Buffer.byteLength(told) <= bytesMax) return told;
  return JSON.stringify({ data: null, ...note });
}

/** Shortens the largest list until the response fits or no list has two records. */
function cutLists(answer: ToolAnswer, bytesMax: number): Cut[] {
  const cuts = new Map<string, Cut>();
  for (let excess = sizeOf(answer) - bytesMax; excess > 0; excess = sizeOf(answer) - bytesMax) {
    const [largest] = findLists(answer).toSorted((a, b) => b.bytes - a.bytes);
    if (!largest) break;
    const { place, items } = largest;
    const of = cuts.get(place)?.of ?? items.length;
    for (let freed = 0; items.length > 1 && freed < excess;) freed += sizeOf(items.pop()) + 1;
    cuts.set(place, { list: place, shown: items.length, of });
  }
  return [...cuts.values()];
}

/** Finds the lists with at least two items. */
function findLists(value: unknown, place = '', depth = 0): List[] {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return [];
  const isList = Array.isArray(value);
  const own = isList && value.length > 1 ? [{ place, items: value as unknown[], bytes: sizeOf(value) }] : [];
  const nameOf = (key: string) => (isList ? `${place}[${key}]` : place === '' ? key : `${place}.${key}`);
  return [...own, ...Object.entries(value).flatMap(([key, member]) => findLists(member, nameOf(key), depth + 1))];
}

const shorten = (_: string, value: unknown): unknown =>
  typeof value === 'string' && value.length > TEXT_CHARACTERS ? `${value.slice(0, TEXT_CHARACTERS)}…` : value;

function tellHow(cuts: readonly Cut[], { nextCursor }: ToolAnswer): string {
  const page = cuts.find(({ list }) => list === 'data');
  const ways = ['If the tool accepts `fields`, name only the fields that you need.'];
  if (page)
    ways.unshift(
      `Ask again with maxReturn "${page.shown}"${nextCursor === undefined ? '' : ' and the same cursor as before'} to get the cursor for the rest.`,
    );
  ways.push('Or request one record by its key.');
  return ways.join(' ');
}
