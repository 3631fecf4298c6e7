/**
 * Makes servers of a database with Citus fail: tenants on other servers do not notice, nothing acknowledged is lost,
 * doubled or miscounted, and an interrupted move can be repeated.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import { systemClock } from '../../src/clock.ts';
import { orThrow } from '../../src/errors.ts';
import { addField } from '../../src/pims/operations.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import { now } from '../kit/clock.ts';
import { HttpClient } from '../kit/http-client.ts';
import { times } from '../kit/lists.ts';
import { createOrder } from '../kit/orders.ts';
import { runStatement, spread, type PostgresServer } from '../kit/postgres.ts';
import { PostgresPair } from '../kit/postgres-pair.ts';
import { SHIPPED } from '../kit/program.ts';
import { Service, type Keys } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';
import { until } from '../kit/wait.ts';
import { MixedLoad } from '../system/mixed-load.ts';
import { citusServer, newSpreadDatabase, startCluster } from './cluster.ts';

const TENANTS = trials('TENANTS', { quick: 12, all: 200 });
const MOVES = trials('MOVES', { quick: 6, all: 20 });
const KILLS = 2;
const CONNECTIONS = 16;
const NODES = 3;

const addressOf = ({ port }: PostgresServer): string => `127.0.0.1:${port}`;
const placeOf = async (service: Service, team: string): Promise<string> =>
  ((await service.command('tenant', 'place', team, '--json')).json() as { server: string }).server;
const createCustomer = (service: Service, keys: Keys) =>
  service.call(keys, 'PUT', '/customers/create', { body: { CUSTOMER_NAME: 'Somebody' } });

suite('with workers that fail', async () => {
  const cluster = await startCluster(2);
  const url = await newSpreadDatabase(cluster);
  const nodes = await Service.startAll(NODES, { databaseUrl: url });
  const [node] = nodes as [Service];
  after(async () => {
    await Promise.all(nodes.map((one) => one.stop('SIGKILL')));
    await Promise.all([cluster.coordinator, ...cluster.workers].map((server) => server.remove()));
  });
  const move = async (team: string): Promise<void> => {
    const from = await placeOf(node, team);
    const to = cluster.workers.map(addressOf).find((address) => address !== from)!;
    const { code, stderr } = await node.command('tenant', 'move', team, '--to', to);
    assert.equal(code, 0, stderr);
  };

  /** Returns whether a process with this name in pg_stat_activity is connected to one of the workers. */
  const isOnWorker = async (name: string, workers = cluster.workers): Promise<boolean> => {
    const find = `SELECT 1 FROM pg_stat_activity WHERE application_name LIKE '${name}%'`;
    const found = workers.map(({ port }) => runStatement(Object.assign(new URL(url), { port }).href, find));
    return (await Promise.all(found)).flat().length > 0;
  };

  test('calls use the server of their tenant without the coordinator', async () => {
    const keys = await node.makeTenant('direct');
    const place = await placeOf(node, 'direct');
    const own = cluster.workers.filter((worker) => addressOf(worker) === place);
    assert.equal(await isOnWorker('storeroom'), false);
    await until(async () => (await createCustomer(node, keys)).status === 200 && isOnWorker('storeroom', own));
  });

  test('a field that a node adds for a tenant on a worker exists', async () => {
    await node.makeTenant('fields');
    const limits = { queryBudgetMs: 1000, queriesRunningMax: 4, queriesWaitingMax: 4 };
    const service = { url, connections: 2, name: 'storeroom fields', isService: true, clock: systemClock };
    const store = await openPostgres({ ...service, ...limits });
    const tenant = (await store.tenants.findTenant('fields'))!;
    await until(async () => {
      await store.pims(tenant).dictionaries();
      return isOnWorker(service.name);
    });
    orThrow(await addField(store.pims(tenant), { recordType: 'customers', name: 'SHOE_SIZE', type: 'text' }));
    assert.ok((await store.pims(tenant).dictionaries()).customers.has('SHOE_SIZE'));
    await store.close();
  });

  /** Makes tenants on both workers, and returns the keys of those on the first and on the second. */
  async function spreadTenants(teams: readonly string[]): Promise<readonly [Keys[], Keys[]]> {
    const keysOf = new Map<string, Keys>();
    for (const team of teams) keysOf.set(team, await node.makeTenant(team));
    const [first, second] = cluster.workers as [PostgresServer, PostgresServer];
    const on = async (server: PostgresServer): Promise<Keys[]> => {
      const places = await Promise.all(teams.map((team) => placeOf(node, team)));
      return teams.filter((_, at) => places[at] === addressOf(server)).map((team) => keysOf.get(team)!);
    };
    const both = [await on(first), await on(second)] as const;
    assert.ok(both.every(({ length }) => length > 0));
    for (const keys of keysOf.values())
      for (const one of nodes) assert.equal((await createCustomer(one, keys)).status, 200);
    return both;
  }

  test('while a worker is down, its tenants get 503 with Retry-After, and calls of other tenants succeed', async () => {
    const [lost] = cluster.workers as [PostgresServer];
    const [theirs, others] = await spreadTenants(['north', 'south', 'east', 'west']);
    await lost.kill();
    for (const keys of theirs)
      for (const one of nodes) {
        const answer = await createCustomer(one, keys);
        assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1'], answer.text);
        for (const other of others) assert.equal((await createCustomer(one, other)).status, 200);
      }
    // Neither the other tenants nor a node that starts needs the lost worker.
    const started = await Service.start({ databaseUrl: url });
    for (const other of others) assert.equal((await createCustomer(started, other)).status, 200);
    await started.stop();
    assert.equal((await node.command('keys', 'create', others[0]!.teamID, '--name', 'more')).code, 0);
    const { code, json } = await node.command('check', '--json');
    assert.equal(code, 1);
    assert.deepEqual(
      (json() as { findings: { place: string }[] }).findings.map(({ place }) => place),
      [`server ${addressOf(lost)}`],
    );
    await lost.restart();
    for (const keys of theirs)
      for (const one of nodes) await until(async () => (await createCustomer(one, keys)).status === 200);
    assert.equal((await node.command('check')).code, 0);
  });

  test('while a worker is silent, its tenants get 503, and calls of other tenants succeed', async () => {
    const [silent] = cluster.workers as [PostgresServer];
    const [theirs, others] = await spreadTenants(['spring', 'summer', 'autumn', 'winter']);
    silent.pause();
    for (const one of nodes) {
      const refused = Promise.all(theirs.map((keys) => createCustomer(one, keys)));
      for (const keys of others) assert.equal((await createCustomer(one, keys)).status, 200);
      for (const { status, text } of await refused) assert.equal(status, 503, text);
    }
    silent.resume();
    for (const keys of theirs)
      for (const one of nodes) await until(async () => (await createCustomer(one, keys)).status === 200);
  });

  test('an index on a worker that is not valid is found', async () => {
    await node.makeTenant('checked');
    const place = await placeOf(node, 'checked');
    const { port } = cluster.workers.find((worker) => addressOf(worker) === place)!;
    // Without this option, Citus hides the tables that contain the records.
    const there = Object.assign(new URL(url), { port, search: 'options=-c citus.override_table_visibility=off' }).href;
    const mark = (isValid: boolean) =>
      runStatement(
        there,
        `UPDATE pg_index SET indisvalid = ${isValid} WHERE indexrelid =
           (SELECT min(oid) FROM pg_class WHERE relname ~ '^SERIALS_SERIAL_[0-9]+$') RETURNING indexrelid::regclass AS index`,
      );
    const [found] = await mark(false);
    const { code, json } = await node.command('check', '--json');
    assert.equal(code, 1);
    const { findings } = json() as { findings: { place: string }[] };
    assert.deepEqual(
      findings.map((finding) => finding.place),
      [`${place}: ${found!['index'] as string}`],
    );
    await mark(true);
  });

  test('a move that is interrupted leaves a complete tenant, and can be repeated', async () => {
    const keys = await node.makeTenant('moving');
    const orders = await Promise.all(times(20, () => createOrder(node, keys)));
    const asCommand = `FROM pg_stat_activity WHERE application_name LIKE 'storeroom%' AND query LIKE 'SELECT citus_schema_move%'`;
    const hasCopied = `SELECT 1 FROM pg_stat_subscription WHERE received_lsn IS NOT NULL`;
    const other = async (): Promise<PostgresServer> => {
      const place = await placeOf(node, 'moving');
      return cluster.workers.find((worker) => addressOf(worker) !== place)!;
    };
    const interruptions: ((target: PostgresServer, command: ChildProcess) => unknown)[] = [
      (_, command) => command.kill('SIGKILL'),
      () => runStatement(url, `SELECT pg_terminate_backend(pid) ${asCommand}`),
      (target) => target.kill(),
      () => cluster.coordinator.kill(),
    ];
    for (const when of ['at its begin', 'while it copies'])
      for (const interrupt of interruptions) {
        const target = await other();
        const targetUrl = Object.assign(new URL(url), { port: target.port }).href;
        const [program, ...words] = [...SHIPPED, 'tenant', 'move', 'moving', '--to', addressOf(target)];
        const env = { ...process.env, STOREROOM_DATABASE_URL: url };
        const moving = spawn(program, words, { env, stdio: 'ignore' });
        const ended = once(moving, 'exit');
        let hasEnded = false;
        void ended.then(() => (hasEnded = true));
        const sees = when === 'at its begin' ? [url, `SELECT 1 ${asCommand}`] : [targetUrl, hasCopied];
        await until(async () => hasEnded || (await runStatement(sees[0]!, sees[1]!)).length > 0);
        await interrupt(target, moving);
        await ended;
        for (const server of [cluster.coordinator, ...cluster.workers])
          if (server.pids().length === 0) await server.restart();
        await until(async () => (await createCustomer(node, keys)).status === 200);
        // The next move succeeds only when the remains of this one are removed.
        await until(async () => {
          const to = await other();
          return (await node.command('tenant', 'move', 'moving', '--to', addressOf(to))).code === 0;
        });
        const { records } = (await node.command('export', 'moving', 'orders', '--json')).json() as {
          records: unknown[];
        };
        assert.equal(records.length, orders.length, when);
        assert.equal((await node.command('check')).code, 0);
      }
  });

  test(`${TENANTS} tenants, ${MOVES} moves, a worker killed ${KILLS} times: nothing is lost or doubled`, async (context) => {
    const client = await HttpClient.open(nodes, CONNECTIONS);
    const teams = times(TENANTS, (n) => `load${n}`);
    const load = await MixedLoad.open(client, node, teams);
    load.rests = false;
    const probes = new Map<string, Keys>();
    for (const team of ['moved', 'still']) probes.set(team, await node.makeTenant(team));
    const end = new AbortController();
    const isOver = (): boolean => end.signal.aborted;
    const longest = new Map<string, number>();
    const probe = async ([team, keys]: [string, Keys]): Promise<void> => {
      while (!isOver()) {
        const begun = now();
        await until(async () => (await createCustomer(node, keys)).status === 200);
        longest.set(team, Math.max(longest.get(team) ?? 0, now() - begun));
      }
    };
    const disturb = async (): Promise<void> => {
      for (let moves = 0; moves < MOVES; moves++)
        await move(moves % 2 === 0 ? 'moved' : teams[(moves >> 1) % TENANTS]!);
      context.diagnostic(`longest waits during moves, ms: ${JSON.stringify([...longest])}`);
      for (let kills = 0; kills < KILLS; kills++) {
        const worker = cluster.workers[kills % cluster.workers.length]!;
        await load.acknowledges(CONNECTIONS);
        await worker.kill();
        await load.acknowledges(CONNECTIONS);
        await worker.restart();
        await load.acknowledges(CONNECTIONS);
      }
    };
    const disturbing = disturb().finally(() => end.abort());
    await Promise.all([load.run(CONNECTIONS, isOver), disturbing, ...[...probes].map(probe)]);
    await load.repeatUnanswered();
    await load.check(node);
    const others = new Set(load.statuses.keys()).difference(
      new Set([200, 400, '503 SERVICE_BUSY', '503 STORE_UNAVAILABLE']),
    );
    assert.deepEqual(others, new Set(), 'no caller got a fault');
    context.diagnostic(`${load.acknowledged} acknowledged writes; answers ${JSON.stringify([...load.statuses])}`);
    context.diagnostic(`longest waits with kills, ms: ${JSON.stringify([...longest])}`);
  });
});

