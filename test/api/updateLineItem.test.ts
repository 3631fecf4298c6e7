/** Tests updateLineItem: POST /orders/line_item. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times } from '../kit/lists.ts';
import { eachAs, sampleOf, Shop, succeed, type Values } from '../kit/records.ts';
import { refusalsOf } from './refusals.ts';

const shop = await Shop.shared();
const refuses = refusalsOf(shop, shop.updateLineItem);
const { service } = shop;
await shop.load('inventory', [
  { PART_CODE: 'MB/14', PART_DESCRIPTION: 'Notebook', CARE_PLAN: 'N' },
  { PART_CODE: 'PLAN+3Y', PART_DESCRIPTION: 'Care plan', CARE_PLAN: 'Y' },
]);

/** Makes a line of a new order, and returns it with the key that every update of it must send. */
async function newLine(fields: Record<string, unknown> = {}): Promise<{ line: Values; key: Values }> {
  const ORDER_NUMBER = await shop.newOrder();
  const line = await succeed(
    shop.addLineItem({ ORDER_NUMBER, PART_CODE: 'A', DESCRIPTION: 'Part A', QUANTITY: '5', ...fields }),
  );
  return { line, key: { ORDER_NUMBER, LINE_REF_LOCK_CODE: line['LINE_REF_LOCK_CODE']! } };
}

const update = (key: Values, change: Record<string, unknown>): Promise<Values> =>
  succeed(shop.updateLineItem({ ...key, ...change }));

// Holds S7.4.
test('200 data is the updated line: only the sent fields change, subRecords null', async () => {
  const { line, key } = await newLine({ UNIT_PRICE: '10' });
  const updated = await update(key, { QUANTITY: '7', DISCOUNT: '2.50' });
  assert.deepEqual({ ...updated, MODIFIED_DATE: '' }, { ...line, QUANTITY: '7', DISCOUNT: '2.5', MODIFIED_DATE: '' });
  assert.ok(updated['MODIFIED_DATE']! >= line['MODIFIED_DATE']!);
  assert.deepEqual(await shop.lines(key['ORDER_NUMBER']!), [updated]);
});

// Holds S5.3.
test('200 every field of a line can be changed', async () => {
  const { key } = await newLine(sampleOf('lines', 1));
  const sent: Values = { ...sampleOf('lines', 2), SERIAL_NUMBERS: '', NUMBER_SHIPPED: '1' };
  const updated = await update(key, sent);
  assert.deepEqual({ ...updated, ...sent }, updated);
});

test('200 null clears a field; a cleared QUANTITY is 0', async () => {
  const { key } = await newLine({ UNIT_PRICE: '10' });
  const updated = await update(key, { DESCRIPTION: null, UNIT_PRICE: null, QUANTITY: null });
  assert.deepEqual([updated['DESCRIPTION'], updated['UNIT_PRICE'], updated['QUANTITY']], ['', '', '0']);
});

// Holds S5.12.
test('200 LINE_REF_LOCK_CODE is stable for the life of the line', async () => {
  const { key } = await newLine();
  for (const QUANTITY of ['1', '2', '3'])
    assert.equal(
      (await update(key, { QUANTITY, PART_CODE: `P${QUANTITY}` }))['LINE_REF_LOCK_CODE'],
      key['LINE_REF_LOCK_CODE'],
    );
  await service.stop();
  await service.restart();
  assert.equal((await update(key, { QUANTITY: '4' }))['QUANTITY'], '4');
});

// Holds S7.5.
test('200 NUMBER_SHIPPED may be set from 0 to QUANTITY', async () => {
  const { key } = await newLine();
  for (const NUMBER_SHIPPED of ['0', '2.5', '5', '0'])
    assert.equal((await update(key, { NUMBER_SHIPPED }))['NUMBER_SHIPPED'], NUMBER_SHIPPED);
  assert.equal((await update(key, { QUANTITY: '9', NUMBER_SHIPPED: 9 }))['NUMBER_SHIPPED'], '9');
});

// Holds S5.9, S5.10, S7.2.
test('400 QUANTITY_NOT_ALLOWED: NUMBER_SHIPPED beyond QUANTITY or below 0', async () => {
  const { key } = await newLine();
  const changes = [{ NUMBER_SHIPPED: '5.01' }, { NUMBER_SHIPPED: '-1' }, { NUMBER_SHIPPED: '6', QUANTITY: '5.5' }];
  const refused = (...bodies: Values[]) =>
    shop.refuses(shop.updateLineItem, 'QUANTITY_NOT_ALLOWED', { NUMBER_SHIPPED: bodies });
  await refused(...changes.map((change) => ({ ...key, ...change })));
  await update(key, { NUMBER_SHIPPED: '3' });
  await refused({ ...key, QUANTITY: '2' });
});

