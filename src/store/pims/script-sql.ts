/**
 * The statements with which a script loads and saves, for both stores; a dialect contains their differences. They are
 * built again when the field dictionaries change. Column names come only from the dictionaries, and values are always
 * bound. Statements that load many records bind the keys as one JSON list; each saved record has a statement.
 */
import {
  ofKeyedTypes,
  RECORD_TYPES,
  type Dictionaries,
  type FieldDictionary,
  type KeyedType,
} from '../../pims/rules/fields.ts';
import { LINES_MAX } from '../../pims/rules/record-bounds.ts';
import { CANCELLED_MARK } from '../../pims/rules/stages.ts';
import { changedNames, sortKey, sortKeyOfLine, type Values } from '../../pims/rules/values.ts';
import { listColumns, ORDER_FIELDS, STAGE_FIELDS } from '../../pims/writes/kinds-of-loads.ts';
import { keyOf } from '../../pims/writes/kinds-of-saves.ts';
import type { KeptSerial, LedgerRow, Load, LoadsOfMany, Save, Saves } from '../../pims/writes/script.ts';
import { statement, type Bound, type Row, type Statement } from '../sql/writing.ts';
import { buildLineSaves } from './line-sql.ts';
import { buildLooks, type LookSql } from './look-sql.ts';
import {
  buildInsert,
  buildRecordInsert,
  buildRecordUpdate,
  columnsOf,
  LEDGER_ROW,
  listNames,
  newVersion,
  tagColumn,
  VERSION,
  type LoadSql,
  type Query,
  type ScriptDialect,
} from './row-sql.ts';

/** The number of partial invoices after which a line can still be found under its first order. */
const BACKORDERS_FOLLOWED = 100;

/** The columns of `returnedLines`. */
const RETURNED = ['ORDER_NUMBER', 'SUBTOTAL', 'TAX_TOTAL', 'ORDER_TOTAL', 'LINE_NUMBER', 'QUANTITY', 'SERIAL_NUMBERS'];

const query = <T>(sql: string, values: readonly Bound[], parse: Query<T>['parse']) => ({
  sql,
  values,
  reads: true,
  parse,
});

/** Makes a load that binds its arguments. */
const makeLoad =
  <Args extends Bound[], T>(sql: string, parse: Query<T>['parse']) =>
  (...args: Args) =>
    query(sql, args, parse);

