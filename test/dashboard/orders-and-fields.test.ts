/**
 * What the dashboard does to records: approving and invoicing as the API and the stock show it afterwards, refusals that change nothing, fields of the
 * tenant's own; and strings that break programs in every form of the dashboard, none of which is ever answered with a fault.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { NAUGHTY } from '../kit/naughty-strings.ts';
import { Shop, succeed, type Values } from '../kit/records.ts';
import { everythingOf, openScene } from './scene.ts';
import { PASSWORD, Visitor, type Reply } from './visitor.ts';

interface Found {
  pims_order_number: string;
  order_type: string;
  tracking_numbers?: string[];
  items: { part_number: string; quantity: number; shipped: number; serial_numbers: string[] }[];
}

const service = await openScene();
const shop = await Shop.open(service, 'shop');
const notebook = { PART_DESCRIPTION: 'Notebook', QTY_ONHAND: '10', CARE_PLAN: 'N' };
await shop.load('inventory', [
  ...['A', 'B', 'C'].map((name) => ({ PART_CODE: name, ...notebook })),
  { PART_CODE: 'PLAN', PART_DESCRIPTION: 'Plan', QTY_ONHAND: '0', CARE_PLAN: 'Y' },
]);
const owner = await Visitor.make(service, 'shop', 'owner');
const developer = await owner.add('developer');

async function newOrder(order: Values, ...lines: Values[]): Promise<string> {
  const ORDER_NUMBER = await succeed<string>(shop.createOrder(order));
  for (const line of lines) await succeed(shop.addLineItem({ ORDER_NUMBER, ...line }));
  return ORDER_NUMBER;
}
const approve = (ORDER_NUMBER: string): Promise<Reply> => developer.post('/orders/approve', { ORDER_NUMBER });
const invoice = (ORDER_NUMBER: string, more: object = {}): Promise<Reply> =>
  developer.post('/orders/invoice', { ORDER_NUMBER, quantities: {}, serials: {}, tracking: [], ...more });
const lookUp = async (reference: string): Promise<Found[]> =>
  (await shop.findOrdersByStorefrontReference(reference)).body.orders as Found[];
const stockOf = async (part: string): Promise<string> => {
  const { QTY_ONHAND, QTY_COMMITTED, QTY_AVAILABLE } = await succeed(shop.getInventoryItem(part));
  return `${QTY_ONHAND} − ${QTY_COMMITTED} = ${QTY_AVAILABLE}`;
};

suite('orders', () => {
  test('approving makes a quote a sales order, which commits its stock and shows in the lookup', async () => {
    const number = await newOrder({ ORDER_TYPE: 'quote', REFERENCE_NUMBER: '#1' }, { PART_CODE: 'A', QUANTITY: '4' });
    assert.equal(await stockOf('A'), '10 − 0 = 10');
    const { status, body } = await approve(number);
    assert.deepEqual([status, body], [200, { ORDER_NUMBER: number, ORDER_TYPE: 'sales_order', backorder: null }]);
    assert.equal(await stockOf('A'), '10 − 4 = 6');
    assert.deepEqual((await lookUp('#1')).map(({ order_type: stage }) => stage), ['sales_order']); // prettier-ignore
    assert.equal((await approve(number)).body.code, 'STAGE_NOT_ALLOWED');
    const { requests } = (await owner.get('/requests', { operation: 'approveOrder' })).body as { requests: object[] };
    assert.deepEqual(requests, [], 'what is done in the dashboard is no call');
  });

  test('invoicing a part, with serials and tracking, leaves the backorder as a sales order of the same reference', async () => {
    const number = await newOrder(
      { ORDER_TYPE: 'sales_order', REFERENCE_NUMBER: '#2' },
      { PART_CODE: 'B', QUANTITY: '5' },
      { PART_CODE: 'PLAN', QUANTITY: '2', CARE_PLAN: 'Y' },
    );
    const { status, body, text } = await invoice(number, {
      quantities: { 1: '2' },
      serials: { 1: ['SN1', 'SN2'] },
      tracking: ['1Z9', '1Z8'],
    });
    assert.equal(status, 200, text);
    assert.equal(`${body.ORDER_NUMBER} ${body.ORDER_TYPE}`, `${number} invoice`);
    assert.ok(typeof body.backorder === 'string' && body.backorder !== number);
    assert.equal(await stockOf('B'), '8 − 3 = 5');
    const found = await lookUp('#2');
    const byNumber = new Map(found.map((order) => [order.pims_order_number, order]));
    assert.deepEqual([...byNumber.keys()].toSorted(), [number, body.backorder as string].toSorted());
    const [invoiced, backorder] = [byNumber.get(number)!, byNumber.get(body.backorder as string)!];
    assert.deepEqual([invoiced.order_type, backorder.order_type], ['invoice', 'sales_order']);
    assert.deepEqual(invoiced.items.map(({ quantity, shipped, serial_numbers: serials }) => ({ quantity, shipped, serials })), [{ quantity: 2, shipped: 2, serials: ['SN1', 'SN2'] }]); // prettier-ignore
    assert.deepEqual(backorder.items.map(({ quantity, shipped }) => ({ quantity, shipped })), [{ quantity: 3, shipped: 0 }, { quantity: 2, shipped: 0 }]); // prettier-ignore
    assert.equal(
      (
        await succeed(
          shop.getOrder(number).then((answer) => ({ ...answer, body: { ...answer.body, subRecords: null } })),
        )
      )['TRACKING_NUMBERS'],
      '1Z9,1Z8',
    );
    assert.equal((await invoice(body.backorder as string)).body.backorder, null);
    assert.equal(await stockOf('B'), '5 − 0 = 5');
  });

  test('what cannot be done is refused with its code, and changes nothing', async () => {
    const number = await newOrder(
      { ORDER_TYPE: 'sales_order' },
      { PART_CODE: 'C', QUANTITY: '2' },
      { PART_CODE: 'PLAN', QUANTITY: '1', CARE_PLAN: 'Y' },
    );
    const empty = await newOrder({ ORDER_TYPE: 'sales_order' });
    const done = await newOrder({ ORDER_TYPE: 'sales_order' }, { PART_CODE: 'C', QUANTITY: '1' });
    assert.equal((await invoice(done)).status, 200);
    const earlier = await everythingOf(owner);
    const refused: [Promise<Reply>, string][] = [
      [approve('nothing'), 'NOT_FOUND|ORDER_NOT_FOUND'],
      [approve(''), 'INVALID_VALUE'],
      [approve(number), 'STAGE_NOT_ALLOWED'],
      [invoice(done), 'STAGE_NOT_ALLOWED'],
      [invoice(empty), 'STAGE_NOT_ALLOWED'],
      [invoice(number, { quantities: { 1: '3' } }), 'QUANTITY_NOT_ALLOWED'],
      [invoice(number, { quantities: { 1: '-1' } }), 'QUANTITY_NOT_ALLOWED'],
      [invoice(number, { quantities: { 1: 'x' } }), 'QUANTITY_NOT_ALLOWED'],
      [invoice(number, { quantities: { 1: '0' } }), 'QUANTITY_NOT_ALLOWED'],
      [invoice(number, { quantities: { 9: '1' } }), 'LINE_NOT_FOUND'],
      [invoice(number, { quantities: { __proto__x: '1' } }), 'LINE_NOT_FOUND'],
      [
        developer.send(
          'POST',
          '/dashboard/api/orders/invoice',
          `{"ORDER_NUMBER":"${number}","quantities":{"__proto__":"1"},"serials":{},"tracking":[]}`,
        ),
        'LINE_NOT_FOUND',
      ],
      [invoice(number, { serials: { 1: ['a', 'b', 'c'] } }), 'SERIALS_NOT_ALLOWED'],
      [invoice(number, { serials: { 2: ['a'] } }), 'SERIALS_NOT_ALLOWED'],
      [invoice(number, { quantities: [] }), 'INVALID_VALUE'],
      [invoice(number, { tracking: [1] }), 'INVALID_VALUE'],
      [invoice(number, { serials: { 1: ['a\0'] } }), 'INVALID_VALUE'],
      [invoice(number, { serials: { 1: ['\ud800'] } }), 'INVALID_VALUE'],
      [invoice(number, { tracking: ['\0'] }), 'INVALID_VALUE'],
      [invoice(number, { tracking: ['x'.repeat(8193)] }), 'INVALID_VALUE'],
      [invoice(number, { other: 1 }), 'UNKNOWN_FIELD'],
      [developer.post('/orders/invoice', { ORDER_NUMBER: number }), 'MISSING_FIELD'],
    ];
    for (const [answering, code] of refused) {
      const { status, body, text } = await answering;
      assert.ok([400, 404].includes(status) && new RegExp(`^(${code})$`).test(body.code as string), `${code}: ${text}`);
    }
    assert.equal(await everythingOf(owner), earlier);
  });
});

suite('fields', () => {
  test('of the tenant’s own show among the fields, and are written, answered and searched at once', async () => {
    for (const [recordType, type] of [
      ['orders', 'text'],
      ['lines', 'number'],
      ['customers', 'date'],
      ['inventory', 'flag'],
    ] as const) {
      // prettier-ignore
      const name = `OWN_${type.toUpperCase()}`;
      assert.equal((await developer.post('/fields', { recordType, name, type })).status, 200);
      const { fields } = (await owner.get('/fields')).body as {
        fields: Record<string, { name: string; type: string; custom: boolean }[]>;
      };
      const field = fields[recordType]!.find((one) => one.name === name);
      assert.deepEqual([field?.type, field?.custom], [type, true]);
      assert.equal((await developer.post('/fields', { recordType, name, type })).status, 400, 'twice');
    }
    const number = await succeed<string>(shop.createOrder({ OWN_TEXT: 'red' }));
    const found = await succeed<Values[]>(shop.queryOrders([{ field: 'OWN_TEXT', value: 'red' }]));
    assert.deepEqual(found.map(({ ORDER_NUMBER, OWN_TEXT }) => [ORDER_NUMBER, OWN_TEXT]), [[number, 'red']]); // prettier-ignore
    const looked = await owner.post('/records/orders/query', [{ field: 'OWN_TEXT', value: 'RE', contains: true }]);
    assert.deepEqual((looked.body.data as Values[]).map(({ ORDER_NUMBER }) => ORDER_NUMBER), [number]); // prettier-ignore
    assert.equal((await shop.createCustomer({ OWN_DATE: 'never' })).status, 400);
  });
});

const POSITIONS: Record<string, (text: string) => [path: string, body: object | null, query?: Record<string, string>]> =
  {
    'tenant name': (text) => ['/settings', { name: text, defaultStage: 'quote', strict: false }],
    'default stage': (text) => ['/settings', { name: 'Shop', defaultStage: text, strict: false }],
    'e-mail': (text) => ['/users', { email: text, role: 'viewer' }],
    'e-mail, in part': (text) => ['/users', { email: `${text}@example.com`, role: 'viewer' }],
    role: (text) => ['/users', { email: 'x@example.com', role: text }],
    'whom to link': (text) => ['/users/link', { email: text }],
    'whom to remove': (text) => ['/users/remove', { email: `${text}@nowhere.example` }],
    'field name': (text) => ['/fields', { recordType: 'orders', name: text, type: 'text' }],
    'record type': (text) => ['/fields', { recordType: text, name: 'X', type: 'text' }],
    apiID: (text) => ['/keys/end', { apiID: text }],
    overlap: (text) => ['/keys/replace', { overlap: text }],
    'new password': (text) => ['/password', { password: PASSWORD, newPassword: text.slice(0, 14) }],
    sessionId: (text) => ['/sessions/end', { sessionId: text }],
    'order to approve': (text) => ['/orders/approve', { ORDER_NUMBER: text }],
    'line to invoice': (text) => [
      '/orders/invoice',
      { ORDER_NUMBER: '10001', quantities: { [text]: '1' }, serials: { [text]: [text] }, tracking: [text] },
    ],
    'quantity to invoice': (text) => [
      '/orders/invoice',
      { ORDER_NUMBER: '10001', quantities: { 1: text }, serials: {}, tracking: [] },
    ],
    'a member': (text) => ['/settings', { name: 'Shop', defaultStage: 'quote', strict: false, [text]: text }],
    secret: (text) => ['/second-factor/enable', { password: PASSWORD, secret: text, code: text }],
    'filter value': (text) => ['/records/orders/query', [{ field: 'NOTES', value: text }]],
    'filter field': (text) => ['/explorer/orders/query', [{ field: text, value: 'x' }]],
    'what is created': (text) => ['/explorer/orders/query', { [text]: text }],
    month: (text) => ['/usage', null, { month: text }],
    status: (text) => ['/requests', null, { status: text }],
    operation: (text) => ['/requests', null, { operation: text }],
    from: (text) => ['/requests', null, { from: text, to: text }],
    cursor: (text) => ['/requests', null, { cursor: text }],
    requestID: (text) => ['/requests/single', null, { requestID: text }],
    before: (text) => ['/audit', null, { before: text }],
    'record looked at': (text) => ['/records/orders/single', null, { orderNum: text }],
    parameter: (text) => ['/session', null, { [text]: text }],
  };

suite('strings that break programs', () => {
  test('are answered in every form and parameter without a fault, and leave the session, the pages’ data and the audit log whole', async () => {
    let sent = 0;
    for (const [index, text] of NAUGHTY.entries()) {
      // A sign-in has twenty proofs a minute.
      if (index % 10 === 0) {
        owner.client = owner.elsewhere().client;
        assert.equal((await owner.signIn()).status, 200);
      }
      for (const [place, make] of Object.entries(POSITIONS)) {
        const [path, body, query = {}] = make(text);
        if (body === null && !text.isWellFormed()) continue;
        const reply = body === null ? await owner.get(path, query) : await owner.post(path, body);
        assert.ok(reply.status < 500, `${JSON.stringify(text.slice(0, 80))} as ${place}: ${reply.text}`);
        assert.ok(reply.status !== 429 && reply.body?.code !== 'NOT_SIGNED_IN', `${place}: ${reply.text}`);
        if (reply.status >= 400)
          assert.deepEqual([reply.body.status, typeof reply.body.message], ['error', 'string'], place);
        sent++;
      }
    }
    assert.ok(sent > NAUGHTY.length * 25, `${sent} requests`);
    for (const path of ['/session', '/settings', '/users', '/fields', '/audit', '/keys', '/requests', '/usage'])
      assert.equal((await owner.get(path)).status, 200, path);
    assert.equal((await owner.get('/audit/verify')).body.isWhole, true);
  });

  test('as team, address, password, code and token of a sign-in let nobody in and are no fault', async () => {
    const attempt = async (text: string): Promise<void> => {
      const visitor = new Visitor(service, text, text);
      const link = new Visitor(service, 'shop', owner.email).post('/link', { token: text, password: text });
      const tries = [visitor.signIn(text, text), link, visitor.post('/link/check', { token: text })];
      for (const { status, text: answer } of await Promise.all(tries))
        assert.ok([400, 401].includes(status), `${JSON.stringify(text.slice(0, 80))}: ${answer}`);
    };
    // No more at once than the service lets wait.
    for (let start = 0; start < NAUGHTY.length; start += 20)
      await Promise.all(NAUGHTY.slice(start, start + 20).map(attempt));
    for (const text of ['\u00e9', '%00', '"', '\u00a0x', ';;;']) {
      const { status } = await fetch(`${service.origin}/dashboard/api/session`, {
        headers: { 'sec-fetch-site': 'same-origin', 'user-agent': text, cookie: text },
      });
      assert.equal(status, 401);
    }
    const odd = await new Visitor(service, 'shop', owner.email).post(
      '/sign-in',
      { teamID: 'shop', email: owner.email, password: PASSWORD },
      { 'user-agent': `<script>\u00ff${'x'.repeat(3000)}` },
    );
    assert.equal(odd.status, 200, odd.text);
    const { sessions } = (await owner.get('/sessions')).body as { sessions: { agent: string }[] };
    assert.equal(sessions[0]!.agent.length, 200);
  });

  test('as a name that is taken read back as they were sent', async () => {
    for (const name of NAUGHTY) {
      const { status, body } = await owner.post('/settings', { name, defaultStage: 'quote', strict: false });
      if (status !== 200) assert.equal(body.code, 'COMMAND_REFUSED');
      else assert.equal((await owner.get('/session')).body.tenant.name, name);
    }
  });
});
