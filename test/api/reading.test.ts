/**
 * Tests calls that read much at once: lines with a page of orders, many storefront numbers, some fields, the count of a
 * query.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { range, times, valuesOf } from '../kit/lists.ts';
import { expectRefusal, FIELDS, Shop, succeed, type Filters, type Values } from '../kit/records.ts';
import type { Answer } from '../kit/service.ts';

const shop = await Shop.shared();
const { service, keys } = shop;
const lookUpMany = (body: unknown): Promise<Answer> =>
  service.call(keys, 'POST', '/orders/by_storefront_reference', { body });
const ofReference = (value: string): Filters => [{ field: 'REFERENCE_NUMBER', value }];

/** Loads orders of a reference, each with this many lines. The file has the lines in reverse order. */
async function load(reference: string, first: number, counts: readonly number[], line: Values = {}): Promise<void> {
  const orders = counts.map((count, index) => ({ ORDER_NUMBER: String(first + index), count }));
  await shop.load(
    'orders',
    orders.map(({ ORDER_NUMBER }) => ({ ORDER_NUMBER, REFERENCE_NUMBER: reference })),
  );
  const lines = orders.flatMap(({ ORDER_NUMBER, count }) =>
    range(count).map((number) => ({ ORDER_NUMBER, LINE_NUMBER: String(number), PART_CODE: `P${number}`, ...line })),
  );
  if (lines.length > 0) await shop.load('lines', lines.toReversed());
}

/** Reads a page of orders with lines, and compares it with the single reads. */
async function expectPage(filters: Filters, query: Values = {}): Promise<{ numbers: string[]; answer: Answer }> {
  const answer = await shop.queryOrders(filters, { include: 'lines', ...query });
  assert.equal(answer.status, 200, answer.text);
  const { data, subRecords } = answer.body as { data: Values[]; subRecords: unknown[] | null };
  const singles = await Promise.all(valuesOf(data, 'ORDER_NUMBER').map((number) => shop.getOrder(number)));
  const lines = singles.flatMap(({ body }) => (body.subRecords ?? []) as unknown[]);
  assert.deepEqual(
    data,
    singles.map(({ body }) => body.data as Values),
  );
  assert.deepEqual(subRecords, lines.length === 0 ? null : lines);
  return { numbers: valuesOf(data, 'ORDER_NUMBER'), answer };
}

// Holds S6.21.
test('200 include=lines adds the lines of all orders of the page, in their order, then by LINE_NUMBER', async () => {
  // PostgreSQL reads an order of more than a hundred lines in another way.
  await load('#lines', 8, [3, 0, 12, 1, 99, 100, 101]);
  const { numbers, answer } = await expectPage(ofReference('#lines'));
  assert.deepEqual(numbers, ['8', '9', '10', '11', '12', '13', '14']);
  const lines = answer.body.subRecords as { ORDER_LINEITEMS: Values }[];
  const told = lines.map(({ ORDER_LINEITEMS: line }) => `${line['ORDER_NUMBER']}/${line['LINE_NUMBER']}`);
  assert.deepEqual(told.slice(0, 16), [
    ...range(3).map((number) => `8/${number}`),
    ...range(12).map((number) => `10/${number}`),
    '11/1',
  ]);
  assert.equal(told.length, 316);
  const pages: string[][] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page = await expectPage(ofReference('#lines'), { maxReturn: '3', ...(cursor && { cursor }) });
    pages.push(page.numbers);
    cursor = page.answer.headers.get('x-next-cursor');
  }
  assert.deepEqual(pages, [['8', '9', '10'], ['11', '12', '13'], ['14']]);
});

// Holds S6.21.
test('200 subRecords is null without include, and with it when no order of the page has lines', async () => {
  await load('#bare', 20, [0, 0]);
  await load('#some', 30, [2]);
  assert.equal((await shop.queryOrders(ofReference('#some'))).body.subRecords, null);
  assert.equal((await expectPage(ofReference('#bare'))).numbers.length, 2);
  assert.equal((await expectPage(ofReference('#nothing'))).numbers.length, 0);
  assert.equal((await expectPage(ofReference('#some'))).answer.body.subRecords.length, 2);
});

