/** Tests on both stores that records written at schema 2 are found, changed and sorted after an upgrade. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { dayOf, type Filter } from '../../src/pims/reads/query.ts';
import { textOf } from '../../src/pims/json.ts';
import { sortKey, type Values } from '../../src/pims/rules/values.ts';
import { PostgresStore } from '../../src/store/postgres/store.ts';
import type { Tenant } from '../../src/tenant/tenant-port.ts';
import { PATIENT, TURNS } from '../kit/caller.ts';
import { times, valuesOf } from '../kit/lists.ts';
import { newDatabase, runStatement } from '../kit/postgres.ts';
import { newFolder, openFolder } from './sqlite-folder.ts';
import { accepted, assertRefused, NOW, Pims, write, type OpenedStore } from './store-under-test.ts';
import { passing } from '../kit/clock.ts';

/** The schema of the earlier version: the number of its files of migrations. */
const BEFORE = 2;
const DAYS = ['12/31/2025', '01/02/2026', '', '02/01/2025', '01/02/2026'];
/** Returns the time of a record: two records have no time, and every two others have the same. */
const timeOf = (at: number): string => (at < 2 ? '' : `2026-01-0${1 + (Math.floor(at / 2) % 9)}T00:00:00.000Z`);
const ORDERS = times(10, (at): Values => {
  const dates = { ORDER_DATE: DAYS[at % 5]!, CREATE_DATE: timeOf(9 - at), MODIFIED_DATE: timeOf(at) };
  return { ORDER_NUMBER: String(at + 1), ORDER_TYPE: 'sales_order', SUBTOTAL: '7', ...dates };
});
const LINES = [
  { ORDER_NUMBER: '3', LINE_NUMBER: '1', LINE_REF_LOCK_CODE: 'a', PART_CODE: 'P', QUANTITY: '4', NUMBER_SHIPPED: '0' },
  { ORDER_NUMBER: '3', LINE_NUMBER: '2', LINE_REF_LOCK_CODE: 'b', PART_CODE: 'P', QUANTITY: '1', NUMBER_SHIPPED: '0' },
];
const PART = { PART_CODE: 'P', QTY_ONHAND: '9', QTY_COMMITTED: '5', QTY_AVAILABLE: '4', MODIFIED_DATE: timeOf(4) };
const KEYS = { ORDERS: 'ORDER_NUMBER', INVENTORY: 'PART_CODE' } as const;

interface Old {
  readonly open: () => Promise<OpenedStore>;
  readonly tenant: Tenant;
  /** Runs a statement as a process of the earlier version does. */
  readonly run: (statement: string) => Promise<void>;
}

const scriptsOf = (store: string): string =>
  times(BEFORE, (at) => {
    const file = new URL(`../../src/store/${store}/migrations/pims-000${at + 1}.sql`, import.meta.url);
    return readFileSync(file, 'utf8');
  }).join(';\n');

const insert = (table: string, columns: Readonly<Record<string, string>>): string => {
  const values = Object.entries(columns).map(([name, value]) => (name === 'LINE_NUMBER' ? value : `'${value}'`));
  const names = Object.keys(columns).map((name) => `"${name}"`);
  return `INSERT INTO "${table}" (${names.join(', ')}) VALUES (${values.join(', ')})`;
};
/** Returns the statements that insert all records. `more` has the columns that only one of the stores has. */
function insertAll(more: Values): string {
  const record = (table: keyof typeof KEYS, values: Values): string =>
    insert(table, { SORT_KEY: sortKey(values[KEYS[table]]!), ...more, ...values });
  const records = [...ORDERS.map((order) => record('ORDERS', order)), record('INVENTORY', PART)];
  return [...records, ...LINES.map((line) => insert('ORDER_LINEITEMS', line))].join('; ');
}

async function makeSqlite(): Promise<Old> {
  const folder = newFolder();
  const store = openFolder(folder);
  const tenant = accepted(await store.tenants.createTenant('team', 'A tenant', NOW));
  await store.close();
  const run = async (statement: string): Promise<void> => {
    const db = new DatabaseSync(join(folder, 'tenants', `${tenant.storeId}.db`));
    db.exec(statement);
    db.close();
  };
  rmSync(join(folder, 'tenants', `${tenant.storeId}.db`), { force: true });
  await run(`${scriptsOf('sqlite')}; ${insertAll({})}; PRAGMA user_version=${BEFORE}`);
  return { open: async () => openFolder(folder), tenant, run };
}

async function makePostgres(): Promise<Old> {
  const url = await newDatabase();
  const open = (): Promise<PostgresStore> =>
    PostgresStore.open({ ...TURNS, clock: passing, url, connections: 2, queryBudgetMs: 2000, name: 'storeroom test' });
  const store = await open();
  const tenant = accepted(await store.tenants.createTenant('team', 'A tenant', NOW));
  await store.close();
  const run = async (statement: string): Promise<void> => {
    await runStatement(url, `BEGIN; SET LOCAL search_path TO "${tenant.storeId}", public; ${statement}; COMMIT`);
  };
  const remember = `UPDATE storeroom."TENANTS" SET "SCHEMA_VERSION" = ${BEFORE}`;
  const renew = `DROP SCHEMA "${tenant.storeId}" CASCADE; CREATE SCHEMA "${tenant.storeId}"`;
  await run(`${renew}; ${scriptsOf('postgres')}; ${insertAll({ search: '' })}; ${remember}`);
  return { open, tenant, run };
}

