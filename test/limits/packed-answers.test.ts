/** Tests that compressing responses needs bounded memory, even if no one reads the responses or callers leave early. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { answeredDuring, asker, firstBytes, memoryOf, sendUnread } from '../kit/attack.ts';
import { times } from '../kit/lists.ts';
import { basicOf } from '../kit/operations.ts';
import { writeRequest } from '../kit/raw-http.ts';
import { Shop } from '../kit/records.ts';
import { BASE_PATH, Service, STORE } from '../kit/service.ts';
import { until } from '../kit/wait.ts';

const CONNECTIONS = 100;
const PIPELINED = 4;
/** Connections whose responses have begun when the reads of the other tenant are sent. */
const BEGUN = 40;
const LINES = 4000;
/** Rounds of callers that leave. Each round asks for 2 GB, several times the allowed memory. */
const ROUNDS = 2;
/** Reads of another tenant, one after the other, while the responses are unread. */
const READS = 20;
/** On PostgreSQL, orders of 5 MB need 350 MiB even without compression, because many are read at once. */
const MEMORY_MIB = STORE === 'postgres' ? 700 : 300;

/** Returns text that no coding makes much shorter, so that most of it waits until the client reads. */
const oddText = (): string => randomBytes(600).toString('base64');

interface Attacked {
  readonly shop: Shop;
  readonly ask: () => Promise<void>;
}

/** Starts a service for one attack, because the peak of a process's memory never falls. */
async function prepare(context: TestContext): Promise<Attacked> {
  const service = await Service.start();
  context.after(() => service.stop());
  const shop = await Shop.open(service, 'busy');
  await shop.load('orders', [{ ORDER_NUMBER: '1' }]);
  await shop.load(
    'lines',
    times(LINES, (index) => ({ ORDER_NUMBER: '1', LINE_NUMBER: `${index + 1}`, DESCRIPTION: oddText() })),
  );
  const other = await service.makeTenant('other');
  const orderNum = (await service.call(other, 'PUT', '/orders/create', { body: {} })).body.data as string;
  // On a busy machine, a call may wait for longer than the service allows. Then it is repeated, as clients do.
  return { shop, ask: asker(service, other, '/orders/single', { orderNum }, { repeats: true }) };
}

/** Opens connections that each ask for an order of 5 MB four times and read nothing. */
function open({ shop }: Attacked, coding: string): Socket[] {
  const lines = [`Authorization: ${basicOf(shop.keys)}`, `Accept-Encoding: ${coding}`];
  const query = writeRequest('GET', `${BASE_PATH}/orders/single?teamID=busy&orderNum=1`, lines);
  const bytes = Buffer.concat(times(PIPELINED, () => query));
  return times(CONNECTIONS, () => sendUnread(shop.service.origin, bytes));
}

/** Checks that others are answered during the attack, that its memory is bounded, and that compression works later. */
async function endure({ shop, ask }: Attacked, coding: string, attack: () => Promise<unknown>): Promise<void> {
  const { pid, origin } = shop.service;
  const idle = memoryOf(pid).now;
  assert.ok((await answeredDuring(ask, attack)) > 0);
  const { peak } = memoryOf(pid);
  assert.ok(peak - idle < MEMORY_MIB, `memory rose from ${idle} to ${peak} MiB`);
  const headers = { authorization: basicOf(shop.keys), 'accept-encoding': coding };
  const url = `${origin}${BASE_PATH}/orders/single?teamID=busy&orderNum=1`;
  await until(async () => {
    const answer = await fetch(url, { headers });
    await answer.arrayBuffer();
    return answer.status === 200 && answer.headers.get('content-encoding') === coding;
  });
}

for (const coding of ['zstd', 'br', 'gzip']) {
  test(`${CONNECTIONS} connections that never read 5 MB in ${coding} cost at most ${MEMORY_MIB} MiB`, async (context) => {
    const attacked = await prepare(context);
    await endure(attacked, coding, async () => {
      const sockets = open(attacked, coding);
      await firstBytes(sockets, BEGUN);
      for (let read = 0; read < READS; read++) await attacked.ask();
      for (const socket of sockets) socket.destroy();
    });
  });

  test(`${CONNECTIONS} callers that leave before 5 MB are in ${coding}, ${ROUNDS} times, cost no more`, async (context) => {
    const attacked = await prepare(context);
    await endure(attacked, coding, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const sockets = open(attacked, coding);
        await firstBytes(sockets, 1);
        for (const socket of sockets) socket.destroy();
      }
    });
  });
}
