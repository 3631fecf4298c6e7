/** Tests HTTP written by hand, before any operation: headers of answers, unknown paths and methods, limits, faults. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Contract } from '../kit/contract.ts';
import { times, valuesOf } from '../kit/lists.ts';
import { basicOf, bodyOf, stockShop, targetOf } from '../kit/operations.ts';
import { exchange, send, writeRequest, type RawAnswer } from '../kit/raw-http.ts';
import { BASE_PATH, sharedService } from '../kit/service.ts';

const service = await sharedService();
const contract = await Contract.load(service.origin);
const shop = await stockShop(service, 'shop');
const target = targetOf(shop.call('getOrder'), 'shop');
const authorization = `Authorization: ${basicOf(shop.keys)}`;
const JSON_LINE = 'Content-Type: application/json';

const get = (path: string, ...lines: string[]): Promise<RawAnswer> =>
  send(service.origin, writeRequest('GET', path, lines));

/** Checks that an answer has this status and code, and the body and headers that all refusals share. */
function expectError(answer: RawAnswer, expected: string, what: string): void {
  assert.equal(`${answer.status} ${answer.body?.code}`, expected, what);
  contract.check('GET', '/not in the contract', answer);
}

// Holds S1.7.
test('every response has its own X-Request-Id and Cache-Control: no-store', async () => {
  const known = '/healthz /readyz /metrics /openapi.json /docs /docs/ /docs/reference /docs/js/scalar.js'.split(' ');
  const paths = [...known, '/docs/none', '/none', '/', target, `${target}&no=1`];
  const requests = [
    ...paths.map((path) => writeRequest('GET', path, [authorization])),
    writeRequest('GET', target),
    writeRequest('GET', '/%zz'),
    writeRequest('DELETE', target),
    writeRequest('HEAD', target),
    writeRequest('OPTIONS', '*'),
    writeRequest('GET', `/${'x'.repeat(8300)}`),
    writeRequest('GET', `/${'x'.repeat(20_000)}`),
    writeRequest('GET', '/', [`X-A: ${'x'.repeat(8300)}`]),
    writeRequest('GET', '/', [`X-A: ${'x'.repeat(20_000)}`]),
    writeRequest('PUT', `${BASE_PATH}/orders/create`, ['Expect: the unexpected'], '{}'),
    Buffer.from('no HTTP\r\n\r\n'),
  ];
  const ids = new Set<string>();
  for (const request of requests) {
    const { status, headers } = await send(service.origin, request);
    const what = `${request.toString('latin1', 0, 60)}: ${status}`;
    assert.equal(headers.get('cache-control'), 'no-store', what);
    assert.equal(headers.get('x-content-type-options'), 'nosniff', what);
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'.*frame-ancestors 'none'/, what);
    assert.doesNotMatch([...headers.keys()].join(' '), /server|powered|access-control/, what);
    ids.add(headers.get('x-request-id') ?? '');
  }
  assert.ok(ids.size === requests.length && !ids.has(''), `${ids.size} IDs for ${requests.length} answers`);
});

// Holds S1.1, S3.5, S3.10.
test('404 UNKNOWN_PATH for an unknown path, with valid credentials and without', async () => {
  const below = ['', '/', '/orders', '/orders/single/', '/orders/Single', '//orders/single'];
  const other = `/tenant /v1/orders/single ${BASE_PATH.replace('v1', 'v2')}/orders/single /openapi.yaml /docs/none
    /docs/../src/main.ts /.env /%2e%2e/control.db`;
  for (const path of [...below.map((end) => BASE_PATH + end), ...other.split(/\s+/)])
    for (const method of ['GET', 'POST', 'DELETE'])
      for (const lines of [[], [authorization]])
        if (!(path.startsWith('/docs') && method !== 'GET')) {
          const answer = await send(service.origin, writeRequest(method, `${path}?teamID=shop`, lines));
          expectError(answer, '404 UNKNOWN_PATH', `${method} ${path}`);
          assert.equal(answer.headers.get('x-month-requests'), null);
        }
});

