/** Tests which of several PostgreSQL servers a node uses. test/system/failover.test.ts tests a service's failover. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeServers } from '../../src/store/postgres/connection/servers.ts';
import type { ServerConnections } from '../../src/store/postgres/connection/server-connections.ts';
import { makeWorkers } from '../../src/store/postgres/workers.ts';
import { PostgresPair } from '../kit/postgres-pair.ts';
import { TestClock } from '../kit/clock.ts';

/** The clock stands still, so that a search waits for every server. */
const OPTIONS = {
  name: 'storeroom test',
  session: {},
  silenceMs: 5000,
  connectTimeoutMs: 5000,
  clock: new TestClock(),
};

/** Returns the port of the server that a node chooses at its start. */
async function findPrimary(url: string): Promise<number> {
  const servers = makeServers(url);
  const connection = await servers.findPrimary(OPTIONS);
  await connection.close();
  return Number(new URL(servers.url).port);
}

test('if two servers accept writes, a node that starts uses the one that was promoted last', async (context) => {
  const pair = await PostgresPair.start({ isSynchronous: false });
  context.after(() => pair.remove());
  const old = pair.primary.port;
  assert.equal(await findPrimary(pair.url), old, 'a standby takes no writes');
  await pair.primary.kill();
  await pair.promote();
  // The old primary restarts, and does not know of the promotion.
  await pair.standby.restart();
  assert.equal(pair.standby.port, old);
  assert.equal(await findPrimary(pair.url), pair.primary.port);
});

test('with Citus, a server that could not be reached is used once it answers, and is reported once', async () => {
  const standIn = (answer: () => unknown[][]) =>
    ({ readers: [{ askRows: async () => answer() }], close: async () => undefined }) as unknown as ServerConnections;
  const coordinator = standIn(() => [['pims_1', 'worker:5432']]);
  let isUp = false;
  const worker = standIn(() => {
    if (isUp) return [[1]];
    throw new Error('connection refused');
  });
  const placed: string[] = [];
  const reports: string[] = [];
  const workers = makeWorkers({
    coordinator,
    connect: () => worker,
    listTenants: () => ['pims_1'],
    onPlaced: (_storeId, server) => placed.push(server === worker ? 'worker' : 'coordinator'),
    report: (event) => reports.push(event),
    clock: new TestClock(),
  });
  const listed: number[] = [];
  for (const up of [false, false, true]) {
    isUp = up;
    await workers.place(['pims_1']);
    listed.push(workers.listConnected().length);
  }
  assert.deepEqual([placed, reports.length, listed], [['coordinator', 'coordinator', 'worker'], 1, [0, 0, 1]]);
  await workers.close();
});
