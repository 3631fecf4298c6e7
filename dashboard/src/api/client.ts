/**
 * Calls to the service, all below /dashboard/api: JSON in, JSON out, every refusal an ApiError.
 */
import type { AnswerOf, BodyOf, QueryOf, RouteWith } from '../../../src/http/dashboard/interface.ts';

const API_BASE = '/dashboard/api';

export class ApiError extends Error {
  /** A code of docs/errors.md, or NETWORK_ERROR when no answer came. */
  readonly code: string;
  readonly field: string | undefined;
  /** The known name nearest to an unknown field. */
  readonly suggestion: string | undefined;
  readonly requestId: string | undefined;
  /** 0 when no answer came. */
  readonly httpStatus: number;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: string,
    message: string,
    httpStatus: number,
    about: { field?: unknown; suggestion?: unknown; requestId?: unknown; retryAfter?: string | null } = {},
  ) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.httpStatus = httpStatus;
    this.field = typeof about.field === 'string' ? about.field : undefined;
    this.suggestion = typeof about.suggestion === 'string' ? about.suggestion : undefined;
    this.requestId = typeof about.requestId === 'string' ? about.requestId : undefined;
    const seconds = Number(about.retryAfter ?? Number.NaN);
    this.retryAfterSeconds = Number.isFinite(seconds) ? seconds : undefined;
  }
}

type QueryValue = string | number | boolean | undefined | null;
/** What is empty is left out. */
export type QueryValues<Name extends string = string> = Readonly<Partial<Record<Name, QueryValue>>>;

type PathWith<Method extends 'GET' | 'POST'> = RouteWith<Method> extends `${Method} ${infer Path}` ? Path : never;
type GetQuery<Path extends PathWith<'GET'>> = QueryValues<keyof QueryOf<`GET ${Path}`> & string>;

/** Example: `await get('/usage', { month: '2026-11' })`. */
export async function get<Path extends PathWith<'GET'>>(
  path: Path,
  query?: GetQuery<Path>,
  signal?: AbortSignal,
): Promise<AnswerOf<`GET ${Path}`>> {
  const response = await send('GET', urlOf(path, query ?? {}), undefined, { signal: signal ?? null });
  return (await parseAnswer(response)) as AnswerOf<`GET ${Path}`>;
}

/**
 * Example: `await post('/keys/replace', { overlap: '24h' })`. Where the service needs a proof first, asks the user
 * for it and then makes the call.
 */
export async function post<Path extends PathWith<'POST'>>(
  path: Path,
  body: BodyOf<`POST ${Path}`>,
): Promise<AnswerOf<`POST ${Path}`>> {
  const call = async () => (await parseAnswer(await send('POST', urlOf(path), body))) as AnswerOf<`POST ${Path}`>;
  try {
    return await call();
  } catch (fault) {
    if (!(fault instanceof ApiError) || fault.code !== 'PROOF_NEEDED') throw fault;
    if (!(await (proving ??= askForProof().finally(() => (proving = undefined))))) throw fault;
    return call();
  }
}

let askForProof = (): Promise<boolean> => Promise.resolve(false);
/** Calls that need a proof at the same moment share one question. */
let proving: Promise<boolean> | undefined;
/** Sets who asks the user for a proof. `ask` resolves to whether it was given. */
export function onProofNeeded(ask: () => Promise<boolean>): void {
  askForProof = ask;
}

/** Below these the operations of the API answer to a session; calls below `explorer` are metered. */
export type Entry = '/records' | '/explorer';
export interface OperationAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** undefined when the answer is not JSON. */
  readonly json: unknown;
  readonly milliseconds: number;
}

/**
 * An operation of the API by its path, e.g. `callOperation('/records', 'POST', '/orders/query', { maxReturn: 50 },
 * [])`. Returns every answer, also refusals; `readOperation` below throws them instead. A body that is a text is
 * sent unchanged, as JSON. Throws only when no answer came, or the session has ended.
 */
export async function callOperation(
  entry: Entry,
  method: 'GET' | 'POST' | 'PUT',
  path: string,
  query: QueryValues = {},
  body?: unknown,
  options: { signal?: AbortSignal; headers?: Record<string, string> } = {},
): Promise<OperationAnswer> {
  const began = performance.now();
  const response = await send(method, urlOf(`${entry}${path}`, query), body, {
    signal: options.signal ?? null,
    headers: options.headers ?? {},
  });
  const text = await response.text();
  const json = parse(text);
  const answer = {
    status: response.status,
    headers: response.headers,
    text,
    json,
    milliseconds: performance.now() - began,
  };
  if (response.status === 401 && toError(response, json).code === 'NOT_SIGNED_IN')
    throw endSession(toError(response, json));
  return answer;
}

/**
 * The same for pages that only want data: the whole envelope `{ status, data, subRecords }` and the headers; refusals
 * are thrown as ApiError.
 */
export async function fetchOperation<T>(
  ...call: Parameters<typeof callOperation>
): Promise<{ body: T; headers: Headers }> {
  const answer = await callOperation(...call);
  if (answer.status >= 400) throw toError(answer, answer.json);
  return { body: answer.json as T, headers: answer.headers };
}

let tellNotSignedIn = (): void => {};
/** Called whenever the service says that there is no session. */
export function onNotSignedIn(listener: () => void): void {
  tellNotSignedIn = listener;
}

function endSession(error: ApiError): ApiError {
  tellNotSignedIn();
  return error;
}

function urlOf(path: string, query: QueryValues = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `${API_BASE}${path}${search === '' ? '' : `?${search}`}`;
}

async function send(
  method: string,
  url: string,
  body: unknown,
  extra: { signal?: AbortSignal | null; headers?: Record<string, string> } = {},
) {
  const headers = {
    accept: 'application/json',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...extra.headers,
  };
  try {
    return await fetch(url, {
      method,
      headers,
      credentials: 'same-origin',
      body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
      signal: extra.signal ?? null,
    });
  } catch (fault) {
    if (fault instanceof DOMException && fault.name === 'AbortError') throw fault;
    throw new ApiError('NETWORK_ERROR', 'The service could not be reached. Check the connection and try again.', 0);
  }
}

async function parseAnswer(response: Response): Promise<unknown> {
  const json = parse(await response.text());
  if (response.ok && json !== undefined) return json;
  const error = toError(response, json);
  throw error.code === 'NOT_SIGNED_IN' ? endSession(error) : error;
}

function toError({ status, headers }: { status: number; headers: Headers }, json: unknown): ApiError {
  const { code, message, ...about } = (typeof json === 'object' && json !== null ? json : {}) as Record<
    string,
    unknown
  >;
  if (typeof code === 'string' && typeof message === 'string')
    return new ApiError(code, message, status, { ...about, retryAfter: headers.get('retry-after') });
  return new ApiError(
    'UNEXPECTED_ANSWER',
    `The service answered with status ${status} and nothing that can be read.`,
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
