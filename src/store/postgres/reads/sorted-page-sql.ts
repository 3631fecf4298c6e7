/**
 * The SQL of a page that is sorted by a field, or whose indexes do not find records in the order of their keys. If they
 * find few records, all are found first and then sorted; otherwise one index is walked. Source: decision 0035.
 */
import type { RecordType } from '../../../pims/rules/fields.ts';
import { parsePosition, type FilterTerm, type FilterTree, type Sort } from '../../../pims/reads/query.ts';
import {
  buildTerm,
  isGathered,
  isIndexed,
  sortColumn,
  takeBounds,
  type Bounds,
  type Dialect,
} from '../../pims/where.ts';
import { isModified, listPageColumns, type PageParts, type PageQuery } from './page-sql.ts';

/** Maximum number of records that are found first and then sorted. */
const FOUND = 10_000;
/** A text greater than every sort key. */
const KEY_LAST = '\u{10ffff}';
const INDEXED_CHARACTERS = 256;

interface Asked {
  readonly recordType: RecordType;
  readonly tree: FilterTree;
  readonly sort: Sort | undefined;
  readonly after: string;
  readonly limit: number;
  readonly isCounted: boolean;
}

const isLed = (recordType: RecordType, term: FilterTerm): boolean => isIndexed(term) || isGathered(recordType, term);

/** Builds the query of a page; its rows come in the order of the page. */
export function buildSortedPage(asked: Asked, dialect: Dialect, parts: PageParts): PageQuery {
  const { recordType, tree, sort, limit, isCounted } = asked;
  const values: (string | number)[] = [];
  const bindText = (value: string): string => `$${values.push(value)}::text`;
  const most = `$${values.push(limit + 1)}::int`;
  const buildAll = (terms: readonly FilterTerm[]): string =>
    terms.map((term) => buildTerm(recordType, term, dialect, bindText)).join(' AND ') || 'TRUE';
  const whole = (of: FilterTree): string => of.map((terms) => `(${buildAll(terms)})`).join(' OR ') || 'TRUE';
  const { table, modified } = parts;
  const record = (key: string, as: string): string =>
    `CROSS JOIN LATERAL (SELECT * FROM ${table} WHERE "SORT_KEY" = ${key} OFFSET 0) ${as}`;

  const areLed = tree.flat().every((term) => isLed(recordType, term));
  // The bounds narrow the walk itself, so their records need not be found first.
  const { tree: led, bounds } = takeBounds(recordType, tree, sort);
  const leads = sort ? led : tree;
  const isFound = leads.length > 0 && leads.every((terms) => terms.some((term) => isLed(recordType, term)));
  const tables: string[] = [];
  const rows: string[] = [];
  const position = asked.after === '' ? undefined : parsePosition(asked.after);
  const order = buildOrder(asked, position, bindText, parts);
  if (isFound) {
    const found = leads.map((terms) => {
      const wanted = terms.filter((term) => isLed(recordType, term));
      const beside = wanted.filter(isModified);
      const others = buildAll(wanted.filter((term) => !isModified(term)));
      const end = `LIMIT ${FOUND + 1}`;
      if (beside.length === 0) return `(SELECT "SORT_KEY" AS k FROM ${table} WHERE ${others} ${end})`;
      const when = buildAll(beside).replaceAll('"MODIFIED_DATE"', 'modified');
      const join = beside.length < wanted.length ? `JOIN ${table} ON "SORT_KEY" = key` : '';
      return `(SELECT key AS k FROM ${modified} ${join} WHERE ${when} AND ${others} ${end})`;
    });
    const few = `(${found.join(' UNION ')}) few`;
    // The records are counted before they are kept, because keeping too many takes longer than finding few again.
    tables.push(`size AS MATERIALIZED (SELECT count(*) AS n FROM ${few})`);
    rows.push(
      sort === undefined && areLed
        ? `SELECT k, '' AS v, '' AS w FROM ${few} WHERE (SELECT n FROM size) <= ${FOUND} AND ${order.beyond('k')} ORDER BY k LIMIT ${most}`
        : `SELECT "SORT_KEY" AS k, ${order.value} AS v, ${order.whole} AS w FROM ${few} ${record('few.k', 'r')}
          WHERE (SELECT n FROM size) <= ${FOUND} AND (${whole(tree)}) AND ${order.beyond('"SORT_KEY"')}
          ORDER BY ${order.by} LIMIT ${most}`,
    );
  }
  const gate = isFound ? `(SELECT n FROM size) > ${FOUND}` : 'TRUE';
  if (sort === undefined || sort.by === 'key')
    rows.push(`SELECT "SORT_KEY" AS k, '' AS v, '' AS w FROM ${table}
      WHERE ${gate} AND (${whole(tree)}) AND ${order.beyond('"SORT_KEY"')} ORDER BY ${order.by} LIMIT ${most}`);
  else {
    const isBeside = sort.field.name === 'MODIFIED_DATE';
    const isTested = led.some((terms) => terms.length > 0);
    const from = isBeside ? `${modified} ${isTested ? record('key', 'r') : ''}` : table;
    const condition = `${gate} AND (${whole(led)})${buildBounds(isBeside ? 'modified' : order.column, bounds, bindText)}`;
    const walk = buildWalk({ from, condition, most, isBeside, order });
    tables.push(walk.ahead);
    rows.push(walk.rows);
  }
  const page = rows.length === 1 ? rows[0]! : `(${rows.join(') UNION ALL (')})`;
  const all = isCounted ? `(SELECT count(*)::int FROM ${table} WHERE ${whole(tree)})` : 'NULL';
  const foundCount = `CASE WHEN (SELECT n FROM size) <= ${FOUND} THEN (SELECT n::int FROM size) ELSE ${all} END`;
  const columns = listPageColumns(parts, {
    key: 'page.k',
    count: isCounted && isFound && leads === tree && areLed ? foundCount : all,
    value: sort === undefined || sort.by === 'key' ? 'NULL' : 'page.v',
  });
  const sql = `WITH ${[...tables, `page AS (${page})`].join(', ')}
    SELECT ${columns} FROM page ${record('page.k', 'o')} ${parts.withLines?.join ?? ''}`;
  return { alone: { sql, values } };
}

