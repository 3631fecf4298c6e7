/** Fills a page with the rows of a query, for both stores. */
import type { Page } from '../../pims/pims-port.ts';
import type { Json } from '../../pims/rules/json.ts';

interface Filled {
  readonly records: string;
  readonly lines: string;
  readonly bytes: number;
  readonly count: number;
  /** The sort key of the last record. */
  readonly last: string;
}

const NOTHING: Filled = { records: '', lines: '', bytes: 0, count: 0, last: '' };
const join = (list: string, item: string): string => (list === '' || item === '' ? list + item : `${list},${item}`);
const sizeOf = (item: string): number => (item === '' ? 0 : Buffer.byteLength(item) + 1);

/**
 * Collects rows of (sort key, record) into a page of at most `limit` records. One further row means that there are
 * more. A record is on the page with all of its lines or not at all.
 */
export class PageFiller {
  readonly #limit: number;
  readonly #bytesMax: number;
  #filled = NOTHING;
  /** The page without its last record. */
  #before = NOTHING;
  #hasMore = false;

  constructor(limit: number, bytesMax: number) {
    this.#limit = limit;
    this.#bytesMax = bytesMax;
  }

  /** Whether the page is full, so that at most one further record follows. */
  get isLong(): boolean {
    return this.#filled.count === this.#limit;
  }

  /** The bytes of the first record with its lines; 0 once there is another record. */
  get bytesOfFirst(): number {
    return this.#filled.count === 1 ? this.#filled.bytes : 0;
  }

  /** Adds a record and its lines, separated by commas. Returns false when the page ends before the record. */
  takeRecord(sortKey: string, record: Json, lines = ''): boolean {
    const { records, lines: linesBefore, bytes: bytesBefore, count } = this.#filled;
    const bytes = bytesBefore + sizeOf(record) + sizeOf(lines);
    this.#hasMore = this.isLong || (bytes > this.#bytesMax && count > 0);
    if (this.#hasMore) return false;
    this.#before = this.#filled;
    const joined = { records: join(records, record), lines: join(linesBefore, lines) };
    this.#filled = { ...joined, bytes, count: count + 1, last: sortKey };
    return true;
  }

  /** Adds further lines of the last record. If they do not fit, ends the page before the record and returns false. */
  takeLines(lines: string): boolean {
    if (this.#hasMore) return false;
    const bytes = this.#filled.bytes + sizeOf(lines);
    this.#hasMore = bytes > this.#bytesMax && this.#filled.count > 1;
    this.#filled = this.#hasMore ? this.#before : { ...this.#filled, lines: join(this.#filled.lines, lines), bytes };
    return !this.#hasMore;
  }

  get page(): Page {
    return { records: `[${this.#filled.records}]`, next: this.#hasMore ? this.#filled.last : null };
  }

  get pageWithLines(): Page {
    return { ...this.page, lines: this.#filled.lines === '' ? null : `[${this.#filled.lines}]` };
  }

  /** Ends the page before a record that does not fit. Returns false if it is the first record. */
  endEarly(): boolean {
    return (this.#hasMore = this.#filled.count > 0);
  }
}
