/**
 * Contract: fields of a tenant's own are fields like all others, from the moment they are added, for every process
 * and for good.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CUSTOM_FIELD_TYPES, type RecordType } from '../../src/pims/fields.ts';
import {
  type StoreUnderTest,
  accepted,
  addField,
  addLine,
  ask,
  assertRefused,
  createOrder,
  createRecord,
  fields,
  importAll,
  lineOf,
  numberOf,
  readAll,
  readOrder,
  readRecord,
  updateCustomer,
  updateLine,
  write,
} from './store-under-test.ts';

const RECORD_TYPES: RecordType[] = ['orders', 'lines', 'customers', 'inventory'];

export function describeFields(store: StoreUnderTest): void {
  test('a new tenant has the fields of the embedded PIMS', async () => {
    const { pims } = await store.newTenant();
    const dictionaries = await pims.dictionaries();
    assert.deepEqual(
      RECORD_TYPES.map((recordType) => dictionaries[recordType].size),
      [40, 13, 27, 15],
    );
    for (const recordType of RECORD_TYPES)
      for (const field of dictionaries[recordType].values()) assert.equal(field.custom, false);
  });

  test('a field of each type can be added to each kind of record, and is of that type', async () => {
    const { tenant, pims } = await store.newTenant();
    for (const recordType of RECORD_TYPES)
      for (const type of CUSTOM_FIELD_TYPES)
        accepted(await addField(pims, { recordType, name: `OWN_${type.toUpperCase()}`, type }));
    for (const one of [pims, (await store.openAgain()).pims(tenant)]) {
      const dictionaries = await one.dictionaries();
      for (const recordType of RECORD_TYPES)
        for (const type of CUSTOM_FIELD_TYPES) {
          const field = dictionaries[recordType].get(`OWN_${type.toUpperCase()}`);
          assert.deepEqual([field?.type, field?.custom, field?.assigned], [type, true, false]);
        }
    }
  });

  test('records that were there before have no value in it; then it is written, read, changed and queried like any other', async () => {
    const { pims } = await store.newTenant();
    const old = await createOrder(pims);
    accepted(await addLine(pims, old, { QUANTITY: '1' }, write()));
    const customer = numberOf(await createRecord(pims, 'customers', {}, write()));
    for (const recordType of RECORD_TYPES)
      accepted(await addField(pims, { recordType, name: 'GIFT_DATE', type: 'date' }));
    assert.equal((await readOrder(pims, old)).order['GIFT_DATE'], '');
    assert.equal((await readOrder(pims, old)).lines[0]!['GIFT_DATE'], '');

    const values = { GIFT_DATE: '12/24/2026' };
    const order = await createOrder(pims, await fields(pims, 'orders', values));
    const line = lineOf(await addLine(pims, order, await fields(pims, 'lines', values), write()));
    assert.equal(line['GIFT_DATE'], '12/24/2026');
    assert.equal(
      lineOf(await updateLine(pims, order, line['LINE_REF_LOCK_CODE']!, { GIFT_DATE: '12/25/2026' }, write()))[
        'GIFT_DATE'
      ],
      '12/25/2026',
    );
    accepted(await updateCustomer(pims, customer, values, write()));
    assert.equal((await readRecord(pims, 'customers', customer))!['GIFT_DATE'], '12/24/2026');
    await importAll(pims, 'inventory', [{ PART_CODE: 'P', ...values }]);
    for (const recordType of ['orders', 'customers', 'inventory'] as const)
      for (const filter of [
        { field: 'GIFT_DATE', value: '2026-12-24' },
        { field: 'GIFT_DATE', value: '24/20', contains: true },
      ])
        assert.equal((await ask(pims, recordType, [filter])).records.length, 1, `${recordType} ${filter.value}`);
    assert.deepEqual(
      (await readAll(pims, 'lines')).map((one) => one['GIFT_DATE']),
      ['', '12/25/2026'],
    );
  });

  test('COMMAND_REFUSED a name that is there, reserved or none, also when two ask at once', async () => {
    const { pims } = await store.newTenant();
    for (const name of [
      'ORDER_NUMBER',
      'NOTES',
      'FUNCTION',
      'ID',
      'SORT_KEY',
      'lower',
      '',
      'A"B',
      'A B',
      '1A',
      'A'.repeat(64),
    ])
      assertRefused(await addField(pims, { recordType: 'orders', name, type: 'text' }), 'COMMAND_REFUSED');
    const outcomes = await Promise.all(
      [1, 2, 3].map(() => addField(pims, { recordType: 'orders', name: 'OWN', type: 'text' })),
    );
    assert.equal(outcomes.filter((outcome) => outcome === undefined).length, 1);
    assert.equal((await pims.dictionaries()).orders.size, 41);
  });

  test('a name that means something in SQL is a name like any other', async () => {
    const { pims } = await store.newTenant();
    for (const name of [
      'SELECT',
      'ORDER',
      'GROUP',
      'ROWID',
      'OID',
      'TABLE',
      'VALUE',
      'XMIN',
      'CTID',
      'USER',
      'RANK',
      'FOLDED',
      'SEARCH',
      'A'.repeat(63),
    ]) {
      accepted(await addField(pims, { recordType: 'orders', name, type: 'text' }));
      accepted(await addField(pims, { recordType: 'lines', name, type: 'text' }));
      const order = await createOrder(pims, { [name]: 'x', NOTES: name });
      assert.equal(lineOf(await addLine(pims, order, { [name]: 'y' }, write()))[name], 'y', name);
      assert.equal((await readOrder(pims, order)).order[name], 'x', name);
      assert.deepEqual(
        (await ask(pims, 'orders', [{ field: name, value: 'x' }])).records.map((one) => one['NOTES']),
        [name],
      );
    }
    assert.equal((await readAll(pims, 'lines')).length, 14);
  });

  test('a field another process has added is there at the next call, and so is what it wrote into it', async () => {
    const { tenant, pims } = await store.newTenant();
    const other = (await store.openAgain()).pims(tenant);
    const order = await createOrder(pims, { NOTES: 'before' });
    assert.ok(!(await pims.dictionaries()).orders.has('COLOUR'));
    accepted(await addField(other, { recordType: 'orders', name: 'COLOUR', type: 'text' }));
    assert.ok((await pims.dictionaries()).orders.has('COLOUR'));
    const coloured = await createOrder(other, { COLOUR: 'red' });
    assert.equal((await readOrder(pims, coloured)).order['COLOUR'], 'red');
    assert.equal((await readOrder(pims, order)).order['COLOUR'], '');
    assert.equal(
      (await ask(pims, 'orders', [{ field: 'COLOUR', value: 'red' }])).records[0]!['ORDER_NUMBER'],
      coloured,
    );
    assert.equal((await readAll(pims, 'orders')).length, 2);
    accepted(await addField(other, { recordType: 'customers', name: 'SIZE', type: 'number' }));
    const customer = numberOf(await createRecord(pims, 'customers', { SIZE: '7' }, write()));
    assert.equal((await readRecord(other, 'customers', customer))!['SIZE'], '7', 'a write is the next call too');
    accepted(await addField(other, { recordType: 'inventory', name: 'WEIGHT', type: 'number' }));
    await importAll(pims, 'inventory', [{ PART_CODE: 'P', WEIGHT: '1.5' }]);
    assert.equal((await readRecord(other, 'inventory', 'P'))!['WEIGHT'], '1.5', 'and so is an import');
  });
}
