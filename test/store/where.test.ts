/** Tests how filters become a WHERE clause, whether an index leads it, and how a page is filled. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFilters, type Filter } from '../../src/pims/reads/query.ts';
import { buildDictionaries } from '../../src/pims/rules/fields.ts';
import { PageFiller } from '../../src/store/pims/page.ts';
import { buildWhere, type Dialect, type Where } from '../../src/store/pims/where.ts';

const { orders } = buildDictionaries([]);
/** A dialect that shows its arguments. Its search index finds needles of at least three characters. */
const DIALECT: Dialect = {
  equals: (column, isIndexed, bind) => `${column} ${isIndexed ? 'is' : '='} ${bind()}`,
  contains: (column, placeholder) => `${column} has ${placeholder}`,
  search: (table, placeholder) => `${table} finds ${placeholder}`,
  searchNeedle: (needle) => (needle.length < 3 ? undefined : `<${needle}>`),
  isOneOf: (column, _isIndexed, bind) => `${column} in ${bind()}`,
  ranges: (placeholder) => `ranges ${placeholder}`,
  compares: (column, sign, placeholder) => `${column} ${sign} ${placeholder}`,
  isIn: (column, select) => `${column} in (${select})`,
  ofOrders: (numbers, bind) => ['orders', bind(numbers.join())],
  lineSerials: 'serials',
  lineNumber: 'number',
  indexed: (text) => text,
  findsDates: 'by day',
};
const where = (...filters: Filter[]): Where => buildWhere('orders', parseFilters(orders, 'orders', filters), DIALECT);
const [KEY, LED] = [
  { field: 'ORDER_NUMBER', value: '7' },
  { field: 'CUSTOMER_CODE', value: 'C1' },
];
const PLAIN = { field: 'NOTES', value: 'n' };
const FOUND = { field: 'BNAME', value: 'smith', contains: true };
const or = (filter: Filter): Filter => ({ ...filter, conjunction: 'OR' });

test('a query without filters finds every record, in one walk over the key', () => {
  assert.deepEqual(where(), { sql: 'TRUE', values: [], indexLed: true });
});

test('an exact value of an indexed field leads; the key of the record type is found by its sort key', () => {
  assert.deepEqual(where(LED, PLAIN), {
    sql: '("CUSTOMER_CODE" is ? AND "NOTES" = ?)',
    values: ['C1', 'n'],
    indexLed: true,
  });
  assert.deepEqual(where(KEY), { sql: '("SORT_KEY" = ?)', values: ['00017'], indexLed: true });
  for (const filter of [PLAIN, { ...LED, contains: true }, FOUND]) assert.equal(where(filter).indexLed, false);
});

test('the search index narrows a query without an indexed field, by the first text that it can search', () => {
  assert.deepEqual(where(PLAIN, FOUND, { ...FOUND, value: 'other' }), {
    sql: '("NOTES" = ? AND "BNAME" has ? AND "BNAME" has ? AND ORDERS finds ?)',
    values: ['n', 'SMITH', 'OTHER', '<SMITH>'],
    indexLed: false,
  });
  for (const [filters, why] of [
    [[LED, FOUND], 'an index leads'],
    [[{ ...FOUND, value: 'ab' }], 'the needle is too short'],
    [[{ ...FOUND, field: 'NOTES' }], 'the field is not searched'],
    [[{ ...FOUND, contains: false }], 'the value is exact'],
  ] as const)
    assert.doesNotMatch(where(...filters).sql, /finds/, why);
  const next = where({ ...FOUND, value: 'ab' }, FOUND);
  assert.equal(next.values.at(-1), '<SMITH>', 'a needle that the index does not know is passed over');
});

test('every text contains the empty text', () => {
  assert.equal(where({ ...FOUND, value: '' }).sql, '(TRUE)');
});

test('alternatives use an index if each of them does', () => {
  assert.deepEqual(where(LED, or(KEY)), {
    sql: '("CUSTOMER_CODE" is ?) OR ("SORT_KEY" = ?)',
    values: ['C1', '00017'],
    indexLed: true,
  });
  assert.deepEqual(where(PLAIN, FOUND, or(LED)), {
    sql: '("NOTES" = ? AND "BNAME" has ? AND ORDERS finds ?) OR ("CUSTOMER_CODE" is ?)',
    values: ['n', 'SMITH', '<SMITH>', 'C1'],
    indexLed: false,
  });
  assert.equal(where(LED, or(PLAIN)).indexLed, false);
});

const ROWS: [string, string][] = [
  ['a', '"é"'],
  ['b', '"22"'],
  ['c', '"33"'],
];
function cutPage(rows: readonly [string, string][], limit: number, bytesMax: number) {
  const filler = new PageFiller(limit, bytesMax);
  for (const [sortKey, record] of rows) if (!filler.takeRecord(sortKey, record)) break;
  return filler.page;
}

test('a page has the requested number of records, and the next one continues after its last', () => {
  const all = '["é","22","33"]';
  assert.deepEqual(cutPage(ROWS, 3, 100), { records: all, next: null });
  assert.deepEqual(cutPage(ROWS, 4, 100), { records: all, next: null });
  assert.deepEqual(cutPage(ROWS, 2, 100), { records: '["é","22"]', next: 'b' });
  assert.deepEqual(cutPage([], 2, 100), { records: '[]', next: null });
});

test('a page ends at its maximum of bytes, with a comma counted for each record, and has at least one record', () => {
  const next = (bytesMax: number) => cutPage(ROWS, 9, bytesMax).next;
  assert.deepEqual([1, 9, 10, 14, 15].map(next), ['a', 'a', 'b', 'b', null]);
  const rows: [string, string][] = [
    ['a', '"1"'],
    ['b', '"too long"'],
    ['c', '"3"'],
  ];
  const page = { records: '["1"]', next: 'a' };
  assert.deepEqual(cutPage(rows, 9, 10), page, 'nothing is taken behind a record that does not fit');
});

test('an order that is larger than a page is the first of it, with any number of rows of lines', () => {
  const filler = new PageFiller(10, 100);
  assert.ok(filler.takeRecord('1', '{}', 'x'.repeat(90)) && filler.takeLines('y'.repeat(90)));
  assert.equal(filler.takeRecord('2', '{}'), false);
  assert.deepEqual(filler.page, { records: '[{}]', next: '1' });
});

test('an order whose lines do not fit is not on the page, with none of its lines', () => {
  const filler = new PageFiller(10, 100);
  assert.ok(filler.takeRecord('1', '{}', '"a"') && filler.takeRecord('2', '{}', 'x'.repeat(50)));
  assert.equal(filler.takeLines('y'.repeat(60)), false);
  assert.deepEqual(filler.pageWithLines, { records: '[{}]', lines: '["a"]', next: '1' });
});
