/**
 * `storeroom order …`: what the PIMS's own users do with an order beside the API: approve it, invoice it in whole or in part, look at it.
 * Only asks; stages, quantities, serials and stock are decided in pims/lifecycle.ts.
 */
import { InvalidArgumentError, type Command } from 'commander';
import { Refusal } from '../errors.ts';
import { parseDecimal } from '../pims/decimal.ts';
import { advanceOrder } from '../pims/operations.ts';
import type { OrderTransition } from '../pims/lifecycle.ts';
import { splitList, type Values } from '../pims/values.ts';
import type { PimsStore } from '../pims/port.ts';
import { viewStorefrontOrders, type OrderWithLines } from '../pims/storefront.ts';
import { byCommand } from '../audit/entry.ts';
import { addCommand, addGroup, answer, type AnswerOptions, type CommandContext } from './command.ts';
import { withTenant } from './data.ts';
import { buildTable } from './table.ts';

interface InvoiceOptions extends AnswerOptions {
  readonly line?: Map<string, string>;
  readonly serial?: Map<string, string[]>;
  readonly tracking: string[];
}

interface OtherRecord {
  readonly orderNumber: string;
  readonly stage: string;
}

const LINE_COLUMNS = [
  'LINE_NUMBER',
  'PART_CODE',
  'DESCRIPTION',
  'QUANTITY',
  'NUMBER_SHIPPED',
  'SERIAL_NUMBERS',
  'LINE_REF_LOCK_CODE',
];

export function addOrderCommands(program: Command, context: CommandContext): void {
  const group = addGroup(program, 'order', {
    summary: 'Approve, invoice and show orders.',
    example: 'order show acme 10001',
  });
  const { environment } = context;
  addCommand(group, 'approve <team> <number>', {
    summary: 'Make a worksheet or a quote a sales order.',
    example: 'order approve acme 10001',
  }).action((teamId: string, orderNumber: string, options: AnswerOptions) =>
    advance(context, teamId, orderNumber, { approve: true }, options),
  );
  addCommand(group, 'invoice <team> <number>', {
    summary: 'Invoice an order: all of it, or the lines and quantities given; the rest becomes a new sales order.',
    example: 'order invoice acme 10001 --line 1=2 --serial 1=SN100,SN101 --tracking 1Z999',
  })
    .option(
      '--line <number=quantity>',
      'units of a line to invoice; lines not named stay open (repeatable)',
      collectQuantity,
    )
    .option('--serial <number=serials>', 'serial numbers of a line, commas between (repeatable)', collectSerials)
    .option('--tracking <numbers>', 'tracking numbers, commas between (repeatable)', collectTracking, [])
    .action((teamId: string, orderNumber: string, { line, serial, tracking, ...options }: InvoiceOptions) => {
      const invoice = {
        quantities: line ?? new Map<string, string>(),
        serials: serial ?? new Map<string, string[]>(),
        tracking,
      };
      return advance(context, teamId, orderNumber, { invoice }, options);
    });
  addCommand(group, 'show <team> <number>', {
    summary: 'Show an order, its lines and the other records of its storefront order.',
    example: 'order show acme 10001',
  }).action(async (teamId: string, orderNumber: string, options: AnswerOptions) => {
    const { order, lines, others } = await withTenant(environment, teamId, ({ pims }) => findOrder(pims, orderNumber));
    answer(options, { teamID: teamId, order, lines, sameReference: others }, writeOrder(order, lines, others));
  });
}

async function advance(
  { environment }: CommandContext,
  teamId: string,
  orderNumber: string,
  step: OrderTransition,
  options: AnswerOptions,
) {
  const result = await withTenant(environment, teamId, async ({ pims, tenant, store }) => {
    const now = new Date().toISOString();
    const { stage, backorder } = await advanceOrder(pims, orderNumber, step, { now, strict: tenant.strict });
    const action = stage === 'invoice' ? 'order invoiced' : 'order approved';
    await store.audit.appendAudit(teamId, byCommand(now, action, orderNumber, backorder === null ? {} : { backorder }));
    return { teamID: teamId, orderNumber, stage, backorder };
  });
  const open = result.backorder ? ` What is still open is the sales order ${result.backorder}.` : '';
  answer(
    options,
    result,
    `Order ${orderNumber} is ${result.stage === 'invoice' ? 'an invoice' : 'a sales order'} now.${open}`,
  );
}

async function findOrder(pims: PimsStore, orderNumber: string): Promise<OrderWithLines & { others: OtherRecord[] }> {
  const [found] = await pims.findOrders('ORDER_NUMBER', orderNumber);
  if (!found) throw new Refusal('NOT_FOUND', `There is no order '${orderNumber}'.`);
  const reference = found.order['REFERENCE_NUMBER'] ?? '';
  const { orders } = viewStorefrontOrders(
    reference,
    reference === '' ? [] : await pims.findOrders('REFERENCE_NUMBER', reference),
  );
  const others = orders.map((other) => ({ orderNumber: other.pims_order_number ?? '', stage: other.order_type })).filter((other) => other.orderNumber !== orderNumber); // prettier-ignore
  return { ...found, others };
}

function writeOrder(order: Values, lines: readonly Values[], others: readonly OtherRecord[]): string {
  const parts = [buildTable(Object.entries(order).filter(([, value]) => value !== ''))];
  if (lines.length > 0)
    parts.push(buildTable([LINE_COLUMNS, ...lines.map((line) => LINE_COLUMNS.map((name) => line[name] ?? ''))]));
  if (others.length > 0)
    parts.push(
      `Other records of ${order['REFERENCE_NUMBER']}:\n${buildTable(others.map(({ orderNumber, stage }) => [orderNumber, stage]))}`,
    );
  return parts.join('\n\n');
}

function collectQuantity(text: string, before = new Map<string, string>()): Map<string, string> {
  const [number, given] = splitAssignment(text);
  const quantity = parseDecimal(given);
  if (quantity === undefined) throw new InvalidArgumentError('It is a line and a quantity, such as 1=2.');
  if (before.has(number)) throw new InvalidArgumentError(`Line ${number} is given twice.`);
  return before.set(number, quantity);
}

function collectSerials(text: string, before = new Map<string, string[]>()): Map<string, string[]> {
  const [number, serials] = splitAssignment(text);
  return before.set(number, [...(before.get(number) ?? []), ...splitList(serials)]);
}

const collectTracking = (text: string, before: string[]): string[] => [...before, ...splitList(text)];

function splitAssignment(text: string): [string, string] {
  const parts = /^([1-9]\d*)=(.+)$/.exec(text);
  if (!parts) throw new InvalidArgumentError('It begins with the number of a line and =, such as 1=.');
  return [parts[1]!, parts[2]!];
}
