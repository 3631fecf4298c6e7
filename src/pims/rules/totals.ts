/**
 * SUBTOTAL and ORDER_TOTAL of an order, which PIMS computes in cents from the lines unless the caller has sent them,
 * and the shares of a partial invoice and its backorder. Source: decision 0065.
 */
import {
  addDecimals,
  compareDecimals,
  isZero,
  multiplyDecimals,
  roundCents,
  subtractDecimals,
  takeShare,
} from './decimal.ts';
import type { Values } from './values.ts';

/**
 * Column of an order that has an 'S' if PIMS computes its SUBTOTAL, and a 'T' if PIMS computes its ORDER_TOTAL. A
 * 'P' means that SUBTOTAL is a share that differs from the sum of the lines. It still changes with the lines.
 */
export const TOTALS_MARK = '_TOTALS';
export const TOTALS_FIELDS = ['SUBTOTAL', 'FREIGHT', 'TAX_TOTAL', 'ORDER_TOTAL', TOTALS_MARK];

/** Marks the totals of a new order that were not sent, for PIMS to compute. They are empty until a line has a price. */
export const markTotals = (sent: Values): Values => ({
  [TOTALS_MARK]: `${sent['SUBTOTAL'] === undefined ? 'S' : ''}${sent['ORDER_TOTAL'] === undefined ? 'T' : ''}`,
});

/**
 * Returns the amount of a line in SUBTOTAL: QUANTITY × UNIT_PRICE less DISCOUNT percent, rounded to cents. For 2.5
 * units at 3.99 it returns `'9.98'`.
 */
export function amountOf({ QUANTITY = '', UNIT_PRICE = '', DISCOUNT = '' }: Values): string {
  const amount = multiplyDecimals(QUANTITY, UNIT_PRICE);
  if (DISCOUNT === '' || DISCOUNT === '0') return roundCents(amount);
  return roundCents(multiplyDecimals(amount, multiplyDecimals(subtractDecimals('100', DISCOUNT), '0.01')));
}

export const sumLines = (lines: readonly Values[]): string => lines.map(amountOf).reduce(addDecimals, '0');

/** Returns the totals of an order with all these lines, or {} if there are no lines or PIMS computes no total. */
export const sumUp = (order: Values, lines: readonly Values[]): Values =>
  lines.length === 0 ? {} : withSubtotal(order, lines, keeps(order, 'P') ? order['SUBTOTAL']! : sumLines(lines));

/** Returns the totals of an order after the change of one line. `before` is undefined for a new line. */
export function moveTotals(order: Values, before: Values | undefined, after: Values): Values {
  if (!order[TOTALS_MARK]) return {};
  const moved = before ? subtractDecimals(amountOf(after), amountOf(before)) : amountOf(after);
  return withSubtotal(order, [after], addDecimals(order['SUBTOTAL'] ?? '', moved));
}

/** Returns a changed order with its totals and its mark. PIMS stops computing a total when a caller changes it. */
export function takeTotals(order: Values, changed: Values): Values {
  const isTaken = (name: string) => changed[name] !== order[name];
  let mark = order[TOTALS_MARK] ?? '';
  if (isTaken('SUBTOTAL')) mark = mark.replace('S', '');
  if (isTaken('ORDER_TOTAL')) mark = mark.replace('T', '');
  // ORDER_TOTAL is empty until a line has a price.
  const total = mark.includes('T') && order['ORDER_TOTAL'] ? { ORDER_TOTAL: addUp(changed) } : {};
  return { ...changed, ...total, [TOTALS_MARK]: mark };
}

/**
 * Returns the totals of the invoice and the backorder into which a partial invoice splits an order. SUBTOTAL, TAX_TOTAL
 * and ORDER_TOTAL of the two add up to those of the order, to the cent. They are shared in proportion to the amounts of
 * the lines, and the backorder gets the remainder of rounding. FREIGHT stays on the invoice. All totals do if they
 * cannot be shared, because the lines have no price or add up to 0. Example: if one unit of an order of 3 × 999 with a
 * TAX_TOTAL of 100 is invoiced, the SUBTOTALs are 999 and 1998 and the TAX_TOTALs are 33.33 and 66.67.
 */
export function shareTotals(
  order: Values,
  lines: readonly Values[],
  invoiced: readonly Values[],
  open: readonly Values[],
): [invoice: Values, backorder: Values] {
  const { SUBTOTAL = '', FREIGHT = '', TAX_TOTAL = '', ORDER_TOTAL = '' } = order;
  const part = sumLines(invoiced);
  const isSum =
    SUBTOTAL !== '' && lines.every((line) => line['UNIT_PRICE']) && compareDecimals(SUBTOTAL, sumLines(lines)) === 0;
  const whole = isSum ? SUBTOTAL : addDecimals(part, sumLines(open));
  const share = (total: string) => (total === '' || isZero(whole) ? total : takeShare(total, part, whole));
  const own = { SUBTOTAL: isSum ? part : share(SUBTOTAL), TAX_TOTAL: share(TAX_TOTAL), FREIGHT };
  // A caller's ORDER_TOTAL may differ from the sum of the other three, for a discount. The difference is shared too.
  const beside = ORDER_TOTAL && subtractDecimals(ORDER_TOTAL, addUp(order));
  const invoice: Values = { ...own, ORDER_TOTAL: ORDER_TOTAL && addDecimals(addUp(own), share(beside)) };
  const rest: Values = { FREIGHT: '', [TOTALS_MARK]: (order[TOTALS_MARK] ?? '').replace('P', '') };
  const isUnpriced = isZero(whole) && open.every((line) => !line['UNIT_PRICE']);
  for (const name of ['SUBTOTAL', 'TAX_TOTAL', 'ORDER_TOTAL'])
    rest[name] = order[name] && !isUnpriced ? roundCents(subtractDecimals(order[name], invoice[name]!)) : '';
  if (keeps(rest, 'S') && compareDecimals(rest['SUBTOTAL']!, sumLines(open)) !== 0) rest[TOTALS_MARK] += 'P';
  return [invoice, rest];
}

/**
 * Returns the totals of an order with this SUBTOTAL, or {} if PIMS computes none, or for an invoice, whose totals never
 * change. `lines` are the lines that SUBTOTAL is the sum of, or the line that has changed it.
 */
function withSubtotal(order: Values, lines: readonly Values[], subtotal: string): Values {
  if (!order[TOTALS_MARK] || order['ORDER_TYPE'] === 'invoice') return {};
  const totals: Values = {};
  if (keeps(order, 'S') && !order['SUBTOTAL'] && lines.every((line) => !line['UNIT_PRICE'])) return totals;
  if (keeps(order, 'S')) totals['SUBTOTAL'] = subtotal;
  if (keeps(order, 'T')) totals['ORDER_TOTAL'] = addUp({ ...order, ...totals });
  return totals;
}

const keeps = ({ [TOTALS_MARK]: mark = '' }: Values, which: 'S' | 'T' | 'P') => mark.includes(which);
/** Returns the sum of SUBTOTAL, FREIGHT and TAX_TOTAL, rounded to cents, because a caller can send more decimals. */
export const addUp = ({ SUBTOTAL = '', FREIGHT = '', TAX_TOTAL = '' }: Values): string =>
  roundCents(addDecimals(addDecimals(SUBTOTAL, FREIGHT), TAX_TOTAL));
