/** Tests that the undocumented members of Node that the limits of a connection use exist and work as needed. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { allowHalfOpen, countUntakenBytes, resumeReading, stopReading } from '../../src/http/server/node-http.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const TURNS = 200;

async function listen(handle: RequestListener, isHalfOpen = false) {
  const server = createServer(handle);
  if (isHalfOpen) allowHalfOpen(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  return { server, open: () => connect({ port, host: '127.0.0.1', allowHalfOpen: true }) };
}

/** Returns what a client receives that closes its half of the connection before the server answers. */
async function readAfterFin(isHalfOpen: boolean): Promise<string> {
  const handle = (message: IncomingMessage, response: ServerResponse): void =>
    void message.socket.once('end', () => response.end('answered'));
  const { open } = await listen(handle, isHalfOpen);
  const client = open();
  let received = '';
  client.setEncoding('utf8').on('data', (text: string) => (received += text));
  client.end(GET);
  await once(client, 'close');
  return received;
}

test('Node has the private members, with their types', async () => {
  const { server, open } = await listen((_message, response) => response.end());
  assert.equal(typeof (server as unknown as Record<string, unknown>)['httpAllowHalfOpen'], 'boolean');
  open().write(GET);
  const [{ socket }] = (await once(server, 'request')) as [{ socket: unknown }];
  const { _paused, _handle, parser } = socket as {
    _paused: unknown;
    _handle: { writeQueueSize: unknown };
    parser: { resume: unknown };
  };
  const types = [_paused, _handle.writeQueueSize, parser.resume].map((member) => typeof member);
  assert.deepEqual(types, ['boolean', 'number', 'function']);
});

test('a client that has closed its half gets a response, and would not by default', async () => {
  assert.match(await readAfterFin(true), /answered$/);
  assert.equal(await readAfterFin(false), '');
});

test('the bytes of one chunk count as unread until the client reads them, one by one', async () => {
  const bytes = Buffer.alloc(32 * 1024 * 1024);
  const { server, open } = await listen((_message, response) => response.end(bytes));
  const client = open();
  client.write(GET);
  const [{ socket }] = (await once(server, 'request')) as [{ socket: Socket }];
  const untaken = countUntakenBytes(socket);
  assert.ok(untaken > 0 && untaken <= bytes.length + 1024);
  await once(client, 'data');
  while (countUntakenBytes(socket) === untaken) await setImmediate();
  assert.ok(countUntakenBytes(socket) > 0, 'a part of the chunk is taken');
  while (countUntakenBytes(socket) > 0) await setImmediate();
  client.destroy();
});

test('a paused connection stays paused when the body of its request is read, until it is resumed', async () => {
  const requests: IncomingMessage[] = [];
  const count = 4000;
  const all = Promise.withResolvers<void>();
  const { server, open } = await listen((message, response) => {
    response.end();
    if (requests.push(message) === 1 + count) all.resolve();
  });
  const client = open().resume();
  client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n');
  const [message] = (await once(server, 'request')) as [IncomingMessage];
  stopReading(message.socket);
  client.write(`body${GET.repeat(count)}`);
  message.resume();
  for (let turn = 0; turn < TURNS; turn++) await setImmediate();
  assert.equal(requests.length, 1);
  resumeReading(message.socket);
  await all.promise;
  client.destroy();
});
