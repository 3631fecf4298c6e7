/**
 * Tests the tables that there are, read from the schema: whether check finds damage to each of them, and whether a move,
 * a backup and the removal of a tenant handle each of them. A table that they leave out is listed with its reason.
 */
import assert from 'node:assert/strict';
import { copyFileSync, globSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import * as operations from '../../src/pims/operations.ts';
import { checkStore } from '../../src/store/check/check.ts';
import { backupStore } from '../../src/store/sqlite/backup/backup.ts';
import { listTables } from '../../src/store/move/tables.ts';
import { openMove } from '../../src/store/sqlite/move-store.ts';
import { openCheck } from '../../src/store/sqlite/check-store.ts';
import { RequestLog } from '../../src/request-log/request-log.ts';
import { LOGGED_CALL } from '../kit/logged-call.ts';
import { valuesOf } from '../kit/lists.ts';
import { passing, TestClock } from '../kit/clock.ts';
import { newFolder, openFolder } from './sqlite-folder.ts';
import { accepted, entry, idempotency, NOW, Pims, write } from './store-under-test.ts';

const DAY = { teamId: 'team', day: '2026-11-20', operation: 'getOrder', calls: 7 };

/** Makes a store that has rows in every table that check reads. */
async function fill(folder: string): Promise<void> {
  const store = openFolder(folder);
  const tenant = accepted(await store.tenants.createTenant('team', 'A tenant', NOW));
  await store.tenants.replaceKeys('team', { apiId: 'id', secretHash: new Uint8Array(32).fill(1) }, NOW, entry());
  await store.usage.addUsage([DAY], [{ ...DAY, month: '2026-11', apiId: 'id', name: 'default', usedAt: NOW }]);
  const pims = new Pims(store.pims(tenant));
  const context = { ...write(), defaultStage: 'worksheet' } as const;
  accepted(await pims.addField({ recordType: 'orders', name: 'COLOUR', type: 'text' }));
  await pims.importAll('inventory', [
    { PART_CODE: 'P', QTY_ONHAND: '10' },
    { PART_CODE: 'S', QTY_ONHAND: '0', SERIALIZED: 'Y' },
  ]);
  const received = { kind: 'received', quantity: '2', serials: ['S1', 'S2'], reason: '' } as const;
  await operations.actOnStock(pims.port, 'S', received, context);
  await pims.createCustomer({ CUSTOMER_NAME: 'Ann' });
  const order = await pims.createOrder({ ORDER_TYPE: 'sales_order' }, idempotency('key'));
  for (const PART_CODE of ['P', 'S'])
    accepted(await pims.addLine(order, { PART_CODE, QUANTITY: '2', UNIT_PRICE: '2.5' }));
  const invoice = { quantities: new Map([['2', '1']]), serials: new Map([['2', ['S1']]]), tracking: [] };
  accepted(await pims.advanceOrder(order, { invoice }));
  const options = { requestLogDays: 30, requestLogMb: 9, requestLogRate: 9, clock: new TestClock() };
  const log = new RequestLog(store.requests, options);
  log.record(LOGGED_CALL);
  await log.settled();
  await store.close();
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly pk: number;
}
/** Returns SQL for another value of a column. */
const otherValue = ({ name, type }: Column): string =>
  type === 'TEXT' ? `"${name}" || '2'` : type === 'BLOB' ? 'zeroblob(32)' : `coalesce("${name}", 0) + 1000`;

const PEOPLE = 'nothing else says which people, sessions and codes there are';
const SENDER = 'nothing else says which webhooks and deliveries there are';
const LOG = 'nothing else counts refused calls and uses of keys';
/** The tables, or kinds of damage to one, that check cannot find, and why. */
const UNCHECKED: Record<string, string> = {
  USERS: PEOPLE,
  RECOVERY_CODES: PEOPLE,
  SESSIONS: PEOPLE,
  UNKNOWN_NAMES: PEOPLE,
  WEBHOOKS: SENDER,
  WEBHOOK_DELIVERIES: SENDER,
  WEBHOOK_SENDER: SENDER,
  KEY_USES: LOG,
  REFUSALS: LOG,
  SECRETS: 'random bytes',
  BACKORDERS: 'they only find lines that were moved',
  CUSTOM_FIELDS: 'nothing else says which fields a tenant has added',
  SERIALS: 'a count removes serial numbers, and imported invoices have others',
  IDEMPOTENCY: 'responses are deleted after a day',
  'API_KEYS removed': 'keys end',
  'API_KEYS doubled': 'a tenant has any keys',
  'INSTALLATION doubled': 'names that nothing reads',
  'OWNER doubled': 'the first row says it',
  'TENANTS changed': 'any name and settings are possible',
  'CHANGES removed': 'changes are deleted after some days',
  'COUNTERS changed': 'numbers may be left out',
  'COUNTERS doubled': 'names that nothing reads',
};

const IDENTITY = 'each store has its own';
/** The tables and columns that a move leaves out, or has under other names, and why. */
const NOT_MOVED: Record<string, string> = {
  SESSIONS: 'users sign in again',
  WEBHOOK_DELIVERIES: 'the webhooks come with their positions',
  WEBHOOK_SENDER: 'the new store has no sender yet',
  INSTALLATION: IDENTITY,
  OWNER: IDENTITY,
  MONTH_USAGE: 'moved as USAGE_MONTHS and KEY_USAGE',
  REQUEST_BYTES: 'counted again from the blocks',
  'AUDIT.ONCE': 'a write that is repeated across a move may be recorded twice',
  'CUSTOMER.ID': IDENTITY,
  'INVENTORY.ID': IDENTITY,
  'ORDERS.ID': IDENTITY,
  'TENANTS.STORE_ID': IDENTITY,
  'WEBHOOKS.DELIVERIES': 'the deliveries are not moved, and begin at 1 again',
};

/** What can happen to the rows of a table. */
const DAMAGES: Record<string, (table: string, columns: readonly Column[], names: ReadonlySet<string>) => string> = {
  removed: (table) => `DELETE FROM "${table}"`,
  changed: (table, columns, names) => {
    const others = columns.filter(({ name }) => !names.has(name) || columns.length === names.size);
    return `UPDATE "${table}" SET ${others.map((column) => `"${column.name}" = ${otherValue(column)}`).join()}`;
  },
  doubled: (table, columns, names) => {
    const values = columns.map((column) => (names.has(column.name) ? otherValue(column) : `"${column.name}"`));
    return `INSERT INTO "${table}" SELECT ${values.join()} FROM "${table}"`;
  },
};

function openRaw(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { enableForeignKeyConstraints: false });
  db.exec('PRAGMA ignore_check_constraints=ON');
  return db;
}

