/** Contract: every process treats a tenant's custom fields like all others, immediately and permanently. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CUSTOM_FIELD_TYPES, type RecordType } from '../../src/pims/rules/fields.ts';
import { parseValues, type Values } from '../../src/pims/rules/values.ts';
import { times, valuesOf } from '../kit/lists.ts';
import { type StoreUnderTest, accepted, assertRefused, lineOf } from './store-under-test.ts';

/** Number of times that a write and `READS` reads run while a field is added. */
const RACES = 15;
const READS = 3;
const RECORD_TYPES: RecordType[] = ['orders', 'lines', 'customers', 'inventory'];

export function describeFields(store: StoreUnderTest): void {
  test('a new tenant has the fields of the embedded PIMS', async () => {
    const { pims } = await store.newTenant();
    const dictionaries = await pims.port.dictionaries();
    const shown = RECORD_TYPES.map((recordType) => dictionaries[recordType].size);
    assert.deepEqual(shown, [40, 13, 27, 15]);
    for (const recordType of RECORD_TYPES)
      for (const field of dictionaries[recordType].values()) assert.equal(field.custom, false);
  });

  test('a field of each type can be added to each record type, and is of that type', async () => {
    const { tenant, pims } = await store.newTenant();
    for (const recordType of RECORD_TYPES)
      for (const type of CUSTOM_FIELD_TYPES)
        accepted(await pims.addField({ recordType, name: `OWN_${type.toUpperCase()}`, type }));
    for (const one of [pims, await store.reopened(tenant)]) {
      const dictionaries = await one.port.dictionaries();
      for (const recordType of RECORD_TYPES)
        for (const type of CUSTOM_FIELD_TYPES) {
          const field = dictionaries[recordType].get(`OWN_${type.toUpperCase()}`);
          assert.deepEqual([field?.type, field?.custom, field?.assigned], [type, true, false]);
        }
    }
  });

  test('older records have no value in it; then it is written, read, changed and queried like any other', async () => {
    const { pims } = await store.newTenant();
    const old = await pims.createOrder();
    accepted(await pims.addLine(old, { QUANTITY: '1' }));
    const customer = await pims.createCustomer({});
    for (const recordType of RECORD_TYPES)
      accepted(await pims.addField({ recordType, name: 'GIFT_DATE', type: 'date' }));
    assert.equal((await pims.readOrder(old)).order['GIFT_DATE'], '');
    assert.equal((await pims.readOrder(old)).lines[0]!['GIFT_DATE'], '');

    const values = { GIFT_DATE: '12/24/2026' };
    const parse = async (recordType: 'orders' | 'lines'): Promise<Values> =>
      parseValues((await pims.port.dictionaries())[recordType], recordType, values);
    const order = await pims.createOrder(await parse('orders'));
    const line = await pims.newLine(order, await parse('lines'));
    assert.equal(line['GIFT_DATE'], '12/24/2026');
    assert.equal(
      lineOf(await pims.updateLine(order, line['LINE_REF_LOCK_CODE']!, { GIFT_DATE: '12/25/2026' }))['GIFT_DATE'],
      '12/25/2026',
    );
    accepted(await pims.updateCustomer(customer, values));
    assert.equal((await pims.readRecord('customers', customer))!['GIFT_DATE'], '12/24/2026');
    await pims.importAll('inventory', [{ PART_CODE: 'P', ...values }]);
    for (const recordType of ['orders', 'customers', 'inventory'] as const)
      for (const filter of [
        { field: 'GIFT_DATE', value: '2026-12-24' },
        { field: 'GIFT_DATE', value: '24/20', contains: true },
      ])
        assert.equal((await pims.ask(recordType, [filter])).records.length, 1, `${recordType} ${filter.value}`);
    assert.deepEqual(valuesOf(await pims.readAll('lines'), 'GIFT_DATE'), ['', '12/25/2026']);
  });

  test('COMMAND_REFUSED a name that is there, reserved or none, also when two ask at once', async () => {
    const { pims } = await store.newTenant();
    for (const name of [
      ...'ORDER_NUMBER NOTES FUNCTION ID SORT_KEY lower A"B 1A'.split(' '),
      '',
      'A B',
      'A'.repeat(64),
    ])
      assertRefused(await pims.addField({ recordType: 'orders', name, type: 'text' }), 'COMMAND_REFUSED');
    const outcomes = await Promise.all(
      [1, 2, 3].map(() => pims.addField({ recordType: 'orders', name: 'OWN', type: 'text' })),
    );
    assert.equal(outcomes.filter((outcome) => outcome === undefined).length, 1);
    assert.equal((await pims.port.dictionaries()).orders.size, 41);
  });

  test('a name that means something in SQL is a name like any other', async () => {
    const { pims } = await store.newTenant();
    for (const name of [
      ...'SELECT ORDER GROUP ROWID OID TABLE VALUE XMIN CTID USER RANK FOLDED SEARCH'.split(' '),
      'A'.repeat(63),
    ]) {
      accepted(await pims.addField({ recordType: 'orders', name, type: 'text' }));
      accepted(await pims.addField({ recordType: 'lines', name, type: 'text' }));
      const order = await pims.createOrder({ [name]: 'x', NOTES: name });
      assert.equal((await pims.newLine(order, { [name]: 'y' }))[name], 'y', name);
      assert.equal((await pims.readOrder(order)).order[name], 'x', name);
      assert.deepEqual(valuesOf((await pims.ask('orders', [{ field: name, value: 'x' }])).records, 'NOTES'), [name]);
    }
    assert.equal((await pims.readAll('lines')).length, 14);
  });

  test('a field another process has added is there at the next call, and so is what it wrote into it', async () => {
    const { tenant, pims } = await store.newTenant();
    const other = await store.reopened(tenant);
    const order = await pims.createOrder({ NOTES: 'before' });
    assert.ok(!(await pims.port.dictionaries()).orders.has('COLOUR'));
    accepted(await other.addField({ recordType: 'orders', name: 'COLOUR', type: 'text' }));
    assert.ok((await pims.port.dictionaries()).orders.has('COLOUR'));
    const coloured = await other.createOrder({ COLOUR: 'red' });
    assert.equal((await pims.readOrder(coloured)).order['COLOUR'], 'red');
    assert.equal((await pims.readOrder(order)).order['COLOUR'], '');
    assert.equal((await pims.ask('orders', [{ field: 'COLOUR', value: 'red' }])).records[0]!['ORDER_NUMBER'], coloured);
    assert.equal((await pims.readAll('orders')).length, 2);
    accepted(await other.addField({ recordType: 'customers', name: 'SIZE', type: 'number' }));
    const customer = await pims.createCustomer({ SIZE: '7' });
    assert.equal((await other.readRecord('customers', customer))!['SIZE'], '7', 'a write is the next call too');
    accepted(await other.addField({ recordType: 'inventory', name: 'WEIGHT', type: 'number' }));
    await pims.importAll('inventory', [{ PART_CODE: 'P', WEIGHT: '1.5' }]);
    assert.equal((await other.readRecord('inventory', 'P'))!['WEIGHT'], '1.5', 'and so is an import');
  });

  test('a partial invoice keeps what another process has just put into a new field, whoever meets the field first', async () => {
    const { tenant, pims } = await store.newTenant();
    const other = await store.reopened(tenant);
    for (let count = 1; count <= RACES; count++) {
      const name = `FIELD_${count}`;
      const order = await pims.createOrder({ ORDER_TYPE: 'sales_order' });
      const lock = (await pims.newLine(order, { QUANTITY: '2' }))['LINE_REF_LOCK_CODE']!;
      accepted(await other.addField({ recordType: 'lines', name, type: 'text' }));
      lineOf(await other.updateLine(order, lock, { [name]: 'kept' }));
      const invoice = { quantities: new Map([['1', '1']]), serials: new Map(), tracking: [] };
      const reads = times(READS, () => pims.readOrder(order));
      const outcome = await pims.advanceOrder(order, { invoice });
      await Promise.all(reads);
      const { backorder } = JSON.parse(accepted(outcome).data) as { backorder: string };
      for (const number of [order, backorder]) assert.equal((await pims.readOrder(number)).lines[0]![name], 'kept');
    }
  });
}