interface Order {
  /** The sorted column: its value in the index, and its complete value. */
  readonly column: string;
  readonly value: string;
  readonly whole: string;
  /** Whether an index has the complete value. */
  readonly isWhole: boolean;
  readonly by: string;
  readonly sign: '<' | '>';
  readonly direction: 'ASC' | 'DESC';
  /** Placeholders of the position. */
  readonly at: { readonly value: string; readonly key: string } | undefined;
  /** Builds a condition for the records after the position. */
  beyond(key: string): string;
}

function buildOrder(
  { sort, after }: Asked,
  position: ReturnType<typeof parsePosition> | undefined,
  bind: (value: string) => string,
  { table }: PageParts,
): Order {
  const [sign, direction] = sort?.isDescending ? (['<', 'DESC'] as const) : (['>', 'ASC'] as const);
  const shared = { sign, direction };
  if (sort === undefined || sort.by === 'key') {
    const start = bind(after === '' && sort ? KEY_LAST : after);
    const beyond = (key: string): string => `${key} ${sign} ${start}`;
    const none = { column: `''`, value: `''`, whole: `''`, isWhole: true, at: undefined };
    return { ...shared, ...none, by: `"SORT_KEY" ${direction}`, beyond };
  }
  const column = sortColumn(sort);
  const isWhole = sort.field.type !== 'text';
  const value = isWhole ? column : `left(${column}, ${INDEXED_CHARACTERS})`;
  const by = `${value} ${direction}, ${isWhole ? '' : `${column} ${direction}, `}"SORT_KEY" ${direction}`;
  const order = { ...shared, column, value, whole: column, isWhole, by };
  if (!position) return { ...order, at: undefined, beyond: () => 'TRUE' };
  const at = { value: bind(position.value), key: bind(position.key) };
  const found = `(SELECT ${column} FROM ${table} WHERE "SORT_KEY" = ${at.key} AND ${value} = ${at.value})`;
  const whole = isWhole || !position.isCut ? at.value : `coalesce(${found}, ${at.value})`;
  return { ...order, at, beyond: (key) => `(${column}, ${key}) ${sign} (${whole}, ${at.key})` };
}

function buildBounds(column: string, bounds: Bounds | undefined, bind: (value: string) => string): string {
  const from = bounds?.from === undefined ? '' : ` AND ${column} >= ${bind(bounds.from)}`;
  return bounds?.to === undefined ? from : `${from} AND ${column} < ${bind(bounds.to)}`;
}

interface WalkParts {
  readonly from: string;
  readonly condition: string;
  readonly most: string;
  readonly isBeside: boolean;
  readonly order: Order;
}

/** Walks along the index. Records whose values it truncates are read again and sorted by their complete values. */
function buildWalk({ from, condition, most, isBeside, order }: WalkParts) {
  const [key, value, whole] = isBeside ? ['key', 'modified', 'modified'] : ['"SORT_KEY"', order.value, order.whole];
  const { at, sign, direction, isWhole } = order;
  const select = `SELECT ${key} AS k, ${value} AS v, ${whole} AS w FROM ${from} WHERE ${condition}`;
  const behind = at ? `AND (${value}, ${key}) ${sign} (${at.value}, ${at.key})` : '';
  const ahead = `ahead AS MATERIALIZED (${select} ${behind} ORDER BY ${value} ${direction}, ${key} ${direction} LIMIT ${most})`;
  if (isWhole) return { ahead, rows: 'SELECT * FROM ahead' };
  const isLong = (start: string): string => `char_length(${start}) = ${INDEXED_CHARACTERS}`;
  const begun = at ? ` UNION SELECT ${at.value} WHERE ${isLong(at.value)}` : '';
  return {
    ahead,
    rows: `SELECT * FROM (SELECT * FROM ahead WHERE NOT ${isLong('v')} UNION ALL
        SELECT same.* FROM (SELECT v FROM ahead WHERE ${isLong('v')}${begun}) long CROSS JOIN LATERAL (
          ${select} AND ${value} = long.v AND ${order.beyond(key)} ORDER BY ${whole} ${direction}, ${key} ${direction} LIMIT ${most}) same
      ) walked ORDER BY v ${direction}, w ${direction}, k ${direction} LIMIT ${most}`,
  };
}
