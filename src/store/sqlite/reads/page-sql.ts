/**
 * The SQL of pages on SQLite. Each alternative walks one index in the order of keys, the walks are merged, and JSON is
 * built only for the page. The cost therefore depends on the size of the page, not on the number of matches. Source:
 * decision 0035.
 */
import { RECORD_TYPES, type RecordType } from '../../../pims/rules/fields.ts';
import type { FilterTerm, FilterTree, Sort } from '../../../pims/reads/query.ts';
import { BY_KEY } from '../../pims/lines-of.ts';
import {
  buildAmong,
  buildTerm,
  findNeedle,
  isGathered,
  isIndexed,
  joinAlternatives,
  sortColumn,
  takeBounds,
  type Bounds,
  type Dialect,
} from '../../pims/where.ts';
import { quote, type Candidate, type EntryCounts } from './entry-counts.ts';

/**
 * SQL of the rows of a page: SORT_KEY, the sorted field if there is one, the record as JSON, and its lines if they were
 * requested. ?1 is the key to begin after, ?2 the value (null: the end of all values), and ?3 the number of rows.
 */
export interface PageSql {
  readonly sql: string;
  /** Values from ?4 on. */
  readonly values: readonly string[];
  /** Whether indexed fields, or trigrams that few records have, find all records. */
  readonly isShort: boolean;
  /** An alternative statement, which is used if `sql` takes too long. */
  readonly cheaperPlan?: Pick<PageSql, 'sql' | 'values'>;
  readonly isDescending: boolean;
  readonly sorted?: SortedSql;
}

/** The parts of SQL that sort a page by a field. */
interface SortedSql {
  /** Bounds of the values on the page. */
  readonly bounds: Bounds;
  /** Finds the sorted value of a record from its key. */
  readonly valueOf: string;
}

// If the value of a bare `LIMIT ?` changes, SQLite compiles the statement again, which takes longer than most reads.
const LIMIT = 'LIMIT ?3 + 0';
const FIXED_VALUES = 3;
const SHAPES_MAX = 256;

export const dialect: Dialect = {
  equals: (column, _isIndexed, bind) => `${column} = ${bind()}`,
  isOneOf: (column, _isIndexed, bind) => `${column} IN (SELECT value FROM json_each(${bind()}))`,
  isIn: (column, select) => `${column} IN (${select} AND charge_row(LINE_KEY))`,
  ofOrders(orderNumbers, bind) {
    const keys = `json_each(${bind(JSON.stringify(orderNumbers.map(BY_KEY.bind)))})`;
    const isOf = BY_KEY.isOf('l.SORT_KEY', 'q.value');
    return [`(SELECT l.SORT_KEY AS LINE_KEY FROM ${keys} q CROSS JOIN ORDER_LINEITEMS l ON ${isOf})`, 'TRUE'];
  },
  lineSerials: '"LINE_SERIALS"',
  lineNumber: 'CAST("LINE_NUMBER" AS TEXT)',
  ranges: (placeholder) => `(SELECT value ->> 0 AS low, value ->> 1 AS high FROM json_each(${placeholder}))`,
  compares: (column, sign, placeholder) =>
    `(${column} <> '' AND compare_decimals(${column}, ${placeholder}) ${sign} 0)`,
  contains: (column, placeholder) => `contains_folded(${column}, ${placeholder})`,
  search: (table, placeholder) =>
    `ID IN (SELECT rowid FROM ${table}_SEARCH WHERE ${table}_SEARCH MATCH ${placeholder})`,
  searchNeedle: (needle) => (trigramsOf(needle).length > 0 ? needle : undefined),
  indexed: (text) => text,
  findsDates: 'by day',
};

/** Returns the different runs of three characters in a text. The search index has no shorter ones. */
function trigramsOf(text: string): string[] {
  const characters = Array.from(text);
  return [...new Set(characters.slice(2).map((_, at) => characters.slice(at, at + 3).join('')))];
}

/** How a query finds the records of one alternative by walking one index. */
interface Walk {
  /** The term whose records an index of its column, or the search index, finds. */
  readonly lead: FilterTerm;
  /** The SQL of the term, or the placeholder of the query for the search index. */
  readonly condition: string;
}

/** Everything that the SQL of a page depends on. Values are placeholders. */
interface Shape {
  readonly recordType: RecordType;
  readonly sort: Sort | undefined;
  readonly walks: readonly Walk[];
  readonly condition: string;
  /** Whether the statement examines records that may not be on the page. */
  readonly isTested: boolean;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly json: string;
}

