/**
 * Adds up all records of a storefront order into a row per part, with the sums of `deriveFulfillment` and the units
 * of each record. Lines without a part code have a row per description.
 */
import { deriveFulfillment, isBinding, type FulfillmentLine } from '../../../../client/src/fulfillment.ts';
import { addDecimals } from '../../../../src/pims/rules/decimal.ts';
import type { StorefrontOrder } from '../../../../client/src/contract.ts';

type NamedPart = Pick<FulfillmentLine, 'partNumber' | 'description' | 'isCarePlan'>;
type Item = StorefrontOrder['items'][number];

export type Comparison = ReturnType<typeof compareRecords>;
export type PartRow = Comparison['total'];

export function compareRecords(records: readonly StorefrontOrder[]) {
  const { lines, state } = deriveFulfillment({ orders: records });
  const rowOf = (key?: string) => {
    const own = lines.filter((line) => key === undefined || key === keyOf(line));
    const units = records.map(({ items }) =>
      unitsOf(items.filter((item) => key === undefined || key === keyOfItem(item))),
    );
    return {
      ordered: sum(own, 'ordered'),
      shipped: sum(own, 'shipped'),
      invoiced: sum(
        units.filter((_, index) => records[index]!.order_type === 'invoice' && isBinding(records[index]!)),
        'quantity',
      ),
      open: sum(own, 'open'),
      /** Units in each record, in order, or undefined if the record does not contain the part. */
      records: units,
    };
  };
  const items = records.flatMap((record) => record.items);
  const parts = new Map(items.map((item) => [keyOfItem(item), item]));
  const rows = [...parts].map(([key, { part_number: part, is_care_plan: isCarePlan, description }]) => ({
    key,
    part,
    isCarePlan,
    description,
    ...rowOf(key),
  }));
  return { rows, total: { key: 'total', part: '', isCarePlan: false, description: '', ...rowOf() }, state };
}

const keyOf = ({ partNumber, description, isCarePlan }: NamedPart) =>
  JSON.stringify([partNumber === '' ? [description] : partNumber, isCarePlan]);
const keyOfItem = ({ part_number: partNumber, is_care_plan: isCarePlan, description }: Item) =>
  keyOf({ partNumber, isCarePlan, description });

const unitsOf = (items: readonly Item[]) =>
  items.length === 0 ? undefined : { quantity: sum(items, 'quantity'), shipped: sum(items, 'shipped') };

/** Adds decimals exactly: 0.1 and 0.2 make 0.3. */
const sum = <Name extends string>(
  of: readonly (Readonly<Record<Name, string | number>> | undefined)[],
  name: Name,
): string => of.map((one) => String(one?.[name] ?? 0)).reduce(addDecimals, '0');
