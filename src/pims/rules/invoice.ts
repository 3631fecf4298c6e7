/**
 * Rules of an invoice: the lines that a caller names with the units of each, and how an order is invoiced completely or
 * partly. Source: decision 0010.
 */
import { Refusal, refuseField, startOf, type Outcome } from '../../errors.ts';
import { isZero, parseDecimal, subtractDecimals, within } from './decimal.ts';
import { isObject } from './json.ts';
import { splitList } from './lists.ts';
import { refuseCancelled, refuseSerials, refuseStage, type OrderStep } from './order.ts';
import { NAMED_LINES_MAX } from './record-bounds.ts';
import { isCancelled } from './stages.ts';
import { stockMovements } from './stock.ts';
import { shareTotals } from './totals.ts';
import { checkText, invalid, parseFlag, type RawValue, type Values } from './values.ts';

/** The members of a line that a caller names. A return also has RESTOCK. */
const LINE_MEMBERS = ['LINE_REF_LOCK_CODE', 'QUANTITY', 'SERIAL_NUMBERS'];

/** The lines that a caller names, by LINE_REF_LOCK_CODE, such as `{ QUANTITY: '2', SERIAL_NUMBERS: 'A1,A2' }`. */
export type NamedLines = ReadonlyMap<string, Values>;

export interface InvoiceRequest {
  /** The units to invoice of each line. Without it, everything is invoiced. */
  readonly lines?: NamedLines | undefined;
  /** TRACKING_NUMBERS, which are added to those of the order, and SHIP_VIA. */
  readonly fields: Values;
}

/**
 * Parses lines such as `[{"LINE_REF_LOCK_CODE": "…", "QUANTITY": 2}]`. Throws INVALID_BODY if they are not a list of
 * different lines, MISSING_FIELD or INVALID_VALUE.
 */
export function parseLines(raw: unknown, more: readonly string[] = []): NamedLines {
  const members = [...LINE_MEMBERS, ...more];
  const refuse = (message: string) => refuseField('INVALID_BODY', 'lines', message);
  if (!Array.isArray(raw) || raw.length === 0 || raw.length > NAMED_LINES_MAX)
    throw refuse(`lines must be a list of 1 to ${NAMED_LINES_MAX} objects, each with LINE_REF_LOCK_CODE and QUANTITY.`);
  const lines = new Map<string, Values>();
  for (const [at, line] of (raw as unknown[]).entries()) {
    const values: Values = {};
    for (const [name, value] of isObject(line) ? Object.entries(line) : [['', line] as const]) {
      if (!members.includes(name) || !isValue(value))
        throw refuse(`lines[${at}] must be an object whose members are texts or numbers: ${members.join(', ')}.`);
      checkText(name, (values[name] = String(value ?? '')));
    }
    const { LINE_REF_LOCK_CODE: code, QUANTITY: quantity } = values;
    if (!code || !quantity)
      throw refuseField(
        'MISSING_FIELD',
        code ? 'QUANTITY' : 'LINE_REF_LOCK_CODE',
        `lines[${at}] needs both LINE_REF_LOCK_CODE and QUANTITY.`,
      );
    const restock = parseFlag(values['RESTOCK'] || 'Y');
    if (restock === undefined)
      throw invalid('RESTOCK', `RESTOCK must be 'Y' or 'N', not '${startOf(values['RESTOCK']!)}'.`);
    values['RESTOCK'] = restock;
    if (lines.has(code)) throw refuse(`lines[${at}] names the line '${startOf(code)}' again. Send each line once.`);
    lines.set(code, values);
  }
  return lines;
}

const isValue = (value: unknown): value is RawValue =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value);

/**
 * Invoices an order completely or partly. The invoice keeps the number of the order, and QUANTITY and NUMBER_SHIPPED of
 * its lines are the units invoiced. The remainder becomes a backorder: a new sales order with the same
 * REFERENCE_NUMBER, so that the quantities of all records with a reference always add up to the units ordered. It keeps
 * the units reported as shipped and the serial numbers that the invoice does not have. Example: if 4 of 5 units were
 * reported and 1 is invoiced, 3 of 4 units of the backorder are shipped.
 */