const rowsOf = <Row>(db: DatabaseSync, sql: string): Row[] => db.prepare(sql).all() as Row[];

/** Lists the tables of a file, without those of its search indexes. */
function tablesOf(file: string): string[] {
  using db = openRaw(file);
  const sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
  return valuesOf(rowsOf<{ name: string }>(db, sql), 'name').filter((name) => !name.includes('_SEARCH'));
}

function columnsOf(file: string, table: string): Column[] {
  using db = openRaw(file);
  return rowsOf<Column>(db, `PRAGMA table_info("${table}")`);
}

/** Returns all rows of a table as a text. */
function readRows(file: string, table: string): string {
  using db = openRaw(file);
  return JSON.stringify(rowsOf(db, `SELECT * FROM "${table}" ORDER BY 1, 2`));
}

/**
 * Inserts a row of the tenant into a table. Other texts are x, so that the rows of several tables refer to each other.
 * Returns false if nothing in the table names the tenant.
 */
function insertRow(file: string, table: string): boolean {
  using db = openRaw(file);
  const columns = rowsOf<Column>(db, `PRAGMA table_info("${table}")`);
  if (table === 'OWNER' || !columns.some(({ name }) => /^TEAM_ID$|^WEBHOOK_ID$/.test(name))) return false;
  const valueOf = ({ name, type }: Column) =>
    name === 'TEAM_ID' || (name === 'TYPE' && table === 'WEBHOOK_DELIVERIES')
      ? "'team'"
      : type === 'TEXT'
        ? "'x'"
        : type === 'BLOB'
          ? "x'00'"
          : 9;
  db.exec(`INSERT OR IGNORE INTO "${table}" VALUES (${columns.map(valueOf).join()})`);
  return true;
}

