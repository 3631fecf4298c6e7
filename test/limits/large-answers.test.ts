/** Tests the bounds of responses: of a page in bytes, and of the storefront lookup in orders. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times } from '../kit/lists.ts';
import { expectRefusal, Shop, succeed, WIDE_CUSTOMER, type Values } from '../kit/records.ts';

const PAGE_BYTES = 4 * 1024 * 1024;

const shop = await Shop.shared('large-answers');

// Holds S9.11.
test('422 RESULT_TOO_LARGE for a storefront number with 1,001 orders; 1,000 are returned', async () => {
  const orders = times(2001, (index) => ({
    ORDER_NUMBER: String(index + 1),
    REFERENCE_NUMBER: index < 1000 ? '#many' : '#more',
  }));
  await shop.load('orders', orders);
  const { status, body } = await shop.findOrdersByStorefrontReference('#many');
  assert.equal(status, 200);
  assert.equal((body.orders as unknown[]).length, 1000);
  const refused = await shop.findOrdersByStorefrontReference('#more');
  assert.match(expectRefusal(refused, 422, 'RESULT_TOO_LARGE', 'storefront_order_number'), /1000/);
});

// Holds S6.16.
test('a page ends at 4 MiB and says that there are more; its cursor continues without a gap', async () => {
  const codes = times(60, (index) => String(index + 1));
  await shop.load(
    'customers',
    codes.map((CUSTOMER_CODE) => ({ CUSTOMER_CODE, ...WIDE_CUSTOMER })),
  );
  const keys: string[] = [];
  const pages: number[] = [];
  for (let page: Values = {}; ;) {
    const answer = await shop.queryCustomers([], { maxReturn: '5000', ...page });
    const records = await succeed<Values[]>(Promise.resolve(answer));
    assert.ok(JSON.stringify(records).length <= PAGE_BYTES + records.length);
    pages.push(records.length);
    keys.push(...records.map((record) => record['CUSTOMER_CODE']!));
    const cursor = answer.headers.get('x-next-cursor');
    assert.equal(answer.headers.get('x-has-more'), cursor === null ? null : 'true');
    if (cursor === null) break;
    page = { cursor };
  }
  assert.deepEqual(keys, codes);
  assert.equal(pages[0], 40, 'records of a full page');
  assert.equal(pages.length, 2);
});