export function invoiceOrder(order: Values, lines: Values[], request: InvoiceRequest): Outcome<OrderStep> {
  if (isCancelled(order)) return refuseCancelled(order);
  if (order['ORDER_TYPE'] === 'invoice') return refuseStage(order, 'is already an invoice');
  if (lines.length === 0) return refuseStage(order, 'has no lines to invoice');
  const invoiced: Values[] = [];
  const open: Values[] = [];
  for (const line of lines) {
    const split = splitLine(line, request);
    if (split instanceof Refusal) return split;
    if (split.invoiced) invoiced.push(split.invoiced);
    if (split.open) open.push(split.open);
  }
  if (invoiced.length === 0)
    return refuseQuantity('Every quantity is 0, so nothing would be invoiced. Invoice at least one unit.');

  const { TRACKING_NUMBERS: sent = '', ...fields } = request.fields;
  const tracking = [...new Set(splitList(`${order['TRACKING_NUMBERS'] ?? ''},${sent}`))].join(',');
  checkText('TRACKING_NUMBERS', tracking);
  const [own, left] = open.length === 0 ? [] : shareTotals(order, lines, invoiced, open);
  const invoice = { ...order, ...fields, ORDER_TYPE: 'invoice', TRACKING_NUMBERS: tracking, ...own };
  const backorder = left
    ? { order: { ...order, ...BACKORDER, BACKORDER_OF: order['ORDER_NUMBER']!, ...left }, lines: open }
    : null;
  const after: [Values, Values[]][] = [[invoice, invoiced]];
  if (backorder) after.push([backorder.order, backorder.lines]);
  return { order: invoice, lines: invoiced, backorder, stock: stockMovements([order, lines], ...after) };
}

const BACKORDER: Values = { ORDER_NUMBER: '', ORDER_TYPE: 'sales_order', TRACKING_NUMBERS: '' };

function splitLine(line: Values, { lines }: InvoiceRequest): Outcome<{ invoiced: Values | null; open: Values | null }> {
  const name = `Line ${line['LINE_NUMBER']}`;
  const ordered = line['QUANTITY'] || '0';
  const asked = lines?.get(line['LINE_REF_LOCK_CODE']!) ?? { QUANTITY: lines ? '0' : ordered };
  const units = parseDecimal(asked['QUANTITY']!);
  if (units === undefined || !within(units, ordered))
    return refuseQuantity(
      `${name} has ${ordered} units, so '${startOf(asked['QUANTITY']!)}' cannot be invoiced. Send 0 to ${ordered}.`,
    );
  const nothing = isZero(units) && !isZero(ordered);
  const serials = splitList(asked['SERIAL_NUMBERS'] ?? (nothing ? '' : line['SERIAL_NUMBERS']) ?? '');
  const invoiced = { ...line, QUANTITY: units, NUMBER_SHIPPED: units, SERIAL_NUMBERS: serials.join(',') };
  const refusal = refuseSerials(invoiced);
  if (refusal) return refusal;
  if (nothing) return { invoiced: null, open: line };
  const left = subtractDecimals(ordered, units);
  if (isZero(left)) return { invoiced, open: null };
  const reported = subtractDecimals(line['NUMBER_SHIPPED'] ?? '', units);
  const taken = new Set(serials);
  const open = {
    ...line,
    QUANTITY: left,
    NUMBER_SHIPPED: within(reported, left) ? reported : '0',
    SERIAL_NUMBERS: splitList(line['SERIAL_NUMBERS'] ?? '')
      .filter((serial) => !taken.has(serial))
      .join(','),
    LINE_REF_LOCK_CODE: '',
  };
  return refuseSerials(open) ?? { invoiced, open };
}

export const refuseQuantity = (message: string) => refuseField('QUANTITY_NOT_ALLOWED', 'QUANTITY', message);
