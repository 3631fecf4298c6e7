/** The statements of reads that can be long, and of the change feed, which has one row for each commit. */
import { Refusal, type Outcome } from '../../errors.ts';
import type { Change, ChangeRows, Looks, NumberedMovement, PimsStore } from '../../pims/pims-port.ts';
import { CANCELLED_MARK } from '../../pims/rules/stages.ts';
import type { Values } from '../../pims/rules/values.ts';
import type { ChangedRecord, LedgerRow } from '../../pims/writes/script.ts';
import { toRecord } from '../control/control.ts';
import type { Bound, Row, Statement } from '../sql/writing.ts';
import { LEDGER_ROW, listNames, type ScriptDialect } from './row-sql.ts';

/** Characters after which a look ends. */
const LOOK_CHARACTERS_MAX = 1024 * 1024;
/** Bounds of the changes among which a look finds those of some types. The first commit is always read. */
const CHANGES_LOOKED = 10_000;
const CHANGES_LOOKED_BYTES = 4 * 1024 * 1024;
/** Maximum bytes of the commits of a short read of the feed. */
const CHANGES_BYTES_MAX = 256 * 1024;
const WAITING = ['ORDER_NUMBER', 'ORDER_DATE', 'CUSTOMER_CODE', 'BNAME'] as const;

interface LookQuery<T> extends Pick<Statement, 'sql' | 'values'> {
  readonly parse: (rows: readonly Row[]) => T;
}
export type LookSql = {
  readonly [Name in keyof Looks]: (...args: Parameters<Looks[Name]>) => LookQuery<ReturnType<Looks[Name]>>;
};

/** Collects the rows of a look up to its bound. */
export class LookRows {
  readonly isPlain = true;
  readonly rows: Row[] = [];
  #characters = 0;

