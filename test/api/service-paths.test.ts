/** The paths beside the operations: health, readiness, metrics, the contract, and the pages of the reference in a browser. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { ERRORS } from '../../src/errors.ts';
import { checkAxe, checkWidth, openBrowser, openPage } from '../dashboard/browser.ts';
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

test('/metrics tells what the request log has lost: nothing', async () => {
  assert.match(await (await get('/metrics')).text(), /^storeroom_request_log_dropped_total 0$/m);
});

test('/metrics tells calls by operation and status, and names no tenant, no record and no secret', async () => {
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

/** The directives of a Content-Security-Policy. */
function readPolicy({ headers }: Response): Map<string, string[]> {
  const directives = headers.get('content-security-policy')!.split(';');
  const words = directives.map((part) => part.trim().split(/\s+/));
  return new Map(words.map(([name = '', ...sources]) => [name, sources]));
}

test('/docs allows nothing from elsewhere: its policy names the service, and scripts by their hashes', async () => {
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
test('/docs/errors is a page with every code that is answered, at its anchor, with status, meaning and remedy', async (t) => {
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
  assert.doesNotMatch(await response.text(), /<script|https?:/);

  const page = await openPage(t, service);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.goto('/docs/errors#LINE_MOVED');
    await checkAxe(page);
  }
  await page.setViewportSize({ width: 320, height: 640 });
  await checkWidth(page);
  const marks = await page.locator(':target').innerText();
  assert.match(marks, /^LINE_MOVED 400/);
  for (const [code, { httpStatus, place, message, remedy }] of Object.entries(ERRORS)) {
    const section = page.locator(`[id="${code}"]`);
    assert.equal(await section.count(), place === 'command' ? 0 : 1, code);
    if (place === 'command') continue;
    const text = await section.innerText();
    for (const part of [code, String(httpStatus), message.replaceAll('`', ''), remedy.replaceAll('`', '')])
      assert.ok(text.includes(part), `${code}: ${part}`);
  }
});

test('an unknown or climbing path below /docs is 404 like any other', async () => {
  const ends = 'none js/../../package.json js/none.js %2e%2e/x ..%2f..%2fpackage.json js/'.split(' ');
  for (const path of ends.map((end) => `/docs/${end}`)) {
    const socket = openSocket(service.origin);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    const [answer] = await readAnswers(socket);
    socket.destroy();
    assert.deepEqual([answer!.status, answer!.body.code], [404, 'UNKNOWN_PATH'], path);
  }
});

suite('the reference page in a browser', () => {
  let page: Page;
  const requests: string[] = [];
  const complaints: string[] = [];

  before(async () => {
    page = await (await openBrowser()).newPage({ viewport: { width: 1280, height: 900 } });
    page.on('request', (request) => requests.push(request.url()));
    page.on('requestfailed', (request) => complaints.push(`${request.url()} ${request.failure()?.errorText}`));
    page.on('pageerror', (fault) => complaints.push(String(fault)));
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning' || /Content.Security.Policy/i.test(message.text()))
        complaints.push(message.text());
    });
    await page.goto(`${service.origin}/docs`);
  });
  after(() => page.close());

  test('begins with what PIMS is, where to call and how, and leads to the list of errors', async () => {
    await page.getByText('PIMS, the inventory management system').waitFor({ state: 'visible' });
    for (const title of ['Base path', 'Credentials', 'First call', 'Pages', 'Errors', 'Retries', 'Batch'])
      await page.getByRole('heading', { level: 2, name: title, exact: true }).first().waitFor({ state: 'visible' });
    assert.equal(await page.getByRole('link', { name: 'list of errors' }).getAttribute('href'), '/docs/errors');
  });

  test('shows the summary and the path of an operation', async () => {
    await page.getByText('One order with its line items').first().waitFor({ state: 'visible' });
    await page.getByText('/orders/single').first().waitFor({ state: 'visible' });
  });

  test('shows an operation that is clicked, with its description and example', async () => {
    await page.getByText('Add a line item').first().click();
    await page.getByText('Adds a line to an order').first().waitFor({ state: 'visible' });
    await page.getByText('LINE_REF_LOCK_CODE').first().waitFor({ state: 'visible' });
  });

  test('shows the fields of a body in the order of the dictionary', async () => {
    const members = page.locator('[id*="/PUT/tenant/api/pims/v1/orders/line_item.body."]');
    await members.getByText('CARE_PLAN', { exact: true }).waitFor({ state: 'visible' });
    const order = 'ORDER_NUMBER PART_CODE DESCRIPTION QUANTITY UNIT_PRICE DISCOUNT SERIAL_NUMBERS CARE_PLAN';
    assert.equal((await members.allInnerTexts()).slice(0, 8).join(' '), order);
  });

  test('asks nobody but the service, and breaks no rule of its policy', async () => {
    // The page renders its sections as they come into view.
    await page.getByText('Service', { exact: true }).first().click();
    await page.getByText('Liveness check').first().waitFor({ state: 'visible' });
    const own = [`${service.origin}/`, 'data:', 'blob:'];
    const foreign = requests.filter((url) => !own.some((start) => url.startsWith(start)));
    assert.deepEqual(foreign, []);
    assert.ok(requests.includes(`${service.origin}/docs/js/scalar.js`));
    assert.deepEqual(complaints, []);
  });
});
