/** Rules of a changed or a cancelled order: what of it is closed. Source: decision 0046. */
import { refuseField, type Outcome } from '../errors.ts';
import type { FieldDictionary } from './fields.ts';
import { refuseCancelled } from './line-item.ts';
import { CANCELLED_MARK, CANCELLED_STATUS, isCancelled } from './stages.ts';
import { takeTotals } from './totals.ts';
import type { Values } from './values.ts';

/** What still changes on an invoice, beside custom fields. */
const OPEN_ON_INVOICE = ['NOTES', 'ORDER_STATUS', 'TRACKING_NUMBERS', 'SHIP_VIA'];

/** Throws INVALID_VALUE for the ORDER_STATUS that only cancelOrder gives. */
export function checkStatus(change: Values): void {
  if (change['ORDER_STATUS'] !== CANCELLED_STATUS) return;
  const message = `ORDER_STATUS becomes ${CANCELLED_STATUS} by cancelOrder alone (POST /orders/cancel).`;
  throw refuseField('INVALID_VALUE', 'ORDER_STATUS', message);
}

/** An order with some fields changed. ORDER_CLOSED for one that no longer changes; its present value may be sent. */
export function changeOrder(dictionary: FieldDictionary, order: Values, change: Values): Outcome<Values> {
  const changed = Object.keys(change).filter((name) => change[name] !== order[name]);
  if (isCancelled(order)) {
    const closed = changed.find((name) => name !== 'NOTES');
    if (closed !== undefined) return refuseCancelled(order, closed);
  }
  if (order['ORDER_TYPE'] === 'invoice') {
    const closed = changed.find((name) => !OPEN_ON_INVOICE.includes(name) && !dictionary.get(name)?.custom);
    const message = `Order ${order['ORDER_NUMBER']} is an invoice; its ${closed} can no longer change.`;
    if (closed !== undefined) return refuseField('ORDER_CLOSED', closed, message);
  }
  return takeTotals(order, { ...order, ...change });
}

/** The order, cancelled. ORDER_CLOSED for an invoice. */
export function cancelled(order: Values): Outcome<Values> {
  const message = `Order ${order['ORDER_NUMBER']} is an invoice, and an invoice cannot be cancelled.`;
  if (order['ORDER_TYPE'] === 'invoice') return refuseField('ORDER_CLOSED', 'ORDER_NUMBER', message);
  return { ...order, ORDER_STATUS: CANCELLED_STATUS, [CANCELLED_MARK]: 'Y' };
}