test('200 simultaneous updates of one line all succeed, one after the other', async () => {
  const { key } = await newLine();
  await Promise.all(times(20, (at) => update(key, at % 2 === 0 ? { UNIT_PRICE: at } : { DISCOUNT: at })));
  const [line] = await shop.lines(key['ORDER_NUMBER']!);
  assert.ok(Number(line!['UNIT_PRICE']) % 2 === 0 && line!['UNIT_PRICE'] !== '');
  assert.equal(Number(line!['DISCOUNT']) % 2, 1);
});

/** Key of the line that refused updates name. */
const { key } = await newLine();
const change = { ...key, QUANTITY: '1' };
const missing = eachAs(['ORDER_NUMBER', 'LINE_REF_LOCK_CODE'], [undefined, null, ''], change);
const assigned = eachAs(['FUNCTION', 'LINE_NUMBER', 'CREATE_DATE', 'MODIFIED_DATE'], ['1', null], change);
const unknown = eachAs(['UNITPRICE'], ['1'], change);
const noNumbers = eachAs(['QUANTITY', 'UNIT_PRICE'], ['many'], { ...key, DESCRIPTION: 'new' });
refuses('400 ORDER_NOT_FOUND names the order that does not exist', eachAs(['ORDER_NUMBER'], ['424242'], key), /424242/);
// Holds S5.12, S7.3.
refuses('400 MISSING_FIELD without ORDER_NUMBER or LINE_REF_LOCK_CODE', missing);
// Holds S5.3.
refuses('400 FIELD_NOT_ALLOWED for FUNCTION, LINE_NUMBER, CREATE_DATE, MODIFIED_DATE', assigned);
refuses('400 UNKNOWN_FIELD leaves the line unchanged', unknown, /'UNITPRICE'.*\bUNIT_PRICE\b/);
refuses('400 INVALID_VALUE leaves the line unchanged', noNumbers);
refuses('400 INVALID_BODY when the body is not an object', { '': [[], '"text"', undefined] });

const { LINE_REF_LOCK_CODE: lock = '' } = key;
const codes = ['nothing-like-it', (await newLine()).key['LINE_REF_LOCK_CODE']!, lock.slice(0, -1), '1'];
const patterns = codes.map((code) => new RegExp(RegExp.escape(code)));
const lockCodes = eachAs(['LINE_REF_LOCK_CODE'], codes, change);
// Holds S3.8, S5.12.
refuses('400 LINE_NOT_FOUND names the lock code, also if another order has it', lockCodes, ...patterns);

const serials = await newLine({ SERIAL_NUMBERS: 'S1,S2' });
const tooMany = [
  { SERIAL_NUMBERS: 'S1,S2,S3,S4,S5,S6' },
  { QUANTITY: '1' },
  { CARE_PLAN: 'Y' },
  { PART_CODE: 'PLAN+3Y' },
];
refuses('400 SERIALS_NOT_ALLOWED for more than one serial number per unit, or any on a care plan', {
  SERIAL_NUMBERS: tooMany.map((one) => ({ ...serials.key, ...one })),
});

test('200 a line may become a care plan when its serial numbers are removed', async () => {
  assert.equal((await update(serials.key, { CARE_PLAN: 'Y', SERIAL_NUMBERS: null }))['SERIAL_NUMBERS'], '');
});

const invoiced = await newLine();
await shop.run('order', 'invoice', 'shop', invoiced.key['ORDER_NUMBER']!);
// Holds S7.14, S8.12.
refuses('400 ORDER_CLOSED: an invoiced line keeps its part, quantities and price', {
  ...eachAs(['QUANTITY', 'NUMBER_SHIPPED', 'PART_CODE', 'UNIT_PRICE', 'DISCOUNT'], ['4'], invoiced.key),
  ...eachAs(['CARE_PLAN'], ['Y'], invoiced.key),
});

test('200 the text of an invoiced line may change', async () => {
  const text = { DESCRIPTION: 'Part A, as delivered', SERIAL_NUMBERS: 'S9' };
  assert.equal((await update(invoiced.key, text))['SERIAL_NUMBERS'], 'S9');
});
