/** Tests who may call: the three places of credentials, their precedence, and the one answer to all wrong ones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { basicOf, bodyOf, sendBy, stockShop, waysOf, type Sent, type Way } from '../kit/operations.ts';
import { expectRefusal } from '../kit/records.ts';
import { type Answer, type Keys, sharedService } from '../kit/service.ts';

const service = await sharedService();
const [shop, other] = [await stockShop(service, 'shop'), await stockShop(service, 'other')];
const { keys } = shop;

const parse = (query: string): string[][] => [...new URLSearchParams(query)];
const MISSING_TEAM_ID = "Missing 'teamID' parameter!";
const swapLast = (text: string): string => text.slice(0, -1) + (text.endsWith('a') ? 'b' : 'a');

/** Parameters, members and headers of a call. `create` and `get` send exactly these. */
type Parts = { query?: string[][]; body?: Record<string, unknown>; headers?: Record<string, string> };
const create = ({ query = [], body = {}, headers = {} }: Parts): Promise<Answer> =>
  service.request('PUT', '/orders/create', { query, body, headers });
const get = ({ query = [], headers = {} }: Parts): Promise<Answer> =>
  service.request('GET', '/orders/single', { query: [['orderNum', 'order-shop'], ...query], headers });

async function everyCallSucceeds(way: Way): Promise<void> {
  const calls = shop.calls.filter((call) => waysOf(call).includes(way));
  for (const call of calls) {
    const answer = await sendBy(way, service, call, keys);
    assert.equal(answer.status, 200, `${call.operation}: ${answer.text}`);
    assert.match(answer.headers.get('x-month-requests') ?? '', /^[1-9]\d*$/, call.operation);
  }
  assert.equal(calls.length, way === 'body' ? 7 : 16);
}

// Holds S2.1, S2.3.
test('200 every operation accepts Basic credentials', () => everyCallSucceeds('Basic'));
// Holds S2.1, S2.3.
test('200 every operation accepts apiID and apiSecret in the query', () => everyCallSucceeds('query'));
// Holds S2.1, S2.3.
test('200 every create and update accepts teamID, apiID and apiSecret in its body', () => everyCallSucceeds('body'));

// Holds S2.6.
test('200 credentials in a body are not fields of the record', async () => {
  const headers = { authorization: basicOf(keys) };
  const { status, body } = await create({ body: { ...keys, NOTES: 'mine' }, headers });
  assert.equal(status, 200);
  const order = await service.call(keys, 'GET', '/orders/single', { query: { orderNum: body.data } });
  assert.equal(order.body.data.NOTES, 'mine');
  for (const sent of ['apiID', 'apiSecret', 'teamID', keys.apiSecret]) assert.ok(!order.text.includes(sent), sent);
});

// Holds S2.6.
test('401 a query cannot have credentials in its body, which is a list', async () => {
  const filters = [{ field: 'ORDER_NUMBER', value: 'order-shop', ...keys }, keys];
  for (const path of ['/orders/query', '/customers/query', '/inventory/query']) {
    const answer = await service.request('POST', path, { query: { teamID: keys.teamID }, body: filters });
    expectRefusal(answer, 401, 'INVALID_CREDENTIALS');
    const found = expectRefusal(await service.request('POST', path, { body: filters }), 400, 'MISSING_TEAM_ID');
    assert.equal(found, MISSING_TEAM_ID);
  }
});

// Holds S2.4.
test('401 a wrong Basic header decides alone, even with valid parameters', async () => {
  const { apiID, apiSecret } = other.keys;
  const wrong = [{ apiSecret }, { apiID }, { apiSecret: '' }].map((one) => basicOf({ ...keys, ...one }));
  for (const authorization of ['Basic', 'Basic ', 'Basic !', 'basic AAAA', ...wrong])
    for (const call of shop.calls)
      for (const way of waysOf(call).filter((one) => one !== 'Basic')) {
        const place =
          way === 'query'
            ? { query: { ...call.query, ...keys }, body: bodyOf(call) }
            : { query: call.query, body: { ...call.fields, ...keys } };
        const answer = await service.request(call.method, call.path, { ...place, headers: { authorization } });
        expectRefusal(answer, 401, 'INVALID_CREDENTIALS');
      }
});

