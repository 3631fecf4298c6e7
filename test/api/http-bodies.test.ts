/** Bodies by hand: media type, coding, JSON at its edges, and what a query string can be made of. */
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { test } from 'node:test';
import { Contract } from '../kit/contract.ts';
import { basicOf, stockShop, targetOf } from '../kit/operations.ts';
import { exchange, send, writeRequest, type RawAnswer } from '../kit/raw-http.ts';
import { BASE_PATH, sharedService } from '../kit/service.ts';

const service = await sharedService();
const contract = await Contract.load(service.origin);
const shop = await stockShop(service, 'shop');
const authorization = `Authorization: ${basicOf(shop.keys)}`;

const JSON_LINE = 'Content-Type: application/json';
const BODY_BYTES_MAX = 256 * 1024;

/** Sends a body to PUT /orders/create. */
const create = (body: string | Buffer, ...lines: string[]): Promise<RawAnswer> =>
  send(service.origin, writeRequest('PUT', `${BASE_PATH}/orders/create?teamID=shop`, [authorization, ...lines], body));
const query = (body: string | Buffer): Promise<RawAnswer> =>
  send(service.origin, writeRequest('POST', `${BASE_PATH}/orders/query?teamID=shop`, [authorization, JSON_LINE], body));
const told = ({ status, body }: RawAnswer): string => `${status} ${body.code ?? ''}`.trim();
/** Checks the status, and the code of a refusal. */
const expectTold = (expected: string, answer: RawAnswer, what = answer.text): void =>
  assert.equal(told(answer), expected, what);
const readNotes = async ({ body }: RawAnswer): Promise<string> =>
  (await shop.shop.getOrder(body.data as string)).body.data.NOTES as string;

/** What was told, once the body has been checked against the contract. */
function tell(method: string, path: string, answer: RawAnswer): string {
  contract.check(method, BASE_PATH + path, answer);
  return told(answer);
}

test('400 BODY_NOT_ALLOWED on a GET with a body, which is not taken for another request', async () => {
  const target = targetOf(shop.call('getOrder'), 'shop');
  const smuggled = writeRequest('GET', '/healthz').toString();
  const requests = [
    writeRequest('GET', target, [authorization, JSON_LINE], '{}'),
    writeRequest('GET', target, [authorization], smuggled),
    writeRequest('GET', target, [authorization, 'Transfer-Encoding: chunked']).toString() +
      `2\r\n{}\r\n0\r\n\r\n${smuggled}`,
  ];
  for (const request of requests) {
    const answers = await exchange(service.origin, request, 2);
    assert.deepEqual(answers.map((answer) => tell('GET', '/orders/single', answer)), ['400 BODY_NOT_ALLOWED']); // prettier-ignore
    assert.equal(answers[0]!.headers.get('connection'), 'close');
  }
  const found = (await send(service.origin, writeRequest('GET', target, [authorization, 'Content-Length: 0']))).status;
  assert.equal(found, 200);
});