// Holds S3.10.
test('405 METHOD_NOT_ALLOWED for another method on a known path; Allow lists the accepted ones', async () => {
  const METHODS = ['GET', 'PUT', 'POST', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];
  const allowed = new Map<string, string[]>();
  for (const { method, path } of [...shop.calls, ...shop.reads, shop.batch])
    allowed.set(BASE_PATH + path, [...(allowed.get(BASE_PATH + path) ?? []), method]);
  for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs']) allowed.set(path, ['GET', 'HEAD']);
  assert.equal(allowed.get(`${BASE_PATH}/orders/line_item`)!.length, 2);
  for (const [path, methods] of allowed)
    for (const method of METHODS.filter((one) => !methods.includes(one))) {
      const answer = await send(service.origin, writeRequest(method, `${path}?teamID=shop`, [authorization]));
      expectError(answer, '405 METHOD_NOT_ALLOWED', `${method} ${path}`);
      assert.deepEqual(answer.headers.get('allow')!.split(', ').toSorted(), methods.toSorted(), path);
      assert.equal(answer.headers.get('x-month-requests'), null);
    }
});

test('405 HEAD is not run as a GET, is not counted and gets no body', async () => {
  const counted = await service.usageOf('shop');
  const [answer] = await exchange(service.origin, writeRequest('HEAD', target, [authorization]));
  assert.deepEqual([answer!.status, answer!.headers.get('allow'), answer!.text], [405, 'GET', '']);
  contract.check('HEAD', target, answer!);
  assert.equal(await service.usageOf('shop'), counted);
});

// Holds S14.1.
test('414 URL_TOO_LONG for a URL over 8 KiB, and not for one of 8 KiB', async () => {
  const padTo = (length: number): string => `${target}&cursor=`.padEnd(length, 'x');
  for (const length of [8193, 9000, 16_000, 17_000, 30_000])
    expectError(await get(padTo(length), authorization), '414 URL_TOO_LONG', `${length} bytes`);
  expectError(await get(padTo(8192), authorization), '400 UNKNOWN_PARAMETER', '8192 bytes');
});

// Holds S14.1.
test('431 HEADERS_TOO_LARGE for headers over 8 KiB or more than 100 of them, and not for headers within', async () => {
  const padded = (size: number): string => `X-Pad: ${'x'.repeat(size)}`;
  for (const size of [8192, 9000, 17_000, 60_000])
    expectError(await get(target, authorization, padded(size)), '431 HEADERS_TOO_LARGE', `${size} bytes`);
  const many = (count: number): string[] => times(count, (index) => `X-${index}: x`);
  expectError(await get(target, authorization, ...many(99)), '431 HEADERS_TOO_LARGE', '101 headers');
  assert.equal((await get(target, authorization, ...many(98))).status, 200, '100 headers');
  assert.equal((await get(target, authorization, padded(7900))).status, 200);
});

test('400 MALFORMED_REQUEST without a Host header, or with two', async () => {
  const bare = (version: string, ...lines: string[]): Buffer =>
    Buffer.from([`GET ${target} HTTP/${version}`, authorization, ...lines, '', ''].join('\r\n'));
  expectError(await send(service.origin, bare('1.1')), '400 MALFORMED_REQUEST', 'none');
  expectError(await send(service.origin, bare('1.1', 'Host: a', 'Host: b')), '400 MALFORMED_REQUEST', 'two');
  expectError(await send(service.origin, bare('1.1', 'Host: a', 'Host: a')), '400 MALFORMED_REQUEST', 'the same twice');
  assert.equal((await send(service.origin, bare('1.1', 'Host: a'))).status, 200);
  assert.equal((await send(service.origin, bare('1.0'))).status, 200, 'HTTP/1.0 knows no Host');
});

