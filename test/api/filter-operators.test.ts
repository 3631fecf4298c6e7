/**
 * Tests the operators of filters on built-in and custom fields: numbers compare as numbers, dates as dates, text by
 * code point.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectRefusal, Shop, succeed, type Values, valuesOf } from '../kit/records.ts';

const shop = await Shop.shared();
for (const [name, type] of Object.entries({
  OWN_TEXT: 'text',
  OWN_NUMBER: 'number',
  OWN_DATE: 'date',
  OWN_FLAG: 'flag',
}))
  await shop.run('fields', 'add', 'shop', 'orders', name, '--type', type);
const BIG = '123456789012345678901234567890';
const ORDERS: Values[] = [
  { ORDER_NUMBER: '9', ORDER_TOTAL: '-2', ORDER_DATE: '12/31/2025', OWN_NUMBER: `${BIG}.1` },
  { ORDER_NUMBER: '10', ORDER_TOTAL: '9.95', ORDER_DATE: '01/02/2026', OWN_NUMBER: `${BIG}.2`, OWN_DATE: '11/01/2025' },
  { ORDER_NUMBER: '010', ORDER_TOTAL: '10', ORDER_DATE: '02/01/2026', OWN_NUMBER: '-0.5', OWN_DATE: '02/01/2026' },
  { ORDER_NUMBER: 'A1', ORDER_TOTAL: '100.5', OWN_FLAG: 'Y', OWN_TEXT: 'b' },
  { ORDER_NUMBER: 'a1', OWN_FLAG: 'N', OWN_TEXT: 'B' },
];
const EVERY = ['ORDER_TOTAL', 'ORDER_DATE', 'OWN_NUMBER', 'OWN_DATE', 'OWN_FLAG', 'OWN_TEXT'];
const STATUSES = ['open', 'Open', 'ÿ', '\u{1f600}', '\uffff'];
const TIMES = [
  '2026-01-01T23:59:59.999Z',
  '2026-01-02T00:00:00.000Z',
  '2026-01-02T23:59:59.999Z',
  '2026-01-03T00:00:00.000Z',
  '',
];
await shop.load(
  'orders',
  ORDERS.map((order, at) => ({
    ...Object.fromEntries(EVERY.map((name) => [name, ''])),
    ...order,
    ORDER_STATUS: STATUSES[at]!,
    CREATE_DATE: TIMES[at]!,
    MODIFIED_DATE: TIMES[4 - at]!,
  })),
);

async function find(field: string, op: string, value?: unknown): Promise<string> {
  const found = await succeed<Values[]>(shop.queryOrders([{ field, op, ...(value !== undefined && { value }) }]));
  return valuesOf(found, 'ORDER_NUMBER').join(' ');
}

/** Checks which orders each operator and value finds. */
async function expectFound(field: string, table: Record<string, string>): Promise<void> {
  for (const [asked, orders] of Object.entries(table)) {
    const [op, ...words] = asked.split(' ');
    assert.equal(await find(field, op!, words.join(' ')), orders, `${field} ${asked}`);
  }
}

// Holds S6.4, S6.7.
test('numbers compare as exact decimals, in any notation', async () => {
  await expectFound('ORDER_TOTAL', {
    'lt 9.950': '9',
    'le +9.95': '9 10',
    'gt 9.95': '010 A1',
    'ge 9.95': '10 010 A1',
    'eq 010.0': '010',
    'ne 10': '9 10 A1 a1',
  });
  await expectFound('OWN_NUMBER', {
    [`gt ${BIG}.1`]: '10',
    [`le ${BIG}.1`]: '9 010',
    'lt -0.4': '010',
    'ge -0.5': '9 10 010',
  });
});

// Holds S6.7.
test('dates compare as dates, in either notation', async () => {
  await expectFound('ORDER_DATE', {
    'lt 1/2/2026': '9',
    'le 2026-01-02': '9 10',
    'gt 1/2/2026': '010',
    'ge 01/02/2026': '10 010',
    'ne 2/1/2026': '9 10 A1 a1',
  });
  await expectFound('OWN_DATE', { 'lt 1/1/2026': '10', 'ge 11/1/2025': '10 010', 'gt 11/1/2025': '010' });
});

