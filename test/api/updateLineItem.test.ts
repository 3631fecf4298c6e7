/** updateLineItem: POST /orders/line_item. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times } from '../kit/lists.ts';
import { eachAs, sampleOf, Shop, succeed, type Values } from '../kit/records.ts';

const shop = await Shop.shared();
const refuses = shop.refuses.bind(shop, shop.updateLineItem);
const { service } = shop;
await shop.load('inventory', [
  { PART_CODE: 'MB/14', PART_DESCRIPTION: 'Notebook', CARE_PLAN: 'N' },
  { PART_CODE: 'PLAN+3Y', PART_DESCRIPTION: 'Care plan', CARE_PLAN: 'Y' },
]);

/** A line of a new order, with what every update of it has to send. */
async function newLine(fields: Record<string, unknown> = {}): Promise<{ line: Values; key: Values }> {
  const ORDER_NUMBER = await succeed<string>(shop.createOrder({}));
  const line = await succeed(
    shop.addLineItem({ ORDER_NUMBER, PART_CODE: 'A', DESCRIPTION: 'Part A', QUANTITY: '5', ...fields }),
  );
  return { line, key: { ORDER_NUMBER, LINE_REF_LOCK_CODE: line['LINE_REF_LOCK_CODE']! } };
}

const update = (key: Values, change: Record<string, unknown>): Promise<Values> =>
  succeed(shop.updateLineItem({ ...key, ...change }));

test('200 data is the updated line: only what was sent changes, subRecords null', async () => {
  const { line, key } = await newLine({ UNIT_PRICE: '10' });
  const updated = await update(key, { QUANTITY: '7', DISCOUNT: '2.50' });
  assert.deepEqual({ ...updated, MODIFIED_DATE: '' }, { ...line, QUANTITY: '7', DISCOUNT: '2.5', MODIFIED_DATE: '' });
  assert.ok(updated['MODIFIED_DATE']! >= line['MODIFIED_DATE']!);
  assert.deepEqual(await shop.lines(key['ORDER_NUMBER']!), [updated]);
});

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

test('200 NUMBER_SHIPPED may be set from 0 to QUANTITY', async () => {
  const { key } = await newLine();
  for (const NUMBER_SHIPPED of ['0', '2.5', '5', '0'])
    assert.equal((await update(key, { NUMBER_SHIPPED }))['NUMBER_SHIPPED'], NUMBER_SHIPPED);
  assert.equal((await update(key, { QUANTITY: '9', NUMBER_SHIPPED: 9 }))['NUMBER_SHIPPED'], '9');
});

test('400 QUANTITY_NOT_ALLOWED: NUMBER_SHIPPED beyond QUANTITY or below 0', async () => {
  const { key } = await newLine();
  const changes = [{ NUMBER_SHIPPED: '5.01' }, { NUMBER_SHIPPED: -1 }, { NUMBER_SHIPPED: '6', QUANTITY: '5.5' }];
  await refuses('QUANTITY_NOT_ALLOWED', {
    NUMBER_SHIPPED: changes.map((change) => ({ ...key, ...change })),
  });
  await update(key, { NUMBER_SHIPPED: '3' });
  await refuses('QUANTITY_NOT_ALLOWED', { NUMBER_SHIPPED: [{ ...key, QUANTITY: '2' }] });
});

test('200 another known part fills DESCRIPTION and CARE_PLAN when they are not sent', async () => {
  const { key } = await newLine();
  const updated = await update(key, { PART_CODE: 'PLAN+3Y' });
  assert.deepEqual([updated['DESCRIPTION'], updated['CARE_PLAN']], ['Care plan', 'Y']);
  const own = await update(key, { PART_CODE: 'MB/14', DESCRIPTION: 'Mine', CARE_PLAN: 'Y' });
  assert.deepEqual([own['DESCRIPTION'], own['CARE_PLAN']], ['Mine', 'Y']);
  assert.equal((await update(key, { PART_CODE: 'MB/14', QUANTITY: '2' }))['DESCRIPTION'], 'Mine');
});

