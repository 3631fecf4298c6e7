/** Tests the life of an order: `storeroom order …` changes it beside the service, and the API shows every step. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { times } from '../kit/lists.ts';
import { expectRefusal, Shop, succeed, type Values, valuesOf } from '../kit/records.ts';
import type { Answer } from '../kit/service.ts';

interface Found extends Record<string, unknown> {
  order_type: string;
  pims_order_number: string;
  items: { part_number: string; quantity: number; shipped: number; serial_numbers: string[] }[];
}

const shop = await Shop.shared();
const { service } = shop;
const notebooks = times(20, (index) => ({
  PART_CODE: `MB/${index + 1}`,
  PART_DESCRIPTION: 'Notebook',
  QTY_ONHAND: '10',
  CARE_PLAN: 'N',
}));
await shop.load('inventory', [
  ...notebooks,
  { PART_CODE: 'PLAN', PART_DESCRIPTION: 'Care plan', QTY_ONHAND: '0', CARE_PLAN: 'Y' },
]);
/** Part code of the notebook of the current test. Ten of them are on hand. */
let PART = '';
let parts = 0;
beforeEach(() => void (PART = `MB/${++parts}`));

/** Makes an order with a line of `quantity` notebooks, and perhaps more lines. Returns its number. */
async function newOrder(
  order: Record<string, unknown>,
  quantity: string,
  ...more: Record<string, unknown>[]
): Promise<string> {
  const ORDER_NUMBER = await shop.newOrder(order);
  for (const line of [{ PART_CODE: PART, QUANTITY: quantity }, ...more])
    await succeed(shop.addLineItem({ ORDER_NUMBER, ...line }));
  return ORDER_NUMBER;
}

const approve = (number: string): Promise<Values> => shop.run('order', 'approve', 'shop', number);
const invoice = (number: string, ...words: string[]): Promise<{ backorder: string | null }> =>
  shop.run('order', 'invoice', 'shop', number, ...words);

/** Checks the stock of a part: on hand − committed = available. */
async function expectStock(expected: string, part = PART): Promise<void> {
  const { QTY_ONHAND, QTY_COMMITTED, QTY_AVAILABLE } = await succeed(shop.getInventoryItem(part));
  assert.equal(`${QTY_ONHAND} − ${QTY_COMMITTED} = ${QTY_AVAILABLE}`, expected);
}

async function lookUp(reference: string): Promise<Found[]> {
  return (await shop.findOrdersByStorefrontReference(reference)).body.orders as Found[];
}

/** Runs a command that must be refused with this code and change nothing. */
async function expectRefused(code: string, ...words: string[]): Promise<void> {
  const earlier = await shop.everything();
  const result = await service.command('order', ...words, '--json');
  assert.equal(result.code, 1, words.join(' '));
  assert.equal((JSON.parse(result.stderr) as { error: { code: string } }).error.code, code, result.stderr);
  assert.equal(await shop.everything(), earlier);
}

// Holds S8.1, S8.5, S8.6.
test('a worksheet reserves nothing, a sales order commits stock, an invoice reduces QTY_ONHAND', async () => {
  const number = await newOrder({ REFERENCE_NUMBER: '#walk' }, '3');
  const expectStage = async (stage: string, stock: string): Promise<void> => {
    assert.equal((await shop.order(number))['ORDER_TYPE'], stage);
    assert.equal((await lookUp('#walk'))[0]!.order_type, stage);
    await expectStock(stock);
  };
  await expectStage('worksheet', '10 − 0 = 10');
  await approve(number);
  await expectStage('sales_order', '10 − 3 = 7');
  assert.deepEqual((await invoice(number)).backorder, null);
  await expectStage('invoice', '7 − 0 = 7');
});

// Holds S8.1.
test('a quote reserves nothing; approved, it commits stock', async () => {
  const number = await newOrder({ ORDER_TYPE: 'quote' }, '4');
  await expectStock('10 − 0 = 10');
  await approve(number);
  await expectStock('10 − 4 = 6');
});

// Holds S8.1.
test('steps may be skipped: a worksheet and a quote can be invoiced at once', async () => {
  for (const [ORDER_TYPE, stock] of Object.entries({ worksheet: '8 − 0 = 8', quote: '6 − 0 = 6' })) {
    await invoice(await newOrder({ ORDER_TYPE }, '2'));
    await expectStock(stock);
  }
});

