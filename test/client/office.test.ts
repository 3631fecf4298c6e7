/** Tests the operations of the back office in the TypeScript client, with a pair of the scope `office`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deriveFulfillment, step, StoreroomError } from '../../client/src/storeroom.ts';
import { valuesOf } from '../kit/lists.ts';
import { Shop } from '../kit/records.ts';
import { sharedService } from '../kit/service.ts';
import { clientOf, membersOf, type Watched } from './clients.ts';

const service = await sharedService();
const refuses = (code: string, members: Partial<StoreroomError>) => (error: unknown) => {
  assert.ok(error instanceof StoreroomError, String(error));
  assert.partialDeepStrictEqual(membersOf(error), { code, ...members });
  return true;
};

/** Opens a tenant, and returns it with a client whose pair has the scope `office`. */
async function openOffice(teamID: string): Promise<Watched<{ inventory: 'SHELF' }> & { shop: Shop }> {
  const shop = await Shop.open(service, teamID);
  const pair = await shop.run('keys', 'create', teamID, '--name', 'office', '--scope', 'office');
  const { apiID = '', apiSecret = '' } = pair;
  return { shop, ...clientOf(shop, { apiID, apiSecret }) };
}

test('one batch sells at a till: it creates, approves and invoices an order by the lock code of its line', async () => {
  const { client } = await openOffice('client-till');
  await client.inventory.create({ PART_CODE: 'PHONE', UNIT_PRICE: 300, SERIALIZED: true });
  await client.inventory.create({ PART_CODE: 'CASE', UNIT_PRICE: '19.5' });
  const received = await client.stock.receive('PHONE', 2, { SERIAL_NUMBERS: 'S1,$S2', REASON: 'PO 7' });
  assert.partialDeepStrictEqual(received, { QTY_ONHAND: '2', SERIAL_NUMBERS: '$S2,S1' });
  await client.stock.count('CASE', 5);

  const ORDER_NUMBER = step(0).data;
  const [number, phone, cases, approved, invoiced] = await client.batch([
    { operation: 'createOrder', body: { REFERENCE_NUMBER: '#1' } },
    { operation: 'addLineItem', body: { ORDER_NUMBER, PART_CODE: 'PHONE', SERIAL_NUMBERS: '$S2' } },
    { operation: 'addLineItem', body: { ORDER_NUMBER, PART_CODE: 'CASE', QUANTITY: 3 } },
    { operation: 'approveOrder', body: { ORDER_NUMBER } },
    {
      operation: 'invoiceOrder',
      body: {
        ORDER_NUMBER,
        lines: [
          { LINE_REF_LOCK_CODE: step(1).data.LINE_REF_LOCK_CODE, QUANTITY: 1, SERIAL_NUMBERS: '$S2' },
          { LINE_REF_LOCK_CODE: step(2).data.LINE_REF_LOCK_CODE, QUANTITY: step(1).data.QUANTITY },
        ],
        TRACKING_NUMBERS: 'T1',
      },
    },
  ]);
  assert.partialDeepStrictEqual(approved, { ORDER_NUMBER: number, ORDER_TYPE: 'sales_order', BACKORDER_NUMBER: '' });
  assert.partialDeepStrictEqual(invoiced, { ORDER_NUMBER: number, ORDER_TYPE: 'invoice' });
  const order = await client.orders.get(number);
  assert.partialDeepStrictEqual(order, { TRACKING_NUMBERS: 'T1', ORDER_TOTAL: '319.5' });
  assert.deepEqual(
    order.lines.map((line) => [line.LINE_REF_LOCK_CODE, line.NUMBER_SHIPPED, line.SERIAL_NUMBERS]),
    [
      [phone.LINE_REF_LOCK_CODE, '1', '$S2'],
      [cases.LINE_REF_LOCK_CODE, '1', ''],
    ],
  );
  assert.equal((await client.orders.get(invoiced.BACKORDER_NUMBER)).lines[0]?.QUANTITY, '2');
  assert.equal((await client.inventory.get('CASE')).QTY_ONHAND, '4');
});

test('an order goes through its stages by single calls, only while it is as it was read', async () => {
  const { client } = await openOffice('client-stages');
  await client.inventory.create({ PART_CODE: 'A', UNIT_PRICE: 2 });
  const { orderNumber, lines } = await client.orders.createWithLines({}, [{ PART_CODE: 'A', QUANTITY: 2 }]);
  const { etag } = await client.orders.get(orderNumber);
  assert.equal((await client.orders.approve(orderNumber, { ifMatch: etag })).ORDER_TYPE, 'sales_order');
  const changed = refuses('RECORD_CHANGED', { status: 412 });
  await assert.rejects(client.orders.invoice(orderNumber, {}, { ifMatch: etag }), changed);
  const once = { idempotencyKey: 'invoice' };
  const { LINE_REF_LOCK_CODE } = lines[0]!;
  const details = { lines: [{ LINE_REF_LOCK_CODE, QUANTITY: 1 }], SHIP_VIA: 'Bike' };
  const invoiced = await client.orders.invoice(orderNumber, details, once);
  assert.deepEqual(await client.orders.invoice(orderNumber, details, once), invoiced);
  assert.equal((await client.orders.get(orderNumber)).SHIP_VIA, 'Bike');
  assert.equal((await client.orders.invoice(invoiced.BACKORDER_NUMBER)).BACKORDER_NUMBER, '');
  const voided = await client.orders.void(orderNumber, { REASON: 'wrong size' });
  assert.deepEqual(voided, { ...invoiced, ORDER_STATUS: 'VOID', BACKORDER_NUMBER: '' });
  assert.equal((await client.inventory.get('A')).QTY_ONHAND, '-1');
});

