/** Tests the files of the embedded store: how they are made and opened, and that schema and field dictionary agree. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import { Refusal } from '../../src/errors.ts';
import { BUILT_IN_FIELDS, RECORD_TYPES, type RecordType } from '../../src/pims/rules/fields.ts';
import { Database } from '../../src/store/sqlite/files/database.ts';
import type { SqliteStore } from '../../src/store/sqlite/store.ts';
import type { Tenant } from '../../src/tenant/tenant-port.ts';
import { times } from '../kit/lists.ts';
import { begin, ending } from './processes.ts';
import { newFolder, openFolder, runProcess } from './sqlite-folder.ts';
import { NOW, accepted, assertRefused, entry, lineOf, Pims } from './store-under-test.ts';

const makeTenant = async (store: SqliteStore, teamId = 'team'): Promise<Tenant> =>
  accepted(await store.tenants.createTenant(teamId, 'A tenant', NOW));
const fileOf = (folder: string, { storeId }: Tenant): string => join(folder, 'tenants', `${storeId}.db`);

/** Makes a store with a tenant that has an order, and closes it. */
async function makeFolder(): Promise<{ folder: string; tenant: Tenant }> {
  const folder = newFolder();
  const store = openFolder(folder);
  const tenant = await makeTenant(store);
  await new Pims(store.pims(tenant)).createOrder();
  await store.usage.addUsage([{ teamId: 'team', day: '2026-11-20', operation: 'createOrder', calls: 1 }]);
  await store.close();
  return { folder, tenant };
}

suite('a connection', () => {
  test('that writes has a write-ahead log and syncs at every commit', () => {
    const folder = newFolder();
    mkdirSync(folder, { recursive: true });
    const db = new Database(join(folder, 'x.db'), { mode: 'make', busyTimeoutMs: 0 });
    assert.deepEqual(db.row('PRAGMA synchronous'), [2]);
    assert.deepEqual(db.row('PRAGMA journal_mode'), ['wal']);
    assert.deepEqual(db.row('PRAGMA busy_timeout'), [0]);
    db.close();
  });

  test('whose write-ahead log SQLite silently failed to set up is refused', () => {
    assert.throws(
      () => new Database(':memory:', { mode: 'make', busyTimeoutMs: 0 }),
      /journal_mode is memory, but must be wal/,
    );
  });

  test('that reads cannot write', async () => {
    const { folder, tenant } = await makeFolder();
    const db = new Database(fileOf(folder, tenant), { mode: 'read', busyTimeoutMs: 0 });
    for (const sql of ['DELETE FROM ORDERS', 'CREATE TABLE T (A)', 'UPDATE COUNTERS SET NEXT = 1'])
      assert.throws(() => db.runSql(sql), /readonly/);
    assert.deepEqual(db.rows('SELECT ORDER_NUMBER FROM ORDERS'), [['10001']]);
    db.close();
  });

  test('can reach no other file', async () => {
    const { folder, tenant } = await makeFolder();
    const db = new Database(fileOf(folder, tenant), { mode: 'make', busyTimeoutMs: 0 });
    assert.throws(() => db.exec(`ATTACH '${join(folder, 'control.db')}' AS control`), /too many attached databases/);
    db.close();
  });
});

