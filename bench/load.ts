/**
 * Puts load on a server: wrk where it is installed, autocannon (npm) otherwise. Sends given requests one after the other over a number of
 * connections and says how many were answered and how fast. Never decides what is sent.
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

export interface Figures {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface Amount {
  readonly connections: number;
  readonly seconds: number;
}

const run = promisify(execFile);
const folder = temporaryFolder();
const SCRIPT = fileURLToPath(new URL('wrk.lua', import.meta.url));
/** autocannon writes every request down once for every connection before it begins. */
const AUTOCANNON_REQUESTS = 200;
const hasWrk = spawnSync('wrk', ['--version']).error === undefined;
let loads = 0;
export const loader = hasWrk ? 'wrk' : 'autocannon';

/** Throws when anything but a success was answered: figures of failures are worth nothing. */
export async function load(origin: string, requests: readonly LoadRequest[], amount: Amount): Promise<Figures> {
  const { failures, ...figures } = await (hasWrk ? loadByWrk : loadByAutocannon)(origin, requests, amount);
  if (failures > 0 || figures.perSecond === 0)
    throw new Error(`${failures} requests to ${origin}${requests[0]?.path} failed.`);
  return figures;
}

async function loadByWrk(
  origin: string,
  requests: readonly LoadRequest[],
  { connections, seconds }: Amount,
): Promise<Figures & { failures: number }> {
  // Two loads may run side by side.
  const file = join(folder, `requests-${++loads}`);
  writeFileSync(file, requests.map((request) => writeRequest(origin, request)).join('\0'));
  const { stdout } = await run('wrk', ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', SCRIPT, origin, '--', file]);
  const {
    requests: count,
    us,
    p50,
    p99,
    failures,
  } = JSON.parse(/^\{.*\}$/m.exec(stdout)![0]) as Record<'requests' | 'us' | 'p50' | 'p99' | 'failures', number>;
  return { perSecond: count / (us / 1e6), p50Ms: p50 / 1000, p99Ms: p99 / 1000, failures };
}

function writeRequest(origin: string, { method, path, headers, body }: LoadRequest): string {
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

async function loadByAutocannon(
  origin: string,
  requests: readonly LoadRequest[],
  { connections, seconds }: Amount,
): Promise<Figures & { failures: number }> {
  const cannon = autocannon as (options: object) => Promise<AutocannonResult>;
  const {
    requests: sent,
    latency,
    duration,
    non2xx,
    errors,
  } = await cannon({ url: origin, connections, duration: seconds, requests: requests.slice(0, AUTOCANNON_REQUESTS) });
  return { perSecond: sent.total / duration, p50Ms: latency.p50, p99Ms: latency.p99, failures: non2xx + errors };
}
