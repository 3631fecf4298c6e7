/** Runs the TypeScript client in a context that has the globals of workers and the time of a given clock. */
import { join } from 'node:path';
import { createContext, runInContext, type Context } from 'node:vm';
import { rolldown } from 'rolldown';
import type { Clock, Timer } from '../../src/clock.ts';

/** The globals of workers that the context has, besides `Date`, `performance` and timers, which use the clock. */
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

/** Loads a separate copy of the client that uses this clock. */
export function loadClient(clock: Clock): Client {
  const client = {};
  const run = runInContext(`(exports) => {${output[0].code}\n}`, hostOf(clock)) as (exports: object) => void;
  run(client);
  return client as Client;
}
