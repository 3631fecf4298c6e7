/**
 * Builds the WHERE of a query from a filter tree, for both stores; a dialect contains their differences. AND, OR, the
 * operators and the values were checked in pims/reads/query.ts.
 */
import { dayOf, type FilterTerm, type FilterTree, type Range, type Sign, type Sort } from '../../pims/reads/query.ts';
import { sortKey } from '../../pims/rules/values.ts';
import { RECORD_TYPES, type RecordType } from '../../pims/rules/fields.ts';

type Bind = (value: string) => string;

export interface Dialect {
  /** Builds an expression that is true if the column is the value. `bind` binds it and returns a placeholder. */
  equals(column: string, isIndexed: boolean, bind: () => string): string;
  /** Builds an expression that is true if the column is one of the texts of a JSON list. */
  isOneOf(column: string, isIndexed: boolean, bind: () => string): string;
  /** Builds an expression that is true if the column is a LINE_KEY that a SELECT returns. An index finds them. */
  isIn(column: string, select: string): string;
  /** Builds the condition of the rows that find the lines of orders, after their table unless it has the lines. */
  ofOrders(orderNumbers: readonly string[], bind: Bind): [from: string | undefined, where: string];
  /** The table of the serial numbers of lines, and LINE_NUMBER as text. */
  readonly lineSerials: string;
  readonly lineNumber: string;
  /** Builds a table of the two ends of each range of a JSON list, as columns `low` and `high`. */
  ranges(placeholder: string): string;
  /** Builds an expression that compares the number in a column with the value. It is never true for an empty column. */
  compares(column: string, sign: Sign, placeholder: string): string;
  /** Builds an expression that is true if the column contains the folded needle. */
  contains(column: string, placeholder: string): string;
  /** Builds an expression that is true for at least every row with the folded needle in a searched field. */
  search(table: string, placeholder: string): string;
  /** Returns the needle in the form of the search index, or undefined when the index cannot find it. */
  searchNeedle(needle: string): string | undefined;
  /** Builds the expression that an index of a text field holds for the column, or for a value. */
  indexed(text: string): string;
  /** The form of a date in an index: its day or the whole text. */
  readonly findsDates: 'by day' | 'by text';
}

/** A condition that holds for the records that match. */
export interface Where {
  readonly sql: string;
  readonly values: readonly string[];
  /** Whether every alternative has an exact match on an index. The query is then short. */
  readonly indexLed: boolean;
}

export function buildWhere(recordType: RecordType, tree: FilterTree, dialect: Dialect): Where {
  const values: string[] = [];
  const bindValue = (value: string) => {
    values.push(value);
    return '?';
  };
  const alternatives = tree.map((terms) => {
    const parts = terms.map((term) => buildTerm(recordType, term, dialect, bindValue));
    const needle = terms.some(isIndexed) ? undefined : findNeedle(terms, dialect);
    if (needle !== undefined) parts.push(dialect.search(RECORD_TYPES[recordType].table, bindValue(needle)));
    return parts;
  });
  return { sql: joinAlternatives(alternatives), values, indexLed: tree.every((terms) => terms.some(isIndexed)) };
}

/** Builds a condition that holds if all parts of an alternative hold, or if there are no alternatives. */
export const joinAlternatives = (alternatives: readonly (readonly string[])[]): string =>
  alternatives.map((parts) => `(${parts.join(' AND ') || 'TRUE'})`).join(' OR ') || 'TRUE';

/** Returns whether an index finds the records of the term in the order of the keys. */
export const isIndexed = (term: FilterTerm): boolean =>
  term.field.indexed && term.kind === 'is' && !term.isNot && term.values.length === 1;

/** Returns whether an index finds the records of the term in any order. */
export function isGathered(recordType: RecordType, term: FilterTerm): boolean {
  const isKey = term.field.name === RECORD_TYPES[recordType].key;
  if (term.kind === 'among') return !term.isNot && (isKey || !term.values.includes(''));
  if (!term.field.indexed || (term.kind !== 'is' && term.kind !== 'within') || term.isNot) return false;
  if (term.kind === 'is') return term.values.length > 1;
  const [range] = term.ranges;
  const isByItsOrder = term.by === (isKey ? 'key' : term.field.type === 'date' ? 'day' : 'text');
  return term.ranges.length === 1 && isByItsOrder && !isEverything(range!);
}

const isEverything = ({ from, to }: Range) => from === '' && to === undefined;

/** Returns a needle with which the search index finds at least every record that the terms hold for, if any. */
export function findNeedle(terms: readonly FilterTerm[], dialect: Dialect): string | undefined {
  for (const term of terms) {
    const isSearched = term.kind === 'contains' && term.field.searched;
    const needle = isSearched ? dialect.searchNeedle(term.value) : undefined;
    if (needle !== undefined) return needle;
  }
  return undefined;
}

