/**
 * The SQL of one tenant's inventory system on PostgreSQL: the dialect of the shared SQL, and what only reads.
 * PostgreSQL builds the JSON that goes out. Column names come from the dictionaries alone, values are always bound.
 */
import type { Values } from '../../pims/values.ts';
import { ofKeyedTypes, RECORD_TYPES } from '../../pims/fields.ts';
import type { Dictionaries, FieldDictionary, KeyedType, RecordType } from '../../pims/fields.ts';
import type { Json } from '../../pims/script.ts';
import type { QueryRequest } from '../../pims/port.ts';
import { foldCase, parseFilters } from '../../pims/filter.ts';
import {
  buildColumn,
  buildInsert,
  buildScriptSql,
  buildUpdate,
  columnsOf,
  listValues,
  searchText,
  type ScriptDialect,
} from '../pims/script-sql.ts';
import { buildWhere, type Dialect } from '../pims/where.ts';
import { statement, type Bound } from '../writing.ts';

/** An index holds this much of a value; no filter has more. */
const INDEXED_CHARACTERS = 256;
const TRIGRAM = 3;

/** What reads that travel together bring of one order or number. What has more is read by itself. */
const SMALL_LINES = 100;
const SMALL_BYTES = 64 * 1024;
export const SMALL_ORDERS = 10;
/** In place of lines that are too many or too large. */
export const LARGE = '';
/** An order (`n` is 0) or a line of it (`n` is its number). The rows of an order come in any order. */
export type LargeRow = [sortKey: string, n: number, record: Json, fieldsVersion: number];

const filterDialect: Dialect = {
  equals: (column, isIndexed, bind) =>
    (isIndexed ? `left(${column}, ${INDEXED_CHARACTERS}) = left(${bind()}, ${INDEXED_CHARACTERS}) AND ` : '') +
    `${column} = ${bind()}`,
  // What is ASCII throughout folds alike everywhere; of all else the folded text is in the row.
  contains: (column, placeholder) =>
    `strpos(coalesce(folded ->> '${column.slice(1, -1)}', upper(${column})), ${placeholder}) > 0`,
  search: (_table, placeholder) => `search LIKE ${placeholder}`,
  searchNeedle: (needle) =>
    Array.from(needle).length < TRIGRAM ? undefined : `%${lowerEach(needle).replace(/[\\%_]/g, '\\$&')}%`,
};

export type PostgresPimsSql = ReturnType<typeof buildPimsSql>;

/** Built when it is first asked for: of thousands of tenants most need little of it. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

export function buildPimsSql(schema: string, dictionaries: Dictionaries) {
  const table = (name: string): string => `"${schema}"."${name}"`;
  const tableOf = (recordType: RecordType): string => table(RECORD_TYPES[recordType].table);
  const json = (recordType: RecordType): string => recordJson(columnsOf(dictionaries[recordType]));
  // Comes with everything that is read by the dictionaries, to tell whether they still hold.
  const fieldsVersion = `SELECT "NEXT" FROM ${table('COUNTERS')} WHERE "NAME" = 'fields'`;
  const linesOf = (line: string): string => `SELECT "LINE_NUMBER" AS n, ${line} AS j
    FROM ${table('ORDER_LINEITEMS')} WHERE "ORDER_NUMBER" = o."ORDER_NUMBER"`;
  const all = `string_agg(j, ',' ORDER BY n)`;
  const lines = (around: (line: string) => string): string =>
    `(SELECT CASE WHEN count(*) <= ${SMALL_LINES} AND octet_length(${all}) <= ${SMALL_BYTES}
        THEN '[' || ${all} || ']' WHEN count(*) > 0 THEN '${LARGE}' END
      FROM (${linesOf(around(json('lines')))} ORDER BY n LIMIT ${SMALL_LINES + 1}) l)`;
  const byReference = (key: string): string => `left(o."REFERENCE_NUMBER", ${INDEXED_CHARACTERS}) =
    left(${key}, ${INDEXED_CHARACTERS}) AND o."REFERENCE_NUMBER" = ${key}`;
  const largeOrders = (which: string): string => `SELECT o."SORT_KEY", x.n, x.j, (${fieldsVersion})
    FROM (SELECT * FROM ${table('ORDERS')} o WHERE ${which} LIMIT ?2) o
    CROSS JOIN LATERAL (SELECT 0 AS n, ${json('orders')} AS j UNION ALL ${linesOf(json('lines'))}) x`;
  const byKeys = (recordType: KeyedType, more = 'NULL'): string =>
    `SELECT o."SORT_KEY", ${json(recordType)}, ${more}, (${fieldsVersion})
      FROM unnest(?::text[]) AS q(key) JOIN ${tableOf(recordType)} o ON o."SORT_KEY" = q.key`;
  const rows = (recordType: RecordType): string => {
    const names = [...dictionaries[recordType].keys()].map((name) => buildColumn(name, 'r.'));
    if (recordType !== 'lines') return `SELECT ${names.join(', ')} FROM ${tableOf(recordType)} r ORDER BY r."SORT_KEY"`;
    return `SELECT ${names.join(', ')}
      FROM ${table('ORDERS')} o JOIN ${table('ORDER_LINEITEMS')} r ON r."ORDER_NUMBER" = o."ORDER_NUMBER"
      ORDER BY o."SORT_KEY", r."LINE_NUMBER"`;
  };
  return {
    dictionaries,
    script: once(() => buildScriptSql(dictionaries, scriptDialect(table))),
    fieldsVersion,
    customFields: `SELECT "RECORD_TYPE", "NAME", "TYPE" FROM ${table('CUSTOM_FIELDS')} ORDER BY "RECORD_TYPE", "ID"`,
    /** Locks the tenant for a transaction that writes. */
    lock: `${fieldsVersion} FOR UPDATE`,
    ordersWithLines: once(() => byKeys('orders', lines(wrapLine))),
    records: ofKeyedTypes((recordType) => once(() => byKeys(recordType))),
    /** Of a number with many orders one more than SMALL_ORDERS. */
    ordersByReference: once(
      () => `SELECT q.key, ${json('orders')}, ${lines((line) => line)}, (${fieldsVersion})
      FROM unnest(?::text[]) AS q(key) CROSS JOIN LATERAL
        (SELECT * FROM ${table('ORDERS')} o WHERE ${byReference('q.key')} LIMIT ${SMALL_ORDERS + 1}) o`,
    ),
    /** The order with this sort key, and its lines, a row each: see LargeRow. */
    largeOrder: once(() => largeOrders('o."SORT_KEY" = ?1')),
    largeOrdersByReference: once(() => largeOrders(byReference('?1'))),
    /** Every record of a type in the order of its key, its values in the order of the dictionary. */
    rows,
    measure: (recordType: RecordType): string => `ANALYZE ${tableOf(recordType)}`,
    page(recordType: KeyedType, { filters, limit, after }: QueryRequest): { sql: string; values: (string | number)[] } {
      const where = buildWhere(recordType, parseFilters(dictionaries[recordType], recordType, filters), filterDialect);
      // JSON is built of the rows of the page alone.
      const found = `SELECT * FROM ${tableOf(recordType)} WHERE (${where.sql}) AND "SORT_KEY" > ?
        ORDER BY "SORT_KEY" LIMIT ?`;
      return {
        sql: `SELECT "SORT_KEY", ${json(recordType)}, (${fieldsVersion}) FROM (${found}) o ORDER BY "SORT_KEY"`,
        values: [...where.values, after, limit + 1],
      };
    },
  };
}

