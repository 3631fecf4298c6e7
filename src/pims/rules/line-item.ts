/**
 * Rules of a line item: the values that a new line starts with, the changes that an update may make, and the conditions
 * that every line meets. Source: decision 0010.
 */
import { Refusal, refuseField, type Outcome } from '../../errors.ts';
import { compareDecimals, within } from './decimal.ts';
import type { FieldDictionary } from './fields.ts';
import { LINES_MAX } from './record-bounds.ts';
import { splitList } from './lists.ts';
import { stockMovements, type StockMovement } from './stock.ts';
import { isCancelled } from './stages.ts';
import { invalid, type Values } from './values.ts';

/** Fields of an invoiced line that can still be changed, besides custom fields. */
const OPEN_ON_INVOICED_LINE = ['DESCRIPTION', 'SERIAL_NUMBERS'];

/** A line after a write, and the stock that the write moves. */
export interface LineStep {
  readonly line: Values;
  readonly stock: StockMovement[];
}

/** PART_DESCRIPTION, UNIT_PRICE (not in an import) and CARE_PLAN of the part of a line, if the part exists. */
export type KnownPart = Values | undefined;

/** Fills DESCRIPTION, UNIT_PRICE and CARE_PLAN from the part where they were not sent. */
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
  return refuseLine(line) ?? { line, stock: stockMovements([order, []], [order, [line]]) };
}

/**
 * Returns a line of an order with some fields changed. With another PART_CODE the line gets the description, price and
 * care-plan flag of the new part unless they are sent. Returns ORDER_CLOSED if the order is cancelled, or if it is an
 * invoice and a field other than OPEN_ON_INVOICED_LINE and custom fields would change.
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
  const isOpen = (name: string) => OPEN_ON_INVOICED_LINE.includes(name) || dictionary.get(name)?.custom === true;
  const closed = Object.keys(changed).find((name) => changed[name] !== line[name] && !isOpen(name));
  if (order['ORDER_TYPE'] === 'invoice' && closed) return refuseInvoiced(order, closed, OPEN_ON_INVOICED_LINE);
  return refuseLine(changed) ?? { line: changed, stock: stockMovements([order, [line]], [order, [changed]]) };
}

/** Returns a line from a file. Units may already be shipped. LINE_NUMBER must be a whole number from 1, or empty. */
export function importLine(values: Values, part: KnownPart): Outcome<Values> {
  const line = fillQuantities(part ? fillFromPart(values, part) : { ...values });
  const refusal = refuseLine(line);
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
    const message = `Order ${orderNumber} has no line with the LINE_REF_LOCK_CODE '${lockCode.slice(0, 64)}'.`;
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
export const refuseInvoiced = (order: Values, field: string, open: readonly string[]): Refusal =>
  refuseInvoice(order, field, `${field} can no longer be changed. Only ${open.join(', ')} and custom fields can`);
export const refuseInvoice = (order: Values, field: string, reason: string): Refusal =>
  refuseField('ORDER_CLOSED', field, `Order ${order['ORDER_NUMBER']} is an invoice, so ${reason}.`);

function fillQuantities(line: Values): Values {
  line['QUANTITY'] ||= '0';
  line['NUMBER_SHIPPED'] ||= '0';
  return line;
}

/** Refuses a line if NUMBER_SHIPPED is not between 0 and QUANTITY, or if its serial numbers are not allowed. */
function refuseLine(line: Values): Refusal | undefined {
  const { QUANTITY: quantity = '', NUMBER_SHIPPED: shipped = '' } = line;
  if (within(shipped, quantity)) return refuseSerials(line);
  const message = `NUMBER_SHIPPED must be between 0 and QUANTITY (${quantity}), not ${shipped}.`;
  return refuseField('QUANTITY_NOT_ALLOWED', 'NUMBER_SHIPPED', message);
}

/** Refuses more than one serial number per unit, and any of a care plan: they belong to the product that it covers. */
export function refuseSerials(line: Values): Refusal | undefined {
  if (!line['SERIAL_NUMBERS']) return undefined;
  const serials = splitList(line['SERIAL_NUMBERS']);
  if (serials.length === 0) return undefined;
  const refuse = (message: string) => refuseField('SERIALS_NOT_ALLOWED', 'SERIAL_NUMBERS', message);
  if (line['CARE_PLAN'] === 'Y')
    return refuse('A care plan cannot have serial numbers. Send them on the line of the product that it covers.');
  const units = line['QUANTITY'] || '0';
  if (compareDecimals(String(serials.length), units) > 0)
    return refuse(`${serials.length} serial numbers were sent for a quantity of ${units}. Send at most one per unit.`);
  return undefined;
}
