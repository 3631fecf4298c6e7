/**
 * What attacks need: sockets that never read, the memory of a process, and how long another caller waits meanwhile.
 */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { basicOf } from './operations.ts';
import { openSocket } from './raw-http.ts';
import { BASE_PATH, type Keys, type Service } from './service.ts';

/** Resident memory of a process in MiB: now, and the most it has had. */
export function memoryOf(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mib = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)![1]) / 1024;
  return { now: mib('VmRSS'), peak: mib('VmHWM') };
}

/** A connection that sends these bytes and reads nothing of what is answered. */
export function sendUnread(origin: string, bytes: Buffer | string): Socket {
  const socket = openSocket(origin);
  socket.pause();
  // The service may end it at any moment.
  socket.on('error', () => undefined);
  socket.write(bytes);
  return socket;
}

/** Milliseconds of the calls answered as expected, and how many were not. */
export interface Waits {
  readonly p50: number;
  readonly p99: number;
  readonly worst: number;
  readonly count: number;
  readonly failed: number;
  /** How the failed ones ended: a status, or the code of a fault. */
  readonly failures: Record<string, number>;
}

export function summarize(waits: readonly number[], failures: Record<string, number> = {}): Waits {
  const sorted = waits.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Infinity;
  const failed = Object.values(failures).reduce((sum, count) => sum + count, 0);
  return { p50: at(0.5), p99: at(0.99), worst: sorted.at(-1) ?? Infinity, count: sorted.length, failed, failures };
}

/** Calls a path again and again, one call at a time, while `work` runs: how long another caller waits meanwhile. */
export async function waitsDuring(
  ask: () => Promise<unknown>,
  work: () => Promise<unknown>,
  pauseMs = 5,
): Promise<Waits> {
  const waits: number[] = [];
  const failures: Record<string, number> = {};
  const state = { isOver: false };
  const asking = (async () => {
    while (!state.isOver) {
      const begunAt = performance.now();
      await ask().then(
        () => waits.push(performance.now() - begunAt),
        ({ message }: Error) => (failures[message] = (failures[message] ?? 0) + 1),
      );
      await sleep(pauseMs);
    }
  })();
  await work();
  state.isOver = true;
  await asking;
  return summarize(waits, failures);
}

/** A call that throws unless it is answered 200 in time. */
export function asker(service: Service, keys: Keys, path: string, query: Record<string, string>): () => Promise<void> {
  const search = new URLSearchParams({ teamID: keys.teamID, ...query }).toString();
  const url = `${service.origin}${BASE_PATH}${path}?${search}`;
  return async () => {
    const answer = await fetch(url, { headers: { authorization: basicOf(keys) }, signal: AbortSignal.timeout(30_000) });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`Answered ${answer.status}`);
  };
}
