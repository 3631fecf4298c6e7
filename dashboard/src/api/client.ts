/**
 * Calls to the service below /dashboard/api. They send and receive JSON, and errors are ApiErrors. Begin here.
 */
import type { AnswerOf, BodyOf, QueryOf, RouteWith } from '../../../src/http/dashboard/interface.ts';

const API_BASE = '/dashboard/api';

export class ApiError extends Error {
  /** A code of docs/errors.md, or one of the dashboard, such as NETWORK_ERROR without a response. */
  readonly code: string;
  readonly field: string | undefined;
  /** A name that the user may have meant by `field`, or the number of the order that has the line. */
  readonly suggestion: string | undefined;
  readonly requestId: string | undefined;
  /** HTTP status, or 0 without a response. */
  readonly httpStatus: number;
  readonly retryAfterSeconds: number | undefined;
  /** The lowest `after` that the feed of changes accepts. Only CHANGES_GONE has it. */
  readonly earliest: string | undefined;

  constructor(
    code: string,
    message: string,
    httpStatus: number,
    about: Partial<Record<'field' | 'suggestion' | 'requestId' | 'earliest' | 'retryAfter', unknown>> = {},
  ) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.httpStatus = httpStatus;
    Object.assign(this, about);
    this.retryAfterSeconds = about.retryAfter ? Number(about.retryAfter) : undefined;
  }
}

/** Returns an error that a form shows at one of its fields. */
export const faultAt = (field: string, message: string) => new ApiError('INVALID_VALUE', message, 0, { field });

/** Returns whether a thrown value is an error of the service with this code. */
export const hasCode = (fault: unknown, code: string): fault is ApiError =>
  fault instanceof ApiError && fault.code === code;

type QueryValue = string | number | boolean | undefined;
/** Parameters of a query. Empty ones are omitted. */
export type QueryValues<Name extends string = string> = Readonly<Partial<Record<Name, QueryValue>>>;

type PathWith<Verb extends 'GET' | 'POST'> = RouteWith<Verb> extends `${Verb} ${infer Path}` ? Path : never;
export type GetPath = PathWith<'GET'>;
export type GetQuery<Path extends GetPath> = QueryValues<keyof QueryOf<`GET ${Path}`> & string>;

/** Example: `await get('/usage', { month: '2026-11' })`. */
export async function get<Path extends GetPath>(
  path: Path,
  query?: GetQuery<Path>,
  signal?: AbortSignal,
): Promise<AnswerOf<`GET ${Path}`>> {
  const load = async () => parseAnswer(await send('GET', urlOf(path, query), undefined, { signal }));
  return (await keepRate(load)) as AnswerOf<`GET ${Path}`>;
}

/**
 * Example: `await post('/keys/replace', { overlap: '24h' })`. If the service needs a proof first, asks the user for it
 * and then makes the call.
 */
export async function post<Path extends PathWith<'POST'>>(
  path: Path,
  body: BodyOf<`POST ${Path}`>,
): Promise<AnswerOf<`POST ${Path}`>> {
  const call = async () =>
    (await keepRate(async () => parseAnswer(await sendWrite('POST', urlOf(path), body)))) as AnswerOf<`POST ${Path}`>;
  try {
    return await call();
  } catch (fault) {
    if (!hasCode(fault, 'PROOF_NEEDED')) throw fault;
    if (!(await (proving ??= askForProof().finally(() => (proving = undefined))))) throw fault;
    return call();
  }
}

/**
 * Repeats a call until the user may make it: actions on many records, and scans, can be faster than the rate of a user.
 */
async function keepRate<T>(call: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await call();
    } catch (fault) {
      if (!hasCode(fault, 'RATE_LIMITED') || fault.retryAfterSeconds !== 1) throw fault;
      await new Promise((resolve) => void setTimeout(resolve, 1000));
    }
}

/** Keys of writes that have no final response, by request. */
const unanswered = new Map<string, string>();
/** Forgets them, because the next write is another one. */
export const forgetUnanswered = (): void => unanswered.clear();

/** Sends a write with an Idempotency-Key. If its response is lost, the same write is sent again with the same key. */
async function sendWrite(method: string, url: string, body: unknown, { headers, ...options }: SendOptions = {}) {
  const request = JSON.stringify([method, url, body]);
  const key = unanswered.get(request) ?? crypto.randomUUID();
  unanswered.set(request, key);
  const response = await send(method, url, body, { ...options, headers: { 'idempotency-key': key, ...headers } });
  if (response.status < 500 && response.status !== 409) unanswered.delete(request);
  return response;
}

let askForProof = (): Promise<boolean> => Promise.resolve(false);
/** Calls that need a proof at the same time share one dialog. */
let proving: Promise<boolean> | undefined;
/** Sets the function that asks the user for a proof. `ask` resolves to whether the user gave it. */
export function onProofNeeded(ask: () => Promise<boolean>): void {
  askForProof = ask;
}

export type Method = 'GET' | 'POST' | 'PUT';
interface SendOptions {
  signal?: AbortSignal | undefined;
  headers?: Record<string, string>;
}
/** Parts of a call of an operation. A body that is a text is sent unchanged, as JSON. */
type Sent = [query?: QueryValues, body?: unknown, options?: SendOptions];

