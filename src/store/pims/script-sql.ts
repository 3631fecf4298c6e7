/**
 * The statements of every request of a script, for both stores; a dialect says what differs. Built anew when the field
 * dictionaries change. Column names come from the dictionaries alone, values are always bound.
 */
import { ofKeyedTypes, RECORD_TYPES } from '../../pims/rules/fields.ts';
import type { Dictionaries, FieldDictionary, KeyedType, RecordType } from '../../pims/rules/fields.ts';
import type { Loads, LoadsOfMany, Saves, SavesOfMany } from '../../pims/writes/script.ts';
import { foldCase } from '../../pims/reads/filter.ts';
import { LINES_MAX } from '../../pims/rules/record-bounds.ts';
import { CANCELLED_MARK } from '../../pims/rules/stages.ts';
import { TOTALS_FIELDS, TOTALS_MARK } from '../../pims/rules/totals.ts';
import { sortKey, type Values } from '../../pims/rules/values.ts';
import { statement, type Bound, type Row, type RowChange, type Statement } from '../writing.ts';
import { newLockCode, newVersion } from './random-text.ts';
import { buildLoadsOfMany, buildSavesOfMany, type ListDialect } from './script-sql-of-many.ts';
import { tagColumn, VERSION } from './version.ts';
import type { Dialect } from './where.ts';

export interface ScriptDialect extends Pick<Dialect, 'equals'>, ListDialect {
  /** A table as a statement names it: `"ORDERS"`, or with its schema before it. */
  table(name: string): string;
  /** The type of a column that holds a field. */
  readonly fieldType: string;
  /** What else is saved when a field has been added. */
  readonly fieldsChanged: readonly Statement[];
  /** An expression that gives a row as JSON text with these names, each the value of its expression. */
  recordJson(columns: readonly Column[]): string;
  /** Builds what inserts a record of this type together with its search index. `version`: the first, see VERSION. */
  insertRecord(
    recordType: KeyedType,
    dictionary: FieldDictionary,
  ): (sortKey: string, record: Values, version: string) => readonly Statement[];
  /**
   * Builds what updates these fields of a record, its version, and its search index if a field is searched. `record`:
   * the new whole.
   */
  updateRecord(
    recordType: KeyedType,
    dictionary: FieldDictionary,
  ): (sortKey: string, names: readonly string[], record: Values) => readonly Statement[];
}

export type Column = readonly [name: string, expression: string];

/** A statement that loads, and what its rows mean. */
export interface Query<T> extends Statement {
  parse(rows: readonly Row[]): T;
}
type LoadSql<Of = Loads> = {
  readonly [Name in keyof Of]: Of[Name] extends (...args: infer Args) => infer T ? (...args: Args) => Query<T> : never;
};
type SaveSql<Of = Saves> = {
  readonly [Name in keyof Of]: Of[Name] extends (...args: infer Args) => void
    ? (...args: Args) => Iterable<Statement>
    : never;
};

/** The statements of every request of a script, under these dictionaries. */
export interface ScriptSql {
  readonly dictionaries: Dictionaries;
  readonly loads: LoadSql<Loads & LoadsOfMany>;
  readonly saves: SaveSql<Saves & SavesOfMany>;
}

const LINE_KEY = ['ORDER_NUMBER', 'LINE_NUMBER'];
/** Partial invoices after which a line is still found under its first order. */
const BACKORDERS_FOLLOWED = 100;
/** Answers deleted with each one that is kept, so that they never pile up and no write waits long for it. */
const EXPIRED_PER_WRITE = 20;

export function buildScriptSql(dictionaries: Dictionaries, dialect: ScriptDialect): ScriptSql {
  const one = buildSaves(dictionaries, dialect);
  const table = (name: string): string => dialect.table(name);
  const updatePart = dialect.updateRecord('inventory', dictionaries.inventory);
  return {
    dictionaries,
    loads: { ...buildLoads(dictionaries, dialect), ...buildLoadsOfMany(table, dialect) },
    saves: { ...one, ...buildSavesOfMany(table, dialect, { ...one, updatePart }) },
  };
}

