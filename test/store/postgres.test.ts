/** Tests promises of the PostgreSQL store besides the contract: its audit log, its connections, and other nodes. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Client } from 'pg';
import { listChanges } from '../../src/pims/changes.ts';
import type { Filter } from '../../src/pims/reads/query.ts';
import { loadBlocks } from '../kit/documents.ts';
import { times } from '../kit/lists.ts';
import { runStatement } from '../kit/postgres.ts';
import { until } from '../kit/wait.ts';
import { GROUPS } from './contract.ts';
import { openDatabase as open, urlOf } from './postgres-database.ts';
import { accepted, entry, NOW, Pims } from './store-under-test.ts';

/** Number of queries that are cut short. `WORKERS` queries of each kind run at the same time. */
const CUTS = 150;
const WORKERS = 4;
const DELAYS = 32;
/** The constant FOUND of src/store/postgres/reads/sorted-page-sql.ts. */
const FOUND_MAX = 10_000;
/** Records of a page, chosen so that the last page is not full. */
const PAGE_SIZE = 4000;

test('each group of the contract has a file that runs it', () => {
  for (const group of Object.keys(GROUPS))
    assert.ok(existsSync(new URL(`postgres-${group}.test.ts`, import.meta.url)), `postgres-${group}.test.ts`);
});

test('no role can change the audit log or delete a record of it, except with its tenant', async () => {
  const store = await open('audit');
  const tenant = accepted(await store.tenants.createTenant('team', 'A tenant', NOW));
  await store.audit.appendAudit('team', entry());
  for (const statement of [`UPDATE storeroom."AUDIT" SET "ACTOR" = 'nobody'`, 'DELETE FROM storeroom."AUDIT"'])
    await assert.rejects(runStatement(await urlOf('audit'), statement), /the audit log is never changed/);
  await store.tenants.deleteTenant(tenant);
  assert.deepEqual(await runStatement(await urlOf('audit'), 'SELECT FROM storeroom."AUDIT"'), []);
  await store.close();
});

test('a call whose connection opens while the store closes is refused, and opens no other connection', async () => {
  const store = await open('closed');
  const calling = assert.rejects(store.tenants.findCaller('team', 'key', NOW), { code: 'STORE_UNAVAILABLE' });
  await store.close();
  await calling;
});

test(`${CUTS} queries are cancelled, and none of another tenant on the same connections`, async () => {
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
  // Two records fit into a page. The request to cancel arrives while the server sends the others, or just after them.
  const cutting = times(WORKERS, async (index) => {
    const [pims, bytesMax] = index % 2 === 0 ? [long, 10_000] : [short, 2500];
    for (; !isOver(); begun++) assert.equal((await pims.ask('customers', [], { bytesMax })).records.length, 2);
  });
  let asked = 0;
  const asking = times(WORKERS, async () => {
    for (; !isOver(); asked++) assert.equal((await whole.ask('customers', [])).records.length, 400);
  });
  // These queries delay the request to cancel, so that it arrives when the next statement has begun.
  const delaying = times(DELAYS, async () => {
    while (!isOver()) await store.tenants.listTenants();
  });
  await Promise.all([...cutting, ...asking, ...delaying]);
  assert.ok(asked > CUTS / 4, `only ${asked} others`);
  await store.close();
});

test(`${FOUND_MAX} records of one time, the most that are found before sorting, are each on one page`, async () => {
  const store = await open('found');
  const pims = new Pims(store.pims(accepted(await store.tenants.createTenant('team', 'A tenant', NOW))));
  const codes = times(FOUND_MAX, (index) => String(10_000 + index));
  await pims.importAll(
    'customers',
    codes.map((CUSTOMER_CODE) => ({ CUSTOMER_CODE, MODIFIED_DATE: NOW })),
  );
  const filters: Filter[] = [{ field: 'MODIFIED_DATE', op: 'ge', value: NOW }];
  for (const [sort, expected] of [
    [undefined, codes],
    ['-CUSTOMER_CODE', codes.toReversed()],
  ] as const) {
    const found: string[] = [];
    for (let after: string | null = ''; after !== null;) {
      const { records, next } = await pims.ask('customers', filters, { limit: PAGE_SIZE, after, sort });
      found.push(...records.map((record) => record['CUSTOMER_CODE']!));
      after = next;
    }
    assert.equal(found.length, FOUND_MAX, `sorted by ${sort}`);
    assert.deepEqual(found, expected);
  }
  await store.close();
});

