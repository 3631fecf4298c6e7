/**
 * The SQL that writing needs of one tenant's inventory system, for every SQL store, written anew whenever its field dictionaries change. What differs
 * between the stores comes in as a dialect. Column names come from the dictionaries alone, values are always bound. Never runs anything.
 */
import { foldCase } from '../../pims/filter.ts';
import type { Values } from '../../pims/values.ts';
import { RECORD_TYPES, type Dictionaries, type FieldDictionary, type RecordType } from '../../pims/fields.ts';
import type { KeyedType } from '../../pims/port.ts';
import type { Dialect } from './where.ts';
import type { Statement } from '../writing.ts';

export interface WriterDialect extends Pick<Dialect, 'equals'> {
  /** A table as a statement names it: `"ORDERS"`, or with its schema before it. */
  table(name: string): string;
  /** The type of a column that holds a field. */
  readonly fieldType: string;
  /** What else is written when a field has been added. */
  readonly fieldsChanged: readonly Statement[];
  /** An expression that gives a row as JSON text with these names, each the value of its expression. */
  recordJson(columns: readonly Column[]): string;
  /** Makes what writes a new record of this type, whole, together with its search index. */
  insertRecord(
    recordType: KeyedType,
    dictionary: FieldDictionary,
  ): (sortKey: string, record: Values) => readonly Statement[];
  /** Makes what writes the named fields of a record, and its search index where one of them is searched. `record` is the whole as it is afterwards. */
  updateRecord(
    recordType: KeyedType,
    dictionary: FieldDictionary,
  ): (sortKey: string, names: readonly string[], record: Values) => readonly Statement[];
}

export type Column = readonly [name: string, expression: string];
export type WriteSql = ReturnType<typeof buildWriteSql>;

const EXPIRED_PER_WRITE = 20;

