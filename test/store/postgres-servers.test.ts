/** Tests which of several PostgreSQL servers a node uses. test/system/failover.test.ts tests a service's failover. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Servers } from '../../src/store/postgres/connection/servers.ts';
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
  const servers = new Servers(url);
  const connection = await servers.find(OPTIONS);
  await connection.close();
  return Number(new URL(servers.url).port);
}

test('of two servers that take writes, a node that starts uses the one that was promoted last', async (context) => {
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
