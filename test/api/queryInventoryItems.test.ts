/** queryInventoryItems: POST /inventory/query. What filters mean is in filters.test.ts. */
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
await shop.load('inventory', [
  { ...sampleOf('inventory', 1), PART_CODE: '9', ...times, CARE_PLAN: 'Y' },
  { ...sampleOf('inventory', 2), PART_CODE: '10', ...laterTimes, CARE_PLAN: 'N' },
]);
const ORDER_NUMBER = await succeed<string>(shop.createOrder({ ORDER_TYPE: 'sales_order' }));
await succeed(shop.addLineItem({ ORDER_NUMBER, PART_CODE: '10', QUANTITY: '4' }));

test('200 data is the array of matching parts with all their fields, subRecords null', async () => {
  const parts = await succeed<Values[]>(shop.queryInventoryItems([{ field: 'BARCODE', value: 'BARCODE of 1' }]));
  assert.equal(parts.length, 1);
  assert.deepEqual(Object.keys(parts[0]!).toSorted(), FIELDS.inventory.toSorted());
  assert.deepEqual(parts[0], await succeed(shop.getInventoryItem('9')));
});

test('200 data is [] when nothing matches', async () => {
  assert.deepEqual(await succeed(shop.queryInventoryItems([{ field: 'PART_DESCRIPTION', value: 'nothing' }])), []);
});

test('200 every INVENTORY field can be filtered on', async () => {
  const [one, other] = await succeed<[Values, Values]>(shop.queryInventoryItems([]));
  assert.equal(other['QTY_COMMITTED'], '4');
  await expectFilterOnEveryField('inventory', shop.queryInventoryItems, [one, other]);
  await expectFilterOnEveryField('inventory', shop.queryInventoryItems, [other, one]);
});

test('200 parts come by code ascending, all-digit codes as numbers', async () => {
  const parts = await succeed<Values[]>(shop.queryInventoryItems([]));
  assert.deepEqual(valuesOf(parts, 'PART_CODE'), ['9', '10']);
});

test('400 UNKNOWN_FIELD for a field of another record type', async () => {
  expectRefusal(await shop.queryInventoryItems([{ field: 'QUANTITY', value: '1' }]), 400, 'UNKNOWN_FIELD', 'QUANTITY');
});

test('400 INVALID_BODY when the body is not an array', async () => {
  expectRefusal(await service.call(shop.keys, 'POST', '/inventory/query', { body: {} }), 400, 'INVALID_BODY');
});

test('no path and no method writes to inventory', async () => {
  for (const [method, path] of [
    ['PUT', '/inventory/create'],
    ['POST', '/inventory/update'],
  ] as const)
    expectRefusal(await service.call(shop.keys, method, path, { body: { PART_CODE: 'NEW' } }), 404, 'UNKNOWN_PATH');
  for (const method of ['PUT', 'POST', 'DELETE'])
    expectRefusal(
      await service.call(shop.keys, method, '/inventory/single', { body: { PART_CODE: 'NEW' } }),
      405,
      'METHOD_NOT_ALLOWED',
    );
  assert.equal((await succeed<Values[]>(shop.queryInventoryItems([]))).length, 2);
});
