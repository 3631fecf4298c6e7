/**
 * The SQL of pages on SQLite. Each alternative walks one index in the order of keys, alternatives are merged on the
 * way, and JSON is built for the page alone: it costs what it holds, not what matches. Source: decision 0035.
 */
import { RECORD_TYPES, type KeyedType } from '../../pims/fields.ts';
import type { FilterTerm, FilterTree } from '../../pims/filter.ts';
import { sortKey } from '../../pims/values.ts';
import { buildTerm, isIndexed, joinAlternatives, type Dialect } from '../pims/where.ts';
import { quote, type EntryCounts } from './entry-counts.ts';

/** SQL of (SORT_KEY, record as JSON). ?1 is the key to begin behind, ?2 one more than the page holds. */
export interface PageSql {
  readonly sql: string;
  /** From ?3 on. */
  readonly values: readonly string[];
  /** Whether exact values of indexed fields, or trigrams that few records have, find all records. */
  readonly isShort: boolean;
}

/** What finds the records of an alternative along one index: an exact term, or one for the search index. */
type Lead = FilterTerm | undefined;

// SQLite compiles a statement anew when the value of a bare `LIMIT ?` changes, which takes longer than most reads.
const LIMIT = 'LIMIT ?2 + 0';
const SHAPES_MAX = 256;

export const dialect: Dialect = {
  equals: (column, _isIndexed, bind) => `${column} = ${bind()}`,
  contains: (column, placeholder) => `contains_folded(${column}, ${placeholder})`,
  search: (table, placeholder) =>
    `ID IN (SELECT rowid FROM ${table}_SEARCH WHERE ${table}_SEARCH MATCH ${placeholder})`,
  searchNeedle: (needle) => (trigramsOf(needle).length > 0 ? needle : undefined),
};

/** The different runs of three characters in a text. The search index has no shorter ones. */
function trigramsOf(text: string): string[] {
  const characters = Array.from(text);
  return [...new Set(characters.slice(2).map((_, at) => characters.slice(at, at + 3).join('')))];
}

export class PageBuilder {
  readonly #json: Readonly<Record<KeyedType, string>>;
  /** SQL by what of a query does not change with its values: SQLite's own cache finds the same text fastest. */
  readonly #shapes = new Map<string, string>();

  /** `json` builds a record of the columns of its table. */
  constructor(json: Readonly<Record<KeyedType, string>>) {
    this.#json = json;
  }

  build(recordType: KeyedType, tree: FilterTree, counts: EntryCounts): PageSql {
    counts.beginQuery();
    const leads = findLeads(recordType, tree, counts);
    const values: string[] = [];
    let isShort = tree.length === 0 || leads[0] !== undefined;
    let shape: string = recordType;
    for (const [index, terms] of tree.entries()) {
      const lead = leads[index];
      shape += ' |';
      for (const term of terms) {
        const { name } = term.field;
        shape += ` ${name}${term === lead ? '!' : ''}`;
        if (term.contains) shape += term.value === '' ? '*' : '~';
        if (!term.contains || term.value !== '')
          values.push(!term.contains && name === RECORD_TYPES[recordType].key ? sortKey(term.value) : term.value);
      }
      if (!lead?.contains) continue;
      const { trigrams, isRare } = counts.findRare(recordType, trigramsOf(lead.value));
      values.push(trigrams.map(quote).join(' AND '));
      isShort &&= isRare;
    }
    let sql = this.#shapes.get(shape);
    if (sql === undefined) {
      sql = buildSql(recordType, tree, leads, this.#json[recordType]);
      if (this.#shapes.size >= SHAPES_MAX) this.#shapes.delete(this.#shapes.keys().next().value!);
      this.#shapes.set(shape, sql);
    }
    return { sql, values, isShort };
  }
}

/** None at all where one alternative has none: then all records are walked. */
function findLeads(recordType: KeyedType, tree: FilterTree, counts: EntryCounts): Lead[] {
  const leads = tree.map((terms) => findLead(recordType, terms, counts));
  return leads.includes(undefined) ? leads.map(() => undefined) : leads;
}

function findLead(recordType: KeyedType, terms: readonly FilterTerm[], counts: EntryCounts): Lead {
  const exact = terms.filter(isIndexed);
  if (exact.length === 0)
    return terms.find(({ field, contains, value }) => contains && field.searched && dialect.searchNeedle(value));
  const key = exact.find(({ field }) => field.name === RECORD_TYPES[recordType].key);
  return key ?? (exact.length === 1 ? exact[0] : counts.findFewest(recordType, exact));
}

/** Numbers the values as `build` lists them. */
function buildSql(recordType: KeyedType, tree: FilterTree, leads: readonly Lead[], json: string): string {
  const { table } = RECORD_TYPES[recordType];
  let place = 2;
  const bind = (): string => `?${++place}`;
  const walks: string[] = [];
  const alternatives = tree.map((terms, index) => {
    const lead = leads[index];
    const parts = terms.map((term) => buildTerm(recordType, term, dialect, bind));
    if (lead) walks.push(buildWalk(recordType, lead, lead.contains ? bind() : parts[terms.indexOf(lead)]!));
    return parts;
  });
  const condition = joinAlternatives(alternatives);
  const isTested = tree.some((terms, index) => terms.length > 1 || terms[0] !== leads[index] || terms[0]!.contains);
  // Where every record that is looked at is on the page, it is enough to see that the page is in time.
  const charge = isTested ? 'walk_row(SORT_KEY)' : 'charge_row(ID)';
  if (walks.length === 0 || (walks.length === 1 && !leads[0]!.contains))
    return `SELECT SORT_KEY, ${json} FROM ${table} ${leads[0] ? indexOf(recordType, leads[0]) : ''}
      WHERE ${charge} AND (${condition}) AND SORT_KEY > ?1 ORDER BY SORT_KEY ${LIMIT}`;
  // SQLite keeps the order of an inner SELECT that has a limit. -1: none.
  const found = `${walks.join(' UNION ')} ORDER BY "found key" ${isTested ? 'LIMIT -1' : LIMIT}`;
  return `SELECT SORT_KEY, ${json} FROM (${found}) CROSS JOIN ${table} ON ID = "found ID"
    WHERE ${charge} ${isTested ? `AND (${condition})` : ''} ${LIMIT}`;
}

/** The keys and IDs that one index finds. The search index finds them in no order: the plus sign has them sorted. */
function buildWalk(recordType: KeyedType, lead: FilterTerm, exactOrNeedle: string): string {
  const { table } = RECORD_TYPES[recordType];
  return lead.contains
    ? `SELECT +SORT_KEY AS "found key", ID AS "found ID" FROM ${table}
        WHERE ${dialect.search(table, exactOrNeedle)} AND charge_row(ID) AND +SORT_KEY > ?1`
    : `SELECT SORT_KEY AS "found key", ID AS "found ID" FROM ${table} ${indexOf(recordType, lead)}
        WHERE ${exactOrNeedle} AND SORT_KEY > ?1`;
}

/** The planner knows nothing of the data; the key's own index it takes by itself. */
function indexOf(recordType: KeyedType, { field: { name } }: FilterTerm): string {
  const { table, key } = RECORD_TYPES[recordType];
  return name === key ? '' : `INDEXED BY ${table}_${name}`;
}