/** `json` has the SQL that builds a record from the columns of its table. */
export function makePageBuilder(json: Readonly<Record<RecordType, string>>) {
  /** SQL by shape: the cache of prepared statements finds the same text fastest. */
  const built = new Map<string, string>();
  const buildShape = (shape: Shape) => {
    const { recordType, sort, walks, condition, from, to } = shape;
    const order = sort ? `${sort.field.name} ${sort.isDescending}` : '';
    const led = walks.map(({ lead, condition: which }) => `${lead.field.name} ${which}`).join(' ');
    const key = `${recordType} ${order} ${from} ${to} | ${led} | ${condition}`;
    let sql = built.get(key);
    if (sql === undefined) {
      sql = isByField(sort) ? buildSorted(shape, sort) : buildByKey(shape);
      if (built.size >= SHAPES_MAX) built.delete(built.keys().next().value!);
      built.set(key, sql);
    }
    return sql;
  };
  return {
    buildPage(recordType: RecordType, filters: FilterTree, counts: EntryCounts, sort?: Sort): PageSql {
      counts.beginQuery();
      const { tree, bounds = {} } = takeBounds(recordType, filters, sort);
      const buildFromLeads = (leads: readonly (FilterTerm | undefined)[]) => {
        const values: string[] = [];
        const bindNumbered = (value: string) => `?${FIXED_VALUES + values.push(value)}`;
        const parts = tree.map((terms) => terms.map((term) => buildTerm(recordType, term, dialect, bindNumbered)));
        // The value that a sorted page begins with is bound as its position.
        const beginning = isByField(sort) ? (sort.isDescending ? 'to' : 'from') : undefined;
        const [from, to] = (['from', 'to'] as const).map((end) =>
          end === beginning || bounds[end] === undefined ? undefined : bindNumbered(bounds[end]),
        );
        let isShort = leads.every((lead, at) => lead !== undefined || tree[at]!.length === 0);
        const walks = leads.flatMap((lead, at): Walk[] => {
          if (!lead) return [];
          if (lead.kind !== 'contains') return [{ lead, condition: parts[at]![tree[at]!.indexOf(lead)]! }];
          const { trigrams, isRare } = counts.findRare(recordType, trigramsOf(lead.value));
          isShort &&= isRare;
          return [{ lead, condition: bindNumbered(trigrams.map(quote).join(' AND ')) }];
        });
        const isTested = tree.some((terms, at) => terms.length > (leads[at] && leads[at].kind !== 'contains' ? 1 : 0));
        const condition = joinAlternatives(parts);
        const sql = buildShape({ recordType, sort, walks, condition, isTested, from, to, json: json[recordType] });
        const page = { sql, values, isShort, isDescending: sort?.isDescending === true };
        if (!isByField(sort)) return page;
        const valueOf = `SELECT ${sortColumn(sort)} FROM ${RECORD_TYPES[recordType].table} WHERE SORT_KEY = ?`;
        return { ...page, sorted: { bounds, valueOf } };
      };
      const { leads, large } = findLeads(recordType, tree, counts, isByField(sort));
      const page = buildFromLeads(leads);
      return large ? { ...page, cheaperPlan: buildFromLeads([large]) } : page;
    },
  };
}

const isByField = (sort: Sort | undefined): sort is Sort => sort !== undefined && sort.by !== 'key';

/**
 * Finds the lead of each alternative. If one alternative has none, no lead is used, and the query walks all records.
 * `large` is a lead that finds many.
 */
function findLeads(recordType: RecordType, tree: FilterTree, counts: EntryCounts, isSorted: boolean) {
  const found = tree.map((terms) => findLead(recordType, terms, counts, isSorted));
  const isLed = found.every(({ lead }) => lead);
  return { leads: found.map(({ lead }) => (isLed ? lead : undefined)), large: found.length === 1 && found[0]!.large };
}

function findLead(
  recordType: RecordType,
  terms: readonly FilterTerm[],
  counts: EntryCounts,
  isSorted: boolean,
): { lead?: FilterTerm | undefined; large?: FilterTerm | undefined } {
  const exact = terms.filter(isIndexed);
  const key = exact.find(({ field }) => field.name === RECORD_TYPES[recordType].key);
  const gathered = terms.filter((term) => isGathered(recordType, term));
  if (key) return { lead: key };
  if (exact.length === 1 && gathered.length === 0 && !isSorted) return { lead: exact[0] };
  const candidates = [...exact, ...gathered].map((term) => buildCandidate(recordType, term));
  const { term: fewest, isKnown } = counts.findFewest(candidates);
  if (isKnown || (exact.length > 0 && !isSorted)) return { lead: fewest };
  const needle = terms.find((term) => findNeedle([term], dialect) !== undefined);
  const isRare = (term: FilterTerm) =>
    term.kind === 'contains' && counts.findRare(recordType, trigramsOf(term.value)).isRare;
  if (needle && (!isSorted || isRare(needle))) return { lead: needle };
  return { large: isSorted ? undefined : gathered[0] };
}

function buildCandidate(recordType: RecordType, term: FilterTerm): Candidate {
  const values: string[] = [];
  const bindNext = (value: string) => (values.push(value), '?');
  const { table } = RECORD_TYPES[recordType];
  const [from = table, condition] =
    term.kind === 'among'
      ? buildAmong(term, dialect, bindNext)
      : [`${table} ${indexOf(recordType, term)}`, buildTerm(recordType, term, dialect, bindNext)];
  return { term, entries: `${from} WHERE ${condition}`, values };
}

