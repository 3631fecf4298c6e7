/**
 * The rows of records: columns, versions and tags, random texts in them, and the statements that insert or update one
 * row. A dialect has the differences between the stores.
 */
import { hash, randomFillSync } from 'node:crypto';
import { foldCase } from '../../pims/reads/query.ts';
import {
  buildDictionaries,
  type CustomField,
  type Dictionaries,
  type FieldDictionary,
  RECORD_TYPES,
  type KeyedType,
  type RecordType,
} from '../../pims/rules/fields.ts';
import { CANCELLED_MARK } from '../../pims/rules/stages.ts';
import type { Values } from '../../pims/rules/values.ts';
import { listColumns } from '../../pims/writes/kinds-of-loads.ts';
import type { Loads } from '../../pims/writes/script.ts';
import type { Bound, Row, RowChange, Statement } from '../sql/writing.ts';
import type { LinesOf } from './lines-of.ts';
import type { Dialect } from './where.ts';

/** The name of a member of a JSON object, and the SQL of its value. */
export type Column = readonly [name: string, expression: string];

/** A dialect: the differences between the stores in the statements of writes. */
export interface ScriptDialect extends Pick<Dialect, 'equals'> {
  /** Returns the name of a table in a statement: `"ORDERS"`, on PostgreSQL with its schema. */
  readonly table: (name: string) => string;
  /** A subquery for the texts of a JSON list. */
  readonly list: string;
  /** Builds a table of the items of a JSON list, with their index as `key` and their JSON `value`. */
  readonly items: (json: string) => string;
  /** Builds a condition that is true, and by which a row counts towards the time of a look. */
  readonly charge: (column: string) => string;
  /** The type of a column that holds a field. */
  readonly fieldType: string;
  /** The statements that follow the addition of a field. */
  readonly fieldsChanged: readonly Statement[];
  readonly linesOf: LinesOf;
  /** Returns further columns of a line, and their values. */
  readonly lineColumns: (dictionary: FieldDictionary, line: Values) => Readonly<Record<string, Bound>>;
  /** Builds an expression for a JSON object as text, from names and the expressions of their values. */
  recordJson(columns: readonly Column[]): string;
  /** Returns further columns of a record, and their values: all, or those that these fields change. */
  recordColumns(
    dictionary: FieldDictionary,
    record: Values,
    names?: readonly string[],
  ): Readonly<Record<string, Bound>>;
  /** Builds the statements that update the search index of a record; without a key, of the one inserted last. */
  indexRecord(table: string, text: () => string, sortKey?: string): readonly Statement[];
}

/** A row of CUSTOM_FIELDS. */
export type FieldRow = [recordType: RecordType, name: string, type: CustomField['type']];
export const toDictionaries = (fields: readonly FieldRow[]): Dictionaries =>
  buildDictionaries(fields.map(([recordType, name, type]) => ({ recordType, name, type })));

/** The column of a record's version. Every write of the record, or of a line of the order, changes it. */
export const VERSION = '_VERSION';

const FIELDS_HASH_CHARACTERS = 10;

/** Builds the expression of a record's tag. A new field changes what is returned, so the tag depends on the fields. */
export function tagColumn(dictionaries: Dictionaries, recordType: KeyedType): string {
  const answered = recordType === 'orders' ? [dictionaries.orders, dictionaries.lines] : [dictionaries[recordType]];
  const names = JSON.stringify(answered.map((dictionary) => [...dictionary.keys()]));
  // The tag has the quotes of the header, so that most responses send it unchanged.
  return `'"' || "${VERSION}" || '.${hash('sha256', names, 'hex').slice(0, FIELDS_HASH_CHARACTERS)}"'`;
}

const LOCK_CODE_BYTES = 18;
const VERSION_BYTES = 9;
/**
 * Random texts are valid in a URL and in an ETag. They are generated in blocks, because an import needs thousands a
 * second.
 */
const randomBlock = Buffer.alloc(9 * 512);
let blockUsed = randomBlock.length;

/** Returns a lock code, which identifies a line of an order: 144 random bits. */
export const newLockCode = (): string => drawText(LOCK_CODE_BYTES);

/** Returns the version of a record after a write: 72 random bits, so that no other state of the record has it. */
export const newVersion = (): string => drawText(VERSION_BYTES);