// Holds S6.7.
test('text compares by code point and its case matters, flags as their text', async () => {
  await expectFound('ORDER_STATUS', {
    'lt open': '10',
    'le open': '9 10',
    'gt open': '010 A1 a1',
    'gt \uffff': 'A1',
    'ge \u{1f600}': 'A1',
    'starts_with o': '9',
    'starts_with O': '10',
    'contains OPE': '9 10',
  });
  await expectFound('OWN_TEXT', { 'lt b': 'a1', 'ge B': 'A1 a1', 'starts_with b': 'A1' });
  await expectFound('OWN_FLAG', { 'lt true': 'a1', 'ge n': 'A1 a1', 'ne N': '9 10 010 A1', 'eq 1': 'A1' });
});

// Holds S6.7.
test('the three keys compare in the order of query results', async () => {
  await expectFound('ORDER_NUMBER', {
    'lt 10': '9',
    'le 10': '9 10',
    'gt 10': '010 A1 a1',
    'ge A1': 'A1 a1',
    'ne 10': '9 010 A1 a1',
  });
  await expectFound('ORDER_NUMBER', { 'starts_with 1': '10', 'starts_with A': 'A1', 'starts_with 0': '010' });
  const codes = ['7', '12', '07', 'K2', 'k10'];
  await shop.load(
    'customers',
    codes.map((CUSTOMER_CODE) => ({ CUSTOMER_CODE })),
  );
  await shop.load(
    'inventory',
    codes.map((PART_CODE) => ({ PART_CODE })),
  );
  for (const [ask, field] of [
    [shop.queryCustomers, 'CUSTOMER_CODE'],
    [shop.queryInventoryItems, 'PART_CODE'],
  ] as const) {
    const keys = async (op: string, value: string): Promise<string> =>
      valuesOf(await succeed<Values[]>(ask([{ field, op, value }])), field).join(' ');
    assert.equal(await keys('gt', '7'), '07 12 K2 k10');
    assert.equal(await keys('le', '12'), '7 07 12');
    assert.equal(await keys('ge', 'K10'), 'K2 k10');
  }
});

// Holds S6.8.
test('CREATE_DATE and MODIFIED_DATE accept ISO times, and a date alone is the UTC day', async () => {
  const table = {
    'eq 2026-01-02': [1, 2],
    'eq 1/2/2026': [1, 2],
    'eq 2026-01-02T01:00:00+01:00': [1],
    'ne 2026-01-02': [0, 3, 4],
    'lt 2026-01-02': [0],
    'le 2026-01-02': [0, 1, 2],
    'gt 2026-01-02': [3],
    'ge 2026-01-02': [1, 2, 3],
    'gt 2026-01-01T23:59:59.999Z': [1, 2, 3],
    'le 2026-01-02T00:00:00Z': [0, 1],
  };
  const numbers = valuesOf(ORDERS, 'ORDER_NUMBER');
  const namesOf = (places: number[]): string => numbers.filter((_, at) => places.includes(at)).join(' ');
  for (const [asked, places] of Object.entries(table)) {
    await expectFound('CREATE_DATE', { [asked]: namesOf(places) });
    await expectFound('MODIFIED_DATE', { [asked]: namesOf(places.map((place) => 4 - place)) });
  }
  assert.equal(await find('CREATE_DATE', 'in', ['2026-01-01', '2026-01-03T00:00:00.000Z']), '9 A1');
  const impossible = { field: 'CREATE_DATE', op: 'ge', value: '2026-02-30' };
  expectRefusal(await shop.queryOrders([impossible]), 400, 'INVALID_VALUE', 'CREATE_DATE');
});

// Holds S6.4.
test('in finds any of 1 to 100 values, each parsed as the type of the field', async () => {
  assert.equal(await find('ORDER_TOTAL', 'in', [10, '9.950', 'x'.length]), '10 010');
  assert.equal(await find('ORDER_NUMBER', 'in', ['A1', '010', '9']), '9 010 A1');
  assert.equal(await find('ORDER_DATE', 'in', ['2026-01-02', '']), '10 A1 a1');
  assert.equal(await find('ORDER_STATUS', 'in', ['open', ...Array.from({ length: 99 }, (_, at) => `no ${at}`)]), '9');
  const bad = [[], Array.from({ length: 101 }, String), 'open', [['open']], [null]];
  for (const value of bad)
    expectRefusal(await shop.queryOrders([{ field: 'ORDER_STATUS', op: 'in', value }]), 400, 'INVALID_FILTER', 'value');
});

