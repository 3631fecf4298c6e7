/**
 * Kills the service with SIGKILL under mixed load, again and again on one store: nothing acknowledged is lost or
 * changed, no number is given twice, and every answered call is counted. STOREROOM_TEST_KILLS sets how often. Power
 * loss is tested in test/faults; the time of a start is measured in bench/.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { isFromSources } from '../kit/program.ts';
import { ownService, STORE, temporaryFolder } from '../kit/service.ts';
import { HttpClient } from '../kit/http-client.ts';
import { trials } from '../kit/trials.ts';
import { until } from '../kit/wait.ts';
import { MixedLoad } from './mixed-load.ts';

const KILLS = trials('KILLS', { quick: 2, all: 10 });
const CONNECTIONS = trials('CONNECTIONS', { quick: 16, all: 64 });
/** Maximum acknowledged writes before a kill. */
const WRITES_MAX = 300;

const service = await ownService();
const client = await HttpClient.open(service, CONNECTIONS);

test(`${KILLS} kills lose no acknowledged write`, async (context) => {
  const load = await MixedLoad.open(client, service);
  for (let kill = 0; kill < KILLS; kill++) {
    const wanted = load.acknowledged + 1 + Math.floor(Math.random() * WRITES_MAX);
    let killed: Promise<number | null> | undefined;
    await load.run(CONNECTIONS, () => {
      if (load.acknowledged >= wanted) killed ??= service.stop('SIGKILL');
      return service.hasExited;
    });
    assert.equal(await killed, null, 'the service ended before it was killed');
    await service.restart();
    await load.repeatUnanswered();
  }
  await load.check(service);
  context.diagnostic(`${load.acknowledged} acknowledged writes; answers ${JSON.stringify([...load.statuses])}`);
  const others = new Set(load.statuses.keys()).difference(new Set([200, 400]));
  assert.deepEqual(others, new Set(), 'no other answers to good credentials');
});

// The compile cache is the same with every store.
if (STORE === 'sqlite')
  test('the compile cache of a killed service is there for the next start', async () => {
    // The compiled program is one file, and the modules of Node are not in this cache.
    const least = isFromSources ? 100 : 1;
    const cache = temporaryFolder();
    const killed = await ownService({ asShipped: true, env: { NODE_COMPILE_CACHE: cache } });
    // The service writes the cache once it is ready, and does not report that.
    await until(() => readdirSync(cache, { recursive: true }).length >= least);
    assert.equal(await killed.stop('SIGKILL'), null);
  });