function buildLoads(dictionaries: Dictionaries, dialect: ScriptDialect): LoadSql {
  const lines = dialect.table('ORDER_LINEITEMS');
  const from = (recordType: KeyedType) => `FROM ${dialect.table(RECORD_TYPES[recordType].table)}`;
  /** Makes a load of one record by its key. */
  const byKey = <T>(select: (recordType: KeyedType) => string, parse: Query<T>['parse']) => {
    const sql = ofKeyedTypes((recordType) => `SELECT ${select(recordType)} ${from(recordType)} WHERE "SORT_KEY" = ?`);
    return (recordType: KeyedType, key: string) => query(sql[recordType], [sortKey(key)], parse);
  };
  const fields = (recordType: KeyedType, ...names: string[]) => {
    const loadFields = byKey(
      () => listNames(names),
      ([row]) => row && nameValues(names, row),
    );
    return (key: string) => loadFields(recordType, key);
  };
  const { linesOf } = dialect;
  const { column } = linesOf;
  const orders = dialect.table('ORDERS');
  const isBackorder = (of: string) => dialect.equals('b."BACKORDER_OF"', true, () => of);
  return {
    ...buildLoadsOfMany(dialect),
    ...buildLineLoads(dictionaries.lines, dialect),
    record: byKey(
      (recordType) => dialect.recordJson(columnsOf(listColumns(recordType, dictionaries[recordType]))),
      parseRecord,
    ),
    isThere: byKey(() => '1', hasRow),
    tag: byKey((recordType) => tagColumn(dictionaries, recordType), firstText),
    isLocationThere: makeLoad(
      `SELECT 1 ${from('inventory')} WHERE ${dialect.equals('"LOCATION_CODE"', true, () => '?1')} LIMIT 1`,
      hasRow,
    ),
    orderStage: fields('orders', ...STAGE_FIELDS),
    part: fields('inventory', 'PART_DESCRIPTION', 'UNIT_PRICE', 'SERIALIZED', 'CARE_PLAN'),
    stock: fields('inventory', 'QTY_ONHAND', 'QTY_COMMITTED', 'SERIALIZED'),
    orderOfMovedLine: makeLoad(
      `WITH RECURSIVE later("NUMBER", "OF", step) AS (
        SELECT b."ORDER_NUMBER", b."${column}", 1 FROM ${orders} b WHERE ${isBackorder('?1')}
        UNION ALL SELECT b."ORDER_NUMBER", b."${column}", step + 1
          FROM later JOIN ${orders} b ON ${isBackorder('later."NUMBER"')} WHERE step < ${BACKORDERS_FOLLOWED})
      SELECT l."ORDER_NUMBER" FROM later CROSS JOIN ${lines} l
      WHERE ${linesOf.isOf(`l."${column}"`, 'later."OF"')} AND l."LINE_REF_LOCK_CODE" = ?2 LIMIT 1`,
      firstText,
    ),
    returnedLines: makeLoad(
      `SELECT ${listNames(RETURNED)} FROM
        (SELECT "${column}" AS "OF", "LINE_NUMBER", "QUANTITY", "SERIAL_NUMBERS" FROM ${lines}) l
        JOIN ${orders} b ON ${linesOf.isOf('l."OF"', `b."${column}"`)}
        WHERE ${dialect.equals('b."RETURN_OF"', true, () => '?1')} AND b."${CANCELLED_MARK}" <> 'Y' ORDER BY "SORT_KEY"`,
      (rows) => rows.map((row) => nameValues(RETURNED, row)),
    ),
    nextNumber: makeLoad(
      `UPDATE ${dialect.table('COUNTERS')} SET "NEXT" = "NEXT" + 1 WHERE "NAME" = ? RETURNING "NEXT" - 1`,
      (rows) => String(firstNumber(rows)),
    ),
    serialsInStock: makeLoad(
      `SELECT "PART_CODE", "SERIAL", "ORDER_NUMBER" FROM ${dialect.table('SERIALS')}
        WHERE "PART_CODE" = ? AND "ORDER_NUMBER" = '' ORDER BY "SERIAL" LIMIT ?`,
      (rows) => rows as readonly KeptSerial[],
    ),
    keptAnswer: makeLoad(
      `SELECT "BODY_HASH", "ANSWER" FROM ${dialect.table('IDEMPOTENCY')}
        WHERE "OPERATION" = ? AND "IDEMPOTENCY_KEY" = ?`,
      ([kept]) => kept && { bodyHash: kept[0] as string, data: kept[1] as string },
    ),
  };
}

/** Builds the loads of the lines of an order. */
function buildLineLoads(dictionary: FieldDictionary, dialect: ScriptDialect) {
  const { linesOf } = dialect;
  const lineJson = dialect.recordJson(columnsOf(dictionary.keys()));
  const ofOrder = `FROM ${dialect.table('ORDER_LINEITEMS')} WHERE ${linesOf.isOf(`"${linesOf.column}"`)}`;
  const byOrder =
    <Args extends Bound[], T>(sql: string, parse: Query<T>['parse']) =>
    (orderNumber: string, ...args: Args) =>
      query(sql, [linesOf.bind(orderNumber), ...args], parse);
  return {
    line: byOrder(`SELECT ${lineJson} ${ofOrder} AND "LINE_REF_LOCK_CODE" = ?`, parseRecord),
    lines: byOrder(`SELECT ${lineJson} ${ofOrder} ORDER BY "${linesOf.by}"`, (rows) =>
      rows.map((row) => parseRecord([row])!),
    ),
    unitsOfLines: byOrder(
      `SELECT "PART_CODE", "QUANTITY", count(*) ${ofOrder} AND "CARE_PLAN" <> 'Y' GROUP BY "PART_CODE", "QUANTITY"`,
      (rows) => rows.map(([part, quantity, count]) => [part as string, quantity as string, Number(count)]),
    ),
    lastLineNumber: byOrder(
      `SELECT (SELECT "LINE_NUMBER" ${ofOrder} ORDER BY "${linesOf.by}" DESC LIMIT 1)`,
      firstNumber,
    ),
    lineCount: byOrder(`SELECT count(*) FROM (SELECT 1 ${ofOrder} LIMIT ${LINES_MAX}) counted`, firstNumber),
  } satisfies Partial<LoadSql>;
}

