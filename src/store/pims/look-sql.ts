/** The statements that read for the back office and for the change feed, which has one row for each commit. */
import {
  COMMITS_LOOKED,
  type Change,
  type ChangeRows,
  type Looks,
  type NumberedMovement,
} from '../../pims/pims-port.ts';
import { CANCELLED_MARK } from '../../pims/rules/stages.ts';
import type { Values } from '../../pims/rules/values.ts';
import type { ChangedRecord, LedgerRow } from '../../pims/writes/script.ts';
import { toRecord } from '../control/control.ts';
import type { Bound, Row } from '../writing.ts';
import { LEDGER_ROW, listNames, type LoadSql, type Query, type ScriptDialect } from './row-sql.ts';

const OPEN_ORDERS_LOOKED = 5000;
const WAITING_LOOKED = 2000;
const BACKORDERS_MOST = 100;
const WAITING = ['ORDER_NUMBER', 'ORDER_DATE', 'CUSTOMER_CODE', 'BNAME'];

/** Builds the reads of the back office. */
export function buildLooks({ table, equals }: Pick<ScriptDialect, 'table' | 'equals'>): LoadSql<Looks> {
  const movement = ['NUMBER', ...LEDGER_ROW] as const;
  const select = <T>(names: readonly (keyof T & string)[], sql: string, ...values: Bound[]): Query<T[]> => ({
    sql: `SELECT ${listNames(names)} FROM ${sql}`,
    values,
    reads: true,
    parse: (rows: readonly Row[]) => rows.map((row) => toRecord<T>(names, row)),
  });
  const isSalesOrder = equals('"ORDER_TYPE"', true, () => `'sales_order'`);
  const openOrders = `${table('ORDERS')} WHERE ${isSalesOrder} AND "${CANCELLED_MARK}" <> 'Y'`;
  return {
    movements: (partCode, before, limit) =>
      select<NumberedMovement>(
        movement,
        `${table('MOVEMENTS')} WHERE "PART_CODE" = ? AND "NUMBER" < ? ORDER BY "NUMBER" DESC LIMIT ?`,
        partCode,
        before,
        limit,
      ),
    // An index of open lines by part would make inserting a line take a sixth longer.
    waiting: (partCode) =>
      select<Values>(
        [...WAITING, 'QUANTITY'],
        `(SELECT "SORT_KEY", ${listNames(WAITING)} FROM ${openOrders} AND "DROP_SHIP" <> 'Y'
            ORDER BY "SORT_KEY" LIMIT ${WAITING_LOOKED}) o
          JOIN (SELECT "ORDER_NUMBER" AS "OF", "QUANTITY" FROM ${table('ORDER_LINEITEMS')}
            WHERE "PART_CODE" = ? AND "NUMBER_SHIPPED" <> "QUANTITY" AND "CARE_PLAN" <> 'Y') l ON l."OF" = o."ORDER_NUMBER"
          ORDER BY "SORT_KEY"`,
        partCode,
      ),
    history: (recordType, key, before) => ({
      // Both stores have `replace`, but their functions that find a text have different names.
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
    backorders: () =>
      select<Values>(
        ['ORDER_NUMBER'],
        `(SELECT "ORDER_NUMBER", "SORT_KEY" FROM ${openOrders}
            ORDER BY "SORT_KEY" DESC LIMIT ${OPEN_ORDERS_LOOKED}) o
          WHERE EXISTS (SELECT 1 FROM ${table('BACKORDERS')} b WHERE b."BACKORDER" = o."ORDER_NUMBER")
          ORDER BY "SORT_KEY" DESC LIMIT ${BACKORDERS_MOST}`,
      ),
  };
}

/** The question that a statement of buildChanges answers: the position, or null, and the number of changes. */
export type ChangesAsked = readonly [after: number | null, limit: number];
type CommitRow = readonly [earliest: number, newest: number, before: number, at: string, changed: string | null];

/**
 * Builds the statement that reads the rows with up to `?2` changes after the position `?1`, or after the earliest one.
 * Each row has the bounds of the feed. If there is no change, one row has only the bounds.
 */
export function buildChanges(table: string): string {
  const earliest = `(SELECT "BEFORE" FROM ${table} ORDER BY "SEQ" LIMIT 1)`;
  return `SELECT coalesce(${earliest}, 0), coalesce((SELECT max("SEQ") FROM ${table}), 0), c."BEFORE", c."AT", c."CHANGED"
    FROM (SELECT 1 AS one) o
    LEFT JOIN (SELECT * FROM ${table} WHERE "SEQ" > coalesce(?1, ${earliest}) ORDER BY "SEQ" LIMIT ?2) c
      ON c."BEFORE" < coalesce(?1, ${earliest}) + ?2 ORDER BY c."SEQ"`;
}

export function readChangeRows(found: readonly Row[], [after, limit]: ChangesAsked): ChangeRows {
  const commits = found as readonly CommitRow[];
  const [earliest, newest] = commits[0]!;
  const changes: Change[] = [];
  for (const [, , before, at, changed] of commits)
    for (const [index, [type, key, change, operation]] of (JSON.parse(changed ?? '[]') as ChangedRecord[]).entries())
      changes.push({ seq: String(before + index + 1), type, key, change, at, operation });
  // The first row may begin before the position.
  const rest = changes.filter(({ seq }) => Number(seq) > (after ?? 0));
  return { changes: rest.slice(0, limit), earliest, newest };
}
