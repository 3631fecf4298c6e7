/** Tests every operation of the TypeScript client against the service. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { deriveFulfillment, step, StoreroomError, type BatchStep } from '../../client/src/storeroom.ts';
import { times, valuesOf } from '../kit/lists.ts';
import { Shop } from '../kit/records.ts';
import { sharedService } from '../kit/service.ts';
import { clientOf, membersOf } from './clients.ts';

const ROOT = join(import.meta.dirname, '../..');
const service = await sharedService();
const refuses =
  (code: string, members: Partial<StoreroomError> = {}) =>
  (error: unknown) => {
    assert.ok(error instanceof StoreroomError, String(error));
    assert.partialDeepStrictEqual(membersOf(error), { code, ...members });
    return true;
  };

test('every operation of the contract can be called, and returns the records of the service', async () => {
  const shop = await Shop.open(service, 'client');
  await shop.load('inventory', [
    { PART_CODE: 'A/1#x', PART_DESCRIPTION: 'A thing', QTY_ONHAND: '9', UNIT_PRICE: '2.5' },
    { PART_CODE: 'B', PART_DESCRIPTION: 'Another', QTY_ONHAND: '4', UNIT_PRICE: '1' },
  ]);
  const { client, tries } = clientOf(shop);

  const code = await client.customers.create({ CUSTOMER_NAME: 'Ida', CREDIT_LIMIT: 100 });
  assert.equal(await client.customers.update({ CUSTOMER_CODE: code, NOTES: 'rings twice' }), code);
  const customer = await client.customers.get(code);
  assert.partialDeepStrictEqual(customer, { CUSTOMER_NAME: 'Ida', CREDIT_LIMIT: '100', NOTES: 'rings twice' });
  assert.deepEqual(
    valuesOf(await client.customers.query([{ field: 'CUSTOMER_NAME', value: 'Ida' }]).toArray({ limit: 5 }), 'NOTES'),
    ['rings twice'],
  );

  const number = await client.orders.create({ REFERENCE_NUMBER: '#1', ORDER_TYPE: 'sales_order', CUSTOMER_CODE: code });
  const line = await client.lines.add({ ORDER_NUMBER: number, PART_CODE: 'A/1#x', QUANTITY: 2 });
  assert.partialDeepStrictEqual(line, { DESCRIPTION: 'A thing', UNIT_PRICE: '2.5' });
  const { LINE_REF_LOCK_CODE } = line;
  const changed = await client.lines.update({ ORDER_NUMBER: number, LINE_REF_LOCK_CODE, QUANTITY: '3' });
  assert.equal(changed.QUANTITY, '3');
  assert.equal((await client.orders.update({ ORDER_NUMBER: number, SHIP_VIA: 'Bike' })).SHIP_VIA, 'Bike');
  const order = await client.orders.get(number);
  assert.partialDeepStrictEqual(order, { ORDER_TYPE: 'sales_order', SHIP_VIA: 'Bike', ORDER_TOTAL: '7.5' });
  assert.deepEqual(order.lines, [changed]);
  const [found] = await client.orders.query([{ field: 'CUSTOMER_CODE', value: code }]).toArray({ limit: 9 });
  assert.equal(found?.ORDER_NUMBER, number);

  assert.equal((await client.inventory.get('A/1#x')).QTY_AVAILABLE, '6');
  assert.deepEqual(valuesOf(await client.inventory.query().toArray({ limit: 9 }), 'PART_CODE'), ['A/1#x', 'B']);
  const lookup = await client.orders.byStorefrontReference('#1');
  assert.equal(lookup.orders[0]?.pims_order_number, number);
  assert.deepEqual(
    (await client.orders.byStorefrontReference(['#2', '#1'])).map(({ orders }) => orders.length),
    [0, 1],
  );
  assert.equal(deriveFulfillment(lookup).open, 3);
  assert.equal((await client.orders.cancel(number)).ORDER_STATUS, 'CANCELLED');

  const [made, added, renamed] = await client.batch([
    { operation: 'createOrder', body: { REFERENCE_NUMBER: '#3', SNAME: '$mith' } },
    { operation: 'addLineItem', body: { ORDER_NUMBER: step(0).data, PART_CODE: 'B' } },
    { operation: 'updateCustomer', body: { CUSTOMER_CODE: code, NOTES: step(1).data.LINE_REF_LOCK_CODE } },
  ]);
  assert.partialDeepStrictEqual(await client.orders.get(made), { SNAME: '$mith', lines: [added] });
  assert.equal((await client.customers.get(renamed)).NOTES, added.LINE_REF_LOCK_CODE);

  const { changes, hasMore } = await client.listChanges({ after: 0, types: ['orders'], include: 'records,changes' });
  assert.ok(changes.every(({ by, changes: fields }) => by === 'default' && Array.isArray(fields)));
  assert.deepEqual(
    changes.map(({ key, change, operation }) => `${key} ${change} ${operation}`),
    [
      `${number} created createOrder`,
      `${number} updated addLineItem`,
      `${number} updated updateLineItem`,
      `${number} updated updateOrder`,
      `${number} updated cancelOrder`,
      `${made} created createOrder`,
    ],
  );
  assert.equal(hasMore, false);
  const { lines: _, etag, ...fields } = await client.orders.get(made);
  assert.deepEqual(changes.at(-1)!.record, fields);
  assert.match(etag, /^"/);

  const office = await shop.run('keys', 'create', shop.keys.teamID, '--name', 'office', '--scope', 'office');
  const back = clientOf(shop, {
    apiID: office['apiID']!,
    apiSecret: office['apiSecret']!,
    onTry: (one) => tries.push(one),
  });
  assert.equal(await back.client.inventory.create({ PART_CODE: 'C' }), 'C');
  assert.equal(await back.client.inventory.update({ PART_CODE: 'C', UNIT_PRICE: 3 }), 'C');
  assert.equal((await back.client.stock.receive('B', 2)).QTY_ONHAND, '6');
  assert.equal((await back.client.stock.count('B', 5)).QTY_ONHAND, '5');
  assert.equal((await back.client.stock.adjust('B', -1, { REASON: 'broken' })).QTY_ONHAND, '4');
  const ofOrder = client.lines.query([{ field: 'ORDER_NUMBER', value: made }], {
    fields: ['PART_CODE', 'LINE_NUMBER'],
  });
  assert.deepEqual(await ofOrder.toArray({ limit: 2 }), [{ PART_CODE: 'B', LINE_NUMBER: '1' }]);
  const movements = client.stock.movements('B', { pageSize: 2 });
  const kinds: string[] = [];
  for await (const { KIND, AFTER } of movements) kinds.push(`${KIND} ${AFTER}`);
  assert.deepEqual(kinds.slice(-3), ['received 6', 'counted 5', 'adjusted 4']);
  assert.deepEqual(
    (await movements.page('3')).records.map(({ REASON }) => REASON),
    ['broken'],
  );
  assert.equal((await back.client.orders.approve(made)).ORDER_TYPE, 'sales_order');
  assert.equal((await back.client.orders.invoice(made)).ORDER_TYPE, 'invoice');
  const [sold] = (await back.client.orders.get(made)).lines;
  const returned = await back.client.orders.returnLines(made, {
    lines: [{ LINE_REF_LOCK_CODE: sold!.LINE_REF_LOCK_CODE, QUANTITY: 1 }],
  });
  for (const one of [returned, made]) assert.equal((await back.client.orders.void(one)).ORDER_STATUS, 'VOID');

  assert.ok((await client.fields.list('lines')).some(({ name, assigned }) => name === 'LINE_NUMBER' && assigned));
  // Every call counts once, but the batch counts once for each of its steps.
  assert.equal((await client.usage.get()).total, tries.length + 2);
  assert.equal(tries.at(-1)!.monthRequests, tries.length + 2);

  const { paths } = JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8')) as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    path.startsWith('/tenant/') ? valuesOf(Object.values(methods), 'operationId') : [],
  );
  assert.deepEqual([...new Set(valuesOf(tries, 'operation'))].toSorted(), operations.toSorted());
  assert.ok(tries.every(({ status, number: tried }) => status === 200 && tried === 1));
});

test('the change feed is followed from a position, with earlier writes and those made meanwhile', async () => {
  const shop = await Shop.open(service, 'client-feed');
  const { client } = clientOf(shop);
  await client.customers.create({ CUSTOMER_CODE: 'before' });
  const { next: after } = await client.listChanges();
  await client.customers.create({ CUSTOMER_CODE: 'A' });
  const seen: string[] = [];
  const codes = ['B', 'C', undefined];
  for await (const { key, type, record } of client.changes({ after, types: ['customers'], include: 'records' })) {
    if (type === 'customers') seen.push(`${key} ${record!.CUSTOMER_NAME}`);
    const code = codes.shift();
    if (code === undefined) break;
    await client.orders.create({});
    await client.customers.create({ CUSTOMER_CODE: code, CUSTOMER_NAME: `name of ${code}` });
  }
  assert.deepEqual(seen, ['A ', 'B name of B', 'C name of C']);
  const lost = client.listChanges({ after: 10 ** 14 });
  await assert.rejects(
    lost,
    (error) => refuses('CHANGES_GONE', { status: 410 })(error) && /^\d+$/.test((error as StoreroomError).earliest!),
  );
});

test('a query returns every record once, in order, with pages of any size, and its lines on request', async () => {
  const shop = await Shop.open(service, 'client-pages');
  const { client, tries } = clientOf(shop);
  await shop.load(
    'orders',
    times(7, (at) => ({ ORDER_NUMBER: String(at + 1), ORDER_TYPE: 'quote', PO_NUMBER: at === 3 ? '' : 'P' })),
  );
  for (const ORDER_NUMBER of ['2', '2', '5'])
    await client.lines.add({ ORDER_NUMBER, DESCRIPTION: `of ${ORDER_NUMBER}` });
  tries.length = 0;
  const seen: string[] = [];
  for await (const order of client.orders.query([], { pageSize: 3, include: 'lines', fields: ['ORDER_TYPE'] }))
    seen.push(`${order.ORDER_NUMBER}:${order.lines.map(({ DESCRIPTION }) => DESCRIPTION).join()}`);
  assert.deepEqual(seen, ['1:', '2:of 2,of 2', '3:', '4:', '5:of 5', '6:', '7:']);
  assert.equal(tries.length, 3);

  const query = client.orders.query([{ field: 'PO_NUMBER', op: 'not_empty' }], { sort: '-ORDER_NUMBER', pageSize: 2 });
  assert.equal(await query.count(), 6);
  assert.equal((await query.first())?.ORDER_NUMBER, '7');
  const first = await query.page();
  assert.deepEqual(valuesOf(first.records, 'ORDER_NUMBER'), ['7', '6']);
  const rest = await Array.fromAsync(query.pages(first.cursor));
  assert.deepEqual(
    rest.map(({ records }) => valuesOf(records, 'ORDER_NUMBER')),
    [
      ['5', '3'],
      ['2', '1'],
    ],
  );
  tries.length = 0;
  assert.equal((await query.toArray({ limit: 2 })).length, 2);
  assert.equal(tries.length, 1, 'no page is requested before it is needed');
  assert.equal(await client.orders.query([{ field: 'ORDER_TYPE', op: 'in', value: ['invoice'] }]).first(), undefined);
});

test('a refusal is thrown with its code, status, field, step and request ID', async () => {
  const shop = await Shop.open(service, 'client-refused');
  const { client, tries } = clientOf(shop);
  await assert.rejects(
    client.orders.get('7'),
    refuses('NOT_FOUND', { status: 404, field: 'orderNum', operation: 'getOrder' }),
  );
  assert.equal(await client.orders.find('7'), undefined);
  assert.equal(await client.customers.find('7'), undefined);
  assert.equal(await client.inventory.find('7'), undefined);
  const unknown = { REFRENCE_NUMBER: '#1' } as object;
  await assert.rejects(
    client.orders.create(unknown),
    refuses('UNKNOWN_FIELD', { status: 400, field: 'REFRENCE_NUMBER', suggestion: 'REFERENCE_NUMBER' }),
  );
  const steps: BatchStep[] = [
    { operation: 'createOrder', body: {} },
    { operation: 'addLineItem', body: { ORDER_NUMBER: '7' } },
  ];
  await assert.rejects(client.batch(steps), refuses('ORDER_NOT_FOUND', { step: 1 }));
  assert.equal(await client.orders.query().count(), 0);
  assert.ok(tries.every(({ number }) => number === 1));
  const strangers = clientOf(shop, { apiSecret: 'sr_sk_wrong' }).client;
  await assert.rejects(strangers.usage.get(), (error: StoreroomError) => {
    assert.equal(error.code, 'INVALID_CREDENTIALS');
    assert.match(error.requestId!, /./);
    return true;
  });
});

test('a record that changed since it was read is not overwritten, and an unchanged one is not sent again', async () => {
  const shop = await Shop.open(service, 'client-etags');
  const { client } = clientOf(shop);
  const number = await client.orders.create({ NOTES: 'a' });
  const read = await client.orders.get(number, { fields: ['NOTES'] });
  assert.deepEqual({ ...read, etag: '' }, { NOTES: 'a', lines: [], etag: '' });
  assert.equal(await client.orders.get(number, { fields: ['NOTES'], ifNoneMatch: read.etag }), null);
  await client.lines.add({ ORDER_NUMBER: number }, { ifMatch: read.etag });
  await assert.rejects(client.orders.update({ ORDER_NUMBER: number, NOTES: 'b' }, { ifMatch: read.etag }), (error) => {
    assert.ok(refuses('RECORD_CHANGED', { status: 412 })(error));
    assert.notEqual((error as StoreroomError).etag, undefined);
    return true;
  });
  const now = await client.orders.get(number, { ifNoneMatch: read.etag });
  assert.equal(now!.lines.length, 1);
  assert.equal((await client.orders.update({ ORDER_NUMBER: number, NOTES: 'c' }, { ifMatch: now!.etag })).NOTES, 'c');
  const code = await client.customers.create({});
  const { etag } = await client.customers.get(code);
  assert.equal(await client.customers.get(code, { ifNoneMatch: etag }), null);
});

test('custom fields can be read, written, filtered and selected like others', async () => {
  const shop = await Shop.open(service, 'client-custom');
  await shop.run('fields', 'add', shop.keys.teamID, 'orders', 'GIFT_NOTE', '--type', 'text');
  const { client } = clientOf<{ orders: 'GIFT_NOTE' }>(shop);
  const number = await client.orders.create({ GIFT_NOTE: 'for you', REFERENCE_NUMBER: '#1' });
  const [found] = await client.orders
    .query([{ field: 'GIFT_NOTE', op: 'starts_with', value: 'for' }], { fields: ['GIFT_NOTE'] })
    .toArray({ limit: 2 });
  assert.deepEqual(found, { GIFT_NOTE: 'for you' });
  assert.equal((await client.orders.get(number)).GIFT_NOTE, 'for you');
});

test('a partial invoice: the line is updated on its new order, and the fulfillment adds both orders up', async () => {
  const shop = await Shop.open(service, 'client-partial');
  await shop.load('inventory', [
    { PART_CODE: 'PHONE', QTY_ONHAND: '9', SERIALIZED: 'Y', CARE_PLAN: 'N' },
    { PART_CODE: 'PLAN', QTY_ONHAND: '0', SERIALIZED: 'N', CARE_PLAN: 'Y' },
  ]);
  const { client } = clientOf(shop);
  const [number, , plan] = await client.batch([
    { operation: 'createOrder', body: { REFERENCE_NUMBER: '#1', ORDER_TYPE: 'sales_order' } },
    { operation: 'addLineItem', body: { ORDER_NUMBER: step(0).data, PART_CODE: 'PHONE', QUANTITY: 2 } },
    { operation: 'addLineItem', body: { ORDER_NUMBER: step(0).data, PART_CODE: 'PLAN', QUANTITY: 2 } },
  ]);
  const invoice = (...words: string[]): Promise<{ backorder: string }> =>
    shop.run('order', 'invoice', shop.keys.teamID, ...words);
  const { backorder } = await invoice(number, '--line', '1=1', '--serial', '1=S1', '--tracking', 'T1');
  const moved = await client.lines.update({
    ORDER_NUMBER: number,
    LINE_REF_LOCK_CODE: plan.LINE_REF_LOCK_CODE,
    DISCOUNT: 5,
  });
  assert.partialDeepStrictEqual(moved, { ORDER_NUMBER: backorder, DISCOUNT: '5' });
  const partly = deriveFulfillment(await client.orders.byStorefrontReference('#1'));
  const common = { returned: 0, description: '' };
  const phone = { ...common, partNumber: 'PHONE', ordered: 2, isCarePlan: false, parent: undefined };
  const care = { ...common, partNumber: 'PLAN', ordered: 2, isCarePlan: true, parent: 'PHONE' };
  assert.deepEqual(partly, {
    state: 'partly_shipped',
    ordered: 4,
    shipped: 1,
    open: 3,
    trackingNumbers: ['T1'],
    lines: [
      { ...phone, shipped: 1, open: 1, serialNumbers: ['S1'] },
      { ...care, shipped: 0, open: 2, serialNumbers: ['S1'] },
    ],
  });
  await invoice(backorder, '--serial', '1=S2');
  const whole = deriveFulfillment(await client.orders.byStorefrontReference('#1'));
  assert.equal(whole.state, 'shipped');
  assert.deepEqual(
    whole.lines.map(({ shipped, open, serialNumbers }) => [shipped, open, serialNumbers.toSorted()]),
    [
      [2, 0, ['S1', 'S2']],
      [2, 0, ['S1', 'S2']],
    ],
  );
});