// Holds S8.1.
test('stages only go forward: a sales order is not approved, an invoice neither approved nor invoiced', async () => {
  const number = await newOrder({ ORDER_TYPE: 'sales_order' }, '1');
  await expectRefused('STAGE_NOT_ALLOWED', 'approve', 'shop', number);
  await invoice(number);
  await expectRefused('STAGE_NOT_ALLOWED', 'approve', 'shop', number);
  await expectRefused('STAGE_NOT_ALLOWED', 'invoice', 'shop', number);
});

// Holds S8.5.
test('QTY_AVAILABLE may be negative', async () => {
  await newOrder({ ORDER_TYPE: 'sales_order' }, '12.5');
  await expectStock('10 − 12.5 = -2.5');
});

// Holds S8.4.
test('lines added to and changed in a sales order adjust the committed stock; lines of a quote do not', async () => {
  const ORDER_NUMBER = await newOrder({ ORDER_TYPE: 'sales_order' }, '3');
  await expectStock('10 − 3 = 7');
  const { LINE_REF_LOCK_CODE } = await succeed(shop.addLineItem({ ORDER_NUMBER, PART_CODE: PART, QUANTITY: '2' }));
  await expectStock('10 − 5 = 5');
  const change = (fields: object): Promise<Values> =>
    succeed(shop.updateLineItem({ ORDER_NUMBER, LINE_REF_LOCK_CODE, ...fields }));
  await change({ QUANTITY: '4' });
  await expectStock('10 − 7 = 3');
  await change({ NUMBER_SHIPPED: '4' });
  await expectStock('10 − 7 = 3');
  await change({ PART_CODE: 'MB/20' });
  await expectStock('10 − 3 = 7');
  await expectStock('10 − 4 = 6', 'MB/20');
  await change({ PART_CODE: 'not a part of ours' });
  await expectStock('10 − 0 = 10', 'MB/20');

  const quote = await newOrder({ ORDER_TYPE: 'quote' }, '5');
  const [line] = await shop.lines(quote);
  await succeed(
    shop.updateLineItem({ ORDER_NUMBER: quote, LINE_REF_LOCK_CODE: line!['LINE_REF_LOCK_CODE'], QUANTITY: '6' }),
  );
  await expectStock('10 − 3 = 7');
});

// Holds S8.8, S9.9.
test('a partial invoice creates a sales order with the backorder, under the same reference', async () => {
  const number = await newOrder(
    { REFERENCE_NUMBER: '#part', CUSTOMER_CODE: 'VINET', SNAME: 'Corinne', ORDER_DATE: '1/2/2026' },
    '5',
  );
  await approve(number);
  const { backorder } = await invoice(number, '--line', '1=2', '--tracking', '1Z9,PG7');
  assert.ok(backorder !== null && backorder !== number);
  await expectStock('8 − 3 = 5');
  const [first, second] = await lookUp('#part');
  assert.deepEqual(
    [first!.order_type, first!.pims_order_number, first!['tracking_numbers']],
    ['invoice', number, ['1Z9', 'PG7']],
  );
  assert.deepEqual(
    [second!.order_type, second!.pims_order_number, second!['tracking_numbers']],
    ['sales_order', backorder, []],
  );
  assert.deepEqual([first!.items[0]!.quantity, first!.items[0]!.shipped], [2, 2]);
  assert.deepEqual([second!.items[0]!.quantity, second!.items[0]!.shipped], [3, 0]);
  assert.deepEqual(second!['shipping_address'], first!['shipping_address']);
  const { data } = (await shop.getOrder(backorder)).body as { data: Values };
  assert.deepEqual(
    [data['CUSTOMER_CODE'], data['ORDER_DATE'], data['REFERENCE_NUMBER']],
    ['VINET', '01/02/2026', '#part'],
  );
});

