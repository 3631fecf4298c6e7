/** Tests SUBTOTAL and ORDER_TOTAL, which PIMS calculates from the lines unless a caller sends them: decision 0065. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times } from '../kit/lists.ts';
import { Shop, succeed, type Values } from '../kit/records.ts';

const shop = await Shop.shared();
const NAMES = ['SUBTOTAL', 'ORDER_TOTAL'];

const addLine = (ORDER_NUMBER: string, QUANTITY: string, UNIT_PRICE: string, more: object = {}): Promise<Values> =>
  succeed(shop.addLineItem({ ORDER_NUMBER, QUANTITY, UNIT_PRICE, ...more }));
const updateLine = ({ ORDER_NUMBER, LINE_REF_LOCK_CODE }: Values, change: object): Promise<Values> =>
  succeed(shop.updateLineItem({ ORDER_NUMBER, LINE_REF_LOCK_CODE, ...change }));
const updateOrder = (ORDER_NUMBER: string, change: object): Promise<Values> =>
  succeed(shop.updateOrder({ ORDER_NUMBER, ...change }));
const expectTotals = async (orderNumber: string, ...totals: string[]): Promise<void> => {
  const order = await shop.order(orderNumber);
  assert.deepEqual(
    NAMES.map((name) => order[name]),
    totals,
  );
};

// Holds S7.8.
test('SUBTOTAL is the sum of the lines, ORDER_TOTAL adds FREIGHT and TAX_TOTAL; both are empty until a line has a price', async () => {
  const number = await shop.newOrder({ FREIGHT: '12.5', TAX_TOTAL: '0.07' });
  await expectTotals(number, '', '');
  const line = await addLine(number, '3', '849');
  await expectTotals(number, '2547', '2559.57');
  await addLine(number, '1.5', '0.1');
  await expectTotals(number, '2547.15', '2559.72');
  await addLine(number, '-1', '847.15');
  await expectTotals(number, '1700', '1712.57');
  await updateLine(line, { QUANTITY: '1' });
  await expectTotals(number, '2', '14.57');
  await updateLine(line, { UNIT_PRICE: null });
  await expectTotals(number, '-847', '-834.43');
  const without = await shop.newOrder();
  await succeed(shop.addLineItem({ ORDER_NUMBER: without }));
  await expectTotals(without, '', '');
  await addLine(without, '1', '0');
  await expectTotals(without, '0', '0');
});

// Holds S7.8.
test('every line is rounded to cents, halves away from zero, and SUBTOTAL is the sum of these amounts', async () => {
  for (const [quantity, price, discount, amount] of [
    ['2.5', '3.99', '', '9.98'],
    ['-2.5', '3.99', '', '-9.98'],
    ['3', '24.99', '10', '67.47'],
    ['3', '19.99', '12.5', '52.47'],
    ['1', '0.1', '100', '0'],
    ['1', '1.005', '', '1.01'],
    ['999999999999999', '0.000000000000001', '', '1'],
  ] as const) {
    const number = await shop.newOrder();
    for (const lines of [1, 2]) {
      await addLine(number, quantity, price, { DISCOUNT: discount });
      const sum = String(Number((Number(amount) * lines).toFixed(2)));
      await expectTotals(number, sum, sum);
    }
  }
});

// Holds S7.7, S7.8.
test('ORDER_TOTAL is rounded to cents even if sent amounts have more decimals, which are kept', async () => {
  const number = await shop.newOrder({ ORDER_TYPE: 'sales_order', FREIGHT: '1.005', TAX_TOTAL: '0.001' });
  const line = await addLine(number, '2', '10');
  await expectTotals(number, '20', '21.01');
  await updateOrder(number, { TAX_TOTAL: '0.004' });
  await updateLine(line, { QUANTITY: '1' });
  await expectTotals(number, '10', '11.01');
  assert.equal((await shop.order(number))['FREIGHT'], '1.005');
});

// Holds S7.9.
test('a total that is sent stays unchanged, also null or ""; the other one is computed', async () => {
  for (const sent of ['1000', null, '']) {
    const stays = sent ?? '';
    const [own, total, both] = await Promise.all(
      [{ SUBTOTAL: sent }, { ORDER_TOTAL: sent }, { SUBTOTAL: sent, ORDER_TOTAL: sent }].map((order) =>
        shop.newOrder({ FREIGHT: '5', ...order }),
      ),
    );
    for (const number of [own!, total!, both!]) await addLine(number, '2', '10');
    await expectTotals(own!, stays, String(Number(stays) + 5));
    await expectTotals(total!, '20', stays);
    await expectTotals(both!, stays, stays);
  }
});

// Holds S7.9.
test('updateOrder: ORDER_TOTAL follows FREIGHT and TAX_TOTAL, unless another total is sent', async () => {
  const number = await shop.newOrder();
  await updateOrder(number, { FREIGHT: '5' });
  await expectTotals(number, '', '');
  await addLine(number, '2', '10');
  const changed = await updateOrder(number, { FREIGHT: '7', TAX_TOTAL: '1' });
  assert.deepEqual([changed['SUBTOTAL'], changed['ORDER_TOTAL']], ['20', '28']);
  // Totals that a program has read and sends back change nothing.
  const { SUBTOTAL, ORDER_TOTAL } = changed;
  await updateOrder(number, { SUBTOTAL, ORDER_TOTAL });
  await addLine(number, '1', '1');
  await expectTotals(number, '21', '29');
  await updateOrder(number, { SUBTOTAL: '100' });
  await expectTotals(number, '100', '108');
  await addLine(number, '1', '1');
  await expectTotals(number, '100', '108');
  await updateOrder(number, { ORDER_TOTAL: null });
  await updateOrder(number, { FREIGHT: '0' });
  await expectTotals(number, '100', '');
});

const AMOUNTS = ['SUBTOTAL', 'FREIGHT', 'TAX_TOTAL', 'ORDER_TOTAL'];
/** Makes an order with lines of 3 units, and invoices units of the first. Returns the amounts of both orders. */
async function invoicePart(order: object, lines: readonly object[], units = '2') {
  const number = await shop.newOrder({ ORDER_TYPE: 'sales_order', FREIGHT: '5', ...order });
  for (const line of lines) await succeed(shop.addLineItem({ ORDER_NUMBER: number, QUANTITY: '3', ...line }));
  const { backorder } = await shop.run<{ backorder: string }>(
    'order',
    'invoice',
    'shop',
    number,
    '--line',
    `1=${units}`,
  );
  const found = await Promise.all([number, backorder].map((one) => shop.order(one)));
  return { number, backorder, amounts: found.map((one) => AMOUNTS.map((name) => one[name]).join(' ')) };
}