/** Damages a table. Returns how many rows differ. */
function damage(file: string, table: string, kind: string): number {
  using db = openRaw(file);
  for (const { name } of rowsOf<{ name: string }>(db, "SELECT name FROM sqlite_schema WHERE type = 'trigger'"))
    db.exec(`DROP TRIGGER "${name}"`);
  const columns = rowsOf<Column>(db, `PRAGMA table_info("${table}")`);
  const names = new Set(columns.filter(({ pk }) => pk > 0).map(({ name }) => name));
  for (const { name, unique } of rowsOf<{ name: string; unique: number }>(db, `PRAGMA index_list("${table}")`))
    if (unique === 1)
      for (const column of rowsOf<{ name: string }>(db, `PRAGMA index_info("${name}")`)) names.add(column.name);
  return Number(db.prepare(DAMAGES[kind]!(table, columns, names)).run().changes);
}

/** Lists the tables of a store, each with its file. */
const listAll = (folder: string): [file: string, table: string][] =>
  globSync('**/*.db', { cwd: folder }).flatMap((file) =>
    tablesOf(join(folder, file)).map((table): [string, string] => [file, table]),
  );

test('check finds rows of any table that are removed, changed or doubled', async () => {
  const folder = newFolder();
  await fill(folder);
  assert.deepEqual((await checkStore(openCheck(folder))).findings, []);
  const passed: string[] = [];
  for (const [file, table] of listAll(folder)) {
    const path = join(folder, file);
    copyFileSync(path, `${path}.whole`);
    for (const kind of Object.keys(DAMAGES)) {
      const rows = damage(path, table, kind);
      const { findings, notes } = await checkStore(openCheck(folder));
      assert.ok(rows > 0 || UNCHECKED[table], `${table} needs a row in this test`);
      if (findings.length + notes.length === 0) passed.push(`${table} ${kind}`);
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
      copyFileSync(`${path}.whole`, path);
    }
  }
  const expected = (name: string) => UNCHECKED[name] ?? UNCHECKED[name.split(' ')[0]!];
  assert.deepEqual(
    passed.filter((name) => !expected(name)),
    [],
  );
  const isKnown = (name: string) => passed.some((one) => one === name || one.startsWith(`${name} `));
  assert.deepEqual(
    Object.keys(UNCHECKED).filter((name) => !isKnown(name)),
    [],
    'no longer exceptions',
  );
});

test('a move and a backup have every table of a store', async () => {
  const [folder, backup] = [newFolder(), newFolder()];
  await fill(folder);
  const tables = listAll(folder);
  const move = openMove(folder, folder, passing);
  const found = await Array.fromAsync(listTables(move));
  const moved = new Map(found.map(({ name, columns }) => [name, new Set(columns)]));
  await move.close();
  const left = tables.flatMap(([file, table]) => {
    const columns = moved.get(table);
    return columns
      ? columnsOf(join(folder, file), table).flatMap(({ name }) => (columns.has(name) ? [] : `${table}.${name}`))
      : table;
  });
  assert.deepEqual([...new Set(left)].toSorted(), Object.keys(NOT_MOVED).toSorted());
  await backupStore(folder, backup, NOW);
  assert.deepEqual(new Set(listAll(backup).map(String)), new Set(tables.map(String)));
  for (const [file, table] of tables)
    assert.equal(readRows(join(backup, file), table), readRows(join(folder, file), table), table);
});

test('a removed tenant leaves no row in any table that names it', async () => {
  const folder = newFolder();
  await fill(folder);
  const ofTenant = listAll(folder).filter(
    ([file, table]) => !file.startsWith('tenants') && insertRow(join(folder, file), table),
  );
  const left = () =>
    ofTenant.filter(([file, table]) => readRows(join(folder, file), table).includes('team')).map(([, table]) => table);
  assert.deepEqual(
    left(),
    ofTenant.map(([, table]) => table),
  );
  const store = openFolder(folder);
  await store.tenants.deleteTenant((await store.tenants.findTenant('team'))!);
  await store.close();
  assert.deepEqual(left(), []);
  assert.deepEqual(globSync('tenants/*', { cwd: folder }), []);
});
