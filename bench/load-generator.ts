/**
 * Puts load on a server, by wrk where it is installed, else by autocannon (npm): sends requests, drawn at random, over
 * a number of connections and says how many were answered and how fast.
 */
import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
// @ts-expect-error -- autocannon has no types; the part used here is described below
import autocannon from 'autocannon';
import { temporaryFolder } from '../test/kit/service.ts';

export interface LoadRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Makes requests with these headers. */
export const callWith =
  (headers: Record<string, string>) =>
  (method: string, path: string, body?: unknown): LoadRequest =>
    body === undefined ? { method, path, headers } : { method, path, headers, body: JSON.stringify(body) };

export interface LoadFigures {
  readonly count: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface LoadAmount {
  readonly connections: number;
  readonly seconds: number;
  /** Loads of the same seed draw the same requests. */
  readonly seed: number;
}

type Generator = (
  origin: string,
  requests: readonly LoadRequest[],
  amount: LoadAmount,
) => Promise<LoadFigures & { readonly failures: number }>;

const folder = temporaryFolder();
const SCRIPT = fileURLToPath(new URL('wrk.lua', import.meta.url));
/** autocannon builds every request once for every connection before it begins. */
const AUTOCANNON_REQUESTS = 200;
const hasWrk = spawnSync('wrk', ['--version']).error === undefined;
const files = new WeakMap<readonly LoadRequest[], string>();
let filesWritten = 0;
/** Longer than any load: a slow answer is no failure. */
const TIMEOUT = '120s';
export const loader = hasWrk ? 'wrk' : 'autocannon';

/** Throws when one answer was no success: figures of failures are worth nothing. */
export async function load(origin: string, requests: readonly LoadRequest[], amount: LoadAmount): Promise<LoadFigures> {
  const { failures, ...figures } = await (hasWrk ? loadByWrk : loadByAutocannon)(origin, requests, amount);
  if (failures > 0)
    throw new Error(`${failures} requests to ${origin}${requests[0]?.path} failed, ${figures.count} were answered.`);
  return figures;
}

const loadByWrk: Generator = async (origin, requests, { connections, seconds, seed }) => {
  const file = fileOf(origin, requests);
  const words = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', TIMEOUT, '-s', SCRIPT, origin];
  const { stdout } = await promisify(execFile)('wrk', [...words, '--', file, String(seed)]);
  const { count, us, p50, p99, failures } = JSON.parse(/^\{.*\}$/m.exec(stdout)![0]) as Record<string, number>;
  return {
    count: count!,
    perSecond: (count! / us!) * 1e6,
    p50Ms: p50! / 1000,
    p99Ms: p99! / 1000,
    failures: failures!,
  };
};

/** The file of these requests to an origin, written when they are sent first. */
function fileOf(origin: string, requests: readonly LoadRequest[]): string {
  const written = files.get(requests);
  if (written !== undefined) return written;
  const file = join(folder, `requests-${++filesWritten}`);
  writeFileSync(file, requests.map((request) => formatRequest(origin, request)).join('\0'));
  files.set(requests, file);
  return file;
}

function formatRequest(origin: string, { method, path, headers, body }: LoadRequest): string {
  const all = {
    host: new URL(origin).host,
    ...headers,
    ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`;
}

interface AutocannonResult {
  readonly requests: { readonly total: number };
  readonly latency: { readonly p50: number; readonly p99: number };
  readonly duration: number;
  readonly non2xx: number;
  readonly errors: number;
}

const loadByAutocannon: Generator = async (origin, requests, { connections, seconds }) => {
  const options = { url: origin, connections, duration: seconds, requests: requests.slice(0, AUTOCANNON_REQUESTS) };
  const result = await (autocannon as (options: object) => Promise<AutocannonResult>)(options);
  const { total: count } = result.requests;
  const { p50: p50Ms, p99: p99Ms } = result.latency;
  return { count, perSecond: count / result.duration, p50Ms, p99Ms, failures: result.non2xx + result.errors };
};
