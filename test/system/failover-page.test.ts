/**
 * Carries out docs/several-nodes/failover.md word for word: a primary with two standbys, of which one is lost, with
 * `ANY 1` of two standbys as the page recommends. The addresses are replaced by those of the test's servers.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { times } from '../kit/lists.ts';
import { createOrder, getOrder } from '../kit/orders.ts';
import { PostgresServer, runStatement } from '../kit/postgres.ts';
import { copyServer } from '../kit/postgres-pair.ts';
import { Repeater } from '../kit/repeat.ts';
import { ownService } from '../kit/service.ts';
import { until } from '../kit/wait.ts';

const PAGE = readFileSync(new URL('../../docs/several-nodes/failover.md', import.meta.url), 'utf8');
const PASSWORD = 'correct-horse-battery';
const FOLLOWS = ['async', 'quorum'];

/** Returns the statements and commands of a section of the page, in their order. */
function blocksOf(heading: string): { sql: string[]; console: string[] } {
  const section = PAGE.split(/^## /m).find((part) => part.startsWith(`${heading}\n`))!;
  const find = (language: string): string[] =>
    [...section.matchAll(new RegExp(`^ *\`\`\`${language}\n([^]*?)^ *\`\`\``, 'gm'))].map(([, text]) => text!.trim());
  return { sql: find('sql'), console: find('console') };
}

const [one, two, three] = await Promise.all(
  times(3, () => PostgresServer.start({ settings: { wal_keep_size: '64MB' } })),
);
const [first, standby1, standby2] = [one!, two!, three!];
const ADDRESSES: [string, PostgresServer][] = [
  ['10.0.0.20', first],
  ['10.0.0.21', standby1],
  ['10.0.0.22', standby2],
];
after(() => Promise.all(ADDRESSES.map(([, server]) => server.remove())));

const urlOf = ({ port }: PostgresServer, database = 'postgres'): string =>
  `postgres://backup:${PASSWORD}@127.0.0.1:${port}/${database}`;
/** Puts the addresses and the password of the test's servers into a connection string of the page. */
const fillIn = (text: string): string =>
  text.replaceAll(/host=([\d.]+)/g, (_all, address: string) => {
    const [, server] = ADDRESSES.find(([known]) => known === address)!;
    return `host=127.0.0.1 port=${server.port} password=${PASSWORD}`;
  });

async function run(server: PostgresServer, statements: string): Promise<Record<string, unknown>[]> {
  let rows: Record<string, unknown>[] = [];
  // ALTER SYSTEM cannot run in the transaction of several statements.
  for (const statement of fillIn(statements)
    .split(/;\n|;$/)
    .filter(Boolean))
    rows = await runStatement(urlOf(server), statement);
  return rows;
}

/** Sets up a standby as the page says. `copyServer` does what `pg_basebackup` of the page does, which npm lacks. */
async function setUp(name: string, standby: PostgresServer, primary: PostgresServer): Promise<void> {
  const { sql, console } = blocksOf('Set up a standby');
  const [slot, [backup = '', start] = []] = [sql[0]!, console[0]?.split('\n')];
  await run(primary, slot.replace('standby1', name));
  const [, dbname = ''] = /^\$ pg_basebackup --dbname='([^']+)' /.exec(backup)!;
  assert.match(backup, / --wal-method=stream --slot=standby1 --write-recovery-conf$/);
  assert.match(start!, /^\$ pg_ctl -D \S+ -w start$/);
  const [address] = ADDRESSES.find(([, server]) => server === primary)!;
  const conninfo = fillIn(dbname.replace('10.0.0.20', address).replace('standby1', name));
  const copied = readFileSync(join(primary.dataFolder, 'postgresql.auto.conf'), 'utf8');
  const own = `primary_conninfo = '${conninfo}'\nprimary_slot_name = '${name}'\n`;
  await copyServer(primary, standby, urlOf(primary), copied + own);
  await standby.restart();
}

const ROLES = 'SELECT application_name, sync_state FROM pg_stat_replication';
const follows = (primary: PostgresServer, name: string, states: readonly string[]): Promise<void> =>
  until(async () =>
    (await run(primary, ROLES)).some(
      (row) => row['application_name'] === name && states.includes(row['sync_state'] as string),
    ),
  );

test('after the failover of the page calls succeed, and commits wait for the remaining standby', async () => {
  await runStatement(first.url, `CREATE ROLE backup SUPERUSER LOGIN PASSWORD '${PASSWORD}'`);
  await runStatement(first.url, 'CREATE DATABASE storeroom');
  await setUp('standby1', standby1, first);
  await setUp('standby2', standby2, first);
  const { sql: choose } = blocksOf('Choose what "acknowledged" means');
  for (const server of [first, standby1, standby2]) await run(server, choose[0]!);
  for (const name of ['standby1', 'standby2']) await follows(first, name, ['quorum']);

  const [, hosts = ''] = /^STOREROOM_DATABASE_URL=postgres:\/\/[^@]+@([^/]+)\//m.exec(PAGE)!;
  const named = ADDRESSES.map(([address]) => `${address}:5432`).join(',');
  assert.equal(hosts, named);
  const own = ADDRESSES.map(([, { port }]) => `127.0.0.1:${port}`).join(',');
  const service = await ownService({ databaseUrl: `postgres://backup:${PASSWORD}@${own}/storeroom` });
  const keys = await service.makeTenant('shop');
  const before = (await createOrder(service, keys)).body.data as string;

  await first.kill();
  const { sql, console } = blocksOf('Fail over');
  await run(standby1, sql[0]!);
  await run(standby2, sql[1]!);
  assert.match(console[0]!, /^\$ pg_ctl promote -D \S+$/);
  await standby1.promote();
  const answer = await new Repeater().call(() => createOrder(service, keys, {}, { 'idempotency-key': 'after' }));
  assert.equal(answer.status, 200, answer.text);
  assert.equal((await getOrder(service, keys, before)).status, 200);
  assert.deepEqual(await run(standby1, sql[2]!), [{ application_name: 'standby2', sync_state: 'quorum' }]);

  await setUp('standby1', first, standby1);
  await follows(standby1, 'standby1', FOLLOWS);
  assert.deepEqual(
    (await run(standby1, sql[2]!)).map((row) => row['sync_state']),
    ['quorum', 'quorum'],
  );
  assert.equal((await createOrder(service, keys)).status, 200);
});