// Holds S6.4, S6.9.
test('an empty value is never less or greater; ne finds it, and empty and not_empty test for it', async () => {
  for (const field of ['ORDER_TOTAL', 'ORDER_DATE', 'CREATE_DATE', 'OWN_TEXT', 'OWN_NUMBER', 'OWN_FLAG']) {
    const value = {
      ORDER_TOTAL: '0',
      ORDER_DATE: '1/1/2026',
      CREATE_DATE: '2026-01-02',
      OWN_TEXT: 'M',
      OWN_NUMBER: '0',
      OWN_FLAG: 'N',
    }[field];
    const none = await find(field, 'empty');
    assert.notEqual(none, '', field);
    assert.equal(await find(field, 'eq', ''), none);
    assert.equal(await find(field, 'ne', ''), await find(field, 'not_empty'));
    for (const op of ['lt', 'le', 'gt', 'ge'])
      assert.deepEqual(
        (await find(field, op, value)).split(' ').filter((number) => none.split(' ').includes(number)),
        [],
        `${field} ${op}`,
      );
    const differing = (await find(field, 'ne', value)).split(' ');
    assert.ok(
      none.split(' ').every((number) => differing.includes(number)),
      field,
    );
    for (const op of ['lt', 'gt']) assert.equal(await find(field, op, ''), '');
  }
});

// Holds S6.10.
test('on numbers and dates, starts_with and contains search the text of the response', async () => {
  await expectFound('ORDER_TOTAL', {
    'starts_with 10': '010 A1',
    'starts_with 9.': '10',
    'contains .': '10 A1',
    'starts_with 010': '',
  });
  await expectFound('ORDER_DATE', { 'starts_with 0': '10 010', 'starts_with 12/': '9', 'contains /2026': '10 010' });
  await expectFound('CREATE_DATE', { 'starts_with 2026-01-02T': '10 010', 'contains 23:59': '9 010' });
  assert.equal(await find('ORDER_TOTAL', 'starts_with', 10), '010 A1');
});

// Holds S6.4, S6.5, S6.11.
test('400 INVALID_FILTER for operators with values of a wrong kind', async () => {
  const refused = async (filter: object, field: string): Promise<void> => {
    expectRefusal(await shop.queryOrders([{ field: 'NOTES', ...filter }]), 400, 'INVALID_FILTER', field);
  };
  for (const op of ['empty', 'not_empty']) for (const value of ['', 'x', false]) await refused({ op, value }, 'value');
  for (const op of [undefined, 'eq', 'lt', 'starts_with', 'contains']) {
    await refused(op === undefined ? {} : { op }, 'value');
    await refused({ ...(op && { op }), value: ['x'] }, 'value');
  }
  for (const op of ['EQ', '', 'like', null, 1]) await refused({ op, value: 'x' }, 'op');
  for (const op of ['eq', 'ne', 'starts_with', 'in']) await refused({ op, contains: true, value: 'x' }, 'contains');
  await refused({ op: 'empty', contains: true }, 'contains');
  for (const op of ['le', 'ge']) await refused({ op, value: '' }, 'value');
  const nothing = await shop.queryOrders([{ field: 'NOTES', value: null }]);
  assert.match(expectRefusal(nothing, 400, 'INVALID_FILTER', 'value'), /^Filter 0: .* not null\. .* op empty\./);
  assert.equal(await find('ORDER_STATUS', 'contains', 'PEN'), '9 10');
  const both = await succeed<Values[]>(
    shop.queryOrders([{ field: 'ORDER_STATUS', op: 'contains', contains: true, value: 'PEN' }]),
  );
  assert.deepEqual(valuesOf(both, 'ORDER_NUMBER'), ['9', '10']);
});
