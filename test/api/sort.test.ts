/**
 * Tests `sort` of queries: by indexed fields in both directions, page by page, with ties sorted by the key in the same
 * direction, and which queries accept its cursor.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times } from '../kit/lists.ts';
import { expectRefusal, Shop, succeed, type Filters, type Values, valuesOf } from '../kit/records.ts';

const shop = await Shop.shared();
const DATES = ['12/31/2025', '01/02/2026', '', '02/01/2025'];
/** Orders of which many share a value, and some have different ones. */
const ORDERS = times(180, (index) => ({
  ORDER_NUMBER: String(index + 1),
  ORDER_DATE: DATES[index % 4]!,
  ORDER_STATUS: index % 3 === 0 ? '' : index < 90 ? 'open' : `s${index % 7}`,
  CREATE_DATE: index < 5 ? '' : `2026-01-01T00:00:00.${String(index % 90).padStart(3, '0')}Z`,
  MODIFIED_DATE: `2026-01-02T00:00:00.${String((index * 7) % 180).padStart(3, '0')}Z`,
}));
await shop.load('orders', ORDERS);

/** Reads all pages, and returns the numbers of their orders. */
async function readAll(sort: string, filters: Filters = [], maxReturn = '23'): Promise<string[]> {
  const numbers: string[] = [];
  for (let cursor: string | undefined; ;) {
    const answer = await shop.queryOrders(filters, { sort, maxReturn, ...(cursor !== undefined && { cursor }) });
    numbers.push(...valuesOf(await succeed<Values[]>(Promise.resolve(answer)), 'ORDER_NUMBER'));
    cursor = answer.headers.get('x-next-cursor') ?? undefined;
    if (cursor === undefined) return numbers;
  }
}

const formOf = (field: string, value: string): string =>
  field === 'ORDER_DATE' ? value.slice(6) + value.slice(0, 5) : value;
function sorted(field: keyof (typeof ORDERS)[number], sign: 1 | -1, which = ORDERS): string[] {
  const compare = (a: string, b: string): number => (a < b ? -sign : a > b ? sign : 0);
  const all = which.toSorted(
    (a, b) =>
      compare(formOf(field, a[field]), formOf(field, b[field])) ||
      sign * (Number(a.ORDER_NUMBER) - Number(b.ORDER_NUMBER)),
  );
  return valuesOf(all, 'ORDER_NUMBER');
}

async function expectSorted(field: keyof (typeof ORDERS)[number]): Promise<void> {
  for (const maxReturn of ['23', '500']) {
    assert.deepEqual(await readAll(field, [], maxReturn), sorted(field, 1), 'ascending');
    assert.deepEqual(await readAll(`-${field}`, [], maxReturn), sorted(field, -1), 'descending');
  }
}

// Holds S6.13.
test('text sorts by code point in both directions, empty values lowest, ties by key in that direction', () =>
  expectSorted('ORDER_STATUS'));
// Holds S6.13.
test('a date sorts as a date, empty values lowest, ties by key in that direction', () => expectSorted('ORDER_DATE'));
// Holds S6.14.
test('CREATE_DATE and MODIFIED_DATE sort in both directions, ties by key in that direction', async () => {
  await expectSorted('CREATE_DATE');
  await expectSorted('MODIFIED_DATE');
});

// Holds S6.13.
test('sort can be combined with filters: of the sorted field, of an index, and of other fields', async () => {
  const late = { field: 'MODIFIED_DATE', op: 'ge', value: '2026-01-02T00:00:00.090Z' };
  const isLate = ({ MODIFIED_DATE }: Values): boolean => MODIFIED_DATE! >= late.value;
  const open = { field: 'ORDER_STATUS', value: 'open' };
  const early = { field: 'MODIFIED_DATE', op: 'lt', value: '2026-01-02T00:00:00.020Z' };
  const typed = { field: 'ORDER_DATE', op: 'contains', value: '2026' };
  const cases: [Filters, (order: Values) => boolean][] = [
    [[late], isLate],
    [[{ ...late, op: 'lt' }], (order) => !isLate(order)],
    [
      [late, { ...late, op: 'lt', value: '2026-01-02T00:00:00.150Z' }],
      (order) => isLate(order) && order['MODIFIED_DATE']! < '2026-01-02T00:00:00.150Z',
    ],
    [[open], (order) => order['ORDER_STATUS'] === 'open'],
    [[typed], (order) => order['ORDER_DATE']!.includes('2026')],
    [[late, open], (order) => isLate(order) && order['ORDER_STATUS'] === 'open'],
    [
      [early, { ...open, conjunction: 'OR' }],
      (order) => order['MODIFIED_DATE']! < early.value || order['ORDER_STATUS'] === 'open',
    ],
  ];
  for (const [filters, matches] of cases)
    for (const field of ['MODIFIED_DATE', 'ORDER_DATE'] as const) {
      const which = ORDERS.filter(matches);
      assert.ok(which.length > 8);
      assert.deepEqual(await readAll(field, filters), sorted(field, 1, which), JSON.stringify(filters));
      assert.deepEqual(await readAll(`-${field}`, filters), sorted(field, -1, which), JSON.stringify(filters));
    }
});

