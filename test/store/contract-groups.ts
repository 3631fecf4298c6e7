/** Contract: calls that are sent at once have outcomes that they can have one after the other, in cases that are rare. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal, settle } from '../../src/errors.ts';
import * as operations from '../../src/pims/operations.ts';
import type { Values } from '../../src/pims/rules/values.ts';
import { PATIENT } from '../kit/caller.ts';
import { WHOLE_INVOICE } from '../kit/invoices.ts';
import { times, valuesOf } from '../kit/lists.ts';
import { accepted, assertRefused, write, type Pims, type StoreUnderTest } from './store-under-test.ts';

/** More parts than the write of an order may read in a group with other writes. */
const MANY_PARTS = 101;

/** Returns the units of each part on hand and committed. */
const readStock = (pims: Pims, ...partCodes: string[]): Promise<(string | undefined)[][]> =>
  Promise.all(
    partCodes.map(async (code) => {
      const part = (await pims.readRecord('inventory', code))!;
      return [part['QTY_ONHAND'], part['QTY_COMMITTED']];
    }),
  );
const readCommitted = async (pims: Pims, ...partCodes: string[]): Promise<string[]> =>
  (await readStock(pims, ...partCodes)).map(([, committed]) => committed!);

/** Returns the code of a refusal, or 'done'. */
const codeOf = async (work: Promise<unknown>): Promise<string> => {
  const outcome = await work.catch((fault: unknown) =>
    settle(() => {
      throw fault;
    }),
  );
  return outcome instanceof Refusal ? outcome.code : 'done';
};
const voidInvoice = (pims: Pims, order: string) =>
  operations.writeRecord(
    pims.port,
    'voidInvoice',
    { ORDER_NUMBER: order, REASON: 'damaged' },
    { ...write(), defaultStage: 'quote' },
  );
const act = (pims: Pims, operation: 'receiveStock' | 'adjustStock', QUANTITY: string, ...serials: string[]) =>
  operations.writeRecord(
    pims.port,
    operation,
    { PART_CODE: 'P', QUANTITY, SERIAL_NUMBERS: serials.join(), REASON: 'test' },
    { ...write(), defaultStage: 'quote' },
  );
/** Changes a line that `begin` made. */
const changeLine = (pims: Pims, order: string, change: Values) => pims.updateLine(order, `lock-${order}`, change);

/** Imports the part P with ten units, and two sales orders with two units of it. */
async function begin({ pims }: { readonly pims: Pims }, part: Values = {}): Promise<Pims> {
  const orders = ['1', '2'].map((ORDER_NUMBER) => ({ ORDER_NUMBER, ORDER_TYPE: 'sales_order' }));
  await pims.importAll('inventory', [{ PART_CODE: 'P', QTY_ONHAND: '10', ...part }]);
  await pims.importAll('orders', orders);
  const line = { PART_CODE: 'P', QUANTITY: '1' };
  await pims.importAll(
    'lines',
    orders.map(({ ORDER_NUMBER }) => ({ ...line, ORDER_NUMBER, LINE_REF_LOCK_CODE: `lock-${ORDER_NUMBER}` })),
  );
  return pims;
}

