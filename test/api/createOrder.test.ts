/** createOrder: PUT /orders/create. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachAs, sampleOf, Shop, succeed, type Values } from '../kit/records.ts';

const shop = await Shop.shared();
const refuses = shop.refuses.bind(shop, shop.createOrder);
const { service } = shop;

const create = (fields: Record<string, unknown>): Promise<string> => succeed<string>(shop.createOrder(fields));
const read = async (orderNumber: string): Promise<Values> => (await shop.getOrder(orderNumber)).body.data as Values;

test('200 data is the newly assigned order number, used as ORDER_NUMBER when adding lines', async () => {
  const ORDER_NUMBER = await create({ REFERENCE_NUMBER: '#1', CUSTOMER_CODE: 'VINET' });
  assert.match(ORDER_NUMBER, /^[1-9]\d*$/);
  const line = await succeed(shop.addLineItem({ ORDER_NUMBER, PART_CODE: 'A' }));
  assert.equal(line['ORDER_NUMBER'], ORDER_NUMBER);
  assert.equal((await read(ORDER_NUMBER))['ORDER_NUMBER'], ORDER_NUMBER);
});

test('200 every ORDERS field can be sent and comes back as it was sent', async () => {
  const sent = sampleOf('orders');
  const got = await read(await create(sent));
  assert.equal(Object.keys(sent).length, 37);
  assert.deepEqual({ ...got, ...sent }, got);
});

test('200 all fields are optional: {} is an order too', async () => {
  assert.equal((await read(await create({})))['REFERENCE_NUMBER'], '');
});

test('200 CREATE_DATE and MODIFIED_DATE are the time of the call, UTC, ISO 8601', async () => {
  const sentAt = new Date().toISOString();
  const { CREATE_DATE = '', MODIFIED_DATE } = await read(await create({}));
  assert.match(CREATE_DATE, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok(CREATE_DATE >= sentAt && CREATE_DATE <= new Date().toISOString());
  assert.equal(MODIFIED_DATE, CREATE_DATE);
});

test('200 a new order is a worksheet unless it sends ORDER_TYPE worksheet, quote or sales_order', async () => {
  for (const sent of [{}, { ORDER_TYPE: null }, { ORDER_TYPE: '' }])
    assert.equal((await read(await create(sent)))['ORDER_TYPE'], 'worksheet');
  for (const ORDER_TYPE of ['worksheet', 'quote', 'sales_order'])
    assert.equal((await read(await create({ ORDER_TYPE })))['ORDER_TYPE'], ORDER_TYPE);
});

test('400 INVALID_VALUE for any other ORDER_TYPE: nothing begins as an invoice', async () => {
  await refuses('INVALID_VALUE', eachAs(['ORDER_TYPE'], ['invoice', 'Quote', 'order', ' quote', 1]));
});

test('200 ORDER_STATUS takes any text', async () => {
  assert.equal((await read(await create({ ORDER_STATUS: 'On hold: ask Jo' })))['ORDER_STATUS'], 'On hold: ask Jo');
});

test('200 CUSTOMER_CODE and LOCATION_CODE are not checked against their tables', async () => {
  const order = await read(await create({ CUSTOMER_CODE: 'NOBODY', LOCATION_CODE: 'NOWHERE' }));
  assert.equal(`${order['CUSTOMER_CODE']} ${order['LOCATION_CODE']}`, 'NOBODY NOWHERE');
});

test('200 teamID and credentials in the body are not fields of the order', async () => {
  const { status, body } = await service.request('PUT', '/orders/create', { body: { ...shop.keys, NOTES: 'by body' } });
  assert.equal(status, 200);
  assert.equal((await read(body.data as string))['NOTES'], 'by body');
});

test('400 FIELD_NOT_ALLOWED for FUNCTION, whatever its value', async () => {
  await refuses('FIELD_NOT_ALLOWED', eachAs(['FUNCTION'], ['INSERT', '', null], { NOTES: 'x' }));
});

test('400 FIELD_NOT_ALLOWED for what PIMS assigns: ORDER_NUMBER, CREATE_DATE, MODIFIED_DATE', async () => {
  await refuses('FIELD_NOT_ALLOWED', eachAs(['ORDER_NUMBER', 'CREATE_DATE', 'MODIFIED_DATE'], ['7777', '', null]));
});

test('400 UNKNOWN_FIELD names the field and the nearest known one', async () => {
  const nearest: Values = { REFRENCE_NUMBER: 'REFERENCE_NUMBER', order_date: 'ORDER_DATE', BADDRESS: 'BADDRESS1' };
  const messages = await refuses('UNKNOWN_FIELD', eachAs(Object.keys(nearest), ['x'], { NOTES: 'x' }));
  for (const [index, [sent, known]] of Object.entries(nearest).entries())
    assert.match(messages[index]!, new RegExp(`'${sent}'.*\\b${known}\\b`));
});

test('400 UNKNOWN_FIELD for names that mean something to JavaScript', async () => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length'];
  await refuses('UNKNOWN_FIELD', Object.fromEntries(names.map((name) => [name, [`{"${name}": "x"}`]])));
});

test('400 INVALID_BODY when the body is not an object, or is missing', async () => {
  await refuses('INVALID_BODY', {
    '': [[], [{ NOTES: 'x' }], '"text"', '7', 'null', undefined],
  });
});

test('200 order numbers ascend and are never given twice, also under 60 calls at once', async () => {
  const numbers = await Promise.all(Array.from({ length: 60 }, (_, index) => create({ NOTES: String(index) })));
  assert.equal(new Set(numbers).size, 60);
  assert.deepEqual(
    await Promise.all(numbers.map(async (number) => (await read(number))['NOTES'])),
    numbers.map((_, index) => String(index)),
  );
  assert.ok(numbers.every((number) => Number(number) < Number(numbers[0]) + 60));
  assert.ok(Number(await create({})) > Math.max(...numbers.map(Number)));
});

test('200 numbers of imported orders are passed over', async () => {
  const next = Number(await create({})) + 1;
  await shop.load('orders', [
    { ORDER_NUMBER: String(next + 1) },
    { ORDER_NUMBER: String(next + 3) },
    { ORDER_NUMBER: 'X9' },
  ]);
  const given = [await create({}), await create({})].map(Number);
  assert.ok(given[0]! > next + 3, `${given[0]} was given after ${next + 3} was imported`);
  assert.ok(given[1]! > given[0]!);
});

test('200 a number given before a restart is not given after it', async () => {
  const last = Number(await create({}));
  await service.stop();
  await service.restart();
  assert.ok(Number(await create({})) > last);
});
