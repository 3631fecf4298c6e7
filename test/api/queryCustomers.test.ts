/** Tests queryCustomers: POST /customers/query. What filters mean is tested in filters.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { succeed } from '../kit/records.ts';
import { QueryChecks } from './query-checks.ts';

const customers = await QueryChecks.open('customers', { CUSTOMER_CODE: '90' }, { CUSTOMER_CODE: '100' });
const { shop } = customers;

// Holds S6.2.
test('200 data is the array of matching customers with all their fields, subRecords null', () =>
  customers.expectWhole('BEMAIL', shop.getCustomer('90')));

// Holds S3.7.
test('200 data is [] when nothing matches', async () => {
  assert.deepEqual(await customers.find({ field: 'BCITY', value: 'Nowhere' }), []);
});

// Holds S5.2, S5.3.
test('200 every CUSTOMER field can be used in a filter', () => customers.expectFilterOnEveryField());

test('200 customers are sorted by ascending code, all-digit codes as numbers', async () => {
  assert.deepEqual(await customers.findKeys(), ['90', '100']);
});

test('200 a changed customer is found by its new values and not by its old ones', async () => {
  await succeed(shop.createCustomer({ CUSTOMER_CODE: 'MOVES', BCITY: 'Old Harbour', BATTN: 'Old Hand' }));
  await succeed(shop.updateCustomer({ CUSTOMER_CODE: 'MOVES', BCITY: 'New Harbour', BATTN: 'New Hand' }));
  for (const [field, noun] of Object.entries({ BCITY: 'Harbour', BATTN: 'Hand' }))
    for (const contains of [false, true]) {
      assert.deepEqual(await customers.findKeys({ field, value: `Old ${noun}`, contains }), []);
      assert.deepEqual(await customers.findKeys({ field, value: `New ${noun}`, contains }), ['MOVES']);
    }
});

test('400 UNKNOWN_FIELD for a field of another record type', () => customers.expectUnknownFields('ORDER_NUMBER'));

// Holds S6.2.
test('400 INVALID_BODY when the body is not an array', () => customers.expectInvalidBodies({}));
