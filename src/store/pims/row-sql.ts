/** The columns of records, and the statements that insert or update one row. */
import { foldCase } from '../../pims/reads/query.ts';
import type { FieldDictionary, KeyedType } from '../../pims/rules/fields.ts';
import { CANCELLED_MARK } from '../../pims/rules/stages.ts';
import { TOTALS_MARK } from '../../pims/rules/totals.ts';
import type { Values } from '../../pims/rules/values.ts';
import type { Bound, RowChange, Statement } from '../writing.ts';
import type { Column } from './dialect.ts';
import { newVersion } from './random-text.ts';
import { VERSION } from './version.ts';

/** Lists names in the form of a statement: `"ORDER_NUMBER", "LINE_NUMBER"`. */
export const listNames = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

/** The column that says whether an order is cancelled, for queries that need it as well as the fields. */
export const CANCELLED: Column = [CANCELLED_MARK, `"${CANCELLED_MARK}"`];
/** Lists the columns of a record: its fields, and the marks of an order. */
export const listColumns = (recordType: KeyedType, dictionary: FieldDictionary): string[] =>
  recordType === 'orders' ? [...dictionary.keys(), CANCELLED_MARK, TOTALS_MARK] : [...dictionary.keys()];
/** Only LINE_NUMBER is stored as a number, so that lines are stored in order. It is read as text like all others. */
export const buildColumn = (name: string, of = ''): string =>
  name === 'LINE_NUMBER' ? `CAST(${of}"LINE_NUMBER" AS TEXT)` : `${of}"${name}"`;
export const columnsOf = (names: Iterable<string>): Column[] => Array.from(names, (name) => [name, buildColumn(name)]);

/** Lists the values of these fields, in their order. */
export const listValues = (names: readonly string[], values: Values): string[] =>
  names.map((name) => values[name] ?? '');

/** Builds the statement that inserts a row, by its values. The columns of the key come first, unless they are given. */
export function buildInsert(
  table: string,
  names: readonly string[],
  key: readonly string[] = names.slice(0, 1),
): (values: readonly Bound[]) => Statement {
  const sql = `INSERT INTO ${table} (${listNames(names)}) VALUES (${names.map(() => '?').join(', ')})`;
  const change: RowChange = { kind: 'insert', table, names, keysAt: key.map((name) => names.indexOf(name)) };
  return (values) => ({ sql, values, reads: false, change });
}

/** Updates these columns of a row. The values of its key come last. */
export function buildUpdate(
  table: string,
  names: readonly string[],
  key: readonly string[],
  values: readonly Bound[],
): Statement {
  const equal = (name: string) => `"${name}" = ?`;
  const sql = `UPDATE ${table} SET ${names.map(equal).join(', ')} WHERE ${key.map(equal).join(' AND ')}`;
  const keysAt = key.map((_, at) => names.length + at);
  return { sql, values, reads: false, change: { kind: 'update', table, names: [...names, ...key], keysAt } };
}

/** Updates these columns of a record, and its version. */
export const buildRecordUpdate = (table: string, names: readonly string[], values: readonly Bound[], key: string) =>
  buildUpdate(table, [...names, VERSION], ['SORT_KEY'], [...values, newVersion(), key]);

/** Returns the text of a record's search index: its searched fields, folded. */
export function searchText(dictionary: FieldDictionary, values: Values): string {
  let text = '';
  for (const { name, searched } of dictionary.values()) if (searched && values[name]) text += `${values[name]}\n`;
  return foldCase(text);
}
