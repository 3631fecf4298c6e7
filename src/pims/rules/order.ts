/**
 * Rules of an order and its lines: the values of a new line, the conditions that every line meets, the fields that can
 * be changed, and how an order is approved, invoiced (completely or partly), cancelled and voided. Source: decision
 * 0010.
 */
import { Refusal, refuseField, startOf, type Outcome } from '../../errors.ts';
import { compareDecimals, within } from './decimal.ts';
import type { FieldDictionary } from './fields.ts';
import { splitList } from './lists.ts';
import { LINES_MAX } from './record-bounds.ts';
import { CANCELLED_MARK, CANCELLED_STATUS, isCancelled, STAGES, VOID_STATUS, type Stage } from './stages.ts';
import { stockMovements, type StockMovement } from './stock.ts';
import { takeTotals } from './totals.ts';
import { changedNames, invalid, type Values } from './values.ts';

/** Fields of an invoiced line that can still be changed, besides custom fields. */
const OPEN_ON_INVOICED_LINE = ['DESCRIPTION', 'SERIAL_NUMBERS'];
const OPEN_ON_RETURNED_LINE = ['DESCRIPTION'];

/** A line after a write, and the stock that the write moves. */
interface LineStep {
  readonly line: Values;
  readonly stock: StockMovement[];
}

/** PART_DESCRIPTION, UNIT_PRICE, SERIALIZED (not in an import) and CARE_PLAN of the part of a line, if it exists. */
export type KnownPart = Values | undefined;

/** Fills DESCRIPTION, UNIT_PRICE and CARE_PLAN from the part if they were not sent. */
export function fillFromPart(values: Values, part: KnownPart): Values {
  if (!part) return values;
  return {
    ...values,
    DESCRIPTION: values['DESCRIPTION'] ?? part['PART_DESCRIPTION'] ?? '',
    UNIT_PRICE: values['UNIT_PRICE'] ?? part['UNIT_PRICE'] ?? '',
    CARE_PLAN: values['CARE_PLAN'] ?? part['CARE_PLAN'] ?? '',
  };
}

/**
 * Returns a new line of an order with nothing shipped, and with one unit if no QUANTITY was sent. Returns ORDER_CLOSED
 * for an invoice or a cancelled order.
 */
export function addLine(order: Values, values: Values, part: KnownPart): Outcome<LineStep> {
  if (isCancelled(order)) return refuseCancelled(order);
  if (order['ORDER_TYPE'] === 'invoice') return refuseInvoice(order, 'ORDER_NUMBER', 'no line can be added');
  const line = fillQuantities({ QUANTITY: '1', ...fillFromPart(values, part), NUMBER_SHIPPED: '0' });
  return (
    refuseHandReturn(part, line) ?? refuseLine(line) ?? { line, stock: stockMovements([order, []], [order, [line]]) }
  );
}

/**
 * Returns a line of an order with some fields changed. With another PART_CODE the line gets the description, price and
 * care-plan flag of the new part unless they are sent. Returns ORDER_CLOSED if the order is cancelled, or if it is an
 * invoice and a field other than OPEN_ON_INVOICED_LINE (or OPEN_ON_RETURNED_LINE) and custom fields would change.
 */
export function changeLine(
  dictionary: FieldDictionary,
  [order, line]: readonly [order: Values, line: Values],
  change: Values,
  part: KnownPart,
): Outcome<LineStep> {
  if (isCancelled(order)) return refuseCancelled(order);
  const otherPart = change['PART_CODE'] !== undefined && change['PART_CODE'] !== line['PART_CODE'];
  const changed = fillQuantities({ ...line, ...(otherPart ? fillFromPart(change, part) : change) });
  const open = order['RETURN_OF'] ? OPEN_ON_RETURNED_LINE : OPEN_ON_INVOICED_LINE;
  const isOpen = (name: string) => open.includes(name) || dictionary.get(name)?.custom === true;
  const closed = Object.keys(changed).find((name) => changed[name] !== line[name] && !isOpen(name));
  if (order['ORDER_TYPE'] === 'invoice' && closed) return refuseInvoiced(order, closed, open);
  const refusal = order['RETURN_OF'] ? undefined : (refuseHandReturn(part, changed) ?? refuseLine(changed));
  return refusal ?? { line: changed, stock: stockMovements([order, [line]], [order, [changed]]) };
}

/** Returns a line from a file. Units may already be shipped. LINE_NUMBER must be a whole number from 1, or empty. */
export function importLine(values: Values, part: KnownPart, isReturn: boolean): Outcome<Values> {
  const line = fillQuantities(part ? fillFromPart(values, part) : { ...values });
  // A line of a return has the serial numbers of its negative units.
  const refusal = refuseLine(line, isReturn ? line['QUANTITY']!.replace('-', '') : undefined);
  if (refusal) return refusal;
  if (/^([1-9]\d{0,8})?$/.test(line['LINE_NUMBER'] ?? '')) return line;
  return invalid('LINE_NUMBER', `LINE_NUMBER must be a whole number from 1, not '${line['LINE_NUMBER']}'.`);
}

