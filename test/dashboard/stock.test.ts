/**
 * Tests stock that people move by hand: the ledger adds up to QTY_ONHAND after receipts, counts, adjustments, invoices
 * and voids, each serial number is in one place, and `storeroom check` finds no fault.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Shop, succeed } from '../kit/records.ts';
import { auditOf, openScene } from './scene.ts';
import { expectCode, expectOk, Visitor } from './visitor.ts';

const service = await openScene();
const shop = await Shop.open(service, 'stock');
const owner = await Visitor.make(service, 'stock', 'owner');
const clerk = await owner.add('clerk');

const act = (path: string, body: object) => clerk.post(`/records/stock/${path}`, body);
const create = (part: object) => clerk.send('PUT', '/dashboard/api/records/inventory/create', JSON.stringify(part));
const voidInvoice = (ORDER_NUMBER: string, REASON = '') => clerk.post('/records/orders/void', { ORDER_NUMBER, REASON });
const partOf = async (partCode: string): Promise<Record<string, string>> =>
  (await expectOk(clerk.get('/records/inventory/single', { partCode }))).body.data as Record<string, string>;
const ledgerOf = async (PART_CODE: string) => (await clerk.ask('GET /stock/movements', { PART_CODE })).movements;

/** Creates a sales order with one line of this part. */
async function order(PART_CODE: string, QUANTITY: string, more: object = {}): Promise<string> {
  const ORDER_NUMBER = await shop.newOrder({ ORDER_TYPE: 'sales_order', ...more });
  await succeed(shop.addLineItem({ ORDER_NUMBER, PART_CODE, QUANTITY, UNIT_PRICE: '2' }));
  return ORDER_NUMBER;
}
const invoice = (ORDER_NUMBER: string, serials: readonly string[] = [], quantities: object = {}) =>
  clerk.invoice(ORDER_NUMBER, { quantities, serials: { 1: serials } });

test('a table can be checked without any change, then its valid rows are imported, and the others listed', async () => {
  const table = {
    recordType: 'inventory',
    file: 'parts.csv',
    fields: ['PART_CODE', 'UNIT_PRICE', 'QTY_ONHAND'],
    rows: [
      ['IMP-1', '4', '2'],
      ['IMP-2', 'dear', '1'],
      ['IMP-3', '5'],
      ['IMP-1', '6', '1'],
    ],
    updates: false,
    isDry: true,
  } as const;
  const rejected = [
    [1, 'UNIT_PRICE must be a decimal number'],
    [2, 'The row has 2 cells, but the first line has 3.'],
    [3, "PART_CODE 'IMP-1' is already in use."],
  ];
  const send = async (more: object) => {
    const view = await clerk.ask('POST /imports', { ...table, ...more });
    return [view.imported, view.updated, view.rejected.map(({ row, message }) => [row, message])] as const;
  };
  const [imported, updated, reasons] = await send({});
  assert.deepEqual([imported, updated], [1, 0]);
  for (const [at, [row, message]] of rejected.entries()) {
    assert.equal(reasons[at]![0], row);
    assert.ok(String(reasons[at]![1]).startsWith(String(message)), String(reasons[at]![1]));
  }
  await expectCode(clerk.get('/records/inventory/single', { partCode: 'IMP-1' }), '404 NOT_FOUND');
  assert.deepEqual(await ledgerOf('IMP-1'), []);
  assert.equal((await send({ isDry: false }))[0], 1);
  assert.deepEqual(
    (await ledgerOf('IMP-1')).map((row) => [row.kind, row.after, row.by]),
    [['imported', '2', clerk.email]],
  );
  const counted = await send({ isDry: false, updates: true, rows: [['IMP-1', '9', '5']] });
  assert.deepEqual(counted, [0, 1, []]);
  const part = await partOf('IMP-1');
  assert.deepEqual([part['UNIT_PRICE'], part['QTY_ONHAND'], (await ledgerOf('IMP-1'))[0]!.kind], ['9', '5', 'counted']);
  const unknown = { ...table, fields: ['PART_CODE', 'PRICE', 'QTY_ONHAND'] };
  assert.equal((await expectCode(clerk.post('/imports', unknown), '400 UNKNOWN_FIELD')).body.field, 'PRICE');
  await expectCode(clerk.post('/imports', { ...table, fields: [], rows: [[]] }), '400 INVALID_VALUE');
  const rows = Array.from({ length: 201 }, () => ['X', '1', '1']);
  await expectCode(clerk.post('/imports', { ...table, rows }), '400 INVALID_VALUE');
});

