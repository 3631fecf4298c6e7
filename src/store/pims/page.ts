/** Fills a page with the rows of a query, for both stores. */
import type { Page } from '../../pims/port.ts';
import type { Json } from '../../pims/script.ts';

/** Takes rows of (sort key, record), of which there are `limit` + 1 when there are more. */
export class PageFiller {
  readonly #limit: number;
  readonly #bytesMax: number;
  #records = '';
  #bytes = 0;
  #taken = 0;
  #last = '';
  #hasMore = false;

  constructor(limit: number, bytesMax: number) {
    this.#limit = limit;
    this.#bytesMax = bytesMax;
  }

  /** Whether the page has all its records, so that there is one row more at most. */
  get isLong(): boolean {
    return this.#taken === this.#limit;
  }

  /** False when the record is beyond the page: then nothing more fits. */
  take(sortKey: string, record: Json): boolean {
    const bytes = this.#bytes + Buffer.byteLength(record) + 1;
    this.#hasMore = this.isLong || (bytes > this.#bytesMax && this.#taken > 0);
    if (this.#hasMore) return false;
    this.#records += this.#taken === 0 ? record : `,${record}`;
    this.#bytes = bytes;
    this.#taken++;
    this.#last = sortKey;
    return true;
  }

  get page(): Page {
    return { records: `[${this.#records}]`, next: this.#hasMore ? this.#last : null };
  }
}

/** The page of these rows. Takes no more of them than it needs. */
export function cutPage(rows: Iterable<readonly [string, Json]>, limit: number, bytesMax: number): Page {
  const filler = new PageFiller(limit, bytesMax);
  for (const [sortKey, record] of rows) if (!filler.take(sortKey, record)) break;
  return filler.page;
}
