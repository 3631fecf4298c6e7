/**
 * Storefront lookups of one tenant. Lookups of a number with few orders share a statement. All others, and lists of
 * numbers, are read separately in the tenant's turn.
 */
import { Refusal, type Outcome } from '../../../errors.ts';
import { LOOKUP_CHARACTERS_MAX } from '../../../pims/rules/record-bounds.ts';
import type { LookupOptions, PimsStore } from '../../../pims/pims-port.ts';
import type { Json } from '../../../pims/rules/json.ts';
import {
  joinLookups,
  refuseLargeList,
  refuseLargeLookup,
  renderItem,
  renderStorefrontOrders,
  type LookedUp,
} from '../../../pims/reads/storefront.ts';
import type { Values } from '../../../pims/rules/values.ts';
import { LARGE, SMALL_ORDERS } from './pims-sql.ts';

type SmallRow = readonly [referenceNumber: string, order: Json, lines: Json | null, ...unknown[]];

/** The reads of the tenant's store. */
interface LookupReads {
  /** Reads at most SMALL_ORDERS + 1 orders of a number, with their lines. */
  readonly readSmall: (referenceNumber: string) => Promise<readonly SmallRow[]>;
  /** Reads the orders of these numbers row by row. */
  readonly readLarge: (
    referenceNumbers: readonly string[],
    recordsMax: number,
    signal: LookupOptions['signal'],
  ) => Promise<Outcome<LookupRows>>;
}

const parseOrder = (record: Json, items: Json[] = []) => ({ order: JSON.parse(record) as Values, items });
const renderItems = (lines: Json): Json[] => (JSON.parse(lines) as Values[]).map(renderItem);

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
      this.orders.push(parseOrder(record));
      this.#characters += record.length;
    }
    this.#key = key;
    if (lines !== null) this.orders.at(-1)!.items.push(...renderItems(`[${lines}]`));
    this.#characters += lines?.length ?? 0;
    return !this.isTooLarge;
  }
}

export function makeLookups({ readSmall, readLarge }: LookupReads): Pick<PimsStore, 'viewOrders' | 'viewOrdersOfEach'> {
  async function readEach(
    referenceNumbers: readonly string[],
    { recordsMax, signal }: LookupOptions,
    refuse: (recordsMax: number) => Refusal,
  ): Promise<Outcome<ReadonlyMap<string, LookedUp>>> {
    const read = await readLarge(referenceNumbers, recordsMax, signal);
    if (read instanceof Refusal) return read;
    if (read.isTooLarge) return refuse(recordsMax);
    const byNumber = Map.groupBy(read.orders, ({ order }) => order['REFERENCE_NUMBER']!);
    return new Map(
      referenceNumbers.map((number) => [number, renderStorefrontOrders(number, byNumber.get(number) ?? [])] as const),
    );
  }
  return {
    async viewOrders(referenceNumber, options) {
      const { recordsMax } = options;
      const found = await readSmall(referenceNumber);
      if (found.length > recordsMax) return refuseLargeLookup(recordsMax);
      if (found.length > SMALL_ORDERS || found.some(([, , lines]) => lines === LARGE)) {
        const all = await readEach([referenceNumber], options, refuseLargeLookup);
        return all instanceof Refusal ? all : all.get(referenceNumber)!.json;
      }
      const orders = found.map(([, order, lines]) => parseOrder(order, renderItems(lines ?? '[]')));
      return renderStorefrontOrders(referenceNumber, orders).json;
    },
    async viewOrdersOfEach(referenceNumbers, options) {
      const all = await readEach([...new Set(referenceNumbers)], options, refuseLargeList);
      return all instanceof Refusal ? all : joinLookups(referenceNumbers, all, options.recordsMax);
    },
  };
}
