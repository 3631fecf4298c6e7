/** The statements of the reads of the back office. */
import { OPEN_LINES_MAX, type Looks, type NumberedMovement } from '../../pims/pims-port.ts';
import { CANCELLED_MARK } from '../../pims/rules/stages.ts';
import { sortKey, type Values } from '../../pims/rules/values.ts';
import { toRecord } from '../control/rows.ts';
import type { Bound, Row } from '../writing.ts';
import type { ScriptDialect } from './dialect.ts';
import type { LoadSql, Query } from './load-sql.ts';
import { listNames } from './row-sql.ts';
import { LEDGER_ROW } from './save-sql.ts';

const WAITING = ['ORDER_NUMBER', 'ORDER_DATE', 'CUSTOMER_CODE', 'BNAME'];

export function buildLooks({ table, equals, list }: Pick<ScriptDialect, 'table' | 'equals' | 'list'>): LoadSql<Looks> {
  const movement = ['NUMBER', ...LEDGER_ROW] as const;
  const select = <T>(names: readonly (keyof T & string)[], sql: string, ...values: Bound[]): Query<T[]> => ({
    sql: `SELECT ${listNames(names)} FROM ${sql}`,
    values,
    reads: true,
    parse: (rows: readonly Row[]) => rows.map((row) => toRecord<T>(names, row)),
  });
  const ofPart = equals('"PART_CODE"', true, () => '?1');
  return {
    movements: (partCode, before, limit) =>
      select<NumberedMovement>(
        movement,
        `${table('MOVEMENTS')} WHERE "PART_CODE" = ? AND "NUMBER" < ? ORDER BY "NUMBER" DESC LIMIT ?`,
        partCode,
        before,
        limit,
      ),
    openLines: (partCode) =>
      select<Values>(
        ['ORDER_NUMBER', 'QUANTITY'],
        `${table('ORDER_LINEITEMS')} WHERE ${ofPart} AND "NUMBER_SHIPPED" <> "QUANTITY" AND "CARE_PLAN" <> 'Y'
          LIMIT ${OPEN_LINES_MAX}`,
        partCode,
      ),
    openOrders: (orderNumbers) =>
      select<Values>(
        WAITING,
        `${table('ORDERS')} WHERE "SORT_KEY" IN (${list}) AND "ORDER_TYPE" = 'sales_order' AND "DROP_SHIP" <> 'Y'
          AND "${CANCELLED_MARK}" <> 'Y' ORDER BY "CREATE_DATE", "SORT_KEY"`,
        JSON.stringify(orderNumbers.map(sortKey)),
      ),
  };
}
