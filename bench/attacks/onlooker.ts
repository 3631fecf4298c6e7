/**
 * Calls at a fixed rate, also while earlier ones wait, and measures each wait from the moment the call was due, so that
 * a service that stands still shows.
 */
import { Agent, request as openRequest } from 'node:http';
import { basicOf } from '../../test/kit/operations.ts';
import { BASE_PATH } from '../../test/kit/service.ts';
import type { Target } from './target.ts';
import { summarize, type Waits } from './waits.ts';

export interface Onlooker {
  readonly perSecond: number;
  readonly call: (target: Target) => { method: string; path: string; body?: string; isSigned?: boolean };
}

const GIVE_UP_MS = 30_000;

export const ONLOOKERS: Readonly<Record<string, Onlooker>> = {
  order: {
    perSecond: 100,
    call: ({ orderOf }) => ({
      method: 'GET',
      path: `${BASE_PATH}/orders/single?orderNum=${orderOf.quiet}&teamID=quiet`,
    }),
  },
  health: { perSecond: 20, call: () => ({ method: 'GET', path: '/healthz' }) },
  search: {
    perSecond: 1,
    call: () => ({
      method: 'POST',
      path: `${BASE_PATH}/orders/query?teamID=quiet`,
      body: '[{"field":"NOTES","value":"nobody","contains":true}]',
    }),
  },
};

/** Begins to call. The function returned gives the waits since the last time it was called. */
export function look(name: string, target: Target): () => Waits {
  const { perSecond, call } = ONLOOKERS[name]!;
  const { method, path, body } = call(target);
  const agent = new Agent({ keepAlive: true });
  const headers = {
    authorization: basicOf(target.quiet),
    ...(body !== undefined && { 'content-type': 'application/json', 'content-length': String(body.length) }),
  };
  let waits: number[] = [];
  let failures: Record<string, number> = {};
  const fail = (what: string | number): void => void (failures[what] = (failures[what] ?? 0) + 1);
  const ask = (dueAt: number): void => {
    const request = openRequest(`${target.origin}${path}`, { method, agent, headers }, (response) => {
      response.resume().on('end', () => {
        if (response.statusCode === 200) waits.push(performance.now() - dueAt);
        else fail(response.statusCode!);
      });
    });
    request.setTimeout(GIVE_UP_MS, () => request.destroy(new Error('timeout')));
    request.on('error', (fault: NodeJS.ErrnoException) => fail(fault.code ?? fault.message));
    request.end(body);
  };
  let dueAt = performance.now();
  setInterval(() => {
    for (; dueAt <= performance.now(); dueAt += 1000 / perSecond) ask(dueAt);
  }, 2);
  return () => {
    const summary = summarize(waits, failures);
    [waits, failures] = [[], {}];
    return summary;
  };
}
