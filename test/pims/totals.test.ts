/** Tests the totals that a partial invoice shares with its backorder, to the cent. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../src/errors.ts';
import { takeShare } from '../../src/pims/rules/decimal.ts';
import { invoiceOrder } from '../../src/pims/rules/order.ts';
import { markTotals, sumUp, TOTALS_MARK } from '../../src/pims/rules/totals.ts';

test('half a cent of a share is rounded away from zero', () => {
  for (const [amount, share] of [
    ['0.01', '0.01'],
    ['0.05', '0.03'],
    ['0.07', '0.04'],
    ['-0.05', '-0.03'],
  ] as const)
    assert.equal(takeShare(amount, '1', '2'), share, amount);
});

test('the SUBTOTAL of a backorder is what `check` compares it with, whether or not its lines add up to their share', () => {
  const invoice = { quantities: new Map([['1', '1']]), serials: new Map<string, string[]>(), tracking: [] };
  for (const prices of [
    ['0.334', '0.336'],
    ['0.33', '0.34'],
    ['0.335', '0.335'],
    ['1', '2.005'],
  ]) {
    const lines = prices.map((UNIT_PRICE, at) => ({
      LINE_NUMBER: String(at + 1),
      QUANTITY: '1',
      NUMBER_SHIPPED: '0',
      UNIT_PRICE,
      LINE_REF_LOCK_CODE: `lock-${at + 1}`,
    }));
    const fresh = { ORDER_NUMBER: '1', ORDER_TYPE: 'sales_order', ...markTotals({}) };
    const step = invoiceOrder({ ...fresh, ...sumUp(fresh, lines) }, lines, invoice);
    assert.ok(!(step instanceof Refusal) && step.backorder);
    const { order, lines: open } = step.backorder;
    assert.equal(sumUp(order, open)['SUBTOTAL'], order['SUBTOTAL'], `${prices.join()} ${order[TOTALS_MARK]}`);
  }
});