test('the tables of records leave room in their pages for new versions of rows', async () => {
  const store = await open('pages');
  const { storeId } = accepted(await store.tenants.createTenant('team', 'A tenant', NOW));
  await store.close();
  const filled = `SELECT relname FROM pg_class WHERE reloptions = '{fillfactor=85}' AND relnamespace = '${storeId}'::regnamespace`;
  assert.deepEqual(
    (await runStatement(await urlOf('pages'), `${filled} ORDER BY 1`)).map(({ relname }) => relname),
    ['CUSTOMER', 'INVENTORY', 'ORDERS'],
  );
});

test('a commit wakes callers that wait on another node, and nothing is sent while none waits', async () => {
  const [waiting, url] = [await open('notices'), await urlOf('notices')];
  const tenant = accepted(await waiting.tenants.createTenant('team', 'A tenant', NOW));
  const told = new Client({ connectionString: url });
  const heard: (string | undefined)[] = [];
  told.on('notification', ({ payload }) => heard.push(payload));
  await told.connect();
  await told.query('LISTEN storeroom_changes');
  const writeElsewhere = async (): Promise<void> => {
    const other = await open('notices');
    await new Pims(other.pims(tenant)).createCustomer({});
    await other.close(); // sends the notices that are not sent yet
    await told.query('SELECT 1');
  };
  await writeElsewhere();
  assert.deepEqual(heard, []);
  const isOver = new AbortController();
  const change = waiting.nextChange(tenant, isOver.signal);
  const locks = `SELECT FROM pg_locks JOIN pg_database d ON d.oid = database
    WHERE locktype = 'advisory' AND mode = 'ShareLock' AND granted AND datname = current_database()`;
  await until(async () => (await runStatement(url, locks)).length > 0);
  await change;
  const next = waiting.nextChange(tenant, isOver.signal);
  await new Pims(waiting.pims(tenant)).createCustomer({});
  await next;
  const another = waiting.nextChange(tenant, isOver.signal);
  assert.deepEqual(heard, []);
  await writeElsewhere();
  await another;
  assert.deepEqual(heard, [tenant.storeId]);
  await Promise.all([told.end(), waiting.close()]);
});

test('the queries to watch PostgreSQL run', async () => {
  await runStatement(
    await urlOf('watched'),
    readFileSync(new URL('../../deploy/postgres/watch.sql', import.meta.url), 'utf8'),
  );
});

test('the documented statements after a restore restart every feed, and earlier readers get an error', async () => {
  const [store, url] = [await open('restored'), await urlOf('restored')];
  const make = async (teamId: string): Promise<Pims> =>
    new Pims(store.pims(accepted(await store.tenants.createTenant(teamId, 'A tenant', NOW))));
  const [used, unused] = [await make('used'), await make('unused')];
  await used.importRows('customers', [{ CUSTOMER_CODE: 'BEFORE' }]);
  const page = readFileSync(new URL('../../docs/several-nodes/backup.md', import.meta.url), 'utf8');
  const statements = loadBlocks(page).find(({ text }) => text.includes('"CHANGES"'))!;
  await runStatement(url, statements.text);
  const read = (pims: Pims, after: number | undefined) =>
    listChanges(pims.port, { after, types: ['customers'], limit: 10 });
  for (const pims of [used, unused]) {
    for (const position of [0, 1]) await assert.rejects(read(pims, position), { code: 'CHANGES_GONE' });
    const { next } = await read(pims, undefined);
    await pims.importRows('customers', [{ CUSTOMER_CODE: 'AFTER' }]);
    const { changes } = await read(pims, next);
    assert.deepEqual(
      changes.map(({ seq, key }) => [seq, key]),
      [[String(next + 1), 'AFTER']],
    );
  }
  await store.close();
});