/** Builds a condition for keys after ?1, between the ends of the page. */
function beyondKey(column: string, { from, to, sort }: Shape): string {
  if (sort) {
    const start = to === undefined ? `${column} < ?1` : `${column} < min(?1, ${to})`;
    return from === undefined ? start : `${start} AND ${column} >= ${from}`;
  }
  const start = from === undefined ? `${column} > ?1` : `${column} >= max(?1 || char(1), ${from})`;
  return to === undefined ? start : `${start} AND ${column} < ${to}`;
}

function buildByKey(shape: Shape): string {
  const { recordType, sort, walks, condition, isTested, json } = shape;
  const { table } = RECORD_TYPES[recordType];
  const id = idOf(recordType);
  const order = sort ? ' DESC' : '';
  const beyond = beyondKey('SORT_KEY', shape);
  // If every examined record is on the page, it is enough to check the time.
  const charge = isTested ? 'walk_row(SORT_KEY)' : `charge_row(${id})`;
  const [walk] = walks;
  if (!walk || (walks.length === 1 && isIndexed(walk.lead)))
    return `SELECT SORT_KEY, NULL, ${json} FROM ${table} ${walk ? indexOf(recordType, walk.lead) : ''}
      WHERE ${charge} AND (${condition}) AND ${beyond} ORDER BY SORT_KEY${order} ${LIMIT}`;
  // The search index finds records in no order. The plus sign makes SQLite sort them.
  const found = walks.map(({ lead, condition: which }) =>
    isIndexed(lead)
      ? `SELECT SORT_KEY AS "found key", ${id} AS "found ID" FROM ${table} ${indexOf(recordType, lead)}
        WHERE ${which} AND ${beyond}`
      : `SELECT +SORT_KEY AS "found key", ${id} AS "found ID" FROM ${findBy(recordType, lead, which)} AND ${beyondKey('+SORT_KEY', shape)}`,
  );
  // SQLite keeps the order of an inner SELECT that has a limit. -1 is no limit.
  const sorted = `${found.join(' UNION ')} ORDER BY "found key"${order} ${isTested ? 'LIMIT -1' : LIMIT}`;
  return `SELECT SORT_KEY, NULL, ${json} FROM (${sorted}) CROSS JOIN ${table} ON ${id} = "found ID"
    WHERE ${charge} ${isTested ? `AND (${condition})` : ''} ${LIMIT}`;
}

/** Builds SQL that finds and sorts few records, or walks the index of the field, backwards if descending. */
function buildSorted({ recordType, walks, condition, from, to, json }: Shape, sort: Sort): string {
  const { table } = RECORD_TYPES[recordType];
  const id = idOf(recordType);
  const value = sortColumn(sort);
  const [sign, order] = sort.isDescending ? ['<', 'DESC'] : ['>', ''];
  const end = from ? `${value} >= ${from}` : to ? `${value} < ${to}` : 'TRUE';
  const byKey = `SORT_KEY ${order} ${LIMIT}`;
  const byValue = `${value} ${order}, ${byKey}`;
  // Null means no end: a blob is greater than every text.
  const start = "coalesce(?2, x'')";
  if (walks.length === 0) {
    const walk = (beyond: string, by: string) => `SELECT * FROM (
      SELECT SORT_KEY, ${value}, ${json} FROM ${table} INDEXED BY ${table}_${sort.field.name}
      WHERE walk_row(${value}, SORT_KEY) AND (${condition}) AND ${beyond} AND ${end} ORDER BY ${by})`;
    // Two walks, because no index on an expression finds the rows after a pair of values.
    const same = walk(`${value} = ?2 AND SORT_KEY ${sign} ?1`, byKey);
    return `${same} UNION ALL ${walk(`${value} ${sign} ${start}`, byValue)} ${LIMIT}`;
  }
  const found = walks.map((walk) => `SELECT ${id} AS "found ID" FROM ${findBy(recordType, walk.lead, walk.condition)}`);
  return `SELECT SORT_KEY, ${value}, ${json} FROM (
      SELECT ${id} AS "sorted ID" FROM (${found.join(' UNION ')}) CROSS JOIN ${table} ON ${id} = "found ID"
      WHERE (${condition}) AND (${value}, SORT_KEY) ${sign} (${start}, ?1) AND ${end} ORDER BY ${byValue}
    ) CROSS JOIN ${table} ON ${id} = "sorted ID" ${LIMIT}`;
}

/** Returns the column that finds a row fastest. Lines have no ID. */
const idOf = (recordType: RecordType) => (recordType === 'lines' ? 'SORT_KEY' : 'ID');

/** Builds the SQL of the records that one index finds, in no particular order. */
function findBy(recordType: RecordType, lead: FilterTerm, condition: string): string {
  const { table } = RECORD_TYPES[recordType];
  const [index, which] =
    lead.kind === 'contains' ? ['', dialect.search(table, condition)] : [indexOf(recordType, lead), condition];
  return `${table} ${index} WHERE ${which} AND charge_row(${idOf(recordType)})`;
}

/** Names the index, since the planner knows nothing of the data. SQLite finds those of keys and of lines by itself. */
function indexOf(recordType: RecordType, { kind, field: { name } }: FilterTerm): string {
  const { table, key } = RECORD_TYPES[recordType];
  return name === key || kind === 'among' ? '' : `INDEXED BY ${table}_${name}`;
}
