/** Tests the ETags of single reads, and If-None-Match and If-Match, which send them. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { expectRefusal, Shop, succeed, type Values } from '../kit/records.ts';
import type { Answer } from '../kit/service.ts';

const shop = await Shop.shared();
await shop.load('inventory', [
  { PART_CODE: '11', QTY_ONHAND: '100' },
  { PART_CODE: '12', QTY_ONHAND: '100' },
]);

type Subject = 'order' | 'customer' | 'part';
const READS = {
  order: { path: '/orders/single', parameter: 'orderNum', operation: 'getOrder' },
  customer: { path: '/customers/single', parameter: 'customerCode', operation: 'getCustomer' },
  part: { path: '/inventory/single', parameter: 'partCode', operation: 'getInventoryItem' },
};

const read = (subject: Subject, key: string, condition?: string, fields?: string): Promise<Answer> =>
  shop.service.call(shop.keys, 'GET', READS[subject].path, {
    query: { [READS[subject].parameter]: key, ...(fields !== undefined && { fields }) },
    headers: { ...(condition !== undefined && { 'if-none-match': condition }) },
  });

async function tagOf(subject: Subject, key: string): Promise<string> {
  const { status, headers } = await read(subject, key);
  assert.equal(status, 200);
  return headers.get('etag') ?? '';
}

const CHANGES = {
  addLineItem: ['PUT', '/orders/line_item'],
  updateLineItem: ['POST', '/orders/line_item'],
  updateOrder: ['POST', '/orders/update'],
  cancelOrder: ['POST', '/orders/cancel'],
  updateCustomer: ['POST', '/customers/update'],
} as const;
type Change = keyof typeof CHANGES;

function change(name: Change, body: Values, ifMatch?: string, more: Record<string, string> = {}): Promise<Answer> {
  const [method, path] = CHANGES[name];
  const headers = { ...(ifMatch !== undefined && { 'if-match': ifMatch }), ...more };
  return shop.service.call(shop.keys, method, path, { body, headers });
}

const newLine = async (order: string, values: Values = {}): Promise<Values> =>
  succeed(shop.addLineItem({ ORDER_NUMBER: order, PART_CODE: '11', QUANTITY: '1', ...values }));
const nameOf = ({ ORDER_NUMBER, LINE_REF_LOCK_CODE }: Values): Values => ({
  ORDER_NUMBER: ORDER_NUMBER!,
  LINE_REF_LOCK_CODE: LINE_REF_LOCK_CODE!,
});

interface Changeable {
  readonly subject: Subject;
  readonly key: string;
  readonly name: Change;
  readonly body: Values;
}

/** Makes a record for each changing operation. Returns each record with the call that changes it. */
async function makeEach(): Promise<Changeable[]> {
  const customer = await succeed<string>(shop.createCustomer({ NOTES: 'before' }));
  const [grown, changed] = [await shop.newOrder(), await shop.newOrder()];
  const [noted, cancelled] = [await shop.newOrder(), await shop.newOrder()];
  const line = nameOf(await newLine(changed));
  return [
    { subject: 'customer', key: customer, name: 'updateCustomer', body: { CUSTOMER_CODE: customer, NOTES: 'after' } },
    { subject: 'order', key: noted, name: 'updateOrder', body: { ORDER_NUMBER: noted, NOTES: 'after' } },
    { subject: 'order', key: cancelled, name: 'cancelOrder', body: { ORDER_NUMBER: cancelled } },
    { subject: 'order', key: grown, name: 'addLineItem', body: { ORDER_NUMBER: grown, QUANTITY: '3' } },
    { subject: 'order', key: changed, name: 'updateLineItem', body: { ...line, QUANTITY: '7' } },
  ];
}

