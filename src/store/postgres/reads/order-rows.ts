/** Fills a page of orders with their lines, which come row by row: neither side ever holds more than an answer may. */
import type { Page } from '../../../pims/pims-port.ts';
import type { Json } from '../../../pims/writes/script.ts';
import { ORDER_CHARACTERS_MAX } from '../../../pims/rules/record-bounds.ts';
import { PageFiller } from '../../pims/page.ts';

interface OrderRead {
  readonly sortKey: string;
  readonly record: Json;
  readonly lines: Json[];
  bytes: number;
}

export class OrderRows {
  readonly #filler: PageFiller;
  readonly #bytesMax: number;
  /** Its lines are still coming. */
  #order: OrderRead | undefined;
  #bytes = 0;
  #orders = 0;
  #isOver = false;
  /** Whether the first order is larger than an answer may be. */
  isTooLarge = false;

  constructor(limit: number, bytesMax: number) {
    this.#filler = new PageFiller(limit, bytesMax);
    this.#bytesMax = bytesMax;
  }

  /** Takes an order, or further lines of the one before. False when the page has all it can have. */
  take(sortKey: string, record: Json | null, lines: Json | null): boolean {
    if (record !== null) {
      if (!this.#finishOrder()) return false;
      this.#order = { sortKey, record, lines: [], bytes: Buffer.byteLength(record) };
    }
    if (lines !== null) {
      this.#order!.lines.push(lines);
      this.#order!.bytes += Buffer.byteLength(lines);
    }
    const { bytes } = this.#order!;
    if (this.#orders === 0) this.isTooLarge = bytes > ORDER_CHARACTERS_MAX;
    // The order does not fit, whatever is still to come of it.
    else if (this.#bytes + bytes > this.#bytesMax) return this.#finishOrder() && false;
    return !this.isTooLarge;
  }

  get page(): Page {
    if (!this.#isOver) this.#finishOrder();
    return this.#filler.pageWithLines;
  }

  #finishOrder(): boolean {
    const order = this.#order;
    this.#order = undefined;
    if (!order) return !this.#isOver;
    this.#isOver = !this.#filler.take(order.sortKey, order.record, order.lines.join(','));
    this.#bytes += order.bytes;
    this.#orders++;
    return !this.#isOver;
  }
}
