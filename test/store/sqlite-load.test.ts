/**
 * The embedded store under load: long queries end in time and stop neither the event loop nor the writes; the log stays short; another process's
 * transaction is waited for, but not for ever.
 */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite, test } from 'node:test';
import { Refusal } from '../../src/errors.ts';
import { parseFilters, type Filter } from '../../src/pims/filter.ts';
import type { PimsStore } from '../../src/pims/port.ts';
import { Database } from '../../src/store/sqlite/database.ts';
import type { SqliteStore, OpenStoreOptions } from '../../src/store/sqlite/store.ts';
import type { Tenant } from '../../src/tenant/port.ts';
import { newFolder, openForAll } from './sqlite-folder.ts';
import { accepted, ask, assertRefused, importAll, NOW, numberOf, readAll, write } from './store-under-test.ts';

async function openTenant(
  options: Partial<OpenStoreOptions> = {},
): Promise<{ store: SqliteStore; tenant: Tenant; pims: PimsStore; folder: string; file: string }> {
  const folder = newFolder();
  const store = openForAll(folder, options);
  const tenant = accepted(await store.tenants.createTenant('team', 'A tenant', NOW));
  return { store, tenant, pims: store.pims(tenant), folder, file: join(folder, 'tenants', `${tenant.storeId}.db`) };
}

/** Runs work and tells how long the event loop stood still at most meanwhile, and how often a timer of a millisecond ticked. */
async function watchLoop<T>(
  work: () => Promise<T>,
): Promise<{ result: T; ticks: number; stillMs: number; tookMs: number }> {
  let [ticks, stillMs, last] = [0, 0, performance.now()];
  const look = (): void => {
    stillMs = Math.max(stillMs, performance.now() - last);
    last = performance.now();
  };
  const timer = setInterval(() => {
    ticks++;
    look();
  }, 1);
  const startedAt = performance.now();
  const result = await work();
  const tookMs = performance.now() - startedAt;
  look();
  clearInterval(timer);
  return { result, ticks, stillMs, tookMs };
}

