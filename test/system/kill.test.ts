/**
 * kill -9 of the service under mixed load, again and again over one store: nothing acknowledged is
 * lost or changed, no number is given twice, every call answered is counted. STOREROOM_TEST_KILLS sets how often. Power
 * loss is in test/faults, the time of a start in bench/.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isFromSources } from '../kit/program.ts';
import { ownService, temporaryFolder } from '../kit/service.ts';
import { HttpClient } from '../kit/http-client.ts';
import { trials } from '../kit/trials.ts';
import { MixedLoad } from './mixed-load.ts';

const KILLS = trials('KILLS', { quick: 2, all: 20 });
const CONNECTIONS = trials('CONNECTIONS', { quick: 16, all: 64 });

const service = await ownService();
const client = await HttpClient.open(service, CONNECTIONS);

test(`${KILLS} kills lose nothing that was acknowledged`, async (context) => {
  const load = await MixedLoad.open(client, service);
  for (let kill = 0; kill < KILLS; kill++) {
    const acknowledged = load.acknowledged;
    const working = load.run(CONNECTIONS, () => service.hasExited);
    // However slow the machine is, a kill hits a service that has begun to acknowledge.
    while (load.acknowledged === acknowledged && !service.hasExited) await sleep(5);
    await sleep(20 + Math.random() * 300);
    assert.equal(await service.stop('SIGKILL'), null, 'the service ended before it was killed');
    await working;
    await service.restart();
    await load.repeatUnanswered();
  }
  await load.check(service);
  context.diagnostic(`${load.acknowledged} acknowledged writes; answers ${JSON.stringify([...load.statuses])}`);
  const others = new Set(load.statuses.keys()).difference(new Set([200, 400]));
  assert.deepEqual(others, new Set(), 'no other answers to good credentials');
});

test('what a service that is killed has compiled is there for the next start', async () => {
  // The compiled program is one file; all of Node's own are elsewhere.
  const least = isFromSources ? 100 : 1;
  const cache = temporaryFolder();
  const killed = await ownService({ env: { NODE_COMPILE_CACHE: cache } });
  const countFiles = (): number => readdirSync(cache, { recursive: true }).length;
  // It writes them once it is ready, so not before it has said so.
  for (let waits = 0; countFiles() < least && waits < 100; waits++) await sleep(50);
  await killed.stop('SIGKILL');
  assert.ok(countFiles() >= least, `${countFiles()} files`);
});
