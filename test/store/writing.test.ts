/**
 * What the shared writer promises to stores that undo nothing by themselves: a write that is refused, and a row that is rejected, has changed nothing
 * by then. Runs the writings on a SQLite connection of their own, without the savepoints that the embedded store puts around them.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Outcome } from '../../src/errors.ts';
import type { Values } from '../../src/pims/values.ts';
import { buildDictionaries, type RecordType } from '../../src/pims/fields.ts';
import { PimsImport } from '../../src/store/pims/import.ts';
import { PimsWriter } from '../../src/store/pims/writer.ts';
import { Database, runWriting } from '../../src/store/sqlite/database.ts';
import { migrate } from '../../src/store/sqlite/migrate.ts';
import { buildPimsSql } from '../../src/store/sqlite/pims-sql.ts';
import type { Writing } from '../../src/store/writing.ts';
import { temporaryFolder } from '../kit/service.ts';
import { accepted, assertRefused, idempotency, NOW, write } from './store-under-test.ts';

suite('a writing without anything around it', () => {
  const db = new Database(`${temporaryFolder()}/pims.db`, { mode: 'write', busyTimeoutMs: 0 });
  migrate(db, 'pims');
  const sql = buildPimsSql(buildDictionaries([]));
  const writer = new PimsWriter(() => sql);
  const run = <T>(writing: Writing<T>): T => runWriting(db, writing);
  const countChanges = (): number => db.row<[number]>('SELECT total_changes()')![0];
  const importRows = (recordType: RecordType, ...rows: Values[]) =>
    run(new PimsImport(writer, NOW).writeBatch(recordType, rows.map((values, index) => ({ lineNumber: index + 2, values })))); // prettier-ignore
  const strict = write({ strict: true });
  const nothing = { quantities: new Map<string, string>(), serials: new Map<string, string[]>(), tracking: [] };

  importRows('inventory', { PART_CODE: 'P', QTY_ONHAND: '10' });
  accepted(run(writer.createRecord('customers', { CUSTOMER_CODE: 'C' }, write())));
  const open = JSON.parse(
    accepted(run(writer.createRecord('orders', { ORDER_TYPE: 'sales_order' }, write()))),
  ) as string;
  const closed = JSON.parse(accepted(run(writer.createRecord('orders', { ORDER_TYPE: 'quote' }, write())))) as string;
  const { LINE_REF_LOCK_CODE: lock = '' } = JSON.parse(
    accepted(run(writer.addLine(open, { PART_CODE: 'P', QUANTITY: '4' }, write()))),
  ) as Values;
  accepted(run(writer.addLine(closed, { QUANTITY: '1' }, write())));
  accepted(run(writer.advanceOrder(closed, { invoice: nothing }, write())));
  const create = (key: string, values: Values, bodyHash: string): Writing<Outcome<unknown>> =>
    writer.once(idempotency(key, { bodyHash }).idempotency, NOW, writer.createRecord('customers', values, write()));
  accepted(run(create('used', {}, 'a')));

  const REFUSED: Record<string, [code: Parameters<typeof assertRefused>[1], writing: () => Writing<Outcome<unknown>>]> =
    {
      'a taken code': ['CODE_TAKEN', () => writer.createRecord('customers', { CUSTOMER_CODE: 'C' }, write())],
      'a taken code, to be answered once': ['CODE_TAKEN', () => create('new', { CUSTOMER_CODE: 'C' }, 'a')],
      'too long a code': [
        'INVALID_VALUE',
        () => writer.createRecord('customers', { CUSTOMER_CODE: 'x'.repeat(257) }, write()),
      ],
      'an idempotency key of something else': ['IDEMPOTENCY_KEY_REUSED', () => create('used', {}, 'b')],
      'an order of an unknown customer': [
        'UNKNOWN_REFERENCE',
        () => writer.createRecord('orders', { CUSTOMER_CODE: 'X' }, strict),
      ],
      'an order at an unknown location': [
        'UNKNOWN_REFERENCE',
        () => writer.createRecord('orders', { CUSTOMER_CODE: 'C', LOCATION_CODE: 'X' }, strict),
      ],
      'a change of nobody': ['CUSTOMER_NOT_FOUND', () => writer.updateCustomer('X', { NOTES: 'x' }, write())],
      'a line of no order': ['ORDER_NOT_FOUND', () => writer.addLine('X', {}, write())],
      'a line of an unknown part': ['UNKNOWN_REFERENCE', () => writer.addLine(open, { PART_CODE: 'X' }, strict)],
      'a line of an invoice': ['STAGE_NOT_ALLOWED', () => writer.addLine(closed, { PART_CODE: 'P' }, write())],
      'a line with too many serials': [
        'SERIALS_NOT_ALLOWED',
        () => writer.addLine(open, { QUANTITY: '1', SERIAL_NUMBERS: 'A,B' }, write()),
      ],
      'a change of no line': ['LINE_NOT_FOUND', () => writer.updateLine(open, 'X', { QUANTITY: '1' }, write())],
      'a change to an unknown part': [
        'UNKNOWN_REFERENCE',
        () => writer.updateLine(open, lock, { PART_CODE: 'X' }, strict),
      ],
      'a change to a quantity that cannot be': [
        'QUANTITY_NOT_ALLOWED',
        () => writer.updateLine(open, lock, { NUMBER_SHIPPED: '5' }, write()),
      ],
      'approval of an invoice': ['STAGE_NOT_ALLOWED', () => writer.advanceOrder(closed, { approve: true }, write())],
      'an invoice of too much': [
        'QUANTITY_NOT_ALLOWED',
        () => writer.advanceOrder(open, { invoice: { ...nothing, quantities: new Map([['1', '5']]) } }, write()),
      ],
    };
  for (const [what, [code, writing]] of Object.entries(REFUSED))
    test(`${what} is refused before anything is written`, () => {
      const before = countChanges();
      assertRefused(run(writing()), code);
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
