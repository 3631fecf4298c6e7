/** Rules for an order that is approved, completely or partly invoiced, edited or cancelled. Source: decision 0010. */
import { Refusal, refuseField, type Outcome } from '../../errors.ts';
import { isZero, parseDecimal, subtractDecimals, within } from './decimal.ts';
import type { FieldDictionary } from './fields.ts';
import { refuseCancelled, refuseInvoice, refuseInvoiced, refuseSerials } from './line-item.ts';
import { stockMovements, type StockMovement } from './stock.ts';
import { splitList } from './lists.ts';
import { CANCELLED_MARK, CANCELLED_STATUS, isCancelled, STAGES, VOID_STATUS, type Stage } from './stages.ts';
import { areTotalsBehind, shareTotals, sumUp, takeTotals } from './totals.ts';
import type { Values } from './values.ts';

/** An order and its lines after a transition. */
export interface OrderStep {
  readonly order: Values;
  readonly lines: Values[];
  /**
   * The remainder of a partial invoice, which becomes a sales order with a new number. Lines that move completely keep
   * their LINE_REF_LOCK_CODE. The others have '' and are assigned a new one.
   */
  readonly backorder: { readonly order: Values; readonly lines: Values[] } | null;
  readonly stock: StockMovement[];
}

/** Units to invoice, with LINE_NUMBERs as keys. Empty `quantities` invoice everything. */
export interface InvoiceRequest {
  readonly quantities: ReadonlyMap<string, string>;
  readonly serials: ReadonlyMap<string, readonly string[]>;
  readonly tracking: readonly string[];
}

/** The step of an order to its next stage. */
export type OrderTransition = { readonly approve: true } | { readonly invoice: InvoiceRequest };

/** Turns a worksheet or a quote into a sales order, which commits its stock. */
export function approveOrder(order: Values, lines: Values[]): Outcome<OrderStep> {
  if (isCancelled(order)) return refuseCancelled(order);
  const isApproved = STAGES.indexOf(order['ORDER_TYPE'] as Stage) >= STAGES.indexOf('sales_order');
  if (isApproved)
    return refuseStage(order, `is already ${nameStage(order)}. Only a worksheet or a quote can be approved`);
  const approved = { ...order, ORDER_TYPE: 'sales_order' };
  return { order: approved, lines, backorder: null, stock: stockMovements([order, lines], [approved, lines]) };
}

/**
 * Invoices an order completely or partly. The invoice keeps the number of the order, and QUANTITY and NUMBER_SHIPPED of
 * its lines are the units invoiced. The remainder becomes a backorder: a new sales order with the same
 * REFERENCE_NUMBER, so that the quantities of all records with a reference always add up to the units ordered.
 */
export function invoiceOrder(order: Values, lines: Values[], request: InvoiceRequest): Outcome<OrderStep> {
  if (isCancelled(order)) return refuseCancelled(order);
  if (order['ORDER_TYPE'] === 'invoice') return refuseStage(order, 'is already an invoice');
  if (lines.length === 0) return refuseStage(order, 'has no lines to invoice');
  const known = lines.map((line) => line['LINE_NUMBER']);
  const unknown = [...request.quantities.keys(), ...request.serials.keys()].find((number) => !known.includes(number));
  if (unknown !== undefined) {
    const message = `Order ${order['ORDER_NUMBER']} has no line ${unknown}.`;
    return refuseField('LINE_NOT_FOUND', 'LINE_NUMBER', message);
  }

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

  const tracking = [...new Set([...splitList(order['TRACKING_NUMBERS'] ?? ''), ...request.tracking])].join(',');
  const summed = areTotalsBehind(order) ? { ...order, ...sumUp(order, lines) } : order;
  const [own, left] = open.length === 0 ? [] : shareTotals(summed, lines, invoiced, open);
  const invoice = { ...summed, ORDER_TYPE: 'invoice', TRACKING_NUMBERS: tracking, ...own };
  const backorder = left ? { order: { ...summed, ...BACKORDER, ...left }, lines: open } : null;
  const after: [Values, Values[]][] = [[invoice, invoiced]];
  if (backorder) after.push([backorder.order, backorder.lines]);
  return { order: invoice, lines: invoiced, backorder, stock: stockMovements([order, lines], ...after) };
}

