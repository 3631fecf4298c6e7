/** Tests that a cursor only continues the query that it was issued for: the same tenant, record type and filters. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { range } from '../kit/lists.ts';
import { expectRefusal, Shop, succeed, type Filters, type Values } from '../kit/records.ts';
import { ownService, type Answer } from '../kit/service.ts';

type Query = (filters: Filters, query?: Values) => Promise<Answer>;

const shop = await Shop.shared();
const other = await Shop.open(shop.service, 'other');
for (const one of [shop, other]) {
  const codes = range(5).map(String);
  await one.load(
    'customers',
    codes.map((CUSTOMER_CODE) => ({ CUSTOMER_CODE, BCITY: 'Here', CREDIT_LIMIT: '5' })),
  );
  await one.load(
    'inventory',
    codes.map((PART_CODE) => ({ PART_CODE })),
  );
  await one.load(
    'orders',
    codes.map((ORDER_NUMBER) => ({ ORDER_NUMBER })),
  );
}

const LISTS: readonly (readonly [key: string, of: (shop: Shop) => Query])[] = [
  ['CUSTOMER_CODE', ({ queryCustomers }) => queryCustomers],
  ['PART_CODE', ({ queryInventoryItems }) => queryInventoryItems],
  ['ORDER_NUMBER', ({ queryOrders }) => queryOrders],
];

async function cursorOf(query: Query, filters: Filters = []): Promise<string> {
  const { headers } = await query(filters, { maxReturn: '2' });
  return headers.get('x-next-cursor')!;
}

async function expectNext(key: string, answer: Promise<Answer>): Promise<void> {
  assert.equal((await succeed<Values[]>(answer))[0]![key], '3');
}
async function refuse(answer: Promise<Answer>): Promise<void> {
  expectRefusal(await answer, 400, 'INVALID_CURSOR', 'cursor');
}

test('400 INVALID_CURSOR for the cursor of another tenant, even if both have the same keys', async () => {
  for (const [key, of] of LISTS) {
    const cursor = await cursorOf(of(shop));
    await expectNext(key, of(shop)([], { cursor }));
    await refuse(of(other)([], { cursor }));
  }
});

test('400 INVALID_CURSOR for the cursor of another record type, even if both have the same keys', async () => {
  for (const [key, of] of LISTS) {
    const cursor = await cursorOf(of(shop));
    for (const [otherKey, otherOf] of LISTS) if (otherKey !== key) await refuse(otherOf(shop)([], { cursor }));
  }
});

test('400 INVALID_CURSOR for the cursor of other filters; the notation of the same ones does not matter', async () => {
  const here = { field: 'BCITY', value: 'Here' };
  const filters = [here, { field: 'CREDIT_LIMIT', value: '5', conjunction: 'AND' }];
  const cursor = await cursorOf(shop.queryCustomers, filters);
  const [city, limit] = [here, filters[1]!];
  const same: Filters[] = [
    filters,
    [city, { field: 'CREDIT_LIMIT', value: 5 }],
    [
      { ...city, conjunction: 'or' },
      { ...limit, conjunction: 'and', contains: false },
    ],
  ];
  for (const given of same)
    for (const maxReturn of ['1', '3'])
      await expectNext('CUSTOMER_CODE', shop.queryCustomers(given, { cursor, maxReturn }));
  const others: Filters[] = [
    [],
    [here],
    [limit, city],
    [city, { ...limit, conjunction: 'OR' }],
    [city, { ...limit, contains: true }],
    [{ ...city, value: 'here' }, limit],
    [{ ...city, field: 'SCITY' }, limit],
    [...filters, here],
  ];
  for (const given of others) await refuse(shop.queryCustomers(given, { cursor }));
  await refuse(shop.queryCustomers([], { cursor }));
});

// Holds S6.18.
test('a cursor is valid after a restart', async () => {
  const service = await ownService();
  const own = await Shop.open(service, 'own');
  await own.load(
    'orders',
    range(5).map((number) => ({ ORDER_NUMBER: String(number) })),
  );
  const cursor = await cursorOf(own.queryOrders);
  await service.stop();
  await service.restart();
  await expectNext('ORDER_NUMBER', own.queryOrders([], { cursor }));
});

test('another installation refuses the cursor of a tenant with the same name and keys', async () => {
  const own = await Shop.open(await ownService(), shop.keys.teamID);
  await refuse(own.queryOrders([], { cursor: await cursorOf(shop.queryOrders) }));
});
