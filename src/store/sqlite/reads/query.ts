/**
 * Reads that may turn out large: pages, orders with their lines, storefront lookups. The event loop runs them within
 * milliseconds or not at all; worker threads run them to their end.
 */
import type { Outcome } from '../../../errors.ts';
import type { OrderFound, Page } from '../../../pims/port.ts';
import type { Json } from '../../../pims/script.ts';
import { refuseLargeOrder } from '../../../pims/line-item.ts';
import { LOOKUP_CHARACTERS_MAX } from '../../../pims/limits.ts';
import { renderItem, renderStorefrontOrders, type LookedUp, type OrderWithItems } from '../../../pims/storefront.ts';
import { formatPosition, parsePosition } from '../../../pims/sort.ts';
import { sortKey, type Values } from '../../../pims/values.ts';
import type { Bound } from '../../writing.ts';
import { PageFiller } from '../../pims/page.ts';
import { CUT_SHORT, type Budget, type Database } from '../files/database.ts';
import type { PageSql, SortedSql } from './page-sql.ts';

/** See PageSql. */
export interface PageRead extends Pick<PageSql, 'sql' | 'values' | 'instead' | 'isDescending' | 'sorted'> {
  readonly kind: 'page';
  readonly after: string;
  readonly limit: number;
  readonly bytesMax: number;
  /** Whether each row has a list of lines as well. */
  readonly hasLines: boolean;
  /** A row for each record that matches, from the first on. */
  readonly counted: Pick<PageSql, 'sql' | 'values'> | undefined;
}

interface OrderRead {
  readonly kind: 'order';
  readonly sql: string;
  readonly orderNumber: string;
}

export interface LookupRead {
  readonly kind: 'lookup';
  readonly sql: string;
  /** Each once. */
  readonly referenceNumbers: readonly string[];
  readonly recordsMax: number;
}

/** In place of a lookup with more than one answer holds. */
export const TOO_LARGE = 'too large';

/** Plain data, so that it can cross to a thread. */
export type Read = PageRead | OrderRead | LookupRead;
interface Found {
  page: Page;
  order: OrderFound | undefined;
  /** In the order of the numbers. */
  lookup: readonly LookedUp[] | typeof TOO_LARGE;
}
export type FoundBy<R extends Read> = Found[R['kind']];

/** A position in the order of the page, a record, and its lines where they were asked for. */
type PageRow = [position: string, record: Json, lines?: Json];
type SortedRow = [sortKey: string, value: string, record: Json, lines?: Json];

/** Greater than every sort key. */
const KEY_LAST = '\u{10ffff}';
const TOO_BIG = 18;
const NO_LIMIT = -1;
const isTooBig = (fault: unknown): boolean => (fault as { errcode?: number }).errcode === TOO_BIG;
/** How long a walk along the keys may take where an index leads to many records instead. */
const TRY_MS = 10;

/**
 * What a read finds, or CUT_SHORT when its budget was used up first. `fetch`: `rows` is faster, `each` never has more
 * than one row in memory.
 */
export function runRead<R extends Read>(
  db: Database,
  read: R,
  fetch: 'rows' | 'each',
  budget: Budget,
): Outcome<FoundBy<R>> | typeof CUT_SHORT {
  const run = (): Outcome<Found[Read['kind']]> => {
    if (read.kind === 'order') return readOrder(db, read);
    return read.kind === 'page' ? readPage(db, read, fetch) : lookUp(db, read, fetch);
  };
  const instead = read.kind === 'page' && budget.ms > TRY_MS ? read.instead : undefined;
  try {
    const ms = instead ? TRY_MS : budget.ms;
    const found = db.withBudget({ ...budget, ms }, run) as Outcome<FoundBy<R>> | typeof CUT_SHORT;
    if (found !== CUT_SHORT || !instead || budget.isEnded()) return found;
  } catch (fault) {
    // One by one, rows in front of what is too big for one value can be read.
    if (fetch === 'rows' && isTooBig(fault)) return CUT_SHORT;
    throw fault;
  }
  return runRead(db, { ...read, ...instead, instead: undefined }, fetch, { ...budget, ms: budget.ms - TRY_MS });
}

