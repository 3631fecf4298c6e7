/** Tests scripts on a connection without savepoints: a refused write or a rejected row has changed nothing. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { orThrow } from '../../src/errors.ts';
import { buildDictionaries, type RecordType } from '../../src/pims/rules/fields.ts';
import type { PimsStore } from '../../src/pims/pims-port.ts';
import type { Values } from '../../src/pims/rules/values.ts';
import { makeScriptRunner, runScript } from '../../src/store/pims/script-runner.ts';
import { Database } from '../../src/store/sqlite/files/database.ts';
import { runWriting } from '../../src/store/sqlite/write-queue.ts';
import { migrate } from '../../src/store/sqlite/files/migrate.ts';
import { buildPimsSql } from '../../src/store/sqlite/reads/pims-sql.ts';
import { temporaryFolder } from '../kit/service.ts';
import { assertRefused, idempotency, NOW, write, Pims } from './store-under-test.ts';

suite('a script by itself', async () => {
  const db = new Database(`${temporaryFolder()}/pims.db`, { mode: 'make', busyTimeoutMs: 0 });
  migrate(db, 'pims');
  const sql = buildPimsSql(buildDictionaries([])).script;
  const scripts = makeScriptRunner({
    sql: () => sql,
    refresh: async () => undefined,
    commitScript: async (begin) => runWriting(db, runScript(begin)),
  });
  const port: Pick<PimsStore, 'write'> = { write: (script, key) => scripts.runWrite(script, key) };
  const pims = new Pims(port as PimsStore);
  const countChanges = (): number => db.row<[number]>('SELECT total_changes()')![0];
  const importRows = (recordType: RecordType, ...rows: Values[]) => {
    const numbered = rows.map((values, index) => ({ lineNumber: index + 2, values }));
    return orThrow(
      runWriting(
        db,
        runScript(() => scripts.importBatch(recordType, numbered, { now: NOW })),
      ),
    );
  };
  const strict = write({ strict: true });
  const nothing = { quantities: new Map<string, string>(), serials: new Map<string, string[]>(), tracking: [] };

  importRows('inventory', { PART_CODE: 'P', QTY_ONHAND: '10' });
  await pims.createCustomer({ CUSTOMER_CODE: 'C' });
  const open = await pims.createOrder({ ORDER_TYPE: 'sales_order' });
  const closed = await pims.createOrder({ ORDER_TYPE: 'quote' });
  const { LINE_REF_LOCK_CODE: lock = '' } = await pims.newLine(open, { PART_CODE: 'P', QUANTITY: '4' });
  await pims.newLine(closed, { QUANTITY: '1' });
  orThrow(await pims.advanceOrder(closed, { invoice: nothing }));
  const create = (key: string, values: Values, bodyHash: string) =>
    pims.createRecord('customers', values, idempotency(key, { bodyHash }));
  orThrow(await create('used', {}, 'a'));

  const REFUSED: Record<string, [code: Parameters<typeof assertRefused>[1], run: () => Promise<unknown>]> = {
    'a taken code': ['CODE_TAKEN', () => pims.createRecord('customers', { CUSTOMER_CODE: 'C' })],
    'a taken code, to be answered once': ['CODE_TAKEN', () => create('new', { CUSTOMER_CODE: 'C' }, 'a')],
    'too long a code': ['INVALID_VALUE', () => pims.createRecord('customers', { CUSTOMER_CODE: 'x'.repeat(257) })],
    'an idempotency key of something else': ['IDEMPOTENCY_KEY_REUSED', () => create('used', {}, 'b')],
    'an order of an unknown customer': [
      'UNKNOWN_REFERENCE',
      () => pims.createRecord('orders', { CUSTOMER_CODE: 'X' }, strict),
    ],
    'an order at an unknown location': [
      'UNKNOWN_REFERENCE',
      () => pims.createRecord('orders', { CUSTOMER_CODE: 'C', LOCATION_CODE: 'X' }, strict),
    ],
    'a change of an unknown customer': ['CUSTOMER_NOT_FOUND', () => pims.updateCustomer('X', { NOTES: 'x' })],
    'a line of no order': ['ORDER_NOT_FOUND', () => pims.addLine('X', {})],
    'a line of an unknown part': ['UNKNOWN_REFERENCE', () => pims.addLine(open, { PART_CODE: 'X' }, strict)],
    'a line of an invoice': ['ORDER_CLOSED', () => pims.addLine(closed, { PART_CODE: 'P' })],
    'a line with too many serials': [
      'SERIALS_NOT_ALLOWED',
      () => pims.addLine(open, { QUANTITY: '1', SERIAL_NUMBERS: 'A,B' }),
    ],
    'a change of no line': ['LINE_NOT_FOUND', () => pims.updateLine(open, 'X', { QUANTITY: '1' })],
    'a change to an unknown part': ['UNKNOWN_REFERENCE', () => pims.updateLine(open, lock, { PART_CODE: 'X' }, strict)],
    'a change to a quantity that cannot be': [
      'QUANTITY_NOT_ALLOWED',
      () => pims.updateLine(open, lock, { NUMBER_SHIPPED: '5' }),
    ],
    'approval of an invoice': ['STAGE_NOT_ALLOWED', () => pims.advanceOrder(closed, { approve: true })],
    'an invoice of too much': [
      'QUANTITY_NOT_ALLOWED',
      () => pims.advanceOrder(open, { invoice: { ...nothing, quantities: new Map([['1', '5']]) } }),
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
  test('a row that an import rejects writes nothing and commits no stock', () => {
    for (const [recordType, values] of REJECTED) {
      const before = countChanges();
      assert.equal(importRows(recordType, values).rejected.length, 1, JSON.stringify(values).slice(0, 80));
      assert.equal(countChanges(), before, JSON.stringify(values).slice(0, 80));
    }
  });
});
