/**
 * The attacks. Each runs until its process ends and counts its answers. An earlier service failed at these rates.
 */
import { Agent, request as openRequest, type ClientRequest } from 'node:http';
import { times } from '../../test/kit/lists.ts';
import { basicOf } from '../../test/kit/operations.ts';
import { openSocket } from '../../test/kit/raw-http.ts';
import { BASE_PATH, type Keys } from '../../test/kit/service.ts';
import { NUMBER_OF_MANY, type Target } from './target.ts';

export interface Attack {
  /** The fault of the service that it uses, as it was found. */
  readonly fault: string;
  readonly caller: 'anonymous' | 'authenticated';
  readonly begin: (target: Target, count: Count) => void;
}

/** Counts an answer, or the event that came instead of one. */
type Count = (outcome: number | 'closed' | 'sent') => void;

interface Call {
  readonly method: string;
  readonly path: string;
  readonly keys?: Keys;
  readonly body?: string;
}

const BODY_BYTES = 256 * 1024;
const PAUSE_MS = 100;
const MORE_MS = 2000;

const agent = new Agent({ keepAlive: true });

/** Sends a call. Calls `onEnd` when the answer has been read, or when there is none. */
function send(
  { origin }: Target,
  { method, path, keys, body }: Call,
  count: Count,
  onEnd = (): void => {},
): ClientRequest {
  const search = keys ? `${path.includes('?') ? '&' : '?'}teamID=${keys.teamID}` : '';
  const headers = {
    ...(keys && { authorization: basicOf(keys) }),
    ...(body !== undefined && { 'content-type': 'application/json', 'content-length': String(body.length) }),
  };
  const request = openRequest(`${origin}${path}${search}`, { method, agent, headers }, (response) => {
    response.resume();
    response.on('close', () => {
      count(response.complete ? response.statusCode! : 'closed');
      onEnd();
    });
  });
  // Without an answer.
  request.on('error', () => {
    count('closed');
    setTimeout(onEnd, PAUSE_MS);
  });
  request.end(body);
  return request;
}

/** Starts callers who each send a call as soon as the one before is answered, in turns out of a list. */
function flood(target: Target, callers: number, calls: readonly Call[], count: Count): void {
  for (const [index] of times(callers, (caller) => caller).entries()) {
    let turn = index;
    const next = (): void => void send(target, calls[turn++ % calls.length]!, count, next);
    next();
  }
}

/**
 * Opens connections that send these bytes, then `more` every 2 s, and open again when they are closed. A connection
 * that reads nothing notices the end when it writes.
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

const pages = (keys: Keys, type: string, maxReturn = 500): Call => {
  return { method: 'POST', path: `${BASE_PATH}/${type}/query?maxReturn=${maxReturn}`, keys, body: '[]' };
};
const contains = (keys: Keys, values: readonly string[]): Call => ({
  method: 'POST',
  path: `${BASE_PATH}/customers/query`,
  keys,
  body: JSON.stringify(values.map((value) => ({ field: 'NOTES', value, contains: true, conjunction: 'OR' }))),
});
const rawOf = ({ method, path, keys, body = '' }: Call): string =>
  [
    `${method} ${path}${keys ? `&teamID=${keys.teamID}` : ''} HTTP/1.1`,
    'Host: storeroom',
    ...(keys ? [`Authorization: ${basicOf(keys)}`] : []),
    ...(body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`]),
    '',
    body,
  ].join('\r\n');

const zeros = `[${'0,'.repeat(BODY_BYTES / 2 - 2)}0]`;

export const ATTACKS: Readonly<Record<string, Attack>> = {
  'unread files': {
    fault: '1: 10 connections ask 100 times each for a file of 2 MB and read nothing',
    caller: 'anonymous',
    begin: (target, count) => {
      const call = rawOf({ method: 'GET', path: '/docs/js/scalar.js' });
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
        { method: 'PUT', path: `${BASE_PATH}/orders/create?teamID=quiet`, body: zeros },
        { method: 'POST', path: '/nothing', body: zeros },
        { method: 'PATCH', path: `${BASE_PATH}/orders/create`, body: zeros },
        { method: 'POST', path: '/dashboard/api/session', body: zeros },
      ];
      let turn = 0;
      setInterval(() => send(target, calls[turn++ % calls.length]!, count), 1000 / 11);
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
      const number = encodeURIComponent(NUMBER_OF_MANY);
      const lookup = `${BASE_PATH}/orders/by_storefront_reference?storefront_order_number=${number}`;
      const order = `${BASE_PATH}/orders/single?orderNum=${target.orderOf.manyLines}`;
      const calls = [order, lookup].map((path) => ({ method: 'GET', path, keys: target.greedy }));
      flood(target, 4, calls, count);
    },
  },
  'abandoned queries': {
    fault: '6: 100 of the longest queries a second, each reset after 0.3 s',
    caller: 'authenticated',
    begin: (target, count) => {
      const call = contains(
        target.greedy,
        times(50, (index) => `no such words ${index}`),
      );
      const round = (): void => {
        const requests = times(100, () => send(target, call, count));
        setTimeout(() => {
          for (const request of requests) request.socket?.resetAndDestroy();
        }, 300);
      };
      round();
      setInterval(round, 1000);
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
      const path = `${BASE_PATH}/orders/single?orderNum=${'9'.repeat(1000)}`;
      flood(target, 32, [{ method: 'GET', path, keys: target.limited }], count);
    },
  },
  'ordinary pages': {
    fault: '10: 32 callers ask for pages of 500 customers, one page after the other',
    caller: 'authenticated',
    begin: (target, count) => flood(target, 32, [pages(target.greedy, 'customers')], count),
  },
};

/** Starts an attack. The function returned gives its answers so far, by status. */
export function attack(name: string, target: Target): () => Record<string, number> {
  const counts: Record<string, number> = {};
  ATTACKS[name]!.begin(target, (outcome) => void (counts[outcome] = (counts[outcome] ?? 0) + 1));
  return () => counts;
}
