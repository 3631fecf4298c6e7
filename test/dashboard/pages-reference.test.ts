/** Tests the guides and the reference in a browser: what they show, to whom, and which addresses they request. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { ERRORS } from '../../src/errors.ts';
import { sharedService } from '../kit/service.ts';
import { checkAxe, checkWidth, openBrowser, openPage } from './browser.ts';

const service = await sharedService();

const GUIDES = ['/docs/', '/docs/specification', '/docs/dashboard', '/docs/install', '/docs/readme'];

test('the guides need no script, pass axe and fit any window', async (t) => {
  const page = await openPage(t, service);
  for (const path of GUIDES) {
    await page.goto(path);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await checkAxe(page);
    }
    for (const width of [320, 800, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      await checkWidth(page);
    }
  }
});

test('/docs/errors has every code with status, meaning and remedy, passes axe and fits any window', async (t) => {
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
    assert.equal(await section.count(), 1, code);
    const text = await section.innerText();
    for (const part of [
      code,
      place === 'command' ? place : String(httpStatus),
      message.replaceAll('`', ''),
      remedy.replaceAll('`', ''),
    ])
      assert.ok(text.includes(part), `${code}: ${part}`);
  }
});

suite('the reference page in a browser', () => {
  let page: Page;
  const requests: string[] = [];
  const complaints: string[] = [];

  before(async () => {
    page = await (await openBrowser()).newPage({ viewport: { width: 1280, height: 900 } });
    page.setDefaultTimeout(0); // run.ts ends a file that hangs
    page.on('request', (request) => requests.push(request.url()));
    page.on('requestfailed', (request) => complaints.push(`${request.url()} ${request.failure()?.errorText}`));
    page.on('pageerror', (fault) => complaints.push(String(fault)));
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning' || /Content.Security.Policy/i.test(message.text()))
        complaints.push(message.text());
    });
    await page.goto(`${service.origin}/docs/reference`);
  });
  after(() => page.close());

  test('begins with PIMS, the address and the credentials, and links to the list of errors', async () => {
    await page.getByText('PIMS, the inventory management system').waitFor({ state: 'visible' });
    for (const title of ['Base path', 'Credentials', 'First call', 'Pages', 'Errors', 'Retries', 'Batch'])
      await page.getByRole('heading', { level: 2, name: title, exact: true }).first().waitFor({ state: 'visible' });
    assert.equal(await page.getByRole('link', { name: 'list of errors' }).getAttribute('href'), '/docs/errors');
  });

  test('shows the summary and the path of an operation', async () => {
    await page.getByText('One order with its line items').first().waitFor({ state: 'visible' });
    await page.getByText('/orders/single').first().waitFor({ state: 'visible' });
  });

  test('shows a clicked operation, with its description and example', async () => {
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

  test('sends requests to the service only, and breaks no rule of its policy', async () => {
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