test('the audit log has quantity and reason of movements of stock and of voids, and of no other write', async () => {
  await expectOk(create({ PART_CODE: 'JUG' }));
  await shop.run('fields', 'add', 'stock', 'orders', 'REASON', '--type', 'text');
  await expectOk(act('receive', { PART_CODE: 'JUG', QUANTITY: '7', REASON: 'DHL' }));
  const ORDER_NUMBER = await order('JUG', '1');
  const line = JSON.stringify({ ORDER_NUMBER, PART_CODE: 'JUG', QUANTITY: '2' });
  await expectOk(clerk.send('PUT', '/dashboard/api/records/orders/line_item', line));
  await expectOk(clerk.post('/records/orders/update', { ORDER_NUMBER, REASON: 'a field' }));
  await expectOk(invoice(ORDER_NUMBER));
  await expectOk(voidInvoice(ORDER_NUMBER, 'wrong customer'));
  const kept = (await auditOf(owner)).map(({ action, detail: { quantity, reason } }) => [action, quantity, reason]);
  assert.deepEqual(kept.slice(-5), [
    ['receiveStock', '7', 'DHL'],
    ['addLineItem', undefined, undefined],
    ['updateOrder', undefined, undefined],
    ['invoiceOrder', undefined, undefined],
    ['voidInvoice', undefined, 'wrong customer'],
  ]);
});

// Holds S8.15.
test('the ledger has every movement, and its sum is the quantity on hand', async () => {
  await expectOk(create({ PART_CODE: 'MUG', PART_DESCRIPTION: 'Mug', QTY_ONORDER: '10' }));
  await expectOk(act('count', { PART_CODE: 'MUG', QUANTITY: '5', REASON: 'new part' }));
  const received = await expectOk(act('receive', { PART_CODE: 'MUG', QUANTITY: '7', REASON: 'DHL' }));
  assert.deepEqual(received.body.data, await partOf('MUG'));
  assert.equal((await partOf('MUG'))['QTY_ONORDER'], '3');
  await expectOk(act('count', { PART_CODE: 'MUG', QUANTITY: '11' }));
  await expectOk(act('adjust', { PART_CODE: 'MUG', QUANTITY: '-1.5', REASON: 'broken' }));
  const number = await order('MUG', '4');
  await expectOk(invoice(number, [], { 1: '3' }));
  await expectOk(voidInvoice(number, 'wrong customer'));
  await expectOk(voidInvoice(number, 'again'));
  const rows = await ledgerOf('MUG');
  assert.deepEqual(
    rows.map((row) => [row.number, row.kind, row.before, row.quantity, row.after, row.reason, row.orderNumber]),
    [
      [6, 'returned', '6.5', '3', '9.5', 'wrong customer', number],
      [5, 'sold', '9.5', '-3', '6.5', '', number],
      [4, 'adjusted', '11', '-1.5', '9.5', 'broken', ''],
      [3, 'counted', '12', '-1', '11', '', ''],
      [2, 'received', '5', '7', '12', 'DHL', ''],
      [1, 'counted', '0', '5', '5', 'new part', ''],
    ],
  );
  assert.ok(rows.every(({ by }) => by === clerk.email));
  const { QTY_ONHAND, QTY_COMMITTED, QTY_AVAILABLE } = await partOf('MUG');
  // The backorder still waits for one unit.
  assert.deepEqual([QTY_ONHAND, QTY_COMMITTED, QTY_AVAILABLE], ['9.5', '1', '8.5']);
  const { code, stdout } = await service.command('check');
  assert.equal(code, 0, stdout);
});

