/**
 * The SQL of pages on SQLite. Each alternative walks one index in the order of keys, alternatives are merged on the
 * way, and JSON is built for the page alone: it costs what it holds, not what matches. Source: decision 0035.
 */
import { RECORD_TYPES, type KeyedType } from '../../../pims/rules/fields.ts';
import type { FilterTerm, FilterTree } from '../../../pims/reads/filter.ts';
import type { Sort } from '../../../pims/reads/sort.ts';
import {
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
 * SQL of (SORT_KEY, record as JSON). ?1 is the key to begin behind, ?2 one more than the page holds. Where it is sorted
 * by a field, ?3 is the value to begin behind, null the end of all, and rows have what is sorted of theirs behind the key.
 */
export interface PageSql {
  readonly sql: string;
  /** From ?3 or ?4 on. */
  readonly values: readonly string[];
  /** Whether indexed fields, or trigrams that few records have, find all records. */
  readonly isShort: boolean;
  /** Finds what `sql` has not found after a while. */
  readonly instead?: Pick<PageSql, 'sql' | 'values'>;
  readonly isDescending: boolean;
  readonly sorted?: SortedSql;
}

/** How a page is sorted by a field. */
export interface SortedSql {
  /** Between which values the first page begins. */
  readonly bounds: Bounds;
  /** What is sorted of the record with a key. */
  readonly valueOf: string;
}

/** What finds the records of an alternative along one index: a term for an index, or one for the search index. */
type Lead = FilterTerm | undefined;

// SQLite compiles a statement anew when the value of a bare `LIMIT ?` changes, which takes longer than most reads.
const LIMIT = 'LIMIT ?2 + 0';
const SHAPES_MAX = 256;

export const dialect: Dialect = {
  equals: (column, _isIndexed, bind) => `${column} = ${bind()}`,
  isOneOf: (column, _isIndexed, bind) => `${column} IN (SELECT value FROM json_each(${bind()}))`,
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

/** The different runs of three characters in a text. The search index has no shorter ones. */
function trigramsOf(text: string): string[] {
  const characters = Array.from(text);
  return [...new Set(characters.slice(2).map((_, at) => characters.slice(at, at + 3).join('')))];
}

interface Plan {
  readonly recordType: KeyedType;
  readonly tree: FilterTree;
  readonly bounds: Bounds | undefined;
  readonly leads: readonly Lead[];
  readonly sort: Sort | undefined;
}

export class PageBuilder {
  readonly #json: Readonly<Record<KeyedType, string>>;
  /** SQL by what of a query does not change with its values: SQLite's own cache finds the same text fastest. */
  readonly #shapes = new Map<string, Shape>();

  /** `json` builds a record of the columns of its table. */
  constructor(json: Readonly<Record<KeyedType, string>>) {
    this.#json = json;
  }

  build(recordType: KeyedType, filters: FilterTree, counts: EntryCounts, sort?: Sort): PageSql {
    counts.beginQuery();
    const { tree, bounds } = takeBounds(recordType, filters, sort);
    const { leads, large } = findLeads(recordType, tree, counts, isByField(sort));
    const plan = { recordType, tree, bounds, leads, sort };
    const page = this.#build(plan, counts);
    if (!large) return page;
    const { sql, values } = this.#build({ ...plan, leads: [large] }, counts);
    return { ...page, instead: { sql, values } };
  }

  #build(plan: Plan, counts: EntryCounts): PageSql {
    const { recordType, tree, bounds, leads, sort } = plan;
    const values: string[] = [];
    const first = isByField(sort) ? 3 : 2;
    const bind = (value: string): string => `?${first + values.push(value)}`;
    const parts = tree.map((terms) => terms.map((term) => buildTerm(recordType, term, dialect, bind)));
    // Where a sorted page begins is bound as its position.
    const beginning = isByField(sort) ? (sort.isDescending ? 'to' : 'from') : undefined;
    const [from, to] = (['from', 'to'] as const).map((end) =>
      end === beginning || bounds?.[end] === undefined ? undefined : bind(bounds[end]),
    );
    let isShort = leads.every((lead, at) => lead !== undefined || tree[at]!.length === 0);
    const walks = leads.flatMap((lead, at) => {
      if (!lead) return [];
      const found = { lead, condition: parts[at]![tree[at]!.indexOf(lead)]! };
      if (lead.kind !== 'contains') return [found];
      const { trigrams, isRare } = counts.findRare(recordType, trigramsOf(lead.value));
      isShort &&= isRare;
      return [{ lead, condition: bind(trigrams.map(quote).join(' AND ')) }];
    });
    const condition = joinAlternatives(parts);
    const order = sort ? `${sort.field.name} ${sort.isDescending}` : '';
    const led = walks.map((walk) => `${walk.lead.field.name} ${walk.condition}`).join(' ');
    const shape = `${recordType} ${order} ${from} ${to} | ${led} | ${condition}`;
    let built = this.#shapes.get(shape);
    if (built === undefined) {
      const isTested = tree.some((terms, at) => terms.length > (leads[at] && leads[at].kind !== 'contains' ? 1 : 0));
      const ends = { from, to };
      built = buildShape({ recordType, sort, walks, condition, isTested, ends, json: this.#json[recordType] });
      if (this.#shapes.size >= SHAPES_MAX) this.#shapes.delete(this.#shapes.keys().next().value!);
      this.#shapes.set(shape, built);
    }
    const { sql, sorted } = built;
    const isDescending = sort?.isDescending === true;
    return { sql, values, isShort, isDescending, ...(sorted && { sorted: { ...sorted, bounds: bounds ?? {} } }) };
  }
}

const isByField = (sort: Sort | undefined): sort is Sort => sort !== undefined && sort.by !== 'key';

/** None at all where one alternative has none: then all records are walked. `large`: leads, but finds many. */
function findLeads(recordType: KeyedType, tree: FilterTree, counts: EntryCounts, isSorted: boolean) {
  const found = tree.map((terms) => findLead(recordType, terms, counts, isSorted));
  const leads = found.map(({ lead }) => lead);
  const isLed = !leads.includes(undefined);
  return { leads: isLed ? leads : leads.map(() => undefined), large: tree.length === 1 ? found[0]!.large : undefined };
}

function findLead(
  recordType: KeyedType,
  terms: readonly FilterTerm[],
  counts: EntryCounts,
  isSorted: boolean,
): { lead: Lead; large?: Lead } {
  const exact = terms.filter(isIndexed);
  const key = exact.find(({ field }) => field.name === RECORD_TYPES[recordType].key);
  const gathered = terms.filter((term) => isGathered(recordType, term));
  if (key) return { lead: key };
  if (exact.length === 1 && gathered.length === 0 && !isSorted) return { lead: exact[0] };
  const candidates = [...exact, ...gathered].map((term) => buildCandidate(recordType, term));
  const fewest = candidates.length > 0 ? counts.findFewest(recordType, candidates) : undefined;
  if (fewest?.isKnown) return { lead: fewest.term };
  if (exact.length > 0 && !isSorted) return { lead: fewest!.term };
  const needle = terms.find((term) => findNeedle([term], dialect) !== undefined);
  const isRare = (term: FilterTerm): boolean =>
    term.kind === 'contains' && counts.findRare(recordType, trigramsOf(term.value)).isRare;
  if (needle && (!isSorted || isRare(needle))) return { lead: needle };
  return { lead: undefined, large: isSorted ? undefined : gathered[0] };
}

function buildCandidate(recordType: KeyedType, term: FilterTerm): Candidate {
  const values: string[] = [];
  const condition = buildTerm(recordType, term, dialect, (value) => {
    values.push(value);
    return '?';
  });
  return { term, entries: `${indexOf(recordType, term)} WHERE ${condition}`, values };
}

interface Walk {
  readonly lead: FilterTerm;
  /** The term itself, or what is asked of the search index. */
  readonly condition: string;
}

interface Parts {
  readonly recordType: KeyedType;
  readonly sort: Sort | undefined;
  readonly walks: readonly Walk[];
  readonly condition: string;
  /** Whether records are looked at that may not be on the page. */
  readonly isTested: boolean;
  readonly ends: Ends;
  readonly json: string;
}

/** Placeholders of the bounds. */
interface Ends {
  readonly from: string | undefined;
  readonly to: string | undefined;
}

interface Shape {
  readonly sql: string;
  readonly sorted?: Omit<SortedSql, 'bounds'>;
}

const buildShape = (parts: Parts): Shape => {
  if (!isByField(parts.sort)) return { sql: buildByKey(parts) };
  const { table } = RECORD_TYPES[parts.recordType];
  const valueOf = `SELECT ${sortColumn(parts.sort)} FROM ${table} WHERE SORT_KEY = ?`;
  return { sql: buildSorted(parts), sorted: { valueOf } };
};

/** Between these ends and beyond the key before. */
function beyondKey(column: string, { from, to }: Ends, isDescending: boolean): string {
  if (isDescending) {
    const start = to === undefined ? `${column} < ?1` : `${column} < min(?1, ${to})`;
    return from === undefined ? start : `${start} AND ${column} >= ${from}`;
  }
  const start = from === undefined ? `${column} > ?1` : `${column} >= max(?1 || char(1), ${from})`;
  return to === undefined ? start : `${start} AND ${column} < ${to}`;
}

function buildByKey({ recordType, sort, walks, condition, isTested, ends, json }: Parts): string {
  const { table } = RECORD_TYPES[recordType];
  const order = sort ? ' DESC' : '';
  const beyond = (column = 'SORT_KEY'): string => beyondKey(column, ends, sort !== undefined);
  // Where every record that is looked at is on the page, it is enough to see that the page is in time.
  const charge = isTested ? 'walk_row(SORT_KEY)' : 'charge_row(ID)';
  const [walk] = walks;
  if (!walk || (walks.length === 1 && isIndexed(walk.lead)))
    return `SELECT SORT_KEY, ${json} FROM ${table} ${walk ? indexOf(recordType, walk.lead) : ''}
      WHERE ${charge} AND (${condition}) AND ${beyond()} ORDER BY SORT_KEY${order} ${LIMIT}`;
  // What is found in no order: the plus sign has it sorted.
  const found = walks.map(({ lead, condition: which }) =>
    isIndexed(lead)
      ? `SELECT SORT_KEY AS "found key", ID AS "found ID" FROM ${table} ${indexOf(recordType, lead)}
        WHERE ${which} AND ${beyond()}`
      : `SELECT +SORT_KEY AS "found key", ID AS "found ID" FROM ${findBy(recordType, lead, which)} AND ${beyond('+SORT_KEY')}`,
  );
  // SQLite keeps the order of an inner SELECT that has a limit. -1: none.
  const sorted = `${found.join(' UNION ')} ORDER BY "found key"${order} ${isTested ? 'LIMIT -1' : LIMIT}`;
  return `SELECT SORT_KEY, ${json} FROM (${sorted}) CROSS JOIN ${table} ON ID = "found ID"
    WHERE ${charge} ${isTested ? `AND (${condition})` : ''} ${LIMIT}`;
}

/** Few records are all found and then sorted; else the index of what is sorted is walked, from its end for the last. */
function buildSorted({ recordType, sort, walks, condition, ends: { from, to }, json }: Parts): string {
  const { table } = RECORD_TYPES[recordType];
  const value = sortColumn(sort!);
  const [sign, order] = sort!.isDescending ? ['<', 'DESC'] : ['>', ''];
  const end = from ? `${value} >= ${from}` : to ? `${value} < ${to}` : 'TRUE';
  const byKey = `SORT_KEY ${order} ${LIMIT}`;
  const byValue = `${value} ${order}, ${byKey}`;
  // null: the end of all. A blob is greater than every text.
  const start = "coalesce(?3, x'')";
  if (walks.length === 0) {
    const walk = (beyond: string, by: string): string => `SELECT * FROM (
      SELECT SORT_KEY, ${value}, ${json} FROM ${table} INDEXED BY ${table}_${sort!.field.name}
      WHERE walk_row(${value}, SORT_KEY) AND (${condition}) AND ${beyond} AND ${end} ORDER BY ${by})`;
    // One after the other, as no index of an expression finds what is beyond a pair.
    const same = walk(`${value} = ?3 AND SORT_KEY ${sign} ?1`, byKey);
    return `${same} UNION ALL ${walk(`${value} ${sign} ${start}`, byValue)} ${LIMIT}`;
  }
  const found = walks.map((walk) => `SELECT ID AS "found ID" FROM ${findBy(recordType, walk.lead, walk.condition)}`);
  return `SELECT SORT_KEY, ${value}, ${json} FROM (
      SELECT ID AS "sorted ID" FROM (${found.join(' UNION ')}) CROSS JOIN ${table} ON ID = "found ID"
      WHERE (${condition}) AND (${value}, SORT_KEY) ${sign} (${start}, ?1) AND ${end} ORDER BY ${byValue}
    ) CROSS JOIN ${table} ON ID = "sorted ID" ${LIMIT}`;
}

/** What one index finds, in no order of its own. */
function findBy(recordType: KeyedType, lead: FilterTerm, condition: string): string {
  const { table } = RECORD_TYPES[recordType];
  const [index, which] =
    lead.kind === 'contains' ? ['', dialect.search(table, condition)] : [indexOf(recordType, lead), condition];
  return `${table} ${index} WHERE ${which} AND charge_row(ID)`;
}

/** The planner knows nothing of the data; the key's own index it takes by itself. */
function indexOf(recordType: KeyedType, { field: { name } }: FilterTerm): string {
  const { table, key } = RECORD_TYPES[recordType];
  return name === key ? '' : `INDEXED BY ${table}_${name}`;
}
