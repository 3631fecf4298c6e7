/** Tests the paths beside the operations: health, readiness, metrics, the contract, and the pages of the reference. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ERRORS } from '../../src/errors.ts';
import { stockShop } from '../kit/operations.ts';
import { openSocket, readAnswers } from '../kit/raw-http.ts';
import { BASE_PATH, Service, ownService } from '../kit/service.ts';

const ROOT = join(import.meta.dirname, '../..');

const service = await ownService();
const shop = await stockShop(service, 'mytenant');

const get = (path: string): Promise<Response> => fetch(service.origin + path);

// Holds S1.8.
test('200 /healthz and /readyz while the service can serve', async () => {
  for (const path of ['/healthz', '/readyz', '/healthz?any=thing']) {
    const response = await get(path);
    assert.deepEqual([response.status, await response.json()], [200, { status: 'ok' }], path);
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
  }
});

test('/metrics has the losses of the request log, which are zero', async () => {
  assert.match(await (await get('/metrics')).text(), /^storeroom_request_log_dropped_total 0$/m);
});

test('/metrics has calls by operation and status, and no tenant, record or secret', async () => {
  await shop.shop.getOrder('order-mytenant');
  await shop.shop.getOrder('no-such-order');
  const query = { orderNum: 'order-mytenant' };
  await service.call({ ...shop.keys, apiSecret: 'wrong-secret' }, 'GET', '/orders/single', { query });
  await service.request('GET', '/none-mytenant', { query: { apiSecret: shop.keys.apiSecret } });
  const response = await get('/metrics');
  const text = await response.text();
  assert.match(response.headers.get('content-type')!, /^text\/plain/);
  for (const [operation, statuses] of Object.entries({ getOrder: [200, 404, 401], createCustomer: [200] }))
    for (const status of statuses)
      assert.ok(
        text.includes(`\nstoreroom_requests_total{operation="${operation}",status="${status}"} 1\n`),
        operation,
      );
  assert.match(text, /^storeroom_request_duration_seconds_count\{operation="getOrder"\} 3$/m);
  assert.match(text, /^process_resident_memory_bytes \d+/m);
  const { apiID, apiSecret } = shop.keys;
  for (const secret of ['mytenant', apiID, apiSecret, 'wrong-secret', 'no-such-order', 'sr_id', 'sr_sk'])
    assert.ok(!text.includes(secret), secret);
});

test('404 /metrics when they are switched off', async (context) => {
  const silent = await Service.start({ env: { STOREROOM_METRICS: 'off' } });
  context.after(() => silent.stop());
  const response = await fetch(`${silent.origin}/metrics`);
  assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [404, 'UNKNOWN_PATH']);
});

// Holds S1.9.
test('/openapi.json is the contract: OpenAPI 3.1 with every operation', async () => {
  const response = await get('/openapi.json');
  const document = (await response.json()) as { openapi: string; paths: Record<string, object> };
  assert.match(document.openapi, /^3\.1\./);
  assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
  for (const { method, path } of [...shop.calls, ...shop.reads, shop.batch])
    assert.ok(method.toLowerCase() in document.paths[BASE_PATH + path]!, `${method} ${path}`);
});

/** Returns the directives of the Content-Security-Policy. */
function readPolicy({ headers }: Response): Map<string, string[]> {
  const directives = headers.get('content-security-policy')!.split(';');
  const words = directives.map((part) => part.trim().split(/\s+/));
  return new Map(words.map(([name = '', ...sources]) => [name, sources]));
}

