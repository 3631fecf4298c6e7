/** The statements of the reads of the back office. */
import { COMMITS_LOOKED, OPEN_LINES_MAX, type Looks, type NumberedMovement } from '../../pims/pims-port.ts';
import { CANCELLED_MARK } from '../../pims/rules/stages.ts';
import type { ChangedRecord, LedgerRow } from '../../pims/writes/script.ts';
import { sortKey, type Values } from '../../pims/rules/values.ts';
import { toRecord } from '../control/rows.ts';
import type { Bound, Row } from '../writing.ts';
import type { ScriptDialect } from './dialect.ts';
import type { LoadSql, Query } from './load-sql.ts';
import { listNames } from './row-sql.ts';
import { LEDGER_ROW } from './save-sql.ts';

const OPEN_ORDERS_LOOKED = 5000;
const BACKORDERS_MOST = 100;
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
    history: (recordType, key, before) => ({
      // Both stores can remove a text from another; their functions that find one have other names.
      sql: `WITH c AS (SELECT * FROM ${table('CHANGES')} WHERE "SEQ" < ?1 ORDER BY "SEQ" DESC LIMIT ${COMMITS_LOOKED})
        SELECT "SEQ", "AT", "CHANGED" FROM c WHERE length(replace("CHANGED", ?2, '')) < length("CHANGED")
        UNION ALL SELECT min("SEQ"), NULL, NULL FROM c ORDER BY 1 DESC`,
      values: [before, JSON.stringify([recordType, key]).slice(1, -1)],
      reads: true,
      parse: (rows) => {
        const found = rows as readonly (readonly [number | null, string | null, string | null])[];
        const [earliest = null] = found.find(([, at]) => at === null) ?? [];
        const commits = found.flatMap(([, at, changed]) =>
          at === null ? [] : [{ at, changed: JSON.parse(changed!) as ChangedRecord[] }],
        );
        return { commits, earliest };
      },
    }),
    serials: (serial) =>
      select<Pick<LedgerRow, 'PART_CODE' | 'ORDER_NUMBER'>>(
        ['PART_CODE', 'ORDER_NUMBER'],
        `${table('SERIALS')} WHERE "SERIAL" = ? LIMIT 10`,
        serial,
      ),
    openOrders: (orderNumbers) =>
      select<Values>(
        WAITING,
        `${table('ORDERS')} WHERE "SORT_KEY" IN (${list}) AND "ORDER_TYPE" = 'sales_order' AND "DROP_SHIP" <> 'Y'
          AND "${CANCELLED_MARK}" <> 'Y' ORDER BY "CREATE_DATE", "SORT_KEY"`,
        JSON.stringify(orderNumbers.map(sortKey)),
      ),
    backorders: () =>
      select<Values>(
        ['ORDER_NUMBER'],
        `(SELECT "ORDER_NUMBER", "SORT_KEY" FROM ${table('ORDERS')}
            WHERE ${equals('"ORDER_TYPE"', true, () => `'sales_order'`)} AND "${CANCELLED_MARK}" <> 'Y'
            ORDER BY "SORT_KEY" DESC LIMIT ${OPEN_ORDERS_LOOKED}) o
          WHERE EXISTS (SELECT 1 FROM ${table('BACKORDERS')} b WHERE b."BACKORDER" = o."ORDER_NUMBER")
          ORDER BY "SORT_KEY" DESC LIMIT ${BACKORDERS_MOST}`,
      ),
  };
}
