/** Moves tenants in use between servers with Citus: nothing acknowledged is lost, doubled or miscounted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HttpClient } from '../kit/http-client.ts';
import { ownService } from '../kit/service.ts';
import { MixedLoad } from '../system/mixed-load.ts';

const MOVES = 12;
const CONNECTIONS = 16;

const service = await ownService();
const ask = async (...words: string[]) => {
  const { code, stderr, json } = await service.command(...words, '--json');
  assert.equal(code, 0, stderr);
  return json();
};

interface Server {
  readonly address: string;
  readonly takesTenants: boolean;
  readonly tenants: number;
}

test('each tenant is on one of the servers that accept tenants, as the commands show', async () => {
  for (const team of ['red', 'green', 'blue']) await service.makeTenant(team);
  const { servers } = (await ask('database', 'list')) as { servers: Server[] };
  const taking = servers.filter(({ takesTenants }) => takesTenants);
  assert.ok(taking.length >= 2, 'a coordinator and at least two workers');
  assert.equal(
    servers.reduce((sum, { tenants }) => sum + tenants, 0),
    taking.reduce((sum, { tenants }) => sum + tenants, 0),
  );
  for (const team of ['red', 'green', 'blue']) {
    const { server } = await ask('tenant', 'place', team);
    assert.ok(taking.some(({ address }) => address === server));
  }
});

test('a tenant can be moved to an existing server only', async () => {
  const { servers } = (await ask('database', 'list')) as { servers: Server[] };
  const { code, stderr } = await service.command('tenant', 'move', 'red', '--to', '127.0.0.1:1');
  assert.equal(code, 1);
  assert.match(stderr, /There is no server '127\.0\.0\.1:1'\. Tenants can be on 127\.0\.0\.1:\d+, 127/);
  const { server: from } = await ask('tenant', 'place', 'red');
  const { address: to } = servers.find(({ address, takesTenants }) => takesTenants && address !== from)!;
  assert.deepEqual(await ask('tenant', 'move', 'red', '--to', to), { teamID: 'red', from, to });
  assert.deepEqual(await ask('tenant', 'place', 'red'), { teamID: 'red', server: to });
  assert.deepEqual(await ask('tenant', 'move', 'red', '--to', to), { teamID: 'red', from: to, to });
  const { records } = await ask('audit', 'list', 'red');
  assert.equal(records.filter(({ action }: { action: string }) => action === 'tenant moved').length, 1);
});

test(`${MOVES} moves under load lose and double nothing`, async (context) => {
  const client = await HttpClient.open(service, CONNECTIONS);
  const load = await MixedLoad.open(client, service);
  const { servers } = (await ask('database', 'list')) as { servers: Server[] };
  const addresses = servers.filter(({ takesTenants }) => takesTenants).map(({ address }) => address);
  const { tenants } = (await ask('tenant', 'list')) as { tenants: { teamID: string }[] };
  let isOver = false;
  const moving = (async () => {
    for (let move = 0; move < MOVES; move++) {
      const { teamID } = tenants[move % tenants.length]!;
      const { server } = await ask('tenant', 'place', teamID);
      await ask('tenant', 'move', teamID, '--to', addresses[(addresses.indexOf(server) + 1) % addresses.length]!);
    }
  })().finally(() => (isOver = true));
  await load.run(CONNECTIONS, () => isOver);
  await moving;
  await load.repeatUnanswered();
  await load.check(service);
  const others = new Set(load.statuses.keys()).difference(new Set([200, 400, '503 SERVICE_BUSY']));
  assert.deepEqual(others, new Set(), 'no caller got a fault');
  context.diagnostic(`${load.acknowledged} acknowledged writes; answers ${JSON.stringify([...load.statuses])}`);
});
