/**
 * The SQL of pages, and of the orders with lines in them. PostgreSQL plans a separate query for its values. Queries of
 * the same shape share a statement, in which each walks indexes in the order of the keys to the end of its page, or
 * sorts the few records that the search index finds. Each result is one row.
 */
import type { QueryRequest } from '../../../pims/pims-port.ts';
import type { FilterTerm, FilterTree } from '../../../pims/reads/query.ts';
import { VIEWED_FIELDS } from '../../../pims/reads/storefront.ts';
import { RECORD_TYPES, type RecordType } from '../../../pims/rules/fields.ts';
import type { Json } from '../../../pims/rules/json.ts';
import { CANCELLED, type Column } from '../../pims/row-sql.ts';
import { buildWhere, findNeedle, isGathered, isIndexed, type Dialect, type Where } from '../../pims/where.ts';

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

/** The lines of order `o`. */
interface LinesOfOrder {
  /** The tag of the order. */
  readonly tag: string;
  readonly join: string;
}

/**
 * Joins orders with their lines. Most orders are one row. One with many lines has several rows, each with the order and
 * some lines (`x.lines`, the JSON with commas between them), so that the server never holds all lines as text.
 */
export const joinLines = (parts: OrderParts, line = wrapLine(parts.json('lines'))): LinesOfOrder => ({
  tag: parts.tag,
  join: `LEFT JOIN LATERAL (
      SELECT n / ${JOINED_LINES_MAX} AS part, string_agg(j, ',' ORDER BY n) AS lines
      FROM (${linesOf(parts, line)}) l GROUP BY part ORDER BY part) x ON TRUE`,
});

/** Builds the lookup of at most `?2` orders of storefront numbers (`?1`). `byReference` finds those of one number. */
export function buildLookup(parts: OrderParts, byReference: (number: string) => string): string {
  const order = parts.json('orders', [...VIEWED_FIELDS.orders, 'REFERENCE_NUMBER'], CANCELLED);
  const { join } = joinLines(parts, parts.json('lines', VIEWED_FIELDS.lines));
  return `SELECT o."SORT_KEY", ${order}, (${parts.fieldsVersion}), x.lines
    FROM (SELECT o.* FROM unnest(?1::text[]) AS q(key) CROSS JOIN LATERAL
      (SELECT * FROM ${parts.table('ORDERS')} o WHERE ${byReference('q.key')} LIMIT ?2) o LIMIT ?2) o ${join}`;
}

/** Larger pages, and pages with more alternatives or values, are read separately. */
const TOGETHER_LIMIT = 500;
const TOGETHER_ALTERNATIVES = 8;
const TOGETHER_VALUES = 16;
const TOGETHER_BYTES = 1024 * 1024;
/** A query whose text occurs in more records is read separately. */
const TOGETHER_FOUND = 1000;
/** Replaces the records of a question that are too large or too many for a shared statement. */
export const LARGE_PAGE = '';
/** `records` is a JSON list. `count` is one more than the limit if there are more. */
export type JoinedPageRow = [at: number, records: string, count: number, last: string | null, fieldsVersion: number];

/** A row of a page that is read separately. An order with many lines has several rows. */
export type LoadedRow = [
  sortKey: string,
  record: Json,
  fieldsVersion: number,
  lines: Json | null,
  count: number | null,
  /** The value by which the page is sorted, unless that is the key. */
  value: string | null,
  /** The tag of an order with lines. */
  tag: string | null,
];

export interface PageParts {
  readonly table: string;
  /** The joined table that has the time of each record's last change. */
  readonly modified: string;
  readonly json: string;
  readonly withLines: LinesOfOrder | undefined;
  readonly fieldsVersion: string;
  /** The version of the dictionaries in this SQL. */
  readonly version: number;
}

/** A query that can share a statement with others of its shape. */
export interface PageQuestion {
  /** The SQL for several questions in one statement. */
  readonly shape: string;
  /** The version of the dictionaries in this SQL. */
  readonly version: number;
  readonly limit: number;
  readonly bytesMax: number;
  readonly after: string;
  readonly values: readonly string[];
  /** Parameters: the numbers of the questions, where each begins, their limit, and a list for each value. */
  readonly sql: () => string;
}

export interface PageQuery {
  /** The separate query. Each row is a LoadedRow. */
  readonly alone: { readonly sql: string; readonly values: readonly (string | number)[] };
  readonly together?: PageQuestion | undefined;
}

export const isModified = ({ field }: FilterTerm): boolean => field.name === 'MODIFIED_DATE';

/** Returns whether the index of any term finds its records in another order than the page needs. */
export const isFoundFirst = (recordType: RecordType, tree: FilterTree): boolean =>
  tree.flat().some((term) => isGathered(recordType, term) || (isIndexed(term) && isModified(term)));

