/**
 * The statements with which a script loads, and the meaning of their rows. Statements that load many records bind the
 * keys as one JSON list.
 */
import { ofKeyedTypes, RECORD_TYPES, type Dictionaries, type KeyedType } from '../../pims/rules/fields.ts';
import { LINES_MAX } from '../../pims/rules/record-bounds.ts';
import type { KeptSerial, Loads, LoadsOfMany } from '../../pims/writes/script.ts';
import { CANCELLED_MARK } from '../../pims/rules/stages.ts';
import { TOTALS_FIELDS } from '../../pims/rules/totals.ts';
import { sortKey, type Values } from '../../pims/rules/values.ts';
import type { Bound, Row, Statement } from '../writing.ts';
import type { ScriptDialect } from './dialect.ts';
import { columnsOf, listColumns, listNames } from './row-sql.ts';
import { tagColumn } from './version.ts';

/** A statement that loads, and the conversion of its rows. */
export interface Query<T> extends Statement {
  parse(rows: readonly Row[]): T;
}
export type LoadSql<Of = Loads & LoadsOfMany> = {
  readonly [Name in keyof Of]: Of[Name] extends (...args: infer Args) => infer T ? (...args: Args) => Query<T> : never;
};

/** The number of partial invoices after which a line can still be found under its first order. */
const BACKORDERS_FOLLOWED = 100;
/** The fields of an order on which its lines depend. */
const ORDER_FIELDS = ['ORDER_NUMBER', 'ORDER_TYPE', 'DROP_SHIP', CANCELLED_MARK, ...TOTALS_FIELDS];
/** The columns that `orderStage` loads. */
export const STAGE_FIELDS = ['MODIFIED_DATE', ...ORDER_FIELDS];

const query = <T>(sql: string, values: readonly Bound[], parse: Query<T>['parse']): Query<T> => ({
  sql,
  values,
  reads: true,
  parse,
});

/** Makes a load that binds its arguments. */
const load =
  <Args extends Bound[], T>(sql: string, parse: Query<T>['parse']) =>
  (...args: Args): Query<T> =>
    query(sql, args, parse);

export function buildLoads(dictionaries: Dictionaries, dialect: ScriptDialect): LoadSql<Loads> {
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
  const ofOrder = `FROM ${lines} WHERE "ORDER_NUMBER" = ?`;
  const lineJson = dialect.recordJson(columnsOf(dictionaries.lines.keys()));
  const backorders = dialect.table('BACKORDERS');
  return {
    record: byKey(
      (recordType) => dialect.recordJson(columnsOf(listColumns(recordType, dictionaries[recordType]))),
      parseRecord,
    ),
    isThere: byKey(() => '1', hasRow),
    tag: byKey((recordType) => tagColumn(dictionaries, recordType), firstText),
    isLocationThere: load(
      `SELECT 1 ${from('inventory')} WHERE ${dialect.equals('"LOCATION_CODE"', true, () => '?1')} LIMIT 1`,
      hasRow,
    ),
    orderStage: fields('orders', ...STAGE_FIELDS),
    part: fields('inventory', 'PART_DESCRIPTION', 'UNIT_PRICE', 'CARE_PLAN'),
    stock: fields('inventory', 'QTY_ONHAND', 'QTY_COMMITTED', 'SERIALIZED'),
    line: load(`SELECT ${lineJson} ${ofOrder} AND "LINE_REF_LOCK_CODE" = ?`, parseRecord),
    orderOfMovedLine: load(
      `WITH RECURSIVE later("NUMBER", step) AS (
        SELECT "BACKORDER", 1 FROM ${backorders} WHERE "ORDER_NUMBER" = ?
        UNION ALL SELECT b."BACKORDER", step + 1
          FROM later JOIN ${backorders} b ON b."ORDER_NUMBER" = later."NUMBER" WHERE step < ${BACKORDERS_FOLLOWED})
      SELECT l."ORDER_NUMBER" FROM later JOIN ${lines} l ON l."ORDER_NUMBER" = later."NUMBER"
      WHERE l."LINE_REF_LOCK_CODE" = ? LIMIT 1`,
      firstText,
    ),
    lines: load(`SELECT ${lineJson} ${ofOrder} ORDER BY "LINE_NUMBER"`, (rows) =>
      rows.map((row) => parseRecord([row])!),
    ),
    unitsOfLines: load(
      `SELECT "PART_CODE", "QUANTITY", count(*) ${ofOrder} AND "CARE_PLAN" <> 'Y' GROUP BY "PART_CODE", "QUANTITY"`,
      (rows) => rows.map(([part, quantity, count]) => [part as string, quantity as string, Number(count)]),
    ),
    lastLineNumber: load(`SELECT max("LINE_NUMBER") ${ofOrder}`, firstNumber),
    lineCount: load(`SELECT count(*) FROM (SELECT 1 ${ofOrder} LIMIT ${LINES_MAX}) counted`, firstNumber),
    nextNumber: load(
      `UPDATE ${dialect.table('COUNTERS')} SET "NEXT" = "NEXT" + 1 WHERE "NAME" = ? RETURNING "NEXT" - 1`,
      (rows) => String(firstNumber(rows)),
    ),
    keptAnswer: load(
      `SELECT "BODY_HASH", "ANSWER" FROM ${dialect.table('IDEMPOTENCY')}
        WHERE "OPERATION" = ? AND "IDEMPOTENCY_KEY" = ?`,
      ([kept]) => kept && { bodyHash: kept[0] as string, data: kept[1] as string },
    ),
  };
}