  /** Adds a row. Returns false when the look ends before it. */
  takeRow(row: Row): boolean {
    this.#characters += row.join('').length;
    if (this.#characters > LOOK_CHARACTERS_MAX && this.rows.length > 0) return false;
    return this.rows.push(row) > 0;
  }
}

/** Makes the look of a store from its function that reads rows. */
export const makeLook =
  (
    looks: () => LookSql,
    read: (
      query: Pick<Statement, 'sql' | 'values'>,
      signal: () => AbortSignal,
    ) => Promise<Outcome<Pick<LookRows, 'rows'>>>,
  ): PimsStore['look'] =>
  async <Name extends keyof Looks>(name: Name, signal: () => AbortSignal, ...args: Parameters<Looks[Name]>) => {
    const build = looks()[name] as (...of: unknown[]) => LookQuery<ReturnType<Looks[Name]>>;
    const { parse, ...query } = build(...args);
    const found = await read(query, signal);
    return found instanceof Refusal ? found : parse(found.rows);
  };

/** Builds the looks at the back office and at the change feed. */
export function buildLooks(dialect: ScriptDialect): LookSql {
  const { table, equals, charge, linesOf } = dialect;
  const select = <T>(names: readonly (keyof T & string)[], sql: string, ...values: Bound[]): LookQuery<T[]> => ({
    sql: `SELECT ${listNames(names)} FROM ${sql}`,
    values,
    parse: (rows) => rows.map((row) => toRecord<T>(names, row)),
  });
  const movements = table('MOVEMENTS');
  const isSalesOrder = equals('"ORDER_TYPE"', true, () => `'sales_order'`);
  const openOrders = `${table('ORDERS')}
    WHERE ${isSalesOrder} AND "${CANCELLED_MARK}" <> 'Y' AND ${charge('"SORT_KEY"')}`;
  return {
    ...buildFeedLooks(dialect),
    movements: (partCode, side, number, limit) =>
      select<NumberedMovement>(
        ['NUMBER', ...LEDGER_ROW, 'NEWEST'],
        `${movements}, (SELECT max("NUMBER") AS "NEWEST" FROM ${movements} WHERE "PART_CODE" = ?1) newest
          WHERE "PART_CODE" = ?1 AND "NUMBER" ${side === 'after' ? '> ?2 ORDER BY "NUMBER"' : '< ?2 ORDER BY "NUMBER" DESC'} LIMIT ?3`,
        partCode,
        number,
        limit,
      ),
    waiting: (partCode) =>
      select<Values>(
        [...WAITING, 'QUANTITY'],
        `(SELECT "SORT_KEY", ${listNames(WAITING)} FROM ${openOrders} AND "DROP_SHIP" <> 'Y'
            ORDER BY "SORT_KEY" LIMIT 2000) o
          CROSS JOIN (SELECT "${linesOf.column}" AS "OF", "PART_CODE", "QUANTITY" FROM ${table('ORDER_LINEITEMS')}
            WHERE "NUMBER_SHIPPED" <> "QUANTITY" AND "CARE_PLAN" <> 'Y' AND ${charge('"LINE_NUMBER"')}) l
          WHERE ${linesOf.isOf('l."OF"', `o."${linesOf.column}"`)} AND ${equals('l."PART_CODE"', true, () => '?1')} ORDER BY "SORT_KEY"`,
        partCode,
      ),
    serials: (serial) =>
      select<Pick<LedgerRow, 'PART_CODE' | 'ORDER_NUMBER'>>(
        ['PART_CODE', 'ORDER_NUMBER'],
        `${table('SERIALS')} WHERE "SERIAL" = ? LIMIT 10`,
        serial,
      ),
  };
}

function buildFeedLooks({ table, items, charge }: ScriptDialect): Pick<LookSql, 'changes' | 'history'> {
  const feed = table('CHANGES');
  return {
    changes: (after, types, limit) => ({
      sql: `WITH c AS (SELECT * FROM ${feed} WHERE "SEQ" > ?1 AND "SEQ" <= ${endOfChanges(feed, '?1', CHANGES_LOOKED)}),
        l AS (SELECT max("SEQ") AS "LAST" FROM (SELECT "SEQ",
          sum(octet_length("CHANGED")) OVER (ORDER BY "SEQ") - octet_length("CHANGED") AS "AHEAD" FROM c) s
          WHERE "AHEAD" < ${CHANGES_LOOKED_BYTES})
        SELECT * FROM (SELECT c."BEFORE" + i.key + 1, c."AT", CAST(i.value AS TEXT)
          FROM c CROSS JOIN ${items('c."CHANGED"')} i WHERE c."SEQ" <= (SELECT "LAST" FROM l) AND ${charge('c."SEQ"')}
            AND c."BEFORE" + i.key >= ?1 AND i.value ->> 0 IN (${types.map((type) => `'${type}'`).join()})
          ORDER BY c."SEQ", i.key LIMIT ?2) f
        UNION ALL SELECT "LAST", NULL, NULL FROM l`,
      values: [after, limit],
      parse(rows) {
        const found = rows as readonly (readonly [seq: number, at: string | null, change: string])[];
        const changes = found.flatMap(([seq, at, change]) =>
          at === null ? [] : [toChange(seq, at, JSON.parse(change))],
        );
        // The last row is missing if there was a megabyte before it.
        const end = changes.length < limit ? found.at(-1) : found[limit - 1];
        return { changes, next: end![0] };
      },
    }),
    history: (recordType, key, limit) => ({
      // Both stores have `replace`, but their functions that find a text have different names.
      sql: `SELECT c."AT", CAST(i.value AS TEXT) FROM (SELECT * FROM ${feed} ORDER BY "SEQ" DESC LIMIT 100000) c
        CROSS JOIN ${items('c."CHANGED"')} i
        WHERE ${charge('c."SEQ"')} AND length(replace(c."CHANGED", ?1, '')) < length(c."CHANGED")
          AND i.value ->> 0 = ?2 AND i.value ->> 1 = ?3 ORDER BY c."SEQ" DESC, i.key DESC LIMIT ?4`,
      values: [JSON.stringify([recordType, key]).slice(1, -1), recordType, key, limit],
      parse: (rows) => (rows as readonly [string, string][]).map(([at, change]) => [at, JSON.parse(change)]),
    }),
  };
}

/** The question that a statement of buildChanges answers: the position, or null, and the number of changes. */
export type ChangesAsked = readonly [after: number | null, limit: number];
/** The bounds of the feed, then the position before the commit, its time and its changes. */
type CommitRow = readonly [number, string, number, number, string, string | null];

const endOfChanges = (table: string, after: string, limit: string | number): string =>
  `coalesce((SELECT "SEQ" FROM ${table} WHERE "SEQ" >= ${after} + ${limit} ORDER BY "SEQ" LIMIT 1),
    (SELECT max("SEQ") FROM ${table}))`;

/**
 * Builds the statement that reads the rows with up to `?2` changes after the position `?1`, or after the earliest one.
 * Each row has the bounds of the feed. If there is no change, or too many bytes, one row has only the bounds.
 */
export function buildChanges(table: string): string {
  const first = (column: string) => `(SELECT ${column} FROM ${table} ORDER BY "SEQ" LIMIT 1)`;
  return `WITH p AS (SELECT coalesce(?1, ${first('"BEFORE"')}) AS "AFTER"),
    e AS (SELECT "AFTER", ${endOfChanges(table, '"AFTER"', '?2')} AS "LAST" FROM p)
    SELECT coalesce(${first('"BEFORE"')}, 0), coalesce(${first('"AT"')}, ''), coalesce((SELECT max("SEQ") FROM ${table}), 0),
      c."BEFORE", c."AT", c."CHANGED"
    FROM e LEFT JOIN ${table} c ON c."SEQ" > "AFTER" AND c."SEQ" <= "LAST" AND
      (SELECT sum(octet_length("CHANGED")) FROM ${table} WHERE "SEQ" > (SELECT "AFTER" FROM e) AND "SEQ" <= (SELECT "LAST" FROM e))
        <= ${CHANGES_BYTES_MAX} ORDER BY c."SEQ"`;
}

export function readChangeRows(found: readonly Row[], [after, limit]: ChangesAsked): ChangeRows {
  const commits = found as readonly CommitRow[];
  const [earliest, earliestAt, newest] = commits[0]!;
  const changes: Change[] = [];
  for (const [, , , before, at, changed] of commits)
    for (const [index, change] of (JSON.parse(changed ?? '[]') as ChangedRecord[]).entries())
      changes.push(toChange(before + index + 1, at, change));
  // The first row may begin before the position.
  const rest = changes.filter(({ seq }) => Number(seq) > (after ?? 0));
  return { changes: rest.slice(0, limit), earliest, earliestAt, newest };
}

const toChange = (seq: number, at: string, [type, key, change, operation, by, changes]: ChangedRecord): Change => ({
  seq: String(seq),
  type,
  key,
  change,
  at,
  operation,
  by,
  changes,
});
