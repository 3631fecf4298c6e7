/** Tests updateOrder: POST /orders/update. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachAs, FIELDS, sampleOf, Shop, succeed, type Values } from '../kit/records.ts';
import { refusalsOf } from './refusals.ts';

const shop = await Shop.shared();
const refuses = refusalsOf(shop, shop.updateOrder);
const update = (ORDER_NUMBER: unknown, change: Record<string, unknown>): Promise<Values> =>
  succeed(shop.updateOrder({ ORDER_NUMBER, ...change }));
const PARTS = { HELD: '7', OTHER: '5', PLAN: '0' };
await shop.load(
  'inventory',
  Object.entries(PARTS).map(([code, onHand]) => ({
    PART_CODE: code,
    QTY_ONHAND: onHand,
    CARE_PLAN: code === 'PLAN' ? 'Y' : 'N',
  })),
);

/** Returns the quantities of each part that are on hand, committed and available. */
async function stock(): Promise<string> {
  const parts = await Promise.all(Object.keys(PARTS).map((code) => succeed(shop.getInventoryItem(code))));
  return parts.map((part) => `${part['QTY_ONHAND']} ${part['QTY_COMMITTED']} ${part['QTY_AVAILABLE']}`).join(', ');
}

// Holds S7.4.
test('200 data is the updated order; only the sent fields change', async () => {
  const number = await shop.newOrder({ BNAME: 'Harbour Lane Books', SHIP_VIA: 'Rail', NOTES: 'old' });
  await succeed(shop.addLineItem({ ORDER_NUMBER: number, DESCRIPTION: 'A line' }));
  const [earlier, lines] = [await shop.order(number), await shop.lines(number)];
  const answer = await shop.updateOrder({ ORDER_NUMBER: number, REFERENCE_NUMBER: '#77', NOTES: 'new' });
  const { data, subRecords } = answer.body as { data: Values; subRecords: unknown };
  assert.deepEqual(subRecords, null);
  assert.deepEqual(data, {
    ...earlier,
    REFERENCE_NUMBER: '#77',
    NOTES: 'new',
    MODIFIED_DATE: data['MODIFIED_DATE'],
  });
  assert.deepEqual(Object.keys(data), FIELDS.orders);
  assert.ok(data['MODIFIED_DATE']! >= earlier['MODIFIED_DATE']!);
  assert.deepEqual([await shop.order(number), await shop.lines(number)], [data, lines]);
  const found = await shop.queryOrders([{ field: 'REFERENCE_NUMBER', value: '#77' }]);
  assert.deepEqual(found.body.data, [data], 'the indexes follow');
});

// Holds S7.4.
test('200 every field of an order but its stage can be changed, and null and "" clear one', async () => {
  const { ORDER_TYPE: _first, ...first } = sampleOf('orders', 1);
  const { ORDER_TYPE: _stage, ...sent } = sampleOf('orders', 2);
  const number = await shop.newOrder(first);
  const now = await update(number, sent);
  assert.deepEqual({ ...now, ...sent }, now);
  const { SNAME, FREIGHT, DROP_SHIP } = await update(number, { SNAME: null, FREIGHT: '', DROP_SHIP: null });
  assert.deepEqual([SNAME, FREIGHT, DROP_SHIP], ['', '', '']);
});

// Holds S7.15.
test('200 ORDER_NUMBER may also be a JSON number, and alone changes nothing', async () => {
  const number = await shop.newOrder({ BCITY: 'Portland' });
  const earlier = await shop.order(number);
  const now = await update(Number(number), {});
  assert.deepEqual(now, earlier);
});

// Holds S7.13.
test('200 a changed DROP_SHIP adjusts the stock that a sales order has committed', async () => {
  const number = await shop.newOrder({ ORDER_TYPE: 'sales_order' });
  for (const [PART_CODE, QUANTITY] of Object.entries({ HELD: '2', OTHER: '1.5', PLAN: '2', unknown: '9' }))
    await succeed(shop.addLineItem({ ORDER_NUMBER: number, PART_CODE, QUANTITY }));
  await succeed(shop.addLineItem({ ORDER_NUMBER: number, PART_CODE: 'HELD', QUANTITY: '3' }));
  const held = '7 5 2, 5 1.5 3.5, 0 0 0';
  assert.equal(await stock(), held);
  await update(number, { DROP_SHIP: 'Y' });
  assert.equal(await stock(), '7 0 7, 5 0 5, 0 0 0');
  await update(number, { DROP_SHIP: 'Y', NOTES: 'again' });
  assert.equal(await stock(), '7 0 7, 5 0 5, 0 0 0');
  await update(number, { DROP_SHIP: 'N' });
  assert.equal(await stock(), held);
  await update(number, { DROP_SHIP: '' });
  assert.equal(await stock(), held);
  await update(number, { DROP_SHIP: 'Y' });
  const quote = await shop.newOrder({ ORDER_TYPE: 'quote', DROP_SHIP: 'Y' });
  await succeed(shop.addLineItem({ ORDER_NUMBER: quote, PART_CODE: 'HELD', QUANTITY: '2' }));
  await update(quote, { DROP_SHIP: 'N' });
  assert.equal(await stock(), '7 0 7, 5 0 5, 0 0 0', 'a quote commits nothing');
});

