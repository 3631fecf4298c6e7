/** Collects the rows of a query as they arrive: a page, or the orders of storefront numbers. */
import type { Page, QueryRequest } from '../../../pims/pims-port.ts';
import { formatPosition } from '../../../pims/reads/query.ts';
import { renderStorefrontOrders, type LookedUp } from '../../../pims/reads/storefront.ts';
import type { Json } from '../../../pims/rules/json.ts';
import { LOOKUP_CHARACTERS_MAX, ORDER_CHARACTERS_MAX } from '../../../pims/rules/record-bounds.ts';
import { parseOrder, renderItems } from '../../pims/lookups.ts';
import { PageFiller } from '../../pims/page.ts';
import type { LoadedRow } from './page-sql.ts';

/** Collects a page row by row. */
export class PageRows {
  readonly #filler: PageFiller;
  readonly #hasLines: boolean;
  last: LoadedRow | undefined;

  constructor({ limit, bytesMax, hasLines = false }: Pick<QueryRequest, 'limit' | 'bytesMax' | 'hasLines'>) {
    this.#filler = new PageFiller(limit, bytesMax);
    this.#hasLines = hasLines;
  }

  /** Whether the first order is larger than a response may be. */
  get isTooLarge(): boolean {
    return this.#hasLines && this.#filler.bytesOfFirst > ORDER_CHARACTERS_MAX;
  }

  /** Adds a row: a record, or further lines of the previous order. Returns false to end the statement early. */
  takeRow(row: LoadedRow): boolean {
    const [key, record, , lines, , value] = row;
    const isSame = key === this.last?.[0];
    this.last = row;
    const position = value === null ? key : formatPosition(value, key);
    const isTaken = isSame
      ? this.#filler.takeLines(lines ?? '')
      : this.#filler.takeRecord(position, record, lines ?? '') || this.#filler.isLong;
    return isTaken && !this.isTooLarge;
  }

  get page(): Page {
    return this.#hasLines ? this.#filler.pageWithLines : this.#filler.page;
  }
}

/** Collects orders and their lines row by row, so that node and server never hold more than a response may contain. */
export class LookupRows {
  readonly #recordsMax: number;
  readonly orders: ReturnType<typeof parseOrder>[] = [];
  #characters = 0;
  #key = '';

  constructor(recordsMax: number) {
    this.#recordsMax = recordsMax;
  }

  get isTooLarge(): boolean {
    return this.orders.length > this.#recordsMax || this.#characters > LOOKUP_CHARACTERS_MAX;
  }

  /** Adds an order, or further lines of the previous order. Returns false if there are too many. */
  takeRow([key, record, , lines]: readonly [string, Json, number, Json | null, ...unknown[]]): boolean {
    if (key !== this.#key) {
      this.orders.push(parseOrder(record, '[]'));
      this.#characters += record.length;
    }
    this.#key = key;
    if (lines !== null) this.orders.at(-1)!.items.push(...renderItems(`[${lines}]`));
    this.#characters += lines?.length ?? 0;
    return !this.isTooLarge;
  }

  /** Returns the result of each number. */
  listResults(numbers: readonly string[]): LookedUp[] {
    const byNumber = Map.groupBy(this.orders, ({ order }) => order['REFERENCE_NUMBER']!);
    return numbers.map((number) => renderStorefrontOrders(number, byNumber.get(number) ?? []));
  }
}
