/** Tests queryInventoryItems: POST /inventory/query. What filters mean is tested in filters.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectRefusal, succeed } from '../kit/records.ts';
import { QueryChecks } from './query-checks.ts';

const parts = await QueryChecks.open(
  'inventory',
  { PART_CODE: '9', CARE_PLAN: 'Y' },
  { PART_CODE: '10', CARE_PLAN: 'N' },
);
const { shop } = parts;
const ORDER_NUMBER = await shop.newOrder({ ORDER_TYPE: 'sales_order' });
await succeed(shop.addLineItem({ ORDER_NUMBER, PART_CODE: '10', QUANTITY: '4' }));

// Holds S6.2.
test('200 data is the array of matching parts with all their fields, subRecords null', () =>
  parts.expectWhole('BARCODE', shop.getInventoryItem('9')));

// Holds S3.7.
test('200 data is [] when nothing matches', async () => {
  assert.deepEqual(await parts.find({ field: 'PART_DESCRIPTION', value: 'nothing' }), []);
});

// Holds S5.2.
test('200 every INVENTORY field can be used in a filter', async () => {
  assert.equal((await parts.find())[1]!['QTY_COMMITTED'], '4');
  await parts.expectFilterOnEveryField();
});

test('400 UNKNOWN_FIELD for a field of another record type', () => parts.expectUnknownFields('QUANTITY'));

// Holds S6.2.
test('400 INVALID_BODY when the body is not an array', () => parts.expectInvalidBodies({}));

test('403 a pair with the scope write cannot write to inventory by any path or method', async () => {
  const body = { PART_CODE: 'NEW' };
  const call = (method: string, path: string) => shop.service.call(shop.keys, method, path, { body });
  expectRefusal(await call('PUT', '/inventory/create'), 403, 'SCOPE_MISSING');
  expectRefusal(await call('POST', '/inventory/update'), 403, 'SCOPE_MISSING');
  for (const method of ['PUT', 'POST', 'DELETE'])
    expectRefusal(await call(method, '/inventory/single'), 405, 'METHOD_NOT_ALLOWED');
  assert.equal((await parts.find()).length, 2);
});
