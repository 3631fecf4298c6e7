/** Tests the SQL of a page on PostgreSQL: which index a query uses, so that it need not read every record. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { buildDictionaries } from '../../src/pims/rules/fields.ts';
import type { Filter } from '../../src/pims/reads/query.ts';
import * as postgres from '../../src/store/postgres/reads/pims-sql.ts';

const DICTIONARIES = buildDictionaries([]);
const { signal } = new AbortController();
const asked = (...filters: Filter[]) => ({ filters, limit: 2, bytesMax: 100, after: '7', signal: () => signal });
const named = (value: string): Filter => ({ field: 'CUSTOMER_NAME', value, contains: true });

suite('PostgreSQL', () => {
  const query = (...filters: Filter[]) =>
    postgres.buildPimsSql('tenant', DICTIONARIES, 1).buildPageSql('customers', asked(...filters));
  const page = (...filters: Filter[]) => query(...filters).alone;

  test('an exact value is searched by the index of its field, if it has one', () => {
    const indexed = page({ field: 'CUSTOMER_NAME', value: 'x' });
    assert.ok(indexed.sql.includes('left("CUSTOMER_NAME", 256) = left(?, 256) AND '), indexed.sql);
    assert.deepEqual(indexed.values, ['x', 'x', '7', 3]);
    const plain = page({ field: 'NOTES', value: 'x' });
    assert.match(plain.sql, /\("NOTES" = \?\)/);
    assert.deepEqual(plain.values, ['x', '7', 3]);
  });

  test('a substring of three or more characters is searched by the search index, a shorter one is not', () => {
    const found = page(named('Ab%_\\'));
    assert.match(found.sql, /search LIKE \?/);
    assert.deepEqual(found.values, ['AB%_\\', '%ab\\%\\_\\\\%', '7', 3]);
    assert.deepEqual(page(named('abc')).values, ['ABC', '%abc%', '7', 3]);
    assert.deepEqual(page(named('ab')).values, ['AB', '7', 3]);
  });

  test('a query is sent together with others if an index or the search index leads to all its possible results', () => {
    const note = { field: 'NOTES', value: 'abc', contains: true };
    const code = { field: 'BEMAIL', value: 'a@b' };
    const or = (filter: Filter): Filter => ({ ...filter, conjunction: 'OR' });
    for (const filters of [[], [code], [named('abc')], [note, named('abc')], [named('abc'), or(code)]])
      assert.notEqual(query(...filters).together, undefined, JSON.stringify(filters));
    for (const filters of [[note], [named('ab')], [named('abc'), or(note)], [code, or(note)]])
      assert.equal(query(...filters).together, undefined, JSON.stringify(filters));
  });
});
