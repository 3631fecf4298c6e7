/** Calls Storeroom, and repeats what a repetition can help. */
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

const BASE = process.env['BASE'] ?? 'http://127.0.0.1:8080/tenant/api/pims/v1';
const KEYS = JSON.parse(readFileSync(process.env['KEYS_FILE'] ?? 'keys.json', 'utf8')) as Record<string, string>;
const TRIES = 4;
const TIMEOUT_MS = 30_000;
const WAIT_AND_REPEAT = ['REQUEST_TIMEOUT', 'RATE_LIMITED', 'TOO_MANY_QUERIES', 'IDEMPOTENCY_KEY_RUNNING'];

/** `repeat`: a wait helps. `pause`: only next month helps. `stop`: a person has to. `set aside`: the request is wrong. */
export type Action = 'repeat' | 'pause' | 'stop' | 'set aside';

/** What to do about an answer that is no success. Status 0: there was none. */
export function actionFor(status: number, code: string): Action {
  if (status === 0 || status >= 500 || WAIT_AND_REPEAT.includes(code)) return 'repeat';
  if (code === 'QUOTA_EXCEEDED') return 'pause';
  return status === 401 || status === 403 ? 'stop' : 'set aside';
}

export class Problem extends Error {
  readonly action: Action;
  readonly code: string;

  constructor(action: Action, code: string, message: string) {
    super(`${code}: ${message}`);
    this.action = action;
    this.code = code;
  }
}

export interface Request {
  readonly query?: Record<string, string>;
  readonly body?: unknown;
  /** The Idempotency-Key of a write: the same for every repetition, also after a restart. */
  readonly key?: string;
}

/** The answer, and the cursor of the next page. Throws a Problem. */
export async function call<T>(method: string, path: string, request: Request = {}): Promise<[T, string | null]> {
  for (let attempt = 1; ; attempt++) {
    const response = await send(method, path, request).catch(() => undefined);
    const answer = (await response?.json().catch(() => undefined)) as { code?: string; message?: string } | undefined;
    if (response?.ok && answer) return [answer as T, response.headers.get('X-Next-Cursor')];
    const code = answer?.code ?? 'NO_ANSWER';
    const action = actionFor(answer ? response!.status : 0, code);
    if (action !== 'repeat' || attempt === TRIES)
      throw new Problem(action, code, answer?.message ?? `${method} ${path} was not answered.`);
    const seconds = Number(response?.headers.get('Retry-After')) || Math.random() * 2 ** attempt;
    await wait(seconds * 1000);
  }
}

function send(method: string, path: string, { query, body, key }: Request): Promise<Response> {
  const headers = new Headers({ Authorization: `Basic ${btoa(`${KEYS['apiID']}:${KEYS['apiSecret']}`)}` });
  if (key !== undefined) headers.set('Idempotency-Key', key);
  if (body !== undefined) headers.set('Content-Type', 'application/json');
  return fetch(`${BASE}${path}?${String(new URLSearchParams({ teamID: KEYS['teamID']!, ...query }))}`, {
    method,
    headers,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}