function readPage(db: Database, read: PageRead, fetch: 'rows' | 'each'): Outcome<Page> {
  const { limit, bytesMax, hasLines, counted } = read;
  const rows = read.sorted ? walkSorted(db, read, read.sorted, fetch) : walkByKey(db, read, fetch);
  const filler = new PageFiller(limit, bytesMax);
  try {
    for (const [key, record, lines] of rows) if (!filler.take(key, record, lines?.slice(1, -1))) break;
  } catch (fault) {
    if (fetch === 'rows' || !isTooBig(fault)) throw fault;
    if (!filler.endEarly()) return refuseLargeOrder('include');
  }
  const page = hasLines ? filler.pageWithLines : filler.page;
  return counted ? { ...page, count: countRows(db, counted) } : page;
}

function walkByKey(db: Database, read: PageRead, fetch: 'rows' | 'each'): Iterable<PageRow> {
  const { sql, values, after, limit, isDescending } = read;
  const valuesFrom = (from: string): Bound[] => [from === '' && isDescending ? KEY_LAST : from, limit + 1, ...values];
  return fetch === 'rows' ? db.rows<PageRow>(sql, ...valuesFrom(after)) : db.walk<PageRow>(sql, valuesFrom, after);
}

function* walkSorted(db: Database, read: PageRead, sorted: SortedSql, fetch: 'rows' | 'each'): Iterable<PageRow> {
  const { sql, values, limit, isDescending } = read;
  const { from = '', to = null } = sorted.bounds;
  const valuesFrom = (position: string): Bound[] => {
    if (position === '') return ['', limit + 1, isDescending ? to : from, ...values];
    const { value, key, isCut } = parsePosition(position);
    // Of a long value the position has the start; the record has the rest, unless it has changed.
    const [whole] = (isCut && db.row<[string]>(sorted.valueOf, key)) || [value];
    return [key, limit + 1, whole.startsWith(value) ? whole : value, ...values];
  };
  const rows =
    fetch === 'rows'
      ? db.rows<SortedRow>(sql, ...valuesFrom(read.after))
      : db.walk<SortedRow>(sql, valuesFrom, read.after);
  for (const [key, value, ...record] of rows) yield [formatPosition(value, key), ...record];
}

/** Row by row: until a statement comes up with one, Node keeps every text that our functions were given. */
function countRows(db: Database, { sql, values }: Pick<PageSql, 'sql' | 'values'>): number {
  let count = 0;
  for (const _ of db.walk(sql, (from) => [from, NO_LIMIT, ...values], '')) count++;
  return count;
}

/** One row, which nothing cuts short. Its size is bounded by that of the longest value. */
export function readOrder(
  db: Database,
  { sql, orderNumber }: Omit<OrderRead, 'kind'>,
): Outcome<OrderFound | undefined> {
  try {
    const row = db.row<[Json, Json, string]>(sql, orderNumber, sortKey(orderNumber));
    return row && { order: row[0], lines: row[1] === '[]' ? null : row[1], tag: row[2] };
  } catch (fault) {
    if (!isTooBig(fault)) throw fault;
    return refuseLargeOrder();
  }
}

function lookUp(db: Database, read: LookupRead, fetch: 'rows' | 'each'): readonly LookedUp[] | typeof TOO_LARGE {
  const { sql, referenceNumbers, recordsMax } = read;
  const found = referenceNumbers.map((): OrderWithItems[] => []);
  let characters = 0;
  let records = 0;
  type LookupRow = [place: number, order: Json, lines: Json];
  try {
    for (const [place, order, lines] of db[fetch]<LookupRow>(sql, JSON.stringify(referenceNumbers), recordsMax + 1)) {
      characters += order.length + lines.length;
      if (++records > recordsMax || characters > LOOKUP_CHARACTERS_MAX) return TOO_LARGE;
      const items = (JSON.parse(lines) as Values[]).map(renderItem);
      found[place]!.push({ order: JSON.parse(order) as Values, items });
    }
  } catch (fault) {
    if (fetch === 'rows' || !isTooBig(fault)) throw fault;
    return TOO_LARGE;
  }
  return found.map((orders, place) => renderStorefrontOrders(referenceNumbers[place]!, orders));
}
