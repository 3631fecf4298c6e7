/**
 * The SQL of one tenant's inventory system on SQLite: the dialect of the shared SQL, and what only reads. SQLite
 * builds the JSON that goes out. Column names come from the dictionaries alone, values are always bound.
 */
import { ofKeyedTypes, RECORD_TYPES, type Dictionaries, type KeyedType, type RecordType } from '../../pims/fields.ts';
import type { QueryRequest } from '../../pims/port.ts';
import { parseFilters } from '../../pims/filter.ts';
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
import { statement, type SearchChange, type Statement } from '../writing.ts';
import type { PageRead } from './query.ts';

// SQLite compiles a statement anew when the value of a bare `LIMIT ?` changes, which takes longer than most reads.
const LIMIT = 'LIMIT ? + 0';

const SEARCH_TRIGRAMS_MAX = 16;

const CHARGE_ROW = 'charge_row(ID)';

const dialect: Dialect = {
  lead: (sql) => `${CHARGE_ROW} AND ${sql}`,
  equals: (column, _isIndexed, bind) => `${column} = ${bind()}`,
  contains: (column, placeholder) => `contains_folded(${column}, ${placeholder})`,
  search: (table, placeholder) =>
    `ID IN (SELECT rowid FROM ${table}_SEARCH WHERE ${table}_SEARCH MATCH ${placeholder})`,
  searchNeedle(needle) {
    const characters = Array.from(needle);
    const trigrams = new Set(characters.slice(2).map((_, index) => characters.slice(index, index + 3).join('')));
    if (trigrams.size === 0) return undefined;
    const quoted = [...trigrams].slice(0, SEARCH_TRIGRAMS_MAX).map((trigram) => `"${trigram.replaceAll('"', '""')}"`);
    return quoted.join(' AND ');
  },
};

export const scriptDialect: ScriptDialect = {
  equals: (...of) => dialect.equals(...of),
  table: (name) => `"${name}"`,
  fieldType: "TEXT NOT NULL DEFAULT ''",
  // SQLite itself tells every connection of a changed schema.
  fieldsChanged: [],
  recordJson: (columns) => `json_object(${columns.map(([name, expression]) => `'${name}', ${expression}`).join(', ')})`,
  insertRecord(recordType, dictionary) {
    const { table } = RECORD_TYPES[recordType];
    const names = [...dictionary.keys()];
    const insert = buildInsert(`"${table}"`, ['SORT_KEY', ...names]);
    const index = `INSERT INTO "${table}_SEARCH" (rowid, "FOLDED") VALUES (last_insert_rowid(), ?)`;
    return (sortKey, record) => [
      statement(insert, sortKey, ...listValues(names, record)),
      buildSearch(index, { table, text: searchText(dictionary, record) }),
    ];
  },
  updateRecord(recordType, dictionary) {
    const { table } = RECORD_TYPES[recordType];
    const index = `UPDATE "${table}_SEARCH" SET "FOLDED" = ?
      WHERE rowid = (SELECT "ID" FROM "${table}" WHERE "SORT_KEY" = ?)`;
    return (sortKey, names, record) => {
      const update = buildUpdate(`"${table}"`, names, ['SORT_KEY'], [...listValues(names, record), sortKey]);
      const isSearched = names.some((name) => dictionary.get(name)?.searched);
      if (!isSearched) return [update];
      return [update, buildSearch(index, { table, text: searchText(dictionary, record), sortKey })];
    };
  },
};

function buildSearch(sql: string, search: SearchChange): Statement {
  const { text, sortKey } = search;
  return { sql, values: sortKey === undefined ? [text] : [text, sortKey], reads: false, search };
}

export type SqlitePimsSql = ReturnType<typeof buildPimsSql>;

export function buildPimsSql(dictionaries: Dictionaries) {
  const json = (recordType: RecordType): string => scriptDialect.recordJson(columnsOf(dictionaries[recordType]));
  const keyedJson = ofKeyedTypes(json);
  const records = ofKeyedTypes(
    (recordType) => `SELECT ${keyedJson[recordType]} FROM ${RECORD_TYPES[recordType].table} WHERE SORT_KEY = ?`,
  );
  const rows = (recordType: RecordType): string => {
    const columns = (of = ''): string =>
      [...dictionaries[recordType].keys()].map((name) => buildColumn(name, of)).join(', ');
    if (recordType !== 'lines') return `SELECT ${columns()} FROM ${RECORD_TYPES[recordType].table} ORDER BY SORT_KEY`;
    return `SELECT ${columns('l.')} FROM ORDERS o CROSS JOIN ORDER_LINEITEMS l ON l.ORDER_NUMBER = o.ORDER_NUMBER
      ORDER BY o.SORT_KEY, l.LINE_NUMBER`;
  };
  return {
    dictionaries,
    script: buildScriptSql(dictionaries, scriptDialect),
    records,
    // The lines of an order lie side by side by their numbers, the table's primary key: they need no sorting.
    orderWithLines: `SELECT ${keyedJson.orders},
        (SELECT json_group_array(json_object('ORDER_LINEITEMS', ${json('lines')}))
          FROM ORDER_LINEITEMS WHERE ORDER_NUMBER = ?)
      FROM ORDERS WHERE SORT_KEY = ?`,
    ordersByReference: `SELECT ${keyedJson.orders} FROM ORDERS WHERE REFERENCE_NUMBER = ? AND ${CHARGE_ROW} ${LIMIT}`,
    linesOfOrder: `SELECT ${json('lines')} FROM ORDER_LINEITEMS
      WHERE ORDER_NUMBER = ? AND charge_row(LINE_NUMBER) ORDER BY LINE_NUMBER`,
    /** Every record of a type in the order of its key, its values in the order of the dictionary. */
    rows,
    page(
      recordType: KeyedType,
      { filters, limit, bytesMax, after }: QueryRequest,
    ): { read: PageRead; indexLed: boolean } {
      const where = buildWhere(recordType, parseFilters(dictionaries[recordType], recordType, filters), dialect);
      const { table } = RECORD_TYPES[recordType];
      const record = keyedJson[recordType];
      const { sql: condition, values, indexLed, candidates } = where;
      const page = { kind: 'page', after, limit, bytesMax } as const;
      if (!candidates) {
        const sql = `SELECT SORT_KEY, ${record} FROM ${table}
          WHERE walk_row(SORT_KEY) AND (${condition}) AND SORT_KEY > ? ORDER BY SORT_KEY ${LIMIT}`;
        return { read: { ...page, sql, valuesBefore: values, valuesBehind: [] }, indexLed };
      }
      // Keys alone are sorted; the plus sign keeps SQLite from walking the whole table in their order. What indexes
      // cannot tell is found out, and JSON built, of a record when it is its turn, so that a page can end before.
      const sql = `WITH FOUND AS MATERIALIZED (
          SELECT ID AS "found ID" FROM ${table}
          WHERE ${CHARGE_ROW} AND (${candidates.sql}) AND +SORT_KEY > ? ORDER BY +SORT_KEY)
        SELECT SORT_KEY, ${record} FROM FOUND CROSS JOIN ${table} ON ID = "found ID"
          WHERE walk_row(SORT_KEY) AND (${condition}) ${LIMIT}`;
      return { read: { ...page, sql, valuesBefore: candidates.values, valuesBehind: values }, indexLed };
    },
  };
}