// Holds S2.4.
test('200 a valid Basic header decides alone, even with wrong parameters', async () => {
  const wrong = { apiID: other.keys.apiID, apiSecret: 'wrong' };
  const headers = { authorization: basicOf(keys) };
  assert.equal((await get({ query: [['teamID', 'shop'], ...Object.entries(wrong)], headers })).status, 200);
  assert.equal((await create({ body: { teamID: 'shop', ...wrong }, headers })).status, 200);
});

// Holds S2.4.
test('200 an Authorization header of another scheme is ignored', async () => {
  const schemes = ['Bearer abc', 'Digest username="x"', 'Basically abc', 'Negotiate', 'x'];
  for (const authorization of [...schemes, `Bearer ${basicOf(keys).slice(6)}`]) {
    const headers = { authorization };
    assert.equal((await get({ query: Object.entries(keys), headers })).status, 200, authorization);
    assert.equal((await create({ body: { ...keys }, headers })).status, 200, authorization);
    assert.equal(
      (await create({ query: [['teamID', 'shop']], body: { ...keys }, headers })).status,
      200,
      authorization,
    );
    expectRefusal(await get({ query: [['teamID', 'shop']], headers }), 401, 'INVALID_CREDENTIALS');
  }
});

// Holds S2.4.
test('401 an ID and a secret from different places are not combined', async () => {
  const teamID = ['teamID', 'shop'];
  const { apiID, apiSecret } = keys;
  const halves: Parts[] = [
    { query: [teamID, ['apiID', apiID]], body: { apiSecret } },
    { query: [teamID, ['apiSecret', apiSecret]], body: { apiID } },
    { query: [teamID, ['apiSecret', apiSecret]], headers: { authorization: basicOf({ apiID }) } },
    { query: [teamID, ['apiID', apiID]], headers: { authorization: basicOf({ apiSecret }) } },
    { query: [teamID], body: { apiSecret }, headers: { authorization: basicOf({ apiID }) } },
    { query: [teamID, ['apiID', '']], body: { apiSecret } },
  ];
  for (const half of halves) expectRefusal(await create(half), 401, 'INVALID_CREDENTIALS');
  for (const half of Object.entries({ apiID, apiSecret })) {
    const found = (await create({ query: [teamID, half], body: { apiID, apiSecret } })).status;
    assert.equal(found, 401, 'the query has half a pair, so the body is not looked at');
  }
});

// Holds S2.4.
test('401 parameters in the query take precedence over those in the body', async () => {
  const query = parse(`teamID=shop&apiID=${keys.apiID}`);
  const { teamID: _, ...body } = keys;
  expectRefusal(await create({ query, body }), 401, 'INVALID_CREDENTIALS');
  assert.equal((await create({ query: parse('teamID=shop'), body })).status, 200);
});

// Holds S2.4, S2.5.
test('400 PARAMETER_CONFLICT for a parameter given twice with different values', async () => {
  const good = Object.entries(keys);
  const headers = { authorization: basicOf(keys) };
  for (const name of ['teamID', 'apiID', 'apiSecret']) {
    const twice = await get({ query: [...good, [name, 'other']] });
    assert.match(expectRefusal(twice, 400, 'PARAMETER_CONFLICT', name), new RegExp(`'${name}'`));
    expectRefusal(await get({ query: [[name, 'other'], ...good] }), 400, 'PARAMETER_CONFLICT', name);
    expectRefusal(await create({ query: good, body: { [name]: 'other' } }), 400, 'PARAMETER_CONFLICT', name);
    expectRefusal(await create({ query: good, body: { [name]: [keys.teamID] } }), 400, 'PARAMETER_CONFLICT', name);
  }
  const answer = await get({ query: parse('orderNum=10001&teamID=shop'), headers });
  expectRefusal(answer, 400, 'PARAMETER_CONFLICT', 'orderNum');
  const outcome = await get({ query: parse('teamID=shop&noSuch=a&noSuch=b'), headers });
  expectRefusal(outcome, 400, 'PARAMETER_CONFLICT', 'noSuch');
  const pages = { query: parse('maxReturn=1&maxReturn=2'), body: [] };
  expectRefusal(await service.call(keys, 'POST', '/orders/query', pages), 400, 'PARAMETER_CONFLICT', 'maxReturn');
  const numbers = { query: parse('storefront_order_number=#1&storefront_order_number=1') };
  const refusal = await service.call(keys, 'GET', '/orders/by_storefront_reference', numbers);
  expectRefusal(refusal, 400, 'PARAMETER_CONFLICT', 'storefront_order_number');
});

