/** Contract: every process treats a tenant's custom fields like all others, immediately and permanently. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../src/errors.ts';
import { CUSTOM_FIELD_TYPES, type RecordType } from '../../src/pims/rules/fields.ts';
import { parseRecords, parseValues, type Values } from '../../src/pims/rules/values.ts';
import { times, valuesOf } from '../kit/lists.ts';
import { trials } from '../kit/trials.ts';
import { type Pims, type StoreUnderTest, accepted, assertRefused, lineOf } from './store-under-test.ts';

/** Number of times that a write and `READS` reads run while a field is added. */
const RACES = 15;
const READS = 3;
/** Number of processes that meet a tenant with custom fields. */
const OPENED = trials('OPENED', { quick: 5, all: 200 });
/** Number of fields that are added while reads run, and of other orders on their pages, which are read in a thread. */
const ADDED = trials('FIELDS', { quick: 20, all: 200 });
const READERS = 4;
const MANY = 150;
const KEYED_TYPES = ['orders', 'customers', 'inventory'] as const;
const RECORD_TYPES: RecordType[] = ['orders', 'lines', 'customers', 'inventory'];

export function describeFields(store: StoreUnderTest): void {
  test('a new tenant has the fields of the embedded PIMS', async () => {
    const { pims } = await store.newTenant();
    const dictionaries = await pims.port.dictionaries();
    const shown = RECORD_TYPES.map((recordType) => dictionaries[recordType].size);
    assert.deepEqual(shown, [42, 13, 27, 15]);
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

  test('older records have no value in a new field, which can be written and queried like any other', async () => {
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

  test('COMMAND_REFUSED for a used, reserved or invalid name, also for simultaneous calls', async () => {
    const { pims } = await store.newTenant();
    for (const name of [
      ...'ORDER_NUMBER NOTES FUNCTION ID SORT_KEY ROWID OID lower A"B 1A'.split(' '),
      '',
      'A B',
      'A'.repeat(64),
    ])
      assertRefused(await pims.addField({ recordType: 'orders', name, type: 'text' }), 'COMMAND_REFUSED');
    const outcomes = await Promise.all(
      [1, 2, 3].map(() => pims.addField({ recordType: 'orders', name: 'OWN', type: 'text' })),
    );
    assert.equal(outcomes.filter((outcome) => !(outcome instanceof Refusal)).length, 1);
    assert.equal((await pims.port.dictionaries()).orders.size, 43);
  });

  test('a name that is special in SQL is a name like any other', async () => {
    const { pims } = await store.newTenant();
    for (const name of [
      ...'SELECT ORDER GROUP TABLE VALUE XMIN CTID USER RANK FOLDED SEARCH'.split(' '),
      'A'.repeat(63),
    ]) {
      accepted(await pims.addField({ recordType: 'orders', name, type: 'text' }));
      accepted(await pims.addField({ recordType: 'lines', name, type: 'text' }));
      const order = await pims.createOrder({ [name]: 'x', NOTES: name });
      assert.equal((await pims.newLine(order, { [name]: 'y' }))[name], 'y', name);
      assert.equal((await pims.readOrder(order)).order[name], 'x', name);
      assert.deepEqual(valuesOf((await pims.ask('orders', [{ field: name, value: 'x' }])).records, 'NOTES'), [name]);
    }
    assert.equal((await pims.readAll('lines')).length, 12);
  });

  test('a field that another process has added, and its values, are there at the next call', async () => {
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

  test('a partial invoice keeps the values that another process has just written to a new field', async () => {
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
      const { BACKORDER_NUMBER: backorder } = lineOf(outcome);
      for (const number of [order, backorder!]) assert.equal((await pims.readOrder(number)).lines[0]![name], 'kept');
    }
  });

  test(`a process returns every field in its first, simultaneous reads: ${OPENED} processes`, async () => {
    const { tenant, pims } = await store.newTenant();
    const older = await store.reopened(tenant);
    await older.port.dictionaries();
    for (const recordType of RECORD_TYPES) accepted(await pims.addField({ recordType, name: 'OWN', type: 'text' }));
    const order = await pims.createOrder({ REFERENCE_NUMBER: '#1', OWN: 'kept' });
    accepted(await pims.addLine(order, { QUANTITY: '1', OWN: 'kept' }));
    await pims.createCustomer({ OWN: 'kept' });
    await pims.importAll('inventory', [{ PART_CODE: 'P', OWN: 'kept' }]);
    const reads: ((by: Pims) => Promise<(Values | undefined)[]>)[] = [
      ...KEYED_TYPES.map((recordType) => async (by: Pims) => (await by.ask(recordType, [])).records),
      ...KEYED_TYPES.map((type) => async (by: Pims) => (await by.ask(type, [], { sort: '-MODIFIED_DATE' })).records),
      async (by) => (await by.ask('orders', [{ field: 'REFERENCE_NUMBER', value: '#1' }])).records,
      async (by) => (await by.ask('orders', [{ field: 'OWN', value: 'EP', contains: true }])).records,
      async (by) => [await by.readOrder(order)].flatMap((found) => [found.order, ...found.lines]),
      async (by) => [await by.readRecord('inventory', 'P')],
    ];
    const wrong: string[] = [];
    const readFirst = async (by: Pims, process: string): Promise<void> => {
      const found = await Promise.all(times(READS, () => reads.map((read) => read(by))).flat());
      for (const [read, records] of found.entries())
        if (records.length === 0 || records.some((record) => record?.['OWN'] !== 'kept'))
          wrong.push(`${process}, read ${read % reads.length}`);
    };
    await readFirst(older, 'a process that knew the tenant');
    for (let opened = 0; opened < OPENED; opened++)
      await store.withProcess(tenant, (by) => readFirst(by, `process ${opened}`));
    assert.deepEqual(wrong, []);
  });

  test('an export has the requested fields, even if another process adds one', async () => {
    const { tenant, pims } = await store.newTenant();
    const other = await store.reopened(tenant);
    await pims.importAll('customers', [{ CUSTOMER_CODE: 'A' }, { CUSTOMER_CODE: 'B', NOTES: 'last' }]);
    const names = [...(await pims.port.dictionaries()).customers.keys()];
    accepted(await other.addField({ recordType: 'customers', name: 'ADDED', type: 'text' }));
    await pims.port.dictionaries();
    const chunks = await Array.fromAsync(pims.port.exportRows('customers', names));
    const records = chunks.flatMap((cells) => parseRecords(cells, names));
    assert.deepEqual(valuesOf(records, 'CUSTOMER_CODE'), ['A', 'B']);
    assert.equal(records[1]!['NOTES'], 'last');
  });

  test(`a read that finds a write of another process also finds the field added just before: ${ADDED} fields`, async () => {
    const { tenant, pims } = await store.newTenant();
    const other = await store.reopened(tenant);
    const order = await pims.createOrder({ REFERENCE_NUMBER: '#1', NOTES: '0' });
    await pims.importAll(
      'orders',
      times(MANY, (index) => ({ ORDER_NUMBER: `Z${index}`, ORDER_TYPE: 'quote' })),
    );
    const reads: Record<string, () => Promise<Values[]>> = {
      order: async () => [(await pims.readOrder(order)).order],
      page: async () => (await pims.ask('orders', [])).records,
      first: async () => (await pims.ask('orders', [], { limit: 1 })).records,
      sorted: async () => (await pims.ask('orders', [], { limit: 1, sort: 'ORDER_NUMBER' })).records,
      indexed: async () => (await pims.ask('orders', [{ field: 'REFERENCE_NUMBER', value: '#1' }])).records,
    };
    const state = { acknowledged: 0, isOver: false };
    const wrong = new Set<string>();
    const readAlways = async ([kind, read]: [string, () => Promise<Values[]>]): Promise<void> => {
      while (!state.isOver) {
        const least = state.acknowledged;
        const found = (await read()).find((one) => one['ORDER_NUMBER'] === order)!;
        const round = Number(found['NOTES']);
        if (round < least || (round > 0 && found[`FIELD_${round}`] !== 'set')) wrong.add(`${kind} in round ${round}`);
      }
    };
    const reading = Object.entries(reads).flatMap((each) => times(READERS, () => readAlways(each)));
    for (let round = 1; round <= ADDED; round++) {
      const name = `FIELD_${round}`;
      accepted(await other.addField({ recordType: 'orders', name, type: 'text' }));
      accepted(await other.updateOrder(order, { NOTES: String(round), [name]: 'set' }));
      state.acknowledged = round;
    }
    state.isOver = true;
    await Promise.all(reading);
    assert.deepEqual([...wrong], []);
  });
}
