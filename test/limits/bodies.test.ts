/** Tests that a body needs no memory before its caller is known, and that slow bodies do not lock others out. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { basicOf } from '../kit/operations.ts';
import { exchange, openSocket, readAnswers, send, writeRequest } from '../kit/raw-http.ts';
import { BASE_PATH, ownService } from '../kit/service.ts';

/** Number of slow bodies. It exceeds the limit of calls in flight. */
const SLOW = 1100;
const CREATE = `${BASE_PATH}/orders/create`;
const JSON_LINE = 'Content-Type: application/json';
const LENGTH = 'Content-Length: 1000';

const service = await ownService();
const keys = await service.makeTenant('shop');
const good = `Authorization: ${basicOf(keys)}`;

/** Sends a request whose body begins and does not continue. */
async function sendSlow(origin: string, lines: readonly string[], target = `${CREATE}?teamID=shop`): Promise<Socket> {
  const socket = openSocket(origin);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(Buffer.concat([writeRequest('PUT', target, [...lines, JSON_LINE, LENGTH]), Buffer.from('{"NOTES":"')]));
  return socket;
}

test('401, 404 and 405 are sent before the body has arrived', async () => {
  const wrong = 'Authorization: Basic eDp5';
  const pair = 'apiID=x&apiSecret=y';
  const ways: [string, string, string[]][] = [
    ['401 INVALID_CREDENTIALS', `${CREATE}?teamID=shop`, [wrong]],
    ['401 INVALID_CREDENTIALS', `${CREATE}?teamID=shop&${pair}`, []],
    ['401 INVALID_CREDENTIALS', `${CREATE}?teamID=shop`, [good, wrong]],
    ['400 PARAMETER_CONFLICT', `${CREATE}?teamID=shop&teamID=other`, [good]],
    ['404 UNKNOWN_PATH', '/none', []],
    ['404 UNKNOWN_PATH', '/dashboard/api/none', []],
    ['405 METHOD_NOT_ALLOWED', `${BASE_PATH}/orders/single`, [good]],
    ['405 METHOD_NOT_ALLOWED', '/healthz', []],
  ];
  for (const [expected, target, lines] of ways) {
    const socket = await sendSlow(service.origin, lines, target);
    const [answer] = await readAnswers(socket);
    assert.equal(`${answer?.status} ${answer?.body.code}`, expected, `${target} ${lines.join(' ')}`);
    socket.destroy();
  }
});

test('200 a connection continues after a small unread body, and ends after one that may be large', async () => {
  const health = writeRequest('GET', '/healthz');
  const after = async (request: Buffer): Promise<number[]> =>
    (await exchange(service.origin, Buffer.concat([request, health]), 2)).map(({ status }) => status);
  assert.deepEqual(await after(writeRequest('PUT', '/none', [JSON_LINE], '{}')), [404, 200]);
  assert.deepEqual(
    await after(writeRequest('PUT', `${CREATE}?teamID=shop`, ['Authorization: Basic eDp5'], '{}')),
    [401, 200],
  );
  const chunked = writeRequest('PUT', '/none', [JSON_LINE, 'Transfer-Encoding: chunked']);
  assert.deepEqual(await after(Buffer.concat([chunked, Buffer.from('2\r\n{}\r\n')])), [404]);
});

test('429 a limit of the tenant is reported before an error in the body', async () => {
  const slow = await service.makeTenant('slow', '--rate', '1');
  const request = writeRequest(
    'PUT',
    `${CREATE}?teamID=slow`,
    [`Authorization: ${basicOf(slow)}`, JSON_LINE],
    '{"NOTES":',
  );
  const answers = await exchange(service.origin, Buffer.concat(Array.from({ length: 6 }, () => request)), 6);
  const codes = answers.map(({ body }) => body.code as string);
  assert.deepEqual(codes.slice(0, 2), ['INVALID_JSON', 'INVALID_JSON']);
  assert.equal(codes.at(-1), 'RATE_LIMITED');
  assert.equal(await service.usageOf('slow'), 6);
});

test('1,100 slow bodies cause no refusal', async () => {
  const sockets = await Promise.all(
    Array.from({ length: SLOW }, (_, index) => sendSlow(service.origin, index % 2 === 0 ? [] : [good])),
  );
  for (let call = 0; call < 10; call++) {
    assert.equal((await service.call(keys, 'PUT', '/orders/create', { body: {} })).status, 200);
    assert.equal((await send(service.origin, writeRequest('GET', '/healthz'))).status, 200);
  }
  for (const socket of sockets) socket.destroy();
});

test('503 bodies beyond the maximum of arriving bytes are refused, of unknown callers first', async () => {
  const { origin, ...small } = await startSmall();
  const known = await sendSlow(origin, [`Authorization: ${basicOf(small.keys)}`]);
  const unknown = await Promise.all(Array.from({ length: 100 }, () => sendSlow(origin, [])));
  const refused = readAnswers(unknown[0]!);
  assert.equal((await refused)[0]?.body.code, 'SERVICE_BUSY');
  known.write(`${'x'.repeat(988)}"}`);
  assert.equal((await readAnswers(known))[0]?.status, 200, 'the first of all, but of a known caller');
  for (const socket of unknown) socket.destroy();
});

/** Starts a service that accepts 64 bodies at a time. */
async function startSmall() {
  const small = await ownService({ env: { STOREROOM_TRAFFIC_BYTES_MAX: String(1024 * 1024) } });
  return { origin: small.origin, keys: await small.makeTenant('shop') };
}
