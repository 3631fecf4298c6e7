/**
 * Orders at the command line: approves, invoices, voids, returns and shows them. The pages call the operations instead.
 * The rules are in src/pims/rules/order.ts.
 */
import { orThrow, Refusal } from '../errors.ts';
import { booleanOf, listOf, matching, objectOf, textOf, type Schema } from '../json-schema.ts';
import type { BatchOperation } from '../pims/batch.ts';
import { describeWrite } from '../pims/describe-write.ts';
import { writeRecord } from '../pims/operations.ts';
import type { StorefrontLookup } from '../pims/reads/storefront.ts';
import { textOf as decode } from '../pims/rules/json.ts';
import type { Values } from '../pims/rules/values.ts';
import type { Body } from '../pims/writes/writes.ts';
import { action, withHelp, type ActionContext } from './action.ts';

const orderNumber = textOf(undefined, { title: 'number' });
const reason = textOf('reason to record in the stock ledger', { title: 'reason <text>' });
/** Each pair is a line number and a value. */
const pairsOf = (form: string, title: string, description: string, $comment: string, more?: Schema) =>
  withHelp(listOf(matching(`^[1-9]\\d*=${form}$`)), description, { title, $comment, ...more });
const line = (description: string) =>
  pairsOf('[-+]?\\d+(\\.\\d+)?', 'line <number=quantity>', description, 'be a line and a quantity, such as 1=2', {
    uniqueItems: true,
  });
const serial = pairsOf(
  '.+',
  'serial <number=serials>',
  'serial numbers of a line, separated by commas (repeatable)',
  'begin with a line number and =, such as 1=2',
);

const LINE_COLUMNS =
  'LINE_NUMBER PART_CODE DESCRIPTION QUANTITY NUMBER_SHIPPED SERIAL_NUMBERS LINE_REF_LOCK_CODE'.split(' ');
/** Maximum orders with the same storefront number that are loaded. */
const RELATED_MAX = 1000;
const STAGES: Readonly<Record<string, string>> = { sales_order: 'a sales order', invoice: 'an invoice' };

/** Runs a write as the pages do, and notes it in the audit log. Returns its result. */
export async function commitWrite<Data extends string | Readonly<Record<string, string>>>(
  { openPims, writeOptions, tenant, note }: ActionContext,
  operation: BatchOperation,
  body: object,
): Promise<Data> {
  const context = { ...writeOptions, defaultStage: tenant.defaultStage };
  const { data } = await writeRecord(await openPims(), operation, body as Body, context);
  const written = JSON.parse(data) as Data;
  await note(operation, ...describeWrite(body as Body, written));
  return written;
}

async function advance(context: ActionContext, operation: 'approveOrder' | 'invoiceOrder', body: object) {
  const written = await commitWrite<Readonly<Record<string, string>>>(context, operation, body);
  const { ORDER_TYPE: stage = '', BACKORDER_NUMBER: backorder = '' } = written;
  return { stage, backorder: backorder === '' ? null : backorder };
}
type Advanced = Awaited<ReturnType<typeof advance>> & { readonly orderNumber: string };
const showStage = ({ orderNumber: number, stage, backorder }: Advanced) => {
  const open = backorder === null ? '' : ` The open units are in the sales order ${backorder}.`;
  return [`Order ${number} is now ${STAGES[stage]}.${open}`];
};

/** Names lines by their codes. Without quantities and serial numbers, names none, which invoices all. */
async function nameLines(
  context: ActionContext,
  number: string,
  { line: quantities, serial: serials }: { line?: readonly string[]; serial?: readonly string[] },
) {
  if (!quantities && !serials) return undefined;
  const { lines } = await findOrder(context, number);
  const known = new Map(lines.map((one) => [one['LINE_NUMBER']!, one]));
  const asked = groupPairs(quantities);
  const serialsOf = groupPairs(serials);
  const unknown = [...asked.keys(), ...serialsOf.keys()].find((name) => !known.has(name));
  if (unknown !== undefined) throw new Refusal('LINE_NOT_FOUND', `Order ${number} has no line ${unknown}.`);
  return [...known]
    .filter(([name]) => !quantities || asked.has(name) || serialsOf.has(name))
    .map(([name, { LINE_REF_LOCK_CODE, QUANTITY }]) => ({
      LINE_REF_LOCK_CODE,
      QUANTITY: quantities ? (asked.get(name) ?? '0') : QUANTITY || '0',
      ...(serialsOf.has(name) && { SERIAL_NUMBERS: serialsOf.get(name) }),
    }));
}

/** Joins the values of each line: `1=A` and `1=B` become `A,B`. */
function groupPairs(pairs: readonly string[] = []): Map<string, string> {
  const all = pairs.map((pair) => pair.split(/=(.*)/s));
  const ofLines = Map.groupBy(all, ([name]) => name!);
  return new Map([...ofLines].map(([name, own]) => [name, own.map(([, value]) => value).join()]));
}