/** Lists the columns of a LoadedRow. */
export const listPageColumns = (
  { json, withLines, fieldsVersion }: PageParts,
  { key = '"SORT_KEY"', count = 'NULL', value = 'NULL' },
): string =>
  [key, json, `(${fieldsVersion})`, withLines ? 'x.lines' : 'NULL', count, value, withLines?.tag ?? 'NULL'].join();

export function buildPage(
  recordType: RecordType,
  tree: FilterTree,
  { limit, after, bytesMax, fields, isCounted = false }: QueryRequest,
  dialect: Dialect,
  parts: PageParts,
): PageQuery {
  const { table, withLines, version } = parts;
  const whole = buildWhere(recordType, tree, dialect);
  const walks = tree.length > 0 ? tree.map((terms) => buildWhere(recordType, [terms], dialect)) : [whole];
  const alone = whole.indexLed ? walks : [whole];
  const rows = mergeRows(
    alone.map(({ sql }) => ({ from: table, where: sql })),
    '?',
    '?',
  );
  const values = walks.flatMap((walk) => walk.values);
  const count = isCounted ? `(SELECT count(*)::int FROM ${table} WHERE ${whole.sql})` : 'NULL';
  const isSmall = limit <= TOGETHER_LIMIT && walks.length <= TOGETHER_ALTERNATIVES && values.length <= TOGETHER_VALUES;
  const hasIndex = tree.every((terms) => terms.some(isIndexed) || findNeedle(terms, dialect) !== undefined);
  const shape = `${recordType} ${limit} ${fields?.join() ?? ''} ${walks.map(({ sql }) => sql).join(' OR ')}`;
  const search = (placeholder: string): string => dialect.search(RECORD_TYPES[recordType].table, placeholder);
  const sql = (): string => joinPages(walks, search, parts);
  return {
    alone: {
      sql: `SELECT ${listPageColumns(parts, { count })} FROM (${rows}) o ${withLines?.join ?? ''} ORDER BY "SORT_KEY"${withLines ? ', x.part' : ''}`,
      values: [
        ...(isCounted ? whole.values : []),
        ...alone.flatMap((walk) => [...walk.values, after, limit + 1]),
        ...(alone.length > 1 ? [limit + 1] : []),
      ],
    },
    together:
      hasIndex && isSmall && !withLines && !isCounted
        ? { shape, version, limit, bytesMax, after, values, sql }
        : undefined,
  };
}

/**
 * Builds the rows of a page in the order of their keys, without duplicates: each alternative walks its index to the
 * limit.
 */
function mergeRows(
  alternatives: readonly { readonly from: string; readonly where: string }[],
  after: string,
  limit: string,
): string {
  const end = `ORDER BY "SORT_KEY" LIMIT ${limit}`;
  const found = alternatives.map(
    ({ from, where }) => `SELECT * FROM ${from} WHERE (${where}) AND "SORT_KEY" > ${after} ${end}`,
  );
  if (found.length === 1) return found[0]!;
  return `SELECT DISTINCT ON ("SORT_KEY") * FROM ((${found.join(') UNION ALL (')})) found ${end}`;
}

function joinPages(
  walks: readonly Where[],
  search: (placeholder: string) => string,
  { table, json, fieldsVersion }: PageParts,
): string {
  const names: string[] = [];
  const bindColumn = (): string => `q.${names[names.push(`v${names.length + 1}`) - 1]!}`;
  const searches: string[] = [];
  const alternatives = walks.map(({ sql, indexLed }) => {
    const where = sql.replaceAll('?', bindColumn);
    if (indexLed) return { from: table, where };
    // These records are found first, because the planner cannot estimate how many contain a text. The text is the last
    // value.
    const found = `SELECT * FROM ${table} WHERE ${search(`q.${names.at(-1)!}`)} LIMIT ${TOGETHER_FOUND + 1}`;
    return { from: `s${searches.push(found)}`, where };
  });
  const tables = searches.map((found, at) => `s${at + 1} AS MATERIALIZED (${found})`);
  const counts = searches.map((_, at) => `(SELECT count(*) FROM s${at + 1})`);
  const lists = names.map((_, at) => `$${at + 4}::text[]`);
  return `SELECT q.at, CASE WHEN octet_length(p.records) > ${TOGETHER_BYTES} OR p.found > ${TOGETHER_FOUND}
        THEN '${LARGE_PAGE}' ELSE concat('[', p.records, ']') END, p.count, p.last, (${fieldsVersion})
    FROM unnest(${['$1::int[]', '$2::text[]', ...lists].join(', ')}) AS q(${['at', 'after', ...names].join(', ')})
    CROSS JOIN LATERAL (${tables.length > 0 ? `WITH ${tables.join(', ')}` : ''}
      SELECT string_agg(${json}, ',') FILTER (WHERE n <= $3) AS records, count(*) AS count,
        max("SORT_KEY") FILTER (WHERE n <= $3) AS last, greatest(${['0', ...counts].join(', ')}) AS found
      FROM (SELECT *, row_number() OVER () AS n FROM (${mergeRows(alternatives, 'q.after', '$3 + 1')}) found) numbered) p`;
}
