/**
 * Cuts the power of the database server's disk again and again under mixed load, while the service keeps running: every
 * acknowledged write and every counted call is there afterwards. STOREROOM_TEST_DATABASE_POWER_LOSSES sets how often.
 * Part of `npm run test:faults`.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { HttpClient } from '../kit/http-client.ts';
import { PostgresServer } from '../kit/postgres.ts';
import { Service } from '../kit/service.ts';
import { MixedLoad } from '../system/mixed-load.ts';
import { untilAnswered, untilSomeAnswers } from './load-moments.ts';
import { LossyDisk } from './lossy-disk.ts';

const LOSSES = Number(process.env['STOREROOM_TEST_DATABASE_POWER_LOSSES'] ?? 30);
const CONNECTIONS = 64;
/** Maximum answers from the first write to the loss. */
const ANSWERS_MAX = 500;
/** Settings with checkpoints so frequent that a loss can interrupt one. */
const SETTINGS = { checkpoint_timeout: '30s', max_wal_size: '64MB' };

let disk: LossyDisk;
let server: PostgresServer;
let service: Service;
let client: HttpClient;
before(async () => {
  disk = new LossyDisk();
  server = await PostgresServer.start({ parentFolder: disk.openToAll(), settings: SETTINGS });
  service = await Service.start({ databaseUrl: await server.newDatabase() });
  client = await HttpClient.open(service, CONNECTIONS);
});
after(async () => {
  await service?.stop('SIGKILL');
  await server?.remove();
  disk?.remove();
});

const isHealthy = async (): Promise<boolean> => (await fetch(`${service.origin}/healthz`)).ok;
/** Waits until the service has printed a line this many times. */
const said = (line: string, times: number): Promise<void> =>
  service.said((output) => output.split(line).length > times);

test(`${LOSSES} power losses of PostgreSQL lose nothing that was acknowledged or counted`, async (context) => {
  const load = await MixedLoad.open(client, service);
  let isOver = false;
  // Ends the load of a failed round too, which would otherwise keep this process running forever.
  context.after(() => void (isOver = true));
  for (let loss = 0; loss < LOSSES; loss++) {
    isOver = false;
    const { acknowledged } = load;
    const working = load.run(CONNECTIONS, () => isOver);
    await untilAnswered(client, working, () => load.acknowledged > acknowledged);
    await untilSomeAnswers(client, working, ANSWERS_MAX);
    // After a real power cut, no one would receive the answers from here on: see lossy-disk.ts.
    load.ignoresAnswers = true;
    await disk.losePower();
    // PostgreSQL ends by itself when its log fails, and the service notices that.
    await said('The database is unavailable', loss + 1);
    assert.equal(await isHealthy(), false);
    isOver = true;
    await working;
    load.ignoresAnswers = false;
    await server.killOnLostDisk();
    disk.restorePower();
    await server.restart();
    await said('The database is back', loss + 1);
    assert.equal(await isHealthy(), true);
    await load.check(service);
    await load.repeatUnanswered();
  }
  await load.check(service);
  context.diagnostic(`${load.acknowledged} acknowledged writes; answers ${JSON.stringify([...load.statuses])}`);
});
