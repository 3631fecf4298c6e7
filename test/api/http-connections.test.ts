/**
 * Tests connections that waste time, all side by side: slow ones get 408, and those that wait between requests
 * are kept. Node itself counts the seconds, so no clock can be moved, and the tests wait until Node ends a connection.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { suite, test } from 'node:test';
import { every } from '../../src/clock.ts';
import { passing } from '../kit/clock.ts';
import { Contract } from '../kit/contract.ts';
import { times } from '../kit/lists.ts';
import { basicOf, stockShop, targetOf } from '../kit/operations.ts';
import { openSocket, readAnswers, writeRequest } from '../kit/raw-http.ts';
import { BASE_PATH, ownService } from '../kit/service.ts';

/** Node ends connections that are idle for this long. A slow connection that ends only then fails the test. */
const KEEP_ALIVE_MS = 25_000;
const service = await ownService({ env: { STOREROOM_KEEP_ALIVE_MS: String(KEEP_ALIVE_MS) } });
const contract = await Contract.load(service.origin);
const shop = await stockShop(service, 'shop');
const good = writeRequest('GET', targetOf(shop.call('getOrder'), 'shop'), [`Authorization: ${basicOf(shop.keys)}`]);

const IDLE = 600;
const AT_ONCE = 20;
const OF_EACH_WAY = 10;
const OTHERS = 10;
const DRIP_MS = 500;
/** Minimum time that slow headers and requests get, less a little because the machine's clock may be adjusted. */
const LEAST_MS = { headers: 4900, request: 9900 };

interface SlowWay {
  readonly late: keyof typeof LEAST_MS;
  readonly head: string;
  /** Bytes that follow every half second. */
  readonly drip?: string;
}

function slowWays(): Record<string, SlowWay> {
  const start = `PUT ${BASE_PATH}/orders/create?teamID=shop HTTP/1.1`;
  const line = `${start}\r\nHost: a\r\nAuthorization: ${basicOf(shop.keys)}\r\n`;
  const json = `${line}Content-Type: application/json\r\n`;
  const body = `${json}Content-Length: 1000\r\n\r\n`;
  return {
    'sends nothing': { late: 'headers', head: '' },
    'sends half a request line': { late: 'headers', head: 'GET /heal' },
    'sends no end of its headers': { late: 'headers', head: line },
    'sends its headers byte by byte': { late: 'headers', head: `${line}X-Slow: `, drip: 'x' },
    'sends empty lines': { late: 'headers', head: '', drip: '\r\n' },
    'sends slowly after a good request': { late: 'headers', head: `${good.toString()}GET /heal`, drip: 'x' },
    'sends no body': { late: 'request', head: body },
    'sends half a body': { late: 'request', head: `${body}{"NOTES":"` },
    'sends its body byte by byte': { late: 'request', head: `${body}{"NOTES":"`, drip: 'x' },
    'sends chunks without end': {
      late: 'request',
      head: `${json}Transfer-Encoding: chunked\r\n\r\n`,
      drip: '1\r\nx\r\n',
    },
  };
}

/** Opens a slow connection. Returns its last answer, and whether it was kept for at least the minimum time. */
async function beSlow({ head, drip, late }: SlowWay): Promise<{ status: string; isKept: boolean }> {
  const givenUpFrom = service.now() + LEAST_MS[late];
  const socket = openSocket(service.origin);
  const dripping =
    drip === undefined ? undefined : every(passing, DRIP_MS, () => socket.writable && socket.write(drip));
  if (head !== '') socket.write(head);
  const answers = await readAnswers(socket, { count: 3 });
  dripping?.close();
  socket.destroy();
  const last = answers.at(-1);
  if (last) contract.check('GET', '/not in the contract', last);
  return { status: `${last?.status} ${last?.body?.code}`, isKept: service.now() >= givenUpFrom };
}

async function openIdle(): Promise<Socket> {
  const socket = openSocket(service.origin);
  await once(socket, 'connect');
  socket.on('error', () => undefined); // the service may end it
  return socket;
}

async function statusOn(socket: Socket): Promise<number> {
  if (socket.closed) return 0;
  socket.write(good);
  return (await readAnswers(socket))[0]?.status ?? 0;
}

/** Calls on a few connections at a time, because a busy service refuses calls that arrive all at once. */
async function statusesOn(sockets: readonly Socket[]): Promise<number[]> {
  const statuses: number[] = [];
  for (let at = 0; at < sockets.length; at += AT_ONCE)
    statuses.push(...(await Promise.all(sockets.slice(at, at + AT_ONCE).map(statusOn))));
  return statuses;
}

// When the slow connections have ended, these have waited for longer than any request may take to arrive.
const idle = await Promise.all(times(IDLE, openIdle));
const firstStatuses = await statusesOn(idle);
let ended = 0;
const ways = Object.entries(slowWays()).flatMap((way) => times(OF_EACH_WAY, () => way));
const slow = Promise.all(
  ways.map(async ([what, way]) => {
    const end = await beSlow(way);
    ended++;
    return { what, ...end };
  }),
);

suite('side by side', { concurrency: true }, () => {
  // Holds S14.1.
  test('408 REQUEST_TIMEOUT after 5 s for headers, after 10 s for a request, and no sooner', async () => {
    for (const { what, status, isKept } of await slow) {
      assert.equal(status, '408 REQUEST_TIMEOUT', what);
      assert.ok(isKept, `one that ${what} was closed too soon`);
    }
    assert.doesNotMatch(service.output, /INTERNAL_ERROR|"level":50/, 'a slow caller is no fault of the service');
  });

  test('600 connections that wait longer than that between requests are kept and get responses', async () => {
    const all = times(IDLE, () => 200);
    assert.deepEqual(firstStatuses, all);
    await slow;
    assert.deepEqual(await statusesOn(idle), all);
    for (const socket of idle) socket.destroy();
  });

  test('200 other callers get responses one after the other before the first slow one is given up', async () => {
    for (let call = 0; call < OTHERS; call++) {
      const body = { NOTES: `call ${call}` };
      const { status } = await service.call(shop.keys, 'PUT', '/orders/create', { body });
      assert.deepEqual([status, ended], [200, 0], `call ${call}`);
    }
  });
});