test('a line of an invoice is returned, once for its key, and its serial number is in stock again', async () => {
  const { client } = await openOffice('client-returns');
  await client.inventory.create({ PART_CODE: 'A', UNIT_PRICE: 2, SERIALIZED: true });
  await client.stock.receive('A', 1, { SERIAL_NUMBERS: 'S1' });
  const line = { PART_CODE: 'A', SERIAL_NUMBERS: 'S1' };
  const { orderNumber, lines } = await client.orders.createWithLines({ REFERENCE_NUMBER: '#R' }, [line]);
  await client.orders.invoice(orderNumber);
  const { LINE_REF_LOCK_CODE } = lines[0]!;
  const details = { lines: [{ LINE_REF_LOCK_CODE, QUANTITY: 1, SERIAL_NUMBERS: 'S1', RESTOCK: true }], REASON: 'torn' };
  const once = { idempotencyKey: 'return', ifMatch: (await client.orders.get(orderNumber)).etag };
  const number = await client.orders.returnLines(orderNumber, details, once);
  assert.equal(await client.orders.returnLines(orderNumber, details, once), number);
  assert.partialDeepStrictEqual(await client.orders.get(number), { RETURN_OF: orderNumber, ORDER_TOTAL: '-2' });
  assert.equal((await client.inventory.get('A')).QTY_ONHAND, '1');
  const lookup = await client.orders.byStorefrontReference('#R');
  assert.deepEqual(new Set(lookup.orders.map((order) => order.return_of)), new Set([undefined, orderNumber]));
  const { state, lines: parts } = deriveFulfillment(lookup);
  const [{ ordered, shipped, open, returned, serialNumbers } = parts[0]!] = parts;
  assert.deepEqual([state, ordered, shipped, open, returned, serialNumbers], ['shipped', 1, 1, 0, 1, ['S1']]);
});

test('parts are created and changed, and their stock is received, counted and adjusted', async () => {
  const { shop, client } = await openOffice('client-stock');
  await shop.run('fields', 'add', shop.keys.teamID, 'inventory', 'SHELF', '--type', 'text');
  assert.equal(await client.inventory.create({ PART_CODE: 'A', QTY_ONORDER: 12, SHELF: '3b' }), 'A');
  assert.equal(await client.inventory.update({ PART_CODE: 'A', UNIT_PRICE: '9', SHELF: '4' }), 'A');
  const received = await client.stock.receive('A', 10, { FROM_QUANTITY: 0 });
  assert.partialDeepStrictEqual(received, { QTY_ONHAND: '10', QTY_ONORDER: '2', UNIT_PRICE: '9', SHELF: '4' });
  assert.equal((await client.stock.adjust('A', -1, { REASON: 'broken' })).QTY_ONHAND, '9');
  assert.equal((await client.stock.count('A', '7.5')).QTY_ONHAND, '7.5');
  const [counted, order] = await client.batch([
    { operation: 'countStock', body: { PART_CODE: 'A', QUANTITY: 7 } },
    { operation: 'createOrder', body: { NOTES: step(0).data.QTY_ONHAND } },
  ]);
  assert.equal(counted.QTY_ONHAND, '7');
  assert.equal((await client.orders.get(order)).NOTES, '7');
});

test('412 stock that is not what was read is not written, and the call is not repeated', async () => {
  const { client, tries } = await openOffice('client-from');
  await client.inventory.create({ PART_CODE: 'A' });
  await client.stock.receive('A', 3);
  tries.length = 0;
  const refused = refuses('RECORD_CHANGED', { status: 412, operation: 'countStock', repeatable: false });
  await assert.rejects(client.stock.count('A', 5, { FROM_QUANTITY: 2 }), refused);
  assert.deepEqual(valuesOf(tries, 'status'), [412]);
  assert.equal((await client.inventory.get('A')).QTY_ONHAND, '3');
});

test('403 a pair of the scope write calls no operation of the back office, also in a batch', async () => {
  const shop = await Shop.open(service, 'client-write-pair');
  const { client } = clientOf(shop);
  const number = await client.orders.create({});
  const calls = [
    client.orders.approve(number),
    client.orders.invoice(number),
    client.orders.void(number),
    client.orders.returnLines(number, { lines: [{ LINE_REF_LOCK_CODE: 'L', QUANTITY: 1 }] }),
    client.inventory.create({ PART_CODE: 'A' }),
    client.inventory.update({ PART_CODE: 'A' }),
    client.stock.receive('A', 1),
    client.stock.count('A', 1),
    client.stock.adjust('A', 1, { REASON: 'found' }),
    client.batch([{ operation: 'approveOrder', body: { ORDER_NUMBER: number } }]),
  ];
  for (const call of calls) await assert.rejects(call, refuses('SCOPE_MISSING', { status: 403 }));
});

test('a value that cannot be sent is refused in the lines of an invoice too, before anything is sent', async () => {
  const { client, tries } = clientOf(await Shop.open(service, 'client-lines-values'));
  const lines = [{ LINE_REF_LOCK_CODE: 'L', QUANTITY: NaN }];
  const refused = { name: 'TypeError', message: /^QUANTITY of lines\[0\] of invoiceOrder is NaN\./ };
  await assert.rejects(client.orders.invoice('1', { lines }), refused);
  assert.deepEqual(tries, []);
});