test('200 a parameter given twice with the same value counts once', async () => {
  const twice = [...Object.entries(keys), ...Object.entries(keys), ['orderNum', 'order-shop']];
  assert.equal((await get({ query: twice })).status, 200);
  assert.equal((await create({ query: Object.entries(keys), body: { ...keys } })).status, 200);
  const pages = { query: parse('maxReturn=1&maxReturn=1&maxReturn=1'), body: [] };
  assert.equal((await service.call(keys, 'POST', '/orders/query', pages)).body.data.length, 1);
});

// Holds S3.2.
test('the 401 is identical for a wrong team, ID or secret and for ended keys', async () => {
  await service.command('tenant', 'create', 'keyless', '--name', 'A tenant without keys');
  const { apiID, apiSecret } = keys;
  const sent: Record<string, Sent> = {
    'nothing but the team': { teamID: 'shop' },
    'no secret': { teamID: 'shop', apiID },
    'no ID': { teamID: 'shop', apiSecret },
    'an empty secret': { teamID: 'shop', apiID, apiSecret: '' },
    'an unknown team': { ...keys, teamID: 'nobody' },
    'a team in another case': { ...keys, teamID: 'SHOP' },
    'a team with a space': { ...keys, teamID: 'shop ' },
    'a team without keys': { ...keys, teamID: 'keyless' },
    "another tenant's team": { ...keys, teamID: 'other' },
    'an unknown ID': { ...keys, apiID: swapLast(apiID) },
    "another tenant's ID": { ...keys, apiID: other.keys.apiID },
    "another tenant's secret": { ...keys, apiSecret: other.keys.apiSecret },
    'a secret with a mistyped checksum': { ...keys, apiSecret: swapLast(apiSecret) },
    'a secret in uppercase': { ...keys, apiSecret: apiSecret.toUpperCase() },
    'ID and secret exchanged': { teamID: 'shop', apiID: apiSecret, apiSecret: apiID },
  };
  const shapes = new Map<string, string>();
  for (const [what, credentials] of Object.entries(sent))
    for (const call of shop.calls)
      for (const way of waysOf(call))
        shapes.set(describe(await sendBy(way, service, call, credentials)), `${what}, ${call.operation}, by ${way}`);
  assert.equal(shapes.size, 1, [...shapes].join('\n'));
  const [shape = ''] = shapes.keys();
  const message = 'API ID or API Secret is missing or invalid, or no API keys are configured for the tenant.';
  assert.match(shape, /^401 /);
  assert.ok(shape.includes(`"message":"${message}","code":"INVALID_CREDENTIALS"`), shape);
  assert.match(shape, /www-authenticate: Basic realm="storeroom"/);
  assert.doesNotMatch(shape, /x-month-requests/);
});

/** Returns an answer as text, without its request ID and its time. */
function describe({ status, headers, text, body }: Answer): string {
  const requestId = body.requestId as string;
  const lines = [...headers]
    .filter(([name]) => !['x-request-id', 'date', 'content-length'].includes(name))
    .map(([name, value]) => `${name}: ${value}`);
  const length = Number(headers.get('content-length')) - requestId.length;
  return `${status} ${text.replace(requestId, '')} ${length} ${lines.join('; ')}`;
}

