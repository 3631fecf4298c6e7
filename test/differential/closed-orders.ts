/** The model's second implementation of S7.14 to S7.18 and S8.5: closed orders, and the stock that an order commits. */
import { Refusal, type ErrorCode } from '../../src/errors.ts';
import { addDecimals, subtractDecimals } from '../../src/pims/rules/decimal.ts';
import type { FieldDictionary } from '../../src/pims/rules/fields.ts';
import type { StockMovement } from '../../src/pims/rules/stock.ts';
import type { Values } from '../../src/pims/rules/values.ts';

const OPEN = 'NOTES, ORDER_STATUS, TRACKING_NUMBERS, SHIP_VIA';

export class ClosedOrders {
  readonly #cancelled = new Set<string>();

  remember(): () => void {
    const before = [...this.#cancelled];
    return () => {
      this.#cancelled.clear();
      for (const number of before) this.#cancelled.add(number);
    };
  }

  isCancelled = (order: Values): boolean => this.#cancelled.has(order['ORDER_NUMBER']!);
  cancel = (orderNumber: string): unknown => this.#cancelled.add(orderNumber);

  checkNotCancelled(order: Values, field = 'ORDER_NUMBER'): void {
    if (this.isCancelled(order))
      refuse('ORDER_CLOSED', field, `Order ${order['ORDER_NUMBER']} is cancelled, so only its NOTES can be changed.`);
  }

  checkNoInvoice(order: Values, field: string, reason: string): void {
    if (order['ORDER_TYPE'] === 'invoice')
      refuse('ORDER_CLOSED', field, `Order ${order['ORDER_NUMBER']} is an invoice${reason}`);
  }

  checkStatus({ ORDER_STATUS: status = '' }: Values): void {
    const message = `ORDER_STATUS cannot be set to '${status}'. Use cancelOrder (POST /orders/cancel) to cancel an order.`;
    if (/^cancelled$/i.test(status)) refuse('INVALID_VALUE', 'ORDER_STATUS', message);
  }

  checkChange(order: Values, change: Values, fields: FieldDictionary): void {
    const changed = Object.keys(change).filter((name) => name !== 'NOTES' && change[name] !== order[name]);
    for (const name of changed) this.checkNotCancelled(order, name);
    for (const name of changed)
      if (!/^(ORDER_STATUS|TRACKING_NUMBERS|SHIP_VIA)$/.test(name) && !fields.get(name)!.custom)
        this.checkNoInvoice(order, name, `, so ${name} can no longer be changed. Only ${OPEN} and custom fields can.`);
  }
}

/** Returns the units that an order commits, by part. */
export function committedBy(order: Values, lines: readonly Values[]): ReadonlyMap<string, string> {
  const sums = new Map<string, string>();
  if (order['ORDER_TYPE'] !== 'sales_order' || order['DROP_SHIP'] === 'Y') return sums;
  for (const { PART_CODE = '', QUANTITY = '', CARE_PLAN } of lines)
    if (CARE_PLAN !== 'Y') sums.set(PART_CODE, addDecimals(sums.get(PART_CODE) ?? '0', QUANTITY));
  return sums;
}

export const movementsBetween = (
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): StockMovement[] =>
  [...new Set([...before.keys(), ...after.keys()])]
    .map((PART_CODE) => ({
      PART_CODE,
      onHand: '0',
      committed: subtractDecimals(after.get(PART_CODE) ?? '0', before.get(PART_CODE) ?? '0'),
    }))
    .filter(({ committed }) => committed !== '0');

export function refuse(code: ErrorCode, field: string, message: string): never {
  throw new Refusal(code, message, { field });
}
