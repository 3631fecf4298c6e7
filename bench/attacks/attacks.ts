/**
 * The attacks. Each runs until its process ends and counts its answers. An earlier version of the service failed at
 * these rates.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { times } from '../../test/kit/lists.ts';
import { RawConnection } from '../../test/kit/raw-connection.ts';
import { openSocket } from '../../test/kit/raw-http.ts';
import { BASE_PATH, type Keys } from '../../test/kit/service.ts';
import { callOf, callWith, formatRequest, type LoadRequest } from '../sides/calls.ts';
import { NUMBER_OF_MANY, type Target } from './target.ts';

export interface Attack {
  /** The number of the fault in the earlier version that the attack uses, and what the attack does. */
  readonly fault: string;
  readonly caller: 'anonymous' | 'authenticated';
  readonly begin: (target: Target, count: Count) => void;
}

/** Counts an answer, or the event that came instead of one. */
type Count = (outcome: number | 'closed' | 'sent') => void;

const BODY_BYTES = 256 * 1024;
const PAUSE_MS = 100;
const MORE_MS = 2000;

/** Sends a call, reads the answer and counts it. Returns whether there was an answer. */
async function send(connection: RawConnection, call: LoadRequest, count: Count): Promise<boolean> {
  const answer = await connection.send(formatRequest(call), false);
  count(answer?.status ?? 'closed');
  return answer !== undefined;
}

/** Starts callers that each send the calls of a list in turn, the next one as soon as the last one is answered. */
function flood({ origin }: Target, callers: number, calls: readonly LoadRequest[], count: Count): void {
  const repeat = async (first: number): Promise<void> => {
    const connection = new RawConnection(origin);
    for (let turn = first; ; turn++)
      if (!(await send(connection, calls[turn % calls.length]!, count))) await sleep(PAUSE_MS);
  };
  for (let caller = 0; caller < callers; caller++) void repeat(caller);
}

/**
 * Opens connections that send these bytes, then `more` every 2 s, and replaces each one that is closed. A connection
 * that reads nothing notices that it is closed when it writes.
 */
function hold({ origin }: Target, connections: number, bytes: string, more: string, count: Count): void {
  const isReading = more.length === 1;
  const open = (): void => {
    const socket = openSocket(origin);
    socket.on('error', () => undefined);
    if (isReading) socket.resume();
    else socket.pause();
    const timer = setInterval(() => socket.write(more), MORE_MS);
    socket.on('close', () => {
      clearInterval(timer);
      count('closed');
      setTimeout(open, PAUSE_MS);
    });
    socket.write(bytes, () => count('sent'));
  };
  for (let connection = 0; connection < connections; connection++) open();
}

const pages = (keys: Keys, type: string, maxReturn = 500): LoadRequest =>
  callOf(keys)('POST', `/${type}/query`, { maxReturn: String(maxReturn) }, []);
const contains = (keys: Keys, values: readonly string[]): LoadRequest => {
  const filters = values.map((value) => ({ field: 'NOTES', value, contains: true, conjunction: 'OR' }));
  return callOf(keys)('POST', '/customers/query', {}, filters);
};
const anonymous = callWith({ 'content-type': 'application/json' });
const rawOf = (call: LoadRequest): string => formatRequest(call).toString();

const zeros = Array.from({ length: BODY_BYTES / 2 - 1 }, () => 0);