// Holds S7.11, S7.12, S8.17.
test('a page of movements with many serial numbers ends at a megabyte, and the next pages have the others', async () => {
  await expectOk(create({ PART_CODE: 'MANY' }));
  for (let at = 0; at < 10; at++) {
    const serials = Array.from({ length: 1000 }, (_, unit) => `${at}-${unit}-`.padEnd(128, 'x'));
    await expectOk(act('receive', { PART_CODE: 'MANY', QUANTITY: '1000', SERIAL_NUMBERS: serials.join() }));
  }
  const numbers: number[] = [];
  for (let before: number | null = 11; before !== null;) {
    const page = await expectOk(clerk.get('/stock/movements', { PART_CODE: 'MANY', before: String(before) }));
    assert.ok(page.text.length < 1.2 * 1024 * 1024, `${page.text.length} characters`);
    const { movements, next } = page.body as { movements: { number: number }[]; next: number | null };
    numbers.push(...movements.map(({ number }) => number));
    before = next;
  }
  assert.deepEqual(numbers, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
});

test('400 only the notes of a void invoice can be changed, and it counts as not fulfilled', async () => {
  await shop.load('inventory', [{ PART_CODE: 'CUP', QTY_ONHAND: '4' }]);
  const number = await order('CUP', '2', { REFERENCE_NUMBER: '#void' });
  await expectCode(voidInvoice(number), '400 STAGE_NOT_ALLOWED');
  await expectOk(invoice(number));
  await expectOk(voidInvoice(number));
  const found = await shop.findOrdersByStorefrontReference('#void');
  assert.deepEqual([found.body.orders[0].order_type, found.body.orders[0].cancelled], ['invoice', true]);
  await succeed(shop.updateOrder({ ORDER_NUMBER: number, NOTES: 'void' }));
  for (const change of [{ SHIP_VIA: 'x' }, { ORDER_STATUS: 'OPEN' }])
    await expectCode(clerk.post('/records/orders/update', { ORDER_NUMBER: number, ...change }), '400 ORDER_CLOSED');
  await expectCode(voidInvoice('none'), '400 ORDER_NOT_FOUND');
  for (const ORDER_STATUS of ['VOID', 'void']) {
    const made = await shop.createOrder({ ORDER_STATUS });
    assert.deepEqual([made.status, made.body.code], [400, 'INVALID_VALUE']);
  }
  assert.equal((await partOf('CUP'))['QTY_ONHAND'], '4');
});

// Holds S8.16.
test('400 a serialised part moves with one serial number per unit, each sold once until it is returned', async () => {
  const refused = '400 SERIALS_NOT_ALLOWED';
  await expectOk(create({ PART_CODE: 'PHONE', SERIALIZED: 'Y' }));
  const receive = (QUANTITY: string, ...serials: string[]) =>
    act('receive', { PART_CODE: 'PHONE', QUANTITY, SERIAL_NUMBERS: serials.join() });
  await expectCode(receive('2', 'A'), refused);
  await expectCode(receive('2', 'A', 'A'), refused);
  await expectCode(receive('1.5', 'A'), refused);
  await expectOk(receive('3', 'A', 'B', 'C'));
  await expectCode(receive('1', 'B'), refused);

  const first = await order('PHONE', '2');
  await expectCode(invoice(first), refused);
  await expectCode(invoice(first, ['A']), refused);
  await expectCode(invoice(first, ['A', 'A']), refused);
  await expectOk(invoice(first, ['A', 'B']));
  const second = await order('PHONE', '1');
  const sold = await expectCode(invoice(second, ['B']), refused);
  assert.match(sold.body.message as string, new RegExp(`'B' of part PHONE is already sold on order ${first}`));

  // The serial numbers of an invoice's line can be corrected, and stock follows.
  const { body } = await shop.getOrder(first);
  const line = body.subRecords[0].ORDER_LINEITEMS as Record<string, string>;
  const correct = (SERIAL_NUMBERS: string) =>
    clerk.post('/records/orders/line_item', {
      ORDER_NUMBER: first,
      LINE_REF_LOCK_CODE: line['LINE_REF_LOCK_CODE'],
      SERIAL_NUMBERS,
    });
  await expectCode(correct('A'), refused);
  await expectOk(correct('A,C'));
  await expectOk(invoice(second, ['B']));
  await expectCode(correct('A,B'), refused);
  await expectOk(voidInvoice(second));
  await expectOk(correct('A,B'));
  const found = await clerk.ask('GET /stock/serial', { serial: 'A' });
  assert.deepEqual(found.units, [{ PART_CODE: 'PHONE', ORDER_NUMBER: first }]);
  const third = await order('PHONE', '1');
  await expectCode(invoice(third, ['A']), refused);
  await expectOk(invoice(third, ['C']));
});

// Holds S8.16.
test('a count of a serialised part lists the present serial numbers, and the missing ones leave stock', async () => {
  const refused = '400 SERIALS_NOT_ALLOWED';
  const PART_CODE = 'WATCH';
  const all = ['S1', 'S2', 'S3', 'S4', 'S5', 'S6', 'S7'];
  await expectOk(create({ PART_CODE, SERIALIZED: 'Y' }));
  await expectOk(act('receive', { PART_CODE, QUANTITY: '7', SERIAL_NUMBERS: all.join() }));
  const count = (QUANTITY: string, serials?: string[]) =>
    act('count', { PART_CODE, QUANTITY, ...(serials && { SERIAL_NUMBERS: serials.join() }) });
  for (const [quantity, serials] of [
    ['6'],
    ['6', all],
    ['5.5', all.slice(0, 5)],
    ['2', ['S1', 'S1']],
    ['0', ['S1']],
  ] as const)
    await expectCode(count(quantity, serials && [...serials]), refused);
  await expectOk(count('6', ['S1', 'S2', 'S3', 'S4', 'S5', 'NEW']));
  assert.equal((await partOf(PART_CODE))['QTY_ONHAND'], '6');
  const [counted] = await ledgerOf(PART_CODE);
  assert.deepEqual([counted!.kind, counted!.quantity, counted!.serials], ['counted', '-1', ['S6', 'S7', 'NEW']]);
  const isInStock = async (serial: string) => (await clerk.ask('GET /stock/serial', { serial })).units.length > 0;
  assert.deepEqual(await Promise.all(['S5', 'S6', 'S7', 'NEW'].map(isInStock)), [true, false, false, true]);

  const adjust = (QUANTITY: string, serials: string[]) =>
    act('adjust', { PART_CODE, QUANTITY, SERIAL_NUMBERS: serials.join(), REASON: 'x' });
  for (const [quantity, serials] of [
    ['1', []],
    ['-1', []],
    ['-1', ['S7']],
    ['1', ['S1']],
    ['-1.5', ['S1']],
  ] as const)
    await expectCode(adjust(quantity, [...serials]), refused);
  await expectOk(adjust('-2', ['NEW', 'S5']));
  await expectOk(adjust('1', ['S6']));
  const importing = {
    recordType: 'inventory',
    file: 'w.csv',
    fields: ['PART_CODE', 'QTY_ONHAND'],
    isDry: false,
  } as const;
  const again = (quantity: string) =>
    clerk.ask('POST /imports', { ...importing, updates: true, rows: [[PART_CODE, quantity]] });
  assert.match((await again('4')).rejected[0]!.message, /needs a serial number for each unit/);
  assert.equal((await again('5')).updated, 1);
  assert.equal((await partOf(PART_CODE))['QTY_ONHAND'], '5');
  assert.equal((await again('0')).updated, 1);
  assert.equal(await isInStock('S1'), false);
  const { code, stdout } = await service.command('check');
  assert.equal(code, 0, stdout);
});

test('400 an impossible receipt, count or adjustment is refused and moves nothing', async () => {
  await shop.load('inventory', [{ PART_CODE: 'PEN', QTY_ONHAND: '1' }]);
  const receive = (quantity: string) => act('receive', { PART_CODE: 'PEN', QUANTITY: quantity });
  for (const quantity of ['0', '-1', 'one']) await expectCode(receive(quantity), '400 QUANTITY_NOT_ALLOWED');
  await expectCode(act('count', { PART_CODE: 'PEN', QUANTITY: '-1' }), '400 QUANTITY_NOT_ALLOWED');
  await expectCode(act('adjust', { PART_CODE: 'PEN', QUANTITY: '0', REASON: 'x' }), '400 QUANTITY_NOT_ALLOWED');
  await expectCode(act('adjust', { PART_CODE: 'PEN', QUANTITY: '1', REASON: ' ' }), '400 MISSING_FIELD');
  await expectCode(act('count', { PART_CODE: 'none', QUANTITY: '1' }), '400 PART_NOT_FOUND');
  await expectCode(act('count', { PART_CODE: 'PEN' }), '400 MISSING_FIELD');
  await expectCode(act('count', { PART_CODE: 'PEN', QUANTITY: '1', quantity: '1' }), '400 UNKNOWN_FIELD');
  await expectCode(act('count', { PART_CODE: 'PEN', QUANTITY: '1', REASON: 'x'.repeat(501) }), '400 INVALID_VALUE');
  const stale = act('count', { PART_CODE: 'PEN', QUANTITY: '9', FROM_QUANTITY: '2' });
  assert.match((await expectCode(stale, '412 RECORD_CHANGED')).body.message as string, /has 1 on hand, not 2/);
  await expectCode(create({ PART_CODE: 'PEN' }), '400 CODE_TAKEN');
  const change = (values: object) => clerk.post('/records/inventory/update', { PART_CODE: 'PEN', ...values });
  await expectCode(change({ QTY_ONHAND: '3' }), '400 FIELD_NOT_ALLOWED');
  await expectOk(change({ BARCODE: '12', UNIT_PRICE: '1.50' }));
  const { QTY_ONHAND, BARCODE, UNIT_PRICE } = await partOf('PEN');
  assert.deepEqual([QTY_ONHAND, BARCODE, UNIT_PRICE], ['1', '12', '1.5']);
  assert.equal((await ledgerOf('PEN')).length, 1);
});

test('the orders that wait for a part are listed from the oldest, with those that can be filled now', async () => {
  await shop.load('inventory', [{ PART_CODE: 'BOX', QTY_ONHAND: '5' }]);
  const numbers = [await order('BOX', '3'), await order('BOX', '4'), await order('BOX', '2', { BNAME: 'Ann' })];
  await order('BOX', '1', { ORDER_TYPE: 'quote' });
  await order('BOX', '1', { DROP_SHIP: 'Y' });
  await succeed(shop.cancelOrder({ ORDER_NUMBER: await order('BOX', '1') }));
  await expectOk(invoice(await order('BOX', '1', { BNAME: 'shipped' })));
  const { orders } = await clerk.ask('GET /stock/waiting', { PART_CODE: 'BOX' });
  const told = orders.map((one) => [one.ORDER_NUMBER, one.quantity, one.canFill, one.BNAME]);
  // Four units are on hand now.
  assert.deepEqual(told, [
    [numbers[0], '3', true, ''],
    [numbers[1], '4', false, ''],
    [numbers[2], '2', false, 'Ann'],
  ]);
});
