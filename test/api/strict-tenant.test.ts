/** Tests `tenant set --strict` and `--default-stage`, which change what a tenant accepts from the next call on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachAs, Shop, succeed } from '../kit/records.ts';
import { sharedService } from '../kit/service.ts';

const service = await sharedService();
const strict = await Shop.open(service, 'strict', '--strict', 'on');
await strict.load('inventory', [
  { PART_CODE: 'MB/14', PART_DESCRIPTION: 'Notebook', LOCATION_CODE: 'MAIN', QTY_ONHAND: '5' },
]);
await strict.load('customers', [{ CUSTOMER_CODE: 'VINET' }]);

const stageOf = async (shop: Shop, fields: object): Promise<string> => {
  const number = await shop.newOrder(fields);
  return (await shop.order(number))['ORDER_TYPE']!;
};

test('strict: codes that exist are accepted', async () => {
  const ORDER_NUMBER = await strict.newOrder({ CUSTOMER_CODE: 'VINET', LOCATION_CODE: 'MAIN' });
  assert.equal((await succeed(strict.addLineItem({ ORDER_NUMBER, PART_CODE: 'MB/14' })))['DESCRIPTION'], 'Notebook');
});

test('strict: missing and empty codes are accepted', async () => {
  const ORDER_NUMBER = await strict.newOrder({ CUSTOMER_CODE: '', LOCATION_CODE: null });
  await succeed(strict.createOrder({}));
  const line = await succeed(strict.addLineItem({ ORDER_NUMBER, DESCRIPTION: 'Free text' }));
  await succeed(
    strict.updateLineItem({
      ORDER_NUMBER,
      LINE_REF_LOCK_CODE: line['LINE_REF_LOCK_CODE'],
      QUANTITY: '1',
      PART_CODE: '',
    }),
  );
});

// Holds S5.13.
test('strict: 400 UNKNOWN_REFERENCE for a new order with an unknown CUSTOMER_CODE or LOCATION_CODE', async () => {
  const messages = await strict.refuses(
    strict.createOrder,
    'UNKNOWN_REFERENCE',
    eachAs(['CUSTOMER_CODE', 'LOCATION_CODE'], ['NOBODY', 'vinet', 'main']),
  );
  assert.match(messages[0]!, /NOBODY/);
});

// Holds S5.13.
test('strict: 400 UNKNOWN_REFERENCE for a change of an order to an unknown CUSTOMER_CODE or LOCATION_CODE', async () => {
  const ORDER_NUMBER = await strict.newOrder();
  const codes = eachAs(['CUSTOMER_CODE', 'LOCATION_CODE'], ['NOBODY', 'vinet', 'main'], { ORDER_NUMBER });
  await strict.refuses(strict.updateOrder, 'UNKNOWN_REFERENCE', codes);
  await succeed(strict.updateOrder({ ORDER_NUMBER, CUSTOMER_CODE: 'VINET', LOCATION_CODE: 'MAIN', NOTES: 'x' }));
  await succeed(strict.updateOrder({ ORDER_NUMBER, CUSTOMER_CODE: '', LOCATION_CODE: null }));
});

// Holds S5.13.
test('strict: 400 UNKNOWN_REFERENCE for a new line with an unknown PART_CODE', async () => {
  const ORDER_NUMBER = await strict.newOrder();
  const [message] = await strict.refuses(
    strict.addLineItem,
    'UNKNOWN_REFERENCE',
    eachAs(['PART_CODE'], ['NO/99', 'mb/14'], { ORDER_NUMBER }),
  );
  assert.match(message!, /NO\/99/);
});

test('strict: 400 UNKNOWN_REFERENCE for an update of a line to an unknown PART_CODE', async () => {
  const ORDER_NUMBER = await strict.newOrder();
  const { LINE_REF_LOCK_CODE } = await succeed(strict.addLineItem({ ORDER_NUMBER, PART_CODE: 'MB/14' }));
  await strict.refuses(
    strict.updateLineItem,
    'UNKNOWN_REFERENCE',
    eachAs(['PART_CODE'], ['NO/99'], { ORDER_NUMBER, LINE_REF_LOCK_CODE, QUANTITY: '2' }),
  );
});

test('strict: a code is accepted from the moment it exists', async () => {
  await strict.refuses(strict.createOrder, 'UNKNOWN_REFERENCE', eachAs(['CUSTOMER_CODE'], ['NEW']));
  await succeed(strict.createCustomer({ CUSTOMER_CODE: 'NEW' }));
  await succeed(strict.createOrder({ CUSTOMER_CODE: 'NEW' }));
});

test('strict: switched off or on while the service runs, it applies from the next call', async () => {
  await strict.run('tenant', 'set', 'strict', '--strict', 'off');
  await succeed(strict.createOrder({ CUSTOMER_CODE: 'NOBODY' }));
  await strict.run('tenant', 'set', 'strict', '--strict', 'on');
  await strict.refuses(strict.createOrder, 'UNKNOWN_REFERENCE', eachAs(['CUSTOMER_CODE'], ['NOBODY']));
});

test('strict: other tenants are not affected', async () => {
  const lenient = await Shop.open(service, 'lenient');
  await succeed(lenient.createOrder({ CUSTOMER_CODE: 'NOBODY', LOCATION_CODE: 'NOWHERE' }));
});

// Holds S8.2.
test('default stage: an order begins in the stage that the tenant has set, unless it sends ORDER_TYPE', async () => {
  const quoting = await Shop.open(service, 'quoting', '--default-stage', 'quote');
  assert.equal(await stageOf(quoting, {}), 'quote');
  assert.equal(await stageOf(quoting, { ORDER_TYPE: 'worksheet' }), 'worksheet');
  await quoting.run('tenant', 'set', 'quoting', '--default-stage', 'sales_order');
  assert.equal(await stageOf(quoting, { ORDER_TYPE: '' }), 'sales_order');
  assert.equal(await stageOf(strict, {}), 'worksheet');
});

test('default stage: a sales order by default commits its stock', async () => {
  await strict.run('tenant', 'set', 'strict', '--default-stage', 'sales_order');
  const ORDER_NUMBER = await strict.newOrder();
  await succeed(strict.addLineItem({ ORDER_NUMBER, PART_CODE: 'MB/14', QUANTITY: '2' }));
  const { QTY_ONHAND, QTY_COMMITTED, QTY_AVAILABLE } = await succeed(strict.getInventoryItem('MB/14'));
  assert.deepEqual([QTY_ONHAND, QTY_COMMITTED, QTY_AVAILABLE], ['5', '2', '3']);
});