async function findOrder({ openPims, signal }: ActionContext, number: string) {
  const pims = await openPims();
  const found = orThrow(await pims.getOrder(number));
  if (!found) throw new Refusal('NOT_FOUND', `There is no order '${number}'.`);
  const order = JSON.parse(found.order) as Values;
  const lines = JSON.parse(decode(found.lines ?? '[]')) as { ORDER_LINEITEMS: Values }[];
  const reference = order['REFERENCE_NUMBER'] ?? '';
  const options = { recordsMax: RELATED_MAX, signal };
  const others = reference === '' ? '{"orders":[]}' : orThrow(await pims.viewOrders(reference, options));
  /** Other orders with the same storefront number. */
  const sameReference = (JSON.parse(decode(others)) as StorefrontLookup).orders
    .map(({ pims_order_number: other, order_type: stage, cancelled }) => ({
      orderNumber: other ?? '',
      stage,
      ...(cancelled && { cancelled }),
    }))
    .filter((other) => other.orderNumber !== number);
  return { order, lines: lines.map((one) => one.ORDER_LINEITEMS), sameReference };
}

export const ORDERS = {
  'order approve': action({
    about: 'Turn a worksheet or a quote into a sales order.',
    takes: objectOf({ orderNumber }),
    notes: 'approveOrder',
    run: (context, { orderNumber: ORDER_NUMBER }) => advance(context, 'approveOrder', { ORDER_NUMBER }),
    command: 'order approve <team> <orderNumber>',
    show: (told) => showStage(told),
  }),
  'order invoice': action({
    about: 'Invoice an order, or only the given lines and quantities. Open units move to a new sales order.',
    takes: objectOf(
      { orderNumber },
      {
        line: line('units of a line; other lines stay open (repeatable)'),
        serial,
        tracking: withHelp(listOf(textOf()), 'tracking numbers, separated by commas (repeatable)', {
          title: 'tracking <numbers>',
        }),
      },
    ),
    notes: 'invoiceOrder',
    run: async (context, { orderNumber: ORDER_NUMBER, tracking = [], ...named }) => {
      const lines = await nameLines(context, ORDER_NUMBER, named);
      const body = { ORDER_NUMBER, ...(lines && { lines }), TRACKING_NUMBERS: tracking.join(',') };
      return advance(context, 'invoiceOrder', body);
    },
    command: 'order invoice <team> <orderNumber>',
    example: '--line 1=2 --serial 1=SN100,SN101 --tracking 1Z999',
    show: (told) => showStage(told),
  }),
  'order void': action({
    about: 'Void an invoice: its units and serial numbers are in stock again.',
    takes: objectOf({ orderNumber }, { reason }),
    notes: 'voidInvoice',
    run: async (context, { orderNumber: ORDER_NUMBER, reason: REASON = '' }) => {
      await commitWrite<object & Record<string, string>>(context, 'voidInvoice', { ORDER_NUMBER, REASON });
      return { voided: true };
    },
    command: 'order void <team> <orderNumber>',
    example: '--reason "wrong customer"',
    show: ({ orderNumber: number }) => [`Order ${number} is void.`],
  }),
  'order return': action({
    about: 'Return units of an invoice with a new order, whose quantities and totals are negative.',
    takes: objectOf(
      { returnOf: orderNumber, line: line('units of a line to return (repeatable)') },
      {
        serial,
        restock: withHelp(booleanOf(), 'leave the units out of stock', { title: 'no-restock' }),
        reason,
      },
    ),
    notes: 'returnOrder',
    run: async (context, { returnOf: ORDER_NUMBER, restock: RESTOCK, reason: REASON = '', ...named }) => {
      const lines = (await nameLines(context, ORDER_NUMBER, named))!;
      const body = { ORDER_NUMBER, lines: lines.map((one) => ({ ...one, RESTOCK })), REASON };
      return { orderNumber: await commitWrite<string>(context, 'returnOrder', body) };
    },
    command: 'order return <team> <returnOf>',
    example: '--line 1=2 --serial 1=SN100,SN101 --reason "too large"',
    show: ({ orderNumber: number, returnOf }) => [`Order ${number} is the return of order ${returnOf}.`],
  }),
  'order show': action({
    about: 'Show an order, its lines and the other orders with its storefront number.',
    takes: objectOf({ orderNumber }),
    run: (context, given) => findOrder(context, given.orderNumber),
    command: 'order show <team> <orderNumber>',
    show: ({ order, lines, sameReference }) => {
      const rows = sameReference.map((other) => [other.orderNumber, other.stage, other.cancelled ? 'cancelled' : '']);
      return [
        Object.entries(order).filter(([, value]) => value !== ''),
        lines.length > 0 ? [LINE_COLUMNS, ...lines.map((one) => LINE_COLUMNS.map((name) => one[name] ?? ''))] : [],
        rows.length > 0 ? `Other orders of ${order['REFERENCE_NUMBER']}:` : '',
        rows,
      ];
    },
  }),
};
