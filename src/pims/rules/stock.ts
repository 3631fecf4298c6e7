/**
 * The stock that an order holds, and the stock movements that result from a change of the order. QTY_AVAILABLE is
 * QTY_ONHAND − QTY_COMMITTED. Source: decision 0010.
 */
import { addDecimals, isZero, multiplyDecimals, subtractDecimals } from './decimal.ts';
import type { LineUnits } from '../writes/script.ts';
import { isCancelled } from './stages.ts';
import type { Values } from './values.ts';

/** The change of one part's stock, as signed decimals. */
export interface StockMovement {
  readonly PART_CODE: string;
  readonly onHand: string;
  readonly committed: string;
}

type OrderState = readonly [order: Values, lines: readonly Values[]];

/** Returns whether an order holds stock. Worksheets, quotes, drop-shipped and cancelled orders hold none. */
export const holdsStock = (order: Values): boolean =>
  (order['ORDER_TYPE'] === 'sales_order' || order['ORDER_TYPE'] === 'invoice') &&
  order['DROP_SHIP'] !== 'Y' &&
  !isCancelled(order);

/**
 * Returns the stock that one line holds. A sales order commits QUANTITY, and an invoice has removed NUMBER_SHIPPED from
 * the units on hand. A care plan holds none.
 */
function heldStock(order: Values, line: Values): { onHand: string; committed: string } {
  const stage = line['CARE_PLAN'] === 'Y' ? '' : order['ORDER_TYPE'];
  return {
    onHand: stage === 'invoice' ? subtractDecimals('0', line['NUMBER_SHIPPED'] ?? '') : '0',
    committed: stage === 'sales_order' ? addDecimals('0', line['QUANTITY'] ?? '') : '0',
  };
}

/** Returns the movements between two states of an order. After a partial invoice the second state is two orders. */
export function stockMovements(before: OrderState, ...after: OrderState[]): StockMovement[] {
  const parts = new Map<string, { onHand: string; committed: string }>();
  const tally = ([order, lines]: OrderState, combine: (a: string, b: string) => string): void => {
    if (!holdsStock(order)) return;
    for (const line of lines) {
      const code = line['PART_CODE'] ?? '';
      const sum = parts.get(code) ?? { onHand: '0', committed: '0' };
      const held = heldStock(order, line);
      parts.set(code, { onHand: combine(sum.onHand, held.onHand), committed: combine(sum.committed, held.committed) });
    }
  };
  tally(before, subtractDecimals);
  for (const state of after) tally(state, addDecimals);
  return [...parts]
    .map(([PART_CODE, sums]) => ({ PART_CODE, ...sums }))
    .filter(({ PART_CODE, onHand, committed }) => PART_CODE !== '' && !(isZero(onHand) && isZero(committed)));
}

/** Returns the movements of an order that starts to hold the stock of its lines (`isHeld`) or stops holding it. */
export function commitUnits(units: readonly LineUnits[], isHeld: boolean): StockMovement[] {
  const sums = new Map<string, string>();
  const combine = isHeld ? addDecimals : subtractDecimals;
  for (const [part, quantity, lines] of units)
    if (part !== '') sums.set(part, combine(sums.get(part) ?? '0', multiplyDecimals(quantity, String(lines))));
  return [...sums]
    .filter(([, committed]) => !isZero(committed))
    .map(([PART_CODE, committed]) => ({ PART_CODE, onHand: '0', committed }));
}

/** Returns the quantities of a part after a movement. */
export const applyMovement = (part: Values, { onHand, committed }: StockMovement): Values =>
  countStock(addDecimals(part['QTY_ONHAND'] ?? '', onHand), addDecimals(part['QTY_COMMITTED'] ?? '', committed));

/** Returns the quantities of a part with these units on hand and these committed to sales orders. */
export const countStock = (QTY_ONHAND: string, QTY_COMMITTED: string): Values => ({
  QTY_ONHAND,
  QTY_COMMITTED,
  QTY_AVAILABLE: subtractDecimals(QTY_ONHAND, QTY_COMMITTED),
});