/** Builds the condition of one term. Calls `bind` once for each value that it needs. */
export function buildTerm(recordType: RecordType, term: FilterTerm, dialect: Dialect, bind: Bind): string {
  const { field } = term;
  const column = field.name === 'LINE_NUMBER' ? dialect.lineNumber : `"${field.name}"`;
  if (term.kind === 'contains') return term.value === '' ? 'TRUE' : dialect.contains(column, bind(term.value));
  if (term.kind === 'compares') return dialect.compares(column, term.sign, bind(term.value));
  if (term.kind === 'within') return buildRanges(recordType, term, column, dialect, bind);
  if (term.kind === 'among') {
    const [from, where] = buildAmong(term, dialect, bind);
    const found = from ? dialect.isIn('"SORT_KEY"', `SELECT "LINE_KEY" FROM ${from} WHERE ${where}`) : where;
    const isEmpty = field.name === 'SERIAL_NUMBERS' && term.values.includes('') ? ` OR ${column} = ''` : '';
    return `${term.isNot ? 'NOT ' : ''}(${found}${isEmpty})`;
  }
  const isKey = field.name === RECORD_TYPES[recordType].key;
  const isDay = field.type === 'date' && field.indexed && dialect.findsDates === 'by day';
  const by = isKey ? 'key' : isDay ? 'day' : 'text';
  const searched = by === 'text' ? column : sortColumn({ field, by });
  const format = { key: sortKey, day: dayOf, text: (text: string) => text }[by];
  const values = term.values.map((one) => format(one));
  const [value] = values;
  const isText = field.indexed && field.type !== 'timestamp' && !isKey;
  if (values.length > 1) return dialect.isOneOf(searched, isText, () => bind(JSON.stringify(values)));
  if (term.isNot || by !== 'text') return `${searched} ${term.isNot ? '<>' : '='} ${bind(value!)}`;
  return dialect.equals(column, isText, () => bind(value!));
}

/** Builds the condition of the rows that find the lines, after their table unless it has the lines. */
export function buildAmong(
  { field, values }: FilterTerm & { kind: 'among' },
  dialect: Dialect,
  bind: Bind,
): [from: string | undefined, where: string] {
  if (field.name === 'ORDER_NUMBER') return dialect.ofOrders(values, bind);
  return [dialect.lineSerials, dialect.isOneOf('"SERIAL"', false, () => bind(JSON.stringify(values)))];
}

function buildRanges(
  recordType: RecordType,
  { field, by, ranges, isNot }: FilterTerm & { kind: 'within' },
  text: string,
  dialect: Dialect,
  bind: Bind,
): string {
  const column = by === 'text' ? text : sortColumn({ field, by });
  const not = isNot ? 'NOT ' : '';
  const [range, next] = ranges;
  if (range === undefined) return 'FALSE';
  if (next) {
    const list = bind(JSON.stringify(ranges.map(({ from, to }) => [from, to])));
    return `${not}EXISTS (SELECT 1 FROM ${dialect.ranges(list)} WHERE ${column} >= low AND ${column} < high)`;
  }
  if (isEverything(range)) return 'TRUE';
  const { from, to } = range;
  const parts = [`${column} >= ${bind(from)}`];
  if (to !== undefined) parts.push(`${column} < ${bind(to)}`);
  const isText = by === 'text' && field.indexed && field.type === 'text' && field.name !== RECORD_TYPES[recordType].key;
  const indexed = dialect.indexed(column);
  if (isText && indexed !== column) {
    parts.push(`${indexed} >= ${dialect.indexed(bind(from))}`);
    if (to !== undefined) parts.push(`${indexed} <= ${dialect.indexed(bind(to))}`);
  }
  return `${not}(${parts.join(' AND ')})`;
}

/** Returns the expression by which a field is compared and sorted, as in its index: the key, the day or the text. */
export const sortColumn = ({ field: { name }, by }: Pick<Sort, 'field' | 'by'>): string =>
  by === 'key' ? '"SORT_KEY"' : by === 'day' ? `(substr("${name}", 7) || substr("${name}", 1, 5))` : `"${name}"`;

/** The bounds of a walk in the order of the page: from `from` up to but not including `to`. */
export interface Bounds {
  readonly from?: string;
  readonly to?: string;
}

/** Turns the ranges of the sorted field, in terms that must all hold, into the bounds of the walk. */
export function takeBounds(recordType: RecordType, tree: FilterTree, sort: Sort | undefined) {
  const { key } = RECORD_TYPES[recordType];
  const [name, by] = sort ? [sort.field.name, sort.by] : [key, 'key'];
  let bounds: Bounds | undefined;
  const [terms] = tree;
  if (tree.length !== 1) return { tree, bounds };
  const left = terms!.filter((term) => {
    if (term.field.name !== name || term.kind !== 'within' || term.by !== by || term.isNot) return true;
    if (term.ranges.length !== 1) return true;
    bounds = narrow(bounds, term.ranges[0]!);
    return false;
  });
  return { tree: bounds ? [left] : tree, bounds };
}

function narrow(bounds: Bounds = {}, range: Range): Bounds {
  const from = bounds.from === undefined || isLess(bounds.from, range.from) ? range.from : bounds.from;
  const isNearer = range.to !== undefined && (bounds.to === undefined || isLess(range.to, bounds.to));
  const to = isNearer ? range.to : bounds.to;
  return { from, ...(to !== undefined && { to }) };
}

/** Compares by code point, as both stores do. */
const isLess = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;
