/**
 * Contract: numbers are never given twice, whoever asks and whatever happened; each write has its own outcome; what
 * is refused leaves nothing; and what was answered is there for everybody.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal, type ErrorCode } from '../../src/errors.ts';
import {
  type StoreUnderTest,
  accepted,
  addLine,
  advanceOrder,
  assertRefused,
  createOrder,
  createRecord,
  importAll,
  importRows,
  lineOf,
  numberOf,
  readAll,
  readEverything,
  readOrder,
  readRecord,
  updateCustomer,
  updateLine,
  write,
} from './store-under-test.ts';

export function describeNumbers(store: StoreUnderTest): void {
  test('a hundred orders made at once have a hundred numbers, all digits', async () => {
    const { pims } = await store.newTenant();
    const numbers = await Promise.all(Array.from({ length: 100 }, () => createOrder(pims)));
    assert.equal(new Set(numbers).size, 100);
    for (const number of numbers) assert.match(number, /^[1-9]\d*$/);
    assert.deepEqual(
      (await readAll(pims, 'orders')).map((order) => order['ORDER_NUMBER']),
      numbers.toSorted((a, b) => Number(a) - Number(b)),
    );
  });

  test('numbers go on upwards after the process died without closing, and two processes never give the same', async () => {
    const { tenant, pims } = await store.newTenant();
    const before = [await createOrder(pims), await createOrder(pims)];
    const reopened = (await store.openAgain()).pims(tenant);
    const after = [await createOrder(reopened), await createOrder(pims), await createOrder(reopened)];
    const together = await Promise.all(
      Array.from({ length: 60 }, (_, index) => createOrder(index % 2 === 0 ? pims : reopened)),
    );
    const numbers = [...before, ...after, ...together];
    assert.equal(new Set(numbers).size, numbers.length);
    assert.ok(Math.min(...after.map(Number)) > Math.max(...before.map(Number)));
    assert.ok(Math.min(...together.map(Number)) > Math.max(...after.map(Number)));
  });

  test('tenants have numbers of their own, and never see each other’s records', async () => {
    const [a, b] = [await store.newTenant(), await store.newTenant()];
    const number = await createOrder(a.pims, { NOTES: 'of a' });
    assert.equal(await createOrder(b.pims, { NOTES: 'of b' }), number, 'both begin at the same number');
    assert.equal((await readOrder(a.pims, number)).order['NOTES'], 'of a');
    await createOrder(a.pims);
    assert.equal((await readAll(b.pims, 'orders')).length, 1);
  });

  test('a customer code of the caller’s is kept, and no code is given that a caller has taken', async () => {
    const { pims } = await store.newTenant();
    const create = async (values = {}): Promise<string> =>
      numberOf(await createRecord(pims, 'customers', values, write()));
    const first = Number(await create());
    assert.equal(await create({ CUSTOMER_CODE: 'ACME/1 #+%' }), 'ACME/1 #+%');
    assert.equal(await create({ CUSTOMER_CODE: `0${first}` }), `0${first}`, 'leading zeros make another code');
    const taken = [first + 1, first + 3, first + 40].map(String);
    for (const code of taken) assert.equal(await create({ CUSTOMER_CODE: code }), code);
    const given = [await create(), await create(), await create()];
    assert.equal(new Set([...given, ...taken]).size, 6);
    for (const code of [...taken, 'ACME/1 #+%', ...given])
      assertRefused(
        await createRecord(pims, 'customers', { CUSTOMER_CODE: code }, write()),
        'CODE_TAKEN',
        'CUSTOMER_CODE',
      );
  });

  test('a key of 256 characters is one like any other, whatever they take in bytes; a longer one is refused and finds nothing', async () => {
    const { pims } = await store.newTenant();
    for (const character of ['7', 'x', '東', '😀']) {
      const [longest, tooLong] = [character.repeat(256), character.repeat(257)];
      numberOf(await createRecord(pims, 'customers', { CUSTOMER_CODE: longest }, write()));
      assertRefused(
        await createRecord(pims, 'customers', { CUSTOMER_CODE: tooLong }, write()),
        'INVALID_VALUE',
        'CUSTOMER_CODE',
      );
      accepted(await updateCustomer(pims, longest, { NOTES: longest }, write()));
      assertRefused(await updateCustomer(pims, tooLong, { NOTES: 'x' }, write()), 'CUSTOMER_NOT_FOUND');
      assert.equal((await readRecord(pims, 'customers', longest))!['NOTES'], longest);
      assert.equal(await readRecord(pims, 'customers', tooLong), undefined);
      for (const [recordType, key] of [
        ['orders', 'ORDER_NUMBER'],
        ['inventory', 'PART_CODE'],
      ] as const) {
        const { imported, rejected } = await importRows(pims, recordType, [{ [key]: longest }, { [key]: tooLong }]);
        assert.equal(imported, 1);
        assertRefused(rejected[0]!.reason, 'INVALID_VALUE', key);
      }
      accepted(await addLine(pims, longest, { PART_CODE: longest, QUANTITY: '1' }, write()));
      assert.equal((await readOrder(pims, longest)).lines[0]!['PART_CODE'], longest);
    }
  });

  test('numbers that were imported are passed over', async () => {
    const { pims } = await store.newTenant();
    await importAll(pims, 'orders', [
      { ORDER_NUMBER: '20500' },
      { ORDER_NUMBER: '10248' },
      { ORDER_NUMBER: 'W-99999' },
      { ORDER_NUMBER: '9'.repeat(30) },
    ]);
    assert.equal(await createOrder(pims), '20501');
    assert.equal(await createOrder(pims), '20502');
  });

  test('of writes made at once, each has its own outcome', async () => {
    const { pims } = await store.newTenant();
    const order = await createOrder(pims);
    numberOf(await createRecord(pims, 'customers', { CUSTOMER_CODE: 'TAKEN' }, write()));
    const outcomes = await Promise.all([
      createRecord(pims, 'customers', { CUSTOMER_CODE: 'A' }, write()),
      createRecord(pims, 'customers', { CUSTOMER_CODE: 'TAKEN' }, write()),
      addLine(pims, order, { PART_CODE: 'P' }, write()),
      addLine(pims, 'nope', { PART_CODE: 'P' }, write()),
      createRecord(pims, 'customers', { CUSTOMER_CODE: 'A' }, write()),
      updateCustomer(pims, 'TAKEN', { NOTES: 'n' }, write()),
      updateCustomer(pims, 'nobody', { NOTES: 'n' }, write()),
      updateLine(pims, order, 'no lock', { QUANTITY: '1' }, write()),
      createRecord(pims, 'customers', { CUSTOMER_CODE: 'B', CUSTOMER_NAME: 'b' }, write()),
    ]);
    const codes = outcomes.map((outcome) => (outcome instanceof Refusal ? outcome.code : 'done'));
    assert.deepEqual(codes, [
      'done',
      'CODE_TAKEN',
      'done',
      'ORDER_NOT_FOUND',
      'CODE_TAKEN',
      'done',
      'CUSTOMER_NOT_FOUND',
      'LINE_NOT_FOUND',
      'done',
    ]);
    assert.deepEqual(
      (await readAll(pims, 'customers')).map((one) => `${one['CUSTOMER_CODE']} ${one['NOTES']}`),
      ['A ', 'B ', 'TAKEN n'],
    );
    assert.equal((await readAll(pims, 'lines')).length, 1);
  });

  test('what is refused leaves nothing behind', async () => {
    const { pims } = await store.newTenant();
    await importAll(pims, 'inventory', [{ PART_CODE: 'P', QTY_ONHAND: '10', LOCATION_CODE: 'MAIN' }]);
    numberOf(await createRecord(pims, 'customers', { CUSTOMER_CODE: 'C' }, write()));
    const [open, closed] = [await createOrder(pims, { ORDER_TYPE: 'sales_order' }), await createOrder(pims)];
    const { LINE_REF_LOCK_CODE: lock = '' } = lineOf(
      await addLine(pims, open, { PART_CODE: 'P', QUANTITY: '4' }, write()),
    );
    accepted(await addLine(pims, closed, { PART_CODE: 'P', QUANTITY: '1' }, write()));
    const invoice = { quantities: new Map<string, string>(), serials: new Map<string, string[]>(), tracking: [] };
    accepted(await advanceOrder(pims, closed, { invoice }, write()));
    const before = await readEverything(pims);
    const strict = write({ strict: true });
    const refused: [Promise<unknown>, ErrorCode][] = [
      [createRecord(pims, 'customers', { CUSTOMER_CODE: 'C', CUSTOMER_NAME: 'x' }, write()), 'CODE_TAKEN'],
      [createRecord(pims, 'orders', { ORDER_TYPE: 'quote', CUSTOMER_CODE: 'X' }, strict), 'UNKNOWN_REFERENCE'],
      [
        createRecord(pims, 'orders', { ORDER_TYPE: 'quote', CUSTOMER_CODE: 'C', LOCATION_CODE: 'X' }, strict),
        'UNKNOWN_REFERENCE',
      ],
      [addLine(pims, open, { PART_CODE: 'X' }, strict), 'UNKNOWN_REFERENCE'],
      [addLine(pims, closed, { PART_CODE: 'P' }, write()), 'STAGE_NOT_ALLOWED'],
      [addLine(pims, open, { QUANTITY: '1', SERIAL_NUMBERS: 'A,B' }, write()), 'SERIALS_NOT_ALLOWED'],
      [updateLine(pims, open, lock, { NUMBER_SHIPPED: '5' }, write()), 'QUANTITY_NOT_ALLOWED'],
      [updateLine(pims, open, lock, { PART_CODE: 'X' }, strict), 'UNKNOWN_REFERENCE'],
      [updateLine(pims, closed, lock, { QUANTITY: '1' }, write()), 'LINE_NOT_FOUND'],
      [advanceOrder(pims, closed, { approve: true }, write()), 'STAGE_NOT_ALLOWED'],
      [advanceOrder(pims, 'nope', { approve: true }, write()), 'ORDER_NOT_FOUND'],
      [
        advanceOrder(pims, open, { invoice: { ...invoice, quantities: new Map([['1', '5']]) } }, write()),
        'QUANTITY_NOT_ALLOWED',
      ],
    ];
    for (const [outcome, code] of refused) assertRefused(await outcome, code);
    assert.deepEqual(await readEverything(pims), before);
  });

  test('a strict tenant takes codes that are known', async () => {
    const { pims } = await store.newTenant();
    await importAll(pims, 'inventory', [{ PART_CODE: 'P', LOCATION_CODE: 'MAIN' }]);
    await importAll(pims, 'customers', [{ CUSTOMER_CODE: 'C' }]);
    const strict = write({ strict: true });
    const order = numberOf(
      await createRecord(pims, 'orders', { ORDER_TYPE: 'quote', CUSTOMER_CODE: 'C', LOCATION_CODE: 'MAIN' }, strict),
    );
    assert.equal(lineOf(await addLine(pims, order, { PART_CODE: 'P' }, strict))['PART_CODE'], 'P');
    numberOf(await createRecord(pims, 'orders', { ORDER_TYPE: 'quote', CUSTOMER_CODE: '' }, strict));
  });

  test('what was answered is there at once, for this process and every other', async () => {
    const { tenant, pims } = await store.newTenant();
    const other = (await store.openAgain()).pims(tenant);
    for (let round = 0; round < 20; round++) {
      const [writer, reader] = round % 2 === 0 ? [pims, other] : [other, pims];
      const code = numberOf(await createRecord(writer, 'customers', { CUSTOMER_NAME: 'before' }, write()));
      assert.equal((await readRecord(reader, 'customers', code))?.['CUSTOMER_NAME'], 'before');
      accepted(await updateCustomer(writer, code, { CUSTOMER_NAME: 'after' }, write()));
      assert.equal((await readRecord(reader, 'customers', code))?.['CUSTOMER_NAME'], 'after');
      assert.equal((await readRecord(writer, 'customers', code))?.['CUSTOMER_NAME'], 'after');
    }
  });

  test('what is not there is not found', async () => {
    const { pims } = await store.newTenant();
    for (const key of ['', '1', 'nope', "'; --", '%']) {
      assert.equal(await pims.getOrder(key), undefined);
      for (const recordType of ['orders', 'customers', 'inventory'] as const)
        assert.equal(await pims.getRecord(recordType, key), undefined);
      assert.deepEqual(await pims.findOrders(key), []);
    }
  });
}