test('a coordinator that fails is replaced by its standby, and nothing is lost', async () => {
  const pair = await PostgresPair.start(citusServer());
  const { workers, coordinator } = await startCluster(2);
  await coordinator.remove();
  const { username } = new URL(pair.primaryUrl);
  for (const worker of workers) await runStatement(worker.url, `CREATE ROLE ${username} SUPERUSER LOGIN`);
  await spread(
    pair.primaryUrl,
    workers.map(({ url }) => url),
  );
  const node = await Service.start({ databaseUrl: pair.url });
  const keys = await node.makeTenant('acme');
  const load = await MixedLoad.open(await HttpClient.open(node, CONNECTIONS), node);
  let isOver = false;
  const failOver = async (): Promise<void> => {
    await load.acknowledges(CONNECTIONS);
    await pair.primary.kill();
    await until(async () => (await createCustomer(node, keys)).status === 503);
    await pair.promote();
    // The operator does this too, so that the workers learn the coordinator's new address.
    await runStatement(pair.primaryUrl, `SELECT citus_set_coordinator_host('127.0.0.1', ${pair.primary.port})`);
    await load.acknowledges(CONNECTIONS);
    await pair.rebuild();
    await load.acknowledges(CONNECTIONS);
  };
  await Promise.all([load.run(CONNECTIONS, () => isOver), failOver().finally(() => (isOver = true))]);
  await load.repeatUnanswered();
  await load.check(node, pair.primaryUrl);
  await node.makeTenant('beta');
  await node.stop();
  await Promise.all([pair.remove(), ...workers.map((worker) => worker.remove())]);
});
