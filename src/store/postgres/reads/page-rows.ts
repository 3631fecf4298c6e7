/** Collects a page row by row, so that neither side ever holds more than a response may contain. */
import type { Page, QueryRequest } from '../../../pims/pims-port.ts';
import { ORDER_CHARACTERS_MAX } from '../../../pims/rules/record-bounds.ts';
import { formatPosition } from '../../../pims/reads/query.ts';
import { PageFiller } from '../../pims/page.ts';
import type { LoadedRow } from './page-sql.ts';

export class PageRows {
  readonly #filler: PageFiller;
  readonly #hasLines: boolean;
  /** The last row. */
  last: LoadedRow | undefined;

  constructor({ limit, bytesMax, hasLines = false }: Pick<QueryRequest, 'limit' | 'bytesMax' | 'hasLines'>) {
    this.#filler = new PageFiller(limit, bytesMax);
    this.#hasLines = hasLines;
  }

  /** Whether the first order is larger than an answer may be. */
  get isTooLarge(): boolean {
    return this.#hasLines && this.#filler.bytesOfFirst > ORDER_CHARACTERS_MAX;
  }

  /** Adds a row: a record, or further lines of the order before. Returns false when nothing more fits. */
  take(row: LoadedRow): boolean {
    const [key, record, , lines, , value] = row;
    this.last = row;
    const position = value === null ? key : formatPosition(value, key);
    const isTaken =
      record === null
        ? this.#filler.takeLines(lines ?? '')
        : this.#filler.take(position, record, lines ?? '') || this.#filler.isLong;
    return isTaken && !this.isTooLarge;
  }

  get page(): Page {
    return this.#hasLines ? this.#filler.pageWithLines : this.#filler.page;
  }
}
