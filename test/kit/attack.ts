/** Tools for attacks: sockets that never read, the memory of a process, and the calls of other callers. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { basicOf } from './operations.ts';
import { openSocket } from './raw-http.ts';
import { BASE_PATH, type Keys, type Service } from './service.ts';

/** Returns the resident memory of a process in MiB: the current value and the highest so far. */
export function memoryOf(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mib = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)![1]) / 1024;
  return { now: mib('VmRSS'), peak: mib('VmHWM') };
}

/** Opens a connection that sends these bytes and never reads the answer. */
export function sendUnread(origin: string, bytes: Buffer | string): Socket {
  const socket = openSocket(origin);
  socket.pause();
  // The service may end the connection at any moment.
  socket.on('error', () => undefined);
  socket.write(bytes);
  return socket;
}

/** Sends all these bytes while the process is stopped, so that it finds them all at once, in any order. */
export async function sendTogether({ pid }: Service, sent: readonly (readonly [Socket, Buffer])[]): Promise<void> {
  await Promise.all(sent.map(async ([socket]) => socket.connecting && once(socket, 'connect')));
  process.kill(pid, 'SIGSTOP');
  try {
    await Promise.all(sent.map(([socket, bytes]) => new Promise((written) => void socket.write(bytes, written))));
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}

/** Waits until `count` of the sockets have the first bytes of an answer or are closed. Takes no bytes out of them. */
export async function firstBytes(sockets: readonly Socket[], count = sockets.length): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = count;
  for (const socket of sockets) {
    let isCounted = false;
    const note = (): void => {
      if (!isCounted && --left === 0) resolve();
      isCounted = true;
    };
    if (socket.readableLength > 0 || socket.destroyed) note();
    else socket.once('readable', note).once('close', note);
  }
  await promise;
}

/** Calls one call after another while `work` runs. Returns how many were answered, and throws if one was not. */
export async function answeredDuring(ask: () => Promise<unknown>, work: () => Promise<unknown>): Promise<number> {
  const state = { isOver: false, answered: 0 };
  const asking = (async () => {
    while (!state.isOver) {
      await ask();
      state.answered++;
    }
  })();
  await Promise.all([asking, work().finally(() => (state.isOver = true))]);
  return state.answered;
}

/** Returns a call that throws unless the answer is 200. With `repeats`, it is repeated while the answer is 503. */
export function asker(
  service: Service,
  keys: Keys,
  path: string,
  query: Record<string, string>,
  { repeats = false } = {},
): () => Promise<void> {
  const search = new URLSearchParams({ teamID: keys.teamID, ...query }).toString();
  const url = `${service.origin}${BASE_PATH}${path}?${search}`;
  const call = async (): Promise<void> => {
    const answer = await fetch(url, { headers: { authorization: basicOf(keys) } });
    await answer.arrayBuffer();
    if (repeats && answer.status === 503) return call();
    if (answer.status !== 200) throw new Error(`Answered ${answer.status}`);
  };
  return call;
}
