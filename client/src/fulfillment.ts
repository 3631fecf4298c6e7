/** Adds up the fulfillment of a storefront order from the records of the storefront lookup, without a call. */
import type { StorefrontItem, StorefrontLookup, StorefrontOrder } from './contract.ts';

export interface Fulfillment {
  /**
   * `unknown`: there is no record. `cancelled`: every record is cancelled. The others ignore cancelled records:
   * `draft`: there are only worksheets and quotes, so nothing is ordered yet. `open`: nothing is shipped.
   * `partly_shipped`: some ordered units are shipped. `shipped`: all ordered units are shipped, or there are only
   * invoices without units.
   */
  readonly state: 'unknown' | 'draft' | 'open' | 'partly_shipped' | 'shipped' | 'cancelled';
  /** Units of all lines together, care plans included. */
  readonly ordered: number;
  readonly shipped: number;
  readonly open: number;
  /** Tracking numbers of the records, each once, newest invoice first. A shipped order may have none. */
  readonly trackingNumbers: readonly string[];
  readonly lines: readonly FulfillmentLine[];
}

/** A part of the order, added up over the records that have it. */
export interface FulfillmentLine {
  readonly partNumber: string;
  readonly description: string;
  readonly ordered: number;
  readonly shipped: number;
  /** Units that are not shipped yet. */
  readonly open: number;
  /** Units of returns, and of other lines with a negative quantity. They count only here. */
  readonly returned: number;
  /** Serial numbers of the shipped units. A care plan has its parent's. */
  readonly serialNumbers: readonly string[];
  readonly isCarePlan: boolean;
  /** For a care plan, the partNumber of the product that it covers, if that is known. */
  readonly parent: string | undefined;
}

type Sum = { -readonly [Member in keyof FulfillmentLine]: FulfillmentLine[Member] };

/**
 * Adds up invoices and sales orders: a partial invoice makes two records of one order. Leaves out cancelled records.
 * Lines with the same part (or description, without a part) and the same parent are one line. The parent of
 * a care plan is the product before it in its record or, if a partial invoice has separated the two, in another record.
 */
export function deriveFulfillment({ orders }: Pick<StorefrontLookup, 'orders'>): Fulfillment {
  const binding = orders.filter(isBinding);
  const lines = addUp(binding);
  const total = (member: 'ordered' | 'shipped' | 'open'): number =>
    lines.reduce((sum, line) => add(sum, line[member]), 0);
  const [ordered, shipped, open] = [total('ordered'), total('shipped'), total('open')];
  return {
    state: stateOf(orders, binding, { open, shipped }),
    ordered,
    shipped,
    open,
    trackingNumbers: [...new Set(binding.flatMap(({ tracking_numbers: numbers }) => numbers))],
    lines,
  };
}

/** Returns whether the units of a record are ordered. A quote only offers them. */
export const isBinding = ({ order_type: stage, cancelled }: StorefrontOrder): boolean =>
  !cancelled && (stage === 'invoice' || stage === 'sales_order');

function stateOf(
  orders: readonly StorefrontOrder[],
  binding: readonly StorefrontOrder[],
  { open, shipped }: Pick<Fulfillment, 'open' | 'shipped'>,
): Fulfillment['state'] {
  if (orders.length === 0) return 'unknown';
  if (binding.length === 0) return orders.some(({ cancelled }) => !cancelled) ? 'draft' : 'cancelled';
  if (shipped > 0) return open === 0 ? 'shipped' : 'partly_shipped';
  const isEmpty = binding.every(({ items }) => items.every(({ quantity }) => quantity <= 0));
  return isEmpty && binding.every(({ order_type: stage }) => stage === 'invoice') ? 'shipped' : 'open';
}

function addUp(orders: readonly StorefrontOrder[]): FulfillmentLine[] {
  const sums = new Map<string, Sum>();
  // Sales come first, because a return may have a care plan beside another product.
  const sales = orders.filter(({ return_of: invoice }) => !invoice);
  const parents = parentsOf(sales);
  for (const order of new Set([...sales, ...orders]))
    for (const [at, item] of order.items.entries()) {
      const known = parents.get(item.part_number);
      const own = findParent(order.items, at) ?? known;
      const isOwn = !order.return_of || sums.has(keyOf(item, own)) || !parents.has(item.part_number);
      const parent = item.is_care_plan ? (isOwn ? own : known) : undefined;
      const key = keyOf(item, parent);
      const sum = sums.get(key) ?? {
        partNumber: item.part_number,
        description: item.description,
        ordered: 0,
        shipped: 0,
        open: 0,
        returned: 0,
        serialNumbers: [],
        isCarePlan: item.is_care_plan,
        parent,
      };
      sums.set(key, sum);
      if (item.quantity < 0) sum.returned = add(sum.returned, -item.quantity);
      else {
        sum.ordered = add(sum.ordered, item.quantity);
        sum.shipped = add(sum.shipped, item.shipped);
        sum.open = add(sum.open, Math.max(add(item.quantity, -item.shipped), 0));
        sum.serialNumbers = [...sum.serialNumbers, ...item.serial_numbers];
      }
    }
  const lines = [...sums.values()];
  for (const line of lines)
    if (line.isCarePlan)
      line.serialNumbers =
        lines.find(({ isCarePlan, partNumber }) => !isCarePlan && partNumber && partNumber === line.parent)
          ?.serialNumbers ?? [];
  return lines;
}

const keyOf = ({ part_number: part, description, is_care_plan: isPlan }: StorefrontItem, parent?: string): string =>
  JSON.stringify([part === '' ? [description] : part, isPlan, parent]);

/** Returns the product of a care plan in its record: the nearest before it, otherwise the first after it. */
function findParent(items: readonly StorefrontItem[], at: number): string | undefined {
  const isProduct = ({ is_care_plan: isPlan }: StorefrontItem): boolean => !isPlan;
  const product = items.slice(0, at).findLast(isProduct) ?? items.slice(at).find(isProduct);
  return product?.part_number;
}

/** Returns the parents of care plans by part, for records without the product. Omits ambiguous ones. */
function parentsOf(orders: readonly StorefrontOrder[]): ReadonlyMap<string, string | undefined> {
  const parents = new Map<string, string | undefined>();
  const products = new Set<string>();
  const plans = new Set<string>();
  for (const { items } of orders)
    for (const [at, { part_number: part, is_care_plan: isPlan }] of items.entries()) {
      (isPlan ? plans : products).add(part);
      const parent = isPlan ? findParent(items, at) : undefined;
      if (parent !== undefined)
        parents.set(part, parents.has(part) && parents.get(part) !== parent ? undefined : parent);
    }
  // A plan that is never beside a product belongs to the only product.
  if (products.size === 1) for (const plan of plans) if (!parents.has(plan)) parents.set(plan, [...products][0]);
  return parents;
}

/** Adds decimals exactly: 0.1 and 0.2 make 0.3. */
const add = (a: number, b: number): number => Number((a + b).toPrecision(15));