function buildLoadsOfMany({ table, list, items, linesOf }: ScriptDialect): LoadSql<keyof LoadsOfMany> {
  const inList = `IN (${list})`;
  const lines = `FROM ${table('ORDER_LINEITEMS')} l WHERE`;
  const { column, isOf } = linesOf;
  const ofOrder = (of: string) => isOf(`l."${column}"`, `${of}."${column}"`);
  const byKeys = <T>(select: string, recordType: KeyedType, parse: Query<T>['parse']) => {
    const sql = `SELECT ${select} FROM ${table(RECORD_TYPES[recordType].table)} r WHERE "SORT_KEY" ${inList}`;
    return (keys: readonly string[]) => query(sql, [JSON.stringify(keys.map(sortKey))], parse);
  };
  const fields = (recordType: KeyedType, ...names: string[]) =>
    byKeys(listNames(names), recordType, (rows) => rows.map((row) => nameValues(names, row)));
  const keys = ofKeyedTypes((recordType) =>
    byKeys(`"${RECORD_TYPES[recordType].key}"`, recordType, (rows) => rows.map(([key]) => key as string)),
  );
  const ofList =
    <Item, T>(sql: string, parse: Query<T>['parse']) =>
    (these: readonly Item[]) =>
      query(sql, [JSON.stringify(these)], parse);
  const findLines = ofList(
    `SELECT q.key FROM ${items('?')} q WHERE CASE WHEN q.value ->> 1 <> ''
      THEN EXISTS (SELECT 1 ${lines} l."SORT_KEY" = q.value ->> 1)
      ELSE EXISTS (SELECT 1 ${lines} ${isOf(`l."${column}"`, 'q.value ->> 0')} AND l."LINE_REF_LOCK_CODE" = q.value ->> 2) END`,
    (rows) => rows.map(([key]) => key as number),
  );
  return {
    areThere: (recordType, wanted) => keys[recordType](wanted),
    ordersOfLines: byKeys(
      `${listNames(ORDER_FIELDS)}, (SELECT l."LINE_NUMBER" ${lines} ${ofOrder('r')} ORDER BY l."${linesOf.by}" DESC LIMIT 1)`,
      'orders',
      (rows) => rows.map((row) => nameValues([...ORDER_FIELDS, 'LINE_NUMBER'], row)),
    ),
    areLinesThere: (names) => {
      const named = names.map(([ORDER_NUMBER, number, lockCode]) => {
        const key = number > 0 ? sortKeyOfLine({ ORDER_NUMBER, LINE_NUMBER: String(number) }) : '';
        return [linesOf.bind(ORDER_NUMBER), key, lockCode];
      });
      return findLines(named);
    },
    parts: fields('inventory', 'PART_CODE', 'PART_DESCRIPTION', 'CARE_PLAN'),
    stocks: fields('inventory', 'PART_CODE', 'QTY_ONHAND', 'QTY_COMMITTED'),
    // Without the index of parts: SQLite would seek each part in each order.
    commitments: ofList(
      `SELECT l."PART_CODE", l."QUANTITY" FROM ${table('ORDERS')} o
        JOIN ${table('ORDER_LINEITEMS')} l ON ${ofOrder('o')}
        WHERE o."ORDER_TYPE" = 'sales_order' AND o."DROP_SHIP" <> 'Y' AND o."${CANCELLED_MARK}" <> 'Y'
          AND l."CARE_PLAN" <> 'Y' AND l."PART_CODE" || '' ${inList}`,
      (rows) => rows as readonly [string, string][],
    ),
    serials: ofList(
      `SELECT s."PART_CODE", s."SERIAL", s."ORDER_NUMBER" FROM ${items('?')} q
        JOIN ${table('SERIALS')} s ON s."PART_CODE" = q.value ->> 0 AND s."SERIAL" = q.value ->> 1`,
      (rows) => rows as readonly KeptSerial[],
    ),
    counter: makeLoad(`SELECT "NEXT" FROM ${table('COUNTERS')} WHERE "NAME" = ?`, firstNumber),
  };
}

