/** Tests findOrdersByStorefrontReference: GET /orders/by_storefront_reference. life-cycle.test.ts also tests it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times, valuesOf } from '../kit/lists.ts';
import { expectRefusal, Shop, succeed, type Values } from '../kit/records.ts';
import { SHIPPING_ADDRESS } from '../kit/shipping-address.ts';

interface Found extends Record<string, unknown> {
  order_type: string;
  pims_order_number: string;
  items: Record<string, unknown>[];
}

const shop = await Shop.shared();
const { service } = shop;

async function find(storefront: string): Promise<Found[]> {
  const { status, body } = await shop.findOrdersByStorefrontReference(storefront);
  assert.equal(status, 200);
  assert.equal(body.storefront_order_number, storefront);
  return body.orders as Found[];
}

/** Makes an order with a line, and returns what the lookup shows of it. */
async function lookUpNew(
  reference: string,
  order: Record<string, unknown>,
  line: Record<string, unknown> = {},
): Promise<Found> {
  const ORDER_NUMBER = await shop.newOrder({ REFERENCE_NUMBER: reference, ...order });
  await succeed(shop.addLineItem({ ORDER_NUMBER, ...line }));
  const found = await find(reference);
  assert.equal(found.length, 1);
  return found[0]!;
}

// Holds S9.1.
test('200 the body has storefront_order_number and orders, without an envelope', async () => {
  await succeed(shop.createOrder({ REFERENCE_NUMBER: '#1001' }));
  const { status, body } = await shop.findOrdersByStorefrontReference('#1001');
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body as object), ['storefront_order_number', 'orders']);
  assert.equal(body.storefront_order_number, '#1001');
  assert.equal(body.orders.length, 1);
});

// Holds S9.1.
test('200 orders is [] when the number is unknown', async () => {
  const { status, body } = await shop.findOrdersByStorefrontReference('#no such');
  assert.equal(status, 200);
  assert.deepEqual(body, { storefront_order_number: '#no such', orders: [] });
});

// Holds S9.2.
test('200 the number matches exactly as stored: bare digits, another case or a part of it do not match', async () => {
  await succeed(shop.createOrder({ REFERENCE_NUMBER: '#2002-a' }));
  assert.equal((await find('#2002-a')).length, 1);
  for (const other of ['2002-a', '#2002-A', '#2002', '#2002-a ', '%', '#2002_a'])
    assert.deepEqual(await find(other), []);
  await succeed(shop.createOrder({ REFERENCE_NUMBER: '2003' }));
  assert.deepEqual(await find('#2003'), []);
  assert.equal((await find('2003')).length, 1);
});

test('200 each order has exactly the eight documented fields', async () => {
  const order = await lookUpNew('#fields', {});
  const fields = [
    ...'order_type pims_order_number create_date modified_date tracking_numbers is_dropship'.split(' '),
    ...'shipping_address items'.split(' '),
  ];
  assert.deepEqual(Object.keys(order).toSorted(), fields.toSorted());
});

// Holds S9.3.
test('200 order_type is the raw stage: worksheet, quote, sales_order, invoice', async () => {
  const stages = ['worksheet', 'quote', 'sales_order', 'invoice'];
  await shop.load(
    'orders',
    stages.map((ORDER_TYPE) => ({ ORDER_TYPE, REFERENCE_NUMBER: `#${ORDER_TYPE}` })),
  );
  for (const stage of stages) assert.equal((await find(`#${stage}`))[0]!.order_type, stage);
});