test('200 updates of one line at once are all done, one after the other', async () => {
  const { key } = await newLine();
  await Promise.all(times(20, (at) => update(key, at % 2 === 0 ? { UNIT_PRICE: at } : { DISCOUNT: at })));
  const [line] = await shop.lines(key['ORDER_NUMBER']!);
  assert.ok(Number(line!['UNIT_PRICE']) % 2 === 0 && line!['UNIT_PRICE'] !== '');
  assert.equal(Number(line!['DISCOUNT']) % 2, 1);
});

test('400 ORDER_NOT_FOUND names the order that does not exist', async () => {
  const { key } = await newLine();
  const [message] = await refuses('ORDER_NOT_FOUND', eachAs(['ORDER_NUMBER'], ['424242'], key));
  assert.match(message!, /424242/);
});

test('400 LINE_NOT_FOUND names the lock code, also for one of another order', async () => {
  const [{ key }, other] = [await newLine(), await newLine()];
  const codes = ['nothing-like-it', other.key['LINE_REF_LOCK_CODE'], key['LINE_REF_LOCK_CODE']!.slice(0, -1), '1'];
  const messages = await refuses('LINE_NOT_FOUND', eachAs(['LINE_REF_LOCK_CODE'], codes, { ...key, QUANTITY: '1' }));
  for (const [index, message] of messages.entries()) assert.ok(message.includes(codes[index]!), message);
});

test('400 MISSING_FIELD without ORDER_NUMBER or LINE_REF_LOCK_CODE', async () => {
  const { key } = await newLine();
  await refuses(
    'MISSING_FIELD',
    eachAs(['ORDER_NUMBER', 'LINE_REF_LOCK_CODE'], [undefined, null, ''], { ...key, QUANTITY: '1' }),
  );
});

test('400 FIELD_NOT_ALLOWED for FUNCTION, LINE_NUMBER, CREATE_DATE, MODIFIED_DATE', async () => {
  const { key } = await newLine();
  const names = ['FUNCTION', 'LINE_NUMBER', 'CREATE_DATE', 'MODIFIED_DATE'];
  await refuses('FIELD_NOT_ALLOWED', eachAs(names, ['1', null], { ...key, QUANTITY: '1' }));
});

test('400 UNKNOWN_FIELD and INVALID_VALUE leave the line as it was', async () => {
  const { key } = await newLine();
  const [message] = await refuses('UNKNOWN_FIELD', eachAs(['UNITPRICE'], ['1'], { ...key, QUANTITY: '1' }));
  assert.match(message!, /'UNITPRICE'.*\bUNIT_PRICE\b/);
  await refuses('INVALID_VALUE', eachAs(['QUANTITY', 'UNIT_PRICE'], ['many'], { ...key, DESCRIPTION: 'new' }));
});

test('400 SERIALS_NOT_ALLOWED: at most one serial number a unit, none on a care plan', async () => {
  const { key } = await newLine({ SERIAL_NUMBERS: 'S1,S2' });
  const changes = [
    { SERIAL_NUMBERS: 'S1,S2,S3,S4,S5,S6' },
    { QUANTITY: '1' },
    { CARE_PLAN: 'Y' },
    { PART_CODE: 'PLAN+3Y' },
  ];
  await refuses('SERIALS_NOT_ALLOWED', {
    SERIAL_NUMBERS: changes.map((change) => ({ ...key, ...change })),
  });
  assert.equal((await update(key, { CARE_PLAN: 'Y', SERIAL_NUMBERS: null }))['SERIAL_NUMBERS'], '');
});

test('400 STAGE_NOT_ALLOWED: an invoiced line keeps its part and quantities; its text may change', async () => {
  const { key } = await newLine();
  await shop.run('order', 'invoice', 'shop', key['ORDER_NUMBER']!);
  const names = ['QUANTITY', 'NUMBER_SHIPPED', 'PART_CODE', 'CARE_PLAN'];
  const changes = Object.fromEntries(
    names.map((name) => [name, [{ ...key, [name]: name === 'CARE_PLAN' ? 'Y' : '4' }]]),
  );
  await refuses('STAGE_NOT_ALLOWED', changes);
  const found = (await update(key, { DESCRIPTION: 'Part A, as delivered', SERIAL_NUMBERS: 'S9' }))['SERIAL_NUMBERS'];
  assert.equal(found, 'S9');
});

test('400 INVALID_BODY when the body is not an object', async () => {
  await refuses('INVALID_BODY', { '': [[], '"text"', undefined] });
});