// Holds S6.21.
test('200 a page ends before its orders and their lines exceed 4 MiB; each order has all its lines', async () => {
  // 150 lines have 1.2 MB, so three orders fit.
  const wide = { DESCRIPTION: 'x'.repeat(8000) };
  await load('#wide', 40, [150, 150, 150, 150], wide);
  await load('#wider', 50, [600, 1], wide);
  const first = await expectPage(ofReference('#wide'));
  assert.deepEqual(first.numbers, ['40', '41', '42']);
  assert.equal(first.answer.headers.get('x-has-more'), 'true');
  const cursor = first.answer.headers.get('x-next-cursor')!;
  const next = await expectPage(ofReference('#wide'), { cursor });
  assert.deepEqual([next.numbers, next.answer.headers.get('x-has-more')], [['43'], null]);
  assert.deepEqual((await expectPage(ofReference('#wider'))).numbers, ['50'], 'one order at least');
});

// Holds S6.21.
test('400 INVALID_PARAMETER for another include, and for any on another operation', async () => {
  for (const include of ['', 'Lines', 'lines,lines', 'records'])
    expectRefusal(await shop.queryOrders([], { include }), 400, 'INVALID_PARAMETER', 'include');
  const query = { include: 'lines' };
  const others = [
    shop.queryCustomers([], query),
    shop.queryInventoryItems([], query),
    service.call(keys, 'GET', '/orders/single', { query: { orderNum: '8', ...query } }),
    service.call(keys, 'PUT', '/orders/create', { query, body: {} }),
    service.call(keys, 'POST', '/orders/by_storefront_reference', { query, body: ['#lines'] }),
  ];
  for (const answer of await Promise.all(others)) expectRefusal(answer, 400, 'INVALID_PARAMETER', 'include');
});

// Holds S9.10.
test('200 many storefront numbers get the result of each lookup, in their order; duplicates are repeated', async () => {
  await load('#many', 60, [2, 0]);
  await load('1001', 70, [1]);
  await load('#odd "\\ ☃', 80, [1]);
  const numbers = ['#many', '#unknown', '1001', '#many', '#odd "\\ ☃', '#'];
  // The embedded store keeps an answer that is read again, so later rounds get kept answers.
  for (const _ of range(3)) {
    const singles = await Promise.all(numbers.map((number) => shop.findOrdersByStorefrontReference(number)));
    const { status, text } = await lookUpMany(numbers);
    assert.equal(status, 200, text);
    assert.equal(text, `[${singles.map((single) => single.text).join(',')}]`);
  }
  assert.deepEqual((await lookUpMany(['#unknown'])).body, [{ storefront_order_number: '#unknown', orders: [] }]);
  assert.equal((await lookUpMany([1001])).text, (await lookUpMany(['1001'])).text, 'a JSON number is its text');
});

// Holds S9.10.
test('200 a call accepts a hundred numbers, and counts once under its own name', async () => {
  const numbers = times(100, (index) => `#h${index}`);
  await shop.load(
    'orders',
    numbers.map((REFERENCE_NUMBER, index) => ({ ORDER_NUMBER: String(1000 + index), REFERENCE_NUMBER })),
  );
  const usage = (): Promise<{ total: number; byOperation: { operation: string; calls: number }[] }> =>
    shop.run('usage', keys.teamID);
  const before = await usage();
  const { body, headers } = await lookUpMany(numbers);
  assert.deepEqual(valuesOf(body as Values[], 'storefront_order_number'), numbers);
  assert.ok((body as { orders: unknown[] }[]).every(({ orders }) => orders.length === 1));
  assert.equal(Number(headers.get('x-month-requests')), before.total + 1);
  const calls = ({ byOperation }: typeof before): number =>
    byOperation.find(({ operation }) => operation === 'findOrdersByStorefrontReferences')?.calls ?? 0;
  assert.equal(calls(await usage()), calls(before) + 1);
});

// Holds S9.10.
test('400 for a body that is not a list of 1 to 100 storefront numbers, naming the place', async () => {
  for (const body of [{}, [], '"#1"', times(101, (index) => `#${index}`)])
    expectRefusal(await lookUpMany(body), 400, 'INVALID_BODY');
  for (const wrong of ['', null, {}, [], true, 'a\0', '\ud83d', 'x'.repeat(8193)]) {
    const message = expectRefusal(await lookUpMany(['#1', wrong]), 400, 'INVALID_VALUE', 'storefront_order_number');
    if (wrong === '') assert.match(message, /^Entry 2 /);
  }
});

