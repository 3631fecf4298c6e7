/** Tests what PIMS fills in if a caller sends nothing, and what a negative quantity means: docs/api-reference.md. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectRefusal, Shop, succeed, type Values } from '../kit/records.ts';

const shop = await Shop.shared();
const notebook = {
  PART_CODE: 'NB',
  PART_DESCRIPTION: 'Notebook',
  UNIT_PRICE: '849.5',
  CARE_PLAN: 'N',
  QTY_ONHAND: '10',
};
const plan = { PART_CODE: 'PLAN', PART_DESCRIPTION: 'Plan', UNIT_PRICE: '99', CARE_PLAN: 'Y', QTY_ONHAND: '0' };
await shop.load('inventory', [notebook, plan]);

const FILLED = ['DESCRIPTION', 'UNIT_PRICE', 'CARE_PLAN', 'QUANTITY'];
const filledOf = (line: Values): (string | undefined)[] => FILLED.map((name) => line[name]);
const newLine = async (fields: object): Promise<Values> =>
  succeed(shop.addLineItem({ ORDER_NUMBER: await shop.newOrder(), ...fields }));
const update = ({ ORDER_NUMBER, LINE_REF_LOCK_CODE }: Values, fields: object): Promise<Values> =>
  succeed(shop.updateLineItem({ ORDER_NUMBER, LINE_REF_LOCK_CODE, ...fields }));

// Holds S7.6.
test('a new line has QUANTITY 1, and DESCRIPTION, UNIT_PRICE and CARE_PLAN from its part, unless they are sent', async () => {
  const line = await newLine({ PART_CODE: 'NB' });
  assert.deepEqual(filledOf(line), ['Notebook', '849.5', 'N', '1']);
  assert.deepEqual(await shop.lines(line['ORDER_NUMBER']!), [line]);
  assert.deepEqual(filledOf(await newLine({ PART_CODE: 'not known' })), ['', '', '', '1']);
  assert.deepEqual(filledOf(await newLine({})), ['', '', '', '1']);
});

// Holds S7.7.
test('values that are sent stay unchanged, also null and ""; a cleared QUANTITY is 0', async () => {
  const sent = { DESCRIPTION: 'Mine', UNIT_PRICE: '1', CARE_PLAN: 'Y', QUANTITY: '3' };
  assert.deepEqual(filledOf(await newLine({ PART_CODE: 'NB', ...sent })), Object.values(sent));
  for (const empty of [null, '']) {
    const cleared = Object.fromEntries(FILLED.map((name) => [name, empty]));
    assert.deepEqual(filledOf(await newLine({ PART_CODE: 'NB', ...cleared })), ['', '', '', '0']);
  }
});

// Holds S7.6.
test('another known PART_CODE fills the fields that are not sent; an unknown or the same one fills none', async () => {
  const line = await newLine({ PART_CODE: 'NB', UNIT_PRICE: '1', QUANTITY: '2' });
  assert.deepEqual(filledOf(await update(line, { PART_CODE: 'NB' })), ['Notebook', '1', 'N', '2']);
  assert.deepEqual(filledOf(await update(line, { PART_CODE: 'PLAN' })), ['Plan', '99', 'Y', '2']);
  assert.deepEqual(filledOf(await update(line, { PART_CODE: 'NB', UNIT_PRICE: '800' })), ['Notebook', '800', 'N', '2']);
  assert.deepEqual(filledOf(await update(line, { PART_CODE: 'not known' })), ['Notebook', '800', 'N', '2']);
});

// Holds S7.7.
test('an import fills only DESCRIPTION and CARE_PLAN of its rows', async () => {
  const ORDER_NUMBER = await shop.newOrder();
  await shop.load('lines', [{ ORDER_NUMBER, PART_CODE: 'NB' }]);
  assert.deepEqual(filledOf((await shop.lines(ORDER_NUMBER))[0]!), ['Notebook', '', 'N', '0']);
});

// Holds S7.10.
test('a negative QUANTITY is a return: a sales order with it frees stock, and an invoice adds to it', async () => {
  const expectStock = async (expected: string): Promise<void> => {
    const { QTY_ONHAND, QTY_COMMITTED, QTY_AVAILABLE } = await succeed(shop.getInventoryItem('NB'));
    assert.equal(`${QTY_ONHAND} − ${QTY_COMMITTED} = ${QTY_AVAILABLE}`, expected);
  };
  const ORDER_NUMBER = await shop.newOrder({ ORDER_TYPE: 'sales_order', REFERENCE_NUMBER: '#return' });
  const line = await succeed(shop.addLineItem({ ORDER_NUMBER, PART_CODE: 'NB', QUANTITY: '-3' }));
  await expectStock('10 − -3 = 13');
  const { LINE_REF_LOCK_CODE } = line;
  for (const NUMBER_SHIPPED of ['-4', '1'])
    expectRefusal(
      await shop.updateLineItem({ ORDER_NUMBER, LINE_REF_LOCK_CODE, NUMBER_SHIPPED }),
      400,
      'QUANTITY_NOT_ALLOWED',
      'NUMBER_SHIPPED',
    );
  expectRefusal(
    await shop.updateLineItem({ ORDER_NUMBER, LINE_REF_LOCK_CODE, SERIAL_NUMBERS: 'S1' }),
    400,
    'SERIALS_NOT_ALLOWED',
    'SERIAL_NUMBERS',
  );
  await update(line, { NUMBER_SHIPPED: '-3' });
  const { backorder } = await shop.run<{ backorder: string }>(
    'order',
    'invoice',
    'shop',
    ORDER_NUMBER,
    '--line',
    '1=-1',
  );
  await expectStock('11 − -2 = 13');
  const { orders } = (await shop.findOrdersByStorefrontReference('#return')).body as {
    orders: { pims_order_number: string; items: { quantity: number; shipped: number }[] }[];
  };
  assert.deepEqual(
    orders.map(({ pims_order_number, items }) => [pims_order_number, items[0]!.quantity, items[0]!.shipped]),
    [
      [ORDER_NUMBER, -1, -1],
      [backorder, -2, -2],
    ],
  );
});
