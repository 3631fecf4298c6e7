/**
 * The stock that an order holds, and the stock movements that result from a change of the order. QTY_AVAILABLE is
 * QTY_ONHAND − QTY_COMMITTED. Source: decision 0010.
 */
import { Refusal, refuseField, startOf, type Outcome } from '../../errors.ts';
import { addDecimals, compareDecimals, isZero, multiplyDecimals, parseDecimal, subtractDecimals } from './decimal.ts';
import { isCancelled } from './stages.ts';
import type { Values } from './values.ts';

/** The change of one part's stock, as signed decimals. */
export interface StockMovement {
  readonly PART_CODE: string;
  readonly onHand: string;
  readonly committed: string;
}

/** A part, a QUANTITY, and how many lines of an order have both. */
export type LineUnits = readonly [partCode: string, quantity: string, lines: number];

type OrderState = readonly [order: Values, lines: readonly Values[]];

/** Returns whether an order holds stock. Worksheets, quotes, drop-shipped and cancelled orders hold none. */
export const holdsStock = (order: Values): boolean =>
  (order['ORDER_TYPE'] === 'sales_order' || order['ORDER_TYPE'] === 'invoice') &&
  order['DROP_SHIP'] !== 'Y' &&
  !isCancelled(order);

/** Column of a return with the LINE_NUMBERs of the lines whose units are not in stock again, separated by commas. */
export const UNSTOCKED_MARK = '_UNSTOCKED';
export const isUnstocked = ({ [UNSTOCKED_MARK]: mark }: Values, line: Values): boolean =>
  !!mark && mark.split(',').includes(line['LINE_NUMBER']!);

/**
 * Returns the stock that one line holds. A sales order commits QUANTITY, and an invoice has removed NUMBER_SHIPPED from
 * the units on hand; a return has added them. A care plan holds none.
 */
function heldStock(order: Values, line: Values): { onHand: string; committed: string } {
  const stage = line['CARE_PLAN'] === 'Y' || isUnstocked(order, line) ? '' : order['ORDER_TYPE'];
  return {
    onHand: stage === 'invoice' ? subtractDecimals('0', line['NUMBER_SHIPPED'] ?? '') : '0',
    committed: stage === 'sales_order' ? addDecimals('0', line['QUANTITY'] ?? '') : '0',
  };
}

/** Returns the movements between two states of an order. After a partial invoice the second state is two orders. */
export function stockMovements(before: OrderState, ...after: OrderState[]): StockMovement[] {
  const parts = new Map<string, { onHand: string; committed: string }>();
  const tally = ([order, lines]: OrderState, combine: (a: string, b: string) => string) => {
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

export const applyMovement = (part: Values, { onHand, committed }: StockMovement): Values =>
  countStock(addDecimals(part['QTY_ONHAND'] ?? '', onHand), addDecimals(part['QTY_COMMITTED'] ?? '', committed));

export const countStock = (QTY_ONHAND: string, QTY_COMMITTED: string): Values => ({
  QTY_ONHAND,
  QTY_COMMITTED,
  QTY_AVAILABLE: subtractDecimals(QTY_ONHAND, QTY_COMMITTED),
});

/** A change of the stock of a part by hand. */
export interface StockAction {
  readonly kind: 'received' | 'counted' | 'adjusted';
  /** Units received, units counted, or units to add or remove. */
  readonly quantity: string;
  /** Serial numbers of the units that were received or counted, or that an adjustment adds or removes. */
  readonly serials: readonly string[];
  readonly reason: string;
}

/**
 * Returns the part after a receipt, a count or an adjustment, and the units that were added. A receipt also reduces
 * QTY_ONORDER, down to 0. Refuses an invalid action with QUANTITY_NOT_ALLOWED, SERIALS_NOT_ALLOWED or MISSING_FIELD.
 */
export function applyAction(part: Values, { kind, quantity, serials, reason }: StockAction): Outcome<[Values, string]> {
  const units = parseDecimal(quantity);
  const rule = { received: 'more than 0', counted: '0 or more', adjusted: 'a number other than 0' }[kind];
  const sign = units === undefined ? NaN : compareDecimals(units, '0');
  if (units === undefined || !{ received: sign > 0, counted: sign >= 0, adjusted: sign !== 0 }[kind])
    return refuseField('QUANTITY_NOT_ALLOWED', 'QUANTITY', `QUANTITY must be ${rule}, not '${startOf(quantity)}'.`);
  if (kind === 'adjusted' && reason.trim() === '')
    return refuseField('MISSING_FIELD', 'REASON', "An adjustment needs a REASON, such as 'damaged in the store'.");
  const onHand = part['QTY_ONHAND'] ?? '';
  const moved = kind === 'counted' ? subtractDecimals(units, onHand) : units;
  const changed = countStock(addDecimals(onHand, moved), part['QTY_COMMITTED'] ?? '');
  const refusal = refuseSerialsOf(part, sign < 0 ? subtractDecimals('0', units) : units, serials);
  if (refusal) return refusal;
  if (kind !== 'received') return [changed, moved];
  const ordered = subtractDecimals(part['QTY_ONORDER'] ?? '', units);
  const isAwaited = !isZero(part['QTY_ONORDER'] ?? '');
  return [{ ...changed, ...(isAwaited && { QTY_ONORDER: compareDecimals(ordered, '0') > 0 ? ordered : '0' }) }, moved];
}

const SERIAL_CHARACTERS_MAX = 128;

/**
 * Refuses the serial numbers of moved units if one is given twice or is too long, or if there are more than units. The
 * units of a SERIALIZED part must be whole, and have one serial number each.
 */
export function refuseSerialsOf(part: Values, units: string, serials: readonly string[]): Refusal | undefined {
  const refuseStockSerials = (message: string) => refuseField('SERIALS_NOT_ALLOWED', 'SERIAL_NUMBERS', message);
  const seen = new Set<string>();
  const twice = serials.find((serial) => seen.size === seen.add(serial).size);
  if (twice !== undefined)
    return refuseStockSerials(`The serial number '${startOf(twice)}' is given twice. Each unit has its own.`);
  const long = serials.find((serial) => serial.length > SERIAL_CHARACTERS_MAX);
  if (long !== undefined)
    return refuseStockSerials(`A serial number can have at most ${SERIAL_CHARACTERS_MAX} characters.`);
  const code = part['PART_CODE'] ?? '';
  if (serials.length > 0 && compareDecimals(String(serials.length), units) > 0)
    return refuseStockSerials(
      `Send at most one serial number per unit, not ${serials.length} for a quantity of ${units}.`,
    );
  if (part['SERIALIZED'] !== 'Y' || isZero(units)) return undefined;
  if (units.includes('.'))
    return refuseStockSerials(`Part ${code} has serial numbers, so its quantity must be a whole number, not ${units}.`);
  if (compareDecimals(units, '0') > 0 && String(serials.length) !== units)
    return refuseStockSerials(
      `Part ${code} needs a serial number for each unit. Send ${units} of them, not ${serials.length}.`,
    );
  return undefined;
}