suite('the schema', () => {
  test('has exactly the columns of the field dictionary, and an index for each indexed field', async () => {
    const { folder, tenant } = await makeFolder();
    const db = new DatabaseSync(fileOf(folder, tenant), { readOnly: true });
    for (const [recordType, { table }] of Object.entries(RECORD_TYPES)) {
      const fields = BUILT_IN_FIELDS[recordType as RecordType];
      const own = recordType === 'lines' ? ['SORT_KEY'] : ['ID', 'SORT_KEY'];
      const columns = db
        .prepare(`SELECT name FROM pragma_table_info('${table}')`)
        .all()
        .map(({ name }) => name);
      const added =
        recordType === 'lines'
          ? []
          : recordType === 'orders'
            ? ['_VERSION', '_CANCELLED', '_TOTALS', '_UNSTOCKED']
            : ['_VERSION'];
      assert.deepEqual(columns, [...own, ...fields.map(({ name }) => name), ...added], table);
      const indexed = db
        .prepare(
          `SELECT coalesce(i.name, substr(l.name, length('${table}_') + 1)) name
           FROM pragma_index_list('${table}') l, pragma_index_info(l.name) i WHERE i.seqno = 0`,
        )
        .all()
        .map(({ name }) => name);
      const { key } = RECORD_TYPES[recordType as RecordType];
      const expected = fields.filter((field) => field.indexed).map(({ name }) => (name === key ? 'SORT_KEY' : name));
      assert.deepEqual(new Set(indexed), new Set(expected), table);
    }
    const shown = db
      .prepare('PRAGMA integrity_check')
      .all()
      .map((row) => Object.values(row));
    assert.deepEqual(shown, [['ok']]);
    db.close();
  });

  test('has search indexes that are rewritten late and in small pages', async () => {
    const { folder, tenant } = await makeFolder();
    const db = new DatabaseSync(fileOf(folder, tenant), { readOnly: true });
    // With other values, a write can wait long until the index is rewritten (decision 0037).
    for (const table of ['ORDERS', 'CUSTOMER', 'INVENTORY'])
      assert.deepEqual(
        db.prepare(`SELECT k, v FROM ${table}_SEARCH_config WHERE k <> 'version' ORDER BY k`).all().map(Object.values),
        [
          ['deletemerge', 40],
          ['pgsz', 1000],
        ],
        table,
      );
    db.close();
  });

  const KINDS = {
    999: /written by a newer version of/,
    1: /written by Storeroom before its first release \(schema 1; this version, [\d.]+, supports \d+\)/,
  };
  for (const [version, says] of Object.entries(KINDS))
    test(`with the number ${version} is refused and left unchanged`, async () => {
      for (const name of ['control.db', 'usage.db', 'tenant']) {
        const { folder, tenant } = await makeFolder();
        const file = name === 'tenant' ? fileOf(folder, tenant) : join(folder, name);
        const reported: string[] = [];
        const db = new DatabaseSync(file);
        db.exec(`PRAGMA user_version=${version}`);
        db.close();
        const open = (): unknown => {
          const store = openFolder(folder, { report: (event) => reported.push(event) });
          return new Pims(store.pims(tenant));
        };
        assert.throws(open, name === 'tenant' ? { code: 'TENANT_UNAVAILABLE' } : says);
        if (name === 'tenant') assert.match(reported.join(), says);
        const after = new DatabaseSync(file, { readOnly: true });
        assert.deepEqual(Object.values(after.prepare('PRAGMA user_version').get()!), [Number(version)]);
        after.close();
      }
    });

  test('is made once when two processes open an empty folder at the same moment', async () => {
    for (let round = 0; round < 2; round++) {
      const folder = newFolder();
      const script = `
        const code = await (await pims()).createCustomer();
        await store.close();
        process.stdout.write(code);`;
      const children = await Promise.all([runProcess(folder, script), runProcess(folder, script)]);
      const endings = children.map(ending);
      for (const child of children) begin(child);
      const outputs = (await Promise.all(endings)).map(({ code, output }) => `${code} ${output}`);
      assert.deepEqual(outputs.toSorted(), ['0 10001', '0 10002']);
    }
  });

  test('has in the search index the current searched text of a record, and no earlier text', async () => {
    const { folder, tenant } = await makeFolder();
    const store = openFolder(folder);
    const pims = new Pims(store.pims(tenant));
    const code = await pims.createCustomer({ CUSTOMER_NAME: 'first name' });
    for (let round = 0; round < 100; round++)
      accepted(await pims.updateCustomer(code, { CUSTOMER_NAME: `name ${round}`, BNAME: 'Lasting' }));
    accepted(await pims.updateCustomer(code, { CUSTOMER_NAME: 'Zebra' }));
    await store.close();
    const db = new DatabaseSync(fileOf(folder, tenant), { readOnly: true });
    const find = (trigram: string): number =>
      db.prepare('SELECT rowid FROM CUSTOMER_SEARCH WHERE CUSTOMER_SEARCH MATCH ?').all(`"${trigram}"`).length;
    assert.deepEqual(['FIR', 'NAM', 'E 9', 'ZEB', 'BRA', 'LAS'].map(find), [0, 0, 0, 1, 1, 1]);
    db.close();
  });

  test('can have 400 fields with the longest names, which can be read, written and queried', async () => {
    const { folder, tenant } = await makeFolder();
    const store = openFolder(folder);
    const pims = new Pims(store.pims(tenant));
    const longName = (index: number): string => `F${index}_`.padEnd(63, 'X');
    // Adding fields one by one would take long. The store reads the fields from the file.
    const db = new DatabaseSync(fileOf(folder, tenant), { timeout: 5000 });
    db.exec('BEGIN');
    for (const recordType of ['orders', 'lines'] as const)
      for (let index = BUILT_IN_FIELDS[recordType].length; index < 399; index++) {
        db.exec(
          `ALTER TABLE ${RECORD_TYPES[recordType].table} ADD COLUMN "${longName(index)}" TEXT NOT NULL DEFAULT ''`,
        );
        db.prepare('INSERT INTO CUSTOM_FIELDS VALUES (?, ?, ?)').run(recordType, longName(index), 'text');
      }
    db.exec('COMMIT');
    db.close();
    for (const recordType of ['orders', 'lines'] as const) {
      accepted(await pims.addField({ recordType, name: longName(399), type: 'text' }));
      assertRefused(await pims.addField({ recordType, name: longName(400), type: 'text' }), 'COMMAND_REFUSED');
    }
    const order = await pims.createOrder({ [longName(399)]: 'x', [longName(100)]: 'y' });
    const line = await pims.newLine(order, { [longName(399)]: 'z' });
    assert.equal(
      lineOf(await pims.updateLine(order, line['LINE_REF_LOCK_CODE']!, { [longName(100)]: 'w' }))[longName(100)],
      'w',
    );
    const found = await pims.readOrder(order);
    const got = [found.order[longName(399)], found.lines[0]![longName(399)], Object.keys(found.order).length];
    assert.deepEqual(got, ['x', 'z', 400]);
    const filters = times(50, (index) => ({
      field: longName(399 - index),
      value: 'X',
      contains: true,
      conjunction: 'OR',
    }));
    assert.equal((await pims.ask('orders', filters)).records.length, 1);
    await store.close();
  });
});

