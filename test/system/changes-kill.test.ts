/**
 * Readers follow the change feed while many connections write, imports and commands run, and the service is killed.
 * With PostgreSQL, three nodes run, and the server is killed too. STOREROOM_TEST_CHANGE_KILLS sets how often.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { HttpClient } from '../kit/http-client.ts';
import { times } from '../kit/lists.ts';
import { PostgresServer } from '../kit/postgres.ts';
import { Service, STORE, temporaryFolder, type Keys } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';
import { compareFollowers, Follower, type FollowBy } from './followers.ts';
import { MixedLoad } from './mixed-load.ts';

const KILLS = trials('CHANGE_KILLS', { quick: 2, all: 8 });
const CONNECTIONS = trials('CONNECTIONS', { quick: 16, all: 64 });
const WRITES_MAX = 100;
const IMPORTED = 20;
const WAYS: readonly FollowBy[] = ['pages', 'wait', 'restarts'];

const server = STORE === 'postgres' ? await PostgresServer.start() : undefined;
const place = server ? await server.newDatabase() : temporaryFolder();
const nodes = await Service.startAll(server ? 3 : 1, { place });
after(async () => {
  await Promise.all(nodes.map((node) => node.stop('SIGKILL')));
  await server?.remove();
});
const client = await HttpClient.open(nodes, CONNECTIONS + 2 * WAYS.length);

async function fail(): Promise<void> {
  if (server && Math.random() < 0.3) {
    await server.stop('immediate');
    await server.restart();
    return;
  }
  const node = nodes[Math.floor(Math.random() * nodes.length)]!;
  assert.equal(await node.stop('SIGKILL'), null, 'a node ended before it was killed');
  await node.restart();
}

/** Imports orders and approves one, again and again until `isOver`. Returns the numbers of acknowledged orders. */
async function runCommands({ teamID }: Keys, isOver: () => boolean): Promise<string[]> {
  const acknowledged: string[] = [];
  const file = join(temporaryFolder(), 'orders.csv');
  for (let round = 1; !isOver(); round++) {
    const numbers = times(IMPORTED, (at) => String(round * 1000 + at));
    writeFileSync(file, ['ORDER_NUMBER,ORDER_TYPE', ...numbers.map((number) => `${number},quote`), ''].join('\n'));
    const partial = round % 2 === 0 ? [] : ['--partial'];
    const { code } = await nodes[0]!.command('import', teamID, 'orders', file, ...partial);
    if (code !== 0) continue;
    acknowledged.push(...numbers);
    await nodes[0]!.command('order', 'approve', teamID, numbers[0]!);
  }
  return acknowledged;
}

// Holds S6.24.
test(`readers see each change once and in order beside ${KILLS} kills, and their copies are exact`, async (context) => {
  const [one, two, commanded] = [
    await nodes[0]!.makeTenant('one'),
    await nodes[0]!.makeTenant('two'),
    await nodes[0]!.makeTenant('three'),
  ];
  const load = new MixedLoad(client, [one, two]);
  const followed = [one, commanded].map((keys) => ({ keys, all: WAYS.map((by) => new Follower(client, keys, by)) }));
  let isOver = false;
  const writing = load.run(CONNECTIONS, () => isOver).finally(() => (isOver = true));
  const commanding = runCommands(commanded, () => isOver);
  const failing = (async (): Promise<void> => {
    for (let kill = 0; kill < KILLS; kill++) {
      if (isOver) return; // an answer was wrong
      await load.acknowledges(1 + Math.floor(Math.random() * WRITES_MAX));
      await fail();
    }
    await load.acknowledges(CONNECTIONS);
  })().finally(() => (isOver = true));
  let isWritten = false;
  const following = Promise.all(followed.flatMap(({ all }) => all.map((follower) => follower.run(() => isWritten))));
  const [, , acknowledged] = await Promise.all([writing, failing, commanding]);
  await load.repeatUnanswered();
  isWritten = true;
  await following;
  for (const { keys, all } of followed) await compareFollowers(nodes[0]!, keys, all);
  const imported = followed[1]!.all[0]!.seen.join('\n');
  for (const number of acknowledged) assert.ok(imported.includes(`: orders ${number} created`), number);
  const changes = followed.map(({ all }) => all[0]!.seen.length).join(' and ');
  context.diagnostic(`${load.acknowledged} acknowledged writes, ${acknowledged.length} imported; ${changes} changes`);
});
