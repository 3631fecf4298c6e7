/** Tests the embedded store under load: long queries, the length of the WAL, and transactions of other processes. */
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { EventEmitter, once, setMaxListeners } from 'node:events';
import { setImmediate as nextRound } from 'node:timers/promises';
import { suite, test, type TestContext } from 'node:test';
import { Refusal } from '../../src/errors.ts';
import type { Filter } from '../../src/pims/reads/query.ts';
import { Database } from '../../src/store/sqlite/files/database.ts';
import type { SqliteStore, OpenStoreOptions } from '../../src/store/sqlite/store.ts';
import type { Tenant } from '../../src/tenant/tenant-port.ts';
import { PATIENT } from '../kit/caller.ts';
import { TestClock } from '../kit/clock.ts';
import { times } from '../kit/lists.ts';
import { trials } from '../kit/trials.ts';
import { newFolder, openForAll } from './sqlite-folder.ts';
import { NOW, accepted, assertRefused, Pims } from './store-under-test.ts';

async function openTenant(
  options: Partial<OpenStoreOptions> = {},
): Promise<{ store: SqliteStore; tenant: Tenant; pims: Pims; folder: string; file: string }> {
  const folder = newFolder();
  const store = openForAll(folder, options);
  const tenant = accepted(await store.tenants.createTenant('team', 'A tenant', NOW));
  return {
    store,
    tenant,
    pims: new Pims(store.pims(tenant)),
    folder,
    file: join(folder, 'tenants', `${tenant.storeId}.db`),
  };
}

/** Returns whether reads that begin after this work are answered before it ends, because it runs in a worker. */
async function isOvertaken(pims: Pims, work: Promise<unknown>): Promise<boolean> {
  let isOver = false;
  void work.finally(() => (isOver = true));
  for (let read = 0; read < 5; read++) await pims.port.getRecord('customers', 'nobody');
  return !isOver;
}

suite('long queries', () => {
  const BUDGET_MS = 150;
  /**
   * The worst queries: fifty filters on long texts without a match. `scan` reads all records, and an index leads `led`
   * to all of them.
   */
  const scan = times(50, (index): Filter => ({
    field: 'NOTES',
    value: `needle ${index}`,
    contains: true,
    conjunction: 'OR',
  }));
  const led = scan.slice(0, 25).flatMap((filter): Filter[] => [
    { field: 'BCITY', value: 'Springfield', conjunction: 'OR' },
    { ...filter, conjunction: 'AND' },
  ]);
  const ledExact = led.map((filter): Filter =>
    filter.contains ? { field: 'NOTES', value: String(filter.value), conjunction: 'AND' } : filter,
  );
  const searched = scan.slice(0, 25).flatMap((filter): Filter[] => [
    { field: 'CUSTOMER_NAME', value: 'customer', contains: true, conjunction: 'OR' },
    { ...filter, conjunction: 'AND' },
  ]);

  const opened = openTenant({ queryBudgetMs: BUDGET_MS }).then(async ({ pims, ...rest }) => {
    const note = 'Long Text '.repeat(800);
    await pims.importAll(
      'customers',
      times(3000, (index) => ({ CUSTOMER_NAME: `Customer ${index}`, BCITY: 'Springfield', NOTES: note })),
    );
    return { pims, ...rest };
  });
  const query = (pims: Pims, filters: readonly Filter[], limit = 100) =>
    pims.port.queryRecords('customers', { filters, limit, after: '', ...PATIENT });

  for (const [name, filters] of Object.entries({
    'that look at every record': scan,
    'led by an index': led,
    'led by the search index': searched,
  }))
    test(`QUERY_TOO_COSTLY for queries ${name}, which reads overtake`, async () => {
      const { pims } = await opened;
      const asking = query(pims, filters);
      assert.ok(await isOvertaken(pims, asking));
      assertRefused(await asking, 'QUERY_TOO_COSTLY');
    });

  test('walks along an index that find nothing use up their budget even if no text is searched', async () => {
    const { tenant, folder } = await opened;
    const hurried = new Pims(openForAll(folder, { queryBudgetMs: 10 }).pims(tenant));
    assertRefused(await query(hurried, ledExact, 1000), 'QUERY_TOO_COSTLY');
  });

  test('after one was cancelled, others succeed as before', async () => {
    const { pims } = await opened;
    for (let round = 0; round < 2; round++) {
      assertRefused(await query(pims, scan), 'QUERY_TOO_COSTLY');
      const { records } = await pims.ask('customers', [
        { field: 'CUSTOMER_NAME', value: 'CUSTOMER 2999', contains: true },
      ]);
      assert.equal(records.length, 1);
      assert.equal((await pims.ask('customers', [], { limit: 20 })).records.length, 20);
    }
  });

  test('beyond those that may wait get TOO_MANY_QUERIES; writes and their checkpoints continue', async () => {
    const { store, pims } = await openTenant({ queryBudgetMs: 10 });
    const customers = times(500, () => ({ NOTES: 'Long Text '.repeat(800) }));
    await pims.importAll('customers', customers);
    const code = await pims.createCustomer({});
    const over = new AbortController();
    const outcomes = new Set<string>();
    const writes = new EventEmitter();
    setMaxListeners(0, writes);
    const asking = Array.from({ length: 260 }, async () => {
      while (!over.signal.aborted) {
        const outcome = await query(pims, scan);
        outcomes.add(outcome instanceof Refusal ? outcome.code : 'answered');
        const isRefused = outcome instanceof Refusal && outcome.code === 'TOO_MANY_QUERIES';
        if (isRefused && !over.signal.aborted) await once(writes, 'write');
      }
    });
    for (let count = 0; count < 520; count++) {
      if (count % 5 === 0) accepted(await pims.updateCustomer(code, { CUSTOMER_NAME: `name ${count}` }));
      else await store.usage.addUsage([{ teamId: 'team', day: '2026-11-20', operation: 'updateCustomer', calls: 1 }]);
      if (count % 20 === 0) writes.emit('write');
    }
    // All writes were acknowledged while queries were running, so no write waited for their end.
    over.abort();
    writes.emit('write');
    await Promise.all(asking);
    assert.deepEqual([...outcomes].toSorted(), ['QUERY_TOO_COSTLY', 'TOO_MANY_QUERIES']);
  });
});

