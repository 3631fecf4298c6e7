/** Tests the limits on calls in flight and on the bytes of responses that clients do not read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendUnread } from '../kit/attack.ts';
import { times } from '../kit/lists.ts';
import { readMetrics, sumOf } from '../kit/metrics.ts';
import { basicOf } from '../kit/operations.ts';
import { expectRefusal, Shop, WIDE_CUSTOMER } from '../kit/records.ts';
import { writeRequest } from '../kit/raw-http.ts';
import { BASE_PATH, ownService, type Answer } from '../kit/service.ts';
import { until } from '../kit/wait.ts';

const MIB = 1024 * 1024;
const LINE_MS = 1000;

test('503 SERVICE_BUSY beyond the calls in flight, counted and logged once a second; health responds', async () => {
  const service = await ownService({ env: { STOREROOM_IN_FLIGHT_MAX: '2' } });
  const keys = await service.makeTenant('shop');
  await service.stand();
  const callMany = async (): Promise<Answer[]> => {
    const calling = times(100, () => service.call(keys, 'PUT', '/orders/create', { body: {} }));
    for (let look = 0; look < 10; look++) assert.equal((await fetch(`${service.origin}/healthz`)).status, 200);
    return Promise.all(calling);
  };
  const refusedOf = (answers: readonly Answer[]): Answer[] => answers.filter(({ status }) => status === 503);
  const logged = (): number[] =>
    service.output
      .split('\n')
      .filter((line) => line.includes('SERVICE_BUSY'))
      .map((line) => (JSON.parse(line) as { refused: number }).refused);

  const answers = await callMany();
  const refused = refusedOf(answers);
  assert.ok(refused.length > 0 && refused.length < answers.length, `${refused.length} refused`);
  for (const { body, headers } of refused)
    assert.deepEqual([body.code, headers.get('retry-after')], ['SERVICE_BUSY', '1']);
  assert.equal(await service.usageOf('shop'), answers.length - refused.length, 'refusals are not counted');
  const { samples } = await readMetrics(service);
  assert.equal(sumOf(samples, 'storeroom_overload_refusals_total'), refused.length);
  assert.equal(sumOf(samples, 'storeroom_requests_total', { status: '503' }), refused.length);

  await service.move(LINE_MS - 1);
  const inTheSameSecond = refusedOf(await callMany());
  assert.deepEqual(logged(), []);
  await service.move(1);
  await service.said(() => logged().length > 0);
  const counts = [refused.length + inTheSameSecond.length];
  assert.deepEqual(logged(), counts);
  counts.push(refusedOf(await callMany()).length);
  await service.move(LINE_MS);
  await service.said(() => logged().length > 1);
  assert.deepEqual(logged(), counts);
});

test('429 TOO_MANY_QUERIES while the tenant has unread responses; another tenant is served', async () => {
  const service = await ownService({ env: { STOREROOM_TRAFFIC_BYTES_MAX: String(8 * MIB) } });
  const [busy, other] = [await Shop.open(service, 'busy'), await Shop.open(service, 'other')];
  await busy.load(
    'customers',
    times(40, (index) => ({ CUSTOMER_CODE: `${index}`, ...WIDE_CUSTOMER })),
  );
  await other.load('customers', [{ CUSTOMER_CODE: '1' }]);
  const lines = [`Authorization: ${basicOf(busy.keys)}`, 'Content-Type: application/json'];
  const query = writeRequest('POST', `${BASE_PATH}/customers/query?teamID=busy`, lines, '[]');
  const sockets = times(2, () => sendUnread(service.origin, Buffer.concat(times(10, () => query))));
  const told = (expected: string): Promise<void> =>
    until(async () => {
      const { status, body } = await busy.queryCustomers([]);
      return `${status} ${body.code ?? ''}`.trim() === expected;
    });
  await told('429 TOO_MANY_QUERIES');
  assert.equal((await other.queryCustomers([])).status, 200);
  assert.equal((await busy.createOrder({})).status, 200, 'writes continue');
  for (const socket of sockets) socket.destroy();
  await told('200');
});

test('429 TOO_MANY_QUERIES has no ETag for a record that was read but finds no room', async () => {
  const load = (shop: Shop): Promise<void> =>
    shop.load(
      'customers',
      times(20, (index) => ({ CUSTOMER_CODE: `${index}`, ...WIDE_CUSTOMER })),
    );
  const before = await Shop.shared('alike');
  await load(before);
  const [page, one] = [await before.queryCustomers([]), await before.getCustomer('7')];
  assert.ok(one.headers.has('etag'));
  // The tenant may use half of these bytes: a page and half a record.
  const most = 2 * page.text.length + one.text.length;
  const service = await ownService({ env: { STOREROOM_TRAFFIC_BYTES_MAX: String(most) } });
  const shop = await Shop.open(service, 'alike');
  await load(shop);
  const lines = [`Authorization: ${basicOf(shop.keys)}`, 'Content-Type: application/json'];
  const query = writeRequest('POST', `${BASE_PATH}/customers/query?teamID=alike`, lines, '[]');
  const socket = sendUnread(service.origin, Buffer.concat(times(10, () => query)));
  let refused = await shop.getCustomer('7');
  while (refused.status === 200) refused = await shop.getCustomer('7');
  expectRefusal(refused, 429, 'TOO_MANY_QUERIES');
  assert.equal(refused.headers.get('etag'), null);
  socket.destroy();
});