export function buildWriteSql(dictionaries: Dictionaries, dialect: WriterDialect) {
  const { orders, lines, customers, inventory } = dictionaries;
  const [orderTable, lineTable, partTable] = [
    dialect.table('ORDERS'),
    dialect.table('ORDER_LINEITEMS'),
    dialect.table('INVENTORY'),
  ];
  const [counters, answers] = [dialect.table('COUNTERS'), dialect.table('IDEMPOTENCY')];
  const record = (recordType: KeyedType): string =>
    `SELECT ${dialect.recordJson(columnsOf(dictionaries[recordType]))} ${bySortKey(recordType)}`;
  const bySortKey = (recordType: KeyedType): string =>
    `FROM ${dialect.table(RECORD_TYPES[recordType].table)} WHERE "SORT_KEY" = ?`;
  const lineJson = dialect.recordJson(columnsOf(lines));
  return {
    dictionaries,
    record: { orders: record('orders'), customers: record('customers'), inventory: record('inventory') },
    isThere: {
      orders: `SELECT 1 ${bySortKey('orders')}`,
      customers: `SELECT 1 ${bySortKey('customers')}`,
      inventory: `SELECT 1 ${bySortKey('inventory')}`,
    },
    insert: {
      orders: dialect.insertRecord('orders', orders),
      customers: dialect.insertRecord('customers', customers),
      inventory: dialect.insertRecord('inventory', inventory),
    },
    update: {
      orders: dialect.updateRecord('orders', orders),
      customers: dialect.updateRecord('customers', customers),
      inventory: dialect.updateRecord('inventory', inventory),
    },

    stageOfOrder: `SELECT "ORDER_TYPE", "DROP_SHIP" ${bySortKey('orders')}`,
    lines: `SELECT ${lineJson} FROM ${lineTable} WHERE "ORDER_NUMBER" = ? ORDER BY "LINE_NUMBER"`,
    line: `SELECT ${lineJson} FROM ${lineTable} WHERE "ORDER_NUMBER" = ? AND "LINE_REF_LOCK_CODE" = ?`,
    isLockCodeThere: `SELECT 1 FROM ${lineTable} WHERE "ORDER_NUMBER" = ? AND "LINE_REF_LOCK_CODE" = ?`,
    isLineThere: `SELECT 1 FROM ${lineTable} WHERE "ORDER_NUMBER" = ? AND "LINE_NUMBER" = ?`,
    lastLineNumber: `SELECT max("LINE_NUMBER") FROM ${lineTable} WHERE "ORDER_NUMBER" = ?`,
    insertLine: buildInsert(lineTable, [...lines.keys()]),
    updateLine: (names: readonly string[]): string =>
      `${buildUpdate(lineTable, names)} WHERE "ORDER_NUMBER" = ? AND "LINE_NUMBER" = ?`,
    deleteLines: `DELETE FROM ${lineTable} WHERE "ORDER_NUMBER" = ?`,

    part: `SELECT "PART_DESCRIPTION", "CARE_PLAN" ${bySortKey('inventory')}`,
    isLocationThere: `SELECT 1 FROM ${partTable} WHERE ${dialect.equals('"LOCATION_CODE"', true, () => '?1')} LIMIT 1`,
    stock: `SELECT "QTY_ONHAND", "QTY_COMMITTED" ${bySortKey('inventory')}`,
    setStock: `${buildUpdate(partTable, ['QTY_ONHAND', 'QTY_COMMITTED', 'QTY_AVAILABLE', 'MODIFIED_DATE'])} WHERE "SORT_KEY" = ?`,
    commitments: `SELECT l."PART_CODE", l."QUANTITY" FROM ${orderTable} o JOIN ${lineTable} l ON l."ORDER_NUMBER" = o."ORDER_NUMBER"
      WHERE o."ORDER_TYPE" = 'sales_order' AND o."DROP_SHIP" <> 'Y' AND l."CARE_PLAN" <> 'Y'`,

    addColumn: (recordType: RecordType, name: string): string =>
      `ALTER TABLE ${dialect.table(RECORD_TYPES[recordType].table)} ADD COLUMN "${name}" ${dialect.fieldType}`,
    addCustomField: buildInsert(dialect.table('CUSTOM_FIELDS'), ['RECORD_TYPE', 'NAME', 'TYPE']),
    fieldsChanged: dialect.fieldsChanged,

    nextNumber: `UPDATE ${counters} SET "NEXT" = "NEXT" + 1 WHERE "NAME" = ? RETURNING "NEXT" - 1`,
    raiseCounter: `UPDATE ${counters} SET "NEXT" = ? WHERE "NAME" = ? AND "NEXT" < ?`,

    answer: `SELECT "BODY_HASH", "ANSWER" FROM ${answers} WHERE "OPERATION" = ? AND "IDEMPOTENCY_KEY" = ?`,
    keepAnswer: buildInsert(answers, ['OPERATION', 'IDEMPOTENCY_KEY', 'BODY_HASH', 'ANSWER', 'CREATED_AT']),
    dropOldAnswers: `DELETE FROM ${answers} WHERE ("OPERATION", "IDEMPOTENCY_KEY") IN
      (SELECT "OPERATION", "IDEMPOTENCY_KEY" FROM ${answers} WHERE "CREATED_AT" < ? LIMIT ${EXPIRED_PER_WRITE})`,
  };
}

const quote = (name: string): string => `"${name}"`;
/** LINE_NUMBER alone is kept as a number, so that lines lie in their order; it goes out as text like all others. */
export const buildColumn = (name: string, of = ''): string =>
  name === 'LINE_NUMBER' ? `CAST(${of}"LINE_NUMBER" AS TEXT)` : `${of}"${name}"`;
export const columnsOf = (dictionary: FieldDictionary): Column[] =>
  [...dictionary.keys()].map((name) => [name, buildColumn(name)]);
export const buildInsert = (table: string, names: readonly string[]): string =>
  `INSERT INTO ${table} (${names.map(quote).join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
export const buildUpdate = (table: string, names: readonly string[]): string =>
  `UPDATE ${table} SET ${names.map((name) => `"${name}" = ?`).join(', ')}`;

/** What the search index holds of a record: its searched fields, folded. */
export function searchText(dictionary: FieldDictionary, values: Values): string {
  let text = '';
  for (const { name, searched } of dictionary.values()) if (searched && values[name]) text += `${values[name]}\n`;
  return foldCase(text);
}
