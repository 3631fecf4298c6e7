/** Tests listChanges: GET /changes. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readMetrics, sumOf } from '../kit/metrics.ts';
import { times } from '../kit/lists.ts';
import { expectRefusal, FIELDS, Shop, succeed, WIDE_CUSTOMER, type Values } from '../kit/records.ts';
import { Service, sharedService, temporaryFolder, type Answer } from '../kit/service.ts';
import { until } from '../kit/wait.ts';

interface Change {
  seq: string;
  type: string;
  key: string;
  change: string;
  at: string;
  operation: string;
  by: string;
  changes?: { field: string; from: string; to: string; line?: string }[];
  record?: Values | null;
}

const service = await sharedService();

const ask = ({ service: by, keys }: Pick<Shop, 'service' | 'keys'>, query: Values = {}): Promise<Answer> =>
  by.call(keys, 'GET', '/changes', { query });
const read = (shop: Shop, query?: Values): Promise<Change[]> => succeed<Change[]>(ask(shop, query));
const positionOf = ({ headers }: Answer): string => headers.get('x-next-after')!;
const shown = (changes: readonly Change[]): string[] =>
  changes.map(({ operation, type, key, change }) => `${operation}: ${type} ${key} ${change}`);
const countWaiting = async (by: Pick<Service, 'origin'>): Promise<number> =>
  sumOf((await readMetrics(by)).samples, 'storeroom_requests_waiting')!;

// Holds S6.23, S6.25.
test('200 the changes after a position in order, with the next one; stock and lines change their records', async () => {
  const shop = await Shop.open(service, 'feed');
  await shop.load('inventory', [{ PART_CODE: 'P', QTY_ONHAND: '5' }]);
  const order = await shop.newOrder({ ORDER_TYPE: 'sales_order' });
  await succeed(shop.addLineItem({ ORDER_NUMBER: order, PART_CODE: 'P', QUANTITY: '1' }));
  const answer = await ask(shop, { after: '0' });
  const changes = answer.body.data as Change[];
  assert.deepEqual(shown(changes), [
    'import: inventory P created',
    `createOrder: orders ${order} created`,
    `addLineItem: orders ${order} updated`,
    'addLineItem: inventory P updated',
  ]);
  for (const { seq, at } of changes) {
    assert.match(seq, /^[1-9]\d*$/);
    assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  }
  assert.deepEqual([positionOf(answer), answer.headers.get('x-has-more')], [changes.at(-1)!.seq, 'false']);
  const first = await ask(shop, { after: '0', maxReturn: '2' });
  assert.deepEqual(first.body.data, changes.slice(0, 2));
  assert.equal(first.headers.get('x-has-more'), 'true');
  assert.deepEqual(await read(shop, { after: positionOf(first) }), changes.slice(2));
  assert.deepEqual(await read(shop, { after: '0', types: 'inventory' }), [changes[0], changes[3]]);
  assert.equal(await service.usageOf('feed'), 6);
});

// Holds S6.24, S6.25.
test('200 a batch has one change per record, with its first operation and author, created if it made it', async () => {
  const shop = await Shop.open(service, 'once');
  await shop.load('inventory', [{ PART_CODE: 'P', QTY_ONHAND: '5' }, { PART_CODE: 'Q' }]);
  const old = await shop.newOrder();
  const after = positionOf(await ask(shop));
  const steps = [
    { operation: 'createOrder', body: { ORDER_TYPE: 'sales_order' } },
    ...times(20, (at) => ({
      operation: 'addLineItem',
      body: { ORDER_NUMBER: '$0.data', PART_CODE: at % 2 === 0 ? 'P' : 'Q', QUANTITY: '1' },
    })),
    { operation: 'updateOrder', body: { ORDER_NUMBER: old, NOTES: 'a', FREIGHT: '1' } },
    { operation: 'updateOrder', body: { ORDER_NUMBER: old, NOTES: 'b' } },
    { operation: 'cancelOrder', body: { ORDER_NUMBER: old } },
  ];
  const answers = await succeed<{ data: string }[]>(service.call(shop.keys, 'POST', '/batch', { body: steps }));
  const made = answers[0]!.data;
  const changes = await read(shop, { after, include: 'changes' });
  assert.deepEqual(shown(changes), [
    `createOrder: orders ${made} created`,
    'addLineItem: inventory P updated',
    'addLineItem: inventory Q updated',
    `updateOrder: orders ${old} updated`,
  ]);
  assert.ok(changes.every(({ by }) => by === 'default'));
  assert.deepEqual(
    changes.map((change) => change.changes),
    [
      [],
      [
        { field: 'QTY_COMMITTED', from: '0', to: '10' },
        { field: 'QTY_AVAILABLE', from: '5', to: '-5' },
      ],
      [
        { field: 'QTY_COMMITTED', from: '0', to: '10' },
        { field: 'QTY_AVAILABLE', from: '0', to: '-10' },
      ],
      [
        { field: 'NOTES', from: '', to: 'b' },
        { field: 'FREIGHT', from: '', to: '1' },
        { field: 'ORDER_STATUS', from: '', to: 'CANCELLED' },
      ],
    ],
  );
});

// Holds S6.23, S6.29.
test('200 include=changes gives the fields of records and lines before and after, for every writer', async () => {
  const shop = await Shop.open(service, 'fields');
  const parts = [{ PART_CODE: 'P', PART_DESCRIPTION: 'Part', UNIT_PRICE: '2', QTY_ONHAND: '9' }];
  await shop.load('inventory', parts);
  const order = await shop.newOrder({ ORDER_TYPE: 'sales_order' });
  const line = await succeed(shop.addLineItem({ ORDER_NUMBER: order, PART_CODE: 'P', QUANTITY: '3' }));
  const { LINE_REF_LOCK_CODE } = await succeed(
    shop.addLineItem({ ORDER_NUMBER: order, PART_CODE: 'P', UNIT_PRICE: '1' }),
  );
  const name = { ORDER_NUMBER: order, LINE_REF_LOCK_CODE };
  const written = async (): Promise<string[]> => {
    const changes = await read(shop, { after, include: 'records,changes' });
    assert.ok(changes.every(({ record }) => typeof record === 'object'));
    return changes.map(({ type, by, operation, changes: fields = [] }) =>
      [type, by, operation, ...fields.map(({ field, from, to, line: at = '' }) => `${at}${field}:${from}>${to}`)].join(
        ' ',
      ),
    );
  };
  let after = positionOf(await ask(shop));
  await succeed(shop.updateLineItem({ ...name, DESCRIPTION: 'x'.repeat(200) }));
  assert.deepEqual(await written(), [`orders default updateLineItem 2DESCRIPTION:Part>${'x'.repeat(100)}`]);
  after = positionOf(await ask(shop));
  const wide = (value: string) => ({
    ORDER_NUMBER: order,
    ...Object.fromEntries(FIELDS.customers.slice(2, 22).map((field) => [field, value])),
  });
  const steps = ['a', 'b'].map((value) => ({
    operation: 'updateOrder',
    body: { ...wide(value), NOTES: value, SHIP_VIA: 'c' },
  }));
  await succeed(service.call(shop.keys, 'POST', '/batch', { body: steps }));
  const [{ changes: most } = {}] = await read(shop, { after, include: 'changes' });
  assert.deepEqual([most!.length, new Set(most!.map(({ from, to }) => `${from}>${to}`))], [20, new Set(['>c', '>b'])]);
  after = positionOf(await ask(shop));
  await shop.run('order', 'invoice', 'fields', order, '--line', '1=1');
  const [invoice, backorder, part] = await written();
  assert.equal(
    invoice,
    'orders command line invoiceOrder ORDER_TYPE:sales_order>invoice SUBTOTAL:7>2 ORDER_TOTAL:7>2 ' +
      '2line:1 × P> 1QUANTITY:3>1 1NUMBER_SHIPPED:0>1',
  );
  assert.equal(backorder, 'orders command line invoiceOrder');
  assert.equal(part, 'inventory command line invoiceOrder QTY_ONHAND:9>8 QTY_COMMITTED:4>3');
  assert.equal((await shop.lines(order))[0]!['LINE_REF_LOCK_CODE'], line['LINE_REF_LOCK_CODE']);
  after = positionOf(await ask(shop));
  const file = join(temporaryFolder(), 'parts.csv');
  writeFileSync(file, 'PART_CODE,UNIT_PRICE,QTY_ONHAND\nP,3,7\n');
  await shop.run('import', 'fields', 'inventory', file, '--update');
  assert.deepEqual(await written(), ['inventory import import UNIT_PRICE:2>3 QTY_ONHAND:8>7 QTY_AVAILABLE:5>4']);
});

// Holds S7.15.
test('200 a write that changes nothing keeps date, tag and feed and counts: alone, in a batch, from a file', async () => {
  const shop = await Shop.open(service, 'unchanged');
  const parts = [{ PART_CODE: 'P', PART_DESCRIPTION: 'Part', QTY_ONHAND: '5', UNIT_PRICE: '2.50' }];
  const customers = [{ CUSTOMER_CODE: 'C', BCITY: 'Reims', MODIFIED_DATE: '2026-01-01T00:00:00Z' }];
  await shop.load('inventory', parts);
  await shop.load('customers', customers);
  const ORDER_NUMBER = await shop.newOrder({ ORDER_TYPE: 'sales_order', ORDER_DATE: '1/5/2026', FREIGHT: '1.00' });
  const line = await succeed(shop.addLineItem({ ORDER_NUMBER, PART_CODE: 'P', QUANTITY: '1' }));
  const { LINE_REF_LOCK_CODE } = line;
  const order = { ORDER_NUMBER, ORDER_DATE: '2026-01-05', FREIGHT: 1, NOTES: null };
  const sameLine = { ORDER_NUMBER, LINE_REF_LOCK_CODE, PART_CODE: 'P', QUANTITY: '1.0' };
  const customer = { CUSTOMER_CODE: 'C', BCITY: 'Reims' };
  const cancelled = await shop.newOrder();
  await succeed(shop.cancelOrder({ ORDER_NUMBER: cancelled }));
  const steps = [
    { operation: 'updateCustomer', body: customer },
    { operation: 'updateOrder', body: order },
    { operation: 'updateLineItem', body: sameLine },
    { operation: 'cancelOrder', body: { ORDER_NUMBER: cancelled } },
  ];
  const seen = async (): Promise<unknown> => [
    (await Promise.all([shop.getOrder(ORDER_NUMBER), shop.getCustomer('C'), shop.getInventoryItem('P')])).map(
      ({ headers, body }) => [headers.get('etag'), body.data, body.subRecords],
    ),
    await read(shop, { after: '0' }),
  ];
  const [before, calls] = [await seen(), await service.usageOf('unchanged')];
  assert.deepEqual(await succeed(shop.updateOrder(order)), await shop.order(ORDER_NUMBER));
  assert.deepEqual(await succeed(shop.updateLineItem(sameLine)), line);
  assert.equal(await succeed(shop.updateCustomer(customer)), 'C');
  const answers = await succeed<{ data: unknown }[]>(service.call(shop.keys, 'POST', '/batch', { body: steps }));
  assert.deepEqual(
    answers.map(({ data }) => data),
    ['C', await shop.order(ORDER_NUMBER), line, await shop.order(cancelled)],
  );
  assert.equal(await service.usageOf('unchanged'), calls + 3 + 4 + 3);
  for (const [type, records] of Object.entries({ inventory: parts, customers })) {
    const file = join(temporaryFolder(), `${type}.csv`);
    writeFileSync(
      file,
      [records[0]!, ...records].map((one, at) => (at ? Object.values : Object.keys)(one).join()).join('\n'),
    );
    const done = await shop.run<{ updated: number }>('import', 'unchanged', type, file, '--update');
    assert.equal(done.updated, 1);
  }
  assert.deepEqual(await seen(), before);
  const made = (await read(shop, { after: '0' })).length;
  await succeed(shop.updateOrder({ ...order, NOTES: 'x' }));
  await succeed(shop.updateLineItem({ ...sameLine, DISCOUNT: '5' }));
  assert.equal((await read(shop, { after: '0' })).length, made + 2);
});

// Holds S6.26.
test('200 without after, no changes and the current position, which the next change follows', async () => {
  const shop = await Shop.open(service, 'now');
  await shop.newOrder();
  const now = await ask(shop);
  assert.deepEqual([now.body.data, now.headers.get('x-has-more')], [[], 'false']);
  const order = await shop.newOrder();
  assert.deepEqual(shown(await read(shop, { after: positionOf(now) })), [`createOrder: orders ${order} created`]);
});

// Holds S6.29.
test('200 include=records gives each record in its current state, and ends a page by its bytes', async () => {
  const shop = await Shop.open(service, 'records');
  const order = await shop.newOrder({ NOTES: 'a' });
  await succeed(shop.updateOrder({ ORDER_NUMBER: order, NOTES: 'b' }));
  const changes = await read(shop, { after: '0', include: 'records' });
  assert.deepEqual(
    changes.map(({ record }) => record),
    [await shop.order(order), await shop.order(order)],
  );
  await shop.load(
    'customers',
    times(60, (at) => ({ CUSTOMER_CODE: `C${at}`, ...WIDE_CUSTOMER })),
  );
  const seen: string[] = [];
  for (let [after, hasMore] = [changes[1]!.seq, true]; hasMore;) {
    const page = await ask(shop, { after, include: 'records', types: 'customers' });
    assert.ok(page.text.length < 5_000_000);
    seen.push(...(page.body.data as Change[]).map(({ key }) => key));
    [after, hasMore] = [positionOf(page), page.headers.get('x-has-more') === 'true'];
  }
  assert.deepEqual(
    seen,
    times(60, (at) => `C${at}`),
  );
});

// Holds S6.27.
test('400 for a wrong parameter; 410 CHANGES_GONE with the earliest position for a deleted position', async () => {
  const shop = await Shop.open(service, 'wrong');
  for (const [name, value] of Object.entries({ after: '-1', types: 'lines', maxReturn: '0', wait: '56', include: 'x' }))
    expectRefusal(await ask(shop, { [name]: value }), 400, 'INVALID_PARAMETER', name);
  assert.match(
    (await ask(shop, { include: 'x' })).body.message as string,
    /'records,changes' \(only on GET \/changes\)/,
  );
  const gone = await ask(shop, { after: '999' });
  expectRefusal(gone, 410, 'CHANGES_GONE', 'after');
  assert.equal(gone.body.earliest, '0');
  assert.deepEqual(await read(shop, { after: gone.body.earliest as string }), []);
});

// Holds S6.28.
test('a call that waits returns the next change of a call or a command, or nothing when its time is up', async () => {
  const own = await Service.start();
  const shop = await Shop.open(own, 'waits');
  const wait = async (more: Values = {}): Promise<{ answer: Promise<Answer> }> => {
    const after = positionOf(await ask(shop));
    const before = await countWaiting(own);
    const answer = ask(shop, { after, wait: '55', ...more });
    await until(async () => (await countWaiting(own)) > before);
    return { answer };
  };
  const one = await wait();
  const order = await shop.newOrder();
  assert.deepEqual(shown((await one.answer).body.data as Change[]), [`createOrder: orders ${order} created`]);
  const file = join(temporaryFolder(), 'customers.csv');
  writeFileSync(file, 'CUSTOMER_CODE\nC\n');
  for (const partial of [[], ['--partial']]) {
    writeFileSync(file, `CUSTOMER_CODE\nC${partial.length}\n`);
    const other = await wait({ types: 'customers' });
    await shop.newOrder();
    await shop.run('import', 'waits', 'customers', file, ...partial);
    const expected = [`import: customers C${partial.length} created`];
    assert.deepEqual(shown((await other.answer).body.data as Change[]), expected);
  }
  const empty = await ask(shop, { after: positionOf(await ask(shop)), wait: '1' });
  assert.deepEqual([empty.status, empty.body.data, empty.headers.get('x-has-more')], [200, [], 'false']);
  const stopped = await wait();
  await own.stop();
  assert.deepEqual((await stopped.answer).body.data, []);
});

// Holds S6.30.
test('waiting calls do not count as in flight, and have separate limits: 429 for the tenant, 503 for all', async () => {
  const env = { STOREROOM_IN_FLIGHT_MAX: '4', STOREROOM_TENANT_WAITING_MAX: '8', STOREROOM_WAITING_MAX: '12' };
  const own = await Service.start({ env });
  const [shop, other] = [await Shop.open(own, 'many'), await Shop.open(own, 'other')];
  const waiting: Promise<Answer>[] = [];
  const waitMore = async (by: Shop, count: number): Promise<void> => {
    for (let at = 0; at < count; at++) {
      waiting.push(ask(by, { after: '0', wait: '25' }));
      await until(async () => (await countWaiting(own)) === waiting.length);
    }
  };
  await waitMore(shop, 8);
  expectRefusal(await ask(shop, { after: '0', wait: '25' }), 429, 'TOO_MANY_WAITING');
  await waitMore(other, 4);
  expectRefusal(await ask(other, { after: '0', wait: '25' }), 503, 'SERVICE_BUSY');
  assert.equal((await ask(shop, { after: '0' })).status, 200);
  await Promise.all([shop.newOrder(), other.newOrder()]);
  for (const answer of await Promise.all(waiting)) assert.equal((answer.body.data as Change[]).length, 1);
  await own.stop();
});
