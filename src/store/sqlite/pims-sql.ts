/**
 * The SQL of one tenant's inventory system, written anew whenever its field dictionaries change. Column names come from the dictionaries alone, values
 * are always bound. SQLite writes the JSON that goes out. Never runs anything.
 */
import { foldCase } from '../../pims/filter.ts';
import { RECORD_TYPES, type Dictionaries, type FieldDictionary, type RecordType, type Values } from '../../pims/record.ts';
import type { KeyedType, PageRequest } from '../../pims/store.ts';
import { writeWhere, type Dialect } from '../sql.ts';
import type { PageQuery } from './query.ts';

const SEARCH_TRIGRAMS_MAX = 16;

const SPEND_TIME = 'spend_time(ID)';

const dialect: Dialect = {
  everyRow: SPEND_TIME,
  contains: (column, placeholder) => `contains_folded(${column}, ${placeholder})`,
  search: (table, placeholder) => `ID IN (SELECT rowid FROM ${table}_SEARCH WHERE ${table}_SEARCH MATCH ${placeholder})`,
  searchNeedle(needle) {
    const characters = Array.from(needle);
    const trigrams = new Set(characters.slice(2).map((_, index) => characters.slice(index, index + 3).join('')));
    return trigrams.size === 0 ? undefined : [...trigrams].slice(0, SEARCH_TRIGRAMS_MAX).map((trigram) => `"${trigram.replaceAll('"', '""')}"`).join(' AND '); // prettier-ignore
  },
};

export type PimsSql = ReturnType<typeof writePimsSql>;

export function writePimsSql(dictionaries: Dictionaries) {
  const lineJson = recordJson(dictionaries.lines);
  const json = { orders: recordJson(dictionaries.orders), customers: recordJson(dictionaries.customers), inventory: recordJson(dictionaries.inventory) };
  // The lines of an order lie side by side in the order of their numbers, the table's primary key, so aggregating them needs no sorting.
  const linesOf = 'ORDER_LINEITEMS WHERE ORDER_NUMBER = ?';
  const table = (recordType: RecordType): string => RECORD_TYPES[recordType].table;
  const record = (recordType: KeyedType): string => `SELECT ${json[recordType]} FROM ${table(recordType)} WHERE SORT_KEY = ?`;
  const insert = (recordType: RecordType): string => {
    const columns = [...(recordType === 'lines' ? [] : ['SORT_KEY']), ...[...dictionaries[recordType].keys()].map(quote)];
    return `INSERT INTO ${table(recordType)} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
  };
  const rows = (recordType: RecordType): string => {
    if (recordType !== 'lines') return `SELECT ${[...dictionaries[recordType].keys()].map(quote).join(', ')} FROM ${table(recordType)} ORDER BY SORT_KEY`;
    const columns = [...dictionaries.lines.keys()].map((name) => column(name, 'l.'));
    return `SELECT ${columns.join(', ')} FROM ORDERS o CROSS JOIN ORDER_LINEITEMS l ON l.ORDER_NUMBER = o.ORDER_NUMBER ORDER BY o.SORT_KEY, l.LINE_NUMBER`;
  };
  return {
    dictionaries,
    orderWithLines: `SELECT ${json.orders}, (SELECT json_group_array(json_object('ORDER_LINEITEMS', ${lineJson})) FROM ${linesOf})
      FROM ORDERS WHERE SORT_KEY = ?`,
    record: { orders: record('orders'), customers: record('customers'), inventory: record('inventory') },
    lines: `SELECT ${lineJson} FROM ${linesOf} ORDER BY LINE_NUMBER`,
    line: `SELECT ${lineJson} FROM ORDER_LINEITEMS WHERE ORDER_NUMBER = ? AND LINE_REF_LOCK_CODE = ?`,
    ordersByReference: `SELECT ${json.orders} FROM ORDERS WHERE REFERENCE_NUMBER = ?`,
    insert: { orders: insert('orders'), lines: insert('lines'), customers: insert('customers'), inventory: insert('inventory') },
    rows: { orders: rows('orders'), lines: rows('lines'), customers: rows('customers'), inventory: rows('inventory') },
    update: (recordType: KeyedType, names: readonly string[]): string => `UPDATE ${table(recordType)} SET ${names.map(assign).join(', ')} WHERE SORT_KEY = ?`,
    updateLine: (names: readonly string[]): string => `UPDATE ORDER_LINEITEMS SET ${names.map(assign).join(', ')} WHERE ORDER_NUMBER = ? AND LINE_NUMBER = ?`,
    page(recordType: KeyedType, { filters, limit, after }: PageRequest): PageQuery & { indexLed: boolean } {
      const where = writeWhere(recordType, filters, dialect);
      // A plus sign keeps SQLite from walking the whole table in key order where index walks have to be merged.
      const key = where.merged ? '+SORT_KEY' : 'SORT_KEY';
      const sql = `SELECT SORT_KEY, ${json[recordType]} FROM ${table(recordType)}
        WHERE ${SPEND_TIME} AND (${where.sql}) AND ${key} > ? ORDER BY ${key} LIMIT ?`;
      return { sql, values: [...where.values, after], limit, indexLed: where.indexLed };
    },
  };
}

/** What the trigram index holds of a record: its searched fields, folded. */
export function searchText(dictionary: FieldDictionary, values: Values): string {
  let text = '';
  for (const { name, searched } of dictionary.values()) if (searched && values[name]) text += `${values[name]}\n`;
  return foldCase(text);
}

const quote = (name: string): string => `"${name}"`;
const assign = (name: string): string => `${quote(name)} = ?`;
/** LINE_NUMBER alone is kept as a number, so that lines lie in their order; it goes out as text like all others. */
const column = (name: string, of = ''): string => (name === 'LINE_NUMBER' ? `CAST(${of}LINE_NUMBER AS TEXT)` : `${of}${quote(name)}`);
const recordJson = (dictionary: FieldDictionary): string => `json_object(${[...dictionary.keys()].map((name) => `'${name}', ${column(name)}`).join(', ')})`;