test('400 MALFORMED_REQUEST for malformed HTTP ends the connection: later bytes are no request', async () => {
  const start = (line: string, ...more: string[]): string =>
    [line, 'Host: a', authorization, ...more, '', ''].join('\r\n');
  const create = (...lines: string[]): string =>
    start(`PUT ${BASE_PATH}/orders/create?teamID=shop HTTP/1.1`, JSON_LINE, ...lines);
  const requests: Record<string, string> = {
    'no HTTP at all': 'hello\r\n\r\n',
    'a TLS handshake': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'an unknown method': start(`BREW ${target} HTTP/1.1`),
    'a method in lowercase': start(`get ${target} HTTP/1.1`),
    'no version': start(`GET ${target}`),
    'a version before HTTP/1.0': start(`GET ${target} HTTP/0.9`),
    'a version after HTTP/1.1': start(`GET ${target} HTTP/2.0`),
    'no HTTP version there is': start(`GET ${target} HTTP/9.9`),
    'a space in the URL': start(`GET /a b HTTP/1.1`),
    'a header without a colon': create('Content-Length', '{}'),
    'a space before the colon': create('Content-Length : 2', '', '{}'),
    'a folded header': create('X-A: 1', ' 2', 'Content-Length: 2', '', '{}'),
    'a NUL in a header': create('X-A: \0', 'Content-Length: 2', '', '{}'),
    'two lengths': create('Content-Length: 2', 'Content-Length: 3', '', '{} '),
    'a length with a sign': create('Content-Length: +2', '', '{}'),
    'a negative length': create('Content-Length: -2', '', '{}'),
    'a hexadecimal length': create('Content-Length: 0x2', '', '{}'),
    'two lengths in one': create('Content-Length: 2, 2', '', '{}'),
    'a length and chunks': create('Content-Length: 2', 'Transfer-Encoding: chunked', '', '2', '{}', '0', ''),
    'an unreadable chunk size': create('Transfer-Encoding: chunked', '', 'xyz', '{}', '0', ''),
    'a chunk longer than its size': create('Transfer-Encoding: chunked', '', '1', '{}', '0', ''),
    'an unknown coding': create('Transfer-Encoding: xyz', '', '{}'),
    'chunks that are not last': create('Transfer-Encoding: chunked, gzip', '', '2', '{}', '0', ''),
  };
  const counted = await service.usageOf('shop');
  for (const [what, request] of Object.entries(requests)) {
    const bytes = Buffer.from(`${request}GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`, 'latin1');
    const answers = await exchange(service.origin, bytes, 3);
    assert.equal(answers.length, 1, what);
    expectError(answers[0]!, '400 MALFORMED_REQUEST', what);
  }
  const packed = create('Transfer-Encoding: gzip, chunked', '', '2', '{}', '0', '');
  expectError(await send(service.origin, packed), '400 MALFORMED_REQUEST', 'a packed transfer');
  assert.equal(await service.usageOf('shop'), counted);
});

test('pipelined requests on a connection get their responses in order', async () => {
  const order = writeRequest('GET', target, [authorization]);
  const { path, method } = shop.call('createOrder');
  const body = JSON.stringify(bodyOf(shop.call('createOrder')));
  const create = writeRequest(method, `${BASE_PATH}${path}?teamID=shop`, [authorization, JSON_LINE], body);
  const bytes = Buffer.concat([order, writeRequest('GET', '/none'), create, order]);
  const answers = await exchange(service.origin, bytes, 4);
  assert.deepEqual(valuesOf(answers, 'status'), [200, 404, 200, 200]);
});

test('200 a URL that names the host and an unknown Expect make no difference', async () => {
  assert.equal((await get(`http://anywhere.example${target}`, authorization)).status, 200);
  for (const expect of ['Expect: 100-continue', 'Expect: something else']) {
    const lines = [authorization, JSON_LINE, expect];
    const request = writeRequest('PUT', `${BASE_PATH}/orders/create?teamID=shop`, lines, '{}');
    assert.equal((await send(service.origin, request)).status, 200, expect);
  }
});
