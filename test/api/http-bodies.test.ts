/** Tests bodies written by hand: media types, codings, edge cases of JSON, and what a query string may contain. */
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { test } from 'node:test';
import { Contract } from '../kit/contract.ts';
import { times } from '../kit/lists.ts';
import { basicOf, stockShop, targetOf } from '../kit/operations.ts';
import { exchange, send, writeRequest, type RawAnswer } from '../kit/raw-http.ts';
import { BASE_PATH, sharedService } from '../kit/service.ts';

const service = await sharedService();
const contract = await Contract.load(service.origin);
const shop = await stockShop(service, 'shop');
const authorization = `Authorization: ${basicOf(shop.keys)}`;

const JSON_LINE = 'Content-Type: application/json';
const BODY_BYTES_MAX = 256 * 1024;

/** Returns a PUT /orders/create with these header lines. */
const creating = (lines: string[], body: string | Buffer = ''): Buffer =>
  writeRequest('PUT', `${BASE_PATH}/orders/create?teamID=shop`, [authorization, ...lines], body);
const create = (body: string | Buffer, ...lines: string[]): Promise<RawAnswer> =>
  send(service.origin, creating(lines, body));
const query = (body: string | Buffer): Promise<RawAnswer> =>
  send(service.origin, writeRequest('POST', `${BASE_PATH}/orders/query?teamID=shop`, [authorization, JSON_LINE], body));
const told = ({ status, body }: RawAnswer): string => `${status} ${body.code ?? ''}`.trim();
/** Checks the status, and the code of a refusal. */
const expectTold = (expected: string, answer: RawAnswer, what = answer.text): void =>
  assert.equal(told(answer), expected, what);
const readNotes = async ({ body }: RawAnswer): Promise<string> =>
  (await shop.shop.getOrder(body.data as string)).body.data.NOTES as string;

/** Checks an answer against the contract, and returns its status and code. */
function tell(method: string, path: string, answer: RawAnswer): string {
  contract.check(method, BASE_PATH + path, answer);
  return told(answer);
}

// Holds S3.11.
test('400 BODY_NOT_ALLOWED on a GET with a body, which is not parsed as another request', async () => {
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
    const codes = answers.map((answer) => tell('GET', '/orders/single', answer));
    assert.deepEqual(codes, ['400 BODY_NOT_ALLOWED']);
    assert.equal(answers[0]!.headers.get('connection'), 'close');
  }
  const found = (await send(service.origin, writeRequest('GET', target, [authorization, 'Content-Length: 0']))).status;
  assert.equal(found, 200);
});

