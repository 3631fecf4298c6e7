/**
 * Begin here: the reads of a tenant, which are records, orders with their lines, pages and storefront lookups. The
 * event loop runs them within milliseconds or not at all; threads run them to their end.
 */
import type { Outcome } from '../../../errors.ts';
import type { OrderFound, Page, RecordFound } from '../../../pims/pims-port.ts';
import type { Json } from '../../../pims/rules/json.ts';
import { refuseLargeOrder } from '../../../pims/rules/order.ts';
import { LOOKUP_CHARACTERS_MAX } from '../../../pims/rules/record-bounds.ts';
import { renderStorefrontOrders, type OrderWithItems } from '../../../pims/reads/storefront.ts';
import { formatPosition, parsePosition } from '../../../pims/reads/query.ts';
import { sortKey } from '../../../pims/rules/values.ts';
import type { Bound, Statement } from '../../sql/writing.ts';
import { LookRows } from '../../pims/look-sql.ts';
import { parseOrder, TOO_LARGE, type LookupFound } from '../../pims/lookups.ts';
import { PageFiller } from '../../pims/page.ts';
import { CUT_SHORT, errcodeOf, type Budget, type Database } from '../files/database.ts';
import type { PageSql } from './page-sql.ts';

export interface PageRead extends PageSql {
  readonly kind: 'page';
  readonly after: string;
  readonly limit: number;
  readonly bytesMax: number;
  /** Whether each row also has a list of lines. */
  readonly hasLines: boolean;
  /** Finds a row for each matching record, beginning with the first. */
  readonly counted: Pick<PageSql, 'sql' | 'values'> | undefined;
}

/** A read of one record, or of an order with its lines. */
interface RecordRead {
  readonly kind: 'record' | 'order';
  readonly sql: string;
  readonly key: string;
}

interface LookupRead {
  readonly kind: 'lookup';
  readonly sql: string;
  /** The numbers, without duplicates. */
  readonly referenceNumbers: readonly string[];
  readonly recordsMax: number;
}

/** Rows of a statement that can be long, and that calls `charge_row` for the rows it looks at. */
interface RowsRead extends Pick<Statement, 'sql' | 'values'> {
  readonly kind: 'rows';
}

/** The result for a page with too many records for the event loop. */
export const TOO_LONG = Symbol('too long');

/** Plain data, so that it can be sent to a thread. */
export type Read = RecordRead | PageRead | LookupRead | RowsRead;
interface Found {
  page: Page;
  record: RecordFound | undefined;
  order: OrderFound | undefined;
  lookup: LookupFound;
  rows: Pick<LookRows, 'rows'>;
}
export type FoundBy<R extends Read> = Found[R['kind']];

type PageRow = [sortKey: string, value: string, record: Json, lines?: Json];

/** A text greater than every sort key. */
const KEY_LAST = '\u{10ffff}';
const TOO_BIG = 18;
const NO_LIMIT = -1;
const isTooBig = (fault: unknown) => errcodeOf(fault) === TOO_BIG;
/** Time for a walk along the keys before the read begins again with an index that leads to many records. */
const TRY_MS = 10;
/** Maximum records of a page that is read on the event loop. */
export const LOOP_RECORDS_MAX = 100;

/**
 * Where a read runs. On the event loop all rows are fetched at once, which is faster; in a thread one after the other,
 * so that no more than one is in memory.
 */
type Place = 'loop' | 'thread';

/** Runs a read. Returns CUT_SHORT if it exceeds its budget or is too large for the event loop. */
export function runRead<R extends Read>(
  db: Database,
  read: R,
  place: Place,
  budget: Budget,
): Outcome<FoundBy<R>> | typeof CUT_SHORT | typeof TOO_LONG {
  const readByKind = () => {
    if (read.kind === 'rows') {
      const found = new LookRows();
      for (const row of db.each(read.sql, ...read.values)) if (!found.takeRow(row)) break;
      return found;
    }
    if (read.kind === 'page') return readPage(db, read, place);
    return read.kind === 'lookup' ? lookUp(db, read, place) : readRecord(db, read);
  };
  const cheaperPlan = read.kind === 'page' && budget.ms > TRY_MS ? read.cheaperPlan : undefined;
  try {
    const ms = cheaperPlan ? TRY_MS : budget.ms;
    const found = db.withBudget({ ...budget, ms }, readByKind) as FoundBy<R> | typeof CUT_SHORT | typeof TOO_LONG;
    if (found !== CUT_SHORT || !cheaperPlan || budget.isEnded()) return found;
  } catch (fault) {
    if (!isTooBig(fault)) throw fault;
    // A thread can still read the rows before the one that is too big for a single value.
    if (place === 'loop') return CUT_SHORT;
    return read.kind === 'lookup'
      ? (TOO_LARGE as FoundBy<R>)
      : refuseLargeOrder(read.kind === 'page' ? 'include' : undefined);
  }
  return runRead(db, { ...read, ...cheaperPlan, cheaperPlan: undefined }, place, { ...budget, ms: budget.ms - TRY_MS });
}

