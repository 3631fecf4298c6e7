/**
 * Begin here: parses the filters of a query into a tree, which a store only translates, and its sort order. AND binds
 * tighter than OR, so the tree is a list of alternatives, each a list of terms that must all hold. A page ends at a
 * position in the sort order. Source: decision 0005.
 */
import { refuseField, Refusal } from '../../errors.ts';
import { findField, RECORD_TYPES, type Field, type FieldDictionary, type RecordType } from '../rules/fields.ts';
import { FILTER_LIST_MAX, FILTER_VALUE_CHARACTERS_MAX } from '../rules/record-bounds.ts';
import {
  checkText,
  countCharacters,
  invalid,
  isLonger,
  parseDate,
  parseValue,
  sortKey,
  startOfLines,
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

export interface Filter {
  readonly field: string;
  readonly value?: FilterValue | readonly FilterValue[];
  readonly op?: FilterOp;
  readonly contains?: boolean;
  readonly conjunction?: string;
}

/** The values from `from` up to but not including `to`, by code point. Without `to`, there is no upper bound. */
export interface Range {
  readonly from: string;
  readonly to: string | undefined;
}

type Condition =
  /** The text contains `value`, which is case-folded. */
  | { readonly kind: 'contains'; readonly value: string }
  /** The canonical text is one of `values`, or is none of them. */
  | { readonly kind: 'is'; readonly values: readonly string[]; readonly isNot: boolean }
  /** The line belongs to one of these orders, or has one of these serial numbers; or it has none of them. */
  | { readonly kind: 'among'; readonly values: readonly string[]; readonly isNot: boolean }
  /** The text, the day (see dayOf) or the sort key of the record is in one of the ranges, or in none of them. */
  | {
      readonly kind: 'within';
      readonly by: 'text' | 'day' | 'key';
      readonly ranges: readonly Range[];
      readonly isNot: boolean;
    }
  /** The number compares to `value` by this sign. */
  | { readonly kind: 'compares'; readonly sign: Sign; readonly value: string };
export type Sign = '<' | '<=' | '>' | '>=';
export type FilterTerm = { readonly field: Field } & Condition;

/** A record matches if every term of at least one alternative holds. An empty tree matches every record. */
export type FilterTree = readonly (readonly FilterTerm[])[];

/**
 * Parses filters by the dictionary: `[A, OR B, AND C]` becomes `[[A], [B, C]]`. A missing conjunction is AND, and the
 * conjunction of the first filter is ignored; the schema of the operation has checked the others. Throws UNKNOWN_FIELD,
 * INVALID_VALUE or INVALID_FILTER.
 */
export function parseFilters(
  dictionary: FieldDictionary,
  recordType: RecordType,
  filters: readonly Filter[],
): FilterTree {
  checkFilters(filters);
  const alternatives: FilterTerm[][] = [];
  for (const [index, filter] of filters.entries()) {
    const term = parseTerm(dictionary, recordType, filter);
    if (filter.conjunction?.toUpperCase() === 'OR' || index === 0) alternatives.push([term]);
    else alternatives.at(-1)!.push(term);
  }
  return alternatives;
}

/** Throws INVALID_FILTER for a value that the operator does not accept. */
export function checkFilters(filters: readonly Filter[]): void {
  for (const [index, { op, value, contains }] of filters.entries()) {
    const refuseFilterPart = (what: string, field: string): never => {
      throw refuseField('INVALID_FILTER', field, `Filter ${index}${what}`);
    };
    if (contains === true && op !== undefined && op !== 'contains')
      refuseFilterPart(` has both contains and the op ${op}. Send one of them.`, 'contains');
    if (op === 'empty' || op === 'not_empty') {
      if (value !== undefined)
        refuseFilterPart(` has a value, which the op ${op} does not accept. Remove 'value'.`, 'value');
    } else if (value === undefined) refuseFilterPart(" has no 'value'.", 'value');
    else if (value === '' && (op === 'le' || op === 'ge'))
      refuseFilterPart(
        ` compares with '', which the op ${op} does not accept. Use the op empty or not_empty.`,
        'value',
      );
    else if (op === 'in') {
      const isList = Array.isArray(value) && value.length > 0 && value.length <= FILTER_LIST_MAX;
      if (!isList) refuseFilterPart(`: value must be a list of 1 to ${FILTER_LIST_MAX} values.`, 'value');
    } else if (Array.isArray(value))
      refuseFilterPart(': value must be a string. Only the op `in` accepts a list.', 'value');
  }
}

const LIMIT = `Shorten it to at most ${FILTER_VALUE_CHARACTERS_MAX}`;

function checkValue({ name }: Field, text: string): string {
  if (isLonger(text, FILTER_VALUE_CHARACTERS_MAX))
    throw invalid(name, `The filter on ${name} has a value of ${countCharacters(text)} characters. ${LIMIT}.`);
  checkText(name, text);
  return text;
}

function parseTerm(dictionary: FieldDictionary, recordType: RecordType, filter: Filter): FilterTerm {
  const field = findField(dictionary, recordType, filter.field);
  const op = filter.contains === true ? 'contains' : (filter.op ?? 'eq');
  const isKey = field.name === RECORD_TYPES[recordType].key;
  // PIMS gives few orders a value in these fields, so the index finds them.
  if (op === 'not_empty' && field.indexed && field.assigned && field.type === 'text' && !isKey)
    return { field, kind: 'within', by: 'text', ranges: [{ from: FILLED, to: undefined }], isNot: false };
  // No index has the ORDER_NUMBER of lines, and none is empty.
  if (op === 'empty' && recordType === 'lines' && isKey) return { field, kind: 'among', values: [''], isNot: false };
  if (op === 'empty' || op === 'not_empty') return { field, kind: 'is', values: [''], isNot: op === 'not_empty' };
  const values = [filter.value!].flat();
  const texts = values.map((value) => checkValue(field, String(value)));
  const keys = isKey ? KEYS[recordType === 'lines' ? 'lines' : 'others'] : undefined;
  switch (op) {
    case 'contains':
      return { field, kind: 'contains', value: foldCase(texts[0]!) };
    case 'starts_with':
      return { field, ...startWith(texts[0]!, keys) };
    case 'eq':
    case 'ne':
    case 'in':
      if (recordType === 'lines' && (isKey || field.name === 'SERIAL_NUMBERS'))
        return { field, kind: 'among', values: [...new Set(texts)], isNot: op === 'ne' };
      return { field, ...beOneOf(field, values, op === 'ne') };
    default:
      return { field, ...compareWith(field, op, values[0]!, keys) };
  }
}

/** Returns the next text after this one. It ends in U+0001, because no text contains a NUL. */
const behind = (text: string) => `${text}\u0001`;
const FILLED = behind('');
const pointRange = (value: string): Range => ({ from: value, to: behind(value) });

/** The sort key of a code, and the next text after all sort keys of it. */
interface Keys {
  readonly at: (code: string) => string;
  readonly after: (key: string) => string;
}
const KEYS = {
  lines: { at: startOfLines, after: (key) => `${key}\u0001\u0002` },
  others: { at: sortKey, after: behind },
} satisfies Record<string, Keys>;

function beOneOf(field: Field, values: readonly FilterValue[], isNot: boolean): Condition {
  const days = field.type === 'timestamp' ? values.map((value) => findDay(String(value))) : [];
  if (days.every((day) => day === undefined))
    return { kind: 'is', values: [...new Set(values.map((value) => parseValue(field, value)))], isNot };
  const ranges = values.map((value, at) => days[at] ?? pointRange(parseValue(field, value)));
  return { kind: 'within', by: 'text', ranges, isNot };
}

/** Matches text that begins with `start`. Such codes have adjacent sort keys unless `start` is all digits. */
function startWith(start: string, keys: Keys | undefined): Condition {
  const from = /^\d*$/.test(start) ? undefined : keys?.at(start);
  const by = from === undefined ? 'text' : 'key';
  return { kind: 'within', by, ranges: [{ from: from ?? start, to: findEnd(from ?? start) }], isNot: false };
}

const SURROGATES_FIRST = 0xd800;
const SURROGATES_LAST = 0xdfff;
const CODE_POINT_LAST = 0x10ffff;
/** Returns the next text after all texts that begin with `start`, or undefined if there is none. */
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

function compareWith(field: Field, op: keyof typeof SIGNS, raw: FilterValue, keys: Keys | undefined): Condition {
  const day = field.type === 'timestamp' ? findDay(String(raw)) : undefined;
  const value = day ? day.from : parseValue(field, raw);
  // An empty value is neither less nor greater than any other. checkFilters refuses it for `le` and `ge`.
  if (value === '') return { kind: 'within', by: 'text', ranges: [], isNot: false };
  if (field.type === 'number') return { kind: 'compares', sign: SIGNS[op], value };
  const by = keys ? 'key' : field.type === 'date' ? 'day' : 'text';
  const at = keys ? keys.at(value) : by === 'day' ? dayOf(value) : value;
  const end = day ? day.to! : (keys?.after ?? behind)(at);
  const ranges = {
    lt: { from: FILLED, to: at },
    le: { from: FILLED, to: end },
    gt: { from: end, to: undefined },
    ge: { from: at, to: undefined },
  };
  return { kind: 'within', by, ranges: [ranges[op]], isNot: false };
}

/** Formats a date so that it can be sorted: `03/04/2026` becomes `202603/04`. */
export const dayOf = (date: string): string => date.slice(6) + date.slice(0, 5);

/** Returns the times of a UTC day if the text is a date without a time. */
function findDay(text: string): Range | undefined {
  const date = parseDate(text);
  if (date === undefined) return undefined;
  const start = `${date.slice(6)}-${date.slice(0, 2)}-${date.slice(3, 5)}T`;
  return { from: start, to: findEnd(start) };
}

/**
 * Folds the case of text in every script, so that texts that differ only in case become the same. Lowercase joins
 * look-alikes such as the Kelvin sign and K. Uppercase then removes forms that depend on their place in a word, such
 * as the final sigma.
 */
export const foldCase = (text: string): string => text.toLowerCase().toUpperCase();

/** Returns whether the text contains the folded needle in any case. Defines `contains` for every store. */
export const containsFolded = (text: string, foldedNeedle: string): boolean => foldCase(text).includes(foldedNeedle);

/** The order of a query: by the key of its records, or by an indexed field and then by the key. */
export interface Sort {
  readonly field: Field;
  /** Form of the field that is sorted, as in FilterTerm. */
  readonly by: 'text' | 'day' | 'key';
  readonly isDescending: boolean;
}

/**
 * Parses `FIELD` or `-FIELD`. Undefined means the order of the keys, as a parameter and as a result. Throws
 * UNKNOWN_FIELD, or FIELD_NOT_SORTABLE with the fields that records can be sorted by.
 */
export function parseSort(dictionary: FieldDictionary, recordType: RecordType, text?: string): Sort | undefined {
  if (text === undefined) return undefined;
  const isDescending = text.startsWith('-');
  const field = findField(dictionary, recordType, isDescending ? text.slice(1) : text);
  if (!field.indexed) {
    const known = [...dictionary.values()].filter(({ indexed }) => indexed).map(({ name }) => name);
    const message = `Records cannot be sorted by ${field.name}, which has no index. Use one of ${known.join(', ')}.`;
    throw refuseField('FIELD_NOT_SORTABLE', 'sort', message);
  }
  if (field.name !== RECORD_TYPES[recordType].key)
    return { field, by: field.type === 'date' ? 'day' : 'text', isDescending };
  return isDescending ? { field, by: 'key', isDescending } : undefined;
}

/** Formats the position of the last record of a page. A URL has room for only the start of a long value. */
export function formatPosition(value: string, key: string): string {
  const start = value.length <= FILTER_VALUE_CHARACTERS_MAX ? value : cutFilterValue(value);
  return `${start}\0${key}`;
}

/**
 * Returns the key of the last record of a page, and its value of the sorted field, or the start of a long value.
 * `isCut` says whether the value may be only the start.
 */
export function parsePosition(position: string) {
  const [value = '', key = ''] = position.split('\0');
  return { value, key, isCut: isCutLong(value) };
}

const cutFilterValue = (value: string) => Array.from(value).slice(0, FILTER_VALUE_CHARACTERS_MAX).join('');
const isCutLong = (value: string) =>
  value.length >= FILTER_VALUE_CHARACTERS_MAX && Array.from(value).length === FILTER_VALUE_CHARACTERS_MAX;

/** Returns the refusal of a query that has used up its time. */
export const refuseSlowQuery = (budgetMs: number): Refusal =>
  new Refusal(
    'QUERY_TOO_COSTLY',
    `The query did not finish within ${budgetMs} ms. Add an exact filter on an indexed field.`,
  );