function buildLoads(dictionaries: Dictionaries, dialect: ScriptDialect): LoadSql {
  const lineTable = dialect.table('ORDER_LINEITEMS');
  const bySortKey = ofKeyedTypes((recordType) => `FROM ${tableOf(dialect, recordType)} WHERE "SORT_KEY" = ?`);
  const record = ofKeyedTypes((recordType) => {
    const columns = listColumns(recordType, dictionaries[recordType]).map((name): Column => [name, buildColumn(name)]);
    return `SELECT ${dialect.recordJson(columns)} ${bySortKey[recordType]}`;
  });
  const isThere = ofKeyedTypes((recordType) => `SELECT 1 ${bySortKey[recordType]}`);
  const tag = ofKeyedTypes((recordType) => `SELECT ${tagColumn(dictionaries, recordType)} ${bySortKey[recordType]}`);
  const fields = (recordType: KeyedType, ...names: string[]) => {
    const sql = `SELECT ${names.map(quote).join(', ')} ${bySortKey[recordType]}`;
    return (key: string) => query(sql, [sortKey(key)], ([row]) => row && nameValues(names, row));
  };
  const ofOrder = `FROM ${lineTable} WHERE "ORDER_NUMBER" = ?`;
  const lineJson = dialect.recordJson(columnsOf(dictionaries.lines));
  const line = `SELECT ${lineJson} ${ofOrder} AND "LINE_REF_LOCK_CODE" = ?`;
  const lines = `SELECT ${lineJson} ${ofOrder} ORDER BY "LINE_NUMBER"`;
  const backorders = dialect.table('BACKORDERS');
  const orderOfMovedLine = `WITH RECURSIVE later("NUMBER", step) AS (
      SELECT "BACKORDER", 1 FROM ${backorders} WHERE "ORDER_NUMBER" = ?
      UNION ALL SELECT b."BACKORDER", step + 1
        FROM later JOIN ${backorders} b ON b."ORDER_NUMBER" = later."NUMBER" WHERE step < ${BACKORDERS_FOLLOWED})
    SELECT l."ORDER_NUMBER" FROM later JOIN ${lineTable} l ON l."ORDER_NUMBER" = later."NUMBER"
    WHERE l."LINE_REF_LOCK_CODE" = ? LIMIT 1`;
  const unitsOfLines = `SELECT "PART_CODE", "QUANTITY", count(*) ${ofOrder} AND "CARE_PLAN" <> 'Y'
    GROUP BY "PART_CODE", "QUANTITY"`;
  const lastLineNumber = `SELECT max("LINE_NUMBER") ${ofOrder}`;
  const lineCount = `SELECT count(*) FROM (SELECT 1 ${ofOrder} LIMIT ${LINES_MAX}) counted`;
  const atLocation = dialect.equals('"LOCATION_CODE"', true, () => '?1');
  const isLocationThere = `SELECT 1 FROM ${dialect.table('INVENTORY')} WHERE ${atLocation} LIMIT 1`;
  const nextNumber = `UPDATE ${dialect.table('COUNTERS')} SET "NEXT" = "NEXT" + 1
    WHERE "NAME" = ? RETURNING "NEXT" - 1`;
  const keptAnswer = `SELECT "BODY_HASH", "ANSWER" FROM ${dialect.table('IDEMPOTENCY')}
    WHERE "OPERATION" = ? AND "IDEMPOTENCY_KEY" = ?`;
  return {
    record: (recordType, key) => query(record[recordType], [sortKey(key)], parseRecord),
    isThere: (recordType, key) => query(isThere[recordType], [sortKey(key)], hasRow),
    tag: (recordType, key) => query(tag[recordType], [sortKey(key)], ([row]) => row && (row[0] as string)),
    isLocationThere: (code) => query(isLocationThere, [code], hasRow),
    orderStage: fields(
      'orders',
      'ORDER_NUMBER',
      'ORDER_TYPE',
      'DROP_SHIP',
      'MODIFIED_DATE',
      CANCELLED_MARK,
      ...TOTALS_FIELDS,
    ),
    part: fields('inventory', 'PART_DESCRIPTION', 'UNIT_PRICE', 'CARE_PLAN'),
    stock: fields('inventory', 'QTY_ONHAND', 'QTY_COMMITTED'),
    line: (orderNumber, lockCode) => query(line, [orderNumber, lockCode], parseRecord),
    orderOfMovedLine: (orderNumber, lockCode) =>
      query(orderOfMovedLine, [orderNumber, lockCode], ([found]) => found?.[0] as string | undefined),
    lines: (orderNumber) => query(lines, [orderNumber], parseRecords),
    unitsOfLines: (orderNumber) =>
      query(unitsOfLines, [orderNumber], (rows) =>
        rows.map(([part, quantity, count]) => [part as string, quantity as string, Number(count)] as const),
      ),
    lastLineNumber: (orderNumber) => query(lastLineNumber, [orderNumber], (rows) => Number(rows[0]![0] ?? 0)),
    lineCount: (orderNumber) => query(lineCount, [orderNumber], (rows) => Number(rows[0]![0])),
    nextNumber: (recordType) => query(nextNumber, [recordType], (rows) => String(rows[0]![0])),
    keptAnswer: (operation, key) =>
      query(keptAnswer, [operation, key], ([kept]) => kept && { bodyHash: kept[0] as string, data: kept[1] as string }),
  };
}