suite('a folder', () => {
  test('has one service: a second is refused until the first has ended, in any way', async () => {
    const folder = newFolder();
    const [first, second] = [openFolder(folder), openFolder(folder)];
    first.lock();
    const lock = (store: SqliteStore): unknown => {
      try {
        return store.lock();
      } catch (fault) {
        return fault;
      }
    };
    assertRefused(lock(second), 'COMMAND_REFUSED');
    assert.match((lock(second) as Refusal).message, /Another service, move or restore is using/);
    await new Pims(second.pims(await makeTenant(second))).createOrder({ NOTES: 'commands work beside the service' });
    await first.close();
    assert.equal(lock(second), undefined);
    await second.close();

    const goesOn = 'globalThis.channel = new MessageChannel(); channel.port1.onmessage = () => undefined;';
    const service = await runProcess(folder, `store.lock(); process.stdout.write('locked'); ${goesOn}`);
    begin(service);
    await new Promise((resolve) => service.stdout!.once('data', resolve));
    const third = openFolder(folder);
    assertRefused(lock(third), 'COMMAND_REFUSED');
    const ended = ending(service);
    service.kill('SIGKILL');
    await ended;
    assert.equal(lock(third), undefined);
    await third.close();
  });

  test('has no data of a removed tenant', async () => {
    const { folder, tenant } = await makeFolder();
    const store = openFolder(folder);
    await new Pims(store.pims(tenant)).createOrder();
    await store.tenants.deleteTenant(tenant);
    assert.deepEqual(readdirSync(join(folder, 'tenants')), []);
    await store.close();
  });

  test('can lose tenants while threads that have read their files close them', async () => {
    const store = openFolder(newFolder());
    for (const team of times(100, (at) => `t${at}`)) {
      const tenant = await makeTenant(store, team);
      const pims = store.pims(tenant);
      await new Pims(pims).createOrder();
      await pims.look('serials', () => new AbortController().signal, 'A');
      await store.tenants.deleteTenant(tenant);
    }
    await store.close();
  });

  test('that fails to delete a tenant’s file keeps the tenant, without keys, until a second removal', async () => {
    const folder = newFolder();
    const store = openFolder(folder);
    const tenant = await makeTenant(store);
    await store.tenants.replaceKeys('team', { apiId: 'id', secretHash: new Uint8Array(32) }, NOW, entry());
    await store.usage.addUsage([{ teamId: 'team', day: '2026-11-20', operation: 'getOrder', calls: 1 }]);
    const file = fileOf(folder, tenant);
    rmSync(file);
    mkdirSync(file);
    await assert.rejects(store.tenants.deleteTenant(tenant));
    assert.equal(await store.tenants.findCaller('team', 'id', NOW), undefined);
    assert.deepEqual(await store.tenants.findTenant('team'), tenant);
    rmdirSync(file);
    await store.tenants.deleteTenant(tenant);
    assert.equal(await store.tenants.findTenant('team'), undefined);
    assert.equal((await store.usage.loadUsage('team', '2026-11')).total, 0);
    await store.close();
  });

  test('does not let anyone change its audit log or delete a record of it', async () => {
    const { folder, tenant } = await makeFolder();
    const store = openFolder(folder);
    await store.audit.appendAudit('team', entry());
    using control = new DatabaseSync(join(folder, 'control.db'));
    for (const statement of ["UPDATE AUDIT SET ACTOR = 'nobody'", 'DELETE FROM AUDIT'])
      assert.throws(() => control.exec(statement), /the audit log is never changed/);
    await store.tenants.deleteTenant(tenant);
    assert.equal(control.prepare('SELECT count(*) AS ROWS FROM AUDIT').get()!['ROWS'], 0);
    await store.close();
  });

  test('is left without logs when the store is closed', async () => {
    const { folder } = await makeFolder();
    const files = readdirSync(folder, { recursive: true }).map(String);
    assert.deepEqual(
      files.filter((name) => /-(wal|shm)$/.test(name)),
      [],
    );
  });

  test('may have more tenants than open files: simultaneous calls of all of them succeed', async () => {
    const { folder, tenant } = await makeFolder();
    const store = openFolder(folder, { openTenantsMax: 20 });
    const tenants = await Promise.all(times(100, (index) => makeTenant(store, `many-${index}`)));
    // The files are copies, because making each one is not what this test is about.
    for (const one of tenants) {
      copyFileSync(fileOf(folder, tenant), fileOf(folder, one));
      using db = new DatabaseSync(fileOf(folder, one));
      db.prepare('UPDATE OWNER SET TEAM_ID = ?').run(one.teamId);
    }
    assert.ok(existsSync(fileOf(folder, tenants[0]!)));
    const numbers = await Promise.all(
      tenants.map(async (one) => {
        // Each call gets the store again, as in the service, because its file may have been closed meanwhile.
        const pims = () => new Pims(store.pims(one));
        await pims().port.dictionaries();
        const number = await pims().createOrder();
        const { lines } = await pims().readOrder(number);
        return `${number} ${lines.length}`;
      }),
    );
    assert.deepEqual(new Set(numbers), new Set(['10002 0']));
    assert.equal(await new Pims(store.pims(tenants[0]!)).createOrder(), '10003', 'one that was closed is opened again');
    await store.close();
  });

  test('that was closed fails a late call and does not crash', async () => {
    const { folder, tenant } = await makeFolder();
    const store = openFolder(folder);
    const pims = new Pims(store.pims(tenant));
    await store.close();
    await assert.rejects(pims.port.dictionaries(), /database is not open/);
  });
});
