/** Tests that orders with many or large lines, and lookups with many orders, are returned as a whole or not at all. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { range, times } from '../kit/lists.ts';
import { expectRefusal, Shop, type Values } from '../kit/records.ts';
import type { Answer } from '../kit/service.ts';

interface Lookup {
  orders: { pims_order_number: string; items: { part_number: string; quantity: number }[] }[];
}

const LINES = 10_000;

const shop = await Shop.shared();
const lookUp = async (reference: string): Promise<Lookup['orders']> =>
  ((await shop.findOrdersByStorefrontReference(reference)).body as unknown as Lookup).orders;

/** Loads orders with this reference, each with its count of lines. The line numbers have gaps. */
async function load(reference: string, first: number, counts: readonly number[], more: Values = {}): Promise<void> {
  const orders = counts.map((count, index) => ({ ORDER_NUMBER: String(first + index), count }));
  await shop.load(
    'orders',
    orders.map(({ ORDER_NUMBER }) => ({ ORDER_NUMBER, REFERENCE_NUMBER: reference })),
  );
  const lines = orders.flatMap(({ ORDER_NUMBER, count }) =>
    range(count).map((line) => ({ ORDER_NUMBER, LINE_NUMBER: String(line * 2), PART_CODE: `P${line}`, ...more })),
  );
  if (lines.length > 0) await shop.load('lines', lines);
}

async function expectLines(orderNumber: string, count: number): Promise<void> {
  const { body } = await shop.getOrder(orderNumber);
  assert.equal((body.data as Values)['ORDER_NUMBER'], orderNumber);
  const found = (body.subRecords as { ORDER_LINEITEMS: Values }[]).map(({ ORDER_LINEITEMS: line }) => line);
  assert.deepEqual(
    found.map((line) => [line['ORDER_NUMBER'], line['LINE_NUMBER'], line['PART_CODE']]),
    range(count).map((line) => [orderNumber, String(line * 2), `P${line}`]),
  );
}

test('an order is returned with all its lines in order: around 100, 1,000, and a few large ones', async () => {
  const counts = [99, 100, 101, 102, 1000, 1001];
  await load('#lines', 100, counts);
  await load('#large', 110, [3, 8, 9, 30], { DESCRIPTION: 'é'.repeat(4000) });
  // At the second read, the store knows that an order is long.
  for (const [index, count] of [...counts, ...counts].entries())
    await expectLines(String(100 + (index % counts.length)), count);
  for (const [index, count] of [3, 8, 9, 30].entries()) await expectLines(String(110 + index), count);
  const loaded = [
    ['#lines', 100, counts],
    ['#large', 110, [3, 8, 9, 30]],
  ] as const;
  for (const [reference, first, expected] of loaded)
    assert.deepEqual(
      (await lookUp(reference)).map((order) => [order.pims_order_number, order.items.map((item) => item.part_number)]),
      expected.map((count, index) => [String(first + index), range(count).map((line) => `P${line}`)]),
    );
});

test('a lookup returns all orders of its number in order: 9 to 12, with lines and without', async () => {
  for (const count of [9, 10, 11, 12]) {
    const counts = times(count, (index) => index % 3);
    await load(`#${count}`, count * 100, counts);
    assert.deepEqual(
      (await lookUp(`#${count}`)).map((order) => [order.pims_order_number, order.items.length]),
      counts.map((lines, index) => [String(count * 100 + index), lines]),
    );
  }
});

test('422 RESULT_TOO_LARGE for a storefront number with over 8 MiB of lines; single orders are returned', async () => {
  const text = 'x'.repeat(8000);
  await load('#heavy', 5000, [350, 350], { DESCRIPTION: text });
  const refused = (): Promise<Answer> => shop.findOrdersByStorefrontReference('#heavy');
  assert.equal((await refused()).status, 200);
  await load('#heavy', 5002, [350], { DESCRIPTION: text });
  expectRefusal(await refused(), 422, 'RESULT_TOO_LARGE', 'storefront_order_number');
  await expectLines('5002', 350);
});

test(`an order of ${LINES} lines is returned with all of them, by number and by lookup`, async () => {
  await load('#long', 7000, [LINES]);
  await expectLines('7000', LINES);
  const [order] = await lookUp('#long');
  assert.deepEqual(
    order!.items.map((item) => item.part_number),
    range(LINES).map((line) => `P${line}`),
  );
});
