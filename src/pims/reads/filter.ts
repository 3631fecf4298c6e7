/**
 * Parses the filters of a query into a tree. AND binds tighter than OR, so the tree is a list of alternatives, each a
 * list of terms that must all hold. A store only translates it. Source: specification 2.6, decision 0005.
 */
import { Refusal } from '../../errors.ts';
import { findField, RECORD_TYPES, type Field, type FieldDictionary, type RecordType } from '../rules/fields.ts';
import { FILTER_LIST_MAX, FILTER_VALUE_CHARACTERS_MAX, FILTERS_MAX } from '../rules/record-bounds.ts';
import {
  checkText,
  countCharacters,
  invalid,
  isLonger,
  parseDate,
  parseValue,
  sortKey,
  type RawValue,
} from '../rules/values.ts';

export const FILTER_OPS = [
  'eq',
  'ne',
  'lt',
  'le',
  'gt',
  'ge',
  'in',
  'starts_with',
  'contains',
  'empty',
  'not_empty',
] as const;
export type FilterOp = (typeof FILTER_OPS)[number];
export type FilterValue = Exclude<RawValue, null>;

/** One filter object as the caller sends it. */
export interface Filter {
  readonly field: string;
  readonly value?: FilterValue | readonly FilterValue[];
  readonly op?: FilterOp;
  readonly contains?: boolean;
  readonly conjunction?: string;
}

/** Values from `from` to before `to`, by code point. Without a `to`: all from there on. */
export interface Range {
  readonly from: string;
  readonly to: string | undefined;
}

/** What must hold for the value of a field. */
type Condition =
  /** `value`: the folded needle. */
  | { readonly kind: 'contains'; readonly value: string }
  /** The canonical text is one of these, or none of them. */
  | { readonly kind: 'is'; readonly values: readonly string[]; readonly isNot: boolean }
  /** The text, the day (dayOf), or the sort key of the record is in one of these ranges, or in none. */
  | {
      readonly kind: 'within';
      readonly by: 'text' | 'day' | 'key';
      readonly ranges: readonly Range[];
      readonly isNot: boolean;
    }
  /** The number compares so. */
  | { readonly kind: 'compares'; readonly sign: Sign; readonly value: string };
export type Sign = '<' | '<=' | '>' | '>=';
export type FilterTerm = { readonly field: Field } & Condition;

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
  checkFilters(filters);
  const alternatives: FilterTerm[][] = [];
  for (const [index, filter] of filters.entries()) {
    const term = parseTerm(dictionary, recordType, filter);
    if (parseConjunction(filter, index) === 'OR' || index === 0) alternatives.push([term]);
    else alternatives.at(-1)!.push(term);
  }
  return alternatives;
}

/** Refuses values that do not go with the operator: INVALID_FILTER. */
export function checkFilters(filters: readonly Filter[]): void {
  for (const [index, { op, value, contains }] of filters.entries()) {
    const refuse = (what: string, field: string): never => {
      throw new Refusal('INVALID_FILTER', `Filter ${index}${what}`, { field });
    };
    if (contains === true && op !== undefined && op !== 'contains')
      refuse(`: contains goes with the op contains alone, not with ${op}.`, 'contains');
    if (op === 'empty' || op === 'not_empty') {
      if (value !== undefined) refuse(`: ${op} takes no value.`, 'value');
    } else if (value === undefined) refuse(" has no 'value'.", 'value');
    else if (value === '' && (op === 'le' || op === 'ge'))
      refuse(`: value is '', and nothing is less or greater than no value. Use the op empty or not_empty.`, 'value');
    else if (op === 'in') {
      const isList = Array.isArray(value) && value.length > 0 && value.length <= FILTER_LIST_MAX;
      if (!isList) refuse(`: value must be a list of 1 to ${FILTER_LIST_MAX} values.`, 'value');
    } else if (Array.isArray(value)) refuse(': value must be a string, not a list.', 'value');
  }
}

const LIMIT = `at most ${FILTER_VALUE_CHARACTERS_MAX} are taken`;

function checkValue({ name }: Field, text: string): string {
  if (isLonger(text, FILTER_VALUE_CHARACTERS_MAX))
    throw invalid(name, `The filter on ${name} has a value of ${countCharacters(text)} characters; ${LIMIT}.`);
  checkText(name, text);
  return text;
}

