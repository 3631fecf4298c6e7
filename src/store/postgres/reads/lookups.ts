/** Storefront lookups of one tenant: few orders of a number travel with others, all else is one statement in a turn. */
import { Refusal, type Outcome } from '../../../errors.ts';
import { LOOKUP_CHARACTERS_MAX } from '../../../pims/rules/record-bounds.ts';
import type { LookupOptions } from '../../../pims/pims-port.ts';
import type { Json, Rendered } from '../../../pims/writes/script.ts';
import {
  joinLookups,
  refuseLargeList,
  refuseLargeLookup,
  renderItem,
  renderStorefrontOrders,
  type LookedUp,
  type OrderWithItems,
} from '../../../pims/reads/storefront.ts';
import type { Values } from '../../../pims/rules/values.ts';
import { LargeOrders } from './large-orders.ts';
import { LARGE, SMALL_ORDERS } from './pims-sql.ts';

type SmallRow = readonly [referenceNumber: string, order: Json, lines: Json | null, ...unknown[]];

/** What the tenant's store does for them. */
interface LookupReads {
  /** Orders of a number with their lines, as ordersByReference brings them. */
  readonly readSmall: (referenceNumber: string) => Promise<readonly SmallRow[]>;
  /** Orders of these numbers row by row, as largeOrdersByReference brings them. */
  readonly readLarge: <Order, Line>(
    values: readonly [referenceNumbers: readonly string[], ordersMost: number],
    start: () => LargeOrders<Order, Line>,
    signal: LookupOptions['signal'],
  ) => Promise<Outcome<LargeOrders<Order, Line>>>;
}

const parseValues = (record: Json): Values => JSON.parse(record) as Values;

export class Lookups {
  readonly #reads: LookupReads;

  constructor(reads: LookupReads) {
    this.#reads = reads;
  }

  async view(referenceNumber: string, options: LookupOptions): Promise<Outcome<Rendered>> {
    const { recordsMax } = options;
    const found = await this.#reads.readSmall(referenceNumber);
    if (found.length > recordsMax) return refuseLargeLookup(recordsMax);
    if (found.length > SMALL_ORDERS || found.some(([, , lines]) => lines === LARGE)) {
      const all = await this.#readEach([referenceNumber], options, refuseLargeLookup);
      return all instanceof Refusal ? all : all.get(referenceNumber)!.json;
    }
    const orders = found.map(([, order, lines]) => ({
      order: parseValues(order),
      items: (JSON.parse(lines ?? '[]') as Values[]).map(renderItem),
    }));
    return renderStorefrontOrders(referenceNumber, orders).json;
  }

  async viewEach(referenceNumbers: readonly string[], options: LookupOptions): Promise<Outcome<Rendered>> {
    const all = await this.#readEach([...new Set(referenceNumbers)], options, refuseLargeList);
    return all instanceof Refusal ? all : joinLookups(referenceNumbers, all, options.recordsMax);
  }

  async #readEach(
    referenceNumbers: readonly string[],
    { recordsMax, signal }: LookupOptions,
    refuse: (recordsMax: number) => Refusal,
  ): Promise<Outcome<ReadonlyMap<string, LookedUp>>> {
    const take = { order: parseValues, line: (line: Json) => renderItem(parseValues(line)) };
    const start = (): LargeOrders<Values, Json> => new LargeOrders(recordsMax, LOOKUP_CHARACTERS_MAX, take);
    const read = await this.#reads.readLarge([referenceNumbers, recordsMax + 1], start, signal);
    if (read instanceof Refusal) return read;
    if (read.isTooLarge) return refuse(recordsMax);
    const byNumber = new Map(referenceNumbers.map((number): [string, OrderWithItems[]] => [number, []]));
    for (const { order, lines } of read.list()) byNumber.get(order['REFERENCE_NUMBER']!)!.push({ order, items: lines });
    return new Map(
      referenceNumbers.map((number) => [number, renderStorefrontOrders(number, byNumber.get(number)!)] as const),
    );
  }
}
