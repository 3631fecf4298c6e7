/** Tests cancelOrder: POST /orders/cancel, and what can still be done with a cancelled order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachAs, sampleOf, Shop, succeed, type Values } from '../kit/records.ts';
import { refusalsOf } from './refusals.ts';

const shop = await Shop.shared();
const refuses = refusalsOf(shop, shop.cancelOrder);
const cancel = (ORDER_NUMBER: unknown): Promise<Values> => succeed(shop.cancelOrder({ ORDER_NUMBER }));
await shop.load('inventory', [
  { PART_CODE: 'A', QTY_ONHAND: '9' },
  { PART_CODE: 'B', QTY_ONHAND: '9' },
]);

const committed = async (): Promise<string> =>
  (await Promise.all(['A', 'B'].map((code) => succeed(shop.getInventoryItem(code)))))
    .map((part) => `${part['QTY_ONHAND']} ${part['QTY_COMMITTED']} ${part['QTY_AVAILABLE']}`)
    .join(', ');

/** Makes an order with lines of both parts, and returns its number. */
async function newOrder(fields: Record<string, unknown>): Promise<string> {
  const ORDER_NUMBER = await shop.newOrder(fields);
  for (const [PART_CODE, QUANTITY] of Object.entries({ A: '2', B: '1.5' }))
    await succeed(shop.addLineItem({ ORDER_NUMBER, PART_CODE, QUANTITY }));
  return ORDER_NUMBER;
}

// Holds S7.16.
test('200 data is the changed order: its stock is released, and ORDER_STATUS is CANCELLED', async () => {
  const kept = await newOrder({ ORDER_TYPE: 'sales_order' });
  const number = await newOrder({ ORDER_TYPE: 'sales_order', ORDER_STATUS: 'PACKING', NOTES: 'mine' });
  assert.equal(await committed(), '9 4 5, 9 3 6');
  const [earlier, lines] = [await shop.order(number), await shop.lines(number)];
  const answer = await shop.cancelOrder({ ORDER_NUMBER: number });
  const { data, subRecords } = answer.body as { data: Values; subRecords: unknown };
  const { MODIFIED_DATE } = data;
  assert.deepEqual([data, subRecords], [{ ...earlier, ORDER_STATUS: 'CANCELLED', MODIFIED_DATE }, null]);
  assert.deepEqual([await shop.order(number), await shop.lines(number)], [data, lines]);
  assert.equal(await committed(), '9 2 7, 9 1.5 7.5');
  await cancel(kept);
  assert.equal(await committed(), '9 0 9, 9 0 9');
});

// Holds S7.16.
test('200 an order that holds no stock is cancelled too', async () => {
  for (const fields of [
    { ORDER_TYPE: 'worksheet' },
    { ORDER_TYPE: 'quote' },
    { ORDER_TYPE: 'sales_order', DROP_SHIP: 'Y' },
  ]) {
    assert.equal((await cancel(await newOrder(fields)))['ORDER_STATUS'], 'CANCELLED');
    assert.equal(await committed(), '9 0 9, 9 0 9');
  }
});

// Holds S7.16.
test('200 cancelling twice is a success, and changes nothing', async () => {
  const number = await newOrder({ ORDER_TYPE: 'sales_order' });
  const first = await cancel(number);
  const records = await shop.everything();
  assert.deepEqual(await cancel(number), first);
  assert.equal(await shop.everything(), records);
});

// Holds S7.17.
test('200 NOTES of a cancelled order can be changed; 400 ORDER_CLOSED for its other fields and its lines', async () => {
  const number = await newOrder({ ORDER_TYPE: 'sales_order', BNAME: 'Buyer' });
  const [line] = await shop.lines(number);
  await cancel(number);
  const now = await succeed(shop.updateOrder({ ORDER_NUMBER: number, NOTES: 'why', BNAME: 'Buyer' }));
  assert.deepEqual([now['NOTES'], now['ORDER_STATUS']], ['why', 'CANCELLED']);
  const { ORDER_TYPE: _stage, NOTES: _notes, ...others }: Values = { ...sampleOf('orders', 2), ORDER_STATUS: '' };
  for (const [name, value] of Object.entries(others))
    await shop.refuses(shop.updateOrder, 'ORDER_CLOSED', {
      [name]: [{ ORDER_NUMBER: number, NOTES: 'no', [name]: value }],
    });
  const named = { ORDER_NUMBER: number, LINE_REF_LOCK_CODE: line!['LINE_REF_LOCK_CODE'] };
  const closed = { ORDER_NUMBER: [{ ORDER_NUMBER: number, PART_CODE: 'A' }] };
  await shop.refuses(shop.addLineItem, 'ORDER_CLOSED', closed);
  await shop.refuses(shop.updateLineItem, 'ORDER_CLOSED', { ORDER_NUMBER: [named, { ...named, QUANTITY: '7' }] });
  assert.equal(await committed(), '9 0 9, 9 0 9');
});