/**
 * Calls an operation of the API, below a path at which it accepts a session, e.g. `callOperation('/explorer', 'POST',
 * '/orders/query', { maxReturn: 50 }, [])`. Calls below `/explorer` are metered. Returns errors too, where
 * `fetchOperation` throws them. Throws only if there is no response, or the session has ended.
 */
export async function callOperation(entry: '/records' | '/explorer', method: Method, path: string, ...sent: Sent) {
  const [query, body, options] = sent;
  const began = performance.now();
  // The explorer sends what the user has written.
  const sendCall = method === 'GET' || entry === '/explorer' ? send : sendWrite;
  const response = await sendCall(method, urlOf(`${entry}${path}`, query), body, options);
  const { status, headers } = response;
  const text = await response.text();
  /** The body, or undefined if it is not JSON. */
  const json = parse(text);
  if (status === 401) throwIfSignedOut(toError(response, json));
  return { status, headers, text, json, milliseconds: performance.now() - began };
}
export type OperationAnswer = Awaited<ReturnType<typeof callOperation>>;

/**
 * Calls an operation below /records, which is not metered. Returns the envelope `{ status, data, subRecords }` and the
 * headers; throws errors as ApiError.
 */
export const fetchOperation = <T>(method: Method, path: string, ...sent: Sent) =>
  keepRate(async () => {
    const answer = await callOperation('/records', method, path, ...sent);
    if (answer.status >= 400) throw toError(answer, answer.json);
    return { body: answer.json as T, headers: answer.headers };
  });

let tellNotSignedIn = (): void => {};
/** Sets the function that is called whenever there is no session. */
export function onNotSignedIn(listener: () => void): void {
  tellNotSignedIn = listener;
}

/** Returns the parameters that have a value, as texts. */
export const givenValues = (query: QueryValues): Record<string, string> =>
  Object.fromEntries(
    Object.entries(query).flatMap(([name, value]) =>
      value === undefined || value === '' ? [] : [[name, String(value)]],
    ),
  );

function urlOf(path: string, query: QueryValues = {}): string {
  const search = new URLSearchParams(givenValues(query)).toString();
  return `${API_BASE}${path}${search === '' ? '' : `?${search}`}`;
}

/** Loads the contract, which needs no session. */
export const getContract = async () => parseAnswer(await send('GET', '/openapi.json'));

/** The event of the window after a user has signed in again over the page. */
export const SIGNED_IN = 'storeroom:signed-in';
/** The event of the window when it gets the focus after another tab has saved something. */
export const CHANGED = 'storeroom:changed';
const tabs = new BroadcastChannel('storeroom');
let isBehind = false;
tabs.addEventListener('message', () => (isBehind = true));
addEventListener('focus', () => {
  if (isBehind) dispatchEvent(new Event(CHANGED));
  isBehind = false;
});
let calledAt = Date.now();
/** Returns when the service last answered a call. A session ends some time after that. */
export const lastCallAt = (): number => calledAt;

async function send(method: string, url: string, body?: unknown, { signal, headers }: SendOptions = {}) {
  try {
    const response = await fetch(url, {
      method,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      credentials: 'same-origin',
      body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
      signal: signal ?? null,
    });
    if (response.status !== 401) calledAt = Date.now();
    if (method !== 'GET' && response.ok && !/\/query(\?|$)/.test(url)) tabs.postMessage(null);
    return response;
  } catch (fault) {
    if (fault instanceof DOMException && fault.name === 'AbortError') throw fault;
    throw new ApiError('NETWORK_ERROR', 'The service could not be reached. Check your connection and try again.', 0);
  }
}

async function parseAnswer(response: Response) {
  const json = parse(await response.text());
  if (response.ok && json !== undefined) return json;
  const error = toError(response, json);
  throwIfSignedOut(error);
  throw error;
}

function throwIfSignedOut(error: ApiError): void {
  if (error.code !== 'NOT_SIGNED_IN') return;
  tellNotSignedIn();
  throw error;
}

function toError({ status, headers }: { status: number; headers: Headers }, json: unknown): ApiError {
  const { code, message, ...about } = (json ?? {}) as Record<string, unknown>;
  if (typeof code === 'string' && typeof message === 'string')
    return new ApiError(code, message, status, { ...about, retryAfter: headers.get('retry-after') });
  return new ApiError(
    'UNEXPECTED_ANSWER',
    `The service sent status ${status} without JSON. Try again; if it fails again, tell the operator.`,
    status,
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Rewords an error of the service for a form, and assigns it to a field of that form. Example: `await
 * rewordError(post('/users/remove', { email }), 'LAST_OWNER', { message: 'Ann is the only owner.' })`. Other errors
 * stay unchanged.
 */
export async function rewordError<T>(
  response: Promise<T>,
  code: string,
  { message, field }: { message?: string; field?: string },
): Promise<T> {
  try {
    return await response;
  } catch (fault) {
    if (!hasCode(fault, code)) throw fault;
    throw new ApiError(code, message ?? fault.message, fault.httpStatus, { field, requestId: fault.requestId });
  }
}

/**
 * Adds the host of the page to an address that the service returns without one, because it knows no host that it can
 * trust. Complete addresses stay unchanged.
 */
export const toAddress = (path: string): string => new URL(path, location.origin).href;
