/** Collects a page row by row, so that neither side ever holds more than a response may contain. */
import type { Page, QueryRequest } from '../../../pims/pims-port.ts';
import type { Json } from '../../../pims/writes/script.ts';
import { ORDER_CHARACTERS_MAX } from '../../../pims/rules/record-bounds.ts';
import { formatPosition } from '../../../pims/reads/sort.ts';
import { PageFiller } from '../../pims/page.ts';
import type { LoadedRow } from './page-sql.ts';

interface OrderRead {
  readonly position: string;
  readonly record: Json;
  readonly lines: Json[];
  bytes: number;
}

export class PageRows {
  readonly #filler: PageFiller;
  readonly #bytesMax: number;
  readonly #hasLines: boolean;
  /** The order whose lines are still arriving. */
  #order: OrderRead | undefined;
  #bytes = 0;
  #orders = 0;
  #isOver = false;
  /** Whether the first order is too large for a response. */
  isTooLarge = false;
  /** The last row. */
  last: LoadedRow | undefined;

  constructor({ limit, bytesMax, hasLines = false }: Pick<QueryRequest, 'limit' | 'bytesMax' | 'hasLines'>) {
    this.#filler = new PageFiller(limit, bytesMax);
    this.#bytesMax = bytesMax;
    this.#hasLines = hasLines;
  }

  /** Adds a row: a record, or further lines of the previous order. Returns false if nothing more fits. */
  take(row: LoadedRow): boolean {
    const [key, record, , lines, , value] = row;
    this.last = row;
    const position = value === null ? key : formatPosition(value, key);
    if (!this.#hasLines) return this.#filler.take(position, record!) || this.#filler.isLong;
    if (record !== null) {
      if (!this.#finishOrder()) return false;
      this.#order = { position, record, lines: [], bytes: Buffer.byteLength(record) };
    }
    const order = this.#order!;
    if (lines !== null) {
      order.lines.push(lines);
      order.bytes += Buffer.byteLength(lines);
    }
    if (this.#orders === 0) this.isTooLarge = order.bytes > ORDER_CHARACTERS_MAX;
    // The order does not fit, even if no further line follows.
    else if (this.#bytes + order.bytes > this.#bytesMax) return this.#finishOrder() && false;
    return !this.isTooLarge;
  }

  get page(): Page {
    if (!this.#hasLines) return this.#filler.page;
    if (!this.#isOver) this.#finishOrder();
    return this.#filler.pageWithLines;
  }

  #finishOrder(): boolean {
    const order = this.#order;
    this.#order = undefined;
    if (!order) return !this.#isOver;
    this.#isOver = !this.#filler.take(order.position, order.record, order.lines.join(','));
    this.#bytes += order.bytes;
    this.#orders++;
    return !this.#isOver;
  }
}