function drawText(bytes: number): string {
  if (blockUsed + bytes > randomBlock.length) {
    randomFillSync(randomBlock);
    blockUsed = 0;
  }
  blockUsed += bytes;
  return randomBlock.toString('base64url', blockUsed - bytes, blockUsed);
}

/** A statement that loads, and the conversion of its rows. */
export interface Query<T> extends Statement {
  parse(rows: readonly Row[]): T;
}
export type LoadSql<Names extends keyof Loads = keyof Loads> = {
  readonly [Name in Names]: (...args: Parameters<Loads[Name]>) => Query<ReturnType<Loads[Name]>>;
};

/** The columns of a movement besides NUMBER. */
export const LEDGER_ROW = [
  'PART_CODE',
  'AT',
  'KIND',
  'QUANTITY',
  'AFTER',
  'ORDER_NUMBER',
  'DONE_BY',
  'REASON',
  'SERIALS',
] as const;

/** Lists names in the form of a statement: `"ORDER_NUMBER", "LINE_NUMBER"`. */
export const listNames = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

/** The column that says whether an order is cancelled, for queries that need it as well as the fields. */
export const CANCELLED: Column = [CANCELLED_MARK, `"${CANCELLED_MARK}"`];
/** Builds the value of a column as text. Only LINE_NUMBER is stored as a number, so that lines are stored in order. */
export const buildColumn = (name: string, of = ''): string =>
  name === 'LINE_NUMBER' ? `CAST(${of}"LINE_NUMBER" AS TEXT)` : `${of}"${name}"`;
export const columnsOf = (names: Iterable<string>): Column[] => Array.from(names, (name) => [name, buildColumn(name)]);

/** Lists the values of these fields, in their order. */
export const listValues = (names: readonly string[], values: Values): string[] =>
  names.map((name) => values[name] ?? '');

/** Builds the statement that inserts a row, by its values. The key is the first column, unless it is given. */
export function buildInsert(
  table: string,
  names: readonly string[],
  key: readonly string[] = names.slice(0, 1),
): (values: readonly Bound[]) => Statement {
  const sql = `INSERT INTO ${table} (${listNames(names)}) VALUES (${names.map(() => '?').join(', ')})`;
  const change: RowChange = { kind: 'insert', table, names, keysAt: key.map((name) => names.indexOf(name)) };
  return (values) => ({ sql, values, reads: false, change });
}

/** Builds the statement that updates these columns of a row. The values of the key come last. */
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

/** Makes the function that builds the statements that insert a record with this version, and its search index. */
export function buildRecordInsert(recordType: KeyedType, dictionary: FieldDictionary, dialect: ScriptDialect) {
  const { table } = RECORD_TYPES[recordType];
  const names = listColumns(recordType, dictionary);
  const others = Object.keys(dialect.recordColumns(dictionary, {}));
  const insert = buildInsert(dialect.table(table), ['SORT_KEY', VERSION, ...others, ...names]);
  return (sortKey: string, record: Values, version: string): readonly Statement[] => {
    const more = Object.values(dialect.recordColumns(dictionary, record));
    return [
      insert([sortKey, version, ...more, ...listValues(names, record)]),
      ...dialect.indexRecord(table, () => searchText(dictionary, record)),
    ];
  };
}

/**
 * Makes the function that builds the statements that update these fields of a record, its version, and its search index
 * if a field is searched. `record` has all fields, with their new values.
 */
export function buildRecordUpdate(recordType: KeyedType, dictionary: FieldDictionary, dialect: ScriptDialect) {
  const { table } = RECORD_TYPES[recordType];
  return (sortKey: string, names: readonly string[], record: Values): readonly Statement[] => {
    const more = dialect.recordColumns(dictionary, record, names);
    const columns = [...Object.keys(more), ...names, VERSION];
    const values = [...Object.values(more), ...listValues(names, record), newVersion(), sortKey];
    const update = buildUpdate(dialect.table(table), columns, ['SORT_KEY'], values);
    if (!names.some((name) => dictionary.get(name)?.searched)) return [update];
    return [update, ...dialect.indexRecord(table, () => searchText(dictionary, record), sortKey)];
  };
}

/** Returns the text of a record's search index: its searched fields, folded. */
export function searchText(dictionary: FieldDictionary, values: Values): string {
  let text = '';
  for (const { name, searched } of dictionary.values()) if (searched && values[name]) text += `${values[name]}\n`;
  return foldCase(text);
}
