/** Tests the limits of a connection: how many requests wait on it, the order of their responses, and how it ends. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Contract } from '../kit/contract.ts';
import { times } from '../kit/lists.ts';
import { readMetrics, sumOf } from '../kit/metrics.ts';
import { basicOf } from '../kit/operations.ts';
import { exchange, openSocket, readAnswers, send, writeRequest, type RawAnswer } from '../kit/raw-http.ts';
import { Shop } from '../kit/records.ts';
import { BASE_PATH, ownService } from '../kit/service.ts';

const PAUSE_MS = 1000;
const shop = await Shop.shared('connections');
const { origin } = shop.service;
const contract = await Contract.load(origin);
const authorization = `Authorization: ${basicOf(shop.keys)}`;
const JSON_LINE = 'Content-Type: application/json';
const CREATE = `${BASE_PATH}/orders/create?teamID=connections`;
const create = writeRequest('PUT', CREATE, [authorization, JSON_LINE], '{}');

const told = (answers: readonly RawAnswer[]): string[] =>
  answers.map(({ status, body, headers }) =>
    `${status} ${body?.code ?? ''} ${headers.get('connection')}`.replaceAll('  ', ' '),
  );

test('200 a client that has closed its sending side gets the responses to its writes', async () => {
  const socket = openSocket(origin);
  socket.end(Buffer.concat([create, create, create]));
  assert.deepEqual(
    told(await readAnswers(socket, { count: 4 })),
    Array.from({ length: 3 }, () => '200 keep-alive'),
  );
});

test('200 pipelined requests are processed one after the other and get their responses in order', async () => {
  const requests = Array.from({ length: 100 }, (_, index) =>
    index % 2 === 0 ? create : writeRequest('GET', `/none/${index}`),
  );
  const answers = await exchange(origin, Buffer.concat(requests), requests.length);
  assert.equal(answers.length, requests.length);
  let last = 0;
  for (const [index, { status, body }] of answers.entries())
    if (index % 2 === 1) assert.match(body.message as string, new RegExp(`/none/${index} `));
    else {
      assert.equal(status, 200);
      assert.ok(Number(body.data) > last, 'order numbers go up as they were asked for');
      last = Number(body.data);
    }
});

test('a connection with too many waiting requests is ended and counted, and others get their responses', async () => {
  const countEnded = async (): Promise<number> =>
    sumOf((await readMetrics(shop.service)).samples, 'storeroom_connections_ended_total', { reason: 'pipeline' })!;
  const before = await countEnded();
  const socket = openSocket(origin);
  // The service may reset the connection, which `once` would throw.
  const ended = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => undefined);
  socket.resume();
  // The text has less than 64 KiB, so Node reads it at once.
  socket.write(Buffer.concat([create, Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2000))]));
  await ended;
  assert.equal((await shop.createOrder({})).status, 200);
  assert.equal(await countEnded(), before + 1);
});

test('405 for CONNECT and QUERY, 404 for QUERY at an unknown path', async () => {
  const requests = {
    '405 METHOD_NOT_ALLOWED close': writeRequest('CONNECT', 'example.com:443'),
    '405 METHOD_NOT_ALLOWED keep-alive': writeRequest('QUERY', `${BASE_PATH}/orders/query`),
    '404 UNKNOWN_PATH keep-alive': writeRequest('QUERY', '/none', [JSON_LINE], '[]'),
  };
  for (const [expected, request] of Object.entries(requests)) {
    const answer = await send(origin, request);
    assert.deepEqual(told([answer]), [expected]);
    contract.check('GET', '/not in the contract', answer);
  }
});

test('a request with Upgrade gets its response and ends its connection, whose later bytes are lost', async () => {
  const upgrade = writeRequest('GET', '/healthz', ['Connection: upgrade', 'Upgrade: websocket']);
  const answers = await exchange(origin, Buffer.concat([upgrade, writeRequest('GET', '/readyz')]), 2);
  assert.deepEqual(told(answers), ['200 close']);
});

test('Expect: 100-continue gets 100 only when its body will be read', async () => {
  const expecting = (lines: string[], length: number): Buffer =>
    writeRequest('PUT', CREATE, [...lines, JSON_LINE, 'Expect: 100-continue', `Content-Length: ${length}`]);
  const ways: [string, Buffer][] = [
    ['HTTP/1.1 100 Continue', expecting([authorization], 2)],
    ['HTTP/1.1 413 Payload Too Large', expecting([authorization], 100_000_000)],
    ['HTTP/1.1 401 Unauthorized', expecting(['Authorization: Basic eDp5'], 2)],
  ];
  for (const [expected, request] of ways) {
    const socket = openSocket(origin);
    socket.write(request);
    const [first] = (await once(socket, 'data')) as [Buffer];
    assert.equal(first.toString('latin1').split('\r\n', 1)[0], expected);
    socket.destroy();
  }
});

test('400 BODY_NOT_ALLOWED for a GET with a body on every path, and its connection ends', async () => {
  for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs', '/dashboard/', '/', '/none'])
    for (const request of [
      writeRequest('GET', path, [], 'hello'),
      Buffer.concat([
        writeRequest('GET', path, ['Transfer-Encoding: chunked']),
        Buffer.from('5\r\nhello\r\n0\r\n\r\n'),
      ]),
    ]) {
      const answers = await exchange(origin, Buffer.concat([request, writeRequest('GET', '/healthz')]), 2);
      assert.deepEqual(told(answers), ['400 BODY_NOT_ALLOWED close'], path);
      contract.check('GET', path === '/readyz' ? path : '/healthz', answers[0]!);
    }
});

test('200 HEAD of the paths of the service has their headers and no body', async () => {
  for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs/']) {
    const answer = await send(origin, writeRequest('HEAD', path));
    assert.deepEqual([answer.status, answer.text], [200, ''], path);
    assert.match(answer.headers.get('content-length') ?? '', /^[1-9]/, path);
  }
});

test('request IDs do not reveal the number of requests, and no two are equal', async () => {
  const service = await ownService();
  const health = writeRequest('GET', '/healthz');
  const idsOf = async (count: number): Promise<string[]> =>
    (await exchange(service.origin, Buffer.concat(times(count, () => health)), count)).map(({ headers }) =>
      headers.get('x-request-id')!,
    );
  const numberOf = (id: string): number => Number.parseInt(id.slice(9), 36);
  const ids = await idsOf(60);
  for (const id of ids) assert.match(id, /^[\w-]{8}-[0-9a-z]{1,10}$/);
  assert.equal(new Set(ids).size, ids.length);
  await service.stand();
  const [last = ''] = await idsOf(1);
  await service.move(PAUSE_MS);
  const [next = ''] = await idsOf(1);
  assert.equal(numberOf(next) - numberOf(last), PAUSE_MS * 1000);
  assert.ok(numberOf(ids.at(-1)!) < numberOf(last));
});