function buildSaves(dictionaries: Dictionaries, dialect: ScriptDialect): SaveSql {
  const lineTable = dialect.table('ORDER_LINEITEMS');
  const [counters, answers] = [dialect.table('COUNTERS'), dialect.table('IDEMPOTENCY')];
  const insert = ofKeyedTypes((recordType) => dialect.insertRecord(recordType, dictionaries[recordType]));
  const update = ofKeyedTypes((recordType) => dialect.updateRecord(recordType, dictionaries[recordType]));
  const lineNames = [...dictionaries.lines.keys()];
  const lineNumberAt = lineNames.indexOf('LINE_NUMBER');
  const insertLine = buildInsert(lineTable, lineNames);
  const lineInserted: RowChange = {
    kind: 'insert',
    table: lineTable,
    names: lineNames,
    keysAt: LINE_KEY.map((name) => lineNames.indexOf(name)),
  };
  const deleteLines = `DELETE FROM ${lineTable} WHERE "ORDER_NUMBER" = ?`;
  const backorders = dialect.table('BACKORDERS');
  const backorderNames = ['ORDER_NUMBER', 'BACKORDER'];
  const keepBackorder = buildInsert(backorders, backorderNames);
  const backorderKept: RowChange = { kind: 'insert', table: backorders, names: backorderNames, keysAt: [0] };
  const raiseCounter = `UPDATE ${counters} SET "NEXT" = ? WHERE "NAME" = ? AND "NEXT" < ?`;
  const answerNames = ['OPERATION', 'IDEMPOTENCY_KEY', 'BODY_HASH', 'ANSWER', 'CREATED_AT'];
  const keepAnswer = buildInsert(answers, answerNames);
  const answerKept: RowChange = { kind: 'insert', table: answers, names: answerNames, keysAt: [0, 1] };
  const deleteOldAnswers = `DELETE FROM ${answers} WHERE ("OPERATION", "IDEMPOTENCY_KEY") IN
    (SELECT "OPERATION", "IDEMPOTENCY_KEY" FROM ${answers} WHERE "CREATED_AT" < ? LIMIT ${EXPIRED_PER_WRITE})`;
  const addCustomField = buildInsert(dialect.table('CUSTOM_FIELDS'), ['RECORD_TYPE', 'NAME', 'TYPE']);
  return {
    insert: (recordType, record) =>
      insert[recordType](sortKey(record[RECORD_TYPES[recordType].key]!), record, newVersion()),
    update(recordType, record, change) {
      const key = sortKey(record[RECORD_TYPES[recordType].key]!);
      return update[recordType](key, changedNames(record, change), { ...record, ...change });
    },
    insertLine(line) {
      line['LINE_REF_LOCK_CODE'] ||= newLockCode();
      const values: Bound[] = listValues(lineNames, line);
      values[lineNumberAt] = Number(line['LINE_NUMBER']);
      return [{ sql: insertLine, values, reads: false, change: lineInserted }];
    },
    updateLine(line, change) {
      const names = changedNames(line, change);
      if (names.length === 0) return [];
      const values = [...listValues(names, change), line['ORDER_NUMBER']!, Number(line['LINE_NUMBER'])];
      return [buildUpdate(lineTable, names, LINE_KEY, values)];
    },
    deleteLines: (orderNumber) => [statement(deleteLines, orderNumber)],
    keepBackorder: (...numbers) => [{ ...statement(keepBackorder, ...numbers), change: backorderKept }],
    raiseCounter: (recordType, number) => [statement(raiseCounter, number + 1n, recordType, number + 1n)],
    keepAnswer: ({ operation, key, bodyHash, keptMs }, data, now) => [
      { ...statement(deleteOldAnswers, new Date(Date.parse(now) - keptMs).toISOString()), commutes: true },
      { ...statement(keepAnswer, operation, key, bodyHash, data, now), change: answerKept },
    ],
    addField: ({ recordType, name, type }) => [
      statement(`ALTER TABLE ${tableOf(dialect, recordType)} ADD COLUMN "${name}" ${dialect.fieldType}`),
      statement(addCustomField, recordType, name, type),
      ...dialect.fieldsChanged,
    ],
  };
}