test('200 a body in chunks, however small and with whatever extensions, is the body it makes up', async () => {
  const text = '{"NOTES":"in chunks – 茶"}';
  const chunks = [...Buffer.from(text)].map((byte) =>
    Buffer.concat([Buffer.from('1;name=value\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]),
  );
  const head = writeRequest('PUT', `${BASE_PATH}/orders/create?teamID=shop`, [
    authorization,
    JSON_LINE,
    'Transfer-Encoding: Chunked',
  ]);
  const [first, second] = await exchange(
    service.origin,
    Buffer.concat([head, ...chunks, Buffer.from('0\r\nX-Trailer: 1\r\n\r\n'), writeRequest('GET', '/healthz')]),
    2,
  );
  assert.deepEqual([first!.status, second!.status], [200, 200]);
  assert.equal(await readNotes(first!), 'in chunks – 茶');
});

test('413 BODY_TOO_LARGE over 256 KiB, declared or in chunks, and not for 256 KiB', async () => {
  const padded = (length: number): string => '{"NOTES":"x"}'.padEnd(length);
  expectTold('200', await create(padded(BODY_BYTES_MAX), JSON_LINE));
  const found = tell('PUT', '/orders/create', await create(padded(BODY_BYTES_MAX + 1), JSON_LINE));
  assert.equal(found, '413 BODY_TOO_LARGE');
  const head = (...lines: string[]): Buffer =>
    writeRequest('PUT', `${BASE_PATH}/orders/create?teamID=shop`, [authorization, JSON_LINE, ...lines]);
  for (const length of ['262145', '999999999999']) {
    const [declared] = await exchange(
      service.origin,
      Buffer.concat([head(`Content-Length: ${length}`), Buffer.from('{')]),
      2,
    );
    assert.equal(tell('PUT', '/orders/create', declared!), '413 BODY_TOO_LARGE', `${length} bytes are not waited for`);
    assert.equal(declared!.headers.get('connection'), 'close');
  }
  const chunk = Buffer.from(`10000\r\n${' '.repeat(0x10000)}\r\n`);
  const [chunked] = await exchange(
    service.origin,
    Buffer.concat([head('Transfer-Encoding: chunked'), chunk, chunk, chunk, chunk, chunk]),
    2,
  );
  assert.equal(tell('PUT', '/orders/create', chunked!), '413 BODY_TOO_LARGE');
});

test('415 UNSUPPORTED_MEDIA_TYPE unless the body is application/json in UTF-8, as it is', async () => {
  const good = ['application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON;CHARSET=UTF-8', 'application/json ; charset="utf-8" ', 'application/json\t;\tcharset=Utf-8']; // prettier-ignore
  for (const type of good) expectTold('200', await create('{}', `Content-Type: ${type}`), type);
  const wrong = ['', 'json', 'text/plain', 'text/json', 'application/jsonx', 'application/json5', 'application/problem+json', 'application/vnd.api+json', 'application/x-ndjson', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/octet-stream', '*/*', 'application/*', 'application/json, text/plain', 'application/json text/plain', 'application/json; charset=utf-16', 'application/json; charset=iso-8859-1', 'application/json; charset=us-ascii', 'application/json; charset=', 'application/json; charset=utf-8; charset=utf-16', 'application/json; encoding=utf-8', 'application/json; q=1']; // prettier-ignore
  for (const type of wrong)
    assert.equal(
      tell('PUT', '/orders/create', await create('{}', `Content-Type: ${type}`)),
      '415 UNSUPPORTED_MEDIA_TYPE',
      type,
    );
  expectTold('415 UNSUPPORTED_MEDIA_TYPE', await create('{}'), 'no type');
  for (const coding of ['gzip', 'deflate', 'br', 'zstd', 'identity', 'utf-8'])
    expectTold(
      '415 UNSUPPORTED_MEDIA_TYPE',
      await create(coding === 'gzip' ? gzipSync('{}') : '{}', JSON_LINE, `Content-Encoding: ${coding}`),
      coding,
    );
});

test('400 INVALID_JSON for bytes that are no UTF-8 or no JSON', async () => {
  const bytes = [[0xff], [0xc0, 0x80], [0xc3], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe4]];
  for (const wrong of bytes)
    expectTold(
      '400 INVALID_JSON',
      await create(Buffer.concat([Buffer.from('{"NOTES":"'), Buffer.from(wrong), Buffer.from('"}')]), JSON_LINE),
      String(wrong),
    );
  const texts = ['{', '}', '{"NOTES"}', '{"NOTES":}', '{"NOTES":"x",}', "{'NOTES':'x'}", '{NOTES:"x"}', '{"NOTES":"x"}}', '{"NOTES":"\t"}', '{"NOTES":"\\x41"}', '{"NOTES":01}', '{"NOTES":+1}', '{"NOTES":.5}', '{"NOTES":NaN}', '{"NOTES":Infinity}', '{"NOTES":undefined}', '{"NOTES":"x"} // more', '/* */{}', '[1,]', 'nul', ' ', '\uFEFF{}', 'NOTES=x', '<a/>']; // prettier-ignore
  for (const text of texts)
    assert.equal(tell('PUT', '/orders/create', await create(text, JSON_LINE)), '400 INVALID_JSON', text);
});

test('400 INVALID_VALUE for a NUL or half a surrogate pair, which JSON can write and no record can hold', async () => {
  for (const value of ['\\u0000', 'a\\u0000b', '\\ud800', '\\udc00x', '\\udc00\\ud800']) {
    expectTold('400 INVALID_VALUE', await create(`{"NOTES":"${value}"}`, JSON_LINE), value);
    expectTold('400 INVALID_VALUE', await query(`[{"field":"NOTES","value":"${value}","contains":true}]`), value);
    assert.match(told(await create(`{"${value}":"x"}`, JSON_LINE)), /^400 UNKNOWN_FIELD$/, value);
  }
  const found = await readNotes(await create('{"NOTES":"\\ud83c\\udf82 caf\\u00e9 \\u2028"}', JSON_LINE));
  assert.equal(found, '🎂 café \u2028');
});

test('400 INVALID_BODY for a body nested without end, and INVALID_VALUE for one nested a little', async () => {
  for (const [open, close, depth] of [
    ['[', ']', 100_000],
    ['{"a":', '}', 40_000],
    ['[{"a":', '}]', 30_000],
  ] as const) {
    // prettier-ignore
    const nested = open.repeat(depth) + (open === '[' ? '' : '1') + close.repeat(depth);
    expectTold('400 INVALID_BODY', await create(nested, JSON_LINE), open);
    expectTold('400 INVALID_BODY', await query(nested), open);
  }
  expectTold('400 INVALID_VALUE', await create('{"NOTES":[[]]}', JSON_LINE));
  expectTold('400 INVALID_VALUE', await create('{"NOTES":{"a":{}}}', JSON_LINE));
});

test('a member sent twice in one JSON object counts as it was sent last', async () => {
  assert.equal(await readNotes(await create('{"NOTES":"first","NOTES":"last"}', JSON_LINE)), 'last');
  expectTold('200', await create('{"NOTES":{},"NOTES":"last"}', JSON_LINE));
});

test("400 for members named after JavaScript's own, which reach nothing", async () => {
  const names = '__proto__ constructor prototype toString hasOwnProperty valueOf __defineGetter__ length then'.split(
    ' ',
  );
  const records = await shop.shop.everything();
  for (const name of names) {
    expectTold('400 UNKNOWN_FIELD', await create(`{"${name}":"x"}`, JSON_LINE), name);
    expectTold('400 INVALID_VALUE', await create(`{"${name}":{"NOTES":"polluted","teamID":"other"}}`, JSON_LINE), name);
    expectTold('400 UNKNOWN_FIELD', await query(`[{"field":"${name}","value":"x"}]`), name);
    expectTold('400 INVALID_FILTER', await query(`[{"field":"NOTES","value":"x","${name}":{"contains":true}}]`), name);
    expectTold('400 INVALID_FILTER', await query(`[{"${name}":{"field":"NOTES","value":"x"}}]`), name);
    const target = `${targetOf(shop.call('getOrder'), 'shop')}&${name}=x&${name}=x`;
    const found = told(await send(service.origin, writeRequest('GET', target, [authorization])));
    assert.equal(found, '400 UNKNOWN_PARAMETER', name);
    const line = writeRequest('GET', targetOf(shop.call('getOrder'), 'shop'), [authorization, `${name}: x`]);
    expectTold('200', await send(service.origin, line), name);
  }
  const got = told(await create('{"constructor":{"prototype":{"NOTES":"polluted"}}}', JSON_LINE));
  assert.equal(got, '400 INVALID_VALUE');
  assert.equal(await shop.shop.everything(), records);
  assert.equal(await readNotes(await create('{}', JSON_LINE)), '');
});

test('a query string is percent-decoded once, + is a space, and a name counts only as it is written', async () => {
  const lookup = (value: string): Promise<RawAnswer> =>
    send(
      service.origin,
      writeRequest('GET', `${BASE_PATH}/orders/by_storefront_reference?teamID=shop&storefront_order_number=${value}`, [
        authorization,
      ]),
    );
  const decoded = { '%23shop': '#shop', '%2523shop': '%23shop', 'a+b': 'a b', 'a%20b': 'a b', 'a%2Bb': 'a+b', 'a=b': 'a=b', '%C3%A9': 'é', 'a;b': 'a;b', 'a%26b': 'a&b', "'%22%5C": `'"\\` }; // prettier-ignore
  for (const [sent, echoed] of Object.entries(decoded))
    assert.equal((await lookup(sent)).body.storefront_order_number, echoed, sent);
  assert.equal((await lookup('%23shop')).body.orders.length, 1);
  for (const sent of ['%', '%2', '%zz', '%ff', '%C3', '%c0%af', '%ED%A0%80', '%u0041']) {
    const { status, body } = await lookup(sent);
    assert.deepEqual(
      [status, body],
      [200, { storefront_order_number: sent, orders: [] }],
      'what cannot be decoded stays as it was sent',
    );
  }
  expectTold('400 INVALID_VALUE', await lookup('a%00b'));
  for (const name of [
    'storefront_order_number[]',
    'STOREFRONT_ORDER_NUMBER',
    'storefront_order_number%20',
    'storefront_order_number%00',
    ' storefront_order_number',
  ].map((one) => one.replace(' ', '+')))
    expectTold('400 UNKNOWN_PARAMETER', await lookup(`1&${name}=1`), name);
  const separators = `?&&teamID=shop&&storefront_order_number=%231&`;
  expectTold(
    '200',
    await send(
      service.origin,
      writeRequest('GET', `${BASE_PATH}/orders/by_storefront_reference${separators}`, [authorization]),
    ),
  );
});