/** Names the values of a row. A missing number is 0. */
function nameValues(names: readonly string[], row: Row): Values {
  const values: Values = {};
  for (const [index, name] of names.entries()) values[name] = String((row[index] as Bound) ?? 0);
  return values;
}

const hasRow = (rows: readonly Row[]) => rows.length > 0;
const firstText = ([row]: readonly Row[]): string | undefined => row?.[0] as string | undefined;
const firstNumber = ([row]: readonly Row[]) => Number(row![0] ?? 0);
const parseRecord = ([row]: readonly Row[]): Values | undefined => row && (JSON.parse(row[0] as string) as Values);

type SaveSql = {
  readonly [Name in keyof Saves]: (...args: Parameters<Saves[Name]>) => Iterable<Statement>;
};

const ANSWER = ['OPERATION', 'IDEMPOTENCY_KEY', 'BODY_HASH', 'ANSWER', 'CREATED_AT'];
const STOCK = ['QTY_ONHAND', 'QTY_COMMITTED', 'QTY_AVAILABLE', 'MODIFIED_DATE'];
/**
 * The number of expired responses to delete whenever one is kept, so that they never pile up and no write waits long.
 */
const EXPIRED_PER_WRITE = 20;
const CHANGES_PER_DELETION = 1000;

function buildSaves(dictionaries: Dictionaries, dialect: ScriptDialect): SaveSql {
  const answers = dialect.table('IDEMPOTENCY');
  const insert = ofKeyedTypes((recordType) => {
    const insertRecord = buildRecordInsert(recordType, dictionaries[recordType], dialect);
    return (record: Values) => insertRecord(sortKey(keyOf(recordType, record)), record, newVersion());
  });
  const update = ofKeyedTypes((recordType) => buildRecordUpdate(recordType, dictionaries[recordType], dialect));
  const lineSaves = buildLineSaves(dictionaries.lines, dialect);
  const keepAnswer = buildInsert(answers, ANSWER, ANSWER.slice(0, 2));
  const deleteOldAnswers = `DELETE FROM ${answers} WHERE ("OPERATION", "IDEMPOTENCY_KEY") IN
    (SELECT "OPERATION", "IDEMPOTENCY_KEY" FROM ${answers} WHERE "CREATED_AT" < ? LIMIT ${EXPIRED_PER_WRITE})`;
  const addCustomField = buildInsert(dialect.table('CUSTOM_FIELDS'), ['RECORD_TYPE', 'NAME', 'TYPE']);
  const changes = dialect.table('CHANGES');
  const recordChanges = `INSERT INTO ${changes}
    SELECT coalesce(max("SEQ"), 0) + ?, coalesce(max("SEQ"), 0), ?, ? FROM ${changes}`;
  const deleteChanges = `DELETE FROM ${changes} WHERE "AT" < ? AND "SEQ" < (SELECT max("SEQ") FROM ${changes})
    AND "SEQ" IN (SELECT "SEQ" FROM ${changes} ORDER BY "SEQ" LIMIT ${CHANGES_PER_DELETION})`;
  const moveVersions = `UPDATE ${dialect.table('ORDERS')} SET "${VERSION}" = ? WHERE "SORT_KEY" IN (${dialect.list})`;
  return {
    insert: (recordType, record) => insert[recordType](record),
    *insertAll(recordType, records) {
      for (const record of records) yield* insert[recordType](record);
    },
    update(recordType, record, change) {
      const key = sortKey(keyOf(recordType, record));
      return update[recordType](key, changedNames(record, change), { ...record, ...change });
    },
    *updateStocks(parts) {
      for (const [, part] of parts) yield* update.inventory(sortKey(part['PART_CODE']!), STOCK, part);
    },
    ...lineSaves,
    *insertLines(these) {
      for (const line of these) yield* lineSaves.insertLine(line);
      const orders = new Set(these.map((line) => sortKey(line['ORDER_NUMBER']!)));
      if (orders.size > 0) yield statement(moveVersions, newVersion(), JSON.stringify([...orders]));
    },
    raiseCounter: (recordType, number) => [
      statement(
        `UPDATE ${dialect.table('COUNTERS')} SET "NEXT" = ? WHERE "NAME" = ? AND "NEXT" < ?`,
        number + 1n,
        recordType,
        number + 1n,
      ),
    ],
    keepAnswer: ({ operation, key, bodyHash, keptMs }, data, now) => [
      { ...statement(deleteOldAnswers, new Date(Date.parse(now) - keptMs).toISOString()), commutes: true },
      keepAnswer([operation, key, bodyHash, data, now]),
    ],
    addField: ({ recordType, name, type }) => [
      statement(
        `ALTER TABLE ${dialect.table(RECORD_TYPES[recordType].table)} ADD COLUMN "${name}" ${dialect.fieldType}`,
      ),
      addCustomField([recordType, name, type]),
      ...dialect.fieldsChanged,
    ],
    ...buildLedgerSaves(dialect),
    recordChanges: (changed, now) => [
      { ...statement(recordChanges, changed.length, now, JSON.stringify(changed)), isFeed: true },
    ],
    deleteChanges: (before) => [statement(deleteChanges, before)],
  };
}

