/** Sends strings that break programs wherever a string fits: no 5xx, nothing lost, no one let in. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Contract } from '../kit/contract.ts';
import { basicOf, stockShop, targetOf } from '../kit/operations.ts';
import { NAUGHTY } from '../kit/naughty-strings.ts';
import { exchange, writeRequest } from '../kit/raw-http.ts';
import { succeed, type Values, valuesOf } from '../kit/records.ts';
import { type Answer, BASE_PATH, type CallOptions, sharedService } from '../kit/service.ts';

const service = await sharedService();
const shop = await stockShop(service, 'shop');

const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0') && text.length <= 8192;

type Place = [method: string, path: string, options: CallOptions];

/** Returns a call for every place, except headers, in which an operation accepts a string. */
function positions(text: string): Record<string, Place> {
  const get = (path: string, query: Values): Place => ['GET', path, { query }];
  const ask = (body: unknown, query: Values = {}): Place => ['POST', '/orders/query', { query, body }];
  const put = (path: string, body: unknown): Place => ['PUT', path, { body }];
  const post = (path: string, body: unknown): Place => ['POST', path, { body }];
  const filter = { field: 'NOTES', value: 'x' };
  const line = shop.call('updateLineItem').fields!;
  return {
    orderNum: get('/orders/single', { orderNum: text }),
    storefront_order_number: get('/orders/by_storefront_reference', { storefront_order_number: text }),
    customerCode: get('/customers/single', { customerCode: text }),
    partCode: get('/inventory/single', { partCode: text }),
    'a parameter name': get('/orders/single', { orderNum: '1', [text]: 'x' }),
    teamID: get('/orders/single', { orderNum: '1', teamID: text }),
    'apiID beside Basic': get('/orders/single', { orderNum: '1', apiID: text }),
    maxReturn: ask([], { maxReturn: text }),
    cursor: ask([], { cursor: text }),
    'the cursor of orders': ask([], { cursor: `o${text}` }),
    'a filter field': ask([{ field: text, value: 'x' }]),
    'a filter value': ask([{ field: 'NOTES', value: text }]),
    'a filter value contained': ask([{ field: 'NOTES', value: text, contains: true }]),
    'a filter value in the search index': ask([{ field: 'REFERENCE_NUMBER', value: text, contains: true }]),
    'a filter value of a date': ask([{ field: 'ORDER_DATE', value: text }]),
    'a filter value of a number': ask([{ field: 'FREIGHT', value: text }]),
    'a filter value of the key': ask([{ field: 'ORDER_NUMBER', value: text }]),
    'a conjunction': ask([filter, { ...filter, conjunction: text }]),
    'a filter member': ask([{ ...filter, [text]: 'x' }]),
    'a filter of customers': post('/customers/query', [{ field: 'BEMAIL', value: text }]),
    'a filter of parts': post('/inventory/query', [{ field: 'PART_DESCRIPTION', value: text, contains: true }]),
    'a field name of an order': put('/orders/create', { [text]: 'x' }),
    'a date': put('/orders/create', { ORDER_DATE: text }),
    'a number': put('/orders/create', { FREIGHT: text }),
    'a flag': put('/orders/create', { DROP_SHIP: text }),
    'a stage': put('/orders/create', { ORDER_TYPE: text }),
    'the order of a line': put('/orders/line_item', { ORDER_NUMBER: text }),
    'a part code': put('/orders/line_item', { ORDER_NUMBER: 'order-shop', PART_CODE: text }),
    'a quantity': put('/orders/line_item', { ORDER_NUMBER: 'order-shop', QUANTITY: text }),
    'serial numbers': put('/orders/line_item', { ORDER_NUMBER: 'order-shop', SERIAL_NUMBERS: text }),
    'the order of a line to update': post('/orders/line_item', { ...line, ORDER_NUMBER: text }),
    'a lock code': post('/orders/line_item', { ...line, LINE_REF_LOCK_CODE: text }),
    'a chosen customer code': put('/customers/create', { CUSTOMER_CODE: text }),
    'the customer to update': post('/customers/update', { CUSTOMER_CODE: text, NOTES: 'x' }),
    'a field name of a customer': post('/customers/update', { CUSTOMER_CODE: 'customer-shop', [text]: 'x' }),
    'a string for a body': post('/customers/update', JSON.stringify(text)),
    'a raw body': put('/orders/create', text),
  };
}

test('no string in a query or a body gets a 5xx or a response outside the contract', async () => {
  let sent = 0;
  for (const text of NAUGHTY) {
    // URLSearchParams would send a lone surrogate as a replacement character.
    const places = Object.entries(positions(text)).filter(
      ([, [, , { query }]]) => query === undefined || text.isWellFormed(),
    );
    const answering = places.map(async ([place, [method, path, options]]) => {
      const { status, text: answer } = await service.call(shop.keys, method, path, options);
      assert.ok(status < 500, `${JSON.stringify(text.slice(0, 80))} as ${place}: ${answer}`);
    });
    sent += (await Promise.all(answering)).length;
  }
  assert.ok(sent > NAUGHTY.length * 30, `${sent} requests`);
});