// Holds S6.13.
test('the key sorts in both directions; ascending is the order without sort', async () => {
  const numbers = sorted('ORDER_NUMBER', 1).toSorted((a, b) => Number(a) - Number(b));
  assert.deepEqual(await readAll('ORDER_NUMBER'), numbers);
  assert.deepEqual(await readAll('-ORDER_NUMBER'), numbers.toReversed());
  assert.deepEqual(
    await readAll('-ORDER_NUMBER', [{ field: 'ORDER_NUMBER', op: 'le', value: '20' }]),
    numbers.slice(0, 20).toReversed(),
  );
});

// Holds S6.14.
test('customers and parts sort by their times and their indexed fields', async () => {
  const MODIFIED_DATE = '2026-01-01T00:00:00.000Z';
  const rows = ['b', 'a', '', 'C'].map(
    (name, at) => [name, `2026-01-0${at + 1}T00:00:00.000Z`, String(at + 1)] as const,
  );
  await shop.load(
    'customers',
    rows.map(([BNAME, CREATE_DATE, CUSTOMER_CODE]) => ({ CUSTOMER_CODE, BNAME, CREATE_DATE, MODIFIED_DATE })),
  );
  await shop.load(
    'inventory',
    rows.map(([CATEGORY, CREATE_DATE, PART_CODE]) => ({ PART_CODE, CATEGORY, CREATE_DATE, MODIFIED_DATE })),
  );
  const keysOf = async (sort: string): Promise<string[]> => [
    valuesOf(
      await succeed<Values[]>(shop.queryCustomers([], { sort: sort.replace('NAME', 'BNAME') })),
      'CUSTOMER_CODE',
    ).join(''),
    valuesOf(
      await succeed<Values[]>(shop.queryInventoryItems([], { sort: sort.replace('NAME', 'CATEGORY') })),
      'PART_CODE',
    ).join(''),
  ];
  assert.deepEqual(await keysOf('NAME'), ['3421', '3421']);
  assert.deepEqual(await keysOf('-NAME'), ['1243', '1243']);
  assert.deepEqual(await keysOf('-CREATE_DATE'), ['4321', '4321']);
  assert.deepEqual(await keysOf('-MODIFIED_DATE'), ['4321', '4321']);
});

test('a write moves its record to the end of MODIFIED_DATE; a write of a line moves its order', async () => {
  await succeed(shop.addLineItem({ ORDER_NUMBER: '3', PART_CODE: 'x' }));
  assert.equal((await readAll('-MODIFIED_DATE'))[0], '3');
  const [newest] = await succeed<Values[]>(shop.queryOrders([], { sort: '-MODIFIED_DATE', maxReturn: '1' }));
  const since = [{ field: 'MODIFIED_DATE', op: 'ge', value: newest!['MODIFIED_DATE']! }];
  assert.deepEqual(await readAll('MODIFIED_DATE', since), ['3']);
  assert.deepEqual(valuesOf(await succeed<Values[]>(shop.queryOrders(since)), 'ORDER_NUMBER'), ['3']);
});

// Holds S6.14.
test('400 FIELD_NOT_SORTABLE names the fields that can be sorted by', async () => {
  for (const sort of ['NOTES', '-ORDER_TOTAL']) {
    const answer = await shop.queryOrders([], { sort });
    expectRefusal(answer, 400, 'FIELD_NOT_SORTABLE', 'sort');
    const named = answer.body.message!.match(/[A-Z]+_[A-Z]+|BEMAIL/g)!.slice(-11);
    const known =
      'ORDER_NUMBER ORDER_TYPE REFERENCE_NUMBER CUSTOMER_CODE ORDER_DATE ORDER_STATUS BEMAIL BACKORDER_OF RETURN_OF';
    assert.deepEqual(named, `${known} CREATE_DATE MODIFIED_DATE`.split(' '));
    for (const name of named) await succeed(shop.queryOrders([], { sort: `-${name}`, maxReturn: '1' }));
  }
  expectRefusal(await shop.queryOrders([], { sort: 'CREATED' }), 400, 'UNKNOWN_FIELD');
  for (const sort of ['--CREATE_DATE', ' CREATE_DATE', 'create_date'])
    expectRefusal(await shop.queryOrders([], { sort }), 400, 'UNKNOWN_FIELD');
});

// Holds S6.18.
test('400 INVALID_CURSOR for the cursor of another operator, value or sort', async () => {
  const filters = (op: string, value: unknown): Filters => [
    { field: 'MODIFIED_DATE', op, ...(value !== undefined && { value }) },
  ];
  const cases: [Filters, string | undefined][] = [
    [[], undefined],
    [[], 'MODIFIED_DATE'],
    [[], '-MODIFIED_DATE'],
    [[], 'CREATE_DATE'],
    [filters('ge', '2026-01-01'), undefined],
    [filters('gt', '2026-01-01'), undefined],
    [filters('ge', '2026-01-02'), undefined],
    [filters('ge', '2026-01-02'), '-MODIFIED_DATE'],
    [filters('in', ['2026-01-02']), undefined],
    [filters('in', ['2026-01-02', '2026-01-03']), undefined],
    [filters('not_empty', undefined), undefined],
  ];
  const ask = (at: number, cursor?: string) => {
    const [asked, sort] = cases[at]!;
    return shop.queryOrders(asked, { maxReturn: '3', ...(sort && { sort }), ...(cursor !== undefined && { cursor }) });
  };
  for (const from of cases.keys()) {
    const cursor = (await ask(from)).headers.get('x-next-cursor')!;
    for (const to of cases.keys())
      if (to === from) await succeed(ask(to, cursor));
      else expectRefusal(await ask(to, cursor), 400, 'INVALID_CURSOR', 'cursor');
  }
});
