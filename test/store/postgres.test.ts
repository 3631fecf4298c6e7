/** The PostgreSQL store passes the contract, and keeps its audit log also from those who have the database. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PostgresStore } from '../../src/store/postgres/store.ts';
import { TURNS } from '../kit/caller.ts';
import { times } from '../kit/lists.ts';
import { newDatabase, runStatement } from '../kit/postgres.ts';
import { describeStore } from './contract.ts';
import { accepted, entry, NOW, Pims } from './store-under-test.ts';

/** Of queries, and how many are asked at the same time of each tenant. */
const CUTS = 150;
const WORKERS = 4;
const DELAYS = 32;

const databases = new Map<string, Promise<string>>();
function urlOf(place: string): Promise<string> {
  const url = databases.get(place) ?? newDatabase();
  databases.set(place, url);
  return url;
}

const open = async (place: string): Promise<PostgresStore> =>
  PostgresStore.open({
    ...TURNS,
    url: await urlOf(place),
    connections: 2,
    queryBudgetMs: 2000,
    name: 'storeroom test',
  });

describeStore('PostgreSQL', open);

test('nobody changes the audit log, or takes a record out of it, but with its tenant', async () => {
  const store = await open('audit');
  const tenant = accepted(await store.tenants.createTenant('team', 'A tenant', NOW));
  await store.audit.appendAudit('team', entry());
  for (const statement of [`UPDATE storeroom."AUDIT" SET "ACTOR" = 'nobody'`, 'DELETE FROM storeroom."AUDIT"'])
    await assert.rejects(runStatement(await urlOf('audit'), statement), /the audit log is never changed/);
  await store.tenants.deleteTenant(tenant);
  assert.deepEqual(await runStatement(await urlOf('audit'), 'SELECT FROM storeroom."AUDIT"'), []);
  await store.close();
});

test(`${CUTS} queries are cut short, and none of another tenant on the same connections is cut with them`, async () => {
  const store = await open('cuts');
  const fill = async (teamId: string, count: number, NOTES: string): Promise<Pims> => {
    const pims = new Pims(store.pims(accepted(await store.tenants.createTenant(teamId, 'A tenant', NOW))));
    await pims.importRows(
      'customers',
      times(count, (index) => ({ CUSTOMER_CODE: `C${index}`, NOTES })),
    );
    return pims;
  };
  const [long, short] = [await fill('long', 400, 'x'.repeat(4000)), await fill('short', 8, 'x'.repeat(500))];
  const whole = await fill('whole', 400, 'some text');
  let begun = 0;
  const isOver = (): boolean => begun >= CUTS;
  // Two records fit into a page. The server is told to stop while it sends the others, or has just sent the last.
  const cutting = times(WORKERS, async (index) => {
    const [pims, bytesMax] = index % 2 === 0 ? [long, 10_000] : [short, 2500];
    for (; !isOver(); begun++) assert.equal((await pims.ask('customers', [], { bytesMax })).records.length, 2);
  });
  let asked = 0;
  const asking = times(WORKERS, async () => {
    for (; !isOver(); asked++) assert.equal((await whole.ask('customers', [])).records.length, 400);
  });
  // What tells the server is behind these, and comes when the next statement has begun.
  const delaying = times(DELAYS, async () => {
    while (!isOver()) await store.tenants.listTenants();
  });
  await Promise.all([...cutting, ...asking, ...delaying]);
  assert.ok(asked > CUTS / 4, `only ${asked} others`);
  await store.close();
});

test('tenants of the version before are taken to this one, with all they have', async () => {
  const store = await open('before');
  const tenant = accepted(await store.tenants.createTenant('team', 'A tenant', NOW));
  const code = await new Pims(store.pims(tenant)).createCustomer({ NOTES: 'kept' });
  await store.close();
  const tables = ['ORDERS', 'CUSTOMER', 'INVENTORY'].map((name) => `"${tenant.storeId}"."${name}"`);
  for (const table of tables) await runStatement(await urlOf('before'), `ALTER TABLE ${table} RESET (fillfactor)`);
  await runStatement(await urlOf('before'), 'UPDATE storeroom."TENANTS" SET "SCHEMA_VERSION" = 1');
  const migrated = await open('before');
  assert.equal((await new Pims(migrated.pims(tenant)).readRecord('customers', code))!['NOTES'], 'kept');
  await migrated.close();
  const list = tables.map((table) => `'${table}'::regclass`).join(', ');
  const options = await runStatement(await urlOf('before'), `SELECT reloptions FROM pg_class WHERE oid IN (${list})`);
  assert.deepEqual(
    options,
    tables.map(() => ({ reloptions: ['fillfactor=85'] })),
  );
});