export function buildLoadsOfMany({ table, list, items }: ScriptDialect): LoadSql<LoadsOfMany> {
  const inList = `IN (${list})`;
  const lines = `FROM ${table('ORDER_LINEITEMS')} l WHERE l."ORDER_NUMBER"`;
  const ofLine = `SELECT 1 ${lines} = q.value ->> 0`;
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
  return {
    areThere: (recordType, wanted) => keys[recordType](wanted),
    ordersOfLines: byKeys(
      `${listNames(ORDER_FIELDS)}, (SELECT max(l."LINE_NUMBER") ${lines} = r."ORDER_NUMBER")`,
      'orders',
      (rows) => rows.map((row) => nameValues([...ORDER_FIELDS, 'LINE_NUMBER'], row)),
    ),
    areLinesThere: ofList(
      `SELECT q.place FROM ${items} q WHERE CASE WHEN CAST(q.value ->> 1 AS INTEGER) > 0
        THEN EXISTS (${ofLine} AND l."LINE_NUMBER" = CAST(q.value ->> 1 AS INTEGER))
        ELSE EXISTS (${ofLine} AND l."LINE_REF_LOCK_CODE" = q.value ->> 2) END`,
      (rows) => rows.map(([place]) => place as number),
    ),
    parts: fields('inventory', 'PART_CODE', 'PART_DESCRIPTION', 'CARE_PLAN'),
    stocks: fields('inventory', 'PART_CODE', 'QTY_ONHAND', 'QTY_COMMITTED'),
    commitments: ofList(
      `SELECT l."PART_CODE", l."QUANTITY" FROM ${table('ORDERS')} o
        JOIN ${table('ORDER_LINEITEMS')} l ON l."ORDER_NUMBER" = o."ORDER_NUMBER"
        WHERE o."ORDER_TYPE" = 'sales_order' AND o."DROP_SHIP" <> 'Y' AND o."${CANCELLED_MARK}" <> 'Y'
          AND l."CARE_PLAN" <> 'Y' AND l."PART_CODE" ${inList}`,
      (rows) => rows as readonly [string, string][],
    ),
    serials: ofList(
      `SELECT s."PART_CODE", s."SERIAL", s."ORDER_NUMBER" FROM ${items} q
        JOIN ${table('SERIALS')} s ON s."PART_CODE" = q.value ->> 0 AND s."SERIAL" = q.value ->> 1`,
      (rows) => rows as readonly KeptSerial[],
    ),
    counter: load(`SELECT "NEXT" FROM ${table('COUNTERS')} WHERE "NAME" = ?`, firstNumber),
  };
}

/** A missing number is 0. */
function nameValues(names: readonly string[], row: Row): Values {
  const values: Values = {};
  for (const [index, name] of names.entries()) values[name] = String((row[index] as Bound) ?? 0);
  return values;
}

const hasRow = (rows: readonly Row[]) => rows.length > 0;
const firstText = ([row]: readonly Row[]): string | undefined => row?.[0] as string | undefined;
const firstNumber = ([row]: readonly Row[]) => Number(row![0] ?? 0);
const parseRecord = ([row]: readonly Row[]): Values | undefined => row && (JSON.parse(row[0] as string) as Values);
