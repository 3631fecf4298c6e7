/** queryCustomers: POST /customers/query. What filters mean is in filters.test.ts. */
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
await shop.load('customers', [
  { ...sampleOf('customers', 1), CUSTOMER_CODE: '90', ...times },
  { ...sampleOf('customers', 2), CUSTOMER_CODE: '100', ...laterTimes },
]);

test('200 data is the array of matching customers with all their fields, subRecords null', async () => {
  const customers = await succeed<Values[]>(shop.queryCustomers([{ field: 'BEMAIL', value: 'BEMAIL of 1' }]));
  assert.equal(customers.length, 1);
  assert.deepEqual(Object.keys(customers[0]!).toSorted(), FIELDS.customers.toSorted());
  assert.deepEqual(customers[0], await succeed(shop.getCustomer('90')));
});

test('200 data is [] when nothing matches', async () => {
  assert.deepEqual(await succeed(shop.queryCustomers([{ field: 'BCITY', value: 'Nowhere' }])), []);
});

test('200 every CUSTOMER field can be filtered on', async () => {
  const [one, other] = await succeed<[Values, Values]>(shop.queryCustomers([]));
  await expectFilterOnEveryField('customers', shop.queryCustomers, [one, other]);
  await expectFilterOnEveryField('customers', shop.queryCustomers, [other, one]);
});

test('200 customers come by code ascending, all-digit codes as numbers', async () => {
  const customers = await succeed<Values[]>(shop.queryCustomers([]));
  assert.deepEqual(valuesOf(customers, 'CUSTOMER_CODE'), ['90', '100']);
});

test('200 a changed customer is found by what it is now and no more by what it was', async () => {
  await succeed(shop.createCustomer({ CUSTOMER_CODE: 'MOVES', BCITY: 'Old Harbour', BATTN: 'Old Hand' }));
  await succeed(shop.updateCustomer({ CUSTOMER_CODE: 'MOVES', BCITY: 'New Harbour', BATTN: 'New Hand' }));
  for (const [field, was, now] of [
    ['BCITY', 'Old Harbour', 'New Harbour'],
    ['BATTN', 'Old Hand', 'New Hand'],
  ])
    for (const contains of [false, true]) {
      assert.deepEqual(await succeed(shop.queryCustomers([{ field, value: was, contains }])), []);
      const found = await succeed<Values[]>(shop.queryCustomers([{ field, value: now, contains }]));
      assert.deepEqual(valuesOf(found, 'CUSTOMER_CODE'), ['MOVES']);
    }
});

test('400 UNKNOWN_FIELD for a field of another record type', async () => {
  expectRefusal(
    await shop.queryCustomers([{ field: 'ORDER_NUMBER', value: 'x' }]),
    400,
    'UNKNOWN_FIELD',
    'ORDER_NUMBER',
  );
});

test('400 INVALID_BODY when the body is not an array', async () => {
  expectRefusal(await service.call(shop.keys, 'POST', '/customers/query', { body: {} }), 400, 'INVALID_BODY');
});
