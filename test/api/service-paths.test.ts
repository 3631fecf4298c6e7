/** Tests the paths beside the operations: health, readiness, metrics, the contract, and the pages of the reference. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERRORS } from '../../src/errors.ts';
import { stockShop } from '../kit/operations.ts';
import { openSocket, readAnswers } from '../kit/raw-http.ts';
import { BASE_PATH, Service, ownService } from '../kit/service.ts';

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

test('/docs allows nothing from other hosts: its policy lists the service, and scripts by their hashes', async () => {
  const redirect = await fetch(`${service.origin}/docs`, { redirect: 'manual' });
  assert.deepEqual([redirect.status, redirect.headers.get('location')], [301, '/docs/']);
  const page = await get('/docs/');
  assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
  const policy = readPolicy(page);
  const found = [policy.get('default-src'), policy.get('connect-src'), policy.get('frame-ancestors')];
  assert.deepEqual(found, [["'none'"], ["'self'"], ["'none'"]]);
  const allowed = [...policy.values()].flat().filter((source) => !/^'sha256-[A-Za-z0-9+/]{43}='$/.test(source));
  assert.deepEqual(new Set(allowed), new Set(["'none'", "'self'", "'unsafe-inline'", 'data:']));
  const scripts = policy.get('script-src')!;
  assert.ok(!scripts.includes("'unsafe-inline'") && scripts.some((source) => source.startsWith("'sha256-")));
  const script = await get('/docs/js/scalar.js');
  assert.deepEqual([script.status, script.headers.get('content-type')?.split(';')[0]], [200, 'application/javascript']);
  assert.ok((await script.arrayBuffer()).byteLength > 100_000);
});

// Holds S3.6.
test('/docs/errors is a page with every error code of the service, each at its anchor', async () => {
  const reference = await get('/docs/');
  const response = await get('/docs/errors');
  assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
  for (const header of ['cache-control', 'x-content-type-options'])
    assert.equal(response.headers.get(header), reference.headers.get(header), header);
  for (const [name, sources] of readPolicy(reference))
    assert.deepEqual(
      readPolicy(response).get(name),
      sources.filter((source) => !source.startsWith("'sha256-")),
    );
  const text = await response.text();
  assert.doesNotMatch(text, /<script|https?:/);
  for (const [code, { place }] of Object.entries(ERRORS))
    assert.equal(text.includes(`id="${code}"`), place !== 'command', code);
});

test('an unknown path, or one with .., below /docs gets 404 like any other', async () => {
  const ends = 'none js/../../package.json js/none.js %2e%2e/x ..%2f..%2fpackage.json js/'.split(' ');
  for (const path of ends.map((end) => `/docs/${end}`)) {
    const socket = openSocket(service.origin);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    const [answer] = await readAnswers(socket);
    socket.destroy();
    assert.deepEqual([answer!.status, answer!.body.code], [404, 'UNKNOWN_PATH'], path);
  }
});
