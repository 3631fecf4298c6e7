/**
 * Parses the filters of a query into a tree. AND binds tighter than OR, so the tree is a list of alternatives, each a
 * list of terms that must all hold. A store only translates it. Source: specification 2.6, decision 0005.
 */
import { Refusal } from '../errors.ts';
import { checkText, countCharacters, invalid, isLonger, parseValue, type RawValue } from './values.ts';
import { findField, type Field, type FieldDictionary, type RecordType } from './fields.ts';
import { FILTER_VALUE_CHARACTERS_MAX, FILTERS_MAX } from './limits.ts';

/** One filter object as the caller sends it. */
export interface Filter {
  readonly field: string;
  readonly value: Exclude<RawValue, null>;
  readonly contains?: boolean;
  readonly conjunction?: string;
}

export interface FilterTerm {
  readonly field: Field;
  /** Exact: the canonical text. Contains: the folded needle. */
  readonly value: string;
  readonly contains: boolean;
}

/** A record matches when every term of at least one alternative holds. No alternative at all means every record. */
export type FilterTree = readonly (readonly FilterTerm[])[];

/**
 * Parses filters by the dictionary. `[A, OR B, AND C]` gives `[[A], [B, C]]`. A missing conjunction is AND; one on
 * the first filter is ignored. Throws TOO_MANY_FILTERS, UNKNOWN_FIELD, INVALID_VALUE, INVALID_FILTER.
 */
export function parseFilters(
  dictionary: FieldDictionary,
  recordType: RecordType,
  filters: readonly Filter[],
): FilterTree {
  if (filters.length > FILTERS_MAX)
    throw new Refusal('TOO_MANY_FILTERS', `A query takes at most ${FILTERS_MAX} filters, not ${filters.length}.`);
  const alternatives: FilterTerm[][] = [];
  for (const [index, filter] of filters.entries()) {
    const term = parseTerm(dictionary, recordType, filter);
    if (parseConjunction(filter, index) === 'OR' || index === 0) alternatives.push([term]);
    else alternatives.at(-1)!.push(term);
  }
  return alternatives;
}

const LIMIT = `at most ${FILTER_VALUE_CHARACTERS_MAX} are taken`;

function parseTerm(dictionary: FieldDictionary, recordType: RecordType, filter: Filter): FilterTerm {
  const field = findField(dictionary, recordType, filter.field);
  const text = String(filter.value);
  const { name } = field;
  if (isLonger(text, FILTER_VALUE_CHARACTERS_MAX))
    throw invalid(name, `The filter on ${name} has a value of ${countCharacters(text)} characters; ${LIMIT}.`);
  checkText(name, text);
  return filter.contains === true
    ? { field, value: foldCase(text), contains: true }
    : { field, value: parseValue(field, filter.value), contains: false };
}

function parseConjunction(filter: Filter, index: number): 'AND' | 'OR' {
  const word = (filter.conjunction ?? 'AND').toUpperCase();
  if (word === 'AND' || word === 'OR') return word;
  const message = `The conjunction of filter ${index + 1} must be AND or OR.`;
  throw new Refusal('INVALID_FILTER', message, { field: 'conjunction' });
}

/**
 * Text without its case, in every script: texts that differ only in case fold to the same. Lower case first joins
 * look-alikes such as the Kelvin sign; upper case after it undoes forms that depend on their place in a word, such as
 * the final sigma.
 */
export const foldCase = (text: string): string => text.toLowerCase().toUpperCase();

/** Whether the text contains the folded needle, whatever the case. The one meaning of `contains`, on every store. */
export const containsFolded = (text: string, foldedNeedle: string): boolean => foldCase(text).includes(foldedNeedle);