const numbersOf = async (pims: Pims, filters: Filter[], sort?: string): Promise<string[]> => {
  const { records } = accepted(
    await pims.port.queryRecords('orders', { ...PATIENT, limit: 500, after: '', filters, sort }),
  );
  return valuesOf(JSON.parse(textOf(records)) as Values[], 'ORDER_NUMBER');
};
function sorted(formOf: (order: Values) => string, sign: 1 | -1): string[] {
  const compare = (a: string, b: string): number => (a < b ? -sign : a > b ? sign : 0);
  return valuesOf(
    ORDERS.toSorted(
      (a, b) => compare(formOf(a), formOf(b)) || sign * (Number(a['ORDER_NUMBER']) - Number(b['ORDER_NUMBER'])),
    ),
    'ORDER_NUMBER',
  );
}

for (const [name, make] of Object.entries({ SQLite: makeSqlite, PostgreSQL: makePostgres }))
  test(`${name}: records from before are sorted and found by their times, and have ETags, totals and stock as they were`, async () => {
    const old = await make();
    const store = await old.open();
    const pims = new Pims(store.pims(old.tenant));
    const forms: Record<string, (order: Values) => string> = {
      MODIFIED_DATE: (order) => order['MODIFIED_DATE']!,
      CREATE_DATE: (order) => order['CREATE_DATE']!,
      ORDER_DATE: (order) => dayOf(order['ORDER_DATE']!),
    };
    for (const [field, formOf] of Object.entries(forms)) {
      assert.deepEqual(await numbersOf(pims, [], field), sorted(formOf, 1), field);
      assert.deepEqual(await numbersOf(pims, [], `-${field}`), sorted(formOf, -1), `-${field}`);
    }
    assert.deepEqual(
      await numbersOf(pims, [{ field: 'MODIFIED_DATE', op: 'ge', value: timeOf(6) }]),
      '7 8 9 10'.split(' '),
    );
    assert.deepEqual(await numbersOf(pims, [{ field: 'CREATE_DATE', op: 'lt', value: timeOf(4) }]), ['7', '8']);
    assert.deepEqual(await numbersOf(pims, [{ field: 'ORDER_DATE', value: '01/02/2026' }]), ['2', '5', '7', '10']);
    assert.deepEqual(await numbersOf(pims, [{ field: 'ORDER_DATE', op: 'gt', value: '12/31/2025' }]), [
      '2',
      '5',
      '7',
      '10',
    ]);

    const tagOf = async (key: string): Promise<string> => accepted(await pims.port.getOrder(key))!.tag;
    const tag = await tagOf('3');
    assert.equal(await tagOf('3'), tag);
    const stale = write({ expected: [`"x${tag.slice(1)}`] });
    assertRefused(await pims.updateLine('3', 'b', { QUANTITY: '2' }, stale), 'RECORD_CHANGED');
    accepted(await pims.updateLine('3', 'b', { QUANTITY: '2', UNIT_PRICE: '5' }, write({ expected: [tag] })));
    assert.notEqual(await tagOf('3'), tag);
    const { order, lines } = await pims.readOrder('3');
    assert.deepEqual([order['SUBTOTAL'], valuesOf(lines, 'QUANTITY')], ['7', ['4', '2']], 'it keeps its total');
    assert.equal((await numbersOf(pims, [], '-MODIFIED_DATE'))[0], '3');

    accepted(await pims.cancelOrder('3'));
    const { QTY_COMMITTED, QTY_AVAILABLE } = (await pims.readRecord('inventory', 'P'))!;
    assert.deepEqual([QTY_COMMITTED, QTY_AVAILABLE], ['0', '9']);
    if (name === 'PostgreSQL') {
      // A node of the earlier version continues to write.
      const [before, later] = [await tagOf('5'), '2026-12-01T00:00:00.000Z'];
      await old.run(`UPDATE "ORDERS" SET "MODIFIED_DATE" = '${later}' WHERE "ORDER_NUMBER" = '5'`);
      await old.run(
        insert('ORDERS', { SORT_KEY: sortKey('99'), search: '', ORDER_NUMBER: '99', MODIFIED_DATE: later }),
      );
      assert.deepEqual((await numbersOf(pims, [], '-MODIFIED_DATE')).slice(0, 3), ['99', '5', '3']);
      assert.deepEqual(await numbersOf(pims, [{ field: 'MODIFIED_DATE', op: 'ge', value: later }]), ['5', '99']);
      assert.notEqual(await tagOf('5'), before);
    }
    await store.close();
  });