test('200 a body in chunks, also small ones and with extensions, is read whole', async () => {
  const text = '{"NOTES":"in chunks – 茶"}';
  const chunks = [...Buffer.from(text)].map((byte) =>
    Buffer.concat([Buffer.from('1;name=value\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]),
  );
  const head = creating([JSON_LINE, 'Transfer-Encoding: Chunked']);
  const rest = [Buffer.from('0\r\nX-Trailer: 1\r\n\r\n'), writeRequest('GET', '/healthz')];
  const [first, second] = await exchange(service.origin, Buffer.concat([head, ...chunks, ...rest]), 2);
  assert.deepEqual([first!.status, second!.status], [200, 200]);
  assert.equal(await readNotes(first!), 'in chunks – 茶');
});

// Holds S3.10, S14.1.
test('413 BODY_TOO_LARGE over 256 KiB, declared or in chunks, and not for 256 KiB', async () => {
  const padded = (length: number): string => '{"NOTES":"x"}'.padEnd(length);
  expectTold('200', await create(padded(BODY_BYTES_MAX), JSON_LINE));
  const found = tell('PUT', '/orders/create', await create(padded(BODY_BYTES_MAX + 1), JSON_LINE));
  assert.equal(found, '413 BODY_TOO_LARGE');
  const exchangeFirst = async (line: string, ...parts: Buffer[]): Promise<RawAnswer> =>
    (await exchange(service.origin, Buffer.concat([creating([JSON_LINE, line]), ...parts]), 2))[0]!;
  for (const length of ['262145', '999999999999']) {
    const declared = await exchangeFirst(`Content-Length: ${length}`, Buffer.from('{'));
    assert.equal(tell('PUT', '/orders/create', declared), '413 BODY_TOO_LARGE', `${length} bytes are not waited for`);
    assert.equal(declared.headers.get('connection'), 'close');
  }
  const chunk = Buffer.from(`10000\r\n${' '.repeat(0x10000)}\r\n`);
  const chunked = await exchangeFirst('Transfer-Encoding: chunked', ...times(5, () => chunk));
  assert.equal(tell('PUT', '/orders/create', chunked), '413 BODY_TOO_LARGE');
});

// Holds S1.4, S3.10.
test('415 UNSUPPORTED_MEDIA_TYPE unless the body is application/json in UTF-8 without a content coding', async () => {
  const charsets = [
    '; charset=utf-8',
    ' ; charset="utf-8" ',
    '\t;\tcharset=Utf-8',
    ';charset=UTF8',
    '; charset="us-ascii"',
  ];
  const others = ['', ';', '; ;', '; q=1', '; encoding=x; charset=utf-8;', '; v="a"; charset="UTF-8" ;'];
  const good = [...charsets, ...others].map((end) => `application/json${end}`);
  for (const type of [...good, 'APPLICATION/JSON;CHARSET=UTF-8'])
    expectTold('200', await create('{}', `Content-Type: ${type}`), type);
  const types = `json text/plain text/json application/jsonx application/json5 application/problem+json */*
    application/vnd.api+json application/x-ndjson application/x-www-form-urlencoded
    application/octet-stream application/*`;
  const ends = [', text/plain', ' text/plain', '; charset=utf-16', '; charset=iso-8859-1', '; charset=utf-88'];
  const more = ['; charset=', '; charset=utf-8; charset=utf-16', ';v="a";charset="latin1"'];
  const wrong = [...types.split(/\s+/), ...[...ends, ...more].map((end) => `application/json${end}`)];
  for (const type of ['', 'multipart/form-data; boundary=x', ...wrong]) {
    const answer = await create('{}', `Content-Type: ${type}`);
    assert.equal(tell('PUT', '/orders/create', answer), '415 UNSUPPORTED_MEDIA_TYPE', type);
  }
  expectTold('415 UNSUPPORTED_MEDIA_TYPE', await create('{}'), 'no type');
  for (const coding of ['gzip', 'deflate', 'br', 'zstd', 'identity', 'utf-8']) {
    const body = coding === 'gzip' ? gzipSync('{}') : '{}';
    const answer = await create(body, JSON_LINE, `Content-Encoding: ${coding}`);
    expectTold('415 UNSUPPORTED_MEDIA_TYPE', answer, coding);
    assert.equal(answer.body.message, `The body is compressed (${coding}). Send it uncompressed.`);
  }
  const packed = await create(gzipSync('{}'), JSON_LINE);
  expectTold('415 UNSUPPORTED_MEDIA_TYPE', packed);
  assert.match(packed.body.message, /compressed \(gzip\)/);
});

test('400 INVALID_JSON for bytes that are not UTF-8 or not JSON', async () => {
  const bytes = [[0xff], [0xc0, 0x80], [0xc3], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe4]];
  for (const wrong of bytes) {
    const body = Buffer.concat([Buffer.from('{"NOTES":"'), Buffer.from(wrong), Buffer.from('"}')]);
    expectTold('400 INVALID_JSON', await create(body, JSON_LINE), String(wrong));
  }
  const values = ['', '"x",', '"x"}', '"\t"', '"\\x41"', '01', '+1', '.5', 'NaN', 'Infinity', 'undefined'];
  const objects = [
    '{',
    '}',
    '{"NOTES"}',
    "{'NOTES':'x'}",
    '{NOTES:"x"}',
    '{"NOTES":"x"} // more',
    '/* */{}',
    '\uFEFF{}',
  ];
  const texts = [...objects, ...values.map((value) => `{"NOTES":${value}}`), '[1,]', 'nul', ' ', 'NOTES=x', '<a/>'];
  for (const text of texts)
    assert.equal(tell('PUT', '/orders/create', await create(text, JSON_LINE)), '400 INVALID_JSON', text);
});

test('400 INVALID_VALUE for a NUL or half a surrogate pair, which no record can store', async () => {
  for (const value of ['\\u0000', 'a\\u0000b', '\\ud800', '\\udc00x', '\\udc00\\ud800']) {
    expectTold('400 INVALID_VALUE', await create(`{"NOTES":"${value}"}`, JSON_LINE), value);
    expectTold('400 INVALID_VALUE', await query(`[{"field":"NOTES","value":"${value}","contains":true}]`), value);
    assert.match(told(await create(`{"${value}":"x"}`, JSON_LINE)), /^400 UNKNOWN_FIELD$/, value);
  }
  const found = await readNotes(await create('{"NOTES":"\\ud83c\\udf82 caf\\u00e9 \\u2028"}', JSON_LINE));
  assert.equal(found, '🎂 café \u2028');
});

test('400 INVALID_BODY for a deeply nested body, and INVALID_VALUE for a slightly nested one', async () => {
  for (const [open, within, close, depth] of [
    ['[', '', ']', 100_000],
    ['{"a":', '1', '}', 40_000],
    ['[{"a":', '1', '}]', 30_000],
  ] as const) {
    const nested = open.repeat(depth) + within + close.repeat(depth);
    expectTold('400 INVALID_BODY', await create(nested, JSON_LINE), open);
    expectTold('400 INVALID_BODY', await query(nested), open);
  }
  expectTold('400 INVALID_VALUE', await create('{"NOTES":[[]]}', JSON_LINE));
  expectTold('400 INVALID_VALUE', await create('{"NOTES":{"a":{}}}', JSON_LINE));
});

test('400 INVALID_JSON names a member that a JSON object has twice', async () => {
  const twice = (name: string, value = '"last"'): string => `{"NOTES":"first","${name}" :${value}}`;
  const nested = `[{"operation":"createOrder","body":${twice('NOTES')}}]`;
  for (const text of [twice('NOTES'), twice('NOT\\u0045S'), twice('NOTES', '{}'), '{"NOTES":{},"NOTES":":"}', nested]) {
    const answer = await create(text, JSON_LINE);
    assert.equal(tell('PUT', '/orders/create', answer), '400 INVALID_JSON', text);
    assert.deepEqual(
      [answer.body.field, /'NOTES' twice in one object/.test(answer.body.message)],
      ['NOTES', true],
      text,
    );
  }
  expectTold('400 INVALID_JSON', await query('[{"field":"NOTES","value":"a","value":"b"}]'));
  for (const notes of ['a: b', '"NOTES":"x"', '{"a":1,"a":2}', 'https://x.example/:8080', '\\":', '}{'])
    assert.equal(await readNotes(await create(JSON.stringify({ NOTES: notes }), JSON_LINE)), notes);
  expectTold('200', await query('[{"field":"NOTES","value":"a:b"},{"field":"NOTES","value":"a"}]'));
});

test('400 for members with names that are special in JavaScript, which have no effect', async () => {
  const names = '__proto__ constructor prototype toString hasOwnProperty valueOf __defineGetter__ length then';
  const records = await shop.shop.everything();
  for (const name of names.split(' ')) {
    expectTold('400 UNKNOWN_FIELD', await create(`{"${name}":"x"}`, JSON_LINE), name);
    expectTold('400 INVALID_VALUE', await create(`{"${name}":{"NOTES":"polluted","teamID":"other"}}`, JSON_LINE), name);
    expectTold('400 UNKNOWN_FIELD', await query(`[{"field":"${name}","value":"x"}]`), name);
    expectTold('400 INVALID_FILTER', await query(`[{"field":"NOTES","value":"x","${name}":{"contains":true}}]`), name);
    expectTold('400 INVALID_FILTER', await query(`[{"${name}":{"field":"NOTES","value":"x"}}]`), name);
    const target = targetOf(shop.call('getOrder'), 'shop');
    const parameters = writeRequest('GET', `${target}&${name}=x&${name}=x`, [authorization]);
    expectTold('400 UNKNOWN_PARAMETER', await send(service.origin, parameters), name);
    const line = writeRequest('GET', target, [authorization, `${name}: x`]);
    expectTold('200', await send(service.origin, line), name);
  }
  expectTold('400 INVALID_VALUE', await create('{"constructor":{"prototype":{"NOTES":"polluted"}}}', JSON_LINE));
  assert.equal(await shop.shop.everything(), records);
  assert.equal(await readNotes(await create('{}', JSON_LINE)), '');
});

// Holds S9.1.
test('a query string is percent-decoded once, + is a space, and parameter names match exactly', async () => {
  const path = `${BASE_PATH}/orders/by_storefront_reference`;
  const ask = (text: string): Promise<RawAnswer> =>
    send(service.origin, writeRequest('GET', `${path}?${text}`, [authorization]));
  const lookup = (value: string): Promise<RawAnswer> => ask(`teamID=shop&storefront_order_number=${value}`);
  const decoded = String.raw`%23shop → #shop | %2523shop → %23shop | a+b → a b | a%20b → a b | a%2Bb → a+b
    | '%22%5C → '"\ | a=b → a=b | %C3%A9 → é | a;b → a;b | a%26b → a&b`;
  for (const [sent = '', echoed] of decoded.split(/\s+\| /).map((pair) => pair.split(' → ')))
    assert.equal((await lookup(sent)).body.storefront_order_number, echoed, sent);
  assert.equal((await lookup('%23shop')).body.orders.length, 1);
  for (const sent of ['%', '%2', '%zz', '%u0041']) {
    const { status, body } = await lookup(sent);
    assert.equal(status, 200);
    assert.deepEqual(body, { storefront_order_number: sent, orders: [] }, 'an invalid escape is kept');
  }
  for (const sent of ['%ff', '%C3', '%c0%af', '%ED%A0%80', '%23%C4%201', 'a%zz%FF']) {
    const answer = await lookup(sent);
    assert.equal(tell('GET', '/orders/by_storefront_reference', answer), '400 INVALID_PARAMETER', sent);
    assert.equal(answer.body.field, 'storefront_order_number');
    assert.match(answer.body.message, /^storefront_order_number is not percent-encoded UTF-8/);
  }
  expectTold('400 INVALID_PARAMETER', await ask('teamID=shop&storefront_order_number=1&x=%FF'));
  const batch = writeRequest('POST', `${BASE_PATH}/batch?teamID=shop&M%FC=1`, [authorization, JSON_LINE], '[]');
  const refused = await send(service.origin, batch);
  assert.deepEqual([told(refused), refused.body.field], ['400 INVALID_PARAMETER', 'M%FC']);
  expectTold('400 INVALID_VALUE', await lookup('a%00b'));
  const names = ['number[]', 'number%20', 'number%00'].map((end) => `storefront_order_${end}`);
  for (const name of [...names, 'STOREFRONT_ORDER_NUMBER', '+storefront_order_number'])
    expectTold('400 UNKNOWN_PARAMETER', await lookup(`1&${name}=1`), name);
  expectTold('200', await ask('&&teamID=shop&&storefront_order_number=%231&'), 'empty parts');
});
