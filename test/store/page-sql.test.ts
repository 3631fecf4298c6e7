/** Tests the cost of a page on SQLite: the most selective filter leads, and only the needed rows are read. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { buildDictionaries } from '../../src/pims/rules/fields.ts';
import { parseFilters, parseSort, type Filter } from '../../src/pims/reads/query.ts';
import { sortKey } from '../../src/pims/rules/values.ts';
import { Database } from '../../src/store/sqlite/files/database.ts';
import { makeEntryCounts } from '../../src/store/sqlite/reads/entry-counts.ts';
import { migrate } from '../../src/store/sqlite/files/migrate.ts';
import { makePageBuilder, type PageSql } from '../../src/store/sqlite/reads/page-sql.ts';
import { scriptDialect } from '../../src/store/sqlite/reads/pims-sql.ts';
import { buildScriptSql } from '../../src/store/pims/script-sql.ts';
import { times } from '../kit/lists.ts';
import { newFolder } from './sqlite-folder.ts';

const CUSTOMERS = 3000;
const { customers, orders } = buildDictionaries([]);
const folder = newFolder();
mkdirSync(folder, { recursive: true });
const db = new Database(join(folder, 'tenant.db'), { mode: 'make', busyTimeoutMs: 0 });
after(() => db.close());
migrate(db, 'pims');
db.runSql('BEGIN');
times(CUSTOMERS, (at) => {
  const values = ['v', sortKey(String(at)), String(at), `Firm ${at}`, at % 2 === 0 ? 'ME' : 'NY', `City ${at % 6}`];
  db.runSql(
    'INSERT INTO CUSTOMER (_VERSION, SORT_KEY, CUSTOMER_CODE, CUSTOMER_NAME, BSTATE, BCITY) VALUES (?, ?, ?, ?, ?, ?)',
    ...values,
  );
  db.runSql('INSERT INTO CUSTOMER_SEARCH (rowid, FOLDED) VALUES (?, ?)', at + 1, `FIRM ${at}\n`);
});
db.runSql('COMMIT');
const json = "json_object('CODE', CUSTOMER_CODE)";
const pages = makePageBuilder({ orders: json, lines: "''", customers: json, inventory: json });
const counts = makeEntryCounts(db);

const STATE = { field: 'BSTATE', value: 'ME' };
const CITY = { field: 'BCITY', value: 'City 2' };
const NAME = { field: 'CUSTOMER_NAME', value: 'Firm 2' };
const NOTES = { field: 'NOTES', value: '' };
const or = (filter: Filter): Filter => ({ ...filter, conjunction: 'OR' });
const build = (...filters: Filter[]): PageSql =>
  pages.buildPage('customers', parseFilters(customers, 'customers', filters), counts);

/** Returns the query plan of SQLite, and the number of rows that it reads for a page of 50. */
function look({ sql, values }: PageSql): { plan: string; rows: number } {
  const plan = db.rows<[number, number, number, string]>(`EXPLAIN QUERY PLAN ${sql}`, '', null, 51, ...values);
  let rows = 0;
  db.connection.function('charge_row', { deterministic: false }, (_row) => ++rows);
  db.connection.function('walk_row', { deterministic: false, varargs: true }, () => ++rows);
  assert.equal(db.connection.prepare(sql).all('', null, 51, ...values).length, 51);
  return { plan: plan.map(([, , , detail]) => detail).join('\n'), rows };
}

test('the exact value with the fewest current records leads, in any order of the filters', () => {
  for (const filters of [
    [STATE, CITY],
    [CITY, STATE],
    [STATE, CITY, NOTES],
  ])
    assert.match(
      look(build(...filters)).plan,
      /^SEARCH CUSTOMER USING INDEX CUSTOMER_BCITY \(BCITY=\? AND SORT_KEY>\?\)$/,
    );
  for (const filters of [
    [STATE, NAME],
    [NAME, CITY, STATE],
  ])
    assert.match(build(...filters).sql, /INDEXED BY CUSTOMER_CUSTOMER_NAME/);
  assert.doesNotMatch(build(CITY, { field: 'CUSTOMER_CODE', value: '7' }).sql, /INDEXED BY/);
});

