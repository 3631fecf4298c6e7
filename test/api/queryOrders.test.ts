/** Tests queryOrders: POST /orders/query. What filters mean is tested in filters.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectRefusal, Shop, succeed } from '../kit/records.ts';
import { QueryChecks } from './query-checks.ts';

const orders = await QueryChecks.open(
  'orders',
  { ORDER_NUMBER: '900', BACKORDER_OF: '800', RETURN_OF: '801' },
  { ORDER_NUMBER: '1000', ORDER_TYPE: 'sales_order', BACKORDER_OF: '802', RETURN_OF: '803' },
);
const { shop } = orders;
await shop.load('lines', [{ ORDER_NUMBER: '900', PART_CODE: 'A', QUANTITY: '-1' }]);

// Holds S1.5, S6.2.
test('200 data is the array of matching orders with all their fields, subRecords null even if they have lines', () =>
  orders.expectWhole('CUSTOMER_CODE', shop.getOrder('900')));

// Holds S3.7.
test('200 data is [] when nothing matches', async () => {
  assert.deepEqual(await orders.find({ field: 'REFERENCE_NUMBER', value: '#none' }), []);
});

// Holds S5.2, S5.3.
test('200 every ORDERS field can be used in a filter', () => orders.expectFilterOnEveryField());

// Holds S6.12.
test('200 orders are sorted by ascending order number, as numbers', async () => {
  assert.deepEqual(await orders.findKeys(), ['900', '1000']);
});

test('200 an order is found by the next call after its creation', async () => {
  const number = await shop.newOrder({ PO_NUMBER: 'just now' });
  for (const contains of [false, true])
    assert.deepEqual(await orders.findKeys({ field: 'PO_NUMBER', value: 'just now', contains }), [number]);
});

test('200 orders of another tenant are never returned', async () => {
  const other = await Shop.open(shop.service, 'other');
  await succeed(other.createOrder({ REFERENCE_NUMBER: '#secret' }));
  assert.deepEqual(await orders.find({ field: 'REFERENCE_NUMBER', value: '#secret' }), []);
  assert.equal((await succeed<unknown[]>(other.queryOrders([]))).length, 1);
});

test('400 UNKNOWN_FIELD suggests a known field with a similar name, if there is one', async () => {
  const near = await orders.ask({ field: 'CUSTMER_CODE', value: 'x' });
  const message = expectRefusal(near, 400, 'UNKNOWN_FIELD', 'CUSTMER_CODE');
  assert.match(message, /'CUSTMER_CODE'\. Did you mean CUSTOMER_CODE\?/);
  assert.equal(near.body['suggestion'], 'CUSTOMER_CODE');
  const far = await orders.ask({ field: 'COLOUR', value: 'x' });
  assert.doesNotMatch(expectRefusal(far, 400, 'UNKNOWN_FIELD', 'COLOUR'), /Did you mean/);
  assert.ok(!('suggestion' in far.body));
});

// Holds S5.1.
test('400 UNKNOWN_FIELD for a field of another record type', () =>
  orders.expectUnknownFields('CUSTOMER_NAME', 'PART_CODE'));

// Holds S6.2.
test('400 INVALID_BODY when the body is not an array, or is missing', () =>
  orders.expectInvalidBodies({ field: 'ORDER_NUMBER', value: '900' }, '"text"', 'null', undefined));