// Holds S8.10, S8.11.
test('a partial invoice: invoice and backorder each have the totals of their lines, and freight stays with the invoice', async () => {
  const lines = [{ UNIT_PRICE: '10' }, { UNIT_PRICE: '100' }];
  const kept = await invoicePart({}, lines);
  assert.deepEqual(kept.amounts, ['20 5  25', '310   310']);
  await addLine(kept.backorder, '1', '1');
  await expectTotals(kept.backorder, '311', '311');
  // Totals that a caller has sent are shared too, and neither order calculates them again.
  const sent = await invoicePart({ SUBTOTAL: '330', TAX_TOTAL: '10', ORDER_TOTAL: '345' }, lines);
  assert.deepEqual(sent.amounts, ['20 5 0.61 25.61', '310  9.39 319.39']);
  await addLine(sent.backorder, '1', '1');
  await expectTotals(sent.backorder, '310', '319.39');
});

// Holds S8.10, S8.11.
test('a partial invoice: even if the lines add up to 0, both have the totals of their lines', async () => {
  const free = await invoicePart({}, [{ UNIT_PRICE: '0' }]);
  assert.deepEqual(free.amounts, ['0 5  5', '0   0']);
  await addLine(free.backorder, '1', '');
  await expectTotals(free.backorder, '0', '0');
  const exchange = await invoicePart({ TAX_TOTAL: '1' }, [{ UNIT_PRICE: '10' }, { UNIT_PRICE: '10', QUANTITY: '-3' }]);
  assert.deepEqual(exchange.amounts, ['20 5 1 26', '-20  0 -20']);
});