/** Throws TOO_MANY_LINES if an order with this number of lines has no room for another. */
export function checkLineCount(orderNumber: string, count: number): void {
  if (count < LINES_MAX) return;
  const message = `Order ${orderNumber} already has ${LINES_MAX} lines, the maximum.`;
  throw refuseField('TOO_MANY_LINES', 'ORDER_NUMBER', message);
}

/** Returns RESULT_TOO_LARGE, because an order is always returned with all its lines. */
export const refuseLargeOrder = (field = 'orderNum'): Refusal =>
  refuseField(
    'RESULT_TOO_LARGE',
    field,
    'The order and its lines are larger than 32 MiB, the maximum of one response.',
  );

/** Returns LINE_MOVED with the order to which a partial invoice moved the line, or LINE_NOT_FOUND. */
export function lineNotFound(orderNumber: string, lockCode: string, movedTo: string | undefined): Refusal {
  if (movedTo === undefined) {
    const message = `Order ${orderNumber} has no line with the LINE_REF_LOCK_CODE '${startOf(lockCode)}'.`;
    return refuseField('LINE_NOT_FOUND', 'LINE_REF_LOCK_CODE', message);
  }
  const message = `A partial invoice of order ${orderNumber} moved this line to order ${movedTo}. Use that number.`;
  return new Refusal('LINE_MOVED', message, { field: 'ORDER_NUMBER', suggestion: movedTo });
}

/** Returns ORDER_CLOSED for a cancelled order or a void invoice, of which only NOTES can be changed. */
export function refuseCancelled(order: Values, field = 'ORDER_NUMBER'): Refusal {
  const state = order['ORDER_TYPE'] === 'invoice' ? 'void' : 'cancelled';
  const message = `Order ${order['ORDER_NUMBER']} is ${state}, so only its NOTES can be changed.`;
  return refuseField('ORDER_CLOSED', field, message);
}

/** Returns ORDER_CLOSED for an invoice. `open` lists the fields that can still be changed, besides custom fields. */
const refuseInvoiced = (order: Values, field: string, open: readonly string[]): Refusal =>
  refuseInvoice(order, field, `${field} can no longer be changed. Only ${open.join(', ')} and custom fields can`);
const refuseInvoice = (order: Values, field: string, reason: string): Refusal =>
  refuseField('ORDER_CLOSED', field, `Order ${order['ORDER_NUMBER']} is an invoice, so ${reason}.`);

function fillQuantities(line: Values): Values {
  line['QUANTITY'] ||= '0';
  line['NUMBER_SHIPPED'] ||= '0';
  return line;
}

/** Refuses negative units of a SERIALIZED part, because only returnOrder says which units come back. */
export const refuseHandReturn = (part: KnownPart, { PART_CODE, QUANTITY = '', CARE_PLAN }: Values) =>
  part?.['SERIALIZED'] === 'Y' && CARE_PLAN !== 'Y' && QUANTITY.startsWith('-')
    ? refuseField(
        'QUANTITY_NOT_ALLOWED',
        'QUANTITY',
        `Part ${PART_CODE} has serial numbers, so its units come back only by returnOrder (PUT /orders/return).`,
      )
    : undefined;

/** Refuses a line if NUMBER_SHIPPED is not between 0 and QUANTITY, or if its serial numbers are not allowed. */
function refuseLine(line: Values, units = line['QUANTITY']!): Refusal | undefined {
  const { QUANTITY: quantity = '', NUMBER_SHIPPED: shipped = '' } = line;
  if (within(shipped, quantity)) return refuseSerials({ ...line, QUANTITY: units });
  const message = `NUMBER_SHIPPED must be between 0 and QUANTITY (${quantity}), not ${shipped}.`;
  return refuseField('QUANTITY_NOT_ALLOWED', 'NUMBER_SHIPPED', message);
}

/** Refuses more than one serial number per unit, and any for a care plan: the product that it covers has them. */
export function refuseSerials(line: Values): Refusal | undefined {
  if (!line['SERIAL_NUMBERS']) return undefined;
  const serials = splitList(line['SERIAL_NUMBERS']);
  if (serials.length === 0) return undefined;
  const refuseLineSerials = (message: string) => refuseField('SERIALS_NOT_ALLOWED', 'SERIAL_NUMBERS', message);
  if (line['CARE_PLAN'] === 'Y')
    return refuseLineSerials(
      'A care plan cannot have serial numbers. Send them on the line of the product that it covers.',
    );
  const units = line['QUANTITY'] || '0';
  if (compareDecimals(String(serials.length), units) > 0)
    return refuseLineSerials(
      `Send at most one serial number per unit, not ${serials.length} for a quantity of ${units}.`,
    );
  return undefined;
}

