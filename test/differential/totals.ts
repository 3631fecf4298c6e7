/** SUBTOTAL and ORDER_TOTAL of orders, summed up from all lines with every write: decision 0049, written again. */
import Big from 'big.js';
import type { Values } from '../../src/pims/values.ts';
import { rememberMap } from './batches.ts';

const NAMES = ['SUBTOTAL', 'ORDER_TOTAL'];
const big = (text: string | undefined): Big => new Big(text === '' || text === undefined ? 0 : text);
const show = (sum: Big): string => (sum.eq(0) ? '0' : sum.toFixed());

export class Totals {
  /** The names that are summed up, by order. */
  readonly #kept = new Map<string, string[]>();

  remember = (): (() => void) => rememberMap(this.#kept);

  begin(orderNumber: string, sent: Values): void {
    this.#kept.set(
      orderNumber,
      NAMES.filter((name) => sent[name] === undefined),
    );
  }

  /** A caller changes an order. */
  take(order: Values, change: Values): void {
    const isTaken = (name: string): boolean => change[name] !== undefined && change[name] !== order[name];
    const number = order['ORDER_NUMBER']!;
    this.#kept.set(
      number,
      this.#names(number).filter((name) => !isTaken(name)),
    );
  }

  split(orderNumber: string, backorder: string): void {
    const names = this.#names(orderNumber);
    this.#kept.set(backorder, names.includes('SUBTOTAL') ? names : []);
  }

  sum(order: Values, lines: readonly Values[]): void {
    if (lines.length === 0) return;
    const names = this.#names(order['ORDER_NUMBER']!);
    const isPriced = lines.some((line) => (line['UNIT_PRICE'] ?? '') !== '');
    if (names.includes('SUBTOTAL') && (order['SUBTOTAL'] ?? '') === '' && !isPriced) return;
    const amount = ({ QUANTITY, UNIT_PRICE, DISCOUNT }: Values): Big =>
      big(QUANTITY)
        .times(big(UNIT_PRICE))
        .times(big('1').minus(big(DISCOUNT).times('0.01')));
    if (names.includes('SUBTOTAL'))
      order['SUBTOTAL'] = show(lines.map(amount).reduce((sum, one) => sum.plus(one), big('0')));
    const { SUBTOTAL, FREIGHT, TAX_TOTAL } = order;
    if (names.includes('ORDER_TOTAL'))
      order['ORDER_TOTAL'] = show(big(SUBTOTAL).plus(big(FREIGHT)).plus(big(TAX_TOTAL)));
  }

  #names = (orderNumber: string): string[] => this.#kept.get(orderNumber) ?? [];
}