test('every string that a record accepts is read back unchanged; every other gets 400 and stores nothing', async () => {
  const records = await shop.shop.everything();
  const expectStored = async (
    text: string,
    written: Answer,
    read: (key: string) => Promise<unknown>,
  ): Promise<void> => {
    assert.equal(written.status, isStorable(text) ? 200 : 400, `${JSON.stringify(text.slice(0, 80))}: ${written.text}`);
    if (written.status === 200) assert.equal(await read(written.body.data as string), text);
    else assert.equal(written.body.code, 'INVALID_VALUE');
  };
  const other = await stockShop(service, 'other');
  for (const text of NAUGHTY) {
    const order = await other.shop.createOrder({ NOTES: text, REFERENCE_NUMBER: text });
    await expectStored(text, order, async (number) => {
      const { NOTES, REFERENCE_NUMBER } = await other.shop.order(number);
      assert.equal(REFERENCE_NUMBER, text);
      return NOTES;
    });
    const customer = await other.shop.createCustomer({ NOTES: text });
    await expectStored(text, customer, async (code) => (await other.shop.getCustomer(code)).body.data.NOTES);
    const changed = await other.shop.updateLineItem({ ...other.call('updateLineItem').fields, DESCRIPTION: text });
    await expectStored(text, changed, async () => (await other.shop.lines('order-other'))[0]!['DESCRIPTION']);
  }
  assert.equal(await shop.shop.everything(), records);
});

test('an order is found by every string that it has, exactly and by a part, in query and lookup', async () => {
  const own = await stockShop(service, 'finder');
  for (const text of NAUGHTY.filter((one) => isStorable(one) && one !== '' && one.length <= 256)) {
    const REFERENCE_NUMBER = `${text}|`;
    const what = JSON.stringify(text);
    const number = await own.shop.newOrder({ REFERENCE_NUMBER });
    const { orders } = (await own.shop.findOrdersByStorefrontReference(REFERENCE_NUMBER)).body;
    assert.deepEqual(valuesOf(orders as Values[], 'pims_order_number'), [number], what);
    for (const contains of [false, true]) {
      const filter = { field: 'REFERENCE_NUMBER', value: REFERENCE_NUMBER, contains };
      const found = await succeed<Values[]>(own.shop.queryOrders([filter]));
      assert.ok(valuesOf(found, 'ORDER_NUMBER').includes(number), what);
    }
  }
});

test('no string in a header or the path gets a 5xx, a response outside the contract, or access', async () => {
  const contract = await Contract.load(service.origin);
  const target = targetOf(shop.call('getOrder'), 'shop');
  const authorization = `Authorization: ${basicOf(shop.keys)}`;
  const create = (...lines: string[]): Buffer =>
    writeRequest('PUT', `${BASE_PATH}/orders/create?teamID=shop`, [authorization, ...lines], '{}');
  for (const text of NAUGHTY) {
    const bytes = Buffer.from(text).toString('latin1');
    const requests: [Buffer, letIn: boolean][] = [
      [writeRequest('GET', target, [`Authorization: ${bytes}`]), false],
      [writeRequest('GET', target, [`Authorization: Basic ${bytes}`]), false],
      [writeRequest('GET', target, [`Authorization: Basic ${Buffer.from(text).toString('base64')}`]), false],
      [writeRequest('GET', `${target}&${new URLSearchParams({ apiID: text, apiSecret: text }).toString()}`), false],
      [writeRequest('GET', target, [authorization, `X-Any: ${bytes}`]), true],
      [writeRequest('GET', target, [authorization, `Cookie: ${bytes}`]), true],
      [writeRequest('GET', target, [authorization, `Host: ${bytes}`]), true],
      [create('Content-Type: application/json', `Idempotency-Key: ${bytes}`), true],
      [create(`Content-Type: ${bytes}`), true],
      [writeRequest('GET', `/${encodeURIComponent(text.toWellFormed())}`, [authorization]), false],
      [writeRequest('GET', `/${bytes}`, [authorization]), false],
    ];
    for (const [request, letIn] of requests) {
      const what = request.toString('latin1', 0, 300);
      const [answer] = await exchange(service.origin, request);
      assert.ok(answer && answer.status < 500, `${what}: ${answer?.status}`);
      if (answer.status >= 400) contract.check('GET', '/not in the contract', answer);
      // The root redirects every caller to the dashboard.
      else assert.ok(letIn || answer.headers.get('location') === '/dashboard/', `${what} was let in`);
    }
  }
});
