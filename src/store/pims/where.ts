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
}

/** A condition that holds for the records that match. */
export interface Where {
  readonly sql: string;
  readonly values: readonly string[];
  /** Whether every alternative is led by an exact match on an index: then the query is short. */
  readonly indexLed: boolean;
}

export function buildWhere(recordType: KeyedType, tree: FilterTree, dialect: Dialect): Where {
  const values: string[] = [];
  const bind = (value: string): string => {
    values.push(value);
    return '?';
  };
  const alternatives = tree.map((terms) => {
    const parts = terms.map((term) => buildTerm(recordType, term, dialect, bind));
    const needle = terms.some(isIndexed) ? undefined : findNeedle(terms, dialect);
    if (needle !== undefined) parts.push(dialect.search(RECORD_TYPES[recordType].table, bind(needle)));
    return parts;
  });
  return { sql: joinAlternatives(alternatives), values, indexLed: tree.every((terms) => terms.some(isIndexed)) };
}

/** Holds where every part of at least one alternative does; always when there is none. */
export const joinAlternatives = (alternatives: readonly (readonly string[])[]): string =>
  alternatives.map((parts) => `(${parts.join(' AND ')})`).join(' OR ') || 'TRUE';

export const isIndexed = (term: FilterTerm): boolean => term.field.indexed && !term.contains;

/** What the search index looks for, to find at least every record that the terms hold for; undefined when it cannot. */
export function findNeedle(terms: readonly FilterTerm[], dialect: Dialect): string | undefined {
  for (const term of terms) {
    const needle = term.contains && term.field.searched ? dialect.searchNeedle(term.value) : undefined;
    if (needle !== undefined) return needle;
  }
  return undefined;
}

/** A condition for one term. `bind` is called once for each value that it needs. */
export function buildTerm(
  recordType: KeyedType,
  term: FilterTerm,
  dialect: Dialect,
  bind: (value: string) => string,
): string {
  const { field, value, contains } = term;
  if (contains) return value === '' ? 'TRUE' : dialect.contains(`"${field.name}"`, bind(value));
  if (field.name === RECORD_TYPES[recordType].key) return `"SORT_KEY" = ${bind(sortKey(value))}`;
  return dialect.equals(`"${field.name}"`, field.indexed, () => bind(value));
}
