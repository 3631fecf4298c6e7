/**
 * `storeroom order …` and `stock …`: approves, invoices, voids and shows orders; receives, counts and adjusts parts,
 * and shows their ledger. The rules are in order.ts and stock.ts of src/pims/rules.
 */
import { InvalidArgumentError } from 'commander';
import { byCommand, COMMAND_LINE } from '../../../audit/audit.ts';
import { orThrow, Refusal } from '../../../errors.ts';
import type { BatchOperation } from '../../../pims/batch.ts';
import { describeWrite } from '../../../pims/describe-write.ts';
import { writeRecord } from '../../../pims/operations.ts';
import type { PimsStore } from '../../../pims/pims-port.ts';
import type { StorefrontLookup } from '../../../pims/reads/storefront.ts';
import { parseDecimal } from '../../../pims/rules/decimal.ts';
import { splitList } from '../../../pims/rules/lists.ts';
import type { Values } from '../../../pims/rules/values.ts';
import { textOf } from '../../../pims/rules/json.ts';
import type { Body } from '../../../pims/writes/writes.ts';
import { addGroup, buildTable, timeOf, type AddCommands } from '../../command.ts';
import { addTenantCommand, type TenantAnswer, type TenantData } from '../../open-store.ts';

interface InvoiceOptions {
  readonly line?: Map<string, string>;
  readonly serial?: Map<string, string[]>;
  readonly tracking: string[];
}

type ReturnOptions = Pick<InvoiceOptions, 'line' | 'serial'> & { readonly reason: string; readonly restock: boolean };

interface ShownOrder {
  readonly order: Values;
  readonly lines: readonly Values[];
  /** Other orders with the same storefront number. */
  readonly related: readonly { readonly orderNumber: string; readonly stage: string; readonly cancelled?: true }[];
}

/** Maximum orders with the same storefront number that are loaded. */
const RELATED_MAX = 1000;
const LINE_COLUMNS =
  'LINE_NUMBER PART_CODE DESCRIPTION QUANTITY NUMBER_SHIPPED SERIAL_NUMBERS LINE_REF_LOCK_CODE'.split(' ');

export const addOrderCommands: AddCommands = (program, context) => {
  const group = addGroup(program, 'order', 'order show acme 10001', 'Approve, invoice, void, return and show orders.');
  const approving = 'Turn a worksheet or a quote into a sales order.';
  addTenantCommand(
    group,
    context,
    'approve <team> <number>',
    'order approve acme 10001',
    approving,
    (data, ORDER_NUMBER: string) => advance(data, timeOf(context.clock), 'approveOrder', { ORDER_NUMBER }),
  );
  const invoiceExample = 'order invoice acme 10001 --line 1=2 --serial 1=SN100,SN101 --tracking 1Z999';
  const invoicing = 'Invoice an order, or only the given lines and quantities. Open units move to a new sales order.';
  addTenantCommand(
    group,
    context,
    'invoice <team> <number>',
    invoiceExample,
    invoicing,
    async (data, ORDER_NUMBER: string, options: InvoiceOptions) => {
      const named = await nameLines(data.pims, ORDER_NUMBER, options);
      const body = { ORDER_NUMBER, ...named, TRACKING_NUMBERS: options.tracking.join(',') };
      return advance(data, timeOf(context.clock), 'invoiceOrder', body);
    },
  )
    .option('--line <number=quantity>', 'units of a line; other lines stay open (repeatable)', collectQuantity)
    .option('--serial <number=serials>', 'serial numbers of a line, separated by commas (repeatable)', collectSerials)
    .option('--tracking <numbers>', 'tracking numbers, separated by commas (repeatable)', collectTracking, []);
  const voiding = 'Void an invoice: its units and serial numbers are in stock again.';
  addTenantCommand(
    group,
    context,
    'void <team> <number>',
    'order void acme 10001 --reason "wrong customer"',
    voiding,
    async (data, ORDER_NUMBER: string, { reason: REASON }: { reason: string }) => {
      await write(data, timeOf(context.clock), 'voidInvoice', { ORDER_NUMBER, REASON });
      return [{ orderNumber: ORDER_NUMBER, voided: true }, `Order ${ORDER_NUMBER} is void.`];
    },
  ).option('--reason <text>', 'reason to record in the stock ledger', '');
  const returning = 'Return units of an invoice with a new order, whose quantities and totals are negative.';
  addTenantCommand(
    group,
    context,
    'return <team> <number>',
    'order return acme 10001 --line 1=2 --serial 1=SN100,SN101 --reason "too large"',
    returning,
    async (data, ORDER_NUMBER: string, { reason: REASON, restock, ...options }: ReturnOptions) => {
      const { lines = [] } = await nameLines(data.pims, ORDER_NUMBER, options);
      const body = { ORDER_NUMBER, lines: lines.map((line) => ({ ...line, RESTOCK: restock })), REASON };
      const orderNumber = await write<string>(data, timeOf(context.clock), 'returnOrder', body);
      return [{ orderNumber, returnOf: ORDER_NUMBER }, `Order ${orderNumber} is the return of order ${ORDER_NUMBER}.`];
    },
  )
    .requiredOption('--line <number=quantity>', 'units of a line to return (repeatable)', collectQuantity)
    .option('--serial <number=serials>', 'serial numbers of a line, separated by commas (repeatable)', collectSerials)
    .option('--no-restock', 'leave the units out of stock')
    .option('--reason <text>', 'reason to record in the stock ledger', '');
  const showing = 'Show an order, its lines and the other orders with its storefront number.';
  addTenantCommand(
    group,
    context,
    'show <team> <number>',
    'order show acme 10001',
    showing,
    async ({ pims }, orderNumber: string) => {
      const found = await findOrder(pims, orderNumber);
      const { order, lines, related } = found;
      return [{ order, lines, sameReference: related }, formatOrder(found)];
    },
  );
};