function parseTerm(dictionary: FieldDictionary, recordType: RecordType, filter: Filter): FilterTerm {
  const field = findField(dictionary, recordType, filter.field);
  const op = filter.contains === true ? 'contains' : (filter.op ?? 'eq');
  if (op === 'empty' || op === 'not_empty') return { field, kind: 'is', values: [''], isNot: op === 'not_empty' };
  const values = [filter.value!].flat();
  const texts = values.map((value) => checkValue(field, String(value)));
  const isKey = field.name === RECORD_TYPES[recordType].key;
  switch (op) {
    case 'contains':
      return { field, kind: 'contains', value: foldCase(texts[0]!) };
    case 'starts_with':
      return { field, ...startWith(texts[0]!, isKey) };
    case 'eq':
    case 'ne':
    case 'in':
      return { field, ...beOneOf(field, values, op === 'ne') };
    default:
      return { field, ...compareWith(field, op, values[0]!, isKey) };
  }
}

/** The first text behind this one. No text has a NUL. */
const behind = (text: string): string => `${text}\u0001`;
const FILLED = behind('');
const pointRange = (value: string): Range => ({ from: value, to: behind(value) });

function beOneOf(field: Field, values: readonly FilterValue[], isNot: boolean): Condition {
  const days = field.type === 'timestamp' ? values.map((value) => findDay(String(value))) : [];
  if (days.every((day) => day === undefined))
    return { kind: 'is', values: [...new Set(values.map((value) => parseValue(field, value)))], isNot };
  const ranges = values.map((value, at) => days[at] ?? pointRange(parseValue(field, value)));
  return { kind: 'within', by: 'text', ranges, isNot };
}

/** Text that begins so. All codes with this start but those of digits alone lie side by side by their sort keys too. */
function startWith(start: string, isKey: boolean): Condition {
  const isSideBySide = isKey && !/^\d*$/.test(start);
  const from = isSideBySide ? sortKey(start) : start;
  return { kind: 'within', by: isSideBySide ? 'key' : 'text', ranges: [{ from, to: findEnd(from) }], isNot: false };
}

const SURROGATES_FIRST = 0xd800;
const SURROGATES_LAST = 0xdfff;
const CODE_POINT_LAST = 0x10ffff;
/** The first text behind all that begin so. */
function findEnd(start: string): string | undefined {
  const characters = Array.from(start);
  while (characters.length > 0) {
    const code = characters.pop()!.codePointAt(0)!;
    if (code === CODE_POINT_LAST) continue;
    const next = code + 1 === SURROGATES_FIRST ? SURROGATES_LAST + 1 : code + 1;
    return characters.join('') + String.fromCodePoint(next);
  }
  return undefined;
}

const SIGNS = { lt: '<', le: '<=', gt: '>', ge: '>=' } as const;
const NEVER: Condition = { kind: 'within', by: 'text', ranges: [], isNot: false };

function compareWith(field: Field, op: keyof typeof SIGNS, raw: FilterValue, isKey: boolean): Condition {
  const day = field.type === 'timestamp' ? findDay(String(raw)) : undefined;
  const value = day ? day.from : parseValue(field, raw);
  // No value is less or greater than an empty one, and the same as it are those that are empty too.
  if (value === '') return op === 'le' || op === 'ge' ? { kind: 'is', values: [''], isNot: false } : NEVER;
  if (field.type === 'number') return { kind: 'compares', sign: SIGNS[op], value };
  const by = isKey ? 'key' : field.type === 'date' ? 'day' : 'text';
  const at = by === 'key' ? sortKey(value) : by === 'day' ? dayOf(value) : value;
  const end = day ? day.to! : behind(at);
  const ranges = {
    lt: { from: FILLED, to: at },
    le: { from: FILLED, to: end },
    gt: { from: end, to: undefined },
    ge: { from: at, to: undefined },
  };
  return { kind: 'within', by, ranges: [ranges[op]], isNot: false };
}

/** A date as it sorts: `03/04/2026` gives `202603/04`. */
export const dayOf = (date: string): string => date.slice(6) + date.slice(0, 5);

/** The times of the UTC day, where a date stands alone. */
function findDay(text: string): Range | undefined {
  const date = parseDate(text);
  if (date === undefined) return undefined;
  const start = `${date.slice(6)}-${date.slice(0, 2)}-${date.slice(3, 5)}T`;
  return { from: start, to: findEnd(start) };
}

function parseConjunction(filter: Filter, index: number): 'AND' | 'OR' {
  const word = (filter.conjunction ?? 'AND').toUpperCase();
  if (word === 'AND' || word === 'OR') return word;
  const message = `Filter ${index}: conjunction must be AND or OR, not '${word.slice(0, 64)}'.`;
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
