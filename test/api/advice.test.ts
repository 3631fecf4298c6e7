/** Tests what errors tell a reader: what is wrong, with the value that was sent, and what to do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inlineRefs } from '../kit/contract.ts';
import { Shop, succeed } from '../kit/records.ts';
import { BASE_PATH, type Answer } from '../kit/service.ts';

const shop = await Shop.shared();
const { service } = shop;
const ORDER_NUMBER = await shop.newOrder();
const line = await succeed(shop.addLineItem({ ORDER_NUMBER, QUANTITY: '1' }));

function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const { pathname, searchParams } = new URL(path, 'http://any');
  const query = Object.fromEntries(searchParams);
  return service.call(shop.keys, method, pathname, { query, headers, ...(body !== undefined && { body }) });
}
const create = (body: unknown): Promise<Answer> => call('PUT', '/orders/create', body);
const query = (...filters: unknown[]): Promise<Answer> => call('POST', '/orders/query', filters);
const update = (body: object): Promise<Answer> => call('POST', '/orders/line_item', { ORDER_NUMBER, ...body });

/** A mistake, its code, and what the message and the remedy must match. */
type Mistake = readonly [what: string, answer: () => Promise<Answer>, code: string, message: RegExp, remedy: RegExp];

async function reuseKey(): Promise<Answer> {
  const headers = { 'Idempotency-Key': 'night' };
  await call('PUT', '/orders/create', {}, headers);
  return call('PUT', '/orders/create', { NOTES: 'other' }, headers);
}

async function overQuota(): Promise<Answer> {
  const keys = await service.makeTenant('advice-quota', '--quota', '1');
  await service.call(keys, 'POST', '/orders/query', { body: [] });
  return service.call(keys, 'POST', '/orders/query', { body: [] });
}

const wrongSecret = (): Promise<Answer> => service.call({ ...shop.keys, apiSecret: 'x'.repeat(43) }, 'GET', '/usage');
const withoutTeam = (): Promise<Answer> => service.request('GET', '/usage', { query: { teamId: shop.keys.teamID } });

const unknownPath = async (path: string): Promise<Answer> => {
  const response = await fetch(service.origin + path);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
};
const sendBearer = (): Promise<Answer> =>
  service.request('GET', '/usage', {
    query: { teamID: shop.keys.teamID },
    headers: { authorization: `Bearer ${shop.keys.apiSecret}` },
  });
async function sendWeakTag(): Promise<Answer> {
  const { headers } = await shop.getOrder(ORDER_NUMBER);
  return call('POST', '/orders/update', { ORDER_NUMBER, NOTES: 'x' }, { 'If-Match': `W/${headers.get('etag')}` });
}

const MISTAKES: Mistake[] = [
  ['a wrong field', () => create({ shipping_method: 'DHL' }), 'UNKNOWN_FIELD', /'shipping_method'.*SHIP_VIA/, /name/],
  [
    'a field in another case',
    () => create({ orderNumber: '1' }),
    'UNKNOWN_FIELD',
    /'orderNumber'.*ORDER_NUMBER/,
    /name/,
  ],
  ['a date', () => create({ ORDER_DATE: '31/12/2026' }), 'INVALID_VALUE', /m\/d\/yyyy.*'31\/12\/2026'/, /value/],
  ['a time', () => create({ ORDER_DATE: '2026-11-23T10:00:00Z' }), 'INVALID_VALUE', /without a time/, /value/],
  ['a number', () => create('{"FREIGHT": 0.30000000000000004}'), 'INVALID_VALUE', /15 digits.*as text/, /value/],
  ['lines in an order', () => create({ lines: [{}] }), 'INVALID_VALUE', /addLineItem.*batch/, /value/],
  ['no lock code', () => update({ QUANTITY: '2' }), 'MISSING_FIELD', /LOCK_CODE is required.*getOrder/, /`field`/],
  ['a wrong lock code', () => update({ LINE_REF_LOCK_CODE: 'x' }), 'LINE_NOT_FOUND', /'x'/, /Read the order again/],
  ['a quota', overQuota, 'QUOTA_EXCEEDED', /quota of 1 .*is renewed at /, /higher quota/],
  ['a wrong secret', wrongSecret, 'INVALID_CREDENTIALS', /invalid/, /teamID first, then.*one pair.*takes precedence/],
  ['a Bearer token', sendBearer, 'INVALID_CREDENTIALS', /missing/, /Authorization: Basic.*base64.*no Bearer/],
  ['a weakened tag', sendWeakTag, 'TAG_WEAKENED', /weak ETags/, /proxy.*without W\/\./],
  [
    'the next stage',
    () => call('POST', '/orders/update', { ORDER_NUMBER, ORDER_TYPE: 'invoice' }),
    'FIELD_NOT_ALLOWED',
    /ORDER_TYPE.*approveOrder or invoiceOrder/,
    /Leave/,
  ],
  [
    'a path without its base',
    () => unknownPath('/orders/single'),
    'UNKNOWN_PATH',
    /Did you mean \/tenant\/api\/pims\/v1\/orders\/single\? Operations are below \/tenant\/api\/pims\/v1\.$/,
    /Send the path/,
  ],
  [
    'a path that is no operation',
    () => unknownPath(`${BASE_PATH}/orders/singel`),
    'UNKNOWN_PATH',
    /v1\/orders\/single\?/,
    /Send/,
  ],
  [
    'a path that is near to no operation',
    () => unknownPath('/nothing'),
    'UNKNOWN_PATH',
    /^The path \/nothing does not exist\. Operations are below \/tenant\/api\/pims\/v1\.$/,
    /Send/,
  ],
  ['no team', withoutTeam, 'MISSING_TEAM_ID', /^Missing 'teamID' parameter! .*'teamId'.*case/, /Send teamID/],
  [
    'another name of a parameter',
    () => call('GET', '/orders/single?ordernum=1'),
    'MISSING_PARAMETER',
    /'ordernum'/,
    /Send/,
  ],
  ['a cursor', () => call('POST', '/orders/query?cursor=x', []), 'INVALID_CURSOR', /not issued/, /previous page/],
  ['a key with another body', reuseKey, 'IDEMPOTENCY_KEY_REUSED', /another body/, /new key/],
  [
    'an operator',
    () => query({ field: 'NOTES', op: 'gte', value: '1' }),
    'INVALID_FILTER',
    /Filter 0.*ge.*'gte'/,
    /filter/,
  ],
  ['bad JSON', () => create('{"NOTES": "x"'), 'INVALID_JSON', /position 13/, /Correct the body/],
  [
    'a page size',
    () => call('POST', '/orders/query?maxReturn=ten', []),
    'INVALID_PARAMETER',
    /positive.*'ten'/,
    /`field`/,
  ],
  ['an invoice', changeInvoice, 'ORDER_CLOSED', /is an invoice, so UNIT_PRICE can/, /new order/],
];