suite('long queries', () => {
  const BUDGET_MS = 150;
  /** The loop itself gives such a query 5 ms; the rest is what a busy machine may take. Without a budget they take seconds. */
  const STILL_MS_MAX = 700;
  /** The worst there are: fifty filters, long texts, no match; over all records, and led by an index that brings all of them. */
  const scan = Array.from({ length: 50 }, (_, index): Filter => ({
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
    await importAll(
      pims,
      'customers',
      Array.from({ length: 3000 }, (_, index) => ({
        CUSTOMER_NAME: `Customer ${index}`,
        BCITY: 'Springfield',
        NOTES: note,
      })),
    );
    return { pims, ...rest };
  });
  const query = async (pims: PimsStore, filters: readonly Filter[], limit = 100) =>
    pims.queryRecords('customers', {
      filters: parseFilters((await pims.dictionaries()).customers, 'customers', filters),
      limit,
      after: '',
    });

  for (const [name, filters] of Object.entries({
    'that look at every record': scan,
    'led by an index': led,
    'led by the search index': searched,
  }))
    test(`QUERY_TOO_COSTLY for queries ${name}, while the event loop goes on`, async () => {
      const { pims } = await opened;
      const { result, ticks, stillMs, tookMs } = await watchLoop(() => query(pims, filters));
      assertRefused(result, 'QUERY_TOO_COSTLY');
      assert.ok(tookMs >= BUDGET_MS && tookMs < BUDGET_MS * 6, `it took ${tookMs} ms`);
      assert.ok(ticks >= 10, `the timer ticked ${ticks} times`);
      assert.ok(stillMs < STILL_MS_MAX, `the event loop stood still for ${stillMs} ms`);
    });

  test('walks along an index that find nothing spend their budget also where no text is searched', async () => {
    const { pims, tenant, folder } = await opened;
    const hurried = openForAll(folder, { queryBudgetMs: 10 }).pims(tenant);
    assertRefused(await query(hurried, ledExact, 1000), 'QUERY_TOO_COSTLY');
    const { stillMs } = await watchLoop(() => query(pims, ledExact));
    assert.ok(stillMs < STILL_MS_MAX, `the event loop stood still for ${stillMs} ms`);
  });

  test('after one that was cut short, others are answered as before', async () => {
    const { pims } = await opened;
    for (let round = 0; round < 3; round++) {
      assertRefused(await query(pims, scan), 'QUERY_TOO_COSTLY');
      assert.equal(
        (await ask(pims, 'customers', [{ field: 'CUSTOMER_NAME', value: 'CUSTOMER 2999', contains: true }])).records
          .length,
        1,
      );
      assert.equal((await ask(pims, 'customers', [], { limit: 20 })).records.length, 20);
    }
  });

  test('more of them than can wait are refused as SERVICE_BUSY; writes and their checkpoints go on', async () => {
    const { store, pims } = await openTenant({ queryBudgetMs: 10 });
    await importAll(
      pims,
      'customers',
      Array.from({ length: 500 }, () => ({ NOTES: 'Long Text '.repeat(800) })),
    );
    const code = numberOf(await pims.createRecord('customers', {}, write()));
    const over = new AbortController();
    const outcomes = new Set<string>();
    const asking = Array.from({ length: 260 }, async () => {
      while (!over.signal.aborted) {
        const outcome = await query(pims, scan);
        outcomes.add(outcome instanceof Refusal ? outcome.code : 'answered');
        if (outcome instanceof Refusal && outcome.code === 'SERVICE_BUSY') await sleep(20);
      }
    });
    for (let count = 0; count < 520; count++) {
      if (count % 5 === 0) accepted(await pims.updateCustomer(code, { CUSTOMER_NAME: `name ${count}` }, write()));
      else await store.usage.addUsage([{ teamId: 'team', day: '2026-11-20', operation: 'updateCustomer', calls: 1 }]);
    }
    // Every write was acknowledged before the asking ended, so none of them waited for its end.
    over.abort();
    await Promise.all(asking);
    assert.deepEqual(
      [...outcomes].toSorted((a, b) => a.localeCompare(b)),
      ['QUERY_TOO_COSTLY', 'SERVICE_BUSY'],
    );
  });
});

suite('writes', () => {
  /** Begun before the other tests, so that the five seconds go by while they run. */
  const held = openTenant().then(({ pims, file }) => {
    const other = new Database(file, { mode: 'write', busyTimeoutMs: 0 });
    other.run('BEGIN IMMEDIATE');
    return {
      pims,
      other,
      outcomes: Promise.all([
        pims.createRecord('customers', {}, write()),
        pims.createRecord('orders', { ORDER_TYPE: 'quote' }, write()),
      ]),
    };
  });

  test('20,000 of them, one after another in ten places, leave the log within 24 MiB at any time', async () => {
    const { pims, file } = await openTenant();
    const codes = await Promise.all(
      Array.from({ length: 10 }, async () => numberOf(await pims.createRecord('customers', {}, write()))),
    );
    let longest = 0;
    await Promise.all(
      codes.map(async (code) => {
        for (let count = 1; count <= 2000; count++) {
          accepted(
            await pims.updateCustomer(
              code,
              { CUSTOMER_NAME: `name ${count}`, NOTES: `note ${count} `.repeat(50) },
              write(),
            ),
          );
          if (count % 20 === 0) longest = Math.max(longest, statSync(`${file}-wal`).size);
        }
      }),
    );
    assert.ok(longest < 24 * 1024 * 1024, `the log was ${longest} bytes long`);
    const names = (await readAll(pims, 'customers')).map((customer) => customer['CUSTOMER_NAME']);
    assert.deepEqual(new Set(names), new Set(['name 2000']));
  });

  test('one batch after another leaves the log of the counts short too', async () => {
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

  test('wait for the transaction of another process without stopping the event loop', async () => {
    const { pims, file } = await openTenant();
    const other = new Database(file, { mode: 'write', busyTimeoutMs: 0 });
    other.run('BEGIN IMMEDIATE');
    const { result, ticks, stillMs } = await watchLoop(async () => {
      const creating = pims.createRecord('customers', {}, write());
      await sleep(120);
      assert.deepEqual(await readAll(pims, 'customers'), [], 'reads do not wait');
      other.run('COMMIT');
      return creating;
    });
    accepted(result);
    assert.ok(ticks >= 20 && stillMs < 100, `${ticks} ticks, still for ${stillMs} ms`);
    other.close();
  });

  test('STORE_UNAVAILABLE when another process goes on for five seconds: nothing was written, and the store is as before', async () => {
    const { pims, other, outcomes } = await held;
    for (const outcome of await outcomes) assertRefused(outcome, 'STORE_UNAVAILABLE');
    other.run('ROLLBACK');
    other.close();
    assert.deepEqual([await readAll(pims, 'customers'), await readAll(pims, 'orders')], [[], []]);
    accepted(await pims.createRecord('customers', {}, write()));
  });
});
