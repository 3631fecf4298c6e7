/**
 * The statements of the requests of a script that load or save many records at once. The keys go as one JSON list, the
 * records as a statement each, which a store may send together.
 */
import { ofKeyedTypes, RECORD_TYPES, type KeyedType } from '../../pims/rules/fields.ts';
import type { LineName, NumberedType } from '../../pims/writes/script.ts';
import { CANCELLED_MARK } from '../../pims/rules/stages.ts';
import { TOTALS_FIELDS } from '../../pims/rules/totals.ts';
import { sortKey, type Values } from '../../pims/rules/values.ts';
import { statement, type Bound, type Row, type Statement } from '../writing.ts';
import { newVersion } from './random-text.ts';
import { VERSION } from './version.ts';

/** What differs between the stores. */
export interface ListDialect {
  /** Gives the texts of a JSON list. */
  readonly list: string;
  /** Gives the items of a JSON list, with their `place` and JSON `value`, as a table. */
  readonly items: string;
}

export function buildLoadsOfMany(table: (name: string) => string, { list, items }: ListDialect) {
  const inList = `IN (${list})`;
  const tableOf = (recordType: KeyedType): string => table(RECORD_TYPES[recordType].table);
  const lines = `FROM ${table('ORDER_LINEITEMS')} l WHERE l."ORDER_NUMBER"`;
  const keysOf = ofKeyedTypes(
    (recordType) => `SELECT "${RECORD_TYPES[recordType].key}" FROM ${tableOf(recordType)} WHERE "SORT_KEY" ${inList}`,
  );
  const lastLineNumber = `SELECT max(l."LINE_NUMBER") ${lines} = o."ORDER_NUMBER"`;
  const totals = TOTALS_FIELDS.map((name) => `"${name}"`).join(', ');
  const ordersOfLines = `SELECT "ORDER_NUMBER", "ORDER_TYPE", "DROP_SHIP", "${CANCELLED_MARK}", ${totals}, (${lastLineNumber})
    FROM ${table('ORDERS')} o WHERE "SORT_KEY" ${inList}`;
  const ofOrder = `SELECT 1 ${lines} = q.value ->> 0`;
  const areLinesThere = `SELECT q.place FROM ${items} q WHERE CASE WHEN CAST(q.value ->> 1 AS INTEGER) > 0
    THEN EXISTS (${ofOrder} AND l."LINE_NUMBER" = CAST(q.value ->> 1 AS INTEGER))
    ELSE EXISTS (${ofOrder} AND l."LINE_REF_LOCK_CODE" = q.value ->> 2) END`;
  const commitments = `SELECT l."PART_CODE", l."QUANTITY" FROM ${table('ORDERS')} o
    JOIN ${table('ORDER_LINEITEMS')} l ON l."ORDER_NUMBER" = o."ORDER_NUMBER"
    WHERE o."ORDER_TYPE" = 'sales_order' AND o."DROP_SHIP" <> 'Y' AND o."${CANCELLED_MARK}" <> 'Y' AND l."CARE_PLAN" <> 'Y'
      AND l."PART_CODE" ${inList}`;
  const counter = `SELECT "NEXT" FROM ${table('COUNTERS')} WHERE "NAME" = ?`;
  const fieldsOfParts = (...names: string[]) => {
    const columns = names.map((name) => `"${name}"`).join(', ');
    const sql = `SELECT ${columns} FROM ${table('INVENTORY')} WHERE "SORT_KEY" ${inList}`;
    return (codes: readonly string[]) => query(sql, formatSortKeys(codes), (rows) => parseRecords(names, rows));
  };
  return {
    areThere: (recordType: KeyedType, keys: readonly string[]) =>
      query(keysOf[recordType], formatSortKeys(keys), (rows) => rows.map(([key]) => key as string)),
    ordersOfLines: (numbers: readonly string[]) =>
      query(ordersOfLines, formatSortKeys(numbers), (rows) =>
        parseRecords(
          ['ORDER_NUMBER', 'ORDER_TYPE', 'DROP_SHIP', CANCELLED_MARK, ...TOTALS_FIELDS, 'LINE_NUMBER'],
          rows,
        ),
      ),
    areLinesThere: (names: readonly LineName[]) =>
      query(areLinesThere, JSON.stringify(names), (rows) => rows.map(([place]) => place as number)),
    parts: fieldsOfParts('PART_CODE', 'PART_DESCRIPTION', 'CARE_PLAN'),
    stocks: fieldsOfParts('PART_CODE', 'QTY_ONHAND', 'QTY_COMMITTED'),
    commitments: (codes: readonly string[]) =>
      query(commitments, JSON.stringify(codes), (rows) => rows as unknown as readonly [string, string][]),
    counter: (recordType: NumberedType) => query(counter, recordType, ([row]) => row![0] as number),
  };
}

const STOCK_NAMES = ['QTY_ONHAND', 'QTY_COMMITTED', 'QTY_AVAILABLE', 'MODIFIED_DATE'];

/** Each record is saved as it would be by itself. Its statement is built when it is asked for: together they are large. */
export function buildSavesOfMany(
  table: (name: string) => string,
  { list }: ListDialect,
  one: {
    readonly insert: (recordType: KeyedType, record: Values) => Iterable<Statement>;
    readonly insertLine: (line: Values) => Iterable<Statement>;
    readonly updatePart: (sortKey: string, names: readonly string[], part: Values) => Iterable<Statement>;
  },
) {
  const moveVersions = `UPDATE ${table('ORDERS')} SET "${VERSION}" = ? WHERE "SORT_KEY" IN (${list})`;
  return {
    *insertAll(recordType: KeyedType, records: readonly Values[]) {
      for (const record of records) yield* one.insert(recordType, record);
    },
    *insertLines(lines: readonly Values[]) {
      for (const line of lines) yield* one.insertLine(line);
      const orders = new Set(lines.map((line) => line['ORDER_NUMBER']!));
      if (orders.size > 0) yield statement(moveVersions, newVersion(), formatSortKeys([...orders]));
    },
    *updateStocks(parts: readonly Values[]) {
      for (const part of parts) yield* one.updatePart(sortKey(part['PART_CODE']!), STOCK_NAMES, part);
    },
  };
}

const query = <T>(sql: string, value: string, parse: (rows: readonly Row[]) => T) => ({
  sql,
  values: [value],
  reads: true,
  parse,
});

const formatSortKeys = (keys: readonly string[]): string => JSON.stringify(keys.map(sortKey));

/** A number that is missing is 0. */
function parseRecords(names: readonly string[], rows: readonly Row[]): Values[] {
  return rows.map((row) => {
    const values: Values = {};
    for (const [index, name] of names.entries()) values[name] = String((row[index] as Bound) ?? 0);
    return values;
  });
}
