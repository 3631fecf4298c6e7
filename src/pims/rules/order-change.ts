/** Rules of a changed or a cancelled order: what of it is closed. Source: decision 0010. */
import { refuseField, type Outcome, type Refusal } from '../../errors.ts';
import type { FieldDictionary } from './fields.ts';
import { refuseCancelled, refuseInvoiced } from './line-item.ts';
import { CANCELLED_MARK, CANCELLED_STATUS, isCancelled } from './stages.ts';
import { takeTotals } from './totals.ts';
import type { Values } from './values.ts';

/** What still changes on an invoice, beside custom fields. */
const OPEN_ON_INVOICE = ['NOTES', 'ORDER_STATUS', 'TRACKING_NUMBERS', 'SHIP_VIA'];

/** INVALID_VALUE for the ORDER_STATUS that only cancelOrder gives, in any casing. */
export function refuseStatus({ ORDER_STATUS: status = '' }: Values): Refusal | undefined {
  if (status.toUpperCase() !== CANCELLED_STATUS) return undefined;
  const message = `ORDER_STATUS cannot be set to '${status}'. Use cancelOrder (POST /orders/cancel) to cancel an order.`;
  return refuseField('INVALID_VALUE', 'ORDER_STATUS', message);
}

/**
 * An order with some fields changed. ORDER_CLOSED for one that can no longer be changed, INVALID_VALUE for the status
 * of a cancelled one; a field sent with its present value is no change.
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

/** The order, cancelled. ORDER_CLOSED for an invoice. */
export function cancelled(order: Values): Outcome<Values> {
  const message = `Order ${order['ORDER_NUMBER']} is an invoice, and an invoice cannot be cancelled.`;
  if (order['ORDER_TYPE'] === 'invoice') return refuseField('ORDER_CLOSED', 'ORDER_NUMBER', message);
  return { ...order, ORDER_STATUS: CANCELLED_STATUS, [CANCELLED_MARK]: 'Y' };
}
