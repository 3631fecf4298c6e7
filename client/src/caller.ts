/**
 * Makes a call, from its first try to its response: credentials, time limits and retries. It knows nothing of records.
 */
import { explainFailure } from './connection.ts';
import { OPERATIONS } from './contract.ts';
import { StoreroomError, type Refusal } from './error.ts';
import { findRate, Pace } from './pace.ts';
import { checkBody } from './values.ts';

export type OperationName = keyof typeof OPERATIONS;

export interface StoreroomOptions {
  /** The base URL as the service prints it: `http://127.0.0.1:8080/tenant/api/pims/v1`. */
  readonly baseUrl: string;
  readonly teamID: string;
  readonly apiID: string;
  readonly apiSecret: string;
  /** Milliseconds for a try: 10,000 by default, 30,000 for queries, lookups and batches. */
  readonly timeoutMs?: number | undefined;
  /**
   * Milliseconds for a call with all its tries and waits: 120,000 by default. The client begins no wait beyond it.
   */
  readonly totalTimeoutMs?: number | undefined;
  /**
   * Maximum number of tries, 5 by default. With 1, a call is never repeated. A refusal with `RATE_LIMITED` does not
   * count as a try: the client repeats the call as long as its time allows.
   */
  readonly tries?: number | undefined;
  /** Maximum wait before the second try if the service names no time: 1,000 ms by default, doubled up to 30,000. */
  readonly firstWaitMs?: number | undefined;
  /** Called after every try, for logs and figures. */
  readonly onTry?: ((tried: Try) => void) | undefined;
  /** A function to use instead of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly totalTimeoutMs?: number | undefined;
  readonly tries?: number | undefined;
}

/** The outcome of a try. It contains no secret. */
export interface Try {
  readonly operation: OperationName;
  /** The number of the try, from 1. The try after a refusal with `RATE_LIMITED` has the same number. */
  readonly number: number;
  /** HTTP status, or 0 without a response. */
  readonly status: number;
  /** Error code, if it failed. */
  readonly code: string | undefined;
  readonly requestId: string | undefined;
  /** The team's calls of this month, this one included. */
  readonly monthRequests: number | undefined;
  /** Whether an earlier write with the same Idempotency-Key had taken effect. */
  readonly replayed: boolean;
  readonly durationMs: number;
  /** The wait until the next try, if there is one. */
  readonly waitMs: number | undefined;
}

export interface Call {
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly options?: CallOptions | undefined;
  /** Milliseconds that the service may hold the call before it answers. A try may take that much longer. */
  readonly heldMs?: number;
}

/** A successful response. The body of a 304 is undefined. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

interface Prepared {
  readonly url: string;
  readonly init: RequestInit;
}

const TIMEOUT_MS = 10_000;
const LONG_TIMEOUT_MS = 30_000;
const LONG = /^(query|find|batch)/;
const TOTAL_TIMEOUT_MS = 120_000;
const TRIES = 5;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;
/** Maximum milliseconds of a timer. A longer one would end at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;
/** Spreads the retries of callers that got the same Retry-After. After `RATE_LIMITED`, half of that time does. */
const SPREAD_MS = 250;

export class Caller {
  readonly #base: string;
  readonly #teamID: string;
  readonly #authorization: string;
  readonly #settings: StoreroomOptions;
  readonly #pace = new Pace();

  constructor(options: StoreroomOptions) {
    for (const name of ['baseUrl', 'teamID', 'apiID', 'apiSecret'] as const)
      if (!/^[!-~]+$/.test(options[name] ?? ''))
        throw new TypeError(`Set the option ${name}, without spaces and line breaks.`);
    const { baseUrl, teamID, apiID, apiSecret, ...settings } = options;
    const url = new URL(baseUrl);
    if (url.username !== '' || url.password !== '' || url.search !== '')
      throw new TypeError('baseUrl must have no credentials and no query.');
    this.#base = url.origin + url.pathname.replace(/\/+$/, '');
    this.#teamID = teamID;
    this.#authorization = `Basic ${btoa(`${apiID}:${apiSecret}`)}`;
    // Only the fields above keep the credentials.
    this.#settings = settings as StoreroomOptions;
  }

  /**
   * Makes the call, and repeats it while a retry can help, within the limits of tries and time. Throws a
   * StoreroomError, the reason of an abort, or a TypeError for a body that cannot be sent.
   */
  async call(operation: OperationName, call: Call): Promise<Answer> {
    const { tries = TRIES, totalTimeoutMs = TOTAL_TIMEOUT_MS } = { ...this.#settings, ...dropUnset(call.options) };
    const signal = call.options?.signal;
    const endsAt = performance.now() + totalTimeoutMs;
    // A request that cannot be sent at all throws here, and is not mistaken for a failed connection.
    const request = this.#prepare(operation, call);
    signal?.throwIfAborted();
    const turnMs = this.#pace.take();
    // A turn that comes too late is not awaited: the service decides.
    if (turnMs > 0 && performance.now() + turnMs < endsAt) await sleep(turnMs, signal);
    for (let number = 1; ;) {
      signal?.throwIfAborted();
      const begunAt = performance.now();
      const outcome = await this.#try(operation, request, call, endsAt - begunAt);
      const error = outcome instanceof StoreroomError ? outcome : undefined;
      const waitMs = error && this.#chooseWait(error, number);
      const endedAt = performance.now();
      const isTooLong = waitMs !== undefined && (endedAt + waitMs >= endsAt || waitMs > TIMER_MS_MAX);
      const isCounted = error?.code !== 'RATE_LIMITED' || tries <= 1;
      const isLast = waitMs === undefined || isTooLong || (isCounted && number >= tries);
      this.#settings.onTry?.({
        operation,
        number,
        status: outcome.status,
        code: error?.code,
        requestId: error ? error.requestId : headerOf(outcome as Answer, 'X-Request-Id'),
        monthRequests: error ? undefined : numberOf(headerOf(outcome as Answer, 'X-Month-Requests')),
        replayed: !error && headerOf(outcome as Answer, 'Idempotent-Replayed') === 'true',
        durationMs: Math.round(endedAt - begunAt),
        waitMs: isLast ? undefined : waitMs,
      });
      if (!error) return outcome as Answer;
      if (isLast) throw error;
      await sleep(waitMs, signal);
      if (isCounted) number++;
    }
  }

