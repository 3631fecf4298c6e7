/** Fills a page with the rows of a query, for both stores. */
import type { Page } from '../../pims/pims-port.ts';
import type { Json } from '../../pims/writes/script.ts';

interface Filled {
  readonly records: string;
  readonly lines: string;
  readonly bytes: number;
  readonly count: number;
  /** The sort key of the last record. */
  readonly last: string;
}

const NOTHING: Filled = { records: '', lines: '', bytes: 0, count: 0, last: '' };
const join = (list: string, item: string) => (list === '' || item === '' ? list + item : `${list},${item}`);
const sizeOf = (item: string) => (item === '' ? 0 : Buffer.byteLength(item) + 1);

export type PageFiller = ReturnType<typeof makePageFiller>;

/**
 * Collects rows of (sort key, record) into a page of at most `limit`. One further row means that there are more. A
 * record with lines is on the page with all of them or not at all.
 */
export function makePageFiller(limit: number, bytesMax: number) {
  let filled = NOTHING;
  /** The page without its last record. */
  let before = NOTHING;
  let hasMore = false;
  return {
    /** Whether the page is full, so that at most one further row follows. */
    get isLong() {
      return filled.count === limit;
    },
    /** The bytes of the first record with its lines, while there is no other. */
    get bytesOfFirst() {
      return filled.count === 1 ? filled.bytes : 0;
    },
    /** Adds a record and its lines, separated by commas. Returns false when the page ends before the record. */
    take(last: string, record: Json, lines = '') {
      const { count } = filled;
      const bytes = filled.bytes + sizeOf(record) + sizeOf(lines);
      hasMore = count === limit || (bytes > bytesMax && count > 0);
      if (hasMore) return false;
      before = filled;
      const joined = { records: join(filled.records, record), lines: join(filled.lines, lines) };
      filled = { ...joined, bytes, count: count + 1, last };
      return true;
    },
    /** Adds further lines of the last record. Returns false when they do not fit: then the page ends before the record. */
    takeLines(lines: string) {
      if (hasMore) return false;
      const bytes = filled.bytes + sizeOf(lines);
      hasMore = bytes > bytesMax && filled.count > 1;
      filled = hasMore ? before : { ...filled, lines: join(filled.lines, lines), bytes };
      return !hasMore;
    },
    /** Ends the page before a record that does not fit. Returns false if it is the first record. */
    endEarly: () => (hasMore = filled.count > 0),
    get page(): Page {
      return { records: `[${filled.records}]`, next: hasMore ? filled.last : null };
    },
    get pageWithLines(): Page {
      return { ...this.page, lines: filled.lines === '' ? null : `[${filled.lines}]` };
    },
  };
}