// Holds S2.1, S3.1.
test("400 Missing 'teamID' parameter! is reported before any other error", async () => {
  const { apiID, apiSecret } = keys;
  const sent: Sent[] = [{}, { apiID, apiSecret }, { apiID, apiSecret, teamID: '' }, { apiID: 'x', apiSecret: 'y' }];
  for (const call of shop.calls)
    for (const way of waysOf(call))
      for (const credentials of sent) {
        const answer = await sendBy(way, service, call, credentials);
        const message = expectRefusal(answer, 400, 'MISSING_TEAM_ID', 'teamID');
        assert.equal(message, MISSING_TEAM_ID, `${call.operation} by ${way}`);
        assert.equal(answer.headers.get('x-month-requests'), null);
      }
  const outcome = await get({ query: parse('apiID=a&apiID=b&noSuch=x') });
  expectRefusal(outcome, 400, 'MISSING_TEAM_ID');
});

test('a parameter in a body is a string or a number, never a list or an object', async () => {
  const { teamID, apiID, apiSecret } = keys;
  for (const wrong of [[apiID], { apiID }, true, null]) {
    expectRefusal(await create({ body: { teamID, apiID: wrong, apiSecret } }), 401, 'INVALID_CREDENTIALS');
    const answer = await create({ body: { teamID, apiID, apiSecret: wrong === null ? null : [apiSecret] } });
    expectRefusal(answer, 401, 'INVALID_CREDENTIALS');
    const outcome = await create({ body: { teamID: wrong === null ? null : [teamID], apiID, apiSecret } });
    expectRefusal(outcome, 400, 'MISSING_TEAM_ID');
  }
  const numeric = await service.makeTenant('4711');
  assert.equal((await create({ body: { ...numeric, teamID: 4711 } })).status, 200);
});

test('400 credentials in a body are accepted even if its fields are refused', async () => {
  const text = `{"NOTES": 1e400, "teamID": "shop", "apiID": "${keys.apiID}", "apiSecret": "${keys.apiSecret}"}`;
  const answer = await service.request('PUT', '/orders/create', { body: text });
  expectRefusal(answer, 400, 'INVALID_VALUE', 'NOTES');
  assert.notEqual(answer.headers.get('x-month-requests'), null);
});

// Holds S2.2, S2.7, S13.8.
test('401 a replaced secret stops working at once, and the new one works at once', async () => {
  const old = await service.makeTenant('replaced');
  assert.equal((await service.call(old, 'POST', '/orders/query', { body: [] })).status, 200);
  const replaced = (await service.command('keys', 'replace', 'replaced', '--json')).json() as Keys;
  expectRefusal(await service.call(old, 'POST', '/orders/query', { body: [] }), 401, 'INVALID_CREDENTIALS');
  const answer = await service.call({ ...replaced, apiSecret: old.apiSecret }, 'POST', '/orders/query', { body: [] });
  expectRefusal(answer, 401, 'INVALID_CREDENTIALS');
  assert.equal((await service.call(replaced, 'POST', '/orders/query', { body: [] })).status, 200);
});

test('200 keys replaced with an overlap work beside the new ones, until they are replaced without', async () => {
  const works = async (pair: Keys): Promise<boolean> =>
    (await service.call(pair, 'POST', '/orders/query', { body: [] })).status === 200;
  const replace = async (...options: string[]): Promise<Keys> =>
    (await service.command('keys', 'replace', 'overlap', '--json', ...options)).json() as Keys;
  const first = await service.makeTenant('overlap');
  const second = await replace('--overlap', '24h');
  assert.deepEqual([await works(first), await works(second)], [true, true]);
  const mixed = { ...first, apiSecret: second.apiSecret };
  assert.equal(await works(mixed), false, 'an ID goes with its own secret');
  const third = await replace();
  assert.deepEqual([await works(first), await works(second), await works(third)], [false, false, true]);
});
