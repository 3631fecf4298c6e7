/**
 * SUBTOTAL and ORDER_TOTAL of an order, kept from its lines unless the caller has sent them. Exact: nothing is rounded.
 * Source: decision 0049.
 */
import { addDecimals, multiplyDecimals, subtractDecimals } from './decimal.ts';
import type { Values } from './values.ts';

/**
 * Beside the fields of an order: 'S' when PIMS keeps its SUBTOTAL, 'T' its ORDER_TOTAL, 'ST' both, '' neither. In lower
 * case when lines were written by a node that does not know it: then the next write of a line sums them all up.
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

/** The totals of an order with all these lines. None where there are no lines, or PIMS keeps none. */
export const sumUp = (order: Values, lines: readonly Values[]): Values =>
  lines.length === 0 ? {} : withSubtotal(order, lines, lines.map(amountOf).reduce(addDecimals));

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
  const total = keeps(mark, 'T') && order['ORDER_TOTAL'] ? { ORDER_TOTAL: addUp(changed) } : {};
  return { ...changed, ...total, [TOTALS_MARK]: mark };
}

/** Of a backorder PIMS keeps what it kept of its order, if that was the sum of the lines. */
export const markBackorder = ({ [TOTALS_MARK]: mark = '' }: Values): Values => ({
  [TOTALS_MARK]: keeps(mark, 'S') ? mark : '',
});

/** `lines`: those that the subtotal is of, or that have moved it. */
function withSubtotal(order: Values, lines: readonly Values[], subtotal: string): Values {
  const mark = (order[TOTALS_MARK] ?? '').toUpperCase();
  if (mark === '') return {};
  const totals: Values = { [TOTALS_MARK]: mark };
  if (keeps(mark, 'S') && !order['SUBTOTAL'] && lines.every((line) => !line['UNIT_PRICE'])) return totals;
  if (keeps(mark, 'S')) totals['SUBTOTAL'] = subtotal;
  if (keeps(mark, 'T')) totals['ORDER_TOTAL'] = addUp({ ...order, ...totals });
  return totals;
}

const keeps = (mark: string, which: 'S' | 'T'): boolean => mark.toUpperCase().includes(which);
const addUp = ({ SUBTOTAL = '', FREIGHT = '', TAX_TOTAL = '' }: Values): string =>
  addDecimals(addDecimals(SUBTOTAL, FREIGHT), TAX_TOTAL);