// Holds S8.8, S9.9.
test('at every step, quantities of a reference add up to the units ordered, and stock to those not shipped', async () => {
  let open = await newOrder({ REFERENCE_NUMBER: '#sum', ORDER_TYPE: 'sales_order' }, '7.5', {
    PART_CODE: 'OTHER',
    QUANTITY: '4',
  });
  const steps: [words: string[], shipped: number, otherShipped: number][] = [
    [['--line', '1=2.25'], 2.25, 0],
    [['--line', '1=1', '--line', '2=4'], 3.25, 4],
    [['--line', '1=0.25'], 3.5, 4],
    [[], 7.5, 4],
  ];
  for (const [words, shipped, otherShipped] of steps) {
    const { backorder } = await invoice(open, ...words);
    const items = (await lookUp('#sum')).flatMap((order) => order.items);
    const sum = (part: string, of: 'quantity' | 'shipped'): number =>
      items.filter(({ part_number }) => part_number === part).reduce((total, item) => total + item[of], 0);
    assert.deepEqual([sum(PART, 'quantity'), sum('OTHER', 'quantity')], [7.5, 4]);
    assert.deepEqual([sum(PART, 'shipped'), sum('OTHER', 'shipped')], [shipped, otherShipped]);
    await expectStock(`${10 - shipped} − ${7.5 - shipped} = 2.5`);
    if (backorder !== null) open = backorder;
  }
  assert.deepEqual(valuesOf(await lookUp('#sum'), 'order_type'), ['invoice', 'invoice', 'invoice', 'invoice']);
});

// Holds S8.9.
test('lines keep numbers and lock codes: invoiced ones stay, open ones move to the new sales order', async () => {
  const number = await newOrder(
    { ORDER_TYPE: 'sales_order' },
    '2',
    { PART_CODE: 'OTHER', QUANTITY: '1' },
    { PART_CODE: 'THIRD', QUANTITY: '3' },
  );
  const [first, second, third] = valuesOf(await shop.lines(number), 'LINE_REF_LOCK_CODE');
  const { backorder } = await invoice(number, '--line', '1=2', '--line', '3=1');
  const show = async (order: string): Promise<unknown[]> =>
    (await shop.lines(order)).map((line) => `${line['LINE_NUMBER']} ${line['QUANTITY']} ${line['NUMBER_SHIPPED']}`);
  assert.deepEqual(await show(number), ['1 2 2', '3 1 1']);
  assert.deepEqual(await show(backorder!), ['2 1 0', '3 2 0']);
  const [moved, split] = valuesOf(await shop.lines(backorder!), 'LINE_REF_LOCK_CODE');
  assert.deepEqual(valuesOf(await shop.lines(number), 'LINE_REF_LOCK_CODE'), [first, third]);
  assert.equal(moved, second);
  assert.ok(split !== third && split!.length >= 22);
  const updated = await succeed(
    shop.updateLineItem({ ORDER_NUMBER: backorder, LINE_REF_LOCK_CODE: second, QUANTITY: '5' }),
  );
  assert.equal(updated['QUANTITY'], '5');
});

// Holds S8.13.
test('400 LINE_MOVED: the error for a line under its old order number has the order that contains it now', async () => {
  const number = await newOrder(
    { ORDER_TYPE: 'sales_order' },
    '2',
    { PART_CODE: 'OTHER', QUANTITY: '4' },
    { PART_CODE: 'THIRD', QUANTITY: '1' },
  );
  const [first, second, third] = valuesOf(await shop.lines(number), 'LINE_REF_LOCK_CODE');
  const update = (ORDER_NUMBER: string, LINE_REF_LOCK_CODE: unknown): Promise<Answer> =>
    shop.updateLineItem({ ORDER_NUMBER, LINE_REF_LOCK_CODE, DESCRIPTION: 'changed' });
  const expectMoved = async (from: string, code: unknown, to: string): Promise<void> => {
    const earlier = await shop.everything();
    const refused = await update(from, code);
    assert.match(expectRefusal(refused, 400, 'LINE_MOVED', 'ORDER_NUMBER'), new RegExp(`to order ${to}\\.`));
    assert.equal(refused.body.suggestion, to);
    assert.equal(await shop.everything(), earlier);
    assert.equal((await succeed(update(to, code)))['DESCRIPTION'], 'changed');
  };
  const { backorder } = await invoice(number, '--line', '1=1', '--line', '2=1');
  await expectMoved(number, third, backorder!);
  // The invoiced part of a split line keeps its order and its code; the open part gets a new code.
  for (const code of [first, second]) await succeed(update(number, code));
  const [open] = valuesOf(await shop.lines(backorder!), 'LINE_REF_LOCK_CODE');
  const { backorder: last } = await invoice(backorder!, '--line', '2=3');
  await expectMoved(number, third, last!);
  await expectMoved(backorder!, third, last!);
  await expectMoved(backorder!, open, last!);
  await expectMoved(number, open, last!);
  for (const answer of [await update(last!, first), await update(number, 'x'.repeat(24))])
    expectRefusal(answer, 400, 'LINE_NOT_FOUND', 'LINE_REF_LOCK_CODE');
});

