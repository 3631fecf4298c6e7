/** Tests getOrder: GET /orders/single. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times } from '../kit/lists.ts';
import { expectRefusal, FIELDS, sampleOf, Shop, succeed, type Values, valuesOf } from '../kit/records.ts';

const shop = await Shop.shared();
const { service } = shop;

// Holds S1.5, S1.6, S6.1.
test('200 data is the order, subRecords an array of objects whose one key is ORDER_LINEITEMS', async () => {
  const ORDER_NUMBER = await shop.newOrder({ REFERENCE_NUMBER: '#1', CUSTOMER_CODE: 'VINET' });
  const added = await succeed(shop.addLineItem({ ORDER_NUMBER, PART_CODE: 'A', DESCRIPTION: 'Part A', QUANTITY: '2' }));
  const { status, body } = await shop.getOrder(ORDER_NUMBER);
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body as object), ['status', 'data', 'subRecords']);
  assert.equal(body.status, 'success');
  assert.equal(body.data.ORDER_NUMBER, ORDER_NUMBER);
  assert.equal(body.data.REFERENCE_NUMBER, '#1');
  assert.equal(body.data.CUSTOMER_CODE, 'VINET');
  assert.deepEqual(body.subRecords, [{ ORDER_LINEITEMS: added }]);
});

// Holds S1.6.
test('200 an order without lines has subRecords null', async () => {
  const ORDER_NUMBER = await shop.newOrder({ REFERENCE_NUMBER: '#1', ORDER_DATE: '3/4/2026' });
  const { status, body } = await shop.getOrder(ORDER_NUMBER);
  assert.equal(status, 200);
  assert.equal(body.subRecords, null);
  assert.equal(body.data.ORDER_DATE, '03/04/2026');
});

// Holds S1.6.
test('200 lines are sorted by their numbers, the tenth after the ninth', async () => {
  const ORDER_NUMBER = await shop.newOrder();
  const numbers = times(11, (index) => String(index + 1));
  for (const QUANTITY of numbers) await succeed(shop.addLineItem({ ORDER_NUMBER, QUANTITY }));
  const lines = await shop.lines(ORDER_NUMBER);
  assert.deepEqual(valuesOf(lines, 'LINE_NUMBER'), numbers);
  assert.deepEqual(valuesOf(lines, 'QUANTITY'), numbers);
});

// Holds S5.5, S5.15.
test('200 the order and its lines have every field, "" if it has no value', async () => {
  const ORDER_NUMBER = await shop.newOrder();
  await succeed(shop.addLineItem({ ORDER_NUMBER }));
  const { body } = await shop.getOrder(ORDER_NUMBER);
  const order = body.data as Values;
  const [line] = await shop.lines(ORDER_NUMBER);
  assert.deepEqual(Object.keys(order).toSorted(), FIELDS.orders.toSorted());
  assert.deepEqual(Object.keys(line!).toSorted(), FIELDS.lines.toSorted());
  const filled = ['ORDER_NUMBER', 'ORDER_TYPE', 'CREATE_DATE', 'MODIFIED_DATE'];
  for (const [name, value] of Object.entries(order)) assert.equal(value === '', !filled.includes(name), name);
  const filledInLine =
    'ORDER_NUMBER LINE_NUMBER QUANTITY NUMBER_SHIPPED LINE_REF_LOCK_CODE CREATE_DATE MODIFIED_DATE'.split(' ');
  for (const [name, value] of Object.entries(line!)) assert.equal(value === '', !filledInLine.includes(name), name);
});

test('200 values are strings, quantities and dates included', async () => {
  const ORDER_NUMBER = await shop.newOrder(sampleOf('orders'));
  await succeed(shop.addLineItem({ ...sampleOf('lines'), ORDER_NUMBER, QUANTITY: 2.5 }));
  const { body } = await shop.getOrder(ORDER_NUMBER);
  const [line] = await shop.lines(ORDER_NUMBER);
  for (const value of [...Object.values(body.data as object), ...Object.values(line!)])
    assert.equal(typeof value, 'string');
  assert.equal(body.data.ORDER_DATE, '01/15/2026');
  assert.equal(line!['QUANTITY'], '2.5');
});

test('200 an order number with letters, slashes and hashes is found', async () => {
  await shop.load('orders', [{ ORDER_NUMBER: 'A/7 #+%&?=' }]);
  assert.equal((await succeed(shop.getOrder('A/7 #+%&?=')))['ORDER_NUMBER'], 'A/7 #+%&?=');
});

// Holds S3.7.
test('404 NOT_FOUND names the order that does not exist', async () => {
  assert.match(expectRefusal(await shop.getOrder('nope'), 404, 'NOT_FOUND', 'orderNum'), /nope/);
});

test('404 for a number that only looks like the number of an order', async () => {
  const ORDER_NUMBER = await shop.newOrder();
  for (const alike of ['0?', ' ?', '?.0', '+?', '?%'].map((form) => form.replace('?', ORDER_NUMBER)))
    expectRefusal(await shop.getOrder(alike), 404, 'NOT_FOUND');
});

test('404 for an order of another tenant', async () => {
  const other = await Shop.open(service, 'other');
  await other.load('orders', [{ ORDER_NUMBER: '777' }]);
  await succeed(other.getOrder('777'));
  expectRefusal(await shop.getOrder('777'), 404, 'NOT_FOUND');
});

// Holds S3.12.
test('400 MISSING_PARAMETER when orderNum is missing or empty', async () => {
  expectRefusal(await service.call(shop.keys, 'GET', '/orders/single'), 400, 'MISSING_PARAMETER', 'orderNum');
  expectRefusal(await shop.getOrder(''), 400, 'MISSING_PARAMETER', 'orderNum');
});

test('400 INVALID_VALUE when orderNum contains a NUL character', async () => {
  expectRefusal(await shop.getOrder('10001\0'), 400, 'INVALID_VALUE', 'orderNum');
});
