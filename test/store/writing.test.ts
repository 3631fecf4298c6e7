/**
 * What scripts promise to stores that undo nothing by themselves: a write that is refused, and a row that is
 * rejected, has changed nothing by then. Runs them on a SQLite connection of their own, without the savepoints that the
 * embedded store puts around them.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { orThrow } from '../../src/errors.ts';
import { buildDictionaries, type RecordType } from '../../src/pims/fields.ts';
import type { PimsStore } from '../../src/pims/port.ts';
import type { Values } from '../../src/pims/values.ts';
import { ScriptRunner } from '../../src/store/pims/script-runner.ts';
import { Database, runWriting } from '../../src/store/sqlite/database.ts';
import { migrate } from '../../src/store/sqlite/migrate.ts';
import { buildPimsSql } from '../../src/store/sqlite/pims-sql.ts';
import { temporaryFolder } from '../kit/service.ts';
import {
  addLine,
  advanceOrder,
  assertRefused,
  createRecord,
  idempotency,
  lineOf,
  NOW,
  numberOf,
  updateCustomer,
  updateLine,
  write,
} from './store-under-test.ts';

suite('a script without anything around it', async () => {
  const db = new Database(`${temporaryFolder()}/pims.db`, { mode: 'write', busyTimeoutMs: 0 });
  migrate(db, 'pims');
  const sql = buildPimsSql(buildDictionaries([])).script;
  const scripts = new ScriptRunner({
    sql: () => sql,
    refresh: async () => undefined,
    commit: async (work) => runWriting(db, work()),
  });
  const pims = { write: (script, key) => scripts.run(script, key) } as Pick<PimsStore, 'write'> as PimsStore;
  const countChanges = (): number => db.row<[number]>('SELECT total_changes()')![0];
  const importRows = (recordType: RecordType, ...rows: Values[]) => {
    const numbered = rows.map((values, index) => ({ lineNumber: index + 2, values }));
    return orThrow(runWriting(db, scripts.importBatch(recordType, numbered, NOW)));
  };
  const strict = write({ strict: true });
  const nothing = { quantities: new Map<string, string>(), serials: new Map<string, string[]>(), tracking: [] };

  importRows('inventory', { PART_CODE: 'P', QTY_ONHAND: '10' });
  numberOf(await createRecord(pims, 'customers', { CUSTOMER_CODE: 'C' }, write()));
  const open = numberOf(await createRecord(pims, 'orders', { ORDER_TYPE: 'sales_order' }, write()));
  const closed = numberOf(await createRecord(pims, 'orders', { ORDER_TYPE: 'quote' }, write()));
  const { LINE_REF_LOCK_CODE: lock = '' } = lineOf(
    await addLine(pims, open, { PART_CODE: 'P', QUANTITY: '4' }, write()),
  );
  lineOf(await addLine(pims, closed, { QUANTITY: '1' }, write()));
  orThrow(await advanceOrder(pims, closed, { invoice: nothing }, write()));
  const create = (key: string, values: Values, bodyHash: string) =>
    createRecord(pims, 'customers', values, idempotency(key, { bodyHash }));
  orThrow(await create('used', {}, 'a'));

  const REFUSED: Record<string, [code: Parameters<typeof assertRefused>[1], run: () => Promise<unknown>]> = {
    'a taken code': ['CODE_TAKEN', () => createRecord(pims, 'customers', { CUSTOMER_CODE: 'C' }, write())],
    'a taken code, to be answered once': ['CODE_TAKEN', () => create('new', { CUSTOMER_CODE: 'C' }, 'a')],
    'too long a code': [
      'INVALID_VALUE',
      () => createRecord(pims, 'customers', { CUSTOMER_CODE: 'x'.repeat(257) }, write()),
    ],
    'an idempotency key of something else': ['IDEMPOTENCY_KEY_REUSED', () => create('used', {}, 'b')],
    'an order of an unknown customer': [
      'UNKNOWN_REFERENCE',
      () => createRecord(pims, 'orders', { CUSTOMER_CODE: 'X' }, strict),
    ],
    'an order at an unknown location': [
      'UNKNOWN_REFERENCE',
      () => createRecord(pims, 'orders', { CUSTOMER_CODE: 'C', LOCATION_CODE: 'X' }, strict),
    ],
    'a change of nobody': ['CUSTOMER_NOT_FOUND', () => updateCustomer(pims, 'X', { NOTES: 'x' }, write())],
    'a line of no order': ['ORDER_NOT_FOUND', () => addLine(pims, 'X', {}, write())],
    'a line of an unknown part': ['UNKNOWN_REFERENCE', () => addLine(pims, open, { PART_CODE: 'X' }, strict)],
    'a line of an invoice': ['STAGE_NOT_ALLOWED', () => addLine(pims, closed, { PART_CODE: 'P' }, write())],
    'a line with too many serials': [
      'SERIALS_NOT_ALLOWED',
      () => addLine(pims, open, { QUANTITY: '1', SERIAL_NUMBERS: 'A,B' }, write()),
    ],
    'a change of no line': ['LINE_NOT_FOUND', () => updateLine(pims, open, 'X', { QUANTITY: '1' }, write())],
    'a change to an unknown part': [
      'UNKNOWN_REFERENCE',
      () => updateLine(pims, open, lock, { PART_CODE: 'X' }, strict),
    ],
    'a change to a quantity that cannot be': [
      'QUANTITY_NOT_ALLOWED',
      () => updateLine(pims, open, lock, { NUMBER_SHIPPED: '5' }, write()),
    ],
    'approval of an invoice': ['STAGE_NOT_ALLOWED', () => advanceOrder(pims, closed, { approve: true }, write())],
    'an invoice of too much': [
      'QUANTITY_NOT_ALLOWED',
      () => advanceOrder(pims, open, { invoice: { ...nothing, quantities: new Map([['1', '5']]) } }, write()),
    ],
  };
  for (const [what, [code, run]] of Object.entries(REFUSED))
    test(`${what} is refused before anything is written`, async () => {
      const before = countChanges();
      assertRefused(await run(), code);
      assert.equal(countChanges(), before);
    });

  const REJECTED: [recordType: RecordType, values: Values][] = [
    ['customers', { CUSTOMER_CODE: 'C' }],
    ['inventory', { QTY_ONHAND: '1' }],
    ['inventory', { PART_CODE: 'x'.repeat(257) }],
    ['orders', { ORDER_NUMBER: open }],
    ['orders', { ORDER_NUMBER: '99999', ORDER_TYPE: 'order' }],
    ['orders', { ORDER_NUMBER: '9'.repeat(257) }],
    ['lines', { ORDER_NUMBER: 'X', QUANTITY: '1' }],
    ['lines', { ORDER_NUMBER: open, LINE_NUMBER: '1', PART_CODE: 'P', QUANTITY: '1' }],
    ['lines', { ORDER_NUMBER: open, LINE_NUMBER: '0', PART_CODE: 'P', QUANTITY: '1' }],
    ['lines', { ORDER_NUMBER: open, LINE_REF_LOCK_CODE: lock, PART_CODE: 'P', QUANTITY: '1' }],
    ['lines', { ORDER_NUMBER: open, PART_CODE: 'P', QUANTITY: '1', NUMBER_SHIPPED: '2' }],
    ['lines', { ORDER_NUMBER: open, PART_CODE: 'P', QUANTITY: '1', SERIAL_NUMBERS: 'A,B' }],
  ];
  test('a row that an import rejects has written nothing, and commits no stock', () => {
    for (const [recordType, values] of REJECTED) {
      const before = countChanges();
      assert.equal(importRows(recordType, values).rejected.length, 1, JSON.stringify(values).slice(0, 80));
      assert.equal(countChanges(), before, JSON.stringify(values).slice(0, 80));
    }
  });
});
