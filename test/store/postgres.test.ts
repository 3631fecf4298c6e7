/** The PostgreSQL store passes the contract, and keeps its audit log also from those who have the database. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PostgresStore } from '../../src/store/postgres/store.ts';
import { TURNS } from '../kit/caller.ts';
import { newDatabase, runStatement } from '../kit/postgres.ts';
import { describeStore } from './contract.ts';
import { accepted, entry, NOW } from './store-under-test.ts';

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
