/** SUBTOTAL and ORDER_TOTAL, which PIMS keeps from the lines unless a caller has sent them: decision 0049. */
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

test('DISCOUNT is a percentage of the line, and no amount is rounded', async () => {
  const number = await shop.newOrder();
  await addLine(number, '3', '19.99', { DISCOUNT: '12.5' });
  await expectTotals(number, '52.47375', '52.47375');
  await addLine(number, '1', '0.1', { DISCOUNT: '100' });
  await expectTotals(number, '52.47375', '52.47375');
  await addLine(number, '999999999999999', '0.000000000000001');
  await expectTotals(number, '53.473749999999999', '53.473749999999999');
});

test('a total that is sent stays as it is sent, also null or ""; the other one is kept', async () => {
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

test("updateOrder: ORDER_TOTAL follows FREIGHT and TAX_TOTAL; a total sent with another value is the caller's", async () => {
  const number = await shop.newOrder();
  await updateOrder(number, { FREIGHT: '5' });
  await expectTotals(number, '', '');
  await addLine(number, '2', '10');
  const changed = await updateOrder(number, { FREIGHT: '7', TAX_TOTAL: '1' });
  assert.deepEqual([changed['SUBTOTAL'], changed['ORDER_TOTAL']], ['20', '28']);
  // What a program has read and sends back changes nothing.
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

test('a partial invoice and its backorder each have the totals of their lines; what was sent stays with the invoice', async () => {
  const invoice = async (order: object): Promise<[string, string]> => {
    const number = await shop.newOrder({ ORDER_TYPE: 'sales_order', FREIGHT: '5', ...order });
    for (const price of ['10', '100']) await addLine(number, '3', price);
    const { backorder } = await shop.run<{ backorder: string }>('order', 'invoice', 'shop', number, '--line', '1=2');
    return [number, backorder];
  };
  const [number, backorder] = await invoice({});
  await expectTotals(number, '20', '25');
  await expectTotals(backorder, '310', '310');
  await addLine(backorder, '1', '1');
  await expectTotals(backorder, '311', '311');
  const [sent, rest] = await invoice({ SUBTOTAL: '330', ORDER_TOTAL: '335' });
  await expectTotals(sent, '330', '335');
  await expectTotals(rest, '', '');
  await addLine(rest, '1', '1');
  await expectTotals(rest, '', '');
  // A total over a subtotal that was sent is no sum of lines.
  const [half, left] = await invoice({ SUBTOTAL: '330' });
  await expectTotals(half, '330', '335');
  await addLine(left, '1', '1');
  await expectTotals(left, '', '');
});

test('imported orders keep what they have; lines imported to an order of the API count', async () => {
  await shop.load('orders', [{ ORDER_NUMBER: '700', SUBTOTAL: '1', ORDER_TOTAL: '' }]);
  await addLine('700', '1', '9');
  await expectTotals('700', '1', '');
  const number = await shop.newOrder();
  await addLine(number, '1', '9');
  const line = { ORDER_NUMBER: number, QUANTITY: '2', UNIT_PRICE: '0.5' };
  await shop.load('lines', [line, line]);
  await expectTotals(number, '11', '11');
});

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