// Holds S8.10, S8.11.
test('a partial invoice: totals that are not the sum of the lines are shared in proportion; without any price they stay with the invoice', async () => {
  const lines = [{ UNIT_PRICE: '999' }, {}];
  const reduced = { SUBTOTAL: '2000', TAX_TOTAL: '100', ORDER_TOTAL: '2095' };
  const shared = await invoicePart(reduced, lines, '1');
  assert.deepEqual(shared.amounts, ['666.67 5 33.33 701.67', '1333.33  66.67 1393.33']);
  const total = await invoicePart({ SUBTOTAL: '', ORDER_TOTAL: '3002' }, lines, '1');
  assert.deepEqual(total.amounts, [' 5  1004', '   1998']);
  const free = await invoicePart({ SUBTOTAL: '30', TAX_TOTAL: '3' }, [{}, {}]);
  assert.deepEqual(free.amounts, ['30 5 3 38', '   ']);
});

// Holds S8.10, S8.11.
test('a partial invoice: a remainder of rounding goes to the backorder, which still follows its lines', async () => {
  const weighed = await invoicePart({ TAX_TOTAL: '0.1' }, [{ QUANTITY: '2.5', UNIT_PRICE: '3.99' }], '0.75');
  assert.deepEqual(weighed.amounts, ['2.99 5 0.03 8.02', '6.99  0.07 7.06']);
  await addLine(weighed.backorder, '1', '1');
  await expectTotals(weighed.backorder, '7.99', '8.06');
  const sent = await invoicePart({ SUBTOTAL: '29.985' }, [{ UNIT_PRICE: '9.995' }], '1');
  assert.deepEqual(sent.amounts, ['10 5  15', '19.99   19.99']);
  const { count } = await shop.run<{ count: number }>('check');
  assert.equal(count, 0);
});

// Holds S7.14, S8.12.
test('the totals of an invoice never change', async () => {
  const { number } = await invoicePart({ TAX_TOTAL: '1' }, [{ UNIT_PRICE: '3.33' }, {}]);
  const before = await shop.order(number);
  for (const line of await shop.lines(number))
    await updateLine(line, { DESCRIPTION: 'Corrected', UNIT_PRICE: line['UNIT_PRICE'] });
  await updateOrder(number, { NOTES: 'Corrected', TAX_TOTAL: before['TAX_TOTAL'] });
  const after = await shop.order(number);
  for (const name of AMOUNTS) assert.equal(after[name], before[name], name);
});

// Holds S7.9.
test('imported orders keep their totals; lines imported to an order of the API count', async () => {
  await shop.load('orders', [{ ORDER_NUMBER: '700', SUBTOTAL: '1', ORDER_TOTAL: '' }]);
  await addLine('700', '1', '9');
  await expectTotals('700', '1', '');
  const number = await shop.newOrder();
  await addLine(number, '1', '9');
  const line = { ORDER_NUMBER: number, QUANTITY: '2', UNIT_PRICE: '0.5' };
  await shop.load(
    'lines',
    ['2', '3'].map((LINE_NUMBER) => ({ ...line, LINE_NUMBER })),
  );
  await expectTotals(number, '11', '11');
});

// Holds S7.8.
test('the totals of an order whose lines are all written at once are those of its lines', async () => {
  const number = await shop.newOrder();
  const lines = await Promise.all(times(40, (at) => addLine(number, String(at), '0.25')));
  await Promise.all(lines.map((line, at) => updateLine(line, { QUANTITY: String(at + 1) })));
  await expectTotals(number, '205', '205');
});

test('the lines of a batch count in the totals', async () => {
  const steps = times(20, (at) => ({
    operation: 'addLineItem',
    body: { ORDER_NUMBER: '$0.data', QUANTITY: String(at + 1), UNIT_PRICE: '0.1' },
  }));
  const body = [{ operation: 'createOrder', body: { FREIGHT: '1' } }, ...steps];
  const answer = await shop.service.call(shop.keys, 'POST', '/batch', { body });
  assert.equal(answer.status, 200, answer.text);
  const [order] = answer.body.data as { data: string }[];
  await expectTotals(order!.data, '21', '22');
});
