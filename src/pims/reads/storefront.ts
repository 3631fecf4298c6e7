/**
 * The storefront-reference lookup, which returns every order with a storefront number, each in its own stage. The
 * caller computes the fulfillment.
 */
import { refuseField, Refusal, type Outcome } from '../../errors.ts';
import { LOOKUP_CHARACTERS_MAX, NUMBERS_MAX } from '../rules/record-bounds.ts';
import { joinList, type Json, type Rendered } from '../rules/json.ts';
import { isCancelled, STAGES, type Stage } from '../rules/stages.ts';
import { checkText, sortKey, type Values } from '../rules/values.ts';
import { splitList } from '../rules/lists.ts';

/** An order as the store has it, including CANCELLED_MARK, and its lines as the lookup returns them. */
export interface OrderWithItems {
  readonly order: Values;
  readonly items: readonly Json[];
}

/** Result for one storefront number, and the number of its orders. */
export interface LookedUp {
  readonly json: Rendered;
  readonly records: number;
}

export type StorefrontOrder = ReturnType<typeof viewOrder> & { items: ReturnType<typeof viewItem>[] };

export interface StorefrontLookup {
  storefront_order_number: string;
  orders: StorefrontOrder[];
}

/** Members of a shipping address, each with the field of the order that it comes from. */
export const SHIPPING_ADDRESS = {
  name: 'SNAME',
  attention: 'SATTN',
  address_1: 'SADDRESS1',
  address_2: 'SADDRESS2',
  city: 'SCITY',
  state: 'SSTATE',
  zip: 'SZIPCODE',
  country: 'SCOUNTRY',
  phone: 'SPHONE',
};

/** Fields that the lookup returns or sorts by. */
export const VIEWED_FIELDS: Readonly<Record<'orders' | 'lines', readonly string[]>> = {
  orders: [
    'ORDER_TYPE',
    'ORDER_NUMBER',
    'CREATE_DATE',
    'MODIFIED_DATE',
    'TRACKING_NUMBERS',
    'DROP_SHIP',
    'RETURN_OF',
  ].concat(Object.values(SHIPPING_ADDRESS)),
  lines: ['PART_CODE', 'DESCRIPTION', 'QUANTITY', 'NUMBER_SHIPPED', 'SERIAL_NUMBERS', 'CARE_PLAN'],
};

/** Parses the storefront numbers of a body. JSON numbers become text. Throws INVALID_BODY or INVALID_VALUE. */
export function parseNumbers(body: unknown): string[] {
  const count = Array.isArray(body) ? body.length : 0;
  if (count === 0 || count > NUMBERS_MAX) {
    const given = count === 0 ? '' : `, not ${count}`;
    const form = `a JSON array of 1 to ${NUMBERS_MAX} storefront order numbers`;
    throw new Refusal('INVALID_BODY', `The body must be ${form}${given}.`);
  }
  return (body as unknown[]).map((number, at) => {
    const text = typeof number === 'number' ? String(number) : number;
    const name = 'storefront_order_number';
    if (typeof text !== 'string' || text === '')
      throw refuseField('INVALID_VALUE', name, `Entry ${at + 1} of the list must be a storefront order number.`);
    checkText(name, text);
    return text;
  });
}

/**
 * Renders the result of a lookup: invoices first, then sales orders, quotes and worksheets. Within a stage the newest
 * CREATE_DATE comes first and a missing one last. Ties are sorted by order number.
 */
export function renderStorefrontOrders(storefrontNumber: string, orders: readonly OrderWithItems[]): LookedUp {
  const ordered = orders.toSorted((a, b) => compareOrders(a.order, b.order)).map(renderOrder);
  const json = `{"storefront_order_number":${JSON.stringify(storefrontNumber)},"orders":[${ordered.join(',')}]}`;
  return { json, records: orders.length };
}

/** Renders one line. Stores call it as they read, so that a large lookup is never rendered in one step. */
export const renderItem = (line: Values): Json => JSON.stringify(viewItem(line));

const renderOrder = ({ order, items }: OrderWithItems) =>
  `${JSON.stringify(viewOrder(order)).slice(0, -1)},"items":[${items.join(',')}]}`;

// The lookup returns the stages in reverse order.
const rank = (order: Values) => STAGES.length - STAGES.indexOf(order['ORDER_TYPE'] as Stage);

function compareOrders(a: Values, b: Values): number {
  return (
    rank(a) - rank(b) ||
    compareText(b['CREATE_DATE'] ?? '', a['CREATE_DATE'] ?? '') ||
    compareText(sortKey(a['ORDER_NUMBER'] ?? ''), sortKey(b['ORDER_NUMBER'] ?? ''))
  );
}

/** Returns RESULT_TOO_LARGE, because the lookup returns all orders of a number or none. */
export const refuseLargeLookup = (recordsMax: number): Refusal =>
  refuseLarge(`${recordsMax} orders of one storefront number`);

export const refuseLargeList = (recordsMax: number): Refusal => refuseLarge(`${recordsMax} orders of all its numbers`);

const refuseLarge = (most: string) =>
  refuseField(
    'RESULT_TOO_LARGE',
    'storefront_order_number',
    `The result is too large for one response, which can hold at most ${most}, and 8 MiB with their lines.`,
  );

/**
 * Joins the results for these numbers into one list in the same order. A repeated number has its result repeated and
 * counted again. Returns RESULT_TOO_LARGE if there is no room for all of them.
 */
export function joinLookups(
  numbers: readonly string[],
  found: ReadonlyMap<string, LookedUp>,
  recordsMax: number,
): Outcome<Rendered> {
  const answers = numbers.map((number) => found.get(number)!);
  const sum = (size: (answer: LookedUp) => number) => answers.reduce((total, answer) => total + size(answer), 0);
  if (sum(({ records }) => records) > recordsMax || sum(({ json }) => json.length) > LOOKUP_CHARACTERS_MAX)
    return refuseLargeList(recordsMax);
  return joinList(answers.map(({ json }) => json));
}

/** Compares code points, as the stores do. `<` compares UTF-16 units and puts an emoji before a full-width letter. */
const compareText = (a: string, b: string) => (a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b)));

function viewOrder(order: Values) {
  const address = Object.fromEntries(
    Object.entries(SHIPPING_ADDRESS).map(([member, field]) => [member, order[field] ?? '']),
  );
  return {
    order_type: order['ORDER_TYPE'] ?? '',
    pims_order_number: order['ORDER_NUMBER'] || null,
    create_date: order['CREATE_DATE'] || null,
    modified_date: order['MODIFIED_DATE'] || null,
    tracking_numbers: splitList(order['TRACKING_NUMBERS'] ?? ''),
    is_dropship: order['DROP_SHIP'] === 'Y',
    shipping_address: address,
    ...(isCancelled(order) && { cancelled: true as const }),
    ...(order['RETURN_OF'] && { return_of: order['RETURN_OF'] }),
  };
}

function viewItem(line: Values) {
  const isCarePlan = line['CARE_PLAN'] === 'Y';
  return {
    part_number: line['PART_CODE'] ?? '',
    description: line['DESCRIPTION'] ?? '',
    quantity: Number(line['QUANTITY'] ?? 0),
    shipped: Number(line['NUMBER_SHIPPED'] ?? 0),
    serial_numbers: isCarePlan ? [] : splitList(line['SERIAL_NUMBERS'] ?? ''),
    is_care_plan: isCarePlan,
  };
}