const wrapLine = (line: string): string => `'{"ORDER_LINEITEMS":' || ${line} || '}'`;

const scriptDialect = (table: (name: string) => string): ScriptDialect => ({
  equals: (...of) => filterDialect.equals(...of),
  table,
  fieldType: `TEXT COLLATE "C" NOT NULL DEFAULT ''`,
  fieldsChanged: [statement(`UPDATE ${table('COUNTERS')} SET "NEXT" = "NEXT" + 1 WHERE "NAME" = 'fields'`)],
  recordJson,
  insertRecord(recordType, dictionary) {
    const names = [...dictionary.keys()];
    const sql = buildInsert(table(RECORD_TYPES[recordType].table), ['SORT_KEY', 'search', 'folded', ...names]);
    return (key, record) => {
      const search = searchIndex(dictionary, record);
      const folded = foldedValues(dictionary, record);
      return [statement(sql, key, search, folded, ...listValues(names, record))];
    };
  },
  updateRecord(recordType, dictionary) {
    const tableName = table(RECORD_TYPES[recordType].table);
    return (key, names, record) => {
      const changed = [...names];
      const values: Bound[] = [...listValues(names, record), key];
      if (names.some((name) => dictionary.get(name)?.searched)) {
        changed.unshift('search');
        values.unshift(searchIndex(dictionary, record));
      }
      if (names.some((name) => dictionary.get(name)?.type === 'text')) {
        changed.unshift('folded');
        values.unshift(foldedValues(dictionary, record));
      }
      return [statement(`${buildUpdate(tableName, changed)} WHERE "SORT_KEY" = ?`, ...values)];
    };
  },
});

/** A row has its columns in the order of the list, and goes out without a space. */
const recordJson: ScriptDialect['recordJson'] = (columns) => {
  const named = columns.map(([name, expression]) =>
    expression === `"${name}"` ? expression : `${expression} AS "${name}"`,
  );
  return `row_to_json((SELECT r FROM (SELECT ${named.join(', ')}) r))::text`;
};

/** Lower case, character by character. pg_trgm lowers by the database's rules, which leave such a text as it is. */
const lowerEach = (folded: string): string => Array.from(folded, (character) => character.toLowerCase()).join('');
export const searchIndex = (dictionary: FieldDictionary, record: Values): string =>
  lowerEach(searchText(dictionary, record));

/** Of every text with characters beyond ASCII its text without case; null where there is none. */
export function foldedValues(dictionary: FieldDictionary, record: Values): string | null {
  const folded: Values = {};
  for (const { name, type } of dictionary.values())
    if (type === 'text' && /[^\0-\x7f]/.test(record[name] ?? '')) folded[name] = foldCase(record[name]!);
  return Object.keys(folded).length === 0 ? null : JSON.stringify(folded);
}