// Holds S9.3, S9.4.
test('200 pims_order_number, create_date and modified_date have the values of the order', async () => {
  const order = await lookUpNew('#stamps', {});
  const { data } = (await shop.getOrder(order.pims_order_number)).body as { data: Values };
  assert.deepEqual([order['create_date'], order['modified_date']], [data['CREATE_DATE'], data['MODIFIED_DATE']]);
  assert.match(String(order['create_date']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

// Holds S9.4.
test('200 create_date and modified_date are null when PIMS has no value', async () => {
  await shop.load('orders', [{ REFERENCE_NUMBER: '#undated', CREATE_DATE: '', MODIFIED_DATE: '' }]);
  const [order] = await find('#undated');
  assert.deepEqual([order!['create_date'], order!['modified_date']], [null, null]);
});

// Holds S9.3, S9.5.
test('200 tracking_numbers is TRACKING_NUMBERS split at the commas, or [] if it is empty', async () => {
  const tracked = await lookUpNew('#tracked', { TRACKING_NUMBERS: '1Z999, PG77 ,,X' });
  assert.deepEqual(tracked['tracking_numbers'], ['1Z999', 'PG77', 'X']);
  assert.deepEqual((await lookUpNew('#untracked', {}))['tracking_numbers'], []);
});

// Holds S9.3, S9.5.
test('200 is_dropship is true when DROP_SHIP is Y', async () => {
  assert.equal((await lookUpNew('#drop', { DROP_SHIP: 'Y' }))['is_dropship'], true);
  assert.equal((await lookUpNew('#undropped', { DROP_SHIP: 'N' }))['is_dropship'], false);
  assert.equal((await lookUpNew('#unsaid', {}))['is_dropship'], false);
});

// Holds S9.5.
test('200 shipping_address has nine keys, with the values of the S fields', async () => {
  const sent = Object.fromEntries(Object.values(SHIPPING_ADDRESS).map((field) => [field, field]));
  const order = await lookUpNew('#address', { ...sent, BNAME: 'billed', BCITY: 'elsewhere', SEMAIL: 'not shown' });
  assert.deepEqual(order['shipping_address'], SHIPPING_ADDRESS);
});

// Holds S9.5.
test('200 each field of shipping_address is "" when PIMS has no value, also where the B fields have one', async () => {
  const order = await lookUpNew('#nowhere', { BNAME: 'billed', BADDRESS1: 'here', BCITY: 'there' });
  const empty = Object.fromEntries(Object.keys(SHIPPING_ADDRESS).map((key) => [key, '']));
  assert.deepEqual(order['shipping_address'], empty);
});

// Holds S9.5, S9.6.
test('200 each item has exactly its six documented fields', async () => {
  const line = {
    PART_CODE: 'MB/14',
    DESCRIPTION: 'Notebook',
    QUANTITY: '3',
    SERIAL_NUMBERS: 'S1, S2',
    UNIT_PRICE: '9',
  };
  const { items } = await lookUpNew('#items', {}, line);
  const expected = {
    part_number: 'MB/14',
    description: 'Notebook',
    quantity: 3,
    shipped: 0,
    serial_numbers: ['S1', 'S2'],
    is_care_plan: false,
  };
  assert.deepEqual(items, [expected]);
});

// Holds S9.6.
test('200 quantity and shipped are numbers; shipped lower than quantity is a partial shipment', async () => {
  const { pims_order_number } = await lookUpNew('#partial', {}, { QUANTITY: '3.5' });
  const [line] = await shop.lines(pims_order_number);
  const key = { ORDER_NUMBER: pims_order_number, LINE_REF_LOCK_CODE: line!['LINE_REF_LOCK_CODE'] };
  await succeed(shop.updateLineItem({ ...key, NUMBER_SHIPPED: '1.25' }));
  const [item] = (await find('#partial'))[0]!.items;
  assert.deepEqual([item!['quantity'], item!['shipped']], [3.5, 1.25]);
});

// Holds S8.14, S9.6.
test('200 serial_numbers of a care plan are [], and is_care_plan true', async () => {
  await shop.load('inventory', [{ PART_CODE: 'PLAN', CARE_PLAN: 'Y' }]);
  const [item] = (await lookUpNew('#plan', {}, { PART_CODE: 'PLAN', QUANTITY: '1' })).items;
  assert.deepEqual([item!['serial_numbers'], item!['is_care_plan']], [[], true]);
});

// Holds S9.6.
test('200 items of an order without lines are []; items have the order of their lines', async () => {
  const ORDER_NUMBER = await shop.newOrder({ REFERENCE_NUMBER: '#lines' });
  assert.deepEqual((await find('#lines'))[0]!.items, []);
  const codes = times(11, (index) => `P${index}`);
  for (const PART_CODE of codes) await succeed(shop.addLineItem({ ORDER_NUMBER, PART_CODE }));
  assert.deepEqual(valuesOf((await find('#lines'))[0]!.items, 'part_number'), codes);
});

// Holds S9.7.
test('200 orders are sorted by latest stage, newest create_date (none last), then order number', async () => {
  const rows: [number: string, stage: string, created: string][] = [
    ['9001', 'invoice', '2026-03-01T10:00:00Z'],
    ['9003', 'invoice', '2026-03-01T09:59:59.999Z'],
    ['9002', 'invoice', ''],
    ['85', 'sales_order', '2026-03-02T00:00:00+02:00'], // the evening of March 1 in UTC
    ['84', 'sales_order', '2026-03-01T21:00:00Z'],
    ['9', 'sales_order', ''],
    ['10', 'sales_order', ''],
    ['A1', 'sales_order', ''],
    ['7', 'quote', '2020-01-01T00:00:00Z'],
    ['99', 'quote', '2019-01-01T00:00:00Z'],
    ['100', 'quote', '2019-01-01T00:00:00Z'],
    ['1', 'worksheet', '2030-01-01T00:00:00Z'],
    ['2', 'worksheet', ''],
  ];
  const records = rows.map(([ORDER_NUMBER, ORDER_TYPE, CREATE_DATE]) => ({
    ORDER_NUMBER,
    ORDER_TYPE,
    CREATE_DATE,
    REFERENCE_NUMBER: '#sorted',
  }));
  const orders = records.toSorted((a, b) => (a.ORDER_NUMBER < b.ORDER_NUMBER ? -1 : 1));
  await shop.load('orders', orders);
  const shown = valuesOf(await find('#sorted'), 'pims_order_number');
  assert.deepEqual(
    shown,
    rows.map(([number]) => number),
  );
});

// Holds S2.3.
test('200 apiID, apiSecret and teamID are accepted as parameters', async () => {
  const { teamID, apiID, apiSecret } = shop.keys;
  const query = { teamID, apiID, apiSecret, storefront_order_number: '#1001' };
  const { status, body } = await service.request('GET', '/orders/by_storefront_reference', { query });
  assert.equal(status, 200);
  assert.equal(body.orders.length, 1);
});

// Holds S2.3, S9.2.
test('400 without teamID, 401 without credentials', async () => {
  const query = { storefront_order_number: '#1001' };
  const path = '/orders/by_storefront_reference';
  const message = expectRefusal(await service.request('GET', path, { query }), 400, 'MISSING_TEAM_ID');
  assert.equal(message, "Missing 'teamID' parameter!");
  const outcome = await service.request('GET', path, { query: { ...query, teamID: 'shop' } });
  expectRefusal(outcome, 401, 'INVALID_CREDENTIALS');
});

// Holds S9.2.
test('400 MISSING_PARAMETER without the number says that # is written %23', async () => {
  const path = '/orders/by_storefront_reference';
  const answers = [await service.call(shop.keys, 'GET', path), await shop.findOrdersByStorefrontReference('')];
  for (const answer of answers)
    assert.match(expectRefusal(answer, 400, 'MISSING_PARAMETER', 'storefront_order_number'), /#.*%23/);
});

// Holds S3.9.
test('400 INVALID_VALUE for a number with a NUL character, which PIMS cannot look up', async () => {
  expectRefusal(await shop.findOrdersByStorefrontReference('#1\0'), 400, 'INVALID_VALUE', 'storefront_order_number');
});