suite('single reads', () => {
  // Holds S11.5, S11.7.
  test('200 each has a strong ETag, the same one while nothing changes', async () => {
    const [order, customer] = [await shop.newOrder(), await succeed<string>(shop.createCustomer({}))];
    for (const [subject, key] of Object.entries({ order, customer, part: '11' }) as [Subject, string][]) {
      const tag = await tagOf(subject, key);
      assert.match(tag, /^"[!#-~]+"$/, subject);
      for (let again = 0; again < 3; again++) assert.equal(await tagOf(subject, key), tag, subject);
    }
  });

  // Holds S11.5, S11.7.
  test('200 no other response has one', async () => {
    const order = await shop.newOrder({ REFERENCE_NUMBER: '#77' });
    const answers = [
      await shop.queryOrders([]),
      await shop.findOrdersByStorefrontReference('#77'),
      await shop.addLineItem({ ORDER_NUMBER: order }),
      await shop.createCustomer({}),
      await shop.getOrder('nobody'),
    ];
    for (const { headers } of answers) assert.equal(headers.get('etag'), null);
  });

  // Holds S11.5, S11.7.
  test('200 every write of a record gives it another ETag: fields, lines, stock, stages, imports', async () => {
    const order = await shop.newOrder({ ORDER_TYPE: 'quote' });
    const customer = await succeed<string>(shop.createCustomer({}));
    const line = nameOf(await newLine(order, { PART_CODE: '12', QUANTITY: '3' }));
    const seen = new Set<string>();
    const checkMoved = async (subject: Subject, key: string, what: string): Promise<void> => {
      const tag = await tagOf(subject, key);
      assert.ok(!seen.has(tag), `${what}: ${subject} ${key} has an ETag from before`);
      seen.add(tag);
    };
    await checkMoved('customer', customer, 'at first');
    await succeed(shop.updateCustomer({ CUSTOMER_CODE: customer, NOTES: 'x' }));
    await checkMoved('customer', customer, 'a changed field');
    await checkMoved('order', order, 'at first');
    await checkMoved('part', '12', 'at first');
    await newLine(order, { PART_CODE: '' });
    await checkMoved('order', order, 'a new line');
    await succeed(change('updateOrder', { ORDER_NUMBER: order, NOTES: 'x' }));
    await checkMoved('order', order, 'a changed field');
    await succeed(shop.updateLineItem({ ...line, DISCOUNT: '5' }));
    await checkMoved('order', order, 'a changed line');
    // Only the lines of this order change.
    const fixed = await shop.newOrder({ SUBTOTAL: '1', ORDER_TOTAL: '1' });
    await checkMoved('order', fixed, 'at first');
    await shop.load('lines', [
      { ORDER_NUMBER: order, LINE_NUMBER: '7', PART_CODE: '', QUANTITY: '1' },
      { ORDER_NUMBER: fixed, LINE_NUMBER: '1', PART_CODE: '', QUANTITY: '1' },
    ]);
    await checkMoved('order', order, 'an imported line');
    await checkMoved('order', fixed, 'an imported line');
    await shop.run('order', 'approve', shop.keys.teamID, order);
    await checkMoved('order', order, 'an approval');
    await checkMoved('part', '12', 'stock that an approval commits');
    await succeed(shop.updateLineItem({ ...line, QUANTITY: '5' }));
    await checkMoved('order', order, 'a changed quantity');
    await checkMoved('part', '12', 'stock that a line commits');
    const invoice = ['order', 'invoice', shop.keys.teamID, order, '--line', '1=2'];
    const { backorder } = await shop.run<{ backorder: string }>(...invoice);
    await checkMoved('order', order, 'a partial invoice');
    await checkMoved('part', '12', 'stock that an invoice takes');
    await checkMoved('order', backorder, 'what a partial invoice leaves');
  });

  // Holds S11.5, S11.7.
  test('200 a custom field changes the ETag of every response that shows it', async () => {
    const order = await shop.newOrder();
    const before = { order: await tagOf('order', order), part: await tagOf('part', '11') };
    await shop.run('fields', 'add', shop.keys.teamID, 'lines', 'OWN_MARK', '--type', 'text');
    const withLines = await tagOf('order', order);
    assert.notEqual(withLines, before.order);
    assert.equal(await tagOf('part', '11'), before.part);
    await shop.run('fields', 'add', shop.keys.teamID, 'orders', 'OWN_MARK', '--type', 'text');
    assert.notEqual(await tagOf('order', order), withLines);
  });

  // Holds S11.10.
  test('304 without a body for If-None-Match with the ETag, *, a list or a weak tag', async () => {
    const order = await shop.newOrder({ NOTES: 'x'.repeat(4000) });
    const customer = await succeed<string>(shop.createCustomer({}));
    for (const [subject, key] of Object.entries({ order, customer, part: '11' }) as [Subject, string][]) {
      const tag = await tagOf(subject, key);
      for (const condition of [tag, '*', ' * ', `"a", ${tag}`, `W/"a",,${tag} , "b"`, `W/${tag}`]) {
        const { status, text, headers } = await read(subject, key, condition);
        assert.deepEqual({ status, text }, { status: 304, text: '' }, `${subject} ${condition}`);
        assert.equal(headers.get('etag'), tag);
        assert.match(headers.get('x-month-requests') ?? '', /^\d+$/);
        assert.equal(headers.get('content-length'), null);
      }
    }
  });

  // Holds S11.10.
  test('304 only for the coding to be sent: each coding has its own ETag, and If-Match accepts each', async () => {
    const customer = await succeed<string>(shop.createCustomer({ NOTES: 'x'.repeat(4000) }));
    const readAs = (coding: string, condition = '"a"'): Promise<Answer> =>
      shop.service.call(shop.keys, 'GET', READS.customer.path, {
        query: { customerCode: customer },
        headers: { 'accept-encoding': coding, 'if-none-match': condition },
      });
    const codings = ['identity', 'gzip', 'br', 'zstd'];
    const tags = await Promise.all(codings.map(async (coding) => (await readAs(coding)).headers.get('etag')!));
    assert.equal(new Set(tags).size, codings.length);
    for (const [at, coding] of codings.entries()) {
      for (const tag of tags)
        assert.equal((await readAs(coding, tag)).status, tag === tags[at] ? 304 : 200, `${coding} ${tag}`);
      const vary = (await readAs(coding, tags[at])).headers.get('vary');
      assert.equal(vary, coding === 'identity' ? null : 'accept-encoding');
      const now = (await readAs(coding)).headers.get('etag')!;
      assert.equal((await change('updateCustomer', { CUSTOMER_CODE: customer, BCITY: coding }, now)).status, 200);
      const gone = await change('updateCustomer', { CUSTOMER_CODE: customer, BCITY: coding }, now);
      expectRefusal(gone, 412, 'RECORD_CHANGED');
      tags.splice(
        0,
        tags.length,
        ...(await Promise.all(codings.map(async (one) => (await readAs(one)).headers.get('etag')!))),
      );
    }
  });

  test('304 only for the requested fields: other fields have other ETags, and If-Match accepts each', async () => {
    const [order, customer] = [await shop.newOrder(), await succeed<string>(shop.createCustomer({}))];
    const keys = { order, customer, part: '11' };
    const fieldsOf = { order: 'ORDER_NUMBER', customer: 'CUSTOMER_CODE', part: 'PART_CODE' };
    for (const [subject, key] of Object.entries(keys) as [Subject, string][]) {
      const name = fieldsOf[subject];
      const asked = [undefined, name, 'MODIFIED_DATE', `${name},MODIFIED_DATE`, `MODIFIED_DATE,${name}`];
      const answers = await Promise.all(asked.map((fields) => read(subject, key, undefined, fields)));
      const tags = answers.map(({ headers }) => headers.get('etag')!);
      assert.equal(new Set(answers.map(({ text }) => text)).size, asked.length, 'each is another answer');
      assert.equal(new Set(tags).size, asked.length, subject);
      for (const [at, fields] of asked.entries())
        for (const tag of tags) {
          const { status } = await read(subject, key, tag, fields);
          assert.equal(status, tag === tags[at] ? 304 : 200, `${subject} ${fields} ${tag}`);
        }
    }
    for (const fields of ['CUSTOMER_CODE', 'NOTES,CUSTOMER_CODE']) {
      const tag = (await read('customer', customer, undefined, fields)).headers.get('etag')!;
      assert.equal((await change('updateCustomer', { CUSTOMER_CODE: customer, NOTES: fields }, tag)).status, 200);
      const gone = await change('updateCustomer', { CUSTOMER_CODE: customer, NOTES: fields }, tag);
      expectRefusal(gone, 412, 'RECORD_CHANGED');
    }
  });

  // Holds S11.10.
  test('200 with the whole response when If-None-Match has another ETag or cannot be parsed', async () => {
    const order = await shop.newOrder();
    const tag = await tagOf('order', order);
    const conditions = ['"a"', tag.slice(0, -1), tag.slice(1, -1), `w/${tag}`, `${tag} "b"`, '', '"*"', `"a" ${tag}`];
    for (const condition of conditions) {
      const { status, body } = await read('order', order, condition);
      assert.equal(status, 200, condition);
      assert.equal(body.data['ORDER_NUMBER'], order);
    }
    await newLine(order);
    assert.equal((await read('order', order, tag)).status, 200);
    expectRefusal(await read('order', 'nobody', '*'), 404, 'NOT_FOUND');
  });

  // Holds S11.10.
  test('304 is metered under the operation, and is not a refusal in the request log', async () => {
    const tag = await tagOf('part', '11');
    const before = await shop.service.usageOf(shop.keys.teamID);
    const { headers } = await read('part', '11', tag);
    assert.equal(headers.get('x-month-requests'), String(before + 1));
    assert.equal(await shop.service.usageOf(shop.keys.teamID), before + 1);
  });
});