/** Interval at which a write checks whether the file is free. */
const BUSY_RETRY_MS = 5;
const WRITES = trials('WRITES', { quick: 6000, all: 20_000 });
/** Returns how often the WAL was restarted. SQLite counts this in its header. */
const countLogRestarts = (file: string): number => readFileSync(`${file}-wal`).readUInt32BE(12);

suite('writes', () => {
  test(`${WRITES} of them, one after another in ten places, keep the log within 24 MiB at any time`, async () => {
    const { pims, file } = await openTenant();
    const codes = await Promise.all(Array.from({ length: 10 }, async () => await pims.createCustomer({})));
    const rounds = WRITES / codes.length;
    let longest = 0;
    for (let round = 1; round <= rounds; round++) {
      const change = { CUSTOMER_NAME: `name ${round}`, NOTES: `note ${round} `.repeat(50) };
      await Promise.all(codes.map(async (code) => accepted(await pims.updateCustomer(code, change))));
      if (round % 20 === 0) longest = Math.max(longest, statSync(`${file}-wal`).size);
    }
    assert.ok(longest < 24 * 1024 * 1024, `the log was ${longest} bytes long`);
    assert.ok(countLogRestarts(file) > 0, 'all of it was never longer than that');
    const names = (await pims.readAll('customers')).map((customer) => customer['CUSTOMER_NAME']);
    assert.deepEqual(new Set(names), new Set([`name ${rounds}`]));
  });

  test('one batch after another keeps the log of the counts short too', async () => {
    const { store, file } = await openTenant();
    const log = join(file, '../../usage.db-wal');
    let longest = 0;
    for (let count = 1; count <= 1000; count++) {
      await store.usage.addUsage([{ teamId: 'team', day: '2026-11-20', operation: 'getOrder', calls: 1 }]);
      if (count % 20 === 0) longest = Math.max(longest, statSync(log).size);
    }
    assert.ok(longest < 8 * 1024 * 1024, `the log was ${longest} bytes long`);
    assert.equal((await store.usage.loadUsage('team', '2026-11')).total, 1000);
  });

  /** Opens a tenant whose file another process has locked, with writes that wait for it. The clock stands still. */
  async function openHeld(context: TestContext, records: readonly ('customers' | 'orders')[]) {
    const clock = new TestClock();
    let end = (): Promise<void> => Promise.resolve();
    // Ends the lock even if the test fails, before the store is closed, because closing waits for the writes.
    context.after(() => end());
    const { pims, file } = await openTenant({ clock });
    const other = new Database(file, { mode: 'write', busyTimeoutMs: 0 });
    other.runSql('BEGIN IMMEDIATE');
    const before = clock.waiting;
    const outcomes = Promise.all(records.map((recordType) => pims.createRecord(recordType, {})));
    while (clock.waiting === before) await nextRound();
    /** Moves the clock in small steps, as time passes for a process that is not busy. */
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += BUSY_RETRY_MS) {
        clock.move(BUSY_RETRY_MS);
        await nextRound();
      }
    };
    end = async () => {
      other.close();
      await pass(BUSY_RETRY_MS);
    };
    return { pims, other, outcomes, pass };
  }

  test('wait for the transaction of another process, and reads do not', async (context) => {
    const { pims, other, outcomes, pass } = await openHeld(context, ['customers']);
    assert.ok(await isOvertaken(pims, outcomes));
    other.runSql('COMMIT');
    await pass(BUSY_RETRY_MS);
    for (const outcome of await outcomes) accepted(outcome);
  });

  test('STORE_UNAVAILABLE only after another process writes for five seconds: nothing was written', async (context) => {
    const { pims, other, outcomes, pass } = await openHeld(context, ['customers', 'orders']);
    await pass(5000);
    assert.ok(await isOvertaken(pims, outcomes));
    await pass(BUSY_RETRY_MS);
    assert.ok(!(await isOvertaken(pims, outcomes)));
    for (const outcome of await outcomes) assertRefused(outcome, 'STORE_UNAVAILABLE');
    other.runSql('ROLLBACK');
    assert.deepEqual([await pims.readAll('customers'), await pims.readAll('orders')], [[], []]);
    accepted(await pims.createRecord('customers', {}));
  });
});