test('a page reads one record more than it contains, not all that match', () => {
  for (const filters of [
    [],
    [STATE],
    [STATE, CITY],
    [CITY, or(STATE)],
    [CITY, or({ ...CITY, value: 'City 3' }), or(NAME)],
    [CITY, NOTES, or({ ...STATE, value: 'NY' })],
  ]) {
    const { plan, rows } = look(build(...filters));
    assert.ok(rows <= 55, `${rows} rows for ${JSON.stringify(filters)}`);
    assert.doesNotMatch(plan, /TEMP B-TREE|MATERIALIZE/);
  }
});

const explain = (sql: string, ...values: (string | number | null)[]): string =>
  db
    .rows<[number, number, number, string]>(`EXPLAIN QUERY PLAN ${sql}`, ...values)
    .map(([, , , detail]) => detail)
    .join('\n');

test('ranges, starts and lists of an indexed field lead by its index; if they find many, the keys lead', () => {
  const cases: [Omit<Filter, 'field'>, RegExp][] = [
    [{ op: 'gt', value: 'Firm 999' }, /INDEX CUSTOMER_CUSTOMER_NAME \(CUSTOMER_NAME>\?\)/],
    [{ op: 'starts_with', value: 'Firm 29' }, /INDEX CUSTOMER_CUSTOMER_NAME \(CUSTOMER_NAME>\? AND CUSTOMER_NAME<\?\)/],
    [{ op: 'in', value: ['Firm 1', 'Firm 2'] }, /INDEX CUSTOMER_CUSTOMER_NAME \(CUSTOMER_NAME=\?\)/],
  ];
  for (const [filter, index] of cases) {
    const { sql, values, isShort } = build({ field: 'CUSTOMER_NAME', ...filter });
    assert.match(explain(sql, '', null, 51, ...values), index);
    assert.ok(isShort);
  }
  assert.match(
    build(STATE, { field: 'CUSTOMER_NAME', op: 'lt', value: 'Firm 10' }).sql,
    /INDEXED BY CUSTOMER_CUSTOMER_NAME/,
  );
  for (const filter of [{ op: 'ne', value: 'x' }, { op: 'not_empty' }] as const)
    assert.doesNotMatch(build({ field: 'CUSTOMER_NAME', ...filter }).sql, /INDEXED BY/);
});

test('a sorted page walks the index of its field, from where it begins, and sorts nothing', () => {
  for (const [text, filters] of [
    ['CUSTOMER_NAME', []],
    ['-CUSTOMER_NAME', []],
    ['-CUSTOMER_NAME', [{ field: 'CUSTOMER_NAME', op: 'ge', value: 'Firm 10' }]],
    ['MODIFIED_DATE', [{ field: 'MODIFIED_DATE', op: 'lt', value: '2026-01-02' }]],
  ] as [string, Filter[]][]) {
    const sort = parseSort(customers, 'customers', text)!;
    const page = pages.buildPage('customers', parseFilters(customers, 'customers', filters), counts, sort);
    const { name } = sort.field;
    const beyond = sort.isDescending ? `${name}<?)` : `(${name}>?`;
    const plan = explain(page.sql, '', 'x', 51, ...page.values);
    for (const which of [`INDEX CUSTOMER_${name} (${name}=? AND SORT_KEY`, beyond])
      assert.ok(plan.includes(which), plan);
    assert.doesNotMatch(plan, /SCAN CUSTOMER/);
    assert.doesNotMatch(plan, /TEMP B-TREE/);
  }
});

