/**
 * Reads that may turn out large: pages, orders with their lines, storefront lookups. The event loop runs them within
 * milliseconds or not at all; worker threads run them to their end.
 */
import type { Outcome } from '../../errors.ts';
import type { OrderFound, Page } from '../../pims/port.ts';
import type { Json, Rendered } from '../../pims/script.ts';
import { refuseLargeOrder } from '../../pims/line-item.ts';
import { LOOKUP_CHARACTERS_MAX } from '../../pims/limits.ts';
import { refuseLargeLookup, renderItem, renderStorefrontOrders, type OrderWithItems } from '../../pims/storefront.ts';
import { sortKey, type Values } from '../../pims/values.ts';
import type { Bound } from '../writing.ts';
import { cutPage } from '../pims/page.ts';
import { CUT_SHORT, type Budget, type Database } from './database.ts';

/** See PageSql. */
export interface PageRead {
  readonly kind: 'page';
  readonly sql: string;
  readonly values: readonly string[];
  readonly after: string;
  readonly limit: number;
  readonly bytesMax: number;
}

interface OrderRead {
  readonly kind: 'order';
  readonly sql: string;
  readonly orderNumber: string;
}

interface LookupRead {
  readonly kind: 'lookup';
  readonly ordersSql: string;
  readonly linesSql: string;
  readonly referenceNumber: string;
  readonly recordsMax: number;
}

/** Plain data, so that it can cross to a thread. */
export type Read = PageRead | OrderRead | LookupRead;
interface Found {
  page: Page;
  order: OrderFound | undefined;
  lookup: Rendered;
}
export type FoundBy<R extends Read> = Found[R['kind']];

const TOO_BIG = 18;

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
  return db.withBudget(budget, run) as Outcome<FoundBy<R>> | typeof CUT_SHORT;
}

function readPage(db: Database, read: PageRead, fetch: 'rows' | 'each'): Page {
  const { sql, values, after, limit, bytesMax } = read;
  const valuesFrom = (from: string): Bound[] => [from, limit + 1, ...values];
  type PageRow = [sortKey: string, record: Json];
  const rows =
    fetch === 'rows' ? db.rows<PageRow>(sql, ...valuesFrom(after)) : db.walk<PageRow>(sql, valuesFrom, after);
  return cutPage(rows, limit, bytesMax);
}

/** One row, which nothing cuts short. Its size is bounded by that of the longest value. */
export function readOrder(
  db: Database,
  { sql, orderNumber }: Omit<OrderRead, 'kind'>,
): Outcome<OrderFound | undefined> {
  try {
    const row = db.row<[Json, Json]>(sql, orderNumber, sortKey(orderNumber));
    return row && { order: row[0], lines: row[1] === '[]' ? null : row[1] };
  } catch (fault) {
    if ((fault as { errcode?: number }).errcode !== TOO_BIG) throw fault;
    return refuseLargeOrder();
  }
}

function lookUp(db: Database, read: LookupRead, fetch: 'rows' | 'each'): Outcome<Rendered> {
  const { ordersSql, linesSql, referenceNumber, recordsMax } = read;
  const found: OrderWithItems[] = [];
  let characters = 0;
  for (const [json] of db[fetch]<[Json]>(ordersSql, referenceNumber, recordsMax + 1)) {
    const order = JSON.parse(json) as Values;
    const items: Json[] = [];
    characters += json.length;
    if (found.push({ order, items }) > recordsMax) return refuseLargeLookup(recordsMax);
    for (const [line] of db[fetch]<[Json]>(linesSql, order['ORDER_NUMBER']!)) {
      characters += line.length;
      if (characters > LOOKUP_CHARACTERS_MAX) return refuseLargeLookup(recordsMax);
      items.push(renderItem(JSON.parse(line) as Values));
    }
  }
  return renderStorefrontOrders(referenceNumber, found);
}
