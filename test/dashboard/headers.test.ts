/** Tests the exact headers of the dashboard's pages, assets and JSON, and that no path leads out of its folder. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { exchange, writeRequest } from '../kit/raw-http.ts';
import { openScene } from './scene.ts';
import { PASSWORD, Visitor, type Reply } from './visitor.ts';

const DIST = join(import.meta.dirname, '../../dashboard/dist');
const ROOT = join(import.meta.dirname, '../..');
const PAGE_POLICY = [
  "default-src 'none';script-src 'self';style-src 'self';img-src 'self' data:;connect-src 'self';form-action 'self'",
  "base-uri 'none';object-src 'none';frame-ancestors 'none';require-trusted-types-for 'script';trusted-types 'none'",
].join(';');
const PAGE_HEADERS = {
  'content-security-policy': PAGE_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};
const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
};
const PAGES = [
  ...'/dashboard/ /dashboard/sign-in /dashboard/link /dashboard/orders/10001 /dashboard/anything/at/all'.split(' '),
  ...'/dashboard/index.html /dashboard/?x=1'.split(' '),
];

const service = await openScene();
await service.makeTenant('shop');
const owner = await Visitor.make(service, 'shop', 'owner');

const navigate = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Reply> =>
  new Visitor(service, '', '').send(method, path, undefined, { origin: '', 'sec-fetch-site': 'none', ...headers });

function expectHeaders({ headers }: Reply, expected: Record<string, string>, what: string): void {
  for (const [name, value] of Object.entries(expected)) assert.equal(headers.get(name), value, `${what}: ${name}`);
}

function expectNoMore({ headers, text }: Reply, what: string): void {
  const policy = headers.get('content-security-policy') ?? '';
  assert.ok(policy !== '' && !/unsafe|\*|https?:|nonce|strict-dynamic/.test(policy), `${what}: ${policy}`);
  for (const name of ['server', 'x-powered-by', 'via', 'strict-transport-security', 'set-cookie'])
    assert.equal(headers.get(name), null, `${what}: ${name}`);
  assert.ok(![...headers].some(([name]) => name.startsWith('access-control-')), what);
  assert.ok(!/fastify|node\.js|v26\./i.test([...headers].join()), `${what} names what it is made with`);
  assert.ok(!/\b(at |file:\/\/)\/.*\.ts\b/.test(text), what);
}

test('every path of the dashboard returns the same page with all its headers, revalidated each time', async () => {
  const page = readFileSync(join(DIST, 'index.html'), 'utf8');
  for (const path of PAGES) {
    const reply = await navigate(path);
    assert.equal(reply.status, 200, path);
    assert.equal(reply.text, page, path);
    expectHeaders(
      reply,
      { ...PAGE_HEADERS, 'cache-control': 'no-cache', 'content-type': 'text/html; charset=utf-8' },
      path,
    );
    expectNoMore(reply, path);
  }
});

test('the page has no inline script, style or handler, which its policy would block', () => {
  const page = readFileSync(join(DIST, 'index.html'), 'utf8');
  assert.doesNotMatch(page, /<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=|javascript:/i);
  for (const [, address] of page.matchAll(/\b(?:src|href)="([^"]+)"/g))
    assert.match(address!, /^\/dashboard\/assets\/[\w.-]+$/);
});

test('every asset is served with its type, a cache time without end, and the headers of the page', async () => {
  const types: Record<string, RegExp> = {
    js: /^(text|application)\/javascript; charset=utf-8$/,
    css: /^text\/css; charset=utf-8$/,
    svg: /^image\/svg\+xml/,
  };
  const assets = globSync('assets/**/*.*', { cwd: DIST }).filter((path) => !/\.(br|gz)$/.test(path));
  assert.ok(assets.length > 5);
  for (const asset of assets) {
    const reply = await navigate(`/dashboard/${asset}`, { 'accept-encoding': 'identity' });
    assert.equal(reply.status, 200, asset);
    assert.equal(reply.text, readFileSync(join(DIST, asset), 'utf8'), asset);
    assert.match(reply.headers.get('content-type')!, types[asset.split('.').at(-1)!] ?? /./, asset);
    expectHeaders(reply, { ...PAGE_HEADERS, 'cache-control': 'public, max-age=31536000, immutable' }, asset);
    expectNoMore(reply, asset);
  }
});

test('a missing asset gets a 404 that no cache keeps', async () => {
  for (const path of ['/dashboard/assets/nothing.js', '/dashboard/assets/', '/dashboard/assets/index-00000000.css']) {
    const reply = await navigate(path);
    assert.equal(reply.status, 404, path);
    assert.doesNotMatch(reply.headers.get('cache-control') ?? '', /immutable|public|max-age=[1-9]/, path);
    expectNoMore(reply, path);
  }
});

