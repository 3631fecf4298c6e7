/**
 * Tests what the dashboard refuses to do to orders, which then do not change, and custom fields. Also tests that no form
 * fails on strings that break programs.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { pick, valuesOf } from '../kit/lists.ts';
import { NAUGHTY } from '../kit/naughty-strings.ts';
import { Shop, succeed, type Values } from '../kit/records.ts';
import { ownService } from '../kit/service.ts';
import { IS_THOROUGH } from '../kit/trials.ts';
import { BEHIND_PROXY, everythingOf } from './scene.ts';
import { codeIn, expectCode, expectOk, PASSWORD, Visitor, type Reply } from './visitor.ts';

const service = await ownService({ env: BEHIND_PROXY });
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
const approve = (ORDER_NUMBER: string): Promise<Reply> => developer.post('/records/orders/approve', { ORDER_NUMBER });
const invoice = (ORDER_NUMBER: string, asked: object = {}): Promise<Reply> => developer.invoice(ORDER_NUMBER, asked);
const send = (body: object): Promise<Reply> => developer.post('/records/orders/invoice', body);

suite('orders', () => {
  test('an invalid change is refused with its code, and changes nothing', async () => {
    const number = await newOrder(
      { ORDER_TYPE: 'sales_order' },
      { PART_CODE: 'C', QUANTITY: '2' },
      { PART_CODE: 'PLAN', QUANTITY: '1', CARE_PLAN: 'Y' },
    );
    const empty = await newOrder({ ORDER_TYPE: 'sales_order' });
    const done = await newOrder({ ORDER_TYPE: 'sales_order' }, { PART_CODE: 'C', QUANTITY: '1' });
    await expectOk(invoice(done));
    const earlier = await everythingOf(owner);
    const [first] = (await shop.getOrder(number)).body.subRecords as { ORDER_LINEITEMS: Values }[];
    const { LINE_REF_LOCK_CODE } = first!.ORDER_LINEITEMS;
    const line = { LINE_REF_LOCK_CODE, QUANTITY: '1' };
    const linesOf = (...lines: unknown[]) => send({ ORDER_NUMBER: number, lines });
    const refusals: Record<string, Promise<Reply>[]> = {
      '400 ORDER_NOT_FOUND': [approve('nothing')],
      '400 STAGE_NOT_ALLOWED': [approve(number), invoice(done), invoice(empty)],
      '400 QUANTITY_NOT_ALLOWED': ['3', '-1', 'x', '0'].map((units) => invoice(number, { quantities: { 1: units } })),
      '400 LINE_NOT_FOUND': [
        invoice(number, { quantities: { 9: '1' } }),
        linesOf(line, { LINE_REF_LOCK_CODE: '__proto__', QUANTITY: '1' }),
      ],
      '400 SERIALS_NOT_ALLOWED': [{ 1: ['a', 'b', 'c'] }, { 2: ['a'] }].map((serials) => invoice(number, { serials })),
      '400 INVALID_VALUE': [
        ...[['a\0'], ['\ud800']].map((one) => invoice(number, { serials: { 1: one } })),
        ...[['\0'], ['x'.repeat(8193)]].map((tracking) => invoice(number, { tracking })),
        send({ ORDER_NUMBER: number, SHIP_VIA: ['x'] }),
      ],
      '400 INVALID_BODY': [
        linesOf(),
        linesOf(line, line),
        linesOf('x'),
        linesOf({ ...line, QUANTITY: ['1'] }),
        linesOf({ ...line, DESCRIPTION: 'x' }),
        linesOf({ ...line, constructor: 'x' }),
        linesOf(...Array.from({ length: 1001 }, (_, at) => ({ ...line, LINE_REF_LOCK_CODE: `${at}` }))),
        send({ ORDER_NUMBER: number, lines: line }),
        send({ ORDER_NUMBER: number, lines: null }),
      ],
      '400 UNKNOWN_FIELD': [send({ ORDER_NUMBER: number, other: 1 })],
      '400 FIELD_NOT_ALLOWED': [send({ ORDER_NUMBER: number, NOTES: 'x' })],
      '400 MISSING_FIELD': [
        approve(''),
        send({ lines: [line] }),
        linesOf({ QUANTITY: '1' }),
        linesOf({ LINE_REF_LOCK_CODE, QUANTITY: '' }),
        linesOf({ ...line, LINE_REF_LOCK_CODE: null }),
      ],
    };
    for (const [code, answers] of Object.entries(refusals))
      for (const answering of answers) await expectCode(answering, code);
    assert.equal(await everythingOf(owner), earlier);
  });
});

suite('fields', () => {
  test('of the tenant are in the list of fields, and can be written, read and searched at once', async () => {
    const types = { orders: 'text', lines: 'number', customers: 'date', inventory: 'flag' } as const;
    for (const [recordType, type] of Object.entries(types)) {
      const name = `OWN_${type.toUpperCase()}`;
      await developer.ask('POST /fields', { recordType, name, type });
      const { fields } = await owner.ask('GET /fields');
      const field = fields[recordType as keyof typeof types].find((one) => one.name === name);
      assert.deepEqual([field?.type, field?.custom], [type, true]);
      assert.equal((await developer.post('/fields', { recordType, name, type })).status, 400, 'twice');
    }
    const number = await succeed<string>(shop.createOrder({ OWN_TEXT: 'red' }));
    const found = await succeed<Values[]>(shop.queryOrders([{ field: 'OWN_TEXT', value: 'red' }]));
    assert.deepEqual(pick(found, 'ORDER_NUMBER', 'OWN_TEXT'), [{ ORDER_NUMBER: number, OWN_TEXT: 'red' }]);
    const looked = await owner.post('/records/orders/query', [{ field: 'OWN_TEXT', value: 'RE', contains: true }]);
    assert.deepEqual(valuesOf(looked.body.data as Values[], 'ORDER_NUMBER'), [number]);
    assert.equal((await shop.createCustomer({ OWN_DATE: 'never' })).status, 400);
  });
});

const invoiceOf = (LINE_REF_LOCK_CODE: string, QUANTITY: string, more = '') => {
  const lines = [{ LINE_REF_LOCK_CODE, QUANTITY, SERIAL_NUMBERS: more }];
  return { ORDER_NUMBER: '10001', lines, TRACKING_NUMBERS: more };
};
type Sent = [path: string, body: object | null, query?: Record<string, string>];
const POSITIONS: Record<string, (text: string) => Sent> = {
  'tenant name': (text) => ['/settings', { name: text, defaultStage: 'quote', strict: false }],
  'default stage': (text) => ['/settings', { name: 'Shop', defaultStage: text, strict: false }],
  email: (text) => ['/users', { email: text, role: 'viewer' }],
  'email, in part': (text) => ['/users', { email: `${text}@example.com`, role: 'viewer' }],
  role: (text) => ['/users', { email: 'x@example.com', role: text }],
  'whom to link': (text) => ['/users/link', { email: text }],
  'whom to remove': (text) => ['/users/remove', { email: `${text}@nowhere.example` }],
  'field name': (text) => ['/fields', { recordType: 'orders', name: text, type: 'text' }],
  'record type': (text) => ['/fields', { recordType: text, name: 'X', type: 'text' }],
  apiID: (text) => ['/keys/end', { apiID: text }],
  overlap: (text) => ['/keys/replace', { overlap: text }],
  'new password': (text) => ['/password', { password: PASSWORD, newPassword: text.slice(0, 14) }],
  sessionId: (text) => ['/sessions/end', { sessionId: text }],
  'order to approve': (text) => ['/records/orders/approve', { ORDER_NUMBER: text }],
  'line to invoice': (text) => ['/records/orders/invoice', invoiceOf(text, '1', text)],
  'quantity to invoice': (text) => ['/records/orders/invoice', invoiceOf('x', text)],
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
  test('get a response in every form and parameter without a fault, and change nothing else', async () => {
    let sent = 0;
    for (const [index, text] of NAUGHTY.entries()) {
      // A session may send twenty passwords or codes a minute, so every tenth string gets a new one.
      if (index % 10 === 0) {
        owner.client = owner.elsewhere().client;
        assert.equal((await owner.signIn()).status, 200);
      }
      for (const [at, [place, make]] of Object.entries(POSITIONS).entries()) {
        // `npm test` tries each string in a third of the places, and each place with a third of the strings.
        if (!IS_THOROUGH && (at + index) % 3 > 0) continue;
        const [path, body, query = {}] = make(text);
        if (body === null && !text.isWellFormed()) continue;
        // A user has 20 calls a second.
        if (sent % 100 === 99) await service.move(5000);
        const reply = body === null ? await owner.get(path, query) : await owner.post(path, body);
        assert.ok(reply.status < 500, `${JSON.stringify(text.slice(0, 80))} as ${place}: ${reply.text}`);
        assert.doesNotMatch(codeIn(reply), /^429|NOT_SIGNED_IN/, `${place}: ${reply.text}`);
        if (reply.status >= 400)
          assert.deepEqual([reply.body.status, typeof reply.body.message], ['error', 'string'], place);
        sent++;
      }
    }
    assert.ok(sent > NAUGHTY.length * (IS_THOROUGH ? 25 : 8), `${sent} requests`);
    for (const path of ['/session', '/settings', '/users', '/fields', '/audit', '/keys', '/requests', '/usage'])
      await expectOk(owner.get(path));
    assert.equal((await owner.ask('GET /audit/verify')).isWhole, true);
  });

  test('as team, address, password, code and token of a sign-in let no one in and are no fault', async () => {
    const attempt = async (text: string): Promise<void> => {
      const visitor = new Visitor(service, text, text);
      const link = new Visitor(service, 'shop', owner.email).post('/link', { token: text, password: text });
      const tries = [visitor.signIn(text, text), link, visitor.post('/link/check', { token: text })];
      for (const { status, text: answer } of await Promise.all(tries))
        assert.ok([400, 401].includes(status), `${JSON.stringify(text.slice(0, 80))}: ${answer}`);
    };
    // At most fifty password checks may wait, so only 20 strings are tried at once.
    for (let start = 0; start < NAUGHTY.length; start += 20)
      await Promise.all(NAUGHTY.slice(start, start + 20).map(attempt));
    for (const text of ['\u00e9', '%00', '"', '\u00a0x', ';;;']) {
      const headers = { 'sec-fetch-site': 'same-origin', 'user-agent': text, cookie: text };
      assert.equal((await fetch(`${service.origin}/dashboard/api/session`, { headers })).status, 401);
    }
    const { teamID, email, password } = owner;
    const odd = { 'user-agent': `<script>\u00ff${'x'.repeat(3000)}` };
    await expectOk(new Visitor(service, teamID, email).post('/sign-in', { teamID, email, password }, odd));
    assert.equal((await owner.ask('GET /sessions')).sessions[0]!.agent.length, 200);
  });

  test('as accepted names are read back unchanged', async () => {
    for (const name of NAUGHTY) {
      const { status, body } = await owner.post('/settings', { name, defaultStage: 'quote', strict: false });
      if (status !== 200) assert.equal(body.code, 'COMMAND_REFUSED');
      else assert.equal((await owner.ask('GET /session')).tenant.name, name);
    }
  });
});
