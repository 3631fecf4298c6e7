/** Tests createOrder: PUT /orders/create. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times, valuesOf } from '../kit/lists.ts';
import { eachAs, sampleOf, Shop, succeed } from '../kit/records.ts';
import { refusalsOf } from './refusals.ts';

const shop = await Shop.shared();
const refuses = refusalsOf(shop, shop.createOrder);
const { service } = shop;

const { newOrder: create, order: read } = shop;

// Holds S1.5, S7.1.
test('200 data is the newly assigned order number, used as ORDER_NUMBER when adding lines', async () => {
  const ORDER_NUMBER = await create({ REFERENCE_NUMBER: '#1', CUSTOMER_CODE: 'VINET' });
  assert.match(ORDER_NUMBER, /^[1-9]\d*$/);
  const line = await succeed(shop.addLineItem({ ORDER_NUMBER, PART_CODE: 'A' }));
  assert.equal(line['ORDER_NUMBER'], ORDER_NUMBER);
  assert.equal((await read(ORDER_NUMBER))['ORDER_NUMBER'], ORDER_NUMBER);
});

// Holds S5.3, S5.15, S7.1.
test('200 every ORDERS field can be sent and is returned unchanged', async () => {
  const sent = sampleOf('orders');
  const got = await read(await create(sent));
  assert.equal(Object.keys(sent).length, 37);
  assert.deepEqual({ ...got, ...sent }, got);
});

// Holds S7.1.
test('200 all fields are optional: {} is an order too', async () => {
  assert.equal((await read(await create({})))['REFERENCE_NUMBER'], '');
});

test('200 CREATE_DATE and MODIFIED_DATE are the time of the call, UTC, ISO 8601', async () => {
  const sentAt = service.timeAt();
  const { CREATE_DATE = '', MODIFIED_DATE } = await read(await create({}));
  assert.match(CREATE_DATE, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok(CREATE_DATE >= sentAt && CREATE_DATE <= service.timeAt());
  assert.equal(MODIFIED_DATE, CREATE_DATE);
});

// Holds S8.1, S8.2.
test('200 a new order is a worksheet unless it sends ORDER_TYPE worksheet, quote or sales_order', async () => {
  for (const sent of [{}, { ORDER_TYPE: null }, { ORDER_TYPE: '' }])
    assert.equal((await read(await create(sent)))['ORDER_TYPE'], 'worksheet');
  for (const ORDER_TYPE of ['worksheet', 'quote', 'sales_order'])
    assert.equal((await read(await create({ ORDER_TYPE })))['ORDER_TYPE'], ORDER_TYPE);
});

// Holds S8.3.
test('200 ORDER_STATUS accepts any text', async () => {
  assert.equal((await read(await create({ ORDER_STATUS: 'On hold: ask Jo' })))['ORDER_STATUS'], 'On hold: ask Jo');
});

// Holds S5.13.
test('200 CUSTOMER_CODE and LOCATION_CODE may be unknown', async () => {
  const order = await read(await create({ CUSTOMER_CODE: 'NOBODY', LOCATION_CODE: 'NOWHERE' }));
  assert.equal(`${order['CUSTOMER_CODE']} ${order['LOCATION_CODE']}`, 'NOBODY NOWHERE');
});

test('200 teamID and credentials in the body are not fields of the order', async () => {
  const { status, body } = await service.request('PUT', '/orders/create', { body: { ...shop.keys, NOTES: 'by body' } });
  assert.equal(status, 200);
  assert.equal((await read(body.data as string))['NOTES'], 'by body');
});

const assigned = eachAs(['ORDER_NUMBER', 'CREATE_DATE', 'MODIFIED_DATE'], ['7777', '', null]);
const stages = eachAs(['ORDER_TYPE'], ['invoice', 'Quote', 'order', ' quote', 1]);
const noObjects = [[], [{ NOTES: 'x' }], '"text"', '7', 'null', undefined];
// Holds S8.2.
refuses('400 INVALID_VALUE for any other ORDER_TYPE: no order is created as an invoice', stages);
// Holds S5.11.
refuses('400 FIELD_NOT_ALLOWED for FUNCTION', eachAs(['FUNCTION'], ['INSERT', '', null], { NOTES: 'x' }));
// Holds S5.9, S5.10, S7.2.
refuses('400 FIELD_NOT_ALLOWED for fields that PIMS assigns: ORDER_NUMBER, CREATE_DATE, MODIFIED_DATE', assigned);
refuses('400 INVALID_BODY when the body is not an object, or is missing', { '': noObjects });

const NEAREST = { REFRENCE_NUMBER: 'REFERENCE_NUMBER', order_date: 'ORDER_DATE', BADDRESS: 'BADDRESS1' };
const unknown = eachAs(Object.keys(NEAREST), ['x'], { NOTES: 'x' });
const nearest = Object.entries(NEAREST).map(([sent, known]) => new RegExp(`'${sent}'.*\\b${known}\\b`));
// Holds S5.1.
refuses('400 UNKNOWN_FIELD names the field and the nearest known one', unknown, ...nearest);

const javaScript = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length'];
const members = Object.fromEntries(javaScript.map((name) => [name, [`{"${name}": "x"}`]]));
refuses('400 UNKNOWN_FIELD for names that are special in JavaScript', members);

// Holds S5.9, S5.10, S7.2.
test('200 order numbers ascend and are never assigned twice, also under 60 calls at once', async () => {
  const notes = times(60, String);
  const numbers = await Promise.all(notes.map((NOTES) => create({ NOTES })));
  assert.equal(new Set(numbers).size, 60);
  const orders = await Promise.all(numbers.map(read));
  assert.deepEqual(valuesOf(orders, 'NOTES'), notes);
  assert.ok(numbers.every((number) => Number(number) < Number(numbers[0]) + 60));
  assert.ok(Number(await create({})) > Math.max(...numbers.map(Number)));
});

test('200 numbers of imported orders are skipped', async () => {
  const next = Number(await create({})) + 1;
  const imported = [String(next + 1), String(next + 3), 'X9'].map((ORDER_NUMBER) => ({ ORDER_NUMBER }));
  await shop.load('orders', imported);
  const given = [await create({}), await create({})].map(Number);
  assert.ok(given[0]! > next + 3, `${given[0]} was given after ${next + 3} was imported`);
  assert.ok(given[1]! > given[0]!);
});

// Holds S5.9, S5.10, S7.2.
test('200 a number assigned before a restart is not assigned again', async () => {
  const last = Number(await create({}));
  await service.stop();
  await service.restart();
  assert.ok(Number(await create({})) > last);
});