/** Runs a write as the dashboard does, and notes it in the audit log. Returns its result. */
async function write<Data extends string | Readonly<Record<string, string>> = Readonly<Record<string, string>>>(
  { pims, tenant, store, teamId }: TenantData,
  now: string,
  operation: BatchOperation,
  body: object,
): Promise<Data> {
  const { strict, defaultStage } = tenant;
  const context = { now, by: COMMAND_LINE, strict, defaultStage };
  const { data, isUnchanged } = await writeRecord(pims, operation, body as Body, context);
  const written = JSON.parse(data) as Data;
  if (!isUnchanged)
    await store.audit.appendAudit(teamId, byCommand(now, operation, ...describeWrite(body as Body, written)));
  return written;
}

const STAGES: Readonly<Record<string, string>> = { sales_order: 'a sales order', invoice: 'an invoice' };

async function advance(...call: Parameters<typeof write>): Promise<TenantAnswer> {
  const { ORDER_NUMBER: orderNumber, ORDER_TYPE: stage, BACKORDER_NUMBER } = await write(...call);
  const backorder = BACKORDER_NUMBER === '' ? null : BACKORDER_NUMBER;
  const open = backorder === null ? '' : ` The open units are in the sales order ${backorder}.`;
  return [{ orderNumber, stage, backorder }, `Order ${orderNumber} is now ${STAGES[stage!]}.${open}`];
}

/** Names lines by their codes. Without quantities and serial numbers, names none, which invoices all. */
async function nameLines(
  pims: PimsStore,
  orderNumber: string,
  { line, serial }: Pick<InvoiceOptions, 'line' | 'serial'>,
): Promise<{ readonly lines?: readonly object[] }> {
  if (!line && !serial) return {};
  const { lines } = await findOrder(pims, orderNumber);
  const known = new Map(lines.map((one) => [one['LINE_NUMBER']!, one]));
  const unknown = [...(line?.keys() ?? []), ...(serial?.keys() ?? [])].find((number) => !known.has(number));
  if (unknown !== undefined) throw new Refusal('LINE_NOT_FOUND', `Order ${orderNumber} has no line ${unknown}.`);
  const asked = [...known].filter(([number]) => !line || line.has(number) || serial?.has(number));
  return {
    lines: asked.map(([number, { LINE_REF_LOCK_CODE, QUANTITY }]) => ({
      LINE_REF_LOCK_CODE,
      QUANTITY: line ? (line.get(number) ?? '0') : QUANTITY || '0',
      ...(serial?.has(number) && { SERIAL_NUMBERS: serial.get(number)!.join(',') }),
    })),
  };
}

async function findOrder(pims: PimsStore, orderNumber: string): Promise<ShownOrder> {
  const found = orThrow(await pims.getOrder(orderNumber));
  if (!found) throw new Refusal('NOT_FOUND', `There is no order '${orderNumber}'.`);
  const order = JSON.parse(found.order) as Values;
  const lines = JSON.parse(textOf(found.lines ?? '[]')) as { ORDER_LINEITEMS: Values }[];
  const reference = order['REFERENCE_NUMBER'] ?? '';
  const { signal } = new AbortController();
  const options = { recordsMax: RELATED_MAX, signal: () => signal };
  const sameReference = reference === '' ? '{"orders":[]}' : orThrow(await pims.viewOrders(reference, options));
  const related = (JSON.parse(textOf(sameReference)) as StorefrontLookup).orders
    .map(({ pims_order_number: number, order_type: stage, cancelled }) => ({
      orderNumber: number ?? '',
      stage,
      ...(cancelled && { cancelled }),
    }))
    .filter((other) => other.orderNumber !== orderNumber);
  return { order, lines: lines.map((line) => line.ORDER_LINEITEMS), related };
}

