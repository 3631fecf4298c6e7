/**
 * kill -9 of the service under mixed load from 64 connections, again and again over one data folder: nothing acknowledged is lost or changed, no number
 * is given twice, every call answered is counted. STOREROOM_TEST_KILLS sets how often. What kill -9 cannot show (power loss) is in test/faults.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Service } from '../kit/service.ts';
import { HttpClient } from '../kit/http-client.ts';
import { trials } from '../kit/trials.ts';
import { MixedLoad } from './mixed-load.ts';

const KILLS = trials('KILLS', { quick: 2, all: 20 });
const CONNECTIONS = 64;
const READY_MS = 2000;

let service: Service;
let client: HttpClient;
before(async () => {
  service = await Service.start();
  client = await HttpClient.open(service, CONNECTIONS);
});
after(async () => {
  client.close();
  await service.stop();
});

test(`${KILLS} kills lose nothing that was acknowledged`, async (context) => {
  const load = new MixedLoad(client, [await service.makeTenant('one'), await service.makeTenant('two')]);
  const starts: number[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const acknowledged = load.acknowledged;
    const working = load.run(CONNECTIONS, () => service.hasExited);
    // However slow the machine is, a kill hits a service that has begun to acknowledge.
    while (load.acknowledged === acknowledged && !service.hasExited) await sleep(5);
    await sleep(20 + Math.random() * 300);
    assert.equal(await service.stop('SIGKILL'), null, 'the service ended before it was killed');
    await working;
    const begunAt = performance.now();
    await service.restart();
    starts.push(performance.now() - begunAt);
    await load.repeatUnanswered();
  }
  await load.check(service);
  context.diagnostic(`${load.acknowledged} acknowledged writes; answers ${JSON.stringify([...load.statuses])}`);
  assert.deepEqual(new Set(load.statuses.keys()), new Set([200, 400]), 'only these are answers to good credentials');
  const median = starts.toSorted((a, b) => a - b)[Math.floor(starts.length / 2)]!;
  context.diagnostic(`ready again after ${median.toFixed(0)} ms (median)`);
  assert.ok(median <= READY_MS, `ready again only after ${median} ms`);
});
