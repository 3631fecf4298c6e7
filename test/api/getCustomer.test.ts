/** Tests getCustomer: GET /customers/single. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectRefusal, FIELDS, Shop, succeed } from '../kit/records.ts';

const shop = await Shop.shared();
const { service } = shop;
await shop.load('customers', [
  { CUSTOMER_CODE: 'VINET', BCITY: 'Reims', CREDIT_LIMIT: '1500.50' },
  { CUSTOMER_CODE: 'A/7 #+%&?=', BCITY: '', CREDIT_LIMIT: '' },
]);

// Holds S6.1.
test('200 data is the customer, subRecords null', async () => {
  const customer = await succeed(shop.getCustomer('VINET'));
  assert.deepEqual(
    [customer['CUSTOMER_CODE'], customer['BCITY'], customer['CREDIT_LIMIT']],
    ['VINET', 'Reims', '1500.5'],
  );
});

// Holds S5.5, S5.15.
test('200 data has every field of CUSTOMER as a string, "" if it has no value', async () => {
  const customer = await succeed(shop.getCustomer('VINET'));
  assert.deepEqual(Object.keys(customer).toSorted(), FIELDS.customers.toSorted());
  const filled = ['CUSTOMER_CODE', 'BCITY', 'CREDIT_LIMIT', 'CREATE_DATE', 'MODIFIED_DATE'];
  for (const [name, value] of Object.entries(customer)) assert.equal(value === '', !filled.includes(name), name);
});

test('200 a code with slashes, hashes and spaces is found', async () => {
  assert.equal((await succeed(shop.getCustomer('A/7 #+%&?=')))['CUSTOMER_CODE'], 'A/7 #+%&?=');
});

// Holds S3.7.
test('404 NOT_FOUND names the customer that does not exist', async () => {
  assert.match(expectRefusal(await shop.getCustomer('NOBODY'), 404, 'NOT_FOUND', 'customerCode'), /NOBODY/);
});

// Holds S3.12.
test('400 MISSING_PARAMETER when customerCode is missing or empty', async () => {
  expectRefusal(await service.call(shop.keys, 'GET', '/customers/single'), 400, 'MISSING_PARAMETER', 'customerCode');
  expectRefusal(await shop.getCustomer(''), 400, 'MISSING_PARAMETER', 'customerCode');
});
