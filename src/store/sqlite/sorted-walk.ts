/**
 * Rows of a page that is sorted by a field, with the position of each. An index has records with one value by ascending
 * keys, also where it is walked from its end: those are turned round, or read by themselves. Source: decision 0050.
 */
import { formatPosition, parsePosition } from '../../pims/sort.ts';
import type { Json } from '../../pims/script.ts';
import type { Bound } from '../writing.ts';
import type { Database } from './database.ts';
import type { SortedSql } from './page-sql.ts';

/** Greater than every sort key. */
export const KEY_LAST = '\u{10ffff}';
/** So many records with one value are turned round in memory. */
const TURNED_MAX = 64;

interface SortedRead {
  readonly sql: string;
  readonly values: readonly string[];
  readonly after: string;
  readonly limit: number;
  readonly isDescending: boolean;
  readonly sorted: SortedSql;
}
/** A position in the order of the page, a record, and its lines where they were asked for. */
export type PageRow = [position: string, record: Json, lines?: Json];
type SortedRow = [sortKey: string, value: string, record: Json, lines?: Json];
/** Where a walk begins: behind this value and key. null is behind all values. */
type Start = readonly [value: string | null, key: string];

/** Gives at least one row more than the limit where there are more. */
export function* walkSorted(db: Database, read: SortedRead, fetch: 'rows' | 'each'): Iterable<PageRow> {
  for (const [key, value, ...record] of walk(db, read, fetch)) yield [formatPosition(value, key), ...record];
}

function* walk(db: Database, read: SortedRead, fetch: 'rows' | 'each'): Iterable<SortedRow> {
  const { sql, values, limit, isDescending, sorted } = read;
  const { ties, bounds } = sorted;
  const rows = (which: string, [value, key]: Start): Iterable<SortedRow> => {
    const valuesOf = (from: Start): Bound[] => [from[1], limit + 1, from[0], ...values];
    if (fetch === 'rows') return db.rows<SortedRow>(which, ...valuesOf([value, key]));
    const valuesFrom = (position: string): Bound[] => {
      if (position === '') return valuesOf([value, key]);
      const at = position.indexOf('\0');
      return valuesOf([position.slice(0, at), position.slice(at + 1)]);
    };
    return db.walk<SortedRow>(which, valuesFrom, '');
  };
  const begun = beginBehind(db, read);
  if (ties === undefined) {
    yield* rows(sql, begun ?? [null, '']);
    return;
  }
  if (begun) yield* rows(ties, begun);
  if (!isDescending) {
    yield* rows(sql, begun ? [begun[0], KEY_LAST] : [bounds.from ?? '', '']);
    return;
  }
  let from: Start | undefined = begun ? [begun[0], ''] : bounds.to === undefined ? [null, KEY_LAST] : [bounds.to, ''];
  while (from) {
    let taken = 0;
    let run: SortedRow[] = [];
    const start: Start = from;
    from = undefined;
    for (const row of rows(sql, start)) {
      taken++;
      if (run.length > 0 && run[0]![1] !== row[1]) {
        yield* run.toReversed();
        run = [];
      }
      if (run.push(row) > TURNED_MAX) break;
    }
    if (run.length === 0) return;
    const value = run[0]![1];
    // The rest of the run is behind the limit, or too long to be turned.
    if (taken <= limit && run.length <= TURNED_MAX) {
      yield* run.toReversed();
      return;
    }
    yield* rows(ties, [value, '']);
    from = [value, ''];
  }
}

/** Of a long value the position has the start; the record has the rest, unless it has changed. */
function beginBehind(db: Database, { after, sorted }: SortedRead): Start | undefined {
  if (after === '') return undefined;
  const { value, key, isCut } = parsePosition(after);
  if (!isCut) return [value, key];
  const [whole] = db.row<[string]>(sorted.valueOf, key) ?? [value];
  return [whole.startsWith(value) ? whole : value, key];
}
