/**
 * How far a storefront order is fulfilled: units ordered, shipped, invoiced and open, a row per part, over all its
 * records, as docs/api-guide.md, "Deriving fulfilment", explains.
 */
import { addDecimals, compareDecimals, subtractDecimals } from '../../../../src/pims/decimal.ts';
import type { StorefrontOrder } from '../../../../src/pims/storefront.ts';

export interface PartRow {
  readonly part: string;
  readonly isCarePlan: boolean;
  readonly description: string;
  readonly ordered: string;
  readonly shipped: string;
  readonly invoiced: string;
  readonly open: string;
  /** Units in each record, in their order; undefined where the record has none of it. */
  readonly records: readonly (Units | undefined)[];
}
interface Units {
  readonly quantity: string;
  readonly shipped: string;
}
export type FulfilmentState = 'complete' | 'partly shipped' | 'nothing shipped' | 'not ordered yet' | 'cancelled';
export interface Fulfilment {
  readonly rows: readonly PartRow[];
  readonly total: PartRow;
  readonly state: FulfilmentState;
  /** Whether all quantities are as they were sent: a JSON number keeps 15 digits. */
  readonly isExact: boolean;
}

/**
 * Sales orders and invoices are ordered. Quotes and worksheets count only while there is nothing else, and what is
 * cancelled never does.
 */
export const isBinding = ({ order_type: stage, cancelled }: StorefrontOrder): boolean =>
  stage === 'invoice' || (stage === 'sales_order' && !cancelled);
export const isLoose = (record: StorefrontOrder): boolean => !record.cancelled && !isBinding(record);

export function sumFulfilment(records: readonly StorefrontOrder[]): Fulfilment {
  const hasBinding = records.some(isBinding);
  const counted = records.map((record) => isBinding(record) || (!hasBinding && isLoose(record)));
  const parts = new Map(records.flatMap(({ items }) => items).map((item) => [keyOf(item), item]));
  const rows = [...parts].map(([key, { part_number, is_care_plan, description }]) => {
    const units = records.map(({ items }) => unitsOf(items.filter((item) => keyOf(item) === key)));
    return {
      part: part_number,
      isCarePlan: is_care_plan,
      description,
      ...sumsOf(records, counted, units),
      records: units,
    };
  });
  const all = records.map((_, index) =>
    rows.reduce<Units | undefined>((before, row) => together(before, row.records[index]), undefined),
  );
  const total = { part: '', isCarePlan: false, description: '', ...sumsOf(records, counted, all), records: all };
  const isExact = records.every(({ items }) =>
    items.every(({ quantity, shipped }) => isKept(quantity) && isKept(shipped)),
  );
  const looseState = records.some(isLoose) ? 'not ordered yet' : 'cancelled';
  return { rows, total, state: hasBinding ? stateOf(rows) : looseState, isExact };
}

const sum = (quantities: readonly string[]): string => quantities.reduce(addDecimals, '0');
const isKept = (quantity: number): boolean => String(quantity).replace(/e.*|\D/g, '').length <= 15;
const keyOf = ({ part_number, is_care_plan }: StorefrontOrder['items'][number]): string =>
  `${is_care_plan} ${part_number}`;

const together = (a: Units | undefined, b: Units | undefined): Units | undefined =>
  a === undefined || b === undefined
    ? (a ?? b)
    : { quantity: addDecimals(a.quantity, b.quantity), shipped: addDecimals(a.shipped, b.shipped) };

const unitsOf = (items: StorefrontOrder['items']): Units | undefined =>
  items.length === 0
    ? undefined
    : {
        quantity: sum(items.map((item) => String(item.quantity))),
        shipped: sum(items.map((item) => String(item.shipped))),
      };

function sumsOf(
  records: readonly StorefrontOrder[],
  counted: readonly boolean[],
  units: readonly (Units | undefined)[],
) {
  const pick = (which: (index: number) => boolean, of: keyof Units) =>
    sum(units.flatMap((one, index) => (one !== undefined && which(index) ? [one[of]] : [])));
  const ordered = pick((index) => counted[index]!, 'quantity');
  const shipped = pick((index) => counted[index]!, 'shipped');
  return {
    ordered,
    shipped,
    invoiced: pick((index) => records[index]!.order_type === 'invoice', 'quantity'),
    open: subtractDecimals(ordered, shipped),
  };
}

function stateOf(rows: readonly PartRow[]): FulfilmentState {
  if (rows.every(({ ordered, shipped }) => compareDecimals(shipped, ordered) >= 0)) return 'complete';
  return rows.some(({ shipped }) => compareDecimals(shipped, '0') > 0) ? 'partly shipped' : 'nothing shipped';
}
