/** The TypeScript client in a host that gives it what workers have, and the time of a clock. */
import { join } from 'node:path';
import { createContext, runInContext, type Context } from 'node:vm';
import { rolldown } from 'rolldown';
import type { Clock, Timer } from '../../src/clock.ts';

/** The globals of workers that the client uses. Timers and text aside, there is nothing of a host in it. */
const GLOBALS = [AbortController, AbortSignal, Headers, Request, Response, TextDecoder, TextEncoder];
const ADDRESSES = [URL, URLSearchParams];
const FUNCTIONS = { atob, btoa, crypto, fetch };

export const hostOf = (clock: Clock, more: object = {}): Context =>
  createContext({
    ...Object.fromEntries([...GLOBALS, ...ADDRESSES].map((global) => [global.name, global])),
    ...FUNCTIONS,
    Date: { now: clock.now, parse: Date.parse },
    performance: { now: clock.elapsed },
    setTimeout: (work: () => void, ms: number) => clock.after(ms, work),
    clearTimeout: (timer: Timer | undefined) => timer?.close(),
    ...more,
  });

type Client = typeof import('../../client/src/storeroom.ts');

const bundle = await rolldown({
  input: join(import.meta.dirname, '../../client/src/storeroom.ts'),
  logLevel: 'silent',
});
const { output } = await bundle.generate({ format: 'cjs' });

/** A client of its own for each clock. */
export function loadClient(clock: Clock): Client {
  const client = {};
  const run = runInContext(`(exports) => {${output[0].code}\n}`, hostOf(clock)) as (exports: object) => void;
  run(client);
  return client as Client;
}
