/** The totals of an order, and a warning if they do not add up. */
import { compareDecimals, subtractDecimals } from '../../../../src/pims/rules/decimal.ts';
import { addUp, sumLines } from '../../../../src/pims/rules/totals.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { Notice } from '../../ui/page.tsx';
import { formatMoney, Money } from '../../ui/text/text.tsx';

const ROWS: readonly (readonly [field: string, label: string])[] = [
  ['SUBTOTAL', 'Subtotal'],
  ['FREIGHT', 'Freight'],
  ['TAX_TOTAL', 'Tax'],
  ['ORDER_TOTAL', 'Total'],
];
export const TOTALS: readonly string[] = ROWS.map(([field]) => field);

/** The label of the sum that is shown for an order without totals. */
export const SUM = 'Sum of the lines';
const sumOf = (lines: readonly Values[]): string => (lines.some((line) => line.UNIT_PRICE) ? sumLines(lines) : '');

/** Returns the total of an order, or the sum of its lines if it has none, or '' if they have no prices. */
export const totalOf = ({ ORDER_TOTAL }: Values, lines: readonly Values[]): string => ORDER_TOTAL || sumOf(lines);

/** Example: `<OrderTotals order={values} lines={lines} />`. */
export function OrderTotals({ order, lines }: { order: Values; lines: readonly Values[] }) {
  const shown: Values = { ...order, SUBTOTAL: order.SUBTOTAL || sumOf(lines) };
  const rows = ROWS.filter(([field]) => shown[field]);
  const faults = findFaults(order, lines);
  return (
    <>
      {faults.length > 0 && (
        <Notice tone="warn" title="The totals do not match the lines">
          {faults.join(' ')} Totals that were sent with an order stay as they were sent.
        </Notice>
      )}
      {rows.length > 0 && (
        <dl class="totals">
          {rows.map(([field, label]) => (
            <div key={field} class={field === 'ORDER_TOTAL' ? 'total' : undefined}>
              <dt title={field}>{field === 'SUBTOTAL' && !order.SUBTOTAL ? SUM : label}</dt>
              <dd>
                <Money value={shown[field] ?? ''} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </>
  );
}

function findFaults(order: Values, lines: readonly Values[]): string[] {
  const { SUBTOTAL = '', ORDER_TOTAL = '' } = order;
  const faults: string[] = [];
  const sum = sumLines(lines);
  const hasPrices = lines.length > 0 && lines.every((line) => line.UNIT_PRICE);
  if (SUBTOTAL !== '' && hasPrices && !isNear(sum, SUBTOTAL, lines.length))
    faults.push(`The lines add up to ${formatMoney(sum)}, and the subtotal is ${formatMoney(SUBTOTAL)}.`);
  const whole = addUp(order);
  if (ORDER_TOTAL !== '' && SUBTOTAL !== '' && !isNear(whole, ORDER_TOTAL, 1))
    faults.push(
      `Subtotal, freight and tax add up to ${formatMoney(whole)}, and the total is ${formatMoney(ORDER_TOTAL)}.`,
    );
  return faults;
}

/** Returns whether two amounts differ at most by rounding: a cent for each line. */
function isNear(one: string, other: string, cents: number): boolean {
  const difference = subtractDecimals(one, other).replace('-', '');
  return compareDecimals(difference, String(cents / 100)) <= 0;
}
