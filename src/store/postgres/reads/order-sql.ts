/** The SQL of orders with all their lines row by row, however many there are. See LargeRow. */
import { VIEWED_FIELDS } from '../../../pims/reads/storefront.ts';
import type { RecordType } from '../../../pims/rules/fields.ts';
import type { Column } from '../../pims/dialect.ts';
import { CANCELLED } from '../../pims/row-sql.ts';

interface OrderParts {
  readonly table: (name: string) => string;
  /** A record as JSON: whole, or with these fields, and perhaps more. */
  readonly json: (recordType: RecordType, names?: readonly string[], ...more: Column[]) => string;
  readonly fieldsVersion: string;
  /** The tag of order `o`. */
  readonly tag: string;
}

/** Up to so many lines of an order are gathered in one row of a page. */
const GATHERED = 100;

/** `{"ORDER_LINEITEMS":…}` around the JSON of a line. */
export const wrapLine = (line: string): string => `'{"ORDER_LINEITEMS":' || ${line} || '}'`;

/** Numbers (`n`) and lines (`j`) of order `o`. */
export const linesOf = ({ table }: Pick<OrderParts, 'table'>, line: string): string =>
  `SELECT "LINE_NUMBER" AS n, ${line} AS j
    FROM ${table('ORDER_LINEITEMS')} WHERE "ORDER_NUMBER" = o."ORDER_NUMBER"`;

const readRows = (parts: OrderParts, orders: string, [order, line]: readonly [string, string]): string =>
  `SELECT o."SORT_KEY", x.n, x.j, (${parts.fieldsVersion}), ${parts.tag}
    FROM (${orders}) o CROSS JOIN LATERAL (SELECT 0 AS n, ${order} AS j UNION ALL ${linesOf(parts, line)}) x`;

const ordersWhere = ({ table }: OrderParts, condition: string): string =>
  `SELECT * FROM ${table('ORDERS')} o WHERE ${condition} LIMIT ?2`;

/** The order with this sort key. */
export const buildLargeOrder = (parts: OrderParts): string =>
  readRows(parts, ordersWhere(parts, 'o."SORT_KEY" = ?1'), [parts.json('orders'), parts.json('lines')]);

/** What the lookup answers of the orders of these numbers; `byReference` holds for an order of the number. */
export function buildLargeLookup(parts: OrderParts, byReference: (number: string) => string): string {
  const orders = `SELECT o.* FROM unnest(?1::text[]) AS q(key)
    CROSS JOIN LATERAL (${ordersWhere(parts, byReference('q.key'))}) o LIMIT ?2`;
  const order = parts.json('orders', [...VIEWED_FIELDS.orders, 'REFERENCE_NUMBER'], CANCELLED);
  return readRows(parts, orders, [order, parts.json('lines', VIEWED_FIELDS.lines)]);
}

/** What a page has of each order `o` where lines are asked for. */
export interface LinesOfPage {
  readonly record: string;
  /** Texts with commas between. */
  readonly lines: string;
  readonly join: string;
}

/**
 * One row for most orders. The lines of an order with many come one by one, so that the server never holds all of them;
 * its record is in the first row alone.
 */
export function joinLines(parts: OrderParts, order: string): LinesOfPage {
  const lines = linesOf(parts, wrapLine(parts.json('lines')));
  return {
    record: `CASE WHEN x.place > 1 THEN NULL ELSE ${order} END`,
    lines: 'coalesce(x.j, a.lines)',
    join: `CROSS JOIN LATERAL (
        SELECT count(*) AS count, CASE WHEN count(*) <= ${GATHERED} THEN string_agg(j, ',' ORDER BY n) END AS lines
        FROM (${lines} ORDER BY n LIMIT ${GATHERED + 1}) l) a
      LEFT JOIN LATERAL (
        SELECT row_number() OVER (ORDER BY n) AS place, j FROM (${lines}) l WHERE a.count > ${GATHERED} ORDER BY n) x ON TRUE`,
  };
}
