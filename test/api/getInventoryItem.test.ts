/** Tests getInventoryItem: GET /inventory/single. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectRefusal, FIELDS, sampleOf, Shop, succeed } from '../kit/records.ts';

const CODES = ['MB/14#SLV+32', '100% wool', 'a b', 'Q?&=;,', 'ÄÖ-ß-東京', '00042'];

const shop = await Shop.shared();
const { service } = shop;
await shop.load('inventory', [{ ...sampleOf('inventory'), PART_CODE: 'P1' }]);
await shop.load('inventory', [
  { PART_CODE: '42', QTY_ONHAND: '007.50' },
  ...CODES.map((PART_CODE) => ({ PART_CODE, QTY_ONHAND: '' })),
]);

// Holds S5.2, S5.15, S6.1.
test('200 data is the part with every field of INVENTORY, subRecords null', async () => {
  const part = await succeed(shop.getInventoryItem('P1'));
  assert.deepEqual(Object.keys(part).toSorted(), FIELDS.inventory.toSorted());
  assert.deepEqual({ ...part, ...sampleOf('inventory'), PART_CODE: 'P1' }, part);
});

// Holds S5.5.
test('200 quantities are strings without trailing zeros; QTY_AVAILABLE is QTY_ONHAND less QTY_COMMITTED', async () => {
  const { QTY_ONHAND, QTY_COMMITTED, QTY_AVAILABLE } = await succeed(shop.getInventoryItem('42'));
  assert.deepEqual(
    { QTY_ONHAND, QTY_COMMITTED, QTY_AVAILABLE },
    { QTY_ONHAND: '7.5', QTY_COMMITTED: '0', QTY_AVAILABLE: '7.5' },
  );
});

test('200 part codes with / # + % & ? and spaces are found', async () => {
  for (const code of CODES) assert.equal((await succeed(shop.getInventoryItem(code)))['PART_CODE'], code);
});

// Holds S3.7.
test('404 NOT_FOUND names the part that does not exist', async () => {
  assert.match(expectRefusal(await shop.getInventoryItem('X/99'), 404, 'NOT_FOUND', 'partCode'), /X\/99/);
});

// Holds S3.12.
test('400 MISSING_PARAMETER when partCode is missing or empty', async () => {
  expectRefusal(await service.call(shop.keys, 'GET', '/inventory/single'), 400, 'MISSING_PARAMETER', 'partCode');
  expectRefusal(await shop.getInventoryItem(''), 400, 'MISSING_PARAMETER', 'partCode');
});