function readPage(db: Database, read: PageRead, place: Place): Page | typeof TOO_LONG {
  const { sql, values, after, bytesMax, sorted, hasLines, counted } = read;
  const limit = place === 'loop' ? Math.min(read.limit, LOOP_RECORDS_MAX) : read.limit;
  const valuesFrom = (position: string) => [...startAt(db, position, read), limit + 1, ...values];
  const rows =
    place === 'loop' ? db.rows<PageRow>(sql, ...valuesFrom(after)) : db.walk<PageRow>(sql, valuesFrom, after);
  const filler = new PageFiller(limit, bytesMax);
  try {
    for (const [key, value, record, lines] of rows)
      if (!filler.takeRecord(sorted ? formatPosition(value, key) : key, record, lines?.slice(1, -1))) break;
  } catch (fault) {
    if (place === 'loop' || !isTooBig(fault) || !filler.endEarly()) throw fault;
  }
  const page = hasLines ? filler.pageWithLines : filler.page;
  if (page.next !== null && limit < read.limit) return TOO_LONG;
  return counted ? { ...page, count: countRows(db, counted) } : page;
}

/** Returns the key and the value after which a walk begins. */
function startAt(db: Database, position: string, { isDescending, sorted }: PageRead): [key: string, value: Bound] {
  if (!sorted) return [position === '' && isDescending ? KEY_LAST : position, null];
  const { from = '', to = null } = sorted.bounds;
  if (position === '') return ['', isDescending ? to : from];
  const { value, key, isCut } = parsePosition(position);
  // The position has the start of a long value; the record has the rest, unless it has changed.
  const [whole] = (isCut && db.row<[string]>(sorted.valueOf, key)) || [value];
  return [key, whole.startsWith(value) ? whole : value];
}

/** Counts row by row, because Node keeps every text that our functions receive until a statement returns a row. */
function countRows(db: Database, { sql, values }: Pick<PageSql, 'sql' | 'values'>): number {
  let count = 0;
  for (const _ of db.walk(sql, (from) => [from, null, NO_LIMIT, ...values], '')) count++;
  return count;
}

/** Reads one row, without a time budget. The longest value that SQLite builds bounds its size. */
function readRecord(db: Database, { kind, sql, key }: RecordRead): RecordFound | OrderFound | undefined {
  const [record, tag, lines] = db.row<[Json, string, Json]>(sql, sortKey(key)) ?? [];
  if (record === undefined || tag === undefined) return undefined;
  return kind === 'record' ? { record, tag } : { order: record, lines: lines === '[]' ? null : lines!, tag };
}

function lookUp(db: Database, read: LookupRead, place: Place): LookupFound {
  const { sql, referenceNumbers, recordsMax } = read;
  const found = referenceNumbers.map((): OrderWithItems[] => []);
  let characters = 0;
  let records = 0;
  type LookupRow = [at: number, order: Json, lines: Json];
  const fetch = place === 'loop' ? 'rows' : 'each';
  for (const [at, order, lines] of db[fetch]<LookupRow>(sql, JSON.stringify(referenceNumbers), recordsMax + 1)) {
    characters += order.length + lines.length;
    if (++records > recordsMax || characters > LOOKUP_CHARACTERS_MAX) return TOO_LARGE;
    found[at]!.push(parseOrder(order, lines));
  }
  return found.map((orders, at) => renderStorefrontOrders(referenceNumbers[at]!, orders));
}

/** Counts the characters of all texts in the result of a read on the event loop. */
export const countAllCharacters = (found: unknown): number =>
  typeof found === 'string'
    ? found.length
    : Object.values(found ?? {}).reduce<number>((sum, part) => sum + countAllCharacters(part), 0);
