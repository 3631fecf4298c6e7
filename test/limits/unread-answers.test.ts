/** Tests that responses that no one reads need a bounded amount of memory and do not delay other calls. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asker, firstBytes, memoryOf, sendUnread } from '../kit/attack.ts';
import { times } from '../kit/lists.ts';
import { basicOf } from '../kit/operations.ts';
import { writeRequest } from '../kit/raw-http.ts';
import { Shop, WIDE_CUSTOMER } from '../kit/records.ts';
import { BASE_PATH, ownService } from '../kit/service.ts';

const CONNECTIONS = 10;
const PIPELINED = 100;
const QUERIES = 500;
/** Reads of another tenant, one after the other, while the responses are unread. */
const READS = 200;
const MEMORY_MIB = 100;

test('a static file requested 1,000 times and never read costs at most 100 MiB, and others are served', async () => {
  const service = await ownService();
  const keys = await service.makeTenant('other');
  const { body } = await service.call(keys, 'PUT', '/orders/create', { body: {} });
  // The first request makes the service prepare the file, once for all later requests.
  await (await fetch(`${service.origin}/docs/js/scalar.js`)).arrayBuffer();
  const idle = memoryOf(service.pid).now;
  const bytes = 'GET /docs/js/scalar.js HTTP/1.1\r\nHost: storeroom\r\n\r\n'.repeat(PIPELINED);
  const sockets = Array.from({ length: CONNECTIONS }, () => sendUnread(service.origin, bytes));
  await firstBytes(sockets);
  const ask = asker(service, keys, '/orders/single', { orderNum: body.data as string });
  for (let read = 0; read < READS; read++) await ask();
  assert.ok(sockets.every(({ destroyed }) => !destroyed));
  for (const socket of sockets) socket.destroy();
  const { peak } = memoryOf(service.pid);
  assert.ok(peak - idle < MEMORY_MIB, `memory rose from ${idle} to ${peak} MiB`);
});

test('500 queries of one connection whose pages of 4 MiB are never read cost at most 100 MiB', async () => {
  const service = await ownService();
  const shop = await Shop.open(service, 'busy');
  await shop.load(
    'customers',
    times(40, (index) => ({ CUSTOMER_CODE: `${index}`, ...WIDE_CUSTOMER })),
  );
  const lines = [`Authorization: ${basicOf(shop.keys)}`, 'Content-Type: application/json'];
  const query = writeRequest('POST', `${BASE_PATH}/customers/query?teamID=busy`, lines, '[]');
  const other = await service.makeTenant('other');
  const orderNum = (await service.call(other, 'PUT', '/orders/create', { body: {} })).body.data as string;
  const idle = memoryOf(service.pid).now;
  const socket = sendUnread(service.origin, Buffer.concat(times(QUERIES, () => query)));
  await firstBytes([socket]);
  const ask = asker(service, other, '/orders/single', { orderNum });
  for (let read = 0; read < READS; read++) await ask();
  assert.ok(!socket.destroyed);
  socket.destroy();
  const { peak } = memoryOf(service.pid);
  assert.ok(peak - idle < MEMORY_MIB, `memory rose from ${idle} to ${peak} MiB`);
});
