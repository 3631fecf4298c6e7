/** The model's second implementation of totals (decision 0065): sums up all lines with every write. */
import Big from 'big.js';
import type { Values } from '../../src/pims/rules/values.ts';
import { rememberMap } from './batches.ts';

type OrderAndLines = readonly [order: Values, lines: readonly Values[]];

const NAMES = ['SUBTOTAL', 'ORDER_TOTAL'];
const big = (text: string | undefined): Big => new Big(text === '' || text === undefined ? 0 : text);
const show = (sum: Big): string => (sum.eq(0) ? '0' : sum.toFixed());
const add = (amounts: readonly Big[]): Big => amounts.reduce((sum, one) => sum.plus(one), big('0'));
const isPriced = (line: Values): boolean => (line['UNIT_PRICE'] ?? '') !== '';
const inCents = (amount: Big): Big => amount.round(2, Big.roundHalfUp);
const amountOf = ({ QUANTITY, UNIT_PRICE, DISCOUNT }: Values): Big =>
  inCents(
    big(QUANTITY)
      .times(big(UNIT_PRICE))
      .times(big('1').minus(big(DISCOUNT).times('0.01'))),
  );
const addUp = ({ SUBTOTAL, FREIGHT, TAX_TOTAL }: Values): Big => inCents(add([SUBTOTAL, FREIGHT, TAX_TOTAL].map(big)));

export class Totals {
  /** The totals that PIMS calculates, by order. */
  readonly #kept = new Map<string, string[]>();
  /** The difference between SUBTOTAL and the sum of the lines, by backorder. A partial invoice leaves it. */
  readonly #beside = new Map<string, string>();

  remember(): () => void {
    const undo = [rememberMap(this.#kept), rememberMap(this.#beside)];
    return () => {
      for (const bringBack of undo) bringBack();
    };
  }

  begin(orderNumber: string, sent: Values): void {
    this.#kept.set(
      orderNumber,
      NAMES.filter((name) => sent[name] === undefined),
    );
  }

  /** Notes which totals a caller has set by a change of an order. */
  take(order: Values, change: Values): void {
    const isTaken = (name: string): boolean => change[name] !== undefined && change[name] !== order[name];
    const number = order['ORDER_NUMBER']!;
    this.#kept.set(
      number,
      this.#names(number).filter((name) => !isTaken(name)),
    );
  }

  /** Shares the totals of an order between a partial invoice and its backorder. */
  split([before, lines]: OrderAndLines, [invoice, invoiced]: OrderAndLines, [backorder, open]: OrderAndLines): void {
    const [all, mine, theirs] = [lines, invoiced, open].map((some) => add(some.map(amountOf)));
    const isSum = before['SUBTOTAL'] !== '' && lines.every(isPriced) && big(before['SUBTOTAL']).eq(all!);
    const whole = isSum ? all! : mine!.plus(theirs!);
    const part = (total: Big): Big => (whole.eq(0) ? total : inCents(total.times(mine!).div(whole)));
    const give = (name: string, total: Big): void => {
      const had = before[name] ?? '';
      invoice[name] = had && show(total);
      backorder[name] = whole.eq(0) && !open.some(isPriced) ? '' : had && show(inCents(big(had).minus(total)));
    };
    give('SUBTOTAL', isSum ? mine! : part(big(before['SUBTOTAL'])));
    give('TAX_TOTAL', part(big(before['TAX_TOTAL'])));
    give('FREIGHT', big(before['FREIGHT']));
    backorder['FREIGHT'] = '';
    give('ORDER_TOTAL', addUp(invoice).plus(part(big(before['ORDER_TOTAL']).minus(addUp(before)))));
    const number = backorder['ORDER_NUMBER']!;
    this.#kept.set(number, this.#names(before['ORDER_NUMBER']!));
    this.#beside.set(number, show(big(backorder['SUBTOTAL']).minus(add(open.map(amountOf)))));
  }

  sum(order: Values, lines: readonly Values[]): void {
    if (lines.length === 0 || order['ORDER_TYPE'] === 'invoice') return;
    const number = order['ORDER_NUMBER']!;
    const names = this.#names(number);
    if (names.includes('SUBTOTAL') && (order['SUBTOTAL'] ?? '') === '' && !lines.some(isPriced)) return;
    if (names.includes('SUBTOTAL'))
      order['SUBTOTAL'] = show(add(lines.map(amountOf)).plus(big(this.#beside.get(number))));
    if (names.includes('ORDER_TOTAL')) order['ORDER_TOTAL'] = show(addUp(order));
  }

  #names = (orderNumber: string): string[] => this.#kept.get(orderNumber) ?? [];
}
