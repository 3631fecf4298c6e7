/** Tests fields that a tenant adds: the next call of every operation can use them, with their type. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  eachAs,
  expectRefusal,
  FIELDS,
  type RecordType,
  Shop,
  succeed,
  type Values,
  valuesOf,
} from '../kit/records.ts';

const TYPES = { text: 'OWN_TEXT', number: 'OWN_NUMBER', date: 'OWN_DATE', flag: 'OWN_FLAG' };
const SENT = { OWN_TEXT: 'Ünïcode, "quoted"', OWN_NUMBER: '007.50', OWN_DATE: '2026-03-04', OWN_FLAG: true };
const KEPT = { OWN_TEXT: 'Ünïcode, "quoted"', OWN_NUMBER: '7.5', OWN_DATE: '03/04/2026', OWN_FLAG: 'Y' };
const OWN = Object.values(TYPES);

const shop = await Shop.shared();
const { service } = shop;

const addField = (recordType: RecordType, name: string, type: string): Promise<unknown> =>
  shop.run('fields', 'add', 'shop', recordType, name, '--type', type);
const addFields = async (recordType: RecordType): Promise<void> => {
  for (const [type, name] of Object.entries(TYPES)) await addField(recordType, name, type);
};
const pick = (record: Values): Values => Object.fromEntries(OWN.map((name) => [name, record[name]!]));

// Holds S5.1, S5.4, S13.8.
test('orders: text, number, date and flag fields can be written, filtered and read from the next call', async () => {
  await succeed(shop.createOrder({ NOTES: 'before' }));
  await shop.refuses(shop.createOrder, 'UNKNOWN_FIELD', eachAs(OWN, ['1']));
  await addFields('orders');
  const number = await shop.newOrder(SENT);
  assert.deepEqual(pick(await shop.order(number)), KEPT);
  for (const [name, value] of Object.entries(SENT)) {
    const found = await succeed<Values[]>(shop.queryOrders([{ field: name, value }]));
    assert.deepEqual(valuesOf(found, 'ORDER_NUMBER'), [number], name);
  }
  const [found] = await succeed<Values[]>(shop.queryOrders([{ field: 'OWN_TEXT', value: 'üNÏCODE', contains: true }]));
  assert.deepEqual(pick(found!), KEPT);
});

test('orders: older records have "" in a new field, and filters find them by it', async () => {
  const [old] = await succeed<Values[]>(shop.queryOrders([{ field: 'OWN_DATE', value: '' }]));
  assert.equal(old!['NOTES'], 'before');
  assert.deepEqual(pick(old!), { OWN_TEXT: '', OWN_NUMBER: '', OWN_DATE: '', OWN_FLAG: '' });
});

test('orders: values that do not have the type of their field are refused', async () => {
  await shop.refuses(shop.createOrder, 'INVALID_VALUE', {
    OWN_NUMBER: [{ OWN_NUMBER: 'x' }],
    OWN_DATE: [{ OWN_DATE: '2/30/2026' }],
    OWN_FLAG: [{ OWN_FLAG: 'maybe' }],
  });
  expectRefusal(await shop.queryOrders([{ field: 'OWN_DATE', value: '2/30/2026' }]), 400, 'INVALID_VALUE', 'OWN_DATE');
});

test('line items: custom fields can be added, updated and read, and a partial invoice keeps them', async () => {
  const ORDER_NUMBER = await shop.newOrder({ REFERENCE_NUMBER: '#own', ...SENT });
  await addFields('lines');
  const line = await succeed(shop.addLineItem({ ORDER_NUMBER, QUANTITY: '3', ...SENT }));
  assert.deepEqual(pick(line), KEPT);
  const key = { ORDER_NUMBER, LINE_REF_LOCK_CODE: line['LINE_REF_LOCK_CODE'] };
  assert.deepEqual(pick(await succeed(shop.updateLineItem({ ...key, OWN_TEXT: null, OWN_NUMBER: -1 }))), {
    ...KEPT,
    OWN_TEXT: '',
    OWN_NUMBER: '-1',
  });
  const { backorder } = await shop.run<{ backorder: string }>(
    'order',
    'invoice',
    'shop',
    ORDER_NUMBER,
    '--line',
    '1=1',
  );
  for (const number of [ORDER_NUMBER, backorder]) {
    assert.deepEqual(pick(await shop.order(number)), KEPT);
    assert.deepEqual(pick((await shop.lines(number))[0]!), { ...KEPT, OWN_TEXT: '', OWN_NUMBER: '-1' });
  }
});

test('customers: custom fields can be created, updated, filtered and read', async () => {
  const code = await succeed<string>(shop.createCustomer({}));
  await addFields('customers');
  await succeed(shop.updateCustomer({ CUSTOMER_CODE: code, ...SENT }));
  const other = await succeed<string>(shop.createCustomer({ ...SENT, OWN_TEXT: 'other' }));
  assert.deepEqual(pick(await succeed(shop.getCustomer(code))), KEPT);
  assert.deepEqual(pick(await succeed(shop.getCustomer(other))), { ...KEPT, OWN_TEXT: 'other' });
  assert.equal((await succeed<Values[]>(shop.queryCustomers([{ field: 'OWN_NUMBER', value: '7.50' }]))).length, 2);
  assert.equal(
    (await succeed<Values[]>(shop.queryCustomers([{ field: 'OWN_TEXT', value: 'OTH', contains: true }]))).length,
    1,
  );
});

test('inventory: custom fields can be imported, filtered and read', async () => {
  await addFields('inventory');
  await shop.load('inventory', [
    { PART_CODE: 'P1', OWN_TEXT: SENT.OWN_TEXT, OWN_NUMBER: SENT.OWN_NUMBER, OWN_DATE: '3/4/2026', OWN_FLAG: 'y' },
  ]);
  assert.deepEqual(pick(await succeed(shop.getInventoryItem('P1'))), KEPT);
  for (const [name, value] of Object.entries(KEPT))
    assert.equal((await succeed<Values[]>(shop.queryInventoryItems([{ field: name, value }]))).length, 1, name);
});

test('a field belongs to one record type of one tenant', async () => {
  await addField('orders', 'ONLY_ORDERS', 'text');
  await shop.refuses(shop.createCustomer, 'UNKNOWN_FIELD', eachAs(['ONLY_ORDERS'], ['x']));
  const other = await Shop.open(service, 'other');
  await other.refuses(other.createOrder, 'UNKNOWN_FIELD', eachAs(['ONLY_ORDERS', ...OWN], ['1']));
  assert.deepEqual(
    Object.keys((await other.getOrder(await other.newOrder())).body.data as Values).toSorted(),
    FIELDS.orders.toSorted(),
  );
});

test('UNKNOWN_FIELD suggests custom fields too', async () => {
  const [message] = await shop.refuses(shop.createOrder, 'UNKNOWN_FIELD', eachAs(['ONLY_ORDER'], ['x']));
  assert.match(message!, /\bONLY_ORDERS\b/);
});

test('a name that is taken, reserved or not uppercase is refused and changes nothing', async () => {
  const list = async (): Promise<string> => JSON.stringify(await shop.run('fields', 'list', 'shop'));
  const earlier = await list();
  for (const name of ['OWN_TEXT', 'FUNCTION', 'ID', 'SORT_KEY', 'lower', 'A-B']) {
    const { code, stderr } = await service.command('fields', 'add', 'shop', 'orders', name, '--type', 'text', '--json');
    assert.equal(code, 1, name);
    assert.equal(
      (JSON.parse(stderr) as { error: { code: string } }).error.code,
      'COMMAND_REFUSED',
      `${name}: ${stderr}`,
    );
  }
  assert.equal(await list(), earlier);
  await succeed(shop.createOrder({ OWN_TEXT: 'still there' }));
});

test('custom fields survive a restart', async () => {
  await service.stop();
  await service.restart();
  const number = await shop.newOrder(SENT);
  assert.deepEqual(pick(await shop.order(number)), KEPT);
});
