/**
 * Filters of a query, in the form of the address and in the form of the API. In the address, a filter is a parameter
 * such as `filter=and.contains.SHIP_VIA.federal`. The operators are those of the API, but with `exact` for `eq`, and
 * with `between`.
 */
import type { FilterOp } from '../../../src/pims/reads/query.ts';

export interface RecordFilter {
  readonly conjunction: 'AND' | 'OR';
  readonly field: string;
  readonly op: FilterOp | 'between';
  /** The value. For `in`, comma-separated values; for `between`, both ends as `from..to`. */
  readonly value: string;
}

export const OPERATORS: Readonly<Record<RecordFilter['op'], string>> = {
  eq: 'is exactly',
  ne: 'is not',
  contains: 'contains',
  starts_with: 'starts with',
  in: 'is one of',
  lt: 'is less than',
  le: 'is at most',
  gt: 'is more than',
  ge: 'is at least',
  between: 'is between',
  empty: 'is empty',
  not_empty: 'is not empty',
};

export const isOperator = (text: string): text is RecordFilter['op'] => Object.hasOwn(OPERATORS, text);
export const takesValue = (op: RecordFilter['op']): boolean => op !== 'empty' && op !== 'not_empty';

/** Formats a filter for the address. Dots separate its parts, so a dot in a field name becomes %2E. */
export const formatFilter = ({ conjunction, field, op, value }: RecordFilter): string =>
  [
    conjunction.toLowerCase(),
    op === 'eq' ? 'exact' : op,
    encodeURIComponent(field).replaceAll('.', '%2E'),
    takesValue(op) ? value : '',
  ].join('.');

function parseFilter(text: string): RecordFilter[] {
  const parts = /^(and|or)\.([a-z_]+)\.([^.]*)\.(.*)$/su.exec(text);
  if (parts === null) return [];
  const [, conjunction, word = '', field = '', value = ''] = parts;
  const op = word === 'exact' ? 'eq' : word;
  if (!isOperator(op)) return [];
  try {
    return [{ conjunction: conjunction === 'or' ? 'OR' : 'AND', field: decodeURIComponent(field), op, value }];
  } catch {
    return []; // A user may have written the address by hand.
  }
}

export const parseFilters = (query: URLSearchParams): RecordFilter[] => query.getAll('filter').flatMap(parseFilter);

/** Returns both ends of a value of `between`. */
export function endsOf(value: string): [from: string, to: string] {
  const [from = '', to = ''] = value.split('..');
  return [from, to];
}

/** Returns the filters of the API for `between`: AND is applied before OR, so both ends hold together. */
function expandRange(filter: RecordFilter): RecordFilter[] {
  if (filter.op !== 'between') return [filter];
  const [from, to] = endsOf(filter.value);
  const ends = [
    { ...filter, op: 'ge', value: from },
    { ...filter, op: 'le', value: to },
  ] as const;
  return ends
    .filter(({ value }) => value !== '')
    .map((end, at) => ({ ...end, conjunction: at === 0 ? end.conjunction : 'AND' }));
}

/** Returns the body of the query, without the meaningless conjunction of the first filter and without `eq`. */
export const toFilterBody = (filters: readonly RecordFilter[]) =>
  filters.flatMap(expandRange).map(({ conjunction, field, op, value }, index) => ({
    field,
    ...(op !== 'eq' && { op }),
    ...(takesValue(op) && { value: op === 'in' ? value.split(',').map((one) => one.trim()) : value }),
    ...(index > 0 && { conjunction }),
  }));

/** Example: `where('ORDER_TYPE', 'eq', 'quote')`. */
export const where = (
  field: string,
  op: RecordFilter['op'],
  value: string,
  conjunction: RecordFilter['conjunction'] = 'AND',
): RecordFilter => ({ conjunction, field, op, value });

/** Substring filters use the index from this length on. */
export const CONTAINS_LEAST = 3;
/** Returns filters that match if one of the fields does: `anyOf(['BNAME', 'SNAME'], 'contains', 'ann')`. */
export const anyOf = (fields: readonly string[], op: RecordFilter['op'], value: string): RecordFilter[] =>
  fields.map((field) => where(field, op, value, 'OR'));

/** Returns the query string of a list with these filters. */
export const searchOf = (filters: readonly RecordFilter[]): string =>
  new URLSearchParams(filters.map((filter) => ['filter', formatFilter(filter)])).toString();