test('200 in a batch, a changed DROP_SHIP adjusts the stock that earlier steps have committed', async () => {
  const before = await stock();
  const line = { ORDER_NUMBER: '$0.data', PART_CODE: 'HELD', QUANTITY: '2' };
  const batch = (...steps: [operation: string, body: object][]) =>
    shop.service.call(shop.keys, 'POST', '/batch', {
      body: steps.map(([operation, body]) => ({ operation, body })),
    });
  const answer = await batch(
    ['createOrder', { ORDER_TYPE: 'sales_order' }],
    ['addLineItem', line],
    ['addLineItem', line],
    ['updateOrder', { ORDER_NUMBER: '$0.data', DROP_SHIP: 'Y' }],
    ['addLineItem', line],
    ['updateLineItem', { ...line, LINE_REF_LOCK_CODE: '$1.data.LINE_REF_LOCK_CODE', QUANTITY: '3' }],
    ['updateOrder', { ORDER_NUMBER: '$0.data', DROP_SHIP: 'N', REFERENCE_NUMBER: '$3.data.DROP_SHIP' }],
  );
  const { data } = (answer.body.data as { data: Values }[]).at(-1)!;
  assert.deepEqual([data['DROP_SHIP'], data['REFERENCE_NUMBER']], ['N', 'Y']);
  assert.equal(before.split(',')[0], '7 0 7');
  assert.equal((await stock()).split(',')[0], '7 7 0');
  await succeed(shop.cancelOrder({ ORDER_NUMBER: data['ORDER_NUMBER'] }));
  assert.equal(await stock(), before);
});

// Holds S7.14, S7.15.
test('200 NOTES, ORDER_STATUS, TRACKING_NUMBERS, SHIP_VIA and custom fields of an invoice can be changed', async () => {
  const number = await shop.newOrder({ ORDER_TYPE: 'sales_order', BNAME: 'Buyer' });
  await succeed(shop.addLineItem({ ORDER_NUMBER: number, DESCRIPTION: 'x', QUANTITY: '1' }));
  await shop.run('order', 'invoice', 'shop', number);
  await shop.run('fields', 'add', 'shop', 'orders', 'INVOICE_COLOUR', '--type', 'text');
  const sent = {
    NOTES: 'a',
    ORDER_STATUS: 'SHIPPED',
    TRACKING_NUMBERS: '1,2',
    SHIP_VIA: 'Rail',
    INVOICE_COLOUR: 'red',
    BNAME: 'Buyer',
  };
  const now = await update(number, sent);
  assert.deepEqual({ ...now, ...sent }, now);
  const open = ['ORDER_TYPE', ...Object.keys(sent)];
  const others = Object.entries(sampleOf('orders', 2)).filter(([name]) => !open.includes(name) || name === 'BNAME');
  assert.ok(others.length > 25);
  for (const [name, value] of others)
    await shop.refuses(shop.updateOrder, 'ORDER_CLOSED', {
      [name]: [{ ORDER_NUMBER: number, NOTES: 'no', [name]: value }],
    });
});

const ORDER_NUMBER = await shop.newOrder({ BCITY: 'Portland' });
const change = { ORDER_NUMBER, BCITY: 'x' };
// Holds S7.4.
refuses('400 ORDER_NOT_FOUND names the order that does not exist', eachAs(['ORDER_NUMBER'], ['NO', '0'], change), /NO/);
// Holds S7.4.
refuses('400 MISSING_FIELD without ORDER_NUMBER', eachAs(['ORDER_NUMBER'], [undefined, null, ''], change));
const assigned = eachAs(['ORDER_TYPE', 'FUNCTION', 'CREATE_DATE', 'MODIFIED_DATE'], ['quote', null], change);
// Holds S7.11.
refuses('400 FIELD_NOT_ALLOWED for ORDER_TYPE, FUNCTION, CREATE_DATE, MODIFIED_DATE', assigned);
const cancelled = eachAs(['ORDER_STATUS'], ['CANCELLED'], change);
// Holds S7.11.
refuses('400 INVALID_VALUE for ORDER_STATUS CANCELLED, which only cancelOrder sets', cancelled, /cancelOrder/);
refuses('400 UNKNOWN_FIELD leaves the order unchanged', eachAs(['BCITTY'], ['x'], change), /'BCITTY'.*\bBCITY\b/);
refuses('400 INVALID_VALUE leaves the order unchanged', eachAs(['FREIGHT', 'DROP_SHIP'], ['x'], change));
refuses('400 INVALID_BODY when the body is not an object, or is missing', { '': [[], '"text"', undefined] });

// Holds S7.11.
test('200 every other ORDER_STATUS is accepted', async () => {
  for (const ORDER_STATUS of ['CANCELLED ', 'Canceled', null])
    assert.equal((await update(ORDER_NUMBER, { ORDER_STATUS }))['ORDER_STATUS'], ORDER_STATUS ?? '');
});
