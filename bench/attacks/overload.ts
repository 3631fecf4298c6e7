/**
 * More calls than the service can answer, from eight tenants: seven in ten read an order, two create one, one asks for
 * a page of 50. One process sends each after an answer (the capacity) or at a fixed rate.
 */
import { times } from '../../test/kit/lists.ts';
import { basicOf } from '../../test/kit/operations.ts';
import { RawConnection } from '../../test/kit/raw-connection.ts';
import { BASE_PATH, type Keys } from '../../test/kit/service.ts';
import type { Target } from './target.ts';
import { summarize, type Waits } from './waits.ts';

/** Calls a second; 0 for as many as CAPACITY_CONNECTIONS get answered. */
export interface Load {
  readonly perSecond: number;
}

export interface LoadFigures extends Waits {
  /** Answers 200 a second. */
  readonly goodPerSecond: number;
  readonly sentPerSecond: number;
}

const CAPACITY_CONNECTIONS = 64;
/** More than the service lets be in flight. */
const CONNECTIONS = 2000;
const CONNECTIONS_AT_ONCE = 100;
const TICK_MS = 2;
const ANSWER_MS = 30_000;

/** Starts the load. The function returned gives the figures since its last call. */
export function overload(target: Target, { perSecond }: Load): () => LoadFigures {
  const requests = target.busy.flatMap(({ keys, order }) => requestsOf(keys, order));
  let waits: number[] = [];
  let failures: Record<string, number> = {};
  let begunAt = performance.now();
  let sent = 0;
  let turn = 0;
  const fail = (what: string | number): void => void (failures[what] = (failures[what] ?? 0) + 1);
  const send = async (connection: RawConnection, dueAt: number): Promise<void> => {
    sent++;
    const giveUp = setTimeout(() => connection.close(), ANSWER_MS);
    const answer = await connection.send(requests[turn++ % requests.length]!, false);
    clearTimeout(giveUp);
    if (answer?.status === 200) waits.push(performance.now() - dueAt);
    else fail(answer?.status ?? 'closed');
  };
  if (perSecond === 0)
    for (let connection = 0; connection < CAPACITY_CONNECTIONS; connection++)
      void repeat(new RawConnection(target.origin), send);
  else void pace(perSecond, target.origin, send, () => fail('not sent'));
  return () => {
    const seconds = (performance.now() - begunAt) / 1000;
    const summary = summarize(waits, failures);
    const figures = { ...summary, goodPerSecond: summary.count / seconds, sentPerSecond: sent / seconds };
    [waits, failures, sent, begunAt] = [[], {}, 0, performance.now()];
    return figures;
  };
}

type Send = (connection: RawConnection, dueAt: number) => Promise<void>;

async function repeat(connection: RawConnection, send: Send): Promise<never> {
  for (;;) await send(connection, performance.now());
}

/** Connections are opened first: the kernel loses a burst of new ones. Calls that find all taken are not sent. */
async function pace(perSecond: number, origin: string, send: Send, miss: () => void): Promise<void> {
  const idle: RawConnection[] = [];
  while (idle.length < CONNECTIONS) {
    const opened = times(CONNECTIONS_AT_ONCE, () => new RawConnection(origin));
    await Promise.all(opened.map((connection) => connection.open()));
    idle.push(...opened);
  }
  let dueAt = performance.now();
  setInterval(() => {
    for (; dueAt <= performance.now(); dueAt += 1000 / perSecond) {
      const connection = idle.pop();
      if (connection) void send(connection, dueAt).then(() => idle.push(connection));
      else miss();
    }
  }, TICK_MS);
}

function requestsOf(keys: Keys, order: string): Buffer[] {
  const request = (method: string, path: string, body = ''): Buffer =>
    Buffer.from(
      [
        `${method} ${BASE_PATH}${path}${path.includes('?') ? '&' : '?'}teamID=${keys.teamID} HTTP/1.1`,
        'Host: storeroom',
        `Authorization: ${basicOf(keys)}`,
        ...(body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`]),
        '',
        body,
      ].join('\r\n'),
    );
  const read = request('GET', `/orders/single?orderNum=${order}`);
  const create = request('PUT', '/orders/create', '{"REFERENCE_NUMBER":"#new","BNAME":"A buyer"}');
  const page = request('POST', '/orders/query?maxReturn=50', '[]');
  return [read, read, create, read, read, page, read, create, read, read];
}
