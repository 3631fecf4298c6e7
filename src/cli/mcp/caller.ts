/**
 * Calls the service through the project's own client, with the keys of the environment. Calls are counted and limited.
 */
import { randomUUID } from 'node:crypto';
import { Caller, type Answer as ClientAnswer, type OperationName } from '../../../client/src/caller.ts';
import { StoreroomError } from '../../../client/src/error.ts';
import { CLIENT_VARIABLES, type Environment } from '../../config.ts';
import { refuseCommand } from '../../errors.ts';
import { BASE_PATH } from '../../http/operations/operation.ts';
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

/** The variables with the address and the keys of the service. */
const [URL_VARIABLE, ...KEY_VARIABLES] = CLIENT_VARIABLES;
const DEFAULT_URL = 'http://127.0.0.1:8080';
/** An agent that waits longer assumes that the tool hangs. */
const PATIENCE = { tries: 3, timeoutMs: 15_000, totalTimeoutMs: 20_000 };

/** Throws COMMAND_REFUSED with the names of the variables that are missing or wrong. */
export function openCaller(environment: Environment): Caller {
  const missing = KEY_VARIABLES.filter((name) => !environment[name]);
  if (missing.length > 0)
    throw refuseCommand(`Set ${missing.join(', ')}: the keys of a tenant, as \`storeroom keys create\` prints them.`);
  const [teamID, apiID, apiSecret] = KEY_VARIABLES.map((name) => environment[name]!) as [string, string, string];
  const url = environment[URL_VARIABLE] || DEFAULT_URL;
  if (!/^https?:\/\/[^\s/?#@]+\/?$/.test(url) || !URL.canParse(url))
    throw refuseCommand(`${URL_VARIABLE} must be the address of the service without a path, such as ${DEFAULT_URL}.`);
  return new Caller({ baseUrl: new URL(url).origin + BASE_PATH, teamID, apiID, apiSecret, ...PATIENCE });
}

/** The service refused a call or did not respond. The message is for the agent. */
export class FailedCall extends Error {}

/**
 * Calls an operation, and repeats the call if a short wait can help. A write keeps its key, so that it takes effect
 * once.
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

/** The lookup of one storefront number has no envelope. */
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

/** Formats the message, the remedy and the details. */
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