  /** Returns the whole milliseconds to wait before the call is repeated; undefined if it must not be. */
  #chooseWait({ repeatable, code, retryAfter }: StoreroomError, number: number): number | undefined {
    if (!repeatable) return undefined;
    if (code === 'REQUEST_TIMEOUT') return 0;
    if (retryAfter) {
      const askedMs = retryAfter * 1000;
      if (code !== 'RATE_LIMITED') return Math.round(askedMs + Math.random() * SPREAD_MS);
      return Math.round(Math.max(this.#pace.take(), askedMs) + (Math.random() * askedMs) / 2);
    }
    const most = Math.min((this.#settings.firstWaitMs ?? FIRST_WAIT_MS) * 2 ** (number - 1), LONGEST_WAIT_MS);
    return Math.round(most * (0.5 + Math.random() / 2));
  }

  /** Makes one try and returns the response or the error. Throws only the reason of the caller's abort. */
  async #try(
    operation: OperationName,
    { url, init }: Prepared,
    { options, heldMs = 0 }: Call,
    leftMs: number,
  ): Promise<Answer | StoreroomError> {
    const { timeoutMs = LONG.test(operation) ? LONG_TIMEOUT_MS : TIMEOUT_MS } = {
      ...this.#settings,
      ...dropUnset(options),
    };
    const limitMs = Math.max(Math.round(Math.min(timeoutMs + heldMs, leftMs, TIMER_MS_MAX)), 1);
    const signal = options?.signal;
    const abort = new AbortController();
    const pass = (): void => abort.abort(signal!.reason);
    const timer = setTimeout(() => abort.abort(), limitMs);
    signal?.addEventListener('abort', pass);
    try {
      const response = await (this.#settings.fetch ?? globalThis.fetch)(url, { ...init, signal: abort.signal });
      const text = response.status === 304 ? '' : await response.text();
      const outcome = readAnswer(operation, response, text);
      const isRefused = outcome instanceof StoreroomError && outcome.code === 'RATE_LIMITED';
      this.#pace.note(response.headers, isRefused ? (outcome.retryAfter ?? 0) * 1000 : undefined);
      return outcome;
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      const { host } = new URL(url);
      const why = abort.signal.aborted ? `${host} did not answer within ${limitMs} ms` : explainFailure(host, cause);
      const message = `${operation} failed: ${why}.`;
      return new StoreroomError({ code: 'NO_ANSWER', message }, { operation, status: 0, cause });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', pass);
    }
  }

  #prepare(operation: OperationName, { query, headers, body }: Call): Prepared {
    const [method, path] = OPERATIONS[operation];
    checkBody(operation, body);
    const search = new URLSearchParams({ teamID: this.#teamID, ...dropUnset(query) });
    const all = new Headers({ Authorization: this.#authorization, ...dropUnset(headers) });
    if (body !== undefined) all.set('Content-Type', 'application/json');
    // The client does not follow redirects, so credentials are sent only to the base URL.
    const init: RequestInit = { method, headers: all, redirect: 'manual' };
    if (body !== undefined) init.body = JSON.stringify(body);
    return { url: `${this.#base}${path}?${search.toString()}`, init };
  }
}

function readAnswer(operation: string, response: Response, text: string): Answer | StoreroomError {
  const { status, headers, ok } = response;
  if (status === 304) return { status, headers, body: undefined };
  const body = parse(text);
  if (ok && body !== undefined) return { status, headers, body };
  const message = `${operation} got an answer with status ${status} that is not from Storeroom.`;
  const isRefusal = !ok && typeof body?.code === 'string';
  return new StoreroomError(isRefusal ? body : { code: 'UNREADABLE_ANSWER', message }, {
    operation,
    status,
    requestId: headers.get('X-Request-Id') ?? undefined,
    retryAfter: secondsOf(headers.get('Retry-After')),
    etag: headers.get('ETag') ?? undefined,
    stepsMax: findRate(headers, 'RateLimit-Policy', 'q'),
  });
}

function parse(text: string): Refusal | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Refusal) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the seconds of a Retry-After, which a proxy may write as a date. */
function secondsOf(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = Number.isNaN(Number(header)) ? Math.ceil((Date.parse(header) - Date.now()) / 1000) : Number(header);
  return Number.isNaN(seconds) ? undefined : Math.max(seconds, 0);
}

const headerOf = ({ headers }: Answer, name: string): string | undefined => headers.get(name) ?? undefined;
const numberOf = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));

function dropUnset<T extends object>(members: T | undefined): { [Name in keyof T]: Exclude<T[Name], undefined> } {
  const set = Object.entries(members ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as { [Name in keyof T]: Exclude<T[Name], undefined> };
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