test('a date is found, ranged over and sorted by an index that has its year first', () => {
  const date = { field: 'ORDER_DATE', value: '01/02/2026' };
  for (const [filters, text] of [
    [[date], undefined],
    [[{ ...date, op: 'ge' }], 'ORDER_DATE'],
    [[], '-ORDER_DATE'],
  ] as [Filter[], string | undefined][]) {
    const sort = parseSort(orders, 'orders', text);
    const page = pages.buildPage('orders', parseFilters(orders, 'orders', filters), counts, sort);
    const plan = explain(page.sql, '', 'x', 51, ...page.values);
    assert.match(plan, /SEARCH ORDERS USING INDEX ORDERS_ORDER_DATE \(<expr>/);
    assert.doesNotMatch(plan, /SCAN ORDERS/);
    assert.doesNotMatch(plan, /TEMP B-TREE/);
  }
});

test('a few rare trigrams lead a search and make it short; if all are common, it is long', () => {
  const search = (value: string): PageSql => build({ ...NAME, value, contains: true });
  assert.deepEqual(search('firm 2999').values, ['FIRM 2999', '"999" AND "299"']);
  assert.deepEqual(search('m 77').values, ['M 77', '" 77" AND "M 7"']);
  assert.deepEqual(search('firm 1').values.at(-1), '"M 1" AND "FIR"');
  assert.deepEqual(search('firm').values.at(-1), '"FIR" AND "IRM"');
  assert.deepEqual(
    ['firm 2999', 'firm 1', 'nowhere', 'firm'].map((value) => search(value).isShort),
    [true, true, true, false],
  );
});

test('a substring of three or more characters is searched by its trigrams, a shorter one in every record', () => {
  const search = (value: string): PageSql => build({ ...NAME, value, contains: true });
  assert.match(search('abc').sql, /CUSTOMER_SEARCH MATCH \?/);
  assert.deepEqual(search('a"bcd').values, ['A"BCD', '"A""B" AND "BCD"']);
  assert.deepEqual(search('aaaaaa').values, ['AAAAAA', '"AAA"']);
  assert.doesNotMatch(search('ab').sql, /MATCH/);
  assert.deepEqual(search('ab').values, ['AB']);
});

test('queries that differ only in their values share one statement', () => {
  const [one, other] = [build(CITY, or(STATE)), build({ ...CITY, value: 'City 1' }, or({ ...STATE, value: '' }))];
  assert.equal(one.sql, other.sql);
  assert.deepEqual(other.values, ['City 1', '']);
  assert.notEqual(build(CITY, STATE).sql, one.sql);
  assert.notEqual(build(CITY, or({ ...STATE, contains: true })).sql, one.sql);
});

test('an index finds the lines of orders, of a part and with serial numbers', () => {
  db.connection.function('charge_row', { deterministic: false }, () => 1);
  const { lines } = buildDictionaries([]);
  for (const [filter, index] of [
    [{ field: 'ORDER_NUMBER', value: '7' }, 'l USING PRIMARY KEY (SORT_KEY>? AND SORT_KEY<?)'],
    [{ field: 'ORDER_NUMBER', op: 'in', value: ['7', '8'] }, 'l USING PRIMARY KEY (SORT_KEY>? AND SORT_KEY<?)'],
    [{ field: 'ORDER_NUMBER', op: 'empty' }, 'l USING PRIMARY KEY (SORT_KEY>? AND SORT_KEY<?)'],
    [{ field: 'ORDER_NUMBER', op: 'ge', value: '7' }, 'PRIMARY KEY (SORT_KEY>?'],
    [{ field: 'PART_CODE', value: 'P' }, 'ORDER_LINEITEMS_PART_CODE (PART_CODE=?'],
    [{ field: 'LINE_REF_LOCK_CODE', value: 'x' }, 'ORDER_LINEITEMS_LINE_REF_LOCK_CODE (LINE_REF_LOCK_CODE=?'],
    [{ field: 'SERIAL_NUMBERS', value: 'S' }, 'LINE_SERIALS USING PRIMARY KEY (SERIAL=?)'],
    [{ field: 'SERIAL_NUMBERS', op: 'in', value: ['S', 'T'] }, 'LINE_SERIALS USING PRIMARY KEY (SERIAL=?)'],
  ] as [Filter, string][]) {
    const { sql, values, isShort } = pages.buildPage('lines', parseFilters(lines, 'lines', [filter]), counts);
    const plan = db.rows<[number, number, number, string]>(`EXPLAIN QUERY PLAN ${sql}`, '', null, 51, ...values);
    const told = plan.map(([, , , detail]) => detail).join('\n');
    assert.ok(told.includes(index) && isShort, `${JSON.stringify(filter)}: ${told}`);
    assert.doesNotMatch(told, /SCAN ORDER_LINEITEMS/);
  }
});

test('the units that open orders commit are found in one walk of the orders, however many parts are new', () => {
  const { loads } = buildScriptSql(buildDictionaries([]), scriptDialect);
  const plan = db.rows<[number, number, number, string]>(`EXPLAIN QUERY PLAN ${loads.commitments(['P']).sql}`, '["P"]');
  assert.match(
    plan.map(([, , , detail]) => detail).join('\n'),
    /SEARCH l USING PRIMARY KEY \(SORT_KEY>\? AND SORT_KEY<\?\)/,
  );
});