/** Merges statements of `recordChanges`, if there are any: their changes become one row, with the time of the last. */
export function mergeFeed(statements: readonly Statement[]): Statement[] {
  const count = statements.reduce((sum, { values }) => sum + (values[0] as number), 0);
  const changed = statements.map(({ values }) => (values[2] as string).slice(1, -1)).join();
  return statements.slice(-1).map(({ sql, values }) => statement(sql, count, values[1]!, `[${changed}]`));
}

function buildLedgerSaves({
  table,
}: ScriptDialect): Pick<SaveSql, 'recordMovements' | 'openLedger' | 'saveSerials' | 'deleteSerials'> {
  const movements = table('MOVEMENTS');
  const places = LEDGER_ROW.map((_, at) => `?${at + 1}`).join(', ');
  const recordMovement = `INSERT INTO ${movements} (${listNames(LEDGER_ROW)}, "NUMBER")
    SELECT ${places}, coalesce(max("NUMBER"), 0) + 1 FROM ${movements} WHERE "PART_CODE" = ?1`;
  const openLedger = buildInsert(movements, [...LEDGER_ROW, 'NUMBER'], ['PART_CODE']);
  const valuesOfLedger = (row: LedgerRow) => LEDGER_ROW.map((name) => row[name]);
  const saveSerial = `INSERT INTO ${table('SERIALS')} ("PART_CODE", "SERIAL", "ORDER_NUMBER") VALUES (?, ?, ?)
    ON CONFLICT ("PART_CODE", "SERIAL") DO UPDATE SET "ORDER_NUMBER" = excluded."ORDER_NUMBER"`;
  const deleteSerial = `DELETE FROM ${table('SERIALS')} WHERE "PART_CODE" = ? AND "SERIAL" = ?`;
  return {
    recordMovements: (rows) => rows.map((row) => statement(recordMovement, ...valuesOfLedger(row))),
    openLedger: (rows) => rows.map((row) => openLedger([...valuesOfLedger(row), 1])),
    saveSerials: (serials) => serials.map((serial) => statement(saveSerial, ...serial)),
    deleteSerials: (serials) => serials.map(([part, serial]) => statement(deleteSerial, part, serial)),
  };
}

export interface ScriptSql {
  readonly dictionaries: Dictionaries;
  readonly loads: LoadSql;
  readonly saves: SaveSql;
  readonly looks: LookSql;
}

/** Builds the statement of a load. */
export const buildLoad = ({ loads }: ScriptSql, { name, args }: Load) =>
  (loads[name] as (...of: unknown[]) => Query<unknown>)(...args);
/** Builds the statements of a save. */
export const buildSave = ({ saves }: ScriptSql, { name, args }: Save) =>
  (saves[name] as (...of: unknown[]) => Iterable<Statement>)(...args);

export const buildScriptSql = (dictionaries: Dictionaries, dialect: ScriptDialect): ScriptSql => ({
  dictionaries,
  loads: buildLoads(dictionaries, dialect),
  saves: buildSaves(dictionaries, dialect),
  looks: buildLooks(dialect),
});
