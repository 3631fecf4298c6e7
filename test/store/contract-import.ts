/** Contract: an import saves every valid row, or all or none; stock and next numbers follow; exports return them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { ErrorCode, Refusal } from '../../src/errors.ts';
import { parseRecords, type Values } from '../../src/pims/rules/values.ts';
import type { RecordType } from '../../src/pims/rules/fields.ts';
import type { ImportResult, ImportRow } from '../../src/pims/import.ts';
import { cellsOf, times, valuesOf } from '../kit/lists.ts';
import { anyCharacter, compareKeys, smallKey } from './query-model.ts';
import { NOW, type StoreUnderTest, accepted, assertRefused, batches } from './store-under-test.ts';

const RECORD_TYPES_IN_ORDER: RecordType[] = ['customers', 'inventory', 'orders', 'lines'];
const reasons = ({ rejected }: ImportResult): string[] =>
  rejected.map(({ lineNumber, reason }) => `${lineNumber} ${(reason as Refusal).code}`);

export function describeImport(store: StoreUnderTest): void {
  test('an export has every imported value of every field, in the order of the keys', async () => {
    const { pims } = await store.newTenant();
    accepted(await pims.addField({ recordType: 'customers', name: 'COLOUR', type: 'text' }));
    const names = [...(await pims.port.dictionaries()).customers.keys()].filter((name) => name !== 'CUSTOMER_CODE');
    const text = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 12 }),
      fc.constantFrom('\\N', '\\.', '\\', 'a\tb', 'a\nb', '\r\n', '"', '\u{1}', 'a\u{1}b', '\u{1f}', '{}'),
    );
    const record = fc.tuple(smallKey, fc.array(text, { minLength: names.length, maxLength: names.length }));
    const rows = fc.sample(
      fc.uniqueArray(record, { selector: ([key]) => key, minLength: 220, maxLength: 220, size: 'max' }),
      1,
    )[0]!;
    const given = rows.map(([key, values]) => ({
      CUSTOMER_CODE: key,
      ...Object.fromEntries(names.map((name, index) => [name, values[index]!])),
    }));
    await pims.importAll('customers', given);
    const found = await pims.readAll('customers');
    assert.deepEqual(
      found,
      given.toSorted((a, b) => compareKeys(a.CUSTOMER_CODE, b.CUSTOMER_CODE)),
    );
    for (const row of given.slice(0, 20)) assert.deepEqual(await pims.readRecord('customers', row.CUSTOMER_CODE), row);
  });

  test('an export moves a tenant to another store with its numbers, dates, lock codes and stock', async () => {
    const [from, to] = [await store.newTenant(), await store.newTenant()];
    await from.pims.importAll('inventory', [{ PART_CODE: 'P', PART_DESCRIPTION: 'Part', QTY_ONHAND: '10' }]);
    for (const stage of ['worksheet', 'sales_order', 'sales_order']) {
      const order = await from.pims.createOrder({ ORDER_TYPE: stage, REFERENCE_NUMBER: '#1' });
      for (const QUANTITY of ['2', '3.5']) accepted(await from.pims.addLine(order, { PART_CODE: 'P', QUANTITY }));
    }
    accepted(
      await from.pims.advanceOrder('10002', {
        invoice: { quantities: new Map([['1', '1']]), serials: new Map(), tracking: ['1Z'] },
      }),
    );
    const exported = await from.pims.readEverything();
    for (const recordType of RECORD_TYPES_IN_ORDER) await to.pims.importAll(recordType, exported[recordType]);
    assert.deepEqual(await to.pims.readEverything(), exported);
    assert.equal(await to.pims.createOrder(), await from.pims.createOrder());
  });

  test('a cancelled order stays cancelled in an export and its import, and its lines commit nothing', async () => {
    const [from, to] = [await store.newTenant(), await store.newTenant()];
    await from.pims.importAll('inventory', [{ PART_CODE: 'P', QTY_ONHAND: '10' }]);
    for (let made = 0; made < 2; made++) {
      const order = await from.pims.createOrder({ ORDER_TYPE: 'sales_order', REFERENCE_NUMBER: '#1' });
      accepted(await from.pims.addLine(order, { PART_CODE: 'P', QUANTITY: '2' }));
    }
    accepted(await from.pims.cancelOrder('10001'));
    const exported = await from.pims.readEverything();
    for (const recordType of RECORD_TYPES_IN_ORDER) await to.pims.importAll(recordType, exported[recordType]);
    assert.deepEqual(await to.pims.readEverything(), exported);
    assert.equal((await to.pims.readRecord('inventory', 'P'))!['QTY_COMMITTED'], '2');
    assert.deepEqual(await to.pims.viewOrders('#1'), await from.pims.viewOrders('#1'));
    assertRefused(await to.pims.addLine('10001', { PART_CODE: 'P' }), 'ORDER_CLOSED');
    // A part can be imported after its lines, and an invoice with the status CANCELLED is not a cancelled order.
    await to.pims.importAll('orders', [{ ORDER_NUMBER: '5', ORDER_TYPE: 'invoice', ORDER_STATUS: 'CANCELLED' }]);
    const more = ['10001', '10002', '5'].map((ORDER_NUMBER) => ({ ORDER_NUMBER, PART_CODE: 'LATE', QUANTITY: '3' }));
    await to.pims.importAll('lines', more);
    await to.pims.importAll('inventory', [{ PART_CODE: 'LATE', QTY_ONHAND: '9' }]);
    assert.equal((await to.pims.readRecord('inventory', 'LATE'))!['QTY_COMMITTED'], '3');
    accepted(await to.pims.updateOrder('5', { ORDER_STATUS: 'SHIPPED' }));
  });

  test('fields that a file does not have are set as for a new record', async () => {
    const { pims } = await store.newTenant();
    await pims.importAll('orders', [
      { REFERENCE_NUMBER: '#1' },
      { ORDER_NUMBER: '7', ORDER_TYPE: 'invoice', CREATE_DATE: '2020-01-01T00:00:00.000Z' },
    ]);
    await pims.importAll('customers', [{ CUSTOMER_NAME: 'no code' }]);
    await pims.importAll('inventory', [{ PART_CODE: 'P', PART_DESCRIPTION: 'Part' }]);
    await pims.importAll('lines', [
      { ORDER_NUMBER: '7', PART_CODE: 'P' },
      { ORDER_NUMBER: '7', LINE_NUMBER: '9', DESCRIPTION: 'own' },
      { ORDER_NUMBER: '7' },
    ]);
    const [seven, numbered] = await pims.readAll('orders');
    assert.deepEqual(
      [seven!['CREATE_DATE'], seven!['MODIFIED_DATE'], seven!['ORDER_TYPE']],
      ['2020-01-01T00:00:00.000Z', NOW, 'invoice'],
    );
    assert.deepEqual([numbered!['ORDER_TYPE'], numbered!['CREATE_DATE']], ['worksheet', NOW]);
    assert.match((await pims.readAll('customers'))[0]!['CUSTOMER_CODE']!, /^\d+$/);
    const lines = (await pims.readOrder('7')).lines;
    assert.deepEqual(
      lines.map(
        (line) => `${line['LINE_NUMBER']} ${line['DESCRIPTION']} ${line['QUANTITY']} ${line['NUMBER_SHIPPED']}`,
      ),
      ['1 Part 0 0', '9 own 0 0', '10  0 0'],
    );
    for (const line of lines) assert.ok(line['LINE_REF_LOCK_CODE']!.length >= 22);
    assert.equal((await pims.readRecord('inventory', 'P'))!['QTY_AVAILABLE'], '0');
  });

  test('an invalid row is rejected with its line and reason, and the others are imported', async () => {
    const { pims } = await store.newTenant();
    await pims.importAll('orders', [{ ORDER_NUMBER: '1' }]);
    const table: [RecordType, Values[], string[]][] = [
      [
        'orders',
        [
          { ORDER_NUMBER: '1' },
          { ORDER_NUMBER: '2', ORDER_TYPE: 'order' },
          { ORDER_NUMBER: '3' },
          { ORDER_NUMBER: '3' },
        ],
        ['2 CODE_TAKEN', '3 INVALID_VALUE', '5 CODE_TAKEN'],
      ],
      ['customers', [{ CUSTOMER_CODE: 'C' }, { CUSTOMER_CODE: 'C' }, { CUSTOMER_CODE: 'D' }], ['3 CODE_TAKEN']],
      [
        'inventory',
        [{ PART_CODE: '' }, { PART_DESCRIPTION: 'no code' }, { PART_CODE: 'P' }, { PART_CODE: '東'.repeat(257) }],
        ['2 MISSING_FIELD', '3 MISSING_FIELD', '5 INVALID_VALUE'],
      ],
      [
        'lines',
        [
          { ORDER_NUMBER: '99', QUANTITY: '1' },
          { QUANTITY: '1' },
          { ORDER_NUMBER: '1', LINE_NUMBER: '5', QUANTITY: '1' },
          { ORDER_NUMBER: '1', LINE_NUMBER: '5', QUANTITY: '1' },
          { ORDER_NUMBER: '1', LINE_NUMBER: '0', QUANTITY: '1' },
          { ORDER_NUMBER: '1', LINE_NUMBER: '1.5', QUANTITY: '1' },
          { ORDER_NUMBER: '1', QUANTITY: '1', NUMBER_SHIPPED: '2' },
          { ORDER_NUMBER: '1', QUANTITY: '1', SERIAL_NUMBERS: 'A,B' },
          { ORDER_NUMBER: '1', LINE_NUMBER: '2', QUANTITY: '1' },
        ],
        [
          '2 ORDER_NOT_FOUND',
          '3 ORDER_NOT_FOUND',
          '5 CODE_TAKEN',
          '6 INVALID_VALUE',
          '7 INVALID_VALUE',
          '8 QUANTITY_NOT_ALLOWED',
          '9 SERIALS_NOT_ALLOWED',
        ],
      ],
    ];
    for (const [recordType, rows, expected] of table)
      for (const size of [1000, 1]) {
        const before = (await pims.readAll(recordType)).length;
        const result = await pims.importRows(recordType, rows, { size });
        if (size === 1000) assert.deepEqual(reasons(result), expected);
        assert.equal(result.imported + result.rejected.length, rows.length);
        assert.equal((await pims.readAll(recordType)).length, before + result.imported);
        if (size === 1) assert.equal(result.imported, 0, 'imported again, all is there already');
      }
    assert.deepEqual(valuesOf((await pims.readOrder('1')).lines, 'LINE_NUMBER'), ['2', '5']);
  });

  test('lines of sales orders commit stock, lines of other stages do not, and no import reduces it', async () => {
    const { pims } = await store.newTenant();
    const orders = [
      { ORDER_NUMBER: '1', ORDER_TYPE: 'sales_order' },
      { ORDER_NUMBER: '2', ORDER_TYPE: 'invoice' },
      { ORDER_NUMBER: '3', ORDER_TYPE: 'quote' },
      { ORDER_NUMBER: '4', ORDER_TYPE: 'sales_order', DROP_SHIP: 'Y' },
    ];
    const lines = orders.flatMap(({ ORDER_NUMBER }) => [
      { ORDER_NUMBER, PART_CODE: 'P', QUANTITY: '3', NUMBER_SHIPPED: ORDER_NUMBER === '2' ? '3' : '0' },
      { ORDER_NUMBER, PART_CODE: 'P', QUANTITY: '0.5' },
      { ORDER_NUMBER, PART_CODE: 'PLAN', QUANTITY: '1', CARE_PLAN: 'Y' },
    ]);
    const parts = [
      { PART_CODE: 'P', QTY_ONHAND: '10', QTY_COMMITTED: '99', QTY_AVAILABLE: '99' },
      { PART_CODE: 'PLAN', CARE_PLAN: 'Y' },
    ];
    // The stock is the same whether parts are imported first, last, or between the lines.
    const importIn = async (partsAt: number): Promise<void> => {
      const { pims: own } = await store.newTenant();
      await own.importAll('orders', orders);
      await own.importAll('lines', lines.slice(0, partsAt));
      await own.importAll('inventory', parts);
      await own.importAll('lines', lines.slice(partsAt));
      const stock = (await own.readAll('inventory')).map((part) =>
        [part['PART_CODE'], part['QTY_ONHAND'], part['QTY_COMMITTED'], part['QTY_AVAILABLE']].join(' '),
      );
      assert.deepEqual(stock, ['P 10 3.5 6.5', 'PLAN 0 0 0'], `parts after ${partsAt} lines`);
    };
    await Promise.all([0, 4, 8, 12].map(importIn));
    assert.deepEqual(await pims.readAll('inventory'), []);
  });

  test('the result of an import does not depend on its batches', async () => {
    const oneOf = (...values: string[]) => fc.constantFrom(...values);
    const someOf = (fields: Record<string, fc.Arbitrary<string>>): Values[] =>
      fc.sample(fc.array(fc.record(fields), { minLength: 90, maxLength: 90 }), { seed: 12, numRuns: 1 })[0]!;
    const key = oneOf('', '', '7', '010', '10002', '10005', '10020', 'C', 'x'.repeat(257));
    const order = oneOf('7', '010', '10002', '10005', '10006', '99');
    const orders = someOf({
      ORDER_NUMBER: key,
      ORDER_TYPE: oneOf('', 'sales_order', 'sales_order', 'invoice', 'order'),
      DROP_SHIP: oneOf('', '', 'Y'),
    });
    const lines = someOf({
      ORDER_NUMBER: order,
      LINE_NUMBER: oneOf('', '', '', '', '', '', '1', '2', '9', '30', 'x'),
      LINE_REF_LOCK_CODE: oneOf('', '', '', 'K', 'L', 'M', 'N'),
      PART_CODE: oneOf('', 'P', 'P', 'Q'),
      QUANTITY: oneOf('', '2', '0.5', '-1'),
      NUMBER_SHIPPED: oneOf('', '', '', '', '', '9'),
    });
    const parts = someOf({ PART_CODE: oneOf('', 'P', 'Q', 'R', 'S'), QTY_ONHAND: oneOf('', '5', '-2.5') });
    const stock = someOf({ PART_CODE: oneOf('', 'P', 'T', 'U', 'V'), QTY_ONHAND: oneOf('', '5', '7', '-1') });
    const steps: [RecordType, Values[], updates?: boolean][] = [
      ['orders', orders],
      ['lines', lines.slice(0, 30)],
      ['inventory', parts],
      ['lines', lines.slice(30)],
      ['customers', someOf({ CUSTOMER_CODE: key })],
      ['inventory', stock, true],
      ['customers', someOf({ CUSTOMER_CODE: oneOf('', 'N', '8', '10009', '10020'), BCITY: oneOf('', 'a', 'b') }), true],
    ];
    const importIn = async (size: number): Promise<unknown> => {
      const { pims } = await store.newTenant();
      const told: string[] = [];
      for (const [recordType, rows, updates = false] of steps) {
        const { imported, updated, rejected } = await pims.importRows(recordType, rows, { size, updates });
        told.push(`${recordType} ${imported} ${updated}`);
        for (const { lineNumber, reason } of rejected)
          told.push(`${recordType} ${lineNumber} ${(reason as Refusal).code} ${reason.message}`);
      }
      const ledger = await pims.readLedger(['P', 'T', 'U', 'V']);
      const found = await pims.readEverything();
      for (const line of found.lines)
        if (line['LINE_REF_LOCK_CODE']!.length > 1) line['LINE_REF_LOCK_CODE'] = 'another one';
      return { told, found, ledger, next: [await pims.createOrder(), await pims.createCustomer()] };
    };
    const [oneByOne, ...others] = await Promise.all([1, 90, 7].map(importIn));
    for (const other of others) assert.deepEqual(other, oneByOne);
  });

  test('an atomic import imports all rows or none', async () => {
    const { pims } = await store.newTenant();
    const rows = times(25, (index) => ({ CUSTOMER_CODE: `C${index}` }));
    const bad = await pims.importRows('customers', [...rows, { CUSTOMER_CODE: 'C3' }, ...rows], {
      atomic: true,
      size: 10,
    });
    assert.equal(bad.rejected.length, 26);
    assert.deepEqual(await pims.readAll('customers'), []);
    const good = await pims.importRows('customers', rows, { atomic: true, size: 10 });
    assert.deepEqual(good, { imported: 25, updated: 0, rejected: [] });
    assert.equal((await pims.readAll('customers')).length, 25);
  });

  test('an import that updates changes the fields of its columns, counts stock, and inserts the others', async () => {
    for (const size of [1, 1000]) {
      const { pims } = await store.newTenant();
      await pims.importAll('inventory', [
        { PART_CODE: 'A', PART_DESCRIPTION: 'Lamp', UNIT_PRICE: '5', QTY_ONHAND: '4', CREATE_DATE: '2020-01-01' },
        { PART_CODE: 'B', QTY_ONHAND: '1' },
      ]);
      const order = await pims.createOrder({ ORDER_TYPE: 'sales_order' });
      accepted(await pims.addLine(order, { PART_CODE: 'A', QUANTITY: '3' }));
      const rows = [
        { PART_CODE: 'A', UNIT_PRICE: '6', QTY_ONHAND: '10', QTY_COMMITTED: '77', CREATE_DATE: NOW },
        { PART_CODE: 'B', UNIT_PRICE: '', QTY_ONHAND: '' },
        { PART_CODE: 'C', UNIT_PRICE: '8', QTY_ONHAND: '2' },
        { PART_CODE: 'A', UNIT_PRICE: '7', QTY_ONHAND: '10' },
        { PART_CODE: 'B', UNIT_PRICE: '1', QTY_ONHAND: '-1' },
      ];
      const result = await pims.importRows('inventory', rows, { updates: true, size });
      assert.deepEqual([result.imported, result.updated, reasons(result)], [1, 3, ['6 QUANTITY_NOT_ALLOWED']]);
      const shown = (await pims.readAll('inventory')).map((part) =>
        cellsOf(part, 'PART_CODE PART_DESCRIPTION UNIT_PRICE QTY_ONHAND QTY_COMMITTED QTY_AVAILABLE CREATE_DATE'),
      );
      assert.deepEqual(shown, [
        ['A', 'Lamp', '7', '10', '3', '7', '2020-01-01'],
        ['B', '', '', '1', '0', '1', NOW],
        ['C', '', '8', '2', '0', '2', NOW],
      ]);
      assert.deepEqual(
        (await pims.readLedger(['A'])).map(({ KIND, QUANTITY, AFTER }) => [KIND, QUANTITY, AFTER]),
        [
          ['counted', '6', '10'],
          ['imported', '4', '4'],
        ],
      );
      const customer = [{ CUSTOMER_CODE: 'X', CUSTOMER_NAME: 'Ann' }];
      for (const updated of [0, 1])
        assert.equal((await pims.importRows('customers', customer, { updates: true })).updated, updated);
      const undone = await pims.importRows('inventory', rows.slice(1), { updates: true, atomic: true });
      assert.equal(undone.rejected.length, 1);
      assert.deepEqual((await pims.readRecord('inventory', 'A'))?.['UNIT_PRICE'], '7');
      await assert.rejects(pims.importRows('orders', [{}], { updates: true }), { code: 'COMMAND_REFUSED' });
    }
  });

  test('an atomic import that its source or reader aborts leaves nothing and lets others write', async () => {
    const { pims } = await store.newTenant();
    const rows = times(30, (index) => ({ CUSTOMER_CODE: `C${index}` }));
    async function* breakingOff(): AsyncGenerator<ImportRow[]> {
      yield* batches(rows, 10);
      throw new Error('the file ended early');
    }
    await assert.rejects(async () => {
      for await (const result of pims.port.importRows('customers', breakingOff(), { now: NOW, atomic: true }))
        assert.equal(result.imported, 10);
    }, /ended early/);
    for await (const result of pims.port.importRows('customers', batches(rows, 10), { now: NOW, atomic: true })) {
      assert.equal(result.imported, 10);
      break;
    }
    assert.deepEqual(await pims.readAll('customers'), []);
    accepted(await pims.createRecord('customers', { CUSTOMER_CODE: 'C1' }));
  });

  test('an import that breaks off keeps the batches it has reported', async () => {
    const { pims } = await store.newTenant();
    async function* breakingOff(): AsyncGenerator<ImportRow[]> {
      yield* batches(
        times(20, (index) => ({ CUSTOMER_CODE: `C${index}` })),
        10,
      );
      throw new Error('the file ended early');
    }
    let reported = 0;
    await assert.rejects(async () => {
      for await (const { imported } of pims.port.importRows('customers', breakingOff(), { now: NOW, atomic: false }))
        reported += imported;
    });
    assert.equal(reported, 20);
    assert.equal((await pims.readAll('customers')).length, 20);
  });

  test('calls continue while an import runs, and see each batch once it is done', async () => {
    const { pims } = await store.newTenant();
    const rows = times(50, (index) => ({ CUSTOMER_CODE: `C${index}` }));
    let batch = 0;
    for await (const { imported } of pims.port.importRows('customers', batches(rows, 10), {
      now: NOW,
      atomic: false,
    })) {
      assert.equal(imported, 10);
      assert.ok(await pims.readRecord('customers', `C${batch * 10}`));
      assertRefused(
        await pims.createRecord('customers', { CUSTOMER_CODE: `C${batch++ * 10}` }),
        'CODE_TAKEN' satisfies ErrorCode,
      );
      accepted(await pims.createRecord('customers', {}));
    }
    assert.equal((await pims.readAll('customers')).length, 55);
  });

  test('no number is assigned twice between rows of an import and simultaneous calls', async () => {
    const { pims } = await store.newTenant();
    const create = async (): Promise<string> => await pims.createCustomer();
    const before = times(10, create);
    const importing = pims.importAll('customers', [...times(40, () => ({})), { CUSTOMER_CODE: '10500' }]);
    const given = await Promise.all([...before, ...times(10, create)]);
    await importing;
    const codes = valuesOf(await pims.readAll('customers'), 'CUSTOMER_CODE');
    assert.deepEqual([codes.length, new Set(codes).size, new Set(given).size], [61, 61, 20]);
    for (const code of given) assert.ok(codes.includes(code));
  });

  test('two exports of the same type can be read at the same time', async () => {
    const { pims } = await store.newTenant();
    const codes = times(1201, (index) => String(index));
    const customers = codes.map((CUSTOMER_CODE) => ({ CUSTOMER_CODE }));
    await pims.importAll('customers', customers);
    const names = [...(await pims.port.dictionaries()).customers.keys()];
    const exports = [1, 2].map(() => ({
      chunks: pims.port.exportRows('customers', names)[Symbol.asyncIterator](),
      read: [] as string[],
    }));
    for (let isDone = false; !isDone;)
      for (const { chunks, read } of exports) {
        const chunk = await chunks.next();
        isDone = chunk.done === true;
        if (isDone) continue;
        const records = parseRecords(chunk.value as Uint8Array, names);
        assert.ok(records.length > 0 && records.length <= 500);
        read.push(...valuesOf(records, 'CUSTOMER_CODE'));
      }
    for (const { read } of exports) assert.deepEqual(read, codes);
  });

  test('an export has the state of one moment, even during writes, and can be aborted', async () => {
    const { pims } = await store.newTenant();
    const codes = times(1100, (index) => `C${String(index).padStart(4, '0')}`);
    const customers = codes.map((CUSTOMER_CODE) => ({ CUSTOMER_CODE, CUSTOMER_NAME: 'before' }));
    await pims.importAll('customers', customers);
    const names = [...(await pims.port.dictionaries()).customers.keys()];
    const read: string[] = [];
    for await (const chunk of pims.port.exportRows('customers', names)) {
      read.push(...parseRecords(chunk, names).map((record) => `${record['CUSTOMER_CODE']} ${record['CUSTOMER_NAME']}`));
      if (read.length > 500) continue;
      accepted(await pims.createRecord('customers', { CUSTOMER_CODE: 'C1050x' }));
      accepted(await pims.updateCustomer('C1099', { CUSTOMER_NAME: 'after' }));
    }
    assert.deepEqual(
      read,
      codes.map((code) => `${code} before`),
    );
    for await (const chunk of pims.port.exportRows('customers', names)) if (chunk.length > 0) break;
    assert.equal((await pims.readRecord('customers', 'C1099'))!['CUSTOMER_NAME'], 'after');
    assert.equal((await pims.readAll('customers')).length, 1101);
  });
}