// Holds S9.10.
test('422 RESULT_TOO_LARGE beyond 1,000 records of all numbers together, duplicates included', async () => {
  const rows = (count: number, first: number, REFERENCE_NUMBER: string): Values[] =>
    times(count, (index) => ({ ORDER_NUMBER: String(first + index), REFERENCE_NUMBER }));
  await shop.load('orders', [...rows(600, 2000, '#600'), ...rows(400, 3000, '#400'), ...rows(1, 4000, '#one')]);
  const { status, body } = await lookUpMany(['#600', '#400']);
  assert.deepEqual([status, (body as { orders: unknown[] }[]).map(({ orders }) => orders.length)], [200, [600, 400]]);
  for (const numbers of [
    ['#600', '#400', '#one'],
    ['#600', '#600'],
    ['#one', '#400', '#400', '#400'],
  ])
    expectRefusal(await lookUpMany(numbers), 422, 'RESULT_TOO_LARGE', 'storefront_order_number');
});

// Holds S9.10.
test('422 RESULT_TOO_LARGE beyond 8 MiB of orders and lines of all numbers together', async () => {
  await load('#heavy1', 5000, [400], { DESCRIPTION: 'x'.repeat(8000) });
  await load('#heavy2', 5001, [400], { DESCRIPTION: 'y'.repeat(8000) });
  assert.equal((await lookUpMany(['#heavy1', '#heavy2'])).status, 200);
  await load('#heavy3', 5002, [400], { DESCRIPTION: 'z'.repeat(8000) });
  expectRefusal(await lookUpMany(['#heavy1', '#heavy2', '#heavy3']), 422, 'RESULT_TOO_LARGE');
  expectRefusal(await lookUpMany(['#heavy1', '#heavy1', '#heavy1']), 422, 'RESULT_TOO_LARGE');
});

// Holds S6.19.
test('200 fields: the record has only these, in this order, each once; lines have all fields', async () => {
  await load('#fields', 90, [2]);
  const customer = await succeed<string>(shop.createCustomer({ CUSTOMER_NAME: 'Łódź "Café"', BCITY: 'Łódź' }));
  await shop.load('inventory', [{ PART_CODE: 'F/1', PART_DESCRIPTION: 'Bolt' }]);
  const ask = (path: string, query: Values, body?: unknown): Promise<Answer> =>
    service.call(keys, body === undefined ? 'GET' : 'POST', path, { query, body });
  const expectData = async (asking: Promise<Answer>, data: unknown): Promise<Answer> => {
    const answer = await asking;
    assert.equal(answer.status, 200, answer.text);
    assert.equal(JSON.stringify(answer.body.data), JSON.stringify(data));
    return answer;
  };
  const order = { REFERENCE_NUMBER: '#fields', NOTES: '', ORDER_NUMBER: '90' };
  const fields = Object.keys(order).join(',');
  const whole = (await shop.getOrder('90')).body.subRecords as { ORDER_LINEITEMS: Values }[];
  assert.deepEqual(Object.keys(whole[0]!.ORDER_LINEITEMS).toSorted(), FIELDS.lines.toSorted());
  const single = await expectData(ask('/orders/single', { orderNum: '90', fields }), order);
  assert.deepEqual(single.body.subRecords, whole);
  const page = { fields, include: 'lines' };
  const queried = await expectData(ask('/orders/query', page, ofReference('#fields')), [order]);
  assert.deepEqual(queried.body.subRecords, whole);
  await expectData(ask('/orders/query', { fields }, ofReference('#fields')), [order]);
  const [name] = [{ CUSTOMER_NAME: 'Łódź "Café"' }];
  const code = [{ field: 'CUSTOMER_CODE', value: customer }];
  const twice = 'CUSTOMER_NAME,CUSTOMER_NAME';
  await expectData(ask('/customers/single', { customerCode: customer, fields: twice }), name);
  await expectData(ask('/customers/query', { fields: twice }, code), [name]);
  const contains = [{ field: 'BCITY', value: 'łód', contains: true }];
  await expectData(ask('/customers/query', { fields: twice }, contains), [name]);
  const part = { PART_DESCRIPTION: 'Bolt', PART_CODE: 'F/1' };
  const partFields = Object.keys(part).join(',');
  await expectData(ask('/inventory/single', { partCode: 'F/1', fields: partFields }), part);
  await expectData(ask('/inventory/query', { fields: partFields }, [{ field: 'PART_CODE', value: 'F/1' }]), [part]);
  const stocked = (await shop.getInventoryItem('F/1')).body.data as Values;
  await expectData(ask('/inventory/query', { fields: FIELDS.inventory.join(',') }, []), [
    Object.fromEntries(FIELDS.inventory.map((field) => [field, stocked[field]])),
  ]);
});

