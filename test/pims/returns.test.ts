/** Tests the totals of returns: in any parts, they add up to minus the totals of the invoice, to the cent. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { orThrow, Refusal } from '../../src/errors.ts';
import { addDecimals, compareDecimals, subtractDecimals } from '../../src/pims/rules/decimal.ts';
import { invoiceOrder } from '../../src/pims/rules/invoice.ts';
import { returnOrder } from '../../src/pims/rules/return.ts';
import { addUp, amountOf, markTotals, sumUp } from '../../src/pims/rules/totals.ts';
import type { Values } from '../../src/pims/rules/values.ts';
import { times } from '../kit/lists.ts';

const TOTALS = ['SUBTOTAL', 'TAX_TOTAL', 'ORDER_TOTAL'];
const cents = (most: number): fc.Arbitrary<string> => fc.integer({ min: 0, max: most }).map((n) => String(n / 100));
const LINE = fc.record({
  QUANTITY: fc.constantFrom('1', '2', '3', '7', '0.5', '2.25'),
  UNIT_PRICE: fc.oneof(cents(20_000), fc.constantFrom('0.335', '9.995', '0')),
  DISCOUNT: fc.constantFrom('', '10', '33'),
});
const SENT = fc.record(
  { FREIGHT: cents(5000), TAX_TOTAL: cents(50_000), ORDER_TOTAL: cents(90_000), SUBTOTAL: cents(90_000) },
  { requiredKeys: [] },
);

/** Invoices an order with these lines and totals. */
function sell(lines: readonly Values[], sent: Values): [Values, Values[]] {
  const fresh = {
    ORDER_NUMBER: '1',
    ORDER_TYPE: 'sales_order',
    TAX_TOTAL: '',
    FREIGHT: '',
    ...sent,
    ...markTotals(sent),
  };
  const named = lines.map((line, at) => ({ ...line, LINE_NUMBER: String(at + 1), LINE_REF_LOCK_CODE: String(at + 1) }));
  const { order, lines: sold } = orThrow(invoiceOrder({ ...fresh, ...sumUp(fresh, named) }, named, { fields: {} }));
  return [order, sold];
}

// Holds S18.4, S18.3.
test('the returns of an invoice, in any parts, add up to minus its totals without FREIGHT, to the cent', () => {
  const parts = fc.array(fc.array(fc.nat(3), { minLength: 5, maxLength: 5 }), { maxLength: 5 });
  fc.assert(
    fc.property(
      fc.array(LINE, { minLength: 1, maxLength: 5 }),
      SENT,
      parts,
      fc.nat(),
      (lines, sent, shares, undone) => {
        const [invoice, sold] = sell(lines, sent);
        let earlier: Values[] = [];
        const giveBack = (take: (left: string, at: number) => string): boolean => {
          const named = new Map<string, Values>();
          for (const [at, line] of sold.entries()) {
            const same = earlier.filter((one) => one['LINE_NUMBER'] === line['LINE_NUMBER']);
            const left = same.map((one) => one['QUANTITY']!).reduce(addDecimals, line['QUANTITY']!);
            named.set(line['LINE_REF_LOCK_CODE']!, { QUANTITY: take(left, at) });
          }
          const step = returnOrder(invoice, sold, earlier, named);
          if (step instanceof Refusal) return false;
          const ORDER_NUMBER = `R${earlier.length}`;
          assert.ok(
            TOTALS.every((name) => /^(-?\d+(\.\d\d?)?)?$/.test(step.order[name]!)),
            JSON.stringify(step.order),
          );
          earlier = [...earlier, ...step.lines.map((line) => ({ ...step.order, ...line, ORDER_NUMBER }))];
          return true;
        };
        for (const share of shares) {
          giveBack((left, at) =>
            share[at] === 3
              ? left
              : compareDecimals(left, '1') < 0
                ? '0'
                : String(Math.min(share[at]!, Number(left)) | 0),
          );
          // A void return is none.
          if (undone % 3 === 0)
            earlier = earlier.filter(({ ORDER_NUMBER }) => ORDER_NUMBER !== earlier[0]!['ORDER_NUMBER']);
        }
        giveBack((left) => left);
        assert.ok(!giveBack((left) => left), 'nothing is left');
        const returns = [...new Map(earlier.map((line) => [line['ORDER_NUMBER'], line])).values()];
        for (const name of TOTALS) {
          const sum = returns.map((order) => order[name]!).reduce(addDecimals, '0');
          const [kept, freight] = [invoice[name]!, name === 'ORDER_TOTAL' ? invoice['FREIGHT']! : ''];
          const wanted = kept === '' ? '0' : subtractDecimals(freight || '0', kept);
          assert.equal(sum, wanted, `${name} of ${JSON.stringify([invoice, returns])}`);
        }
      },
    ),
    { numRuns: 500 },
  );
});

// Holds S18.4.
test('a return has the totals of its lines if those of the invoice are the sum of its lines', () => {
  const [invoice, sold] = sell(
    [
      { QUANTITY: '3', UNIT_PRICE: '999' },
      { QUANTITY: '2.5', UNIT_PRICE: '3.99' },
    ],
    { TAX_TOTAL: '100', FREIGHT: '20' },
  );
  const step = orThrow(returnOrder(invoice, sold, [], new Map([['1', { QUANTITY: '1' }]])));
  const { SUBTOTAL, TAX_TOTAL, FREIGHT, ORDER_TOTAL } = step.order;
  assert.deepEqual([SUBTOTAL, TAX_TOTAL, FREIGHT, ORDER_TOTAL], ['-999', '-33.22', '0', '-1032.22']);
  assert.deepEqual(step.lines.map(amountOf), ['-999']);
  assert.equal(addUp(step.order), ORDER_TOTAL);
});

// Holds S18.10.
test('400 TOO_MANY_LINES if the returns of an invoice would have more than 20,000 lines together', () => {
  const [invoice, sold] = sell([{ QUANTITY: '20001', UNIT_PRICE: '1' }], {});
  const one = {
    ORDER_NUMBER: '2',
    LINE_NUMBER: '1',
    QUANTITY: '-1',
    SERIAL_NUMBERS: '',
    SUBTOTAL: '-1',
    ORDER_TOTAL: '-1',
  };
  const giveBack = (count: number) =>
    returnOrder(
      invoice,
      sold,
      times(count, () => one),
      new Map([['1', { QUANTITY: '1' }]]),
    );
  assert.ok(!(giveBack(19_999) instanceof Refusal));
  const refusal = giveBack(20_000);
  assert.ok(refusal instanceof Refusal);
  assert.deepEqual([refusal.code, refusal.field], ['TOO_MANY_LINES', 'ORDER_NUMBER']);
});