suite('If-Match', () => {
  // Holds S11.6, S11.7.
  test('200 a write with the current ETag succeeds, also with * and in a list', async () => {
    for (const form of [(tag: string) => tag, () => '*', (tag: string) => `"a", W/"b" ,${tag}`])
      for (const { subject, key, name, body } of await makeEach()) {
        const before = await tagOf(subject, key);
        assert.equal((await change(name, body, form(before))).status, 200, name);
        assert.notEqual(await tagOf(subject, key), before, name);
      }
  });

  // Holds S11.6, S11.7.
  test('412 RECORD_CHANGED for another ETag: nothing is written, and the response has the current ETag', async () => {
    for (const { subject, key, name, body } of await makeEach()) {
      const stale = await tagOf(subject, key);
      await (subject === 'customer' ? succeed(change(name, body)) : newLine(key));
      const now = await tagOf(subject, key);
      const before = await shop.everything();
      const others = [
        stale,
        '"a"',
        `W/${now}, "a"`,
        `${now.slice(0, -1)}x"`,
        `"a", ${stale}`,
        '"*"',
        `"${now.slice(2)}`,
      ];
      for (const condition of others) {
        const answer = await change(name, body, condition);
        assert.match(expectRefusal(answer, 412, 'RECORD_CHANGED'), new RegExp(key), condition);
        assert.equal(answer.headers.get('etag'), now, condition);
      }
      for (const condition of [`W/${now}`, `W/"a",W/${now}`]) {
        const answer = await change(name, body, condition);
        assert.match(expectRefusal(answer, 412, 'TAG_WEAKENED'), /weak/, condition);
      }
      assert.equal(await shop.everything(), before, name);
      assert.equal(await tagOf(subject, key), now, name);
      assert.equal((await change(name, body, now)).status, 200, name);
    }
  });

  // Holds S11.7.
  test('412 for an order also when a line or an operator has changed it', async () => {
    const order = await shop.newOrder();
    const [line, other] = [nameOf(await newLine(order)), nameOf(await newLine(order))];
    const stale = await tagOf('order', order);
    await succeed(shop.updateLineItem({ ...other, DISCOUNT: '5' }));
    expectRefusal(await change('updateLineItem', { ...line, QUANTITY: '2' }, stale), 412, 'RECORD_CHANGED');
    const later = await tagOf('order', order);
    await shop.run('order', 'approve', shop.keys.teamID, order);
    expectRefusal(await change('addLineItem', { ORDER_NUMBER: order }, later), 412, 'RECORD_CHANGED');
  });

  // Holds S11.9.
  test('400 PRECONDITION_NOT_ALLOWED on reads, creates and batches; nothing is written', async () => {
    const before = await shop.everything();
    const send = (method: string, path: string, body?: unknown) =>
      shop.service.call(shop.keys, method, path, {
        query: path === '/orders/single' ? { orderNum: '1' } : {},
        headers: { 'If-Match': '"nonsense"' },
        ...(body !== undefined && { body }),
      });
    const calls = [
      send('PUT', '/orders/create', {}),
      send('PUT', '/customers/create', {}),
      send('POST', '/batch', [{ operation: 'createOrder', body: {} }]),
      send('POST', '/orders/query', []),
      send('GET', '/orders/single'),
      send('GET', '/usage'),
    ];
    for (const answer of await Promise.all(calls)) expectRefusal(answer, 400, 'PRECONDITION_NOT_ALLOWED', 'If-Match');
    assert.equal(await shop.everything(), before);
  });

  // Holds S11.6, S11.7.
  test('400 INVALID_IF_MATCH when it cannot be parsed; nothing is written', async () => {
    const each = await makeEach();
    const before = await shop.everything();
    for (const { subject, key, name, body } of each) {
      const tag = await tagOf(subject, key);
      for (const condition of [
        tag.slice(1, -1),
        tag.slice(0, -1),
        'a',
        '',
        ',',
        `${tag} ${tag}`,
        `*, ${tag}`,
        `w/${tag}`,
      ])
        expectRefusal(await change(name, body, condition), 400, 'INVALID_IF_MATCH', 'If-Match');
    }
    assert.equal(await shop.everything(), before);
  });

  // Holds S11.6, S11.7.
  test('400 a record that does not exist gets the same refusal as without If-Match', async () => {
    const missing = [
      ['updateCustomer', { CUSTOMER_CODE: 'nobody' }, 'CUSTOMER_NOT_FOUND'],
      ['updateOrder', { ORDER_NUMBER: 'nobody' }, 'ORDER_NOT_FOUND'],
      ['cancelOrder', { ORDER_NUMBER: 'nobody' }, 'ORDER_NOT_FOUND'],
      ['addLineItem', { ORDER_NUMBER: 'nobody' }, 'ORDER_NOT_FOUND'],
      ['updateLineItem', { ORDER_NUMBER: 'nobody', LINE_REF_LOCK_CODE: 'x' }, 'ORDER_NOT_FOUND'],
    ] as const;
    for (const [name, body, code] of missing)
      for (const condition of ['*', '"a"']) expectRefusal(await change(name, body, condition), 400, code);
  });

  // Holds S11.8.
  test('200 a retry gets the first response before If-Match is checked; its refusal is not kept', async () => {
    for (const { subject, key, name, body } of await makeEach()) {
      const tag = await tagOf(subject, key);
      const headers = { 'idempotency-key': `once-${name}` };
      expectRefusal(await change(name, body, '"a"', headers), 412, 'RECORD_CHANGED');
      const first = await change(name, body, tag, headers);
      assert.equal(first.status, 200, name);
      const now = await tagOf(subject, key);
      for (const condition of [tag, '"a"', '*']) {
        const again = await change(name, body, condition, headers);
        assert.deepEqual([again.status, again.text], [200, first.text], name);
        assert.equal(again.headers.get('idempotent-replayed'), 'true');
      }
      assert.equal(await tagOf(subject, key), now, name);
    }
  });
});
