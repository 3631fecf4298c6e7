/** Contract: no number is assigned twice, each write has its own outcome, and a refused write changes nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal, type ErrorCode } from '../../src/errors.ts';
import { byNumber, times, valuesOf } from '../kit/lists.ts';
import { type StoreUnderTest, accepted, assertRefused, write } from './store-under-test.ts';

export function describeNumbers(store: StoreUnderTest): void {
  test('a hundred orders created at once have a hundred numbers, all digits', async () => {
    const { pims } = await store.newTenant();
    const numbers = await Promise.all(times(100, () => pims.createOrder()));
    assert.equal(new Set(numbers).size, 100);
    for (const number of numbers) assert.match(number, /^[1-9]\d*$/);
    assert.deepEqual(valuesOf(await pims.readAll('orders'), 'ORDER_NUMBER'), numbers.toSorted(byNumber));
  });

  test('numbers continue upwards after the process died, and two processes never assign the same', async () => {
    const { tenant, pims } = await store.newTenant();
    const before = [await pims.createOrder(), await pims.createOrder()];
    const reopened = await store.reopened(tenant);
    const after = [await reopened.createOrder(), await pims.createOrder(), await reopened.createOrder()];
    const together = await Promise.all(times(60, (index) => (index % 2 === 0 ? pims : reopened).createOrder()));
    const numbers = [...before, ...after, ...together];
    assert.equal(new Set(numbers).size, numbers.length);
    assert.ok(Math.min(...after.map(Number)) > Math.max(...before.map(Number)));
    assert.ok(Math.min(...together.map(Number)) > Math.max(...after.map(Number)));
  });

  test('tenants have separate numbers, and never see each other’s records', async () => {
    const [a, b] = [await store.newTenant(), await store.newTenant()];
    const number = await a.pims.createOrder({ NOTES: 'of a' });
    assert.equal(await b.pims.createOrder({ NOTES: 'of b' }), number, 'both begin at the same number');
    assert.equal((await a.pims.readOrder(number)).order['NOTES'], 'of a');
    await a.pims.createOrder();
    assert.equal((await b.pims.readAll('orders')).length, 1);
  });

  test('a customer code that a caller chose is kept and never assigned to another customer', async () => {
    const { pims } = await store.newTenant();
    const create = async (values = {}): Promise<string> => await pims.createCustomer(values);
    const first = Number(await create());
    assert.equal(await create({ CUSTOMER_CODE: 'ACME/1 #+%' }), 'ACME/1 #+%');
    assert.equal(await create({ CUSTOMER_CODE: `0${first}` }), `0${first}`, 'leading zeros make another code');
    const taken = [first + 1, first + 3, first + 40].map(String);
    for (const code of taken) assert.equal(await create({ CUSTOMER_CODE: code }), code);
    const given = [await create(), await create(), await create()];
    assert.equal(new Set([...given, ...taken]).size, 6);
    for (const code of [...taken, 'ACME/1 #+%', ...given])
      assertRefused(await pims.createRecord('customers', { CUSTOMER_CODE: code }), 'CODE_TAKEN', 'CUSTOMER_CODE');
  });

  test('a key of 256 characters of any size is like any other; a longer one is refused and finds nothing', async () => {
    const { pims } = await store.newTenant();
    for (const character of ['7', 'x', '東', '😀']) {
      const [longest, tooLong] = [character.repeat(256), character.repeat(257)];
      await pims.createCustomer({ CUSTOMER_CODE: longest });
      assertRefused(await pims.createRecord('customers', { CUSTOMER_CODE: tooLong }), 'INVALID_VALUE', 'CUSTOMER_CODE');
      accepted(await pims.updateCustomer(longest, { NOTES: longest }));
      assertRefused(await pims.updateCustomer(tooLong, { NOTES: 'x' }), 'CUSTOMER_NOT_FOUND');
      assert.equal((await pims.readRecord('customers', longest))!['NOTES'], longest);
      assert.equal(await pims.readRecord('customers', tooLong), undefined);
      for (const [recordType, key] of [
        ['orders', 'ORDER_NUMBER'],
        ['inventory', 'PART_CODE'],
      ] as const) {
        const { imported, rejected } = await pims.importRows(recordType, [{ [key]: longest }, { [key]: tooLong }]);
        assert.equal(imported, 1);
        assertRefused(rejected[0]!.reason, 'INVALID_VALUE', key);
      }
      accepted(await pims.addLine(longest, { PART_CODE: longest, QUANTITY: '1' }));
      assert.equal((await pims.readOrder(longest)).lines[0]!['PART_CODE'], longest);
    }
  });

  test('imported numbers are skipped', async () => {
    const { pims } = await store.newTenant();
    const orders = ['20500', '10248', 'W-99999', '9'.repeat(30)].map((ORDER_NUMBER) => ({ ORDER_NUMBER }));
    await pims.importAll('orders', orders);
    assert.equal(await pims.createOrder(), '20501');
    assert.equal(await pims.createOrder(), '20502');
  });

  test('simultaneous writes each have their own outcome', async () => {
    const { pims } = await store.newTenant();
    const order = await pims.createOrder();
    await pims.createCustomer({ CUSTOMER_CODE: 'TAKEN' });
    const outcomes = await Promise.all([
      pims.createRecord('customers', { CUSTOMER_CODE: 'A' }),
      pims.createRecord('customers', { CUSTOMER_CODE: 'TAKEN' }),
      pims.addLine(order, { PART_CODE: 'P' }),
      pims.addLine('nope', { PART_CODE: 'P' }),
      pims.createRecord('customers', { CUSTOMER_CODE: 'A' }),
      pims.updateCustomer('TAKEN', { NOTES: 'n' }),
      pims.updateCustomer('nobody', { NOTES: 'n' }),
      pims.updateLine(order, 'no lock', { QUANTITY: '1' }),
      pims.createRecord('customers', { CUSTOMER_CODE: 'B', CUSTOMER_NAME: 'b' }),
    ]);
    const codes = outcomes.map((outcome) => (outcome instanceof Refusal ? outcome.code : 'done'));
    const expected = 'done CODE_TAKEN done ORDER_NOT_FOUND CODE_TAKEN done CUSTOMER_NOT_FOUND LINE_NOT_FOUND done';
    assert.equal(codes.join(' '), expected);
    const customers = (await pims.readAll('customers')).map((one) => `${one['CUSTOMER_CODE']} ${one['NOTES']}`);
    assert.deepEqual(customers, ['A ', 'B ', 'TAKEN n']);
    assert.equal((await pims.readAll('lines')).length, 1);
  });

  test('a refused write changes nothing', async () => {
    const { pims } = await store.newTenant();
    await pims.importAll('inventory', [{ PART_CODE: 'P', QTY_ONHAND: '10', LOCATION_CODE: 'MAIN' }]);
    await pims.createCustomer({ CUSTOMER_CODE: 'C' });
    const [open, closed] = [await pims.createOrder({ ORDER_TYPE: 'sales_order' }), await pims.createOrder()];
    const { LINE_REF_LOCK_CODE: lock = '' } = await pims.newLine(open, { PART_CODE: 'P', QUANTITY: '4' });
    accepted(await pims.addLine(closed, { PART_CODE: 'P', QUANTITY: '1' }));
    const invoice = { quantities: new Map<string, string>(), serials: new Map<string, string[]>(), tracking: [] };
    accepted(await pims.advanceOrder(closed, { invoice }));
    const before = await pims.readEverything();
    const strict = write({ strict: true });
    const refused: [Promise<unknown>, ErrorCode][] = [
      [pims.createRecord('customers', { CUSTOMER_CODE: 'C', CUSTOMER_NAME: 'x' }), 'CODE_TAKEN'],
      [pims.createRecord('orders', { CUSTOMER_CODE: 'X' }, strict), 'UNKNOWN_REFERENCE'],
      [pims.createRecord('orders', { CUSTOMER_CODE: 'C', LOCATION_CODE: 'X' }, strict), 'UNKNOWN_REFERENCE'],
      [pims.addLine(open, { PART_CODE: 'X' }, strict), 'UNKNOWN_REFERENCE'],
      [pims.addLine(closed, { PART_CODE: 'P' }), 'ORDER_CLOSED'],
      [pims.addLine(open, { QUANTITY: '1', SERIAL_NUMBERS: 'A,B' }), 'SERIALS_NOT_ALLOWED'],
      [pims.updateLine(open, lock, { NUMBER_SHIPPED: '5' }), 'QUANTITY_NOT_ALLOWED'],
      [pims.updateLine(open, lock, { PART_CODE: 'X' }, strict), 'UNKNOWN_REFERENCE'],
      [pims.updateLine(closed, lock, { QUANTITY: '1' }), 'LINE_NOT_FOUND'],
      [pims.advanceOrder(closed, { approve: true }), 'STAGE_NOT_ALLOWED'],
      [pims.advanceOrder('nope', { approve: true }), 'ORDER_NOT_FOUND'],
      [pims.advanceOrder(open, { invoice: { ...invoice, quantities: new Map([['1', '5']]) } }), 'QUANTITY_NOT_ALLOWED'],
    ];
    for (const [outcome, code] of refused) assertRefused(await outcome, code);
    assert.deepEqual(await pims.readEverything(), before);
  });

  test('a strict tenant accepts known codes', async () => {
    const { pims } = await store.newTenant();
    await pims.importAll('inventory', [{ PART_CODE: 'P', LOCATION_CODE: 'MAIN' }]);
    await pims.importAll('customers', [{ CUSTOMER_CODE: 'C' }]);
    const strict = write({ strict: true });
    const order = await pims.createOrder({ ORDER_TYPE: 'quote', CUSTOMER_CODE: 'C', LOCATION_CODE: 'MAIN' }, strict);
    assert.equal((await pims.newLine(order, { PART_CODE: 'P' }, strict))['PART_CODE'], 'P');
    await pims.createOrder({ ORDER_TYPE: 'quote', CUSTOMER_CODE: '' }, strict);
  });

  test('an acknowledged write is visible at once, in this process and every other', async () => {
    const { tenant, pims } = await store.newTenant();
    const other = await store.reopened(tenant);
    for (let round = 0; round < 20; round++) {
      const [writer, reader] = round % 2 === 0 ? [pims, other] : [other, pims];
      const code = await writer.createCustomer({ CUSTOMER_NAME: 'before' });
      assert.equal((await reader.readRecord('customers', code))?.['CUSTOMER_NAME'], 'before');
      accepted(await writer.updateCustomer(code, { CUSTOMER_NAME: 'after' }));
      assert.equal((await reader.readRecord('customers', code))?.['CUSTOMER_NAME'], 'after');
      assert.equal((await writer.readRecord('customers', code))?.['CUSTOMER_NAME'], 'after');
      const reference = `#${round}`;
      const order = await writer.createOrder({ REFERENCE_NUMBER: reference });
      for (let lines = 0; lines < 3; lines++) {
        for (const pimsOfOne of [reader, writer]) {
          assert.equal((await pimsOfOne.readOrder(order)).lines.length, lines);
          assert.equal((await pimsOfOne.viewOrders(reference))[0]!.items.length, lines);
        }
        await writer.newLine(order, { QUANTITY: '1' });
      }
    }
  });

  test('a missing record is not found', async () => {
    const { pims } = await store.newTenant();
    for (const key of ['', '1', 'nope', "'; --", '%']) {
      assert.equal(await pims.port.getOrder(key), undefined);
      for (const recordType of ['orders', 'customers', 'inventory'] as const)
        assert.equal(await pims.port.getRecord(recordType, key), undefined);
      assert.deepEqual(await pims.viewOrders(key), []);
    }
  });
}