// Holds S6.19.
test('200 queries with the same filters at the same moment each get the fields they asked for', async () => {
  await load('#together', 98, [0]);
  const lists = ['ORDER_NUMBER', 'REFERENCE_NUMBER', 'REFERENCE_NUMBER,ORDER_NUMBER', 'NOTES'];
  const asked = times(24, (index) => lists[index % lists.length]!);
  const answers = await Promise.all(asked.map((fields) => shop.queryOrders(ofReference('#together'), { fields })));
  const found = answers.map(({ body }) => Object.keys((body.data as Values[])[0]!).join(','));
  assert.deepEqual(found, asked);
});

// Holds S6.19.
test('400 UNKNOWN_FIELD for a field the record type does not have, naming the nearest', async () => {
  await load('#unknown field', 95, [0]);
  const asked = (fields: string): Promise<Answer>[] => [
    shop.queryOrders([], { fields }),
    service.call(keys, 'GET', '/orders/single', { query: { orderNum: '95', fields } }),
  ];
  for (const asking of asked('ORDER_NUMBER,REFERENCE_NUMBR')) {
    const answer = await asking;
    expectRefusal(answer, 400, 'UNKNOWN_FIELD', 'REFERENCE_NUMBR');
    assert.equal(answer.body.suggestion, 'REFERENCE_NUMBER');
  }
  for (const field of ['notes', ' NOTES', 'PART_CODE', 'SORT_KEY', '__proto__', 'x'.repeat(500)])
    for (const asking of asked(field)) expectRefusal(await asking, 400, 'UNKNOWN_FIELD');
  for (const asking of asked('FUNCTION')) expectRefusal(await asking, 400, 'FIELD_NOT_ALLOWED', 'FUNCTION');
  for (const wrong of ['', ',', 'NOTES,', 'NOTES,,BNAME'])
    for (const asking of asked(wrong)) expectRefusal(await asking, 400, 'INVALID_PARAMETER', 'fields');
});

// Holds S6.20.
test('200 with count=exact, every page has X-Total-Count, the number of matching records; others do not', async () => {
  await load('#count', 100, [1, 1, 0, 0, 0, 0, 0]);
  const total = async (filters: Filters, query: Values = {}): Promise<string | null> => {
    const answer = await shop.queryOrders(filters, { count: 'exact', ...query });
    assert.equal(answer.status, 200, answer.text);
    return answer.headers.get('x-total-count');
  };
  assert.equal((await shop.queryOrders(ofReference('#count'))).headers.get('x-total-count'), null);
  const first = await shop.queryOrders(ofReference('#count'), { maxReturn: '3', count: 'exact' });
  assert.deepEqual([first.body.data.length, first.headers.get('x-total-count')], [3, '7']);
  const cursor = first.headers.get('x-next-cursor')!;
  assert.equal(await total(ofReference('#count'), { cursor, maxReturn: '2', include: 'lines' }), '7');
  await shop.load('orders', [{ ORDER_NUMBER: '1', REFERENCE_NUMBER: '#count' }]);
  assert.equal(await total(ofReference('#count'), { cursor, fields: 'NOTES' }), '8', 'the current count');
  assert.equal(await total(ofReference('#nothing')), '0');
  const [either, part] = [
    { field: 'REFERENCE_NUMBER', value: '#lines', conjunction: 'OR' },
    { field: 'REFERENCE_NUMBER', value: '#COUN', contains: true, conjunction: 'OR' },
  ];
  assert.equal(await total([...ofReference('#count'), either]), '15');
  assert.equal(await total([...ofReference('#count'), either, part]), '15', 'each record once');
  assert.equal(
    await total([
      { field: 'NOTES', value: '' },
      { ...part, conjunction: 'AND' },
    ]),
    '8',
  );
  const everything = await shop.queryOrders([], { maxReturn: '5000', fields: 'ORDER_NUMBER' });
  assert.equal(await total([], { maxReturn: '1' }), String(everything.body.data.length));
  assert.equal((await shop.queryCustomers([], { count: 'exact' })).headers.get('x-total-count'), '1');
  assert.equal((await shop.queryInventoryItems([], { count: 'exact' })).headers.get('x-total-count'), '1');
});

// Holds S6.20.
test('400 INVALID_PARAMETER for another count', async () => {
  for (const count of ['', 'true', 'EXACT', '1'])
    expectRefusal(await shop.queryOrders([], { count }), 400, 'INVALID_PARAMETER', 'count');
});
