/** Tests what ends after some time: refusals because of a rate or a quota, and the drain before a stop. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { basicOf } from '../kit/operations.ts';
import { createOrder } from '../kit/orders.ts';
import { openSocket, readAnswers, writeRequest } from '../kit/raw-http.ts';
import { expectRefusal } from '../kit/records.ts';
import { BASE_PATH, ownService, Service, type Answer, type Keys } from '../kit/service.ts';
import { until } from '../kit/wait.ts';

const DAY_MS = 86_400_000;
const DRAIN_MS = 60_000;
/** Time that calls in flight get after the drain. */
const IN_FLIGHT_MS = 10_000;
const service = await ownService();

const list = (keys: Keys): Promise<Answer> => service.call(keys, 'POST', '/orders/query', { body: [] });

test('429 RATE_LIMITED until the seconds of Retry-After have passed', async () => {
  const keys = await service.makeTenant('rate', '--rate', '0.001');
  await service.stand();
  assert.equal((await list(keys)).status, 200);
  const refused = await list(keys);
  expectRefusal(refused, 429, 'RATE_LIMITED');
  assert.equal(refused.headers.get('retry-after'), '1000');
  await service.move(999_999);
  expectRefusal(await list(keys), 429, 'RATE_LIMITED');
  await service.move(1);
  assert.equal((await list(keys)).status, 200);
  expectRefusal(await list(keys), 429, 'RATE_LIMITED');
  await service.pass();
});

test('429 QUOTA_EXCEEDED until the next month begins, which has the whole quota again', async () => {
  const keys = await service.makeTenant('quota', '--quota', '1');
  const month = service.timeAt().slice(0, 7);
  assert.equal((await list(keys)).status, 200);
  await service.stop();
  while (service.timeAt(DAY_MS).startsWith(month)) await service.move(DAY_MS);
  await service.restart();
  expectRefusal(await list(keys), 429, 'QUOTA_EXCEEDED');
  await service.stop();
  await service.move(DAY_MS);
  await service.restart();
  const answer = await list(keys);
  assert.deepEqual([answer.status, answer.headers.get('x-month-requests')], [200, '1']);
  expectRefusal(await list(keys), 429, 'QUOTA_EXCEEDED');
});

test('503 /readyz, and 200 /healthz, while the service drains before it stops', async (context) => {
  const draining = await Service.start({ env: { STOREROOM_DRAIN_MS: String(DRAIN_MS) } });
  context.after(() => draining.stop('SIGKILL'));
  await draining.stand();
  process.kill(draining.pid, 'SIGTERM');
  await draining.said((output) => output.includes('Stopping'));
  const ask = (path: string): Promise<Response> => fetch(draining.origin + path);
  const isDraining = async (): Promise<void> => {
    const response = await ask('/readyz');
    assert.deepEqual([response.status, await response.json()], [503, { status: 'unavailable' }]);
    assert.equal(response.headers.get('connection'), 'close');
    assert.equal((await ask('/healthz')).status, 200);
  };
  await isDraining();
  await draining.move(DRAIN_MS - 1);
  await isDraining();
  await draining.move(1);
  await until(() => draining.hasExited);
  assert.equal(await draining.stop(), 0);
});

test('a call that is in flight when the drain ends has ten more seconds', async (context) => {
  const draining = await Service.start({ env: { STOREROOM_DRAIN_MS: String(DRAIN_MS) } });
  context.after(() => draining.stop('SIGKILL'));
  const keys = await draining.makeTenant('shop');
  const stopped = draining.stop();
  await draining.said((output) => output.includes('Stopping'));
  assert.equal((await createOrder(draining, keys)).status, 200);
  const headers = [`Authorization: ${basicOf(keys)}`, 'Content-Type: application/json', 'Content-Length: 2'].concat(
    'Expect: 100-continue',
  );
  /** Begins a call that waits for its body. */
  const begin = async () => {
    const socket = openSocket(draining.origin);
    const answers = readAnswers(socket);
    socket.write(writeRequest('PUT', `${BASE_PATH}/orders/create?teamID=shop`, headers));
    await once(socket, 'data');
    return { socket, answers };
  };
  const [slow, endless] = [await begin(), await begin()];
  await draining.move(DRAIN_MS);
  slow.socket.write('{}');
  assert.deepEqual(
    (await slow.answers).map(({ status }) => status),
    [200],
  );
  await draining.move(IN_FLIGHT_MS);
  assert.equal(await stopped, 0);
  assert.deepEqual(await endless.answers, []);
});