test('/docs allows nothing from other hosts: the guides only styles and pictures, the reference also its scripts', async () => {
  const redirect = await fetch(`${service.origin}/docs`, { redirect: 'manual' });
  assert.deepEqual([redirect.status, redirect.headers.get('location')], [301, '/docs/']);
  for (const path of ['/docs/', '/docs/errors', '/docs/several-nodes', '/docs/reference']) {
    const page = await get(path);
    assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8'], path);
    const policy = readPolicy(page);
    for (const name of ['default-src', 'base-uri', 'form-action', 'frame-ancestors'])
      assert.deepEqual(policy.get(name), ["'none'"], `${path} ${name}`);
    const isReference = path === '/docs/reference';
    assert.deepEqual(policy.get('script-src'), isReference ? ["'self'"] : undefined);
    assert.deepEqual(policy.get('style-src'), isReference ? ["'self'", "'unsafe-inline'"] : ["'self'"]);
    const allowed = new Set([...policy.values()].flat());
    assert.deepEqual(allowed.difference(new Set(["'none'", "'self'", "'unsafe-inline'", 'data:'])), new Set(), path);
    // The policy would block them.
    assert.doesNotMatch(await page.text(), /<script(?! src="\/docs\/js\/)|<style| (style|on\w+)=/, path);
  }
  const script = await get('/docs/js/scalar.js');
  assert.deepEqual([script.status, script.headers.get('content-type')], [200, 'text/javascript; charset=utf-8']);
  const packed = Buffer.from(await script.arrayBuffer());
  assert.ok(packed.length > 100_000);
  const headers = { 'accept-encoding': 'identity' };
  const whole = await fetch(`${service.origin}/docs/js/scalar.js`, { headers });
  assert.deepEqual(
    [whole.headers.get('content-encoding'), Buffer.from(await whole.arrayBuffer()).equals(packed)],
    [null, true],
  );
});

// Holds S3.6.
test('/docs/errors is a page with every error code, each at its anchor', async () => {
  const text = await (await get('/docs/errors')).text();
  for (const code of Object.keys(ERRORS)) assert.ok(text.includes(`id="${code}"`), code);
});

/** Returns what the attributes of a page name, and its anchors. */
const findNamed = (html: string) => ({
  named: [...html.matchAll(/ (?:href|src|srcset)="([^"]+)"/g)].map(([, url = '']) => url),
  anchors: new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)),
});

test('every link of the guides leads to a page and its anchor, and they load nothing from other hosts', async () => {
  const pages = new Map<string, ReturnType<typeof findNamed>>();
  const links: [from: string, path: string, anchor: string][] = [];
  const waiting = ['/docs/'];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (pages.has(path)) continue;
    const page = await get(path);
    assert.equal(page.status, 200, `${path}, which ${links.find(([, to]) => to === path)?.[0]} names`);
    const isPage = page.headers.get('content-type')!.startsWith('text/html') && path.startsWith('/docs/');
    const html = isPage && path !== '/docs/reference' ? await page.text() : '';
    assert.doesNotMatch(html, / (src|srcset)="(?!\/docs\/)|<link [^>]*href="(?!\/docs\/)/, path);
    pages.set(path, findNamed(html));
    for (const url of pages.get(path)!.named) {
      if (url.includes('://')) continue;
      const [to = '', anchor = ''] = url.split('#');
      links.push([path, to || path, anchor]);
      waiting.push(to || path);
    }
  }
  for (const [from, to, anchor] of links)
    assert.ok(anchor === '' || pages.get(to)!.anchors.has(anchor), `${from} names ${to}#${anchor}`);
  const guides = globSync('docs/**/*.md', {
    cwd: ROOT,
    exclude: ['docs/decisions', 'docs/{architecture,releasing}.md'],
  });
  const paths = guides.map((file) => `/${file.replace(/(README)?\.md$/, '')}`);
  assert.deepEqual(
    paths.filter((path) => !pages.has(path) && !pages.has(path.replace(/\/$/, ''))),
    [],
  );
  for (const path of [
    '/docs/client',
    '/docs/client-python',
    '/docs/mcp',
    '/docs/demo',
    '/docs/security',
    '/openapi.json',
  ])
    assert.ok(pages.has(path), path);
});

test('an unknown path, or one with .., below /docs gets 404 like any other', async () => {
  const ends =
    'none README.md style.css/ operations.html.gz js/../../package.json js/none.js %2e%2e/x ..%2f..%2fpackage.json js/'.split(
      ' ',
    );
  for (const path of ends.map((end) => `/docs/${end}`)) {
    const socket = openSocket(service.origin);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    const [answer] = await readAnswers(socket);
    socket.destroy();
    assert.deepEqual([answer!.status, answer!.body.code], [404, 'UNKNOWN_PATH'], path);
  }
});
