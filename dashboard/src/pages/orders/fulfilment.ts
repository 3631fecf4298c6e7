/**
 * Adds up all records of a storefront order, a row per part: the sums of the client, and the units of each record.
 */
import { deriveFulfillment, type Fulfillment } from '../../../../client/src/fulfillment.ts';
import { addDecimals } from '../../../../src/pims/rules/decimal.ts';
import type { StorefrontOrder } from '../../../../client/src/contract.ts';

export interface PartRow {
  readonly part: string;
  readonly isCarePlan: boolean;
  readonly description: string;
  readonly ordered: string;
  readonly shipped: string;
  readonly invoiced: string;
  readonly open: string;
  /** Units in each record, in order, or undefined if the record does not contain the part. */
  readonly records: readonly (Units | undefined)[];
}

interface Units {
  readonly quantity: string;
  readonly shipped: string;
}

export interface Comparison {
  readonly rows: readonly PartRow[];
  readonly total: PartRow;
  readonly state: Fulfillment['state'];
}

type Item = StorefrontOrder['items'][number];

export function compareRecords(records: readonly StorefrontOrder[]): Comparison {
  const { lines, state } = deriveFulfillment({ orders: records });
  const rowOf = (isOf: (part: string, isCarePlan: boolean) => boolean) => {
    const own = lines.filter(({ partNumber, isCarePlan }) => isOf(partNumber, isCarePlan));
    const units = records.map(({ items }) =>
      unitsOf(items.filter(({ part_number, is_care_plan }) => isOf(part_number, is_care_plan))),
    );
    return {
      ordered: sum(own, 'ordered'),
      shipped: sum(own, 'shipped'),
      invoiced: sum(
        units.filter((_, index) => records[index]!.order_type === 'invoice'),
        'quantity',
      ),
      open: sum(own, 'open'),
      records: units,
    };
  };
  const items = records.flatMap((record) => record.items);
  const parts = new Map(items.map((item) => [`${item.is_care_plan} ${item.part_number}`, item]));
  const rows = [...parts.values()].map(({ part_number: part, is_care_plan: isPlan, description }) => {
    const sums = rowOf((name, isCarePlan) => name === part && isCarePlan === isPlan);
    return { part, isCarePlan: isPlan, description, ...sums };
  });
  return { rows, total: { part: '', isCarePlan: false, description: '', ...rowOf(() => true) }, state };
}

const unitsOf = (items: readonly Item[]): Units | undefined =>
  items.length === 0 ? undefined : { quantity: sum(items, 'quantity'), shipped: sum(items, 'shipped') };

/** Adds decimals exactly: 0.1 and 0.2 make 0.3. */
const sum = <Name extends string>(
  of: readonly (Readonly<Record<Name, string | number>> | undefined)[],
  name: Name,
): string => of.map((one) => String(one?.[name] ?? 0)).reduce(addDecimals, '0');
