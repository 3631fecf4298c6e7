/**
 * Proves the rule of losePower() in lossy-disk.ts: compares when each write was answered, when the fsync of its commit
 * group returned, and when the file system was shut down (sync-trace.ts). Each tenant makes one call at a time, so a
 * group is one write. Part of `npm run test:faults`; needs strace.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { HttpClient, NoAnswer } from '../kit/http-client.ts';
import { times } from '../kit/lists.ts';
import { Service, type Keys } from '../kit/service.ts';
import { untilAnswered, untilSomeAnswers } from './load-moments.ts';
import { LossyDisk, runTool } from './lossy-disk.ts';
import { traceSyncs, type SyncTrace } from './sync-trace.ts';

const LOSSES = Number(process.env['STOREROOM_TEST_ORDERED_LOSSES'] ?? 40);
const TENANTS = 16;
/** Minimum number of writes before a loss. Then the test waits for a random number of further answers. */
const ANSWERS_LEAST = 2 * TENANTS;
const ANSWERS_MORE_MAX = 4 * TENANTS;

interface Write {
  readonly team: string;
  readonly token: string;
  /** Whether its success was read. */
  isAnswered: boolean;
}

let disk: LossyDisk;
let service: Service;
let client: HttpClient;
const teams: Keys[] = [];
before(async () => {
  runTool('strace', '-V');
  disk = new LossyDisk();
  service = await Service.start({ dataFolder: disk.folder });
  client = await HttpClient.open(service, TENANTS);
  for (const index of times(TENANTS, (place) => place)) teams.push(await service.makeTenant(`team${index}`));
});
after(async () => {
  await service?.stop('SIGKILL');
  disk?.remove();
});

test(`${LOSSES} losses: no response is lost whose fsync returned before the shutdown began`, async (context) => {
  const sums = new Map<string, number>();
  for (let loss = 0; loss < LOSSES; loss++) {
    const trace = await traceSyncs(service.pid, disk.switchPid);
    const writes: Write[] = [];
    const working = Promise.all(teams.map((keys) => write(keys, writes, `${loss}`))).then(() => undefined);
    await untilAnswered(client, working, () => writes.length > ANSWERS_LEAST);
    await untilSomeAnswers(client, working, ANSWERS_MORE_MAX);
    await disk.losePower();
    await working;
    const syncs = await trace.end(); // the service ends by itself
    disk.restorePower();
    await service.restart();
    for (const { order, answer, fate } of await judge(writes, syncs)) {
      const key = `fsync returned ${order}; ${answer}; ${fate}`;
      sums.set(key, (sums.get(key) ?? 0) + 1);
    }
  }
  for (const key of [...sums.keys()].toSorted()) context.diagnostic(`${sums.get(key)} writes: ${key}`);
  const countOf = (pattern: RegExp): number =>
    sums.entries().reduce((sum, [key, count]) => sum + (pattern.test(key) ? count : 0), 0);
  assert.ok(
    countOf(/^fsync returned before .*; answered; found$/) > LOSSES * TENANTS,
    'too few writes to tell anything',
  );
  assert.equal(countOf(/^fsync returned before .*; answered; lost$/), 0);
  assert.equal(countOf(/^fsync returned as a failure.*; answered/), 0, 'answered without a good fsync');
});

/** Makes orders, one at a time, until one fails. */
async function write(keys: Keys, writes: Write[], mark: string): Promise<void> {
  for (let count = 0; ; count++) {
    const token = `#${keys.teamID}-${mark}-${count}`;
    const one: Write = { team: keys.teamID, token, isAnswered: false };
    writes.push(one);
    try {
      const { status } = await client.call(keys, 'PUT', '/orders/create', { body: { REFERENCE_NUMBER: token } });
      if (status !== 200) return;
      one.isAnswered = true;
    } catch (fault) {
      if (!(fault instanceof NoAnswer)) throw fault;
      return;
    }
  }
}

/** Compares the writes with their fsyncs and with the records that are there now. */
async function judge(writes: readonly Write[], syncs: SyncTrace) {
  const found = new Set<string>();
  for (const { teamID } of teams) {
    const { records } = (await service.command('export', teamID, 'orders', '--json')).json() as {
      records: { REFERENCE_NUMBER: string }[];
    };
    for (const { REFERENCE_NUMBER } of records) found.add(REFERENCE_NUMBER);
  }
  const fileOf = fileNames();
  return writes.map(({ team, token, isAnswered }) => ({
    order: syncs.orderOf(token, fileOf.get(team)!),
    answer: isAnswered ? 'answered' : 'not answered',
    fate: found.has(token) ? 'found' : 'lost',
  }));
}

/** Returns the path of the log of each tenant's file, by team. */
function fileNames(): Map<string, string> {
  const db = new DatabaseSync(join(disk.folder, 'control.db'), { readOnly: true });
  const rows = db.prepare('SELECT TEAM_ID, STORE_ID FROM TENANTS').all() as { TEAM_ID: string; STORE_ID: string }[];
  db.close();
  return new Map(rows.map(({ TEAM_ID, STORE_ID }) => [TEAM_ID, join(disk.folder, 'tenants', `${STORE_ID}.db-wal`)]));
}
