/**
 * Rules of a line item: what a new line starts with, what an update may change, and what holds of every line.
 * Source: specification 2.3, decision 0010.
 */
import { Refusal, refuseField, type Outcome } from '../../errors.ts';
import { compareDecimals, within } from './decimal.ts';
import type { FieldDictionary } from './fields.ts';
import { LINES_MAX } from './record-bounds.ts';
import { splitList } from './lists.ts';
import { stockMovements, type StockMovement } from './stock.ts';
import { isCancelled } from './stages.ts';
import { invalid, type Values } from './values.ts';

/** What can be changed on a line of an invoice, beside custom fields. */
const OPEN_ON_INVOICED_LINE = ['DESCRIPTION', 'SERIAL_NUMBERS'];

/** A line as it is after a write, and the stock the write moves. */
export interface LineStep {
  readonly line: Values;
  readonly stock: StockMovement[];
}

/** PART_DESCRIPTION, UNIT_PRICE and CARE_PLAN of the part a line names, if it is known. Without a price in an import. */
export type KnownPart = Values | undefined;

/** A known part fills DESCRIPTION, UNIT_PRICE and the care-plan flag where they were not sent. */
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
 * A new line of an order, one unit where none are sent; nothing of it is shipped yet. An invoice and a cancelled order
 * take no new lines.
 */
export function addLine(order: Values, values: Values, part: KnownPart): Outcome<LineStep> {
  if (isCancelled(order)) return refuseCancelled(order);
  if (order['ORDER_TYPE'] === 'invoice') return refuseInvoice(order, 'ORDER_NUMBER', 'no line can be added');
  const line = fillQuantities({ QUANTITY: '1', ...fillFromPart(values, part), NUMBER_SHIPPED: '0' });
  return refuseLine(line) ?? { line, stock: stockMovements([order, []], [order, [line]]) };
}

/**
 * A line of an order with some fields changed. Another PART_CODE brings the new part's description, price and care-plan
 * flag unless they are sent. Of a line of an invoice only OPEN_ON_INVOICED_LINE and custom fields can be changed, of one
 * of a cancelled order nothing: ORDER_CLOSED.
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
  const isOpen = (name: string): boolean =>
    OPEN_ON_INVOICED_LINE.includes(name) || dictionary.get(name)?.custom === true;
  const closed = Object.keys(changed).find((name) => changed[name] !== line[name] && !isOpen(name));
  if (order['ORDER_TYPE'] === 'invoice' && closed) return refuseInvoiced(order, closed, OPEN_ON_INVOICED_LINE);
  return refuseLine(changed) ?? { line: changed, stock: stockMovements([order, [line]], [order, [changed]]) };
}

/** A line from a file, as given: it may be shipped already. LINE_NUMBER is a whole number from 1, or missing. */
export function importLine(values: Values, part: KnownPart): Outcome<Values> {
  const line = fillQuantities(part ? fillFromPart(values, part) : { ...values });
  const refusal = refuseLine(line);
  if (refusal) return refusal;
  if (/^([1-9]\d{0,8})?$/.test(line['LINE_NUMBER'] ?? '')) return line;
  return invalid('LINE_NUMBER', `LINE_NUMBER is a whole number from 1, not '${line['LINE_NUMBER']}'.`);
}

/** Throws TOO_MANY_LINES when an order with so many lines takes no other. */
export function checkLineCount(orderNumber: string, count: number): void {
  if (count < LINES_MAX) return;
  const message = `Order ${orderNumber} already has ${LINES_MAX} lines, the maximum.`;
  throw refuseField('TOO_MANY_LINES', 'ORDER_NUMBER', message);
}

/** RESULT_TOO_LARGE: an order is answered with all its lines or not at all. */
export const refuseLargeOrder = (field = 'orderNum'): Refusal =>
  refuseField('RESULT_TOO_LARGE', field, 'The order and its lines are larger than one answer holds, 32 MiB.');

/** LINE_MOVED where a partial invoice left the line to another order: `suggestion` is its number. */
export function lineNotFound(orderNumber: string, lockCode: string, movedTo: string | undefined): Refusal {
  if (movedTo === undefined) {
    const message = `Order ${orderNumber} has no line with the LINE_REF_LOCK_CODE '${lockCode.slice(0, 64)}'.`;
    return refuseField('LINE_NOT_FOUND', 'LINE_REF_LOCK_CODE', message);
  }
  const message = `A partial invoice of order ${orderNumber} moved the line to order ${movedTo}: send that ORDER_NUMBER.`;
  return new Refusal('LINE_MOVED', message, { field: 'ORDER_NUMBER', suggestion: movedTo });
}

/** Of a cancelled order nothing changes but NOTES. */
export const refuseCancelled = (order: Values, field = 'ORDER_NUMBER'): Refusal =>
  refuseField('ORDER_CLOSED', field, `Order ${order['ORDER_NUMBER']} is cancelled, so only its NOTES can be changed.`);

/** `open`: the fields that can still be changed, beside custom ones. */
export const refuseInvoiced = (order: Values, field: string, open: readonly string[]): Refusal =>
  refuseInvoice(order, field, `${field} can no longer be changed. Only ${open.join(', ')} and custom fields can`);
export const refuseInvoice = (order: Values, field: string, reason: string): Refusal =>
  refuseField('ORDER_CLOSED', field, `Order ${order['ORDER_NUMBER']} is an invoice, so ${reason}.`);

function fillQuantities(line: Values): Values {
  line['QUANTITY'] ||= '0';
  line['NUMBER_SHIPPED'] ||= '0';
  return line;
}

/** What holds of every line: NUMBER_SHIPPED lies between 0 and QUANTITY, and its serial numbers fit. */
function refuseLine(line: Values): Refusal | undefined {
  const { QUANTITY: quantity = '', NUMBER_SHIPPED: shipped = '' } = line;
  if (within(shipped, quantity)) return refuseSerials(line);
  const message = `NUMBER_SHIPPED must lie between 0 and QUANTITY (${quantity}), not ${shipped}.`;
  return new Refusal('QUANTITY_NOT_ALLOWED', message, { field: 'NUMBER_SHIPPED' });
}

/** A unit has at most one serial number. A care plan has none: its serial is that of the product it covers. */
export function refuseSerials(line: Values): Refusal | undefined {
  if (!line['SERIAL_NUMBERS']) return undefined;
  const serials = splitList(line['SERIAL_NUMBERS']);
  if (serials.length === 0) return undefined;
  const refuse = (message: string): Refusal => new Refusal('SERIALS_NOT_ALLOWED', message, { field: 'SERIAL_NUMBERS' });
  if (line['CARE_PLAN'] === 'Y')
    return refuse('A care plan takes no serial numbers: the serial belongs to the product it covers.');
  const units = line['QUANTITY'] || '0';
  if (compareDecimals(String(serials.length), units) > 0)
    return refuse(`${serials.length} serial numbers were sent for ${units} units; send at most one per unit.`);
  return undefined;
}