export interface OrderStep {
  readonly order: Values;
  readonly lines: Values[];
  /**
   * The remainder of a partial invoice, which becomes a sales order with a new number. Lines that move completely keep
   * their LINE_REF_LOCK_CODE. The other lines have '' and are assigned a new code.
   */
  readonly backorder: { readonly order: Values; readonly lines: Values[] } | null;
  readonly stock: StockMovement[];
}

/** Turns a worksheet or a quote into a sales order, which commits its stock. */
export function approveOrder(order: Values, lines: Values[]): Outcome<OrderStep> {
  if (isCancelled(order)) return refuseCancelled(order);
  const isApproved = STAGES.indexOf(order['ORDER_TYPE'] as Stage) >= STAGES.indexOf('sales_order');
  if (isApproved)
    return refuseStage(order, `is already ${nameStage(order)}. Only a worksheet or a quote can be approved`);
  const approved = { ...order, ORDER_TYPE: 'sales_order' };
  return { order: approved, lines, backorder: null, stock: stockMovements([order, lines], [approved, lines]) };
}

export const refuseStage = (order: Values, reason: string) =>
  new Refusal('STAGE_NOT_ALLOWED', `Order ${order['ORDER_NUMBER']} ${reason}.`);

/** Returns the stage with its article for a message, such as 'a sales order'. */
export const nameStage = ({ ORDER_TYPE = '', RETURN_OF }: Values): string =>
  RETURN_OF ? 'a return' : `${ORDER_TYPE === 'invoice' ? 'an' : 'a'} ${ORDER_TYPE.replace('_', ' ')}`;

/** Fields of an invoice that can still be changed, besides custom fields. */
const OPEN_ON_INVOICE = ['NOTES', 'ORDER_STATUS', 'TRACKING_NUMBERS', 'SHIP_VIA'];

/** Returns INVALID_VALUE for an ORDER_STATUS that only cancelOrder or voidInvoice may set, ignoring case. */
export function refuseStatus({ ORDER_STATUS: status = '' }: Values): Refusal | undefined {
  const ways: Readonly<Record<string, string>> = {
    [CANCELLED_STATUS]: 'Use cancelOrder (POST /orders/cancel) to cancel an order.',
    [VOID_STATUS]: 'Use voidInvoice (POST /orders/void) to void an invoice.',
  };
  const way = ways[status.toUpperCase()];
  if (way === undefined) return undefined;
  const message = `ORDER_STATUS cannot be set to '${status}'. ${way}`;
  return refuseField('INVALID_VALUE', 'ORDER_STATUS', message);
}

/**
 * Returns the order with some fields changed, ORDER_CLOSED if one of them can no longer be changed, or INVALID_VALUE
 * for the ORDER_STATUS of a cancelled order or void invoice. A field sent with its current value is not a change,
 * and without a change the order itself is returned.
 */
export function changeOrder(dictionary: FieldDictionary, order: Values, change: Values): Outcome<Values> {
  const changed = changedNames(order, change);
  if (changed.length === 0) return order;
  if (isCancelled(order)) {
    const closed = changed.find((name) => name !== 'NOTES');
    if (closed !== undefined) return refuseCancelled(order, closed);
  }
  if (order['ORDER_TYPE'] === 'invoice') {
    const closed = changed.find((name) => !OPEN_ON_INVOICE.includes(name) && !dictionary.get(name)?.custom);
    if (closed !== undefined) return refuseInvoiced(order, closed, OPEN_ON_INVOICE);
  }
  const refusal = changed.includes('ORDER_STATUS') ? refuseStatus(change) : undefined;
  if (refusal) return refusal;
  return order['ORDER_TYPE'] === 'invoice' ? { ...order, ...change } : takeTotals(order, { ...order, ...change });
}

/** Returns the order as cancelled, or ORDER_CLOSED if it is an invoice. */
export function cancelled(order: Values): Outcome<Values> {
  if (order['ORDER_TYPE'] === 'invoice')
    return refuseInvoice(order, 'ORDER_NUMBER', 'it cannot be cancelled. Void it with voidInvoice (POST /orders/void)');
  return { ...order, ORDER_STATUS: CANCELLED_STATUS, [CANCELLED_MARK]: 'Y' };
}

/**
 * Returns the invoice as void: its units are in stock again, and only its NOTES can be changed. Returns ORDER_CLOSED
 * for a cancelled order, and STAGE_NOT_ALLOWED for any other.
 */
export function voided(order: Values): Outcome<Values> {
  if (isCancelled(order)) return refuseCancelled(order);
  if (order['ORDER_TYPE'] !== 'invoice')
    return refuseStage(order, `is ${nameStage(order)}. Only an invoice can be voided; cancel the order instead`);
  return { ...order, ORDER_STATUS: VOID_STATUS, [CANCELLED_MARK]: 'Y' };
}