async function changeInvoice(): Promise<Answer> {
  await shop.run('order', 'invoice', shop.keys.teamID, ORDER_NUMBER);
  return update({ LINE_REF_LOCK_CODE: line['LINE_REF_LOCK_CODE'], UNIT_PRICE: '1' });
}

// Holds S3.5, S3.6.
test('each error says what is wrong, with the value that was sent, and what to do', async () => {
  for (const [what, answer, code, message, remedy] of MISTAKES) {
    const { body, text } = await answer();
    const told = body as Record<string, unknown>;
    assert.equal(told['code'], code, `${what}: ${text}`);
    assert.match(String(told['message']), message, what);
    assert.match(String(told['remedy']), remedy, what);
    assert.equal(told['docs'], `/docs/errors#${code}`, what);
  }
});

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: { readonly type: string; readonly pattern?: string; readonly enum?: unknown };
}
type Operations = Record<string, { readonly parameters?: readonly Parameter[]; readonly requestBody?: unknown }>;

test('the error for a malformed parameter says which form it must have', async () => {
  const text = await (await fetch(`${service.origin}/openapi.json`)).text();
  const { paths } = inlineRefs(JSON.parse(text) as { paths: Record<string, Operations> });
  const sent: string[] = [];
  for (const [path, operations] of Object.entries(paths))
    for (const [method, { parameters = [], requestBody }] of Object.entries(operations))
      for (const { name, in: place, schema } of parameters) {
        const hasForm = schema.type === 'integer' || schema.pattern !== undefined || schema.enum !== undefined;
        if (place !== 'query' || !hasForm) continue;
        const body = requestBody === undefined ? undefined : [];
        const others = parameters.filter((other) => other.required && ![name, 'teamID'].includes(other.name));
        const search = [`${name}=,`, ...others.map((other) => `${other.name}=1`)].join('&');
        const answer = await call(method.toUpperCase(), `${path.slice(BASE_PATH.length)}?${search}`, body);
        sent.push(name);
        assert.match(answer.body.message, new RegExp(`^${name} must be (?!undefined).*, not ','`), `${method} ${path}`);
      }
  assert.ok(sent.includes('wait') && sent.includes('maxReturn') && sent.length > 15, sent.join(' '));
});

// Holds S4.6.
test('all responses to a tenant with a rate or quota have them in headers, and no others have these headers', async () => {
  const limitsOf = async (...settings: string[]): Promise<(string | null)[]> => {
    const keys = await service.makeTenant(`advice-${settings.length}-${settings.at(-1)}`, ...settings);
    const { headers } = await service.call(keys, 'GET', '/orders/single', {
      query: { teamID: keys.teamID, orderNum: 'none' },
    });
    return [headers.get('ratelimit-policy'), headers.get('ratelimit')];
  };
  assert.deepEqual(await limitsOf(), [null, null]);
  const [ratePolicy, rate] = await limitsOf('--rate', '10');
  assert.equal(ratePolicy, '"rate";q=20;w=2');
  assert.equal(rate, '"rate";r=19;t=1');
  const [policy, left] = await limitsOf('--rate', '10', '--quota', '1000');
  assert.match(policy!, /^"rate";q=20;w=2, "quota";q=1000;w=(2419200|2505600|2592000|2678400)$/);
  assert.match(left!, /^"rate";r=19;t=1, "quota";r=999;t=\d+$/);
});
