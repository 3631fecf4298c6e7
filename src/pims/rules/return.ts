/**
 * Rules of a return: the units and serial numbers that come back of an invoice, and the totals. Source: decision 0010.
 */
import { Refusal, refuseField, startOf, type Outcome } from '../../errors.ts';
import { addDecimals, compareDecimals, isZero, parseDecimal, roundCents, subtractDecimals, within } from './decimal.ts';
import { ADDRESS_FIELDS } from './fields.ts';
import { refuseQuantity, type NamedLines } from './invoice.ts';
import { splitList } from './lists.ts';
import { nameStage, refuseCancelled, refuseStage } from './order.ts';
import { RETURNED_LINES_MAX } from './record-bounds.ts';
import { isCancelled } from './stages.ts';
import { refuseSerialsOf, UNSTOCKED_MARK } from './stock.ts';
import { shareTotals } from './totals.ts';
import { complete, type Values } from './values.ts';

/** The fields that a return has from its invoice, and its lines from the invoiced lines. */
const OF_INVOICE = [
  'CUSTOMER_CODE',
  'LOCATION_CODE',
  'SALESPERSON_CODE',
  'TERMS_CODE',
  'DROP_SHIP',
  'REFERENCE_NUMBER',
];
const OF_LINE = ['LINE_NUMBER', 'PART_CODE', 'DESCRIPTION', 'UNIT_PRICE', 'DISCOUNT', 'CARE_PLAN'];
const TOTALS = ['SUBTOTAL', 'TAX_TOTAL', 'ORDER_TOTAL'];

/**
 * Returns the return of some units of an invoice, and its lines, which have the LINE_NUMBERs of the invoiced lines and
 * negative quantities. `earlier` are the lines of its other returns (see `returnedLines`).
 */
export function returnOrder(
  invoice: Values,
  lines: readonly Values[],
  earlier: readonly Values[],
  named: NamedLines,
): Outcome<{ order: Values; lines: Values[] }> {
  if (isCancelled(invoice)) return refuseCancelled(invoice);
  if (invoice['ORDER_TYPE'] !== 'invoice' || invoice['RETURN_OF'])
    return refuseStage(invoice, `is ${nameStage(invoice)}. Only an invoice can be returned`);
  const earlierOf = Map.groupBy(earlier, (line) => line['LINE_NUMBER']);
  const [kept, returned, rest, unstocked]: [Values[], Values[], Values[], string[]] = [[], [], [], []];
  for (const line of lines) {
    const before = earlierOf.get(line['LINE_NUMBER']) ?? [];
    const asked = named.get(line['LINE_REF_LOCK_CODE']!) ?? { QUANTITY: '0' };
    const split = splitReturned(line, before, asked);
    if (split instanceof Refusal) return split;
    kept.push(split.kept);
    if (!isZero(split.rest['QUANTITY'])) rest.push(split.rest);
    if (isZero(split.returned['QUANTITY'])) continue;
    returned.push(split.returned);
    if (asked['RESTOCK'] === 'N') unstocked.push(line['LINE_NUMBER']!);
  }
  if (returned.length === 0)
    return refuseQuantity('Every quantity is 0, so nothing would be returned. Return at least one unit.');
  if (earlier.length + returned.length > RETURNED_LINES_MAX) {
    const message = `The returns of order ${invoice['ORDER_NUMBER']} would have more than ${RETURNED_LINES_MAX} lines, the maximum.`;
    return refuseField('TOO_MANY_LINES', 'ORDER_NUMBER', message);
  }
  const left = totalsLeft(invoice, earlier);
  const [own] = rest.length === 0 ? [left] : shareTotals(left, kept, returned, rest);
  const totals = TOTALS.map((name) => [name, own[name] && roundCents(negate(own[name]))] as const);
  const order = {
    ...complete([...OF_INVOICE, ...ADDRESS_FIELDS], invoice),
    ...Object.fromEntries(totals),
    FREIGHT: '0',
    ORDER_TYPE: 'invoice',
    RETURN_OF: invoice['ORDER_NUMBER']!,
    [UNSTOCKED_MARK]: unstocked.join(','),
  };
  return { order, lines: returned.map(negateLine) };
}

const negate = (amount: string): string => subtractDecimals('0', amount);
const negateLine = ({ QUANTITY = '', SERIAL_NUMBERS = '', ...line }: Values): Values => ({
  ...complete(OF_LINE, line),
  QUANTITY: negate(QUANTITY),
  NUMBER_SHIPPED: negate(QUANTITY),
  SERIAL_NUMBERS,
});

/** Splits an invoiced line into its units that were not returned before (`kept`), those that are now, and the rest. */
function splitReturned(line: Values, before: readonly Values[], asked: Values) {
  const units = before.map((one) => one['QUANTITY']!).reduce(addDecimals, line['QUANTITY'] || '0');
  // A line with a negative quantity is a return already.
  const most = compareDecimals(units, '0') > 0 ? units : '0';
  const quantity = parseDecimal(asked['QUANTITY']!);
  if (quantity === undefined || !within(quantity, most))
    return refuseQuantity(
      `Line ${line['LINE_NUMBER']} has ${most} units left to return, not '${startOf(asked['QUANTITY']!)}'. Send 0 to ${most}.`,
    );
  const serials = splitList(asked['SERIAL_NUMBERS'] ?? '');
  const sold = new Set(splitList(line['SERIAL_NUMBERS'] ?? ''));
  for (const serial of before.flatMap((one) => splitList(one['SERIAL_NUMBERS']!))) sold.delete(serial);
  const odd = serials.find((serial) => !sold.has(serial));
  if (odd !== undefined)
    return refuseField(
      'SERIALS_NOT_ALLOWED',
      'SERIAL_NUMBERS',
      `The serial number '${startOf(odd)}' is not sold on line ${line['LINE_NUMBER']}, or is already returned.`,
    );
  return (
    refuseSerialsOf({}, quantity, serials) ?? {
      kept: { ...line, QUANTITY: units },
      returned: { ...line, QUANTITY: quantity, SERIAL_NUMBERS: serials.join(',') },
      rest: { ...line, QUANTITY: subtractDecimals(units, quantity) },
    }
  );
}

/** Returns the invoice without FREIGHT and with the totals that its earlier returns have left. */
function totalsLeft(invoice: Values, earlier: readonly Values[]): Values {
  const left: Values = { ...invoice, FREIGHT: '0' };
  if (left['ORDER_TOTAL']) left['ORDER_TOTAL'] = subtractDecimals(left['ORDER_TOTAL'], invoice['FREIGHT'] ?? '');
  for (const order of new Map(earlier.map((line) => [line['ORDER_NUMBER'], line])).values())
    for (const name of TOTALS) if (left[name]) left[name] = addDecimals(left[name], order[name]!);
  return left;
}
