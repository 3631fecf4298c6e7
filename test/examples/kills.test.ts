/**
 * Tests that the integrations of examples/ lose and repeat no order although they and the service are killed.
 * STOREROOM_TEST_EXAMPLE_ORDERS sets the number of orders.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times } from '../kit/lists.ts';
import { Shop, succeed } from '../kit/records.ts';
import { ownService } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';
import { LANGUAGES, sold, Storefront, type Taken } from './storefront.ts';

const ORDERS = trials('EXAMPLE_ORDERS', { quick: 12, all: 60 });
const KILLS = 3;

const service = await ownService({ keepsPort: true });

async function sell(language: keyof typeof LANGUAGES): Promise<void> {
  const shop = await Shop.open(service, `kills-${language}`, '--rate', '200');
  await shop.load(
    'inventory',
    times(3, (at) => ({ PART_CODE: `P${at}`, QTY_ONHAND: '1000' })),
  );
  const store = new Storefront(LANGUAGES[language], shop);
  const orders = times(ORDERS, (at) => sold(`#${5501 + at}`, at % 5));
  orders.push(sold('#long', 130), sold('#old', 2, { soldAt: '2026-01-01T00:00:00Z' }));
  for (const order of orders) store.sell(order);
  store.sell(sold('#wrong', 1, { shipping: 'much' }));
  // An earlier run sent this order and was killed before it marked the order as taken, more than a day ago.
  const old = await shop.newOrder({ REFERENCE_NUMBER: '#old', ORDER_TYPE: 'sales_order', SNAME: '$mith & Co' });
  for (const PART_CODE of ['P0', 'P1']) await succeed(shop.addLineItem({ ORDER_NUMBER: old, PART_CODE }));

  for (let kill = 1; kill <= KILLS; kill++) {
    store.start();
    const wanted = Math.floor((orders.length * kill) / (KILLS + 1));
    await store.until(() => store.list('taken').length >= wanted);
    const service1 = kill % 2 === 1 ? service.stop('SIGKILL').then(() => service.restart()) : undefined;
    await store.kill();
    await service1;
  }
  store.start();
  await store.until(() => store.list('taken').length === orders.length && store.list('aside').length === 1);

  const taken = new Map(store.list<Taken>('taken').map(({ number, orderNumber }) => [number, orderNumber]));
  assert.deepEqual(
    store.list<{ number: string; reason: string }>('aside').map(({ number, reason }) => `${number} ${reason}`),
    ["#wrong INVALID_VALUE: FREIGHT must be a decimal number such as '3' or '1.5', not 'much'."],
  );
  for (const { number, lines } of orders) {
    const { body } = await shop.findOrdersByStorefrontReference(number);
    const [found, ...others] = (body as { orders: { pims_order_number: string; items: unknown[] }[] }).orders;
    assert.deepEqual(others, [], number);
    assert.deepEqual([found!.pims_order_number, found!.items.length], [taken.get(number), lines.length], number);
    assert.equal((await shop.order(found!.pims_order_number))['SNAME'], '$mith & Co');
  }
  const all = (await shop.queryOrders([])).body.data as unknown[];
  assert.equal(all.length, orders.length);
  // The lines commit stock, which the storefront has to show.
  const parts = (await shop.queryInventoryItems([])).body.data as { PART_CODE: string; QTY_AVAILABLE: string }[];
  const available = Object.fromEntries(parts.map((part) => [part.PART_CODE, part.QTY_AVAILABLE]));
  await store.until(() => parts.every(({ PART_CODE }) => store.stock()[PART_CODE] === available[PART_CODE]));
  await store.kill();
}

// Holds S3.14.
test('TypeScript: after kills of program and service, every order exists once with all its lines', () =>
  sell('TypeScript'));
// Holds S3.14.
test('Python: after kills of program and service, every order exists once with all its lines', () => sell('Python'));
