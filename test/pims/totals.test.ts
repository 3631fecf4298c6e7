/** Tests the totals that a partial invoice shares with its backorder, to the cent. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../src/errors.ts';
import { takeShare } from '../../src/pims/rules/decimal.ts';
import { invoiceOrder } from '../../src/pims/rules/invoice.ts';
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

test('the SUBTOTAL of a backorder is the one that `check` expects, for any sum of its lines', () => {
  const invoice = { lines: new Map([['1', { QUANTITY: '1' }]]), fields: {} };
  for (const priced of [
    ['1 x 0.334', '1 x 0.336'],
    ['1 x 0.33', '1 x 0.34'],
    ['1 x 0.335', '1 x 0.335', '1 x 0.335'],
    ['2 x 0.335'],
    ['2 x 0.335', '1 x 0.335'],
  ]) {
    const lines = priced.map((text, at) => {
      const [QUANTITY = '', UNIT_PRICE = ''] = text.split(' x ');
      const number = String(at + 1);
      return { LINE_NUMBER: number, LINE_REF_LOCK_CODE: number, QUANTITY, NUMBER_SHIPPED: '0', UNIT_PRICE };
    });
    const fresh = { ORDER_NUMBER: '1', ORDER_TYPE: 'sales_order', ...markTotals({}) };
    const step = invoiceOrder({ ...fresh, ...sumUp(fresh, lines) }, lines, invoice);
    assert.ok(!(step instanceof Refusal) && step.backorder);
    const { order, lines: open } = step.backorder;
    assert.equal(sumUp(order, open)['SUBTOTAL'], order['SUBTOTAL'], `${priced.join()} ${order[TOTALS_MARK]}`);
  }
});