const tableOf = (dialect: ScriptDialect, recordType: RecordType): string =>
  dialect.table(RECORD_TYPES[recordType].table);

function query<T>(sql: string, values: readonly Bound[], parse: Query<T>['parse']): Query<T> {
  return { sql, values, reads: true, parse };
}

function nameValues(names: readonly string[], row: Row): Values {
  const values: Values = {};
  for (const [index, name] of names.entries()) values[name] = row[index] as string;
  return values;
}

const hasRow = (rows: readonly Row[]): boolean => rows.length > 0;
const parseRecord = ([row]: readonly Row[]): Values | undefined => row && (JSON.parse(row[0] as string) as Values);
const parseRecords = (rows: readonly Row[]): Values[] => rows.map((row) => JSON.parse(row[0] as string) as Values);
const changedNames = (record: Values, change: Values): string[] =>
  Object.keys(change).filter((name) => change[name] !== record[name]);

/** Updates these columns of a record, and its version. The sort key comes last. */
export const buildRecordUpdate = (table: string, names: readonly string[], values: readonly Bound[], key: string) =>
  buildUpdate(table, [...names, VERSION], ['SORT_KEY'], [...values, newVersion(), key]);

/** The values of these fields, in their order. */
export const listValues = (names: readonly string[], values: Values): string[] =>
  names.map((name) => values[name] ?? '');

const quote = (name: string): string => `"${name}"`;
/** Whether an order is cancelled, for records that say it. */
export const CANCELLED: Column = [CANCELLED_MARK, quote(CANCELLED_MARK)];
/** The columns of a record: its fields, and whether an order is cancelled. */
export const listColumns = (recordType: KeyedType, dictionary: FieldDictionary): string[] =>
  recordType === 'orders' ? [...dictionary.keys(), CANCELLED_MARK, TOTALS_MARK] : [...dictionary.keys()];
/** LINE_NUMBER alone is kept as a number, so that lines lie in their order; it goes out as text like all others. */
export const buildColumn = (name: string, of = ''): string =>
  name === 'LINE_NUMBER' ? `CAST(${of}"LINE_NUMBER" AS TEXT)` : `${of}"${name}"`;
export const columnsOf = (dictionary: FieldDictionary): Column[] =>
  [...dictionary.keys()].map((name) => [name, buildColumn(name)]);
export const buildInsert = (table: string, names: readonly string[]): string =>
  `INSERT INTO ${table} (${names.map(quote).join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
/** Updates these columns of a row. The values of its key come last. */
const buildUpdate = (
  table: string,
  names: readonly string[],
  key: readonly string[],
  values: readonly Bound[],
): Statement => {
  const equal = (name: string): string => `"${name}" = ?`;
  const sql = `UPDATE ${table} SET ${names.map(equal).join(', ')} WHERE ${key.map(equal).join(' AND ')}`;
  const keysAt = key.map((_, at) => names.length + at);
  return { sql, values, reads: false, change: { kind: 'update', table, names: [...names, ...key], keysAt } };
};

/** What the search index holds of a record: its searched fields, folded. */
export function searchText(dictionary: FieldDictionary, values: Values): string {
  let text = '';
  for (const { name, searched } of dictionary.values()) if (searched && values[name]) text += `${values[name]}\n`;
  return foldCase(text);
}
