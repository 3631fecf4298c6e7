/** Tests addLineItem: PUT /orders/line_item. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byNumber, range, times } from '../kit/lists.ts';
import { eachAs, FIELDS, sampleOf, Shop, succeed, type Values } from '../kit/records.ts';
import { refusalsOf } from './refusals.ts';

const shop = await Shop.shared();
const refuses = refusalsOf(shop, shop.addLineItem);
const { newOrder } = shop;
const ORDER_NUMBER = await newOrder();
await shop.load('inventory', [
  { PART_CODE: 'MB/14#SLV+32 %', PART_DESCRIPTION: 'Notebook, silver', CARE_PLAN: 'N' },
  { PART_CODE: 'PLAN+3Y', PART_DESCRIPTION: 'Care plan', CARE_PLAN: 'Y' },
  { PART_CODE: 'BARE', PART_DESCRIPTION: '', CARE_PLAN: '' },
]);
await shop.load('orders', [{ ORDER_NUMBER: '500', ORDER_TYPE: 'invoice' }]);

const add = (fields: Record<string, unknown>): Promise<Values> =>
  succeed(shop.addLineItem({ ORDER_NUMBER, ...fields }));

// Holds S5.12, S7.3, S7.5.
test('200 data is the line with LINE_NUMBER, LINE_REF_LOCK_CODE and NUMBER_SHIPPED 0, subRecords null', async () => {
  const order = await newOrder();
  const line = await add({ ORDER_NUMBER: order, PART_CODE: 'A', DESCRIPTION: 'Part A', QUANTITY: '3' });
  assert.deepEqual(Object.keys(line).toSorted(), FIELDS.lines.toSorted());
  const { PART_CODE, DESCRIPTION, QUANTITY, NUMBER_SHIPPED, LINE_NUMBER } = line;
  assert.deepEqual(
    [line['ORDER_NUMBER'], PART_CODE, DESCRIPTION, QUANTITY, NUMBER_SHIPPED, LINE_NUMBER],
    [order, 'A', 'Part A', '3', '0', '1'],
  );
  assert.notEqual(line['LINE_REF_LOCK_CODE'], '');
});

// Holds S5.15, S7.3.
test('200 every field of a line can be sent and is returned unchanged', async () => {
  const sent = { ...sampleOf('lines'), ORDER_NUMBER };
  assert.equal(Object.keys(sent).length, 8);
  const line = await add(sent);
  assert.deepEqual({ ...line, ...sent }, line);
});

// Holds S7.3.
test('200 LINE_NUMBER is assigned by the service: 1, 2, 3 in each order, also under 30 calls at once', async () => {
  const order = await newOrder();
  const lines = await Promise.all(times(30, () => add({ ORDER_NUMBER: order })));
  const numbers = lines.map((line) => Number(line['LINE_NUMBER'])).toSorted(byNumber);
  assert.deepEqual(numbers, range(30));
  assert.equal((await add({ ORDER_NUMBER: await newOrder() }))['LINE_NUMBER'], '1');
});

// Holds S5.12.
test('200 LINE_REF_LOCK_CODE is opaque: it has at least 128 bits, and no two are equal or similar', async () => {
  const order = await newOrder();
  const codes = await Promise.all(times(100, async () => (await add({ ORDER_NUMBER: order }))['LINE_REF_LOCK_CODE']!));
  assert.equal(new Set(codes).size, 100);
  for (const code of codes) assert.match(code, /^[\w-]{22,}$/);
  // In 100 random codes, no position always has the same character, and no eight characters in a row occur twice.
  for (let at = 0; at < codes[0]!.length; at++)
    assert.ok(new Set(codes.map((code) => code[at])).size > 1, `character ${at} of every code is the same`);
  const parts = codes.flatMap((code) => times(code.length - 7, (at) => code.slice(at, at + 8)));
  assert.equal(new Set(parts).size, parts.length);
});

// Holds S5.12.
test('200 every response with the line has the same LINE_REF_LOCK_CODE', async () => {
  const order = await newOrder();
  const line = await add({ ORDER_NUMBER: order, QUANTITY: 2 });
  assert.deepEqual(await shop.lines(order), [line]);
  const exported = await shop.run<{ records: Values[] }>('export', 'shop', 'lines');
  assert.ok(exported.records.some((record) => record['LINE_REF_LOCK_CODE'] === line['LINE_REF_LOCK_CODE']));
});

// Holds S5.13.
test('200 PART_CODE may be one that no part has', async () => {
  const line = await add({ PART_CODE: 'no such part' });
  assert.deepEqual([line['PART_CODE'], line['DESCRIPTION'], line['CARE_PLAN']], ['no such part', '', '']);
});

test('200 ORDER_NUMBER may also be a JSON number', async () => {
  assert.equal((await add({ ORDER_NUMBER: Number(ORDER_NUMBER) }))['ORDER_NUMBER'], ORDER_NUMBER);
});

// Holds S3.8, S3.9.
refuses('400 ORDER_NOT_FOUND names the order that does not exist', eachAs(['ORDER_NUMBER'], ['424242']), /424242/);
// Holds S7.3.
refuses('400 MISSING_FIELD without ORDER_NUMBER', eachAs(['ORDER_NUMBER'], [undefined, null, ''], { QUANTITY: '1' }));
// Holds S5.11, S7.3.
refuses('400 FIELD_NOT_ALLOWED for FUNCTION', eachAs(['FUNCTION'], ['ADD', null], { ORDER_NUMBER }));
const assigned = ['LINE_NUMBER', 'LINE_REF_LOCK_CODE', 'CREATE_DATE', 'MODIFIED_DATE'];
// Holds S5.9, S5.10, S7.2.
refuses('400 FIELD_NOT_ALLOWED for fields that PIMS assigns', eachAs(assigned, ['1', '', null], { ORDER_NUMBER }));
const shipped = eachAs(['NUMBER_SHIPPED'], ['1', 0, null], { ORDER_NUMBER, QUANTITY: 2 });
// Holds S5.9, S5.10, S7.2.
refuses('400 FIELD_NOT_ALLOWED for NUMBER_SHIPPED on a new line, also 0', shipped);
const unknown = eachAs(['PARTCODE', 'quantity'], ['1'], { ORDER_NUMBER });
const nearest = [/'PARTCODE'.*\bPART_CODE\b/, /'quantity'.*\bQUANTITY\b/];
refuses('400 UNKNOWN_FIELD names the field and the nearest known one', unknown, ...nearest);
const noNumbers = eachAs(['QUANTITY'], ['two', '1e3', '1,5', true], { ORDER_NUMBER });
refuses('400 INVALID_VALUE for a QUANTITY that is not a decimal number', noNumbers);
// Holds S7.14, S8.12.
refuses(
  '400 ORDER_CLOSED: a line cannot be added to an invoice',
  eachAs(['ORDER_NUMBER'], ['500'], { QUANTITY: '1' }),
  /500/,
);
refuses('400 INVALID_BODY when the body is not an object, or is missing', { '': [[], '"text"', undefined] });

const units = { ORDER_NUMBER, PART_CODE: 'A', QUANTITY: '2' };
const plan = { ...units, PART_CODE: 'PLAN+3Y', SERIAL_NUMBERS: 'S1' };
refuses('400 SERIALS_NOT_ALLOWED for more than one serial number per unit, or any on a care plan', {
  SERIAL_NUMBERS: [{ ...units, SERIAL_NUMBERS: 'S1,S2,S3' }, plan],
});

test('200 a line may have as many serial numbers as units', async () => {
  assert.equal((await add({ ...units, SERIAL_NUMBERS: 'S1,S2' }))['SERIAL_NUMBERS'], 'S1,S2');
});
