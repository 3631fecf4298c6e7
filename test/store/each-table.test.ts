/**
 * Tests the tables that there are, read from the schema: whether check, a move and the check of a backup find damage to
 * each of them, and whether a move, a backup and the removal of a tenant handle each of them. A table that they leave
 * out is listed with its reason.
 */
import assert from 'node:assert/strict';
import { copyFileSync, globSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Refusal } from '../../src/errors.ts';
import { checkStore } from '../../src/store/check/check.ts';
import { moveStore } from '../../src/store/move/move.ts';
import { countRows, listTables } from '../../src/store/move/tables.ts';
import { backupStore, checkBackup } from '../../src/store/sqlite/backup/backup.ts';
import { openMove } from '../../src/store/sqlite/move-store.ts';
import { openCheck } from '../../src/store/sqlite/files/check-store.ts';
import { passing } from '../kit/clock.ts';
import { newFolder, openFolder } from './sqlite-folder.ts';
import { columnsOf, damage, DAMAGES, fill, insertRow, listAll, namesTenant, readRows } from './stored-tables.ts';
import { NOW } from './store-under-test.ts';

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
  LINE_SERIALS: 'they only find lines by their serial numbers',
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
const RENAMED = 'moved as USAGE_MONTHS and KEY_USAGE';
/** The tables, or kinds of damage to one, that a move does not compare, and why. */
const UNCOMPARED: Record<string, string> = {
  'COUNTERS doubled': 'names that nothing reads',
};
/** The tables and columns that a move leaves out, or has under other names, and why. */
const NOT_MOVED: Record<string, string> = {
  SESSIONS: 'users sign in again',
  WEBHOOK_DELIVERIES: 'the webhooks come with their positions',
  WEBHOOK_SENDER: 'the new store has no sender yet',
  INSTALLATION: IDENTITY,
  OWNER: IDENTITY,
  MONTH_USAGE: RENAMED,
  REQUEST_BYTES: 'counted again from the blocks',
  'AUDIT.ONCE': 'a write that is repeated across a move may be recorded twice',
  'CUSTOMER.ID': IDENTITY,
  'INVENTORY.ID': IDENTITY,
  'ORDERS.ID': IDENTITY,
  'TENANTS.STORE_ID': IDENTITY,
  'WEBHOOKS.DELIVERIES': 'the deliveries are not moved, and begin at 1 again',
};

/** Asserts that exactly the listed tables, or kinds of damage to one, were passed over. */
function assertListed(passed: readonly string[], exceptions: Readonly<Record<string, string>>): void {
  const isListed = (name: string): boolean => [name, name.split(' ')[0]!].some((one) => one in exceptions);
  assert.deepEqual(
    passed.filter((name) => !isListed(name)),
    [],
  );
  const isPassed = (name: string): boolean => passed.some((one) => one === name || one.startsWith(`${name} `));
  assert.deepEqual(
    Object.keys(exceptions).filter((name) => !isPassed(name)),
    [],
    'no longer exceptions',
  );
}

/** Replaces a damaged file with its copy. */
function putBack(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
  copyFileSync(`${path}.whole`, path);
}

test('check finds rows of any table that are removed, changed or doubled', async () => {
  const folder = newFolder();
  await fill(openFolder(folder));
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
      putBack(path);
    }
  }
  assertListed(passed, UNCHECKED);
});

/**
 * Moves a store, and calls `copied` when everything is copied and nothing is compared yet. Returns
 * the message of the refusal.
 */
async function moveInto(from: string, to: string, copied: () => void): Promise<string | undefined> {
  const [source, target] = [openMove(from, from, passing), openMove(to, to, passing)];
  let left = 0;
  try {
    const rows = (await Array.fromAsync(listTables(source), countRows)).reduce((sum, count) => sum + count, 0);
    const start = (work: number): void => void (left = work - rows);
    const advance = (done: number): void => void ((left -= done) || copied());
    await moveStore({ store: source, name: from }, { store: target, name: to }, { start, advance });
    return undefined;
  } catch (fault) {
    if (fault instanceof Refusal) return fault.message;
    throw fault;
  } finally {
    await source.close();
    await target.close();
  }
}

test('a move finds rows of any table of the copy that are removed, changed or doubled', async () => {
  const [from, to] = [newFolder(), newFolder()];
  await fill(openFolder(from));
  const tables = listAll(from);
  for (const [file, table] of tables)
    if (readRows(join(from, file), table) === '[]') insertRow(join(from, file), table);
  const passed: string[] = [];
  for (const [, table] of tables.filter(([, name]) => [undefined, RENAMED].includes(NOT_MOVED[name])))
    for (const kind of Object.keys(DAMAGES)) {
      rmSync(to, { recursive: true, force: true });
      let rows = 0;
      const message = await moveInto(from, to, () => {
        const [file] = listAll(to).find(([, name]) => name === table)!;
        rows = damage(join(to, file), table, kind);
      });
      assert.ok(rows > 0, `${table} needs a row in this test`);
      if (message === undefined) passed.push(`${table} ${kind}`);
      else assert.match(message, /differs/);
    }
  assertListed(passed, UNCOMPARED);
});

// Each file is compared as a whole, so one kind of damage to each table is enough. sqlite-backup has the restore.
test('the check of a backup finds rows of any table that are removed, changed or doubled', async () => {
  const [folder, backup] = [newFolder(), newFolder()];
  await fill(openFolder(folder));
  await backupStore(folder, backup, NOW);
  assert.deepEqual((await checkBackup(backup)).findings, []);
  for (const [at, [file, table]] of listAll(backup).entries()) {
    const path = join(backup, file);
    copyFileSync(path, `${path}.whole`);
    insertRow(path, table);
    const kind = Object.keys(DAMAGES)[at % 3]!;
    assert.ok(damage(path, table, kind) > 0, table);
    const [finding] = (await checkBackup(backup)).findings;
    assert.deepEqual([finding?.place, finding?.isDamage], [file, true], `${table} ${kind}`);
    putBack(path);
    rmSync(`${path}.whole`);
  }
});

test('a move and a backup have every table of a store, with its rows', async () => {
  const [folder, to, backup] = [newFolder(), newFolder(), newFolder()];
  await fill(openFolder(folder));
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
  assert.equal(await moveInto(folder, to, () => undefined), undefined);
  const copies = new Map(listAll(to).map(([file, table]) => [table, join(to, file)]));
  for (const [file, table] of tables.filter(([, name]) => moved.has(name))) {
    const [was, is] = [join(folder, file), copies.get(table)!].map((path) => readRows(path, table, moved.get(table)));
    assert.equal(is, was, table);
  }
  await backupStore(folder, backup, NOW);
  assert.deepEqual(new Set(listAll(backup).map(String)), new Set(tables.map(String)));
  for (const [file, table] of tables)
    assert.equal(readRows(join(backup, file), table), readRows(join(folder, file), table), table);
});

test('a removed tenant leaves no row in any table that names it', async () => {
  const folder = newFolder();
  await fill(openFolder(folder));
  const ofTenant = listAll(folder).filter(
    ([file, table]) => !file.startsWith('tenants') && namesTenant(join(folder, file), table),
  );
  for (const [file, table] of ofTenant) insertRow(join(folder, file), table);
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
