/**
 * SUBTOTAL and ORDER_TOTAL of an order, kept from its lines unless the caller has sent them: exact, nothing is rounded.
 * And how a partial invoice shares the totals. Source: decision 0065.
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
 * Beside the fields of an order: 'S' when PIMS keeps its SUBTOTAL, 'T' its ORDER_TOTAL, 'ST' both, '' neither. In lower
 * case when lines were written by a node that does not know it: then the next write of a line sums them all up. 'P' when
 * SUBTOTAL is a share that is not the sum of the lines to the last digit; it still moves with them.
 */
export const TOTALS_MARK = '_TOTALS';
/** The fields of an order that its totals depend on. */
export const TOTALS_FIELDS = ['SUBTOTAL', 'FREIGHT', 'TAX_TOTAL', 'ORDER_TOTAL', TOTALS_MARK];

/** What of a new order PIMS keeps: what was not sent. The totals are empty until the first line with a price. */
export const markTotals = (sent: Values): Values => ({
  [TOTALS_MARK]: `${sent['SUBTOTAL'] === undefined ? 'S' : ''}${sent['ORDER_TOTAL'] === undefined ? 'T' : ''}`,
});

/** Whether the totals of the order are behind its lines. */
export const areTotalsBehind = ({ [TOTALS_MARK]: mark = '' }: Values): boolean => mark !== mark.toUpperCase();

/** What a line adds to SUBTOTAL: QUANTITY × UNIT_PRICE less DISCOUNT, a percentage. */
function amountOf({ QUANTITY = '', UNIT_PRICE = '', DISCOUNT = '' }: Values): string {
  const amount = multiplyDecimals(QUANTITY, UNIT_PRICE);
  if (DISCOUNT === '' || DISCOUNT === '0') return amount;
  return multiplyDecimals(amount, multiplyDecimals(subtractDecimals('100', DISCOUNT), '0.01'));
}

const sumExactly = (lines: readonly Values[]): string => lines.map(amountOf).reduce(addDecimals, '0');

/** The totals of an order with all these lines. None where there are no lines, or PIMS keeps none. */
export const sumUp = (order: Values, lines: readonly Values[]): Values =>
  lines.length === 0 ? {} : withSubtotal(order, lines, keeps(order, 'P') ? order['SUBTOTAL']! : sumExactly(lines));

/** The totals of an order once a line of it has become another. A new line was undefined before. */
export function moveTotals(order: Values, before: Values | undefined, after: Values): Values {
  if (!order[TOTALS_MARK]) return {};
  const moved = before ? subtractDecimals(amountOf(after), amountOf(before)) : amountOf(after);
  return withSubtotal(order, [after], addDecimals(order['SUBTOTAL'] ?? '', moved));
}

/** The order as a caller has changed it: a total that is sent with another value is the caller's from then on. */
export function takeTotals(order: Values, changed: Values): Values {
  const isTaken = (name: string): boolean => changed[name] !== order[name];
  let mark = order[TOTALS_MARK] ?? '';
  if (isTaken('SUBTOTAL')) mark = mark.replace(/s/i, '');
  if (isTaken('ORDER_TOTAL')) mark = mark.replace(/t/i, '');
  // Empty until the first line with a price.
  const total = keeps({ [TOTALS_MARK]: mark }, 'T') && order['ORDER_TOTAL'] ? { ORDER_TOTAL: addUp(changed) } : {};
  return { ...changed, ...total, [TOTALS_MARK]: mark };
}

/**
 * The totals of the invoice and the backorder that a partial invoice makes of an order. Nothing appears and nothing is
 * lost: SUBTOTAL, TAX_TOTAL and ORDER_TOTAL of both add up to those of the order. Each follows the prices of its lines,
 * FREIGHT stays with the invoice, and so does everything where no line has a price; a remainder of rounding goes to the
 * backorder. Example: an order of 3 × 999 with a TAX_TOTAL of 100, one unit invoiced, gives 999 and 1998, 33.33 and
 * 66.67. Source: additions, section 8.
 */
export function shareTotals(
  order: Values,
  lines: readonly Values[],
  invoiced: readonly Values[],
  open: readonly Values[],
): [invoice: Values, backorder: Values] {
  const { SUBTOTAL = '', FREIGHT = '', TAX_TOTAL = '', ORDER_TOTAL = '' } = order;
  const part = sumCents(invoiced);
  const isSum =
    SUBTOTAL !== '' && lines.every((line) => line['UNIT_PRICE']) && compareDecimals(SUBTOTAL, sumCents(lines)) === 0;
  const whole = isSum ? SUBTOTAL : addDecimals(part, sumCents(open));
  const share = (total: string): string => (total === '' || isZero(whole) ? total : takeShare(total, part, whole));
  const own = { SUBTOTAL: isSum ? part : share(SUBTOTAL), TAX_TOTAL: share(TAX_TOTAL), FREIGHT };
  // What a caller's ORDER_TOTAL has beside the other three, such as a discount, is shared like them.
  const beside = ORDER_TOTAL && subtractDecimals(ORDER_TOTAL, addUp(order));
  const invoice: Values = { ...own, ORDER_TOTAL: ORDER_TOTAL && addDecimals(addUp(own), share(beside)) };
  const rest: Values = { FREIGHT: '', [TOTALS_MARK]: (order[TOTALS_MARK] ?? '').replace('P', '') };
  for (const name of ['SUBTOTAL', 'TAX_TOTAL', 'ORDER_TOTAL'])
    rest[name] = order[name] && !isZero(whole) ? subtractDecimals(order[name], invoice[name]!) : '';
  if (keeps(rest, 'S') && compareDecimals(rest['SUBTOTAL']!, sumExactly(open)) !== 0) rest[TOTALS_MARK] += 'P';
  return [invoice, rest];
}

const sumCents = (lines: readonly Values[]): string =>
  lines.map((line) => roundCents(amountOf(line))).reduce(addDecimals, '0');

/** `lines`: those that the subtotal is of, or that have moved it. The totals of an invoice never move. */
function withSubtotal(order: Values, lines: readonly Values[], subtotal: string): Values {
  const mark = (order[TOTALS_MARK] ?? '').toUpperCase();
  if (mark === '' || order['ORDER_TYPE'] === 'invoice') return {};
  const totals: Values = { [TOTALS_MARK]: mark };
  if (keeps(order, 'S') && !order['SUBTOTAL'] && lines.every((line) => !line['UNIT_PRICE'])) return totals;
  if (keeps(order, 'S')) totals['SUBTOTAL'] = subtotal;
  if (keeps(order, 'T')) totals['ORDER_TOTAL'] = addUp({ ...order, ...totals });
  return totals;
}

const keeps = ({ [TOTALS_MARK]: mark = '' }: Values, which: 'S' | 'T' | 'P'): boolean =>
  mark.toUpperCase().includes(which);
const addUp = ({ SUBTOTAL = '', FREIGHT = '', TAX_TOTAL = '' }: Values): string =>
  addDecimals(addDecimals(SUBTOTAL, FREIGHT), TAX_TOTAL);
