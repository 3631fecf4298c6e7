/** Connections that waste time, all side by side: slow ones get 408, those that wait between requests are kept. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Contract } from '../kit/contract.ts';
import { times } from '../kit/lists.ts';
import { basicOf, stockShop, targetOf } from '../kit/operations.ts';
import { openSocket, readAnswers, writeRequest } from '../kit/raw-http.ts';
import { BASE_PATH, ownService } from '../kit/service.ts';

const service = await ownService();
const contract = await Contract.load(service.origin);
const shop = await stockShop(service, 'shop');
const good = writeRequest('GET', targetOf(shop.call('getOrder'), 'shop'), [`Authorization: ${basicOf(shop.keys)}`]);

const IDLE = 600;
const SLOW_MS_MOST = 12_500;
const NOT_BEFORE_MS = 4000;
/** Idle connections stay for longer than any request may take to arrive. */
const IDLE_MS = 11_500;

/** Ways to be slow: what is sent at once, and the byte that follows every half second. */
function slowWays(): Record<string, { head: string; drip?: string }> {
  const start = `PUT ${BASE_PATH}/orders/create?teamID=shop HTTP/1.1`;
  const line = `${start}\r\nHost: a\r\nAuthorization: ${basicOf(shop.keys)}\r\n`;
  const json = `${line}Content-Type: application/json\r\n`;
  return {
    'sends nothing': { head: '' },
    'sends half a request line': { head: 'GET /heal' },
    'sends no end of its headers': { head: line },
    'sends its headers byte by byte': { head: `${line}X-Slow: `, drip: 'x' },
    'sends empty lines': { head: '', drip: '\r\n' },
    'sends no body': { head: `${json}Content-Length: 100\r\n\r\n` },
    'sends half a body': { head: `${json}Content-Length: 100\r\n\r\n{"NOTES":"` },
    'sends its body byte by byte': { head: `${json}Content-Length: 100\r\n\r\n{"NOTES":"`, drip: 'x' },
    'sends chunks without end': { head: `${json}Transfer-Encoding: chunked\r\n\r\n`, drip: '1\r\nx\r\n' },
    'sends slowly after a good request': { head: `${good.toString()}GET /heal`, drip: 'x' },
  };
}

/** Opens a slow connection; gives its last answer and how long it lasted. */
async function beSlow({ head, drip }: { head: string; drip?: string }): Promise<{ status: string; ms: number }> {
  const startedAt = performance.now();
  const socket = openSocket(service.origin);
  const dripping = drip === undefined ? undefined : setInterval(() => socket.writable && socket.write(drip), 500);
  if (head !== '') socket.write(head);
  const answers = await readAnswers(socket, { count: 3 });
  clearInterval(dripping);
  socket.destroy();
  const last = answers.at(-1);
  if (last) contract.check('GET', '/not in the contract', last);
  return { status: `${last?.status} ${last?.body?.code}`, ms: performance.now() - startedAt };
}

suite('side by side', { concurrency: true }, () => {
  test('408 REQUEST_TIMEOUT after 5 s for headers, after 10 s for a request, and no sooner', async () => {
    const ways = Object.entries(slowWays()).flatMap((way) => times(10, () => way));
    const ended = await Promise.all(ways.map(async ([what, way]) => ({ what, ...(await beSlow(way)) })));
    for (const { what, status, ms } of ended) {
      assert.equal(status, '408 REQUEST_TIMEOUT', what);
      assert.ok(ms > NOT_BEFORE_MS && ms < SLOW_MS_MOST, `one that ${what} was closed after ${Math.round(ms)} ms`);
    }
    assert.doesNotMatch(service.output, /INTERNAL_ERROR|"level":50/, 'a slow caller is no fault of the service');
  });

  test('600 connections that wait between requests are kept and answered again', async () => {
    const sockets = await Promise.all(times(IDLE, openIdle));
    const sendOn = async (socket: Socket): Promise<number> => {
      socket.write(good);
      return (await readAnswers(socket))[0]?.status ?? 0;
    };
    const sendOnAll = (): Promise<number[]> => Promise.all(sockets.map(sendOn));
    const all = times(IDLE, () => 200);
    assert.deepEqual(await sendOnAll(), all);
    await sleep(IDLE_MS);
    assert.deepEqual(await sendOnAll(), all);
    for (const socket of sockets) socket.destroy();
  });

  test('200 other callers are answered within a second meanwhile', async () => {
    for (let second = 0; second < 11; second++) {
      const startedAt = performance.now();
      const body = { NOTES: `in second ${second}` };
      const { status } = await service.call(shop.keys, 'PUT', '/orders/create', { body });
      const ms = performance.now() - startedAt;
      assert.equal(status, 200);
      assert.ok(second === 0 || ms < 1000, `second ${second}: ${Math.round(ms)} ms`);
      await sleep(1000);
    }
  });
});

async function openIdle(): Promise<Socket> {
  const socket = openSocket(service.origin);
  await once(socket, 'connect');
  return socket;
}
