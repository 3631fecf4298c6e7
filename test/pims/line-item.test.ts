/** Tests line items: the values of a new line, the fields that an update may change, and the stock that it moves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal, type ErrorCode } from '../../src/errors.ts';
import { addLine, changeLine, checkLineCount, fillFromPart, importLine } from '../../src/pims/rules/order.ts';
import { LINES_MAX } from '../../src/pims/rules/record-bounds.ts';
import { buildDictionaries } from '../../src/pims/rules/fields.ts';
import { applyMovement } from '../../src/pims/rules/stock.ts';
import type { Values } from '../../src/pims/rules/values.ts';

const order = (stage: string, dropShip = ''): Values => ({
  ORDER_NUMBER: '10001',
  ORDER_TYPE: stage,
  DROP_SHIP: dropShip,
});
const line = (values: Values = {}): Values => ({
  LINE_NUMBER: '1',
  PART_CODE: 'A',
  QUANTITY: '5',
  NUMBER_SHIPPED: '0',
  SERIAL_NUMBERS: '',
  CARE_PLAN: '',
  ...values,
});
const { lines: FIELDS } = buildDictionaries([{ recordType: 'lines', name: 'GIFT', type: 'flag' }]);
const changeOf = (of: Values, before: Values, change: Values, part: Values | undefined) =>
  changeLine(FIELDS, [of, before], change, part);
const PART = { PART_DESCRIPTION: 'Widget', CARE_PLAN: 'N' };

function done<T>(outcome: T | Refusal): T {
  if (outcome instanceof Refusal) throw outcome;
  return outcome;
}

function refused(outcome: unknown, code: ErrorCode, field: string): void {
  assert.ok(outcome instanceof Refusal, 'it was not refused');
  assert.equal(`${outcome.code} ${outcome.field}`, `${code} ${field}`);
}

test('a known part fills the description, the price and the care-plan flag unless they are sent', () => {
  const priced = { ...PART, UNIT_PRICE: '9.5' };
  const filled = { DESCRIPTION: 'Widget', UNIT_PRICE: '9.5', CARE_PLAN: 'N' };
  assert.deepEqual(fillFromPart({ PART_CODE: 'A' }, priced), { PART_CODE: 'A', ...filled });
  const mine = { DESCRIPTION: 'Mine', UNIT_PRICE: '1', CARE_PLAN: 'Y' };
  assert.deepEqual(fillFromPart(mine, priced), mine);
  const cleared = { DESCRIPTION: '', UNIT_PRICE: '' };
  assert.deepEqual(fillFromPart(cleared, priced), { ...cleared, CARE_PLAN: 'N' }, 'what is cleared stays cleared');
  assert.deepEqual(fillFromPart({ PART_CODE: 'A' }, undefined), { PART_CODE: 'A' });
  assert.deepEqual(fillFromPart({}, {}), { DESCRIPTION: '', UNIT_PRICE: '', CARE_PLAN: '' }, 'a part without any');
});

test('a line from a file has a whole LINE_NUMBER from 1, or none; others are refused with their value', () => {
  const read = (LINE_NUMBER: string) => importLine(line({ LINE_NUMBER, NUMBER_SHIPPED: '5' }), undefined, false);
  for (const number of ['', '1', '10', '999999999']) assert.equal(done(read(number))['LINE_NUMBER'], number);
  assert.equal(done(importLine({}, undefined, false))['LINE_NUMBER'], undefined);
  for (const number of ['0', '01', '1.5', '-1', '1000000000', 'one']) {
    refused(read(number), 'INVALID_VALUE', 'LINE_NUMBER');
    assert.ok((read(number) as Refusal).message.endsWith(`not '${number}'.`));
  }
  refused(importLine(line({ NUMBER_SHIPPED: '6' }), undefined, false), 'QUANTITY_NOT_ALLOWED', 'NUMBER_SHIPPED');
});

test('a line from a file is filled from its part, gets no quantity that it lacks, and keeps its values', () => {
  for (const [part, filled] of [
    [undefined, {}],
    [PART, { DESCRIPTION: 'Widget', UNIT_PRICE: '', CARE_PLAN: 'N' }],
  ] as const) {
    const given = { PART_CODE: 'A' };
    const read = done(importLine(given, part, false));
    assert.deepEqual(read, { PART_CODE: 'A', ...filled, QUANTITY: '0', NUMBER_SHIPPED: '0' });
    assert.deepEqual(given, { PART_CODE: 'A' });
  }
});

test('TOO_MANY_LINES for the line after the last that an order can have', () => {
  checkLineCount('10001', LINES_MAX - 1);
  for (const count of [LINES_MAX, LINES_MAX + 1])
    try {
      checkLineCount('10001', count);
      assert.fail('it was not refused');
    } catch (fault) {
      refused(fault, 'TOO_MANY_LINES', 'ORDER_NUMBER');
      assert.match((fault as Refusal).message, /^Order 10001 already has 10000 lines/);
    }
});

test('an empty list of serial numbers is valid for every line', () => {
  for (const SERIAL_NUMBERS of [',', ' , '])
    assert.ok(done(importLine(line({ CARE_PLAN: 'Y', SERIAL_NUMBERS }), undefined, false)));
});

test('only an imported line of a return has serial numbers with a negative quantity, at most one per unit', () => {
  const back = (SERIAL_NUMBERS: string, isReturn: boolean) =>
    importLine(line({ QUANTITY: '-1', NUMBER_SHIPPED: '-1', SERIAL_NUMBERS }), undefined, isReturn);
  assert.ok(done(back('A1', true)));
  refused(back('A1,A2', true), 'SERIALS_NOT_ALLOWED', 'SERIAL_NUMBERS');
  refused(back('A1', false), 'SERIALS_NOT_ALLOWED', 'SERIAL_NUMBERS');
});

test('a new line has no units shipped, one unit by default, and none if the quantity is cleared', () => {
  for (const [values, QUANTITY] of [
    [{}, '1'],
    [{ QUANTITY: '' }, '0'],
    [{ QUANTITY: '0' }, '0'],
  ] as const)
    assert.deepEqual(done(addLine(order('worksheet'), values, undefined)).line, { QUANTITY, NUMBER_SHIPPED: '0' });
});

test('only a sales order commits the stock of a new line', () => {
  const stock = (stage: string, dropShip?: string, values: Values = {}) =>
    done(addLine(order(stage, dropShip), { PART_CODE: 'A', QUANTITY: '2.5', ...values }, undefined)).stock;
  assert.deepEqual(stock('worksheet'), []);
  assert.deepEqual(stock('quote'), []);
  assert.deepEqual(stock('sales_order'), [{ PART_CODE: 'A', onHand: '0', committed: '2.5' }]);
  assert.deepEqual(stock('sales_order', 'Y'), [], 'a drop-shipped order touches no stock');
  assert.deepEqual(stock('sales_order', '', { CARE_PLAN: 'Y' }), [], 'a care plan is no goods');
  assert.deepEqual(stock('sales_order', '', { PART_CODE: '' }), [], 'a line without a part');
  const partless = addLine(order('sales_order'), { QUANTITY: '2' }, undefined);
  assert.deepEqual(done(partless).stock, []);
});

test('a movement changes the quantities on hand and committed, and the available one follows', () => {
  const movement = { PART_CODE: 'A', onHand: '-2', committed: '1.5' };
  const [before, after] = [
    { QTY_ONHAND: '9', QTY_COMMITTED: '3' },
    { QTY_ONHAND: '7', QTY_COMMITTED: '4.5' },
  ];
  assert.deepEqual(applyMovement(before, movement), { ...after, QTY_AVAILABLE: '2.5' });
  const none = { QTY_ONHAND: '-2', QTY_COMMITTED: '1.5', QTY_AVAILABLE: '-3.5' };
  for (const part of [{}, { QTY_ONHAND: '', QTY_COMMITTED: '' }]) assert.deepEqual(applyMovement(part, movement), none);
});

test('ORDER_CLOSED an invoice accepts no new line', () => {
  const answer = addLine(order('invoice'), { PART_CODE: 'A' }, undefined);
  refused(answer, 'ORDER_CLOSED', 'ORDER_NUMBER');
  assert.match((answer as Refusal).message, /^Order 10001 is an invoice, so /);
});

test('SERIALS_NOT_ALLOWED more serials than units, or any on a care plan', () => {
  const answer = addLine(order('quote'), { QUANTITY: '1', SERIAL_NUMBERS: 'S1,S2' }, undefined);
  refused(answer, 'SERIALS_NOT_ALLOWED', 'SERIAL_NUMBERS');
  const plan = { PART_DESCRIPTION: 'Plan', CARE_PLAN: 'Y' };
  const ofPlan = addLine(order('quote'), { QUANTITY: '1', SERIAL_NUMBERS: 'S1' }, plan);
  refused(ofPlan, 'SERIALS_NOT_ALLOWED', 'SERIAL_NUMBERS');
  const serials = { SERIAL_NUMBERS: '1,2,3,4,5,6' };
  const six = changeOf(order('invoice'), line({ NUMBER_SHIPPED: '5' }), serials, undefined);
  refused(six, 'SERIALS_NOT_ALLOWED', 'SERIAL_NUMBERS');
  assert.ok(done(addLine(order('quote'), { QUANTITY: '2', SERIAL_NUMBERS: 'S1,S2' }, undefined)));
});

test('an update changes only the fields that it contains', () => {
  const before = line({ DESCRIPTION: 'Old', UNIT_PRICE: '9' });
  const { line: after, stock } = done(changeOf(order('quote'), before, { UNIT_PRICE: '10' }, undefined));
  assert.deepEqual(after, { ...before, UNIT_PRICE: '10' });
  assert.deepEqual(stock, []);
});

test('another part fills its description and flag unless they are sent; the same part fills nothing', () => {
  const before = line({ DESCRIPTION: 'Old', CARE_PLAN: 'N' });
  const change = (values: Values) =>
    done(changeOf(order('quote'), before, values, { PART_DESCRIPTION: 'New', CARE_PLAN: 'Y' })).line;
  assert.equal(change({ PART_CODE: 'B' })['DESCRIPTION'], 'New');
  assert.equal(change({ PART_CODE: 'B' })['CARE_PLAN'], 'Y');
  assert.equal(change({ PART_CODE: 'B', DESCRIPTION: 'Mine' })['DESCRIPTION'], 'Mine');
  assert.equal(change({ PART_CODE: 'A' })['DESCRIPTION'], 'Old');
});

test('an update of a sales order adjusts the commitment', () => {
  const stock = (change: Values) => done(changeOf(order('sales_order'), line(), change, undefined)).stock;
  assert.deepEqual(stock({ QUANTITY: '7' }), [{ PART_CODE: 'A', onHand: '0', committed: '2' }]);
  assert.deepEqual(stock({ QUANTITY: '' }), [{ PART_CODE: 'A', onHand: '0', committed: '-5' }]);
  assert.deepEqual(stock({ CARE_PLAN: 'Y' }), [{ PART_CODE: 'A', onHand: '0', committed: '-5' }]);
  assert.deepEqual(stock({ NUMBER_SHIPPED: '3' }), [], 'shipping alone is no invoice');
  assert.deepEqual(stock({ PART_CODE: 'B', QUANTITY: '1' }), [
    { PART_CODE: 'A', onHand: '0', committed: '-5' },
    { PART_CODE: 'B', onHand: '0', committed: '1' },
  ]);
});

test('NUMBER_SHIPPED lies between 0 and QUANTITY', () => {
  const change = (values: Values, before = line()) => changeOf(order('sales_order'), before, values, undefined);
  for (const shipped of ['0', '2.5', '5', '']) assert.ok(done(change({ NUMBER_SHIPPED: shipped })), shipped);
  for (const shipped of ['5.01', '-1', '100'])
    refused(change({ NUMBER_SHIPPED: shipped }), 'QUANTITY_NOT_ALLOWED', 'NUMBER_SHIPPED');
  refused(change({ QUANTITY: '2' }, line({ NUMBER_SHIPPED: '3' })), 'QUANTITY_NOT_ALLOWED', 'NUMBER_SHIPPED');
  assert.equal(done(change({ QUANTITY: '6', NUMBER_SHIPPED: '6' })).line['NUMBER_SHIPPED'], '6');
  assert.ok(done(change({ QUANTITY: '-3', NUMBER_SHIPPED: '-2' })), 'a credit ships back');
  refused(change({ QUANTITY: '-3', NUMBER_SHIPPED: '1' }), 'QUANTITY_NOT_ALLOWED', 'NUMBER_SHIPPED');
});

test('only description, serial numbers and custom fields of an invoiced line can get other values', () => {
  const before = line({ NUMBER_SHIPPED: '5' });
  const change = (values: Values) => changeOf(order('invoice'), before, values, undefined);
  const fixed = { PART_CODE: 'B', QUANTITY: '6', NUMBER_SHIPPED: '4', CARE_PLAN: 'Y', UNIT_PRICE: '1', DISCOUNT: '5' };
  for (const [name, value] of Object.entries(fixed)) refused(change({ [name]: value }), 'ORDER_CLOSED', name);
  const words = { QUANTITY: '5', DESCRIPTION: 'Corrected', SERIAL_NUMBERS: 'S1', GIFT: 'Y' };
  const { line: after, stock } = done(change(words));
  assert.equal(after['DESCRIPTION'], 'Corrected');
  assert.deepEqual(stock, []);
});