// Holds S7.17.
test('a cancelled order can be neither approved nor invoiced', async () => {
  for (const stage of ['worksheet', 'sales_order']) {
    const number = await newOrder({ ORDER_TYPE: stage });
    await cancel(number);
    const records = await shop.everything();
    for (const step of ['approve', 'invoice']) {
      const { code, stderr } = await shop.service.command('order', step, 'shop', number, '--json');
      assert.equal(`${code} ${(JSON.parse(stderr) as { error: { code: string } }).error.code}`, '1 ORDER_CLOSED', step);
    }
    assert.equal(await shop.everything(), records);
  }
});

// Holds S9.8.
test('an entry of a cancelled order in the storefront lookup has "cancelled": true; others are as specified', async () => {
  const open = await newOrder({ ORDER_TYPE: 'sales_order', REFERENCE_NUMBER: '#C1' });
  const number = await newOrder({ ORDER_TYPE: 'sales_order', REFERENCE_NUMBER: '#C1' });
  const lookUp = async (): Promise<Record<string, unknown>[]> =>
    (await shop.findOrdersByStorefrontReference('#C1')).body.orders as Record<string, unknown>[];
  const before = await lookUp();
  const { MODIFIED_DATE } = await cancel(number);
  const ofNumber = (orders: Record<string, unknown>[], one: string) =>
    orders.find((order) => order['pims_order_number'] === one)!;
  const after = await lookUp();
  assert.deepEqual(ofNumber(after, open), ofNumber(before, open));
  assert.deepEqual(ofNumber(after, number), {
    ...ofNumber(before, number),
    modified_date: MODIFIED_DATE,
    cancelled: true,
  });
  await cancel(open);
});

// Holds S7.12.
test('400 INVALID_VALUE: createOrder and updateOrder cannot cancel, in any casing', async () => {
  const number = await newOrder({ ORDER_TYPE: 'sales_order', REFERENCE_NUMBER: '#C2' });
  const statuses = ['CANCELLED', 'cancelled', 'Cancelled'].map((ORDER_STATUS) => ({ ORDER_STATUS }));
  await shop.refuses(shop.createOrder, 'INVALID_VALUE', { ORDER_STATUS: statuses });
  const changes = statuses.map((status) => ({ ORDER_NUMBER: number, ...status }));
  await shop.refuses(shop.updateOrder, 'INVALID_VALUE', { ORDER_STATUS: changes });
  await cancel(number);
  const kept = { ORDER_NUMBER: number, ORDER_STATUS: 'CANCELLED', NOTES: 'x' };
  assert.equal((await succeed(shop.updateOrder(kept)))['NOTES'], 'x');
});

// Holds S7.12.
test('200 an order is cancelled in the same batch that creates its replacement', async () => {
  const number = await newOrder({ ORDER_TYPE: 'sales_order', REFERENCE_NUMBER: '#C3' });
  const steps = [
    { operation: 'cancelOrder', body: { ORDER_NUMBER: number } },
    { operation: 'createOrder', body: { REFERENCE_NUMBER: '#C3' } },
  ];
  const [cancelled] = await succeed<{ data: Values }[]>(
    shop.service.call(shop.keys, 'POST', '/batch', { body: steps }),
  );
  assert.equal(cancelled!.data['ORDER_STATUS'], 'CANCELLED');
  assert.equal(await committed(), '9 0 9, 9 0 9');
});

// Holds S7.18.
test('400 ORDER_CLOSED for an invoice, which stays unchanged', async () => {
  const number = await newOrder({ ORDER_TYPE: 'sales_order' });
  await shop.run('order', 'invoice', 'shop', number);
  await shop.refuses(shop.cancelOrder, 'ORDER_CLOSED', { ORDER_NUMBER: [{ ORDER_NUMBER: number }] });
});

const ORDER_NUMBER = await shop.newOrder({ BCITY: 'Portland' });
refuses('400 ORDER_NOT_FOUND names the order that does not exist', { ORDER_NUMBER: [{ ORDER_NUMBER: 'NO' }] }, /NO/);
refuses('400 MISSING_FIELD without ORDER_NUMBER', { ORDER_NUMBER: [{}, { ORDER_NUMBER: '' }, { ORDER_NUMBER: null }] });
const others = eachAs(['NOTES', 'ORDER_TYPE', 'FUNCTION'], ['x', null], { ORDER_NUMBER });
// Holds S7.16.
refuses('400 FIELD_NOT_ALLOWED for any other field', others);
refuses('400 UNKNOWN_FIELD for an unknown field', eachAs(['REASON'], ['x'], { ORDER_NUMBER }));
refuses('400 INVALID_BODY when the body is not an object, or is missing', { '': [[], '"text"', undefined] });
