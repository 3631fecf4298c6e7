/**
 * Filters of a query, in the form of the address and in the form of the API. In the address each is one
 * `filter=and.contains.SHIP_VIA.federal`, with the API's operators, except `exact` for `eq`.
 */
import type { FilterOp } from '../../../src/pims/reads/filter.ts';

export interface RecordFilter {
  readonly conjunction: 'AND' | 'OR';
  readonly field: string;
  readonly op: FilterOp;
  /** The value. For `in`, comma-separated values. */
  readonly value: string;
}

/** The operators in words, for display between field and value. */
export const OPERATORS: Readonly<Record<FilterOp, string>> = {
  eq: 'is exactly',
  ne: 'is not',
  contains: 'contains',
  starts_with: 'starts with',
  in: 'is one of',
  lt: 'is less than',
  le: 'is at most',
  gt: 'is more than',
  ge: 'is at least',
  empty: 'is empty',
  not_empty: 'is not empty',
};

export const isOperator = (text: string): text is FilterOp => Object.hasOwn(OPERATORS, text);
export const takesValue = (op: FilterOp): boolean => op !== 'empty' && op !== 'not_empty';

/** Dots separate the parts in the address, so a dot in a field name is written as %2E. */
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

/** Returns the body of the query, without the meaningless conjunction of the first filter and without `eq`. */
export const toFilterBody = (filters: readonly RecordFilter[]) =>
  filters.map(({ conjunction, field, op, value }, index) => ({
    field,
    ...(op !== 'eq' && { op }),
    ...(takesValue(op) && { value: op === 'in' ? value.split(',').map((one) => one.trim()) : value }),
    ...(index > 0 && { conjunction }),
  }));

/** Example: `filteredPath('orders', { CUSTOMER_CODE: 'VINET' })` leads to the list with that exact filter. */
export function filteredPath(kind: string, exact: Readonly<Record<string, string>>): string {
  const filters = Object.entries(exact).map(([field, value]) => [
    'filter',
    formatFilter({ conjunction: 'AND', field, op: 'eq', value }),
  ]);
  return `/records/${kind}?${new URLSearchParams(filters).toString()}`;
}
