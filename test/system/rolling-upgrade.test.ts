/**
 * Tests an upgrade of PostgreSQL to a version with migrations: the first new node migrates all tenants while a node of
 * the version before continues, and a node that is killed meanwhile leaves each migration complete or not begun.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { Client } from 'pg';
import { issueKey } from '../../src/tenant/credentials.ts';
import { times } from '../kit/lists.ts';
import { APPENDED, makeTestedVersion, newestSchema, NEXT_VERSION } from '../kit/next-version.ts';
import { createOrder, getOrder } from '../kit/orders.ts';
import { runStatement } from '../kit/postgres.ts';
import { ownService, placeVariables, runCommand, type Answer, type Keys, type Service } from '../kit/service.ts';
import { until } from '../kit/wait.ts';
import { openDatabase, urlOf } from '../store/postgres-database.ts';
import { accepted, entry, NOW } from '../store/store-under-test.ts';

const TENANTS = 5;
const PIMS = newestSchema({ store: 'postgres', kind: 'pims' });
const program = makeTestedVersion('postgres');

const createCustomer = (service: Service, one: Keys, CUSTOMER_CODE: string, NOTES: string): Promise<Answer> =>
  service.call(one, 'PUT', '/customers/create', { body: { CUSTOMER_CODE, NOTES } });
const getCustomer = (service: Service, one: Keys, customerCode: string): Promise<Answer> =>
  service.call(one, 'GET', '/customers/single', { query: { customerCode } });
const notesOf = ({ body }: Answer): string => (body as { data: { NOTES: string } }).data.NOTES;

/** Makes tenants with a customer and an order each. Returns their keys. */
async function fill(service: Service): Promise<Keys[]> {
  const keys: Keys[] = [];
  for (const team of times(TENANTS, (at) => `t${at}`)) {
    const one = await service.makeTenant(team);
    keys.push(one);
    await createCustomer(service, one, 'A', `of ${team}`);
    assert.equal((await createOrder(service, one)).body.data, '10001');
  }
  return keys;
}

test('the first new node migrates all tenants once, in order, and nodes of the old version continue', async () => {
  const place = await urlOf('rolling');
  const older = await ownService({ place });
  const keys = await fill(older);
  const tagOf = async (service: Service): Promise<string | null> =>
    (await getOrder(service, keys[0]!, '10001')).headers.get('etag');
  const tag = await tagOf(older);
  // Opened before the upgrade, because no process of the version before can open the database later.
  const store = await openDatabase('rolling');
  const newer = await ownService({ place, program });
  const upgraded = new RegExp(`Upgraded the store .*\\(tenants: ${TENANTS}\\)`);
  await newer.said((output) => upgraded.test(output));
  for (const node of [older, newer])
    for (const [at, one] of keys.entries())
      assert.equal(notesOf(await getCustomer(node, one, 'A')), `of t${at}${APPENDED}`);
  assert.deepEqual([await tagOf(older), await tagOf(newer)], [tag, tag]);
  for (const [node, other, code] of [
    [older, newer, 'OLD'],
    [newer, older, 'NEW'],
  ] as const) {
    assert.equal((await createCustomer(node, keys[1]!, code, code)).status, 200);
    assert.equal(notesOf(await getCustomer(other, keys[1]!, code)), code);
  }

  // A node of the version before makes a tenant meanwhile. The first call on a new node migrates it.
  const late = accepted(await store.tenants.createTenant('late', 'A tenant of before', NOW));
  const { apiId, apiSecret, secretHash } = issueKey();
  accepted(await store.tenants.replaceKeys('late', { apiId, secretHash }, NOW, entry()));
  const lateKeys = { teamID: 'late', apiID: apiId, apiSecret };
  assert.equal((await createCustomer(older, lateKeys, 'A', 'of late')).status, 200);
  const answers = await Promise.all(times(4, () => getCustomer(newer, lateKeys, 'A')));
  assert.deepEqual(
    answers.map(notesOf),
    times(4, () => `of late${APPENDED}`),
  );

  assert.equal((await runCommand(place, ['tenant', 'create', 'made'], { program })).code, 0);
  const columnsOf = (schema: string): Promise<unknown[]> =>
    runStatement(
      place,
      `SELECT table_name, column_name, data_type, collation_name, is_nullable, column_default
        FROM information_schema.columns WHERE table_schema = ${schema} ORDER BY table_name, ordinal_position`,
    );
  const made = await columnsOf(`(SELECT "STORE_ID" FROM storeroom."TENANTS" WHERE "TEAM_ID" = 'made')`);
  assert.ok(made.length > 100);
  assert.deepEqual(made, await columnsOf(`'${late.storeId}'`), 'an upgraded tenant has the columns of a new one');
  await store.close();

  await older.stop();
  await assert.rejects(
    older.restart(),
    new RegExp(`newer version of Storeroom .*Install Storeroom ${NEXT_VERSION} or newer`),
  );
});

test('a node killed while it migrates leaves each tenant unchanged or migrated, and the next one continues', async () => {
  const killed = await urlOf('killed');
  const filling = await ownService({ place: killed });
  const own = await fill(filling);
  await filling.stop();
  const [, , third] = await runStatement(killed, 'SELECT "STORE_ID" id FROM storeroom."TENANTS" ORDER BY 1');
  const holder = new Client({ connectionString: killed });
  await holder.connect();
  await holder.query(`BEGIN; LOCK TABLE "${String(third!['id'])}"."CUSTOMER" IN ACCESS SHARE MODE`);
  const schemas = async (): Promise<unknown[]> =>
    (await runStatement(killed, 'SELECT "SCHEMA_VERSION" v FROM storeroom."TENANTS" ORDER BY "STORE_ID"')).map(
      ({ v }) => v,
    );
  const node = spawn(program[0], [...program.slice(1), 'tenant', 'list'], {
    env: { ...process.env, ...placeVariables(killed) },
    stdio: 'ignore',
  });
  await until(async () => (await schemas())[1] === PIMS + 2);
  node.kill('SIGKILL');
  await once(node, 'exit');
  assert.deepEqual(await schemas(), [PIMS + 2, PIMS + 2, PIMS, PIMS, PIMS]);
  await holder.end();
  const next = await ownService({ place: killed, program });
  for (const [at, one] of own.entries())
    assert.equal(notesOf(await getCustomer(next, one, 'A')), `of t${at}${APPENDED}`);
  assert.deepEqual(
    await schemas(),
    times(TENANTS, () => PIMS + 2),
  );
});