const BACKORDER: Values = { ORDER_NUMBER: '', ORDER_TYPE: 'sales_order', TRACKING_NUMBERS: '' };

function splitLine(line: Values, request: InvoiceRequest): Outcome<{ invoiced: Values | null; open: Values | null }> {
  const name = `Line ${line['LINE_NUMBER']}`;
  const ordered = line['QUANTITY'] || '0';
  const asked = request.quantities.size === 0 ? ordered : (request.quantities.get(line['LINE_NUMBER']!) ?? '0');
  const units = parseDecimal(asked);
  if (units === undefined || !within(units, ordered))
    return refuseQuantity(`${name} has ${ordered} units, so '${asked}' cannot be invoiced. Send 0 to ${ordered}.`);
  const nothing = isZero(units) && !isZero(ordered);
  const serials = request.serials.get(line['LINE_NUMBER']!) ?? (nothing ? [] : splitList(line['SERIAL_NUMBERS'] ?? ''));
  const invoiced = { ...line, QUANTITY: units, NUMBER_SHIPPED: units, SERIAL_NUMBERS: serials.join(',') };
  const refusal = refuseSerials(invoiced);
  if (refusal) return refusal;
  if (nothing) return { invoiced: null, open: { ...line, NUMBER_SHIPPED: '0' } };
  const left = subtractDecimals(ordered, units);
  if (isZero(left)) return { invoiced, open: null };
  const open = { ...line, QUANTITY: left, NUMBER_SHIPPED: '0', SERIAL_NUMBERS: '', LINE_REF_LOCK_CODE: '' };
  return { invoiced, open };
}

const refuseQuantity = (message: string) => refuseField('QUANTITY_NOT_ALLOWED', 'QUANTITY', message);
const refuseStage = (order: Values, reason: string) =>
  new Refusal('STAGE_NOT_ALLOWED', `Order ${order['ORDER_NUMBER']} ${reason}.`);

/** Returns the stage with its article for a message, such as 'a sales order'. */
const nameStage = (order: Values) =>
  `${order['ORDER_TYPE'] === 'invoice' ? 'an' : 'a'} ${(order['ORDER_TYPE'] ?? '').replace('_', ' ')}`;

/** Fields of an invoice that can still be changed, besides custom fields. */
const OPEN_ON_INVOICE = ['NOTES', 'ORDER_STATUS', 'TRACKING_NUMBERS', 'SHIP_VIA'];

/** Returns INVALID_VALUE for an ORDER_STATUS that only cancelOrder or voidInvoice may set, in upper or lower case. */
export function refuseStatus({ ORDER_STATUS: status = '' }: Values): Refusal | undefined {
  const ways: Readonly<Record<string, string>> = {
    [CANCELLED_STATUS]: 'Use cancelOrder (POST /orders/cancel) to cancel an order.',
    [VOID_STATUS]: 'An invoice is voided in the dashboard.',
  };
  const way = ways[status.toUpperCase()];
  if (way === undefined) return undefined;
  const message = `ORDER_STATUS cannot be set to '${status}'. ${way}`;
  return refuseField('INVALID_VALUE', 'ORDER_STATUS', message);
}

/**
 * Returns the order with some fields changed, ORDER_CLOSED if one of them can no longer be changed, or INVALID_VALUE
 * for the ORDER_STATUS of a cancelled order. A field sent with its current value is not a change.
 */
export function changeOrder(dictionary: FieldDictionary, order: Values, change: Values): Outcome<Values> {
  const changed = Object.keys(change).filter((name) => change[name] !== order[name]);
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
  if (order['ORDER_TYPE'] === 'invoice') return refuseInvoice(order, 'ORDER_NUMBER', 'it cannot be cancelled');
  return { ...order, ORDER_STATUS: CANCELLED_STATUS, [CANCELLED_MARK]: 'Y' };
}

/** Returns the invoice as void: its units are in stock again, and only its NOTES can be changed. STAGE_NOT_ALLOWED. */
export function voided(order: Values): Outcome<Values> {
  if (order['ORDER_TYPE'] !== 'invoice')
    return refuseStage(order, `is ${nameStage(order)}. Only an invoice can be voided; cancel the order instead`);
  return { ...order, ORDER_STATUS: VOID_STATUS, [CANCELLED_MARK]: 'Y' };
}
