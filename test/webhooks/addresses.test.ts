/** Tests that deliveries only reach public addresses, also if the address of a name changes. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { checkUrl, isPublic, lookUpPublic } from '../../src/webhooks/webhooks.ts';
import { Poster } from '../../src/webhooks/poster.ts';
import { passing } from '../kit/clock.ts';

const PRIVATE = `0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.8.8.8 169.254.169.254
  172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1
  239.255.255.255 240.0.0.1 255.255.255.255 :: ::1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::7f00:1 64:ff9b::7f00:1 64:ff9b:1::1
  100::1 2001::1 2001:db8::1 2002:7f00:1::1 3fff::1 fc00::1 fd12:3456::1 fe80::1 fec0::1 ff02::1 ff0e::1 1.2.3 shop`
  .trim()
  .split(/\s+/);
const PUBLIC = '1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 172.32.0.1 223.255.255.1 2606:4700::1111 2a00:1450::1'.split(
  ' ',
);

test('only addresses that the internet routes are public', () => {
  for (const address of PRIVATE) assert.equal(isPublic(address), false, address);
  for (const address of PUBLIC) assert.equal(isPublic(address), true, address);
});

test('a URL is https: and has neither user nor fragment; http: only if private addresses are allowed', () => {
  assert.equal(checkUrl('https://shop.example.com/hooks?a=1', false), 'https://shop.example.com/hooks?a=1');
  for (const url of [
    'http://a.example',
    'ftp://a.example',
    'a.example',
    'https://u:p@a.example',
    'https://a.example/#a',
  ])
    assert.throws(() => checkUrl(url, false), /The URL must be an https: address/, url);
  assert.throws(() => checkUrl('ftp://a.example', true), /an http: or https: address/);
  assert.throws(() => checkUrl(`https://a.example/${'a'.repeat(2000)}`, false));
  for (const host of ['127.0.0.1', '[::1]', '[::ffff:10.0.0.1]', '0x7f.1', '2130706433', 'localhost', 'a.localhost'])
    assert.throws(() => checkUrl(`https://${host}/`, false), /is not public/, host);
  assert.equal(checkUrl('https://8.8.8.8/', false), 'https://8.8.8.8/');
  assert.equal(checkUrl('http://a.example', true), 'http://a.example/');
});

// Holds S16.6.
test('no connection is opened to a private address: literal, of a name, or after a name changes', async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close());
  const { port } = server.address() as AddressInfo;
  let isRebound = false;
  /** Resolves a name to a public address first, and then to a private one. */
  const lookup = lookUpPublic(async () => [{ address: isRebound ? '127.0.0.1' : '1.1.1.1', family: 4 }]);
  const before = await new Promise((resolve) => lookup('rebinding.example', {}, (...answer) => resolve(answer)));
  assert.deepEqual(before, [null, '1.1.1.1', 4]);
  isRebound = true;
  const poster = new Poster({ clock: passing, isPrivateAllowed: false, lookup });
  after(() => poster.close());
  const hosts = ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '0x7f.1', '2130706433', '0', 'rebinding.example'];
  for (const host of hosts) {
    const answer = await poster.post(`https://${host}:${port}/`, {}, '{}', new AbortController().signal);
    assert.equal(answer.status, null, host);
    assert.match(answer.error!, /The address of the receiver is not public/, host);
  }
  const plain = await poster.post(`http://shop.example:${port}/`, {}, '{}', new AbortController().signal);
  assert.match(plain.error!, /not public/);
  const own = new Poster({ clock: passing, isPrivateAllowed: false });
  after(() => own.close());
  assert.equal((await own.post(`https://localhost:${port}/`, {}, '{}', new AbortController().signal)).status, null);
  assert.equal(connections, 0);

  const open = new Poster({ clock: passing, isPrivateAllowed: true });
  after(() => open.close());
  const reached = await open.post(`http://localhost:${port}/`, {}, '{}', new AbortController().signal);
  assert.match(reached.error!, /could not be reached/);
  assert.equal(connections, 1, 'the test can see a connection');
});

test('only the public addresses of a name are used', async () => {
  const found = async () => [
    { address: '10.0.0.1', family: 4 },
    { address: '1.1.1.1', family: 4 },
    { address: '2606:4700::1111', family: 6 },
  ];
  const lookup = lookUpPublic(found);
  const ask = (options: object): Promise<unknown[]> =>
    new Promise((resolve) => lookup('shop.example', options, (...answer) => resolve(answer)));
  assert.deepEqual(await ask({ all: true }), [
    null,
    [
      { address: '1.1.1.1', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ],
  ]);
  assert.deepEqual(await ask({}), [null, '1.1.1.1', 4]);
  assert.deepEqual(await ask({ family: 6 }), [null, '2606:4700::1111', 6]);
});