// Holds S8.7.
test('a drop-shipped order touches no stock at any stage, nor does its backorder', async () => {
  const number = await newOrder({ REFERENCE_NUMBER: '#drop', DROP_SHIP: 'Y' }, '5');
  await approve(number);
  await expectStock('10 − 0 = 10');
  const { backorder } = await invoice(number, '--line', '1=2');
  await expectStock('10 − 0 = 10');
  assert.deepEqual(valuesOf(await lookUp('#drop'), 'is_dropship'), [true, true]);
  await invoice(backorder!);
  await expectStock('10 − 0 = 10');
});

// Holds S8.14.
test('serial numbers belong to shipped units: the invoice has them, the backorder has none', async () => {
  const number = await newOrder({ REFERENCE_NUMBER: '#serials', ORDER_TYPE: 'sales_order' }, '3');
  await invoice(number, '--line', '1=2', '--serial', '1=S1,S2');
  const items = (await lookUp('#serials')).map((order) => order.items[0]!.serial_numbers);
  assert.deepEqual(items, [['S1', 'S2'], []]);
});

// Holds S8.14.
test('a care plan takes no serial numbers, and needs no stock', async () => {
  const number = await newOrder({ REFERENCE_NUMBER: '#plan', ORDER_TYPE: 'sales_order' }, '1', {
    PART_CODE: 'PLAN',
    QUANTITY: '1',
  });
  await expectRefused('SERIALS_NOT_ALLOWED', 'invoice', 'shop', number, '--serial', '1=S1', '--serial', '2=S1');
  await invoice(number, '--serial', '1=S1');
  const [notebook, plan] = (await lookUp('#plan'))[0]!.items;
  assert.deepEqual([notebook!.serial_numbers, plan!.serial_numbers, plan!['shipped']], [['S1'], [], 1]);
  await expectStock('0 − 0 = 0', 'PLAN');
});

test('an invalid invoice is refused and changes nothing', async () => {
  const number = await newOrder({ ORDER_TYPE: 'sales_order' }, '3');
  const words = ['invoice', 'shop', number];
  await expectRefused('QUANTITY_NOT_ALLOWED', ...words, '--line', '1=3.5');
  await expectRefused('QUANTITY_NOT_ALLOWED', ...words, '--line', '1=0');
  await expectRefused('LINE_NOT_FOUND', ...words, '--line', '2=1');
  await expectRefused('SERIALS_NOT_ALLOWED', ...words, '--line', '1=1', '--serial', '1=S1,S2');
  await expectRefused('STAGE_NOT_ALLOWED', 'invoice', 'shop', await shop.newOrder());
  await expectRefused('ORDER_NOT_FOUND', 'invoice', 'shop', '424242');
});

test('parts that are not in the inventory can have every stage too', async () => {
  const number = await newOrder({ REFERENCE_NUMBER: '#unknown', ORDER_TYPE: 'sales_order' }, '1', {
    PART_CODE: 'NOT KEPT',
    QUANTITY: '2',
  });
  await invoice(number);
  assert.deepEqual(valuesOf((await lookUp('#unknown'))[0]!.items, 'shipped'), [1, 2]);
});

test('imported sales orders commit their stock; imported invoices change no stock', async () => {
  await shop.load('orders', [
    { ORDER_NUMBER: '501', ORDER_TYPE: 'sales_order' },
    { ORDER_NUMBER: '502', ORDER_TYPE: 'invoice' },
    { ORDER_NUMBER: '503', ORDER_TYPE: 'quote' },
  ]);
  const lines = ['501', '502', '503'].map((ORDER_NUMBER) => ({ ORDER_NUMBER, PART_CODE: PART, QUANTITY: '2' }));
  await shop.load('lines', lines);
  await expectStock('10 − 2 = 8');
  await invoice('501');
  await expectStock('8 − 0 = 8');
});
