/** queryOrders: POST /orders/query. What filters mean is in filters.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  expectFilterOnEveryField,
  expectRefusal,
  FIELDS,
  sampleOf,
  Shop,
  succeed,
  type Values,
  valuesOf,
} from '../kit/records.ts';
import { sharedService } from '../kit/service.ts';

const service = await sharedService();
const shop = await Shop.open(service, 'shop');
const times = { CREATE_DATE: '2026-01-02T03:04:05.000Z', MODIFIED_DATE: '2026-01-03T03:04:05.000Z' };
const laterTimes = { CREATE_DATE: '2026-02-02T03:04:05.000Z', MODIFIED_DATE: '2026-02-03T03:04:05.000Z' };
await shop.load('orders', [
  { ...sampleOf('orders', 1), ORDER_NUMBER: '900', ...times },
  { ...sampleOf('orders', 2), ORDER_NUMBER: '1000', ...laterTimes, ORDER_TYPE: 'sales_order' },
]);
await shop.load('lines', [{ ORDER_NUMBER: '900', PART_CODE: 'A', QUANTITY: '1' }]);

test('200 data is the array of matching orders with all their fields, subRecords null even where there are lines', async () => {
  const orders = await succeed<Values[]>(shop.queryOrders([{ field: 'CUSTOMER_CODE', value: 'CUSTOMER_CODE of 1' }]));
  assert.equal(orders.length, 1);
  assert.deepEqual(Object.keys(orders[0]!).toSorted(), FIELDS.orders.toSorted());
  assert.deepEqual(orders[0], (await shop.getOrder('900')).body.data);
});

test('200 data is [] when nothing matches', async () => {
  assert.deepEqual(await succeed(shop.queryOrders([{ field: 'REFERENCE_NUMBER', value: '#none' }])), []);
});

test('200 every ORDERS field can be filtered on', async () => {
  const [one, other] = await succeed<[Values, Values]>(shop.queryOrders([]));
  await expectFilterOnEveryField('orders', shop.queryOrders, [one, other]);
  await expectFilterOnEveryField('orders', shop.queryOrders, [other, one]);
});

test('200 orders come by order number ascending, as numbers', async () => {
  const orders = await succeed<Values[]>(shop.queryOrders([]));
  assert.deepEqual(valuesOf(orders, 'ORDER_NUMBER'), ['900', '1000']);
});

test('200 an order is found by the next call after its creation', async () => {
  const ORDER_NUMBER = await succeed<string>(shop.createOrder({ PO_NUMBER: 'just now' }));
  for (const contains of [false, true]) {
    const found = await succeed<Values[]>(shop.queryOrders([{ field: 'PO_NUMBER', value: 'just now', contains }]));
    assert.deepEqual(valuesOf(found, 'ORDER_NUMBER'), [ORDER_NUMBER]);
  }
});

test('200 orders of another tenant are never among them', async () => {
  const other = await Shop.open(service, 'other');
  await succeed(other.createOrder({ REFERENCE_NUMBER: '#secret' }));
  assert.deepEqual(await succeed(shop.queryOrders([{ field: 'REFERENCE_NUMBER', value: '#secret' }])), []);
  assert.equal((await succeed<Values[]>(other.queryOrders([]))).length, 1);
});

test('400 UNKNOWN_FIELD suggests a known field when one is near, and nothing otherwise', async () => {
  const near = await shop.queryOrders([{ field: 'CUSTMER_CODE', value: 'x' }]);
  assert.match(
    expectRefusal(near, 400, 'UNKNOWN_FIELD', 'CUSTMER_CODE'),
    /'CUSTMER_CODE'\. Did you mean CUSTOMER_CODE\?/,
  );
  assert.equal(near.body['suggestion'], 'CUSTOMER_CODE');
  const far = await shop.queryOrders([{ field: 'COLOUR', value: 'x' }]);
  assert.doesNotMatch(expectRefusal(far, 400, 'UNKNOWN_FIELD', 'COLOUR'), /Did you mean/);
  assert.ok(!('suggestion' in far.body));
});

test('400 UNKNOWN_FIELD for a field of another record type', async () => {
  expectRefusal(
    await shop.queryOrders([{ field: 'CUSTOMER_NAME', value: 'x' }]),
    400,
    'UNKNOWN_FIELD',
    'CUSTOMER_NAME',
  );
  expectRefusal(await shop.queryOrders([{ field: 'PART_CODE', value: 'x' }]), 400, 'UNKNOWN_FIELD', 'PART_CODE');
});

test('400 INVALID_BODY when the body is not an array, or is missing', async () => {
  for (const body of [{ field: 'ORDER_NUMBER', value: '900' }, '"text"', 'null', undefined])
    expectRefusal(await service.call(shop.keys, 'POST', '/orders/query', { body }), 400, 'INVALID_BODY');
});