test('JSON is never cached and its type never guessed, in results, refusals and 404s', async () => {
  const asked: [what: string, reply: Reply, status: number][] = [
    ['an answer', await owner.get('/session'), 200],
    ['a list', await owner.get('/keys'), 200],
    ['a visitor without a session', await navigate('/dashboard/api/session', { 'sec-fetch-site': 'same-origin' }), 401],
    ['cross-site', await navigate('/dashboard/api/session'), 403],
    ['a wrong password', await owner.elsewhere().signIn('wrong wrong wrong'), 401],
    ['a wrong form', await owner.post('/settings', { name: 1 }), 400],
    ['a POST that leads nowhere', await owner.post('/nothing'), 404],
    ['a GET that leads nowhere', await owner.get('/nothing'), 404],
    ['a GET of a POST', await owner.get('/sign-out'), 404],
    ['the folder of the JSON', await owner.get('/'), 404],
    ['deeper', await owner.get('/a/b/c'), 404],
    ['another method', await owner.send('DELETE', '/dashboard/api/session'), 405],
    ['the explorer', await owner.post('/explorer/orders/query', []), 200],
    ['the explorer, nowhere', await owner.get('/explorer/nothing'), 404],
  ];
  for (const [what, reply, status] of asked) {
    assert.equal(reply.status, status, `${what}: ${reply.text}`);
    expectHeaders(reply, JSON_HEADERS, what);
    assert.match(reply.headers.get('content-security-policy')!, /^default-src 'none'/, what);
    if (status >= 400)
      assert.deepEqual([reply.body.status, reply.body.requestId], ['error', reply.headers.get('x-request-id')], what);
  }
});

test('only behind TLS, every response tells browsers to use TLS: pages, JSON and the API', async () => {
  const asked = (headers: Record<string, string>): Promise<Reply>[] => [
    navigate('/dashboard/', headers),
    owner.get('/session', {}, headers),
    owner.get('/nothing', {}, headers),
    owner.send('GET', '/tenant/api/pims/v1/orders/single', undefined, headers),
    owner.send('GET', '/metrics', undefined, headers),
  ];
  for (const [proto, expected] of [
    ['https', 'max-age=31536000; includeSubDomains'],
    ['http', null],
  ] as const)
    // prettier-ignore
    for (const { headers, status } of await Promise.all(asked({ 'x-forwarded-proto': proto })))
      assert.equal(headers.get('strict-transport-security'), expected, `${proto} ${status}`);
});

test('/ and /dashboard redirect to the page, and to no other host', async () => {
  for (const path of ['/', '/dashboard', '/?next=https://evil.example', '/dashboard?x=//evil.example']) {
    const { status, headers } = await navigate(path);
    assert.deepEqual([status, headers.get('location')], [302, '/dashboard/'], path);
  }
});

test('HEAD gets the response of GET without a body', async () => {
  const names = ['content-type', 'etag', 'cache-control', 'location', 'content-security-policy'];
  for (const path of [...PAGES, '/', '/dashboard']) {
    const [got, asked] = [await navigate(path), await navigate(path, {}, 'HEAD')];
    assert.deepEqual([asked.status, asked.text], [got.status, ''], path);
    for (const name of names) assert.equal(asked.headers.get(name), got.headers.get(name), `${path}: ${name}`);
  }
});

test('no path reads a file outside the built pages', async () => {
  const files = globSync(['package.json', 'src/main.ts', 'dashboard/{package.json,vite.config.ts}'], { cwd: ROOT });
  const secrets = files.map((file) => readFileSync(join(ROOT, file), 'utf8').slice(0, 60));
  assert.ok(secrets.length >= 2);
  const ups = [
    ...'.. %2e%2e .%2e %2E. ..%2f.. %2e%2e%2f%2e%2e ..%5c.. %252e%252e ..; ....//'.split(' '),
    ...'..\\.. %c0%ae%c0%ae .%00. ..%00'.split(' '),
  ];
  const ends = ['package.json', 'src/main.ts', 'etc/passwd', '.git/config'];
  const bases =
    '/dashboard/ /dashboard/assets/ /dashboard/api/ /dashboard/assets/x/ /dashboard/assets// //dashboard/assets/';
  for (const base of bases.split(' '))
    for (const up of ups)
      for (const end of ends) {
        for (const depth of [4, 2, 1]) {
          const path = `${base}${Array(depth).fill(up).join('/')}/${end}`;
          const [answer] = await exchange(service.origin, writeRequest('GET', path, ['Connection: close']));
          assert.ok(answer && [200, 302, 400, 403, 404].includes(answer.status), `${path}: ${answer?.status}`);
          assert.ok(!secrets.some((secret) => answer.text.includes(secret)), path);
          assert.doesNotMatch(answer.text, /root:x:0|\[core\]/, path);
          if (answer.status === 200) assert.match(answer.headers.get('content-type')!, /^text\/html/, path);
          if (answer.status === 302) assert.match(answer.headers.get('location')!, /^\/dashboard\/(?!\/)/, path);
        }
      }
  const odd = '/dashboard/assets/%00 /dashboard/assets/% /dashboard/%ff /dashboard/assets/CON'.split(' ');
  for (const path of [...odd, `/dashboard/${'x'.repeat(7000)}`]) {
    const [answer] = await exchange(service.origin, writeRequest('GET', path));
    assert.ok(answer && answer.status < 500, `${path.slice(0, 50)}: ${answer?.status}`);
  }
});

test('the pages and their assets are the same for every visitor: they need no session and start none', async () => {
  const mine = await owner.send('GET', '/dashboard/');
  assert.equal(mine.text, (await navigate('/dashboard/')).text);
  assert.ok(!mine.text.includes('shop') && !mine.text.includes(PASSWORD));
  assert.deepEqual(mine.headers.getSetCookie(), []);
});