function formatOrder({ order, lines, related }: ShownOrder): string {
  const parts = [buildTable(Object.entries(order).filter(([, value]) => value !== ''))];
  const cells = (line: Values) => LINE_COLUMNS.map((name) => line[name] ?? '');
  if (lines.length > 0) parts.push(buildTable([LINE_COLUMNS, ...lines.map(cells)]));
  const rows = related.map(({ orderNumber, stage, cancelled }) => [orderNumber, stage, cancelled ? 'cancelled' : '']);
  if (rows.length > 0) parts.push(`Other orders of ${order['REFERENCE_NUMBER']}:\n${buildTable(rows)}`);
  return parts.join('\n\n');
}

function collectQuantity(text: string, before = new Map<string, string>()): Map<string, string> {
  const [number, given] = splitAssignment(text);
  const quantity = parseDecimal(given);
  if (quantity === undefined) throw new InvalidArgumentError('It must be a line and a quantity, such as 1=2.');
  if (before.has(number)) throw new InvalidArgumentError(`Line ${number} was given twice. Give it once.`);
  return before.set(number, quantity);
}

function collectSerials(text: string, before = new Map<string, string[]>()): Map<string, string[]> {
  const [number, serials] = splitAssignment(text);
  return before.set(number, [...(before.get(number) ?? []), ...splitList(serials)]);
}

const collectTracking = (text: string, before: string[]) => [...before, ...splitList(text)];

function splitAssignment(text: string): [string, string] {
  const parts = /^([1-9]\d*)=(.+)$/.exec(text);
  if (!parts) throw new InvalidArgumentError('It must begin with a line number and =, such as 1=2.');
  return [parts[1]!, parts[2]!];
}

const MOVEMENTS_SHOWN = 100;
const HEAD = ['NUMBER', 'AT', 'KIND', 'QUANTITY', 'AFTER', 'ORDER', 'BY', 'REASON', 'SERIALS'];
const COLUMNS = ['NUMBER', 'AT', 'KIND', 'QUANTITY', 'AFTER', 'ORDER_NUMBER', 'DONE_BY', 'REASON', 'SERIALS'] as const;
type ActionOptions = { reason: string; serial: string[]; from?: string };
const ACTIONS = [
  ['receive', 'receiveStock', 'Add received units to the stock of a part, and reduce QTY_ONORDER by them.'],
  ['count', 'countStock', 'Set the stock of a part to the units counted.'],
  [
    'adjust',
    'adjustStock',
    'Add units to the stock of a part, or remove them with a negative number. Requires --reason.',
  ],
] as const;

export const addStockCommands: AddCommands = (program, context) => {
  const group = addGroup(program, 'stock', 'stock receive acme 42 10', 'Receive, count and adjust stock.');
  for (const [name, operation, description] of ACTIONS) {
    const example = `stock ${name} acme 42 ${name === 'adjust' ? '-1 --reason broken' : '10'}`;
    addTenantCommand(
      group,
      context,
      `${name} <team> <part> <quantity>`,
      example,
      description,
      async (
        data,
        partCode: string,
        QUANTITY: string,
        { reason: REASON, serial, from: FROM_QUANTITY }: ActionOptions,
      ) => {
        const body = { PART_CODE: partCode, QUANTITY, REASON, SERIAL_NUMBERS: serial.join(','), FROM_QUANTITY };
        const { QTY_ONHAND } = await write(data, timeOf(context.clock), operation, body);
        return [{ partCode, QTY_ONHAND }, `Part ${partCode} has ${QTY_ONHAND} on hand.`];
      },
    )
      .option('--reason <text>', 'reason to record in the stock ledger', '')
      .option('--serial <numbers>', 'serial numbers of the units, separated by commas', splitList, [])
      .option('--from <quantity>', 'the QTY_ONHAND that you read; if it is another now, nothing changes');
  }
  const showing = `Show the last ${MOVEMENTS_SHOWN} movements of a part, the newest first.`;
  addTenantCommand(
    group,
    context,
    'history <team> <part>',
    'stock history acme 42',
    showing,
    async ({ pims }, partCode: string) => {
      const signal = () => new AbortController().signal;
      const movements = orThrow(
        await pims.look('movements', signal, partCode, 'before', Number.MAX_SAFE_INTEGER, MOVEMENTS_SHOWN),
      );
      const rows = movements.map((movement) => COLUMNS.map((name) => movement[name]));
      const text = rows.length === 0 ? `Part ${partCode} has no movements.` : buildTable([HEAD, ...rows]);
      return [{ partCode, movements }, text];
    },
  );
};
