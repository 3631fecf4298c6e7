/**
 * Callers beside the attacks. Onlookers call at a fixed rate, even while earlier calls wait, and measure each wait from
 * the time when the call was due, so that the figures show a service that stands still. `load` makes more calls than
 * the service can answer, from eight tenants: seven in ten read an order, two create one, one reads a page of 50.
 */
import { times } from '../../test/kit/lists.ts';
import { RawConnection } from '../../test/kit/raw-connection.ts';
import { callOf, formatRequest, type LoadRequest } from '../sides/calls.ts';
import type { Target } from './target.ts';

interface Caller {
  /** Calls a second; undefined for as many as CAPACITY_CONNECTIONS connections can make. */
  readonly perSecond: number | undefined;
  readonly callsOf: (target: Target) => LoadRequest[];
}

export const ONLOOKERS: Readonly<Record<string, Caller>> = {
  order: {
    perSecond: 100,
    callsOf: ({ quiet, orderOf }) => [callOf(quiet)('GET', '/orders/single', { orderNum: orderOf.quiet })],
  },
  health: { perSecond: 20, callsOf: () => [{ method: 'GET', path: '/healthz', headers: {} }] },
  search: {
    perSecond: 1,
    callsOf: ({ quiet }) => [
      callOf(quiet)('POST', '/orders/query', {}, [{ field: 'NOTES', value: 'no one', contains: true }]),
    ],
  },
};

function loadOf({ busy }: Target): LoadRequest[] {
  return busy.flatMap(({ keys, order }) => {
    const call = callOf(keys);
    const read = call('GET', '/orders/single', { orderNum: order });
    const create = call('PUT', '/orders/create', {}, { REFERENCE_NUMBER: '#new', BNAME: 'A buyer' });
    const page = call('POST', '/orders/query', { maxReturn: '50' }, []);
    return [read, read, create, read, read, page, read, create, read, read];
  });
}

/** Milliseconds that the calls with status 200 took since the last report, and the number of other calls. */
export interface Waits {
  readonly p50: number;
  readonly p99: number;
  readonly worst: number;
  readonly count: number;
  readonly failed: number;
  /** The number of failed calls by their end: a status, or `closed`. */
  readonly failures: Record<string, number>;
  /** Answers with status 200 per second. */
  readonly goodPerSecond: number;
  readonly sentPerSecond: number;
}

const CAPACITY_CONNECTIONS = 64;
/** More connections than the service allows calls in flight. */
const CONNECTIONS = 2000;
const CONNECTIONS_AT_ONCE = 100;
const TICK_MS = 2;
const GIVE_UP_MS = 30_000;

/** Starts an onlooker or a load. Returns a function that returns the waits since it was last called. */
export function beginCalls(name: string, target: Target, loadPerSecond?: number): () => Waits {
  const { perSecond, callsOf } = ONLOOKERS[name] ?? { perSecond: loadPerSecond, callsOf: loadOf };
  const requests = callsOf(target).map(formatRequest);
  let [waits, failures, begunAt, sent, turn] = [[] as number[], {} as Record<string, number>, performance.now(), 0, 0];
  const fail = (what: string | number): void => void (failures[what] = (failures[what] ?? 0) + 1);
  const send = async (connection: RawConnection, dueAt: number): Promise<void> => {
    sent++;
    const giveUp = setTimeout(() => connection.close(), GIVE_UP_MS);
    const answer = await connection.send(requests[turn++ % requests.length]!, false);
    clearTimeout(giveUp);
    if (answer?.status === 200) waits.push(performance.now() - dueAt);
    else fail(answer?.status ?? 'closed');
  };
  const repeat = async (connection: RawConnection): Promise<never> => {
    for (;;) await send(connection, performance.now());
  };
  const connect = (): RawConnection => new RawConnection(target.origin);
  const pace = async (rate: number): Promise<void> => {
    const isOnlooker = name in ONLOOKERS;
    const idle = isOnlooker ? [] : await openConnections(connect);
    let dueAt = performance.now();
    setInterval(() => {
      for (; dueAt <= performance.now(); dueAt += 1000 / rate) {
        const connection = idle.pop() ?? (isOnlooker ? connect() : undefined);
        if (connection) void send(connection, dueAt).then(() => idle.push(connection));
        else fail('not sent');
      }
    }, TICK_MS);
  };
  if (perSecond !== undefined) void pace(perSecond);
  else for (const connection of times(CAPACITY_CONNECTIONS, connect)) void repeat(connection);
  return () => {
    const seconds = (performance.now() - begunAt) / 1000;
    const sorted = waits.toSorted((a, b) => a - b);
    const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? Infinity;
    const summary = {
      p50: at(0.5),
      p99: at(0.99),
      worst: at(1),
      count: sorted.length,
      failures,
      failed: Object.values(failures).reduce((sum, count) => sum + count, 0),
      goodPerSecond: sorted.length / seconds,
      sentPerSecond: sent / seconds,
    };
    [waits, failures, sent, begunAt] = [[], {}, 0, performance.now()];
    return summary;
  };
}

/** Opens the connections of a load before its first call, in parts, because the kernel drops a burst of new ones. */
async function openConnections(connect: () => RawConnection): Promise<RawConnection[]> {
  const opened: RawConnection[] = [];
  while (opened.length < CONNECTIONS) {
    const some = times(CONNECTIONS_AT_ONCE, connect);
    await Promise.all(some.map((connection) => connection.open()));
    opened.push(...some);
  }
  return opened;
}
