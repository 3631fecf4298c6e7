/** The SQL of orders with any number of lines. */
import { VIEWED_FIELDS } from '../../../pims/reads/storefront.ts';
import type { RecordType } from '../../../pims/rules/fields.ts';
import { CANCELLED, type Column } from '../../pims/row-sql.ts';

interface OrderParts {
  readonly table: (name: string) => string;
  /** Builds the JSON of a record with all its fields or only these, and with further columns. */
  readonly json: (recordType: RecordType, names?: readonly string[], ...more: Column[]) => string;
  readonly fieldsVersion: string;
  /** The tag of order `o`. */
  readonly tag: string;
}

/** Maximum number of lines of an order in one row. */
const JOINED_LINES_MAX = 100;

/** Builds `{"ORDER_LINEITEMS":…}` around the JSON of a line. */
export const wrapLine = (line: string): string => `'{"ORDER_LINEITEMS":' || ${line} || '}'`;

/** Selects the numbers (`n`) and lines (`j`) of order `o`. */
export const linesOf = ({ table }: Pick<OrderParts, 'table'>, line: string): string =>
  `SELECT "LINE_NUMBER" AS n, ${line} AS j
    FROM ${table('ORDER_LINEITEMS')} WHERE "ORDER_NUMBER" = o."ORDER_NUMBER"`;

/** The columns of order `o` with its lines. */
export interface OrderWithLines {
  readonly record: string;
  /** The JSON of some lines, with commas between them. */
  readonly lines: string;
  readonly tag: string;
  readonly join: string;
}

/**
 * Most orders are one row. An order with many lines has a row for each line, so that the server never holds all of
 * them, and only the first row has the record.
 */
export function joinLines(
  parts: OrderParts,
  order = parts.json('orders'),
  line = wrapLine(parts.json('lines')),
): OrderWithLines {
  const lines = linesOf(parts, line);
  return {
    record: `CASE WHEN x.place > 1 THEN NULL ELSE ${order} END`,
    lines: 'coalesce(x.j, a.lines)',
    tag: parts.tag,
    join: `CROSS JOIN LATERAL (
        SELECT count(*) AS count, CASE WHEN count(*) <= ${JOINED_LINES_MAX} THEN string_agg(j, ',' ORDER BY n) END AS lines
        FROM (${lines} ORDER BY n LIMIT ${JOINED_LINES_MAX + 1}) l) a
      LEFT JOIN LATERAL (
        SELECT row_number() OVER (ORDER BY n) AS place, j FROM (${lines}) l
        WHERE a.count > ${JOINED_LINES_MAX} ORDER BY n) x ON TRUE`,
  };
}

/** Finds at most `?2` orders of a list of storefront numbers (`?1`). `byReference` holds for an order of the number. */
export function buildLookup(parts: OrderParts, byReference: (number: string) => string): string {
  const order = parts.json('orders', [...VIEWED_FIELDS.orders, 'REFERENCE_NUMBER'], CANCELLED);
  const { record, lines, join } = joinLines(parts, order, parts.json('lines', VIEWED_FIELDS.lines));
  return `SELECT o."SORT_KEY", ${record}, (${parts.fieldsVersion}), ${lines}
    FROM (SELECT o.* FROM unnest(?1::text[]) AS q(key) CROSS JOIN LATERAL
      (SELECT * FROM ${parts.table('ORDERS')} o WHERE ${byReference('q.key')} LIMIT ?2) o LIMIT ?2) o ${join}`;
}