export const ATTACKS: Readonly<Record<string, Attack>> = {
  'unread files': {
    fault: '1: 10 connections ask 100 times each for a file of 2 MB and read nothing',
    caller: 'anonymous',
    begin: (target, count) => {
      const call = rawOf(anonymous('GET', '/docs/js/scalar.js'));
      hold(target, 10, call.repeat(100), call, count);
    },
  },
  'unread pages': {
    fault: '1: 4 connections ask 500 times each for a page and read nothing',
    caller: 'authenticated',
    begin: (target, count) => {
      const call = rawOf(pages(target.greedy, 'customers'));
      hold(target, 4, call.repeat(500), call, count);
    },
  },
  'bodies of strangers': {
    fault: '2: 11 bodies of 256 KiB a second, without keys, to operations and to paths that do not exist',
    caller: 'anonymous',
    begin: (target, count) => {
      const calls = [
        anonymous('PUT', `${BASE_PATH}/orders/create?teamID=quiet`, zeros),
        anonymous('POST', '/nothing', zeros),
        anonymous('PATCH', `${BASE_PATH}/orders/create`, zeros),
        anonymous('POST', '/dashboard/api/session', zeros),
      ];
      let turn = 0;
      const call = async (): Promise<void> => {
        const connection = new RawConnection(target.origin);
        await send(connection, calls[turn++ % calls.length]!, count);
        connection.close();
      };
      setInterval(() => void call(), 1000 / 11);
    },
  },
  'slow bodies': {
    fault: '3: 1,100 bodies that arrive a byte every 2 s, without keys, renewed when they are ended',
    caller: 'anonymous',
    begin: (target, count) => {
      const head = `PUT ${BASE_PATH}/orders/create?teamID=quiet HTTP/1.1\r\nHost: storeroom\r\n`;
      const bytes = `${head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`;
      hold(target, 1100, bytes, ' ', count);
    },
  },
  'large pages': {
    fault: '4: 16 callers ask for a page of 5,000 orders of 246 kB, one page after the other',
    caller: 'authenticated',
    begin: (target, count) => flood(target, 16, [pages(target.wide, 'orders', 5000)], count),
  },
  'large lookups': {
    fault: '5: 4 callers ask for an order with as many lines as it can have, and for a number with 30,000 orders',
    caller: 'authenticated',
    begin: (target, count) => {
      const call = callOf(target.greedy);
      const calls = [
        call('GET', '/orders/single', { orderNum: target.orderOf.manyLines }),
        call('GET', '/orders/by_storefront_reference', { storefront_order_number: NUMBER_OF_MANY }),
      ];
      flood(target, 4, calls, count);
    },
  },
  'abandoned queries': {
    fault: '6: 100 of the longest queries a second, each reset after 0.3 s',
    caller: 'authenticated',
    begin: (target, count) => {
      const words = times(50, (index) => `no such words ${index}`);
      const bytes = formatRequest(contains(target.greedy, words));
      const round = async (): Promise<void> => {
        const sockets = times(100, () => openSocket(target.origin).resume());
        for (const socket of sockets) {
          socket.on('error', () => undefined).on('close', () => count('closed'));
          socket.write(bytes);
        }
        await sleep(300);
        for (const socket of sockets) socket.resetAndDestroy();
      };
      void round();
      setInterval(() => void round(), 1000);
    },
  },
  'substring scans': {
    fault: '7: 50 callers search 100,000 notes for a text, one search after the other',
    caller: 'authenticated',
    begin: (target, count) => flood(target, 50, [contains(target.greedy, ['no such words'])], count),
  },
  'refused calls': {
    fault: '8: 32 callers of a tenant with a rate of 1 make calls with 1 kB of values as fast as they can',
    caller: 'authenticated',
    begin: (target, count) => {
      const call = callOf(target.limited)('GET', '/orders/single', { orderNum: '9'.repeat(1000) });
      flood(target, 32, [call], count);
    },
  },
  'ordinary pages': {
    fault: '10: 32 callers ask for pages of 500 customers, one page after the other',
    caller: 'authenticated',
    begin: (target, count) => flood(target, 32, [pages(target.greedy, 'customers')], count),
  },
};

/** Starts an attack. Returns a function that returns the count of its answers so far, by status. */
export function attack(name: string, target: Target): () => Record<string, number> {
  const counts: Record<string, number> = {};
  ATTACKS[name]!.begin(target, (outcome) => void (counts[outcome] = (counts[outcome] ?? 0) + 1));
  return () => counts;
}
