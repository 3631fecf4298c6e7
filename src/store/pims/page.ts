/** Fills a page with the rows of a query, for both stores. */
import type { Page } from '../../pims/pims-port.ts';
import type { Json } from '../../pims/writes/script.ts';

/**
 * Takes rows of (sort key, record). If there are more than `limit` rows, it receives one further row. A record with
 * lines is on the page with all of them or not at all.
 */
export class PageFiller {
  readonly #limit: number;
  readonly #bytesMax: number;
  #records = '';
  #lines = '';
  #bytes = 0;
  #taken = 0;
  #last = '';
  #hasMore = false;

  constructor(limit: number, bytesMax: number) {
    this.#limit = limit;
    this.#bytesMax = bytesMax;
  }

  /** Whether the page is full, so that at most one further row follows. */
  get isLong(): boolean {
    return this.#taken === this.#limit;
  }

  /** Adds a record and its lines, separated by commas. Returns false when the page ends before the record. */
  take(sortKey: string, record: Json, lines = ''): boolean {
    const ofLines = lines === '' ? 0 : Buffer.byteLength(lines) + 1;
    const bytes = this.#bytes + Buffer.byteLength(record) + 1 + ofLines;
    this.#hasMore = this.isLong || (bytes > this.#bytesMax && this.#taken > 0);
    if (this.#hasMore) return false;
    this.#records += this.#taken === 0 ? record : `,${record}`;
    if (lines !== '') this.#lines += this.#lines === '' ? lines : `,${lines}`;
    this.#bytes = bytes;
    this.#taken++;
    this.#last = sortKey;
    return true;
  }

  get page(): Page {
    return { records: `[${this.#records}]`, next: this.#hasMore ? this.#last : null };
  }

  get pageWithLines(): Page {
    return { ...this.page, lines: this.#lines === '' ? null : `[${this.#lines}]` };
  }

  /** Ends the page before a record that does not fit. Returns false if it is the first record. */
  endEarly(): boolean {
    return (this.#hasMore = this.#taken > 0);
  }
}
