/** Tests what a delivery makes of answers that break HTTP or its bounds, of lost connections, and of an end. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Poster } from '../../src/webhooks/poster.ts';
import { passing } from '../kit/clock.ts';
import { until } from '../kit/wait.ts';

/** The key and the certificate of `localhost`, which signs itself, until 2126. */
const KEY =
  'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgaZ5wPQjUQg/HxoICpeP3h2TnILXdNpYZK7kDaoEw8HuhRANCAASf0H63UPuFkMRp' +
  'WqMKHIiXbxUHCJYyHP8ZnPsyA10YkTxaEYWsPPCNWkTnrwYm6GPom57yYu6U9yAhh3IyWRw0';
const CERTIFICATE =
  'MIIBlDCCATugAwIBAgIUZ1CT4/pVFOvqjwykOakY2BCQLnowCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEzMDE3MDgw' +
  'NVoYDzIxMjYxMTA2MTcwODA1WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASf0H63UPuFkMRpWqMKHIiX' +
  'bxUHCJYyHP8ZnPsyA10YkTxaEYWsPPCNWkTnrwYm6GPom57yYu6U9yAhh3IyWRw0o2kwZzAdBgNVHQ4EFgQUFkmOWObbqwGwQW5VXNmeovaSCQEw' +
  'HwYDVR0jBBgwFoAUFkmOWObbqwGwQW5VXNmeovaSCQEwDwYDVR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID' +
  'RwAwRAIgL4KuEqMlwYQsge7vXJ/9RN0FDYl7nNGZYO5/9qydQWACIEsUTwFnecxfyDgx4BZqtnFB3iEjGZCslIASXYI4good';
const renderPem = (type: string, base64: string): string =>
  `-----BEGIN ${type}-----\n${base64}\n-----END ${type}-----\n`;
const MEGABYTE = 1 << 20;
const LOST = /^The receiver could not be reached( \([A-Z_]+\))?\.$/;
const answerOf = (body: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** The messages of each connection to the receiver. */
const connections: { readonly socket: Socket; text: string }[] = [];
let behave: (socket: Socket) => void = () => {};
const receiver = createServer((socket) => {
  const connection = { socket, text: '' };
  connections.push(connection);
  socket.on('error', () => {});
  socket.setEncoding('latin1').on('data', (text: string) => {
    connection.text += text;
    if (text.endsWith('{}')) behave(socket);
  });
}).listen(0, '127.0.0.1');
await once(receiver, 'listening');
const { port } = receiver.address() as AddressInfo;
const poster = new Poster({ clock: passing, isPrivateAllowed: true });
after(() => {
  poster.close();
  for (const { socket } of connections) socket.destroy();
  receiver.close();
});

const post = (stopped = new AbortController().signal) =>
  poster.post(`http://127.0.0.1:${port}/hooks?a=1#b`, { 'x-sign': 'é' }, '{}', stopped);

test('one connection carries one delivery after another, each with its length', async () => {
  behave = (socket) => socket.write(answerOf('Thanks'));
  for (let turn = 0; turn < 3; turn++) {
    const { status, error, response } = await post();
    assert.deepEqual([status, error, response], [200, null, 'Thanks']);
  }
  assert.equal(connections.length, 1);
  const { text } = connections[0]!;
  assert.equal(text.match(/POST \/hooks\?a=1 HTTP\/1\.1\r\n/g)?.length, 3);
  assert.match(text, new RegExp(`host: 127.0.0.1:${port}\r\n`, 'i'));
  assert.match(text, /content-length: 2\r\n/i);
  assert.doesNotMatch(text, /transfer-encoding/i);
});

test('an answer that breaks HTTP, changes the protocol or has endless headers is a fault', async () => {
  const answers = [
    'garbage\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
    `HTTP/1.1 200 OK\r\n${`A: ${'a'.repeat(1000)}\r\n`.repeat(100)}`,
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    '',
  ];
  for (const answer of answers) {
    behave = (socket) => socket.end(answer);
    const { status, error } = await post();
    assert.equal(status, null, answer);
    assert.match(error!, LOST, answer);
  }
  behave = (socket) => socket.resetAndDestroy();
  assert.match((await post()).error!, /\(ECONNRESET\)/);
});

test('an answer before the end of the request, or without its own end, counts by its status', async () => {
  behave = (socket) => socket.end('HTTP/1.1 202 Accepted\r\nContent-Length: 100\r\n\r\nThe beg');
  assert.deepEqual(Object.values(await post()).slice(0, 3), [202, null, 'The beg']);
  behave = (socket) => socket.write('HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n');
  assert.deepEqual(Object.values(await post()).slice(0, 3), [204, null, '']);
});

test('only the beginning of a long answer is read, and its connection ends', async () => {
  let sent = 0;
  behave = (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    const feed = (): void => {
      sent += 65_536;
      if (!socket.destroyed) socket.write('a'.repeat(65_536), feed);
    };
    feed();
  };
  const { status, response } = await post();
  assert.deepEqual([status, response], [200, 'a'.repeat(1024)]);
  const { socket } = connections.at(-1)!;
  await until(() => socket.destroyed);
  assert.ok(sent < 16 * MEGABYTE, `${sent} bytes`);
});

test('a delivery ends when it is stopped, and all connections when the sender closes', async () => {
  const stop = new AbortController();
  behave = () => stop.abort();
  assert.equal((await post(stop.signal)).status, null);
  assert.equal((await post(AbortSignal.abort())).status, null);
  const closing = new Poster({ clock: passing, isPrivateAllowed: true });
  behave = () => closing.close();
  const { status, error } = await closing.post(`http://127.0.0.1:${port}/`, {}, '{}', new AbortController().signal);
  assert.equal(status, null);
  assert.match(error!, LOST);
});

test('the certificate of a receiver is verified: who signed it, and its name', async () => {
  const cert = renderPem('CERTIFICATE', CERTIFICATE);
  let names: unknown[] = [];
  const secure = createTlsServer({ key: renderPem('PRIVATE KEY', KEY), cert }, (socket) => {
    names.push(socket.servername);
    socket.on('error', () => {}).once('data', () => socket.write(answerOf('Thanks')));
  }).listen(0, '127.0.0.1');
  await once(secure, 'listening');
  after(() => secure.close());
  const postTo = (host: string) =>
    poster.post(`https://${host}:${(secure.address() as AddressInfo).port}/`, {}, '{}', new AbortController().signal);
  assert.match((await postTo('localhost')).error!, /\(DEPTH_ZERO_SELF_SIGNED_CERT\)/);
  names = [];
  setDefaultCACertificates([...getCACertificates(), cert]);
  assert.equal((await postTo('localhost')).response, 'Thanks');
  assert.deepEqual(names, ['localhost']);
  assert.match((await postTo('127.0.0.1')).error!, /\(ERR_TLS_CERT_ALTNAME_INVALID\)/);
});
