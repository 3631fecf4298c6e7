/** Tests that the service accepts fewer calls at a time while its event loop is late, and the usual number after it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendTogether } from '../kit/attack.ts';
import { times } from '../kit/lists.ts';
import { readMetrics, sumOf } from '../kit/metrics.ts';
import { basicOf } from '../kit/operations.ts';
import { openSocket, readAnswers, writeRequest } from '../kit/raw-http.ts';
import { BASE_PATH, ownService } from '../kit/service.ts';

/** Enough tenants that none of them has as many calls in flight as one may have. */
const TENANTS = 6;
/** Calls at once: fewer than the default limit, and more than the limit of a late loop. */
const CALLS = 600;
const CALLS_MAX = 1024;
const LEAST = 256;
/** Interval at which the service checks whether the loop is late. A check may be `LATE_MS` late. */
const LOOK_MS = 100;
const LATE_MS = 200;

const service = await ownService();
const limit = async (): Promise<number> =>
  sumOf((await readMetrics(service)).samples, 'storeroom_requests_in_flight_limit')!;

test('a loop late by over 200 ms admits a fifth fewer calls, down to 256, and more again once punctual', async () => {
  await service.stand();
  assert.equal(await limit(), CALLS_MAX);
  // The first check is due within LOOK_MS, so the first hold is longer. Each later check is due LOOK_MS after the last.
  await service.hold(LOOK_MS + LATE_MS + LOOK_MS);
  assert.equal(await limit(), 819);
  await service.hold(LOOK_MS + LATE_MS);
  assert.equal(await limit(), 870, 'as late as it may be');
  await service.hold(LOOK_MS + LATE_MS + 1);
  assert.equal(await limit(), 696);
  for (const expected of [557, 446, 357, 286, LEAST, LEAST]) {
    await service.hold(LOOK_MS + LATE_MS + 1);
    assert.equal(await limit(), expected);
  }
  await service.move(LOOK_MS - 1);
  assert.equal(await limit(), LEAST);
  await service.move(1);
  assert.equal(await limit(), 307);
  await service.move(15 * LOOK_MS);
  assert.equal(await limit(), CALLS_MAX);
});

test('503 for some of 600 calls at once while it is late, and for none when it is punctual', async () => {
  const requests: Buffer[] = [];
  for (const teamID of times(TENANTS, (index) => `shop-${index}`)) {
    const headers = [`Authorization: ${basicOf(await service.makeTenant(teamID))}`, 'Content-Type: application/json'];
    requests.push(writeRequest('PUT', `${BASE_PATH}/orders/create?teamID=${teamID}`, headers, '{}'));
  }
  const sockets = times(CALLS, () => openSocket(service.origin));
  /** Sends all calls so that the process finds them at once. Returns the number of calls by status. */
  const callAll = async (): Promise<Record<number, number>> => {
    const answering = sockets.map((socket) => readAnswers(socket));
    await sendTogether(
      service,
      sockets.map((socket, index) => [socket, requests[index % TENANTS]!]),
    );
    const statuses: Record<number, number> = {};
    for (const [answer] of await Promise.all(answering)) statuses[answer!.status] = (statuses[answer!.status] ?? 0) + 1;
    return statuses;
  };
  await service.stand();
  assert.deepEqual(await callAll(), { 200: CALLS });

  for (let look = 0; look < 10; look++) await service.hold(LOOK_MS + LATE_MS + LOOK_MS);
  const { 200: taken = 0, 503: refused = 0, ...others } = await callAll();
  assert.deepEqual(others, {});
  assert.ok(taken >= LEAST && refused > 0, `${taken} taken, ${refused} refused`);
  assert.equal(sumOf((await readMetrics(service)).samples, 'storeroom_overload_refusals_total'), refused);

  await service.move(20 * LOOK_MS);
  assert.deepEqual(await callAll(), { 200: CALLS });
  for (const socket of sockets) socket.destroy();
});
