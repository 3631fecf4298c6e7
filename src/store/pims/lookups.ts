/** The storefront lookups of a store, from its function that looks up numbers. */
import { Refusal, type Outcome } from '../../errors.ts';
import type { LookupOptions, PimsStore } from '../../pims/pims-port.ts';
import {
  joinLookups,
  refuseLargeList,
  refuseLargeLookup,
  renderItem,
  type LookedUp,
} from '../../pims/reads/storefront.ts';
import type { Json } from '../../pims/rules/json.ts';
import type { Values } from '../../pims/rules/values.ts';

/** The result of a lookup that is too large for one response. A thread can return it. */
export const TOO_LARGE = 'too large';
/** One result for each number, in their order. */
export type LookupFound = readonly LookedUp[] | typeof TOO_LARGE;

export const renderItems = (lines: Json): Json[] => (JSON.parse(lines) as Values[]).map(renderItem);
/** Parses an order, and renders a list of its lines. */
export const parseOrder = (record: Json, lines: Json) => ({
  order: JSON.parse(record) as Values,
  items: renderItems(lines),
});

/** `lookUp` gets each number once. */
export const makeLookups = (
  lookUp: (numbers: readonly string[], options: LookupOptions) => Promise<Outcome<LookupFound>>,
): Pick<PimsStore, 'viewOrders' | 'viewOrdersOfEach'> => ({
  async viewOrders(number, options) {
    const found = await lookUp([number], options);
    if (found instanceof Refusal) return found;
    return found === TOO_LARGE ? refuseLargeLookup(options.recordsMax) : found[0]!.json;
  },
  async viewOrdersOfEach(numbers, options) {
    const different = [...new Set(numbers)];
    const found = await lookUp(different, options);
    if (found instanceof Refusal) return found;
    if (found === TOO_LARGE) return refuseLargeList(options.recordsMax);
    return joinLookups(numbers, new Map(different.map((number, at) => [number, found[at]!])), options.recordsMax);
  },
});
