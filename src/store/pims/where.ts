/**
 * A filter tree as the WHERE of a query, for both stores; a dialect says what differs. AND, OR and the values were
 * settled in pims/filter.ts.
 */
import type { FilterTerm, FilterTree } from '../../pims/filter.ts';
import { sortKey } from '../../pims/values.ts';
import { RECORD_TYPES, type KeyedType } from '../../pims/fields.ts';

export interface Dialect {
  /** An expression that holds when the column is the value. Each `bind()` binds the value and gives a placeholder. */
  equals(column: string, isIndexed: boolean, bind: () => string): string;
  /** An expression that holds when the column contains the folded needle. */
  contains(column: string, placeholder: string): string;
  /** An expression that holds for at least every row with the folded needle in a searched field. */
  search(table: string, placeholder: string): string;
  /** The needle as the search index wants it; undefined when the index cannot help. */
  searchNeedle(needle: string): string | undefined;
  /** The lead of an alternative, where records are first looked for along indexes alone. */
  readonly lead?: (sql: string) => string;
}

interface Condition {
  readonly sql: string;
  readonly values: readonly string[];
}

/** A condition that holds for the records that match. */
export interface Where extends Condition {
  /** Whether every alternative is led by an exact match on an index: then the query is short. */
  readonly indexLed: boolean;
  /**
   * Holds for these records and perhaps more, and only needs indexes. Set where several walks find records in no order;
   * one walk finds them in the order of their keys.
   */
  readonly candidates: Condition | undefined;
}

export function buildWhere(recordType: KeyedType, tree: FilterTree, dialect: Dialect): Where {
  const leads = tree.map((terms) => findLead(terms, dialect));
  const indexLed = leads.every((lead) => Array.isArray(lead));
  const isWalk = tree.length === 0 || (tree.length === 1 && indexLed) || leads.includes(undefined);
  const candidates = dialect.lead && !isWalk ? buildCandidates(recordType, leads as Lead[], dialect) : undefined;
  const values: string[] = [];
  const bind = binder(values);
  const alternatives = tree.map((terms, index) => {
    const parts = terms.map((term) => buildTerm(recordType, term, dialect, bind));
    const lead = leads[index];
    if (!candidates && typeof lead === 'string') parts.push(dialect.search(RECORD_TYPES[recordType].table, bind(lead)));
    return parts.join(' AND ');
  });
  return { sql: joinAlternatives(alternatives), values, indexLed, candidates };
}

/** What finds the records of an alternative by an index: exact terms, or a needle for the search index. */
type Lead = readonly FilterTerm[] | string;

function findLead(terms: readonly FilterTerm[], dialect: Dialect): Lead | undefined {
  const exact = terms.filter(isIndexed);
  return exact.length > 0 ? exact : findNeedle(terms, dialect);
}

function buildCandidates(recordType: KeyedType, leads: readonly Lead[], dialect: Dialect): Condition {
  const values: string[] = [];
  const bind = binder(values);
  const alternatives = leads.map((lead) =>
    dialect.lead!(
      typeof lead === 'string'
        ? dialect.search(RECORD_TYPES[recordType].table, bind(lead))
        : lead.map((term) => buildTerm(recordType, term, dialect, bind)).join(' AND '),
    ),
  );
  return { sql: joinAlternatives(alternatives), values };
}

const joinAlternatives = (alternatives: readonly string[]): string =>
  alternatives.map((sql) => `(${sql})`).join(' OR ') || 'TRUE';

function binder(values: string[]): (value: string) => string {
  return (value) => {
    values.push(value);
    return '?';
  };
}

const isIndexed = (term: FilterTerm): boolean => term.field.indexed && !term.contains;

function findNeedle(terms: readonly FilterTerm[], dialect: Dialect): string | undefined {
  for (const term of terms) {
    const needle = term.contains && term.field.searched ? dialect.searchNeedle(term.value) : undefined;
    if (needle !== undefined) return needle;
  }
  return undefined;
}

function buildTerm(recordType: KeyedType, term: FilterTerm, dialect: Dialect, bind: (value: string) => string): string {
  const { field, value, contains } = term;
  if (contains) return value === '' ? 'TRUE' : dialect.contains(`"${field.name}"`, bind(value));
  if (field.name === RECORD_TYPES[recordType].key) return `"SORT_KEY" = ${bind(sortKey(value))}`;
  return dialect.equals(`"${field.name}"`, field.indexed, () => bind(value));
}