export function describeGroups(store: StoreUnderTest): void {
  test('if two invoices get the same serial number at once, one keeps it', async () => {
    const pims = await begin(await store.newTenant());
    for (const order of ['1', '2']) accepted(await pims.advanceOrder(order, { invoice: WHOLE_INVOICE }));
    const outcomes = ['1', '2'].map((order) => codeOf(changeLine(pims, order, { SERIAL_NUMBERS: 'S1' })));
    assert.deepEqual(await Promise.all(outcomes), ['done', 'SERIALS_NOT_ALLOWED']);
  });

  test('if two orders are invoiced at once with the same serial number, one succeeds', async () => {
    const pims = await begin(await store.newTenant(), { SERIALIZED: 'Y' });
    const invoice = { ...WHOLE_INVOICE, serials: new Map([['1', ['S1']]]) };
    const outcomes = ['1', '2'].map((order) => codeOf(pims.advanceOrder(order, { invoice })));
    assert.deepEqual(await Promise.all(outcomes), ['done', 'SERIALS_NOT_ALLOWED']);
    assert.deepEqual(await readStock(pims, 'P'), [['9', '1']]);
  });

  test('a changed or void invoice does not return serial numbers that another has sold since', async () => {
    for (const leave of [
      (pims: Pims) => changeLine(pims, '1', { SERIAL_NUMBERS: 'S2' }),
      (pims: Pims) => voidInvoice(pims, '1'),
    ]) {
      const pims = await begin(await store.newTenant());
      const find = async () => accepted(await pims.port.look('serials', PATIENT.signal, 'S1'));
      for (const order of ['1', '2']) accepted(await pims.advanceOrder(order, { invoice: WHOLE_INVOICE }));
      accepted(await changeLine(pims, '1', { SERIAL_NUMBERS: 'S1' }));
      // The unit comes back by a receipt and is sold again, while the first invoice still names it.
      await act(pims, 'receiveStock', '1', 'S1');
      accepted(await changeLine(pims, '2', { SERIAL_NUMBERS: 'S1' }));
      await leave(pims);
      assert.deepEqual(await find(), [{ PART_CODE: 'P', ORDER_NUMBER: '2' }]);
      await voidInvoice(pims, '2');
      assert.deepEqual(await find(), [{ PART_CODE: 'P', ORDER_NUMBER: '' }]);
    }
  });

  test('a part that is created at the same moment as lines with it has the units that they commit', async () => {
    const { pims } = await store.newTenant();
    // On PostgreSQL, a batch takes more rounds of loads than the new part does.
    const batch = () =>
      pims.batch([
        ['createOrder', { ORDER_TYPE: 'sales_order' }],
        ['addLineItem', { ORDER_NUMBER: '$0.data', PART_CODE: 'P', QUANTITY: '3' }],
      ]);
    const part = () =>
      pims.batch([
        ['createPart', { PART_CODE: 'P' }],
        ['countStock', { PART_CODE: 'P', QUANTITY: '10' }],
      ]);
    const outcomes = await Promise.all([batch(), batch(), part()].map(codeOf));
    assert.deepEqual([...outcomes, ...(await readStock(pims, 'P'))], ['done', 'done', 'done', ['10', '6']]);
  });

  test('a change that is sent at once with the partial invoice that moves its line finds the moved line', async () => {
    const pims = await begin(await store.newTenant());
    await pims.importAll('lines', [{ ORDER_NUMBER: '1', PART_CODE: 'P', QUANTITY: '2', LINE_REF_LOCK_CODE: 'moved' }]);
    const invoice = { ...WHOLE_INVOICE, quantities: new Map([['1', '1']]) };
    const sent = [pims.advanceOrder('1', { invoice }), pims.updateLine('1', 'moved', { DESCRIPTION: 'x' })];
    assert.deepEqual(await Promise.all(sent.map(codeOf)), ['done', 'LINE_MOVED']);
  });

  test('an order that is approved and becomes a drop shipment at once commits no stock', async () => {
    const { pims } = await store.newTenant();
    await pims.importAll('inventory', [{ PART_CODE: 'P', QTY_ONHAND: '10' }]);
    const order = await pims.createOrder({ ORDER_TYPE: 'quote' });
    await pims.newLine(order, { PART_CODE: 'P', QUANTITY: '3' });
    const change = (DROP_SHIP: string) => pims.updateOrder(order, { DROP_SHIP });
    for (const outcome of await Promise.all([pims.advanceOrder(order, { approve: true }), change('Y')]))
      accepted(outcome);
    assert.deepEqual(await readStock(pims, 'P'), [['10', '0']]);
    accepted(await change('N'));
    assert.deepEqual(await readStock(pims, 'P'), [['10', '3']]);
  });

  test('an order that is invoiced twice and voided twice at once moves its units once', async () => {
    const pims = await begin(await store.newTenant());
    const invoice = () => pims.advanceOrder('1', { invoice: WHOLE_INVOICE });
    const sent = [invoice(), invoice(), voidInvoice(pims, '1'), voidInvoice(pims, '1')];
    assert.deepEqual(await Promise.all(sent.map(codeOf)), ['done', 'STAGE_NOT_ALLOWED', 'done', 'done']);
    assert.deepEqual(await readStock(pims, 'P'), [['10', '1']]);
  });

  test('receipts and adjustments sent at once with sales are each in the ledger, which adds up', async () => {
    const pims = await begin(await store.newTenant());
    await Promise.all([
      act(pims, 'receiveStock', '5'),
      ...['1', '2'].map((order) => pims.advanceOrder(order, { invoice: WHOLE_INVOICE })),
      act(pims, 'adjustStock', '-1'),
      act(pims, 'receiveStock', '2'),
    ]);
    assert.deepEqual(await readStock(pims, 'P'), [['14', '0']]);
    assert.deepEqual(
      (await pims.readLedger(['P'])).map(({ QUANTITY, AFTER }) => `${QUANTITY} ${AFTER}`),
      ['2 14', '-1 12', '-1 13', '-1 14', '5 15', '10 10'],
    );
  });

  test('a write beside one that is too large to share its reads starts from the result of that one', async () => {
    const { pims } = await store.newTenant();
    const parts = times(MANY_PARTS, (index) => `P${index}`);
    await pims.importAll(
      'inventory',
      parts.map((PART_CODE) => ({ PART_CODE, QTY_ONHAND: '100' })),
    );
    await pims.importAll(
      'orders',
      ['1', '2'].map((ORDER_NUMBER) => ({ ORDER_NUMBER, ORDER_TYPE: 'sales_order' })),
    );
    await pims.importAll(
      'lines',
      parts.map((PART_CODE) => ({ ORDER_NUMBER: '1', PART_CODE, QUANTITY: '2' })),
    );
    assert.deepEqual(await readCommitted(pims, 'P7'), ['2']);
    const line = { PART_CODE: 'P7', QUANTITY: '5' };
    for (const outcome of await Promise.all([pims.cancelOrder('1'), pims.addLine('2', line)])) accepted(outcome);
    assert.deepEqual(await readCommitted(pims, 'P7', 'P8'), ['5', '0']);
  });

  test('if two writes are sent at once with the same tag, one succeeds and the other is refused', async () => {
    const { pims } = await store.newTenant();
    const [order, customer] = [await pims.createOrder(), await pims.createCustomer()];
    for (const [recordType, key, update] of [
      ['orders', order, pims.updateOrder.bind(pims)],
      ['customers', customer, pims.updateCustomer.bind(pims)],
    ] as const) {
      const options = write({ expected: [(await pims.port.getRecord(recordType, key))!.tag] });
      const [first, second] = await Promise.all(['a', 'b'].map((NOTES) => update(key, { NOTES }, options)));
      accepted(first!);
      assertRefused(second, 'RECORD_CHANGED');
      assert.equal((await pims.readRecord(recordType, key))!['NOTES'], 'a');
    }
  });

  test('care plans that are added at once with a change of their order commit no stock', async () => {
    const { pims } = await store.newTenant();
    await pims.importAll('inventory', [
      { PART_CODE: 'LAMP', QTY_ONHAND: '10' },
      { PART_CODE: 'CARE', QTY_ONHAND: '10', CARE_PLAN: 'Y' },
    ]);
    const lines = ['LAMP', 'CARE'].map((PART_CODE) => ({ PART_CODE, QUANTITY: '2' }));
    const ORDER_NUMBER = await pims.createOrder({ ORDER_TYPE: 'sales_order' });
    const change = (DROP_SHIP: string) => pims.updateOrder(ORDER_NUMBER, { DROP_SHIP });
    for (const outcome of await Promise.all([...lines.map((line) => pims.addLine(ORDER_NUMBER, line)), change('Y')]))
      accepted(outcome);
    assert.deepEqual(await readCommitted(pims, 'LAMP', 'CARE'), ['0', '0']);
    accepted(await change('N'));
    assert.deepEqual(await readCommitted(pims, 'LAMP', 'CARE'), ['2', '0']);

    const made = { ORDER_NUMBER: '$0.data' };
    accepted(
      await pims.batch([
        ['createOrder', { ORDER_TYPE: 'sales_order' }],
        ...lines.map((line) => ['addLineItem', { ...made, ...line }] as const),
        ['updateOrder', { ...made, DROP_SHIP: 'Y' }],
      ]),
    );
    assert.deepEqual(await readCommitted(pims, 'LAMP', 'CARE'), ['2', '0']);
  });

  test('numbers that are assigned at once skip the codes that callers use at the same moment', async () => {
    const { pims } = await store.newTenant();
    const first = Number(await pims.createCustomer());
    const own = times(20, (index): Values => (index % 2 ? { CUSTOMER_CODE: String(first + index) } : {}));
    const codes = await Promise.all(own.map((values) => pims.createRecord('customers', values)));
    const given = codes.filter((outcome) => !(outcome instanceof Refusal)).map((outcome) => accepted(outcome).data);
    assert.equal(new Set(given).size, given.length);
    assert.equal((await pims.readAll('customers')).length, given.length + 1);
    for (const [index, outcome] of codes.entries())
      if (!own[index]!['CUSTOMER_CODE']) assert.ok(!(outcome instanceof Refusal), 'a number is always found');
  });

  test('simultaneous queries each get their own result, of one page or several', async () => {
    const { pims } = await store.newTenant();
    const cities = times(30, (index) => (index % 3 === 0 ? `"City" ${index}\\ Ünter` : `City ${index}`));
    const customers = times(300, (index) => ({
      CUSTOMER_CODE: String(index),
      BCITY: cities[index % 30]!,
      BSTATE: `S${index % 7}`,
      CUSTOMER_NAME: `Firm ${cities[index % 30]!}`,
    }));
    await pims.importAll('customers', customers);
    const askFor = (value: string, city: number): Promise<number>[] =>
      [3, 10, 500].flatMap((limit) =>
        [
          [],
          [{ field: 'BSTATE', value: 'S1', conjunction: 'AND' }],
          [{ field: 'BSTATE', value: 'S1', conjunction: 'OR' }],
        ].map(async (more, kind) => {
          const text = { field: 'CUSTOMER_NAME', value: value.toLowerCase(), contains: true };
          const filter = city % 2 === 0 ? text : { field: 'BCITY', value };
          const { records, next } = await pims.ask('customers', [filter, ...more], { limit });
          const expected = customers.filter(({ BCITY, BSTATE }) => {
            const [isCity, isState] = [city % 2 === 0 ? BCITY.includes(value) : BCITY === value, BSTATE === 'S1'];
            return kind === 0 ? isCity : kind === 1 ? isCity && isState : isCity || isState;
          });
          assert.equal(next !== null, expected.length > limit);
          assert.deepEqual(valuesOf(records, 'CUSTOMER_CODE'), valuesOf(expected.slice(0, limit), 'CUSTOMER_CODE'));
          return records.length;
        }),
      );
    // At most 72 queries of a tenant may run and wait.
    let most = 0;
    for (let from = 0; from < cities.length; from += 7) {
      const together = cities.slice(from, from + 7).flatMap((value, index) => askFor(value, from + index));
      most = Math.max(most, ...(await Promise.all(together)));
    }
    assert.ok(most > 10);
  });
  test('a text that more than a thousand records have is found in all of them, in the order of their keys', async () => {
    const { pims } = await store.newTenant();
    // The records are written in descending order of their keys.
    const codes = times(1100, (index) => String(5000 - index));
    await pims.importAll(
      'customers',
      codes.map((CUSTOMER_CODE) => ({ CUSTOMER_CODE, CUSTOMER_NAME: 'Common' })),
    );
    const filters = [{ field: 'CUSTOMER_NAME', value: 'common', contains: true }];
    const expected = codes.toReversed().slice(0, 20);
    for (let asked = 0; asked < 2; asked++) {
      const { records, next } = await pims.ask('customers', filters, { limit: 20 });
      assert.deepEqual([valuesOf(records, 'CUSTOMER_CODE'), next !== null], [expected, true]);
    }
  });
}
