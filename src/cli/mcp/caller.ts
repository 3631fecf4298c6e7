/** Calls the service over HTTP as any client does: counted, limited, and by the keys of the environment. */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { CLIENT_VARIABLES, type Environment } from '../../config.ts';
import { ERRORS, refuseCommand, type ErrorCode } from '../../errors.ts';
import type { Tool, ToolRequest } from './tools.ts';

export interface Service {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly teamId: string;
  readonly authorization: string;
}

/** What the service answered, or why it did not. */
export type Reply =
  | { readonly isError: false; readonly answer: Answer }
  | { readonly isError: true; readonly message: string };

/** The envelope's data, with what headers say of it. */
export interface Answer {
  readonly data: unknown;
  readonly subRecords?: unknown;
  readonly nextCursor?: string;
  readonly totalCount?: number;
  readonly etag?: string;
}

/** The variables that hold the address and the keys of the service. */
const [URL_VARIABLE, ...KEY_VARIABLES] = CLIENT_VARIABLES;
const DEFAULT_URL = 'http://127.0.0.1:8080';
const TIMEOUT_MS = 15_000;
const TRIES = 3;
/** An agent that waits longer thinks that the tool hangs. */
const WAIT_MOST_S = 5;
const REPEATED: readonly string[] = [
  'SERVICE_BUSY',
  'STORE_UNAVAILABLE',
  'RATE_LIMITED',
  'TOO_MANY_QUERIES',
  'IDEMPOTENCY_KEY_RUNNING',
];

/** Throws COMMAND_REFUSED with the names of the variables that are missing or wrong. */
export function readService(environment: Environment): Service {
  const missing = KEY_VARIABLES.filter((name) => !environment[name]);
  if (missing.length > 0)
    throw refuseCommand(`Set ${missing.join(', ')}: the keys of a tenant, as \`storeroom keys create\` prints them.`);
  const [teamId, apiId, apiSecret] = KEY_VARIABLES.map((name) => environment[name]!) as [string, string, string];
  const url = environment[URL_VARIABLE] || DEFAULT_URL;
  if (!/^https?:\/\/[^\s/?#@]+\/?$/.test(url) || !URL.canParse(url))
    throw refuseCommand(`${URL_VARIABLE} must be the address of the service without a path, such as ${DEFAULT_URL}.`);
  const authorization = `Basic ${Buffer.from(`${apiId}:${apiSecret}`).toString('base64')}`;
  return { origin: new URL(url).origin, teamId, authorization };
}

/** Calls an operation. Repeats what a short wait can help; a write under one key, so that it happens once. */
export async function callService(
  { service, clock }: { service: Service; clock: Clock },
  tool: Tool,
  request: ToolRequest,
  signal: AbortSignal,
): Promise<Reply> {
  const headers = new Headers({ authorization: service.authorization, ...request.headers });
  if (tool.isWrite && !headers.has('idempotency-key')) headers.set('idempotency-key', randomUUID());
  if (tool.hasBody) headers.set('content-type', 'application/json');
  const query = new URLSearchParams({ teamID: service.teamId, ...request.query });
  const url = `${service.origin}${tool.path}?${String(query)}`;
  const body = tool.hasBody ? JSON.stringify(request.body) : null;
  for (let attempt = 1; ; attempt++) {
    const outcome = await send(url, { method: tool.method, headers, body, signal });
    if (!(outcome instanceof Failure)) return { isError: false, answer: outcome };
    const canRepeat = outcome.mayPass && outcome.waitS <= WAIT_MOST_S && attempt < TRIES && !signal.aborted;
    if (!canRepeat) return { isError: true, message: outcome.tell(tool, headers, service) };
    await clock.sleep(outcome.waitS * 1000);
  }
}

async function send(url: string, init: RequestInit & { signal: AbortSignal }): Promise<Answer | Failure> {
  try {
    const signal = AbortSignal.any([init.signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const response = await fetch(url, { ...init, signal, redirect: 'error' });
    const answer: unknown = await response.json();
    const isObject = typeof answer === 'object' && answer !== null;
    // The service sends it with every counted answer, and nobody else does.
    const isOurs = isObject && response.headers.has('x-month-requests');
    if (response.ok && isOurs) return readAnswer(answer, response.headers);
    const refusal = response.ok || !isObject ? {} : answer;
    return new Failure(response.status, refusal, Number(response.headers.get('retry-after') ?? 1));
  } catch (fault) {
    // The fault may quote what was sent.
    const reason = (fault as { cause?: { code?: string } }).cause?.code ?? (fault as Error).name;
    return new Failure(0, { code: 'NO_ANSWER', message: `The service did not answer (${reason}).` }, 1);
  }
}

/** The lookup by one storefront number has no envelope. */
function readAnswer(answer: object, headers: Headers): Answer {
  const { data, subRecords = null } = ('status' in answer ? answer : { data: answer }) as Partial<Answer>;
  const [nextCursor, total, etag] = ['x-next-cursor', 'x-total-count', 'etag'].map((name) => headers.get(name));
  return {
    data,
    ...(subRecords != null && { subRecords }),
    ...(nextCursor != null && { nextCursor }),
    ...(total != null && { totalCount: Number(total) }),
    ...(etag != null && { etag }),
  };
}

interface RefusalBody {
  readonly code?: string;
  readonly message?: string;
  readonly field?: string;
  readonly suggestion?: string;
  readonly step?: number;
  readonly requestId?: string;
}

class Failure {
  readonly #status: number;
  readonly #body: RefusalBody;
  readonly waitS: number;

  constructor(status: number, body: RefusalBody, waitS: number) {
    this.#status = status;
    this.#body = body;
    this.waitS = waitS;
  }

  /** Whether the same request can succeed a moment later. */
  get mayPass(): boolean {
    return this.#status === 0 || REPEATED.includes(this.#body.code ?? '');
  }

  /** Code, sentence and way out. */
  tell(tool: Tool, headers: Headers, service: Service): string {
    const { code = 'UNREADABLE_ANSWER', message = 'The answer is not one of Storeroom.', ...about } = this.#body;
    const { field, suggestion, step, requestId } = about;
    const details = Object.entries({ field, suggestion, step, requestId, status: this.#status || undefined })
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}: ${value}`);
    const lines = [`${code}: ${message}`, `What to do: ${this.#findRemedy(code, service)}`];
    if (details.length > 0) lines.push(details.join(', '));
    if (tool.isWrite && (this.#status === 0 || this.#status >= 500))
      lines.push(
        `It is not known whether it happened. Repeat with idempotencyKey "${headers.get('idempotency-key')}".`,
      );
    return lines.join('\n');
  }

  #findRemedy(code: string, { origin }: Service): string {
    if (code === 'INVALID_CREDENTIALS')
      return `Tell the user that ${KEY_VARIABLES.join(', ')} of this server are refused.`;
    if (this.#status === 0) return `See whether the service runs at ${origin}; ${URL_VARIABLE} sets its address.`;
    if (this.waitS > WAIT_MOST_S) return `Wait ${this.waitS} seconds before the next call.`;
    return Object.hasOwn(ERRORS, code)
      ? ERRORS[code as ErrorCode].remedy
      : `See whether ${URL_VARIABLE} is the address of Storeroom.`;
  }
}
