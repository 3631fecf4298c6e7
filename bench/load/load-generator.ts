/**
 * Puts load on a server, with wrk if it is installed, otherwise with autocannon (npm): sends random requests from a
 * list over a number of connections, and returns how many were answered and how fast.
 */
import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
// @ts-expect-error -- autocannon has no types; the part used here is described below
import autocannon from 'autocannon';
import { temporaryFolder } from '../../test/kit/service.ts';
import { formatRequest, type LoadRequest } from '../sides/calls.ts';

export interface LoadFigures {
  readonly count: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface LoadAmount {
  readonly connections: number;
  readonly seconds: number;
  /** Loads with the same seed send the same requests. */
  readonly seed: number;
}

type Generator = (
  origin: string,
  requests: readonly LoadRequest[],
  amount: LoadAmount,
) => Promise<LoadFigures & { readonly failures: number }>;

const folder = temporaryFolder();
const SCRIPT = join(import.meta.dirname, 'wrk.lua');
/** Maximum requests with autocannon, which builds each request once for each connection before it begins. */
const AUTOCANNON_REQUESTS = 200;
const hasWrk = spawnSync('wrk', ['--version']).error === undefined;
/** The file of each list of requests. It is written when the list is first sent. */
const files = new Map<readonly LoadRequest[], string>();
/** Longer than any load, because a slow answer is not a failure. */
const TIMEOUT = '120s';
export const loader = hasWrk ? 'wrk' : 'autocannon';

/** Runs a load. Throws if one answer is not a success, because figures with failures mean nothing. */
export async function load(origin: string, requests: readonly LoadRequest[], amount: LoadAmount): Promise<LoadFigures> {
  const { failures, ...figures } = await (hasWrk ? loadByWrk : loadByAutocannon)(origin, requests, amount);
  if (failures > 0)
    throw new Error(`${failures} requests to ${origin}${requests[0]?.path} failed, ${figures.count} were answered.`);
  return figures;
}

const loadByWrk: Generator = async (origin, requests, { connections, seconds, seed }) => {
  const file = files.get(requests) ?? join(folder, `requests-${files.size}`);
  if (!files.has(requests))
    writeFileSync(file, requests.map((request) => formatRequest(request).toString()).join('\0'));
  files.set(requests, file);
  const words = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', TIMEOUT, '-s', SCRIPT, origin];
  const { stdout } = await promisify(execFile)('wrk', [...words, '--', file, String(seed)]);
  const { us, ...figures } = JSON.parse(/^\{.*\}$/m.exec(stdout)![0]) as Awaited<ReturnType<Generator>> & {
    us: number;
  };
  return { ...figures, perSecond: (figures.count / us) * 1e6 };
};

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
