/** Tests the explorer in a browser: every operation with its example, conditional headers, and optional parameters. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { BASE_PATH, ownService, STORE } from '../kit/service.ts';
import { button, field, openAs, region } from './at-pages.ts';
import { goTo } from './browser.ts';
import { BEHIND_PROXY } from './scene.ts';
import { Visitor } from './visitor.ts';

const service = await ownService({ env: { ...BEHIND_PROXY, STOREROOM_DEMO: 'on' } });
if (STORE === 'postgres') await makeDemo();
const owner = await Visitor.make(service, 'demo', 'owner');
const LOCK_CODE = /"LINE_REF_LOCK_CODE": "([^"]+)"/;

/** Makes the demo tenant, whose records the examples use. On PostgreSQL the service never makes it. */
async function makeDemo(): Promise<void> {
  await service.makeTenant('demo');
  for (const folder of ['northwind', 'dealer'])
    for (const recordType of ['customers', 'orders', 'lines', 'inventory']) {
      const file = join(import.meta.dirname, `../../demo/${folder}/${recordType}.csv`);
      const { code, stderr } = await service.command('import', 'demo', recordType, file);
      assert.equal(code, 0, stderr);
    }
}

/** Opens an operation, and confirms it if it is a write. */
async function openOperation(page: Page, name: string): Promise<void> {
  await goTo(page, `/explorer/${name}`);
  const confirmation = field(page, 'This changes live data');
  if ((await confirmation.count()) > 0) await confirmation.check();
}

/** Sends the form, and returns the status and everything that the page shows of the response. */
async function send(page: Page): Promise<{ status: string; text: string }> {
  const answered = page.waitForResponse((response) => response.url().includes('/dashboard/api/explorer/'));
  await button(page, 'Send').click();
  const status = String((await answered).status());
  const answer = region(page, 'Response');
  await answer.locator(':scope:not([aria-busy])').waitFor();
  return { status, text: await answer.innerText() };
}

/** Returns the value of a header that the page shows. */
const headerIn = (text: string, name: string): string => new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(text)?.[1] ?? '';

test('every operation of the contract gets 200 with the example that fills its form', async (context) => {
  const page = await openAs(context, service, owner);
  const document = (await (await fetch(`${service.origin}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  const names = Object.entries(document.paths)
    .filter(([path]) => path.startsWith(BASE_PATH))
    .flatMap(([, methods]) => Object.values(methods).map(({ operationId }) => operationId));
  assert.ok(names.length >= 18, names.join(' '));
  let lockCode = '';
  for (const name of names) {
    await openOperation(page, name);
    if (name === 'updateLineItem' || name === 'invoiceOrder' || name === 'returnOrder') {
      const body = field(page, 'Body, as JSON');
      await body.fill((await body.inputValue()).replace(LOCK_CODE, `"LINE_REF_LOCK_CODE": "${lockCode}"`));
    }
    const { status, text } = await send(page);
    assert.equal(status, '200', `${name}: ${text}`);
    if (name === 'addLineItem') lockCode = LOCK_CODE.exec(text)![1]!;
  }

  await openOperation(page, 'getCustomer');
  await field(page, 'fields (optional)').fill('CUSTOMER_CODE,BCITY');
  const read = await send(page);
  assert.match(read.text, /"BCITY": "Reims"/);
  assert.doesNotMatch(read.text, /CUSTOMER_NAME/);
  await field(page, 'If-None-Match (optional)').fill(headerIn(read.text, 'ETag'));
  assert.equal((await send(page)).status, '304');

  await field(page, 'fields (optional)').fill('');
  await field(page, 'If-None-Match (optional)').fill('');
  const tag = headerIn((await send(page)).text, 'ETag');
  await openOperation(page, 'updateCustomer');
  const body = field(page, 'Body, as JSON');
  await body.fill((await body.inputValue()).replace('{', '{ "BCITY": "Paris", '));
  await field(page, 'If-Match (optional)').fill(tag);
  await button(page, 'Generate').click();
  assert.equal((await send(page)).status, '200');
  const again = await send(page);
  assert.deepEqual([again.status, headerIn(again.text, 'Idempotent-Replayed')], ['200', 'true']);
  await field(page, 'Idempotency-Key (optional)').fill('');
  const changed = await send(page);
  assert.deepEqual([changed.status, headerIn(changed.text, 'ETag') !== ''], ['412', true]);
  assert.match(changed.text, /RECORD_CHANGED/);
  await region(page, 'curl').getByText(`-H 'If-Match: ${tag}'`).waitFor();

  await openOperation(page, 'queryOrders');
  await field(page, 'include (optional)').fill('lines');
  await field(page, 'count (optional)').fill('exact');
  const counted = await send(page);
  assert.match(headerIn(counted.text, 'X-Total-Count'), /^\d+$/);
  assert.match(counted.text, /ORDER_LINEITEMS/);
});
