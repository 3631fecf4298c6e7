/**
 * Tests that every page and the main dialogs pass axe-core (WCAG 2.2 AA) and fit their window, on a laptop in light and
 * on a phone in dark colours, with the demo tenant's data. `npm run screenshots` checks all four combinations.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { IS_THOROUGH } from '../kit/trials.ts';
import { PRIVATE, Receiver } from '../webhooks/receiver.ts';
import { button, field, openAs } from './at-pages.ts';
import { PARTIAL_INVOICE } from './busy-team.ts';
import { checkAxe, checkWidth, goTo, openPage, waitUntilLoaded } from './browser.ts';
import { forgetProof, openScene } from './scene.ts';
import { expectOk, PASSWORD, Visitor } from './visitor.ts';

const DEMO = join(import.meta.dirname, '../../demo');
const LOOKS = [
  { size: { width: 390, height: 844 }, colorScheme: 'dark' },
  { size: { width: 1440, height: 900 }, colorScheme: 'light' },
] as const;

const service = await openScene(PRIVATE);
const keys = await service.makeTenant('demo');
// With PostgreSQL the first start makes no demo tenant, so the test imports its data.
for (const folder of ['northwind', 'dealer'])
  for (const recordType of ['customers', 'orders', 'lines', 'inventory']) {
    const file = join(DEMO, folder, `${recordType}.csv`);
    const { code, stderr } = await service.command('import', 'demo', recordType, file);
    assert.equal(code, 0, stderr);
  }
const owner = await Visitor.make(service, 'demo', 'owner');
for (let call = 0; call < 20; call++)
  await service.call(keys, 'GET', '/orders/single', { query: { orderNum: String(20_001 + (call % 14)) } });
const misspelt = { REFERENC_NUMBER: '#1013', CUSTOMER_CODE: '50003' };
const refused = await service.call(keys, 'PUT', '/orders/create', { body: misspelt });
assert.equal(refused.status, 400);
const requestID = refused.headers.get('x-request-id')!;
await owner.add('viewer');
const backorder = (await expectOk(owner.invoice('20010', PARTIAL_INVOICE))).body.data.BACKORDER_NUMBER as string;
await owner.ask('POST /keys/replace', { overlap: '24h' });
await owner.ask('POST /keys', { name: 'reports', scope: 'read', days: 90 });
await owner.ask('POST /fields', { recordType: 'orders', name: 'GIFT_MESSAGE', type: 'text' });
const receiver = await Receiver.start();
const { id, secret } = await owner.ask('POST /webhooks', { url: receiver.url, types: ['orders', 'inventory'] });
receiver.secrets = [secret];
await owner.ask('POST /webhooks/test', { id });
receiver.behave = () => 500;
await owner.ask('POST /webhooks/test', { id });

let looked = 0;

/** Checks the current page in both looks, or in `npm test` in one of them by turns. Reports all faults together. */
async function look(page: Page): Promise<void> {
  const faults: string[] = [];
  for (const { size, colorScheme } of IS_THOROUGH ? LOOKS : [LOOKS[looked++ % 2]!]) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize(size);
    await page.locator('.is-loading').first().waitFor({ state: 'detached' }); // rows are dimmed while they are reloaded
    for (const check of [checkAxe, checkWidth])
      await check(page).catch((fault: unknown) => faults.push(`${size.width}, ${colorScheme}: ${String(fault)}`));
  }
  assert.deepEqual(faults, []);
}

test('public pages', async (context) => {
  const page = await openPage(context, service);
  for (const path of ['/sign-in', '/link#nothing']) {
    await goTo(page, path);
    await look(page);
  }
});

const path = (...parts: string[]): string => parts.map((part) => `/${encodeURIComponent(part)}`).join('');

test('pages by their address', async (context) => {
  const page = await openAs(context, service, owner);
  const paths = [
    '/records/orders /records/customers /records/inventory /records/orders?filter=and.exact.NO_SUCH.x'.split(' '),
    [path('records', 'orders', '20010'), path('records', 'customers', '50003'), '/records/orders/nothing'],
    [path('records', 'inventory', 'FK/6#SND+512'), path('requests', requestID)],
    ['/webhooks', path('webhooks', id), '/webhooks/nothing', '/changes', '/changes?type=orders'],
    '/requests /usage?by=day /explorer/queryOrders /fields /settings /users /audit /operate /account /nowhere'.split(
      ' ',
    ),
  ].flat();
  for (const address of paths)
    await context.test(address, async () => {
      await goTo(page, address);
      await look(page);
    });
});

test('dialogs, and texts that are shown once', async (context) => {
  const page = await openAs(context, service, owner);
  const open = async (address: string, name: string): Promise<void> => {
    await goTo(page, address);
    await button(page, name).click();
    await page.getByRole('dialog').waitFor();
    await waitUntilLoaded(page);
    await look(page);
  };
  await open(path('records', 'orders', backorder), 'Invoice');
  await open('/fields', 'Add field');
  await open('/users', 'Invite user');
  await open('/account', 'Set up');
  await open(path('webhooks', id), 'Replay');
  await goTo(page, path('webhooks', id));
  await page.getByRole('region', { name: 'Attempts' }).getByRole('link').first().click();
  await page.getByRole('dialog').waitFor();
  await look(page);
  await open('/webhooks', 'Add webhook');
  await field(page, 'Address').fill(receiver.url);
  await button(page, 'Add').click();
  await page.getByRole('heading', { name: 'New webhook' }).waitFor();
  await look(page);
  await button(page, 'Done').click();
  await open('/api-settings', 'Create Keys');
  await open('/api-settings', 'Replace Keys');
  await forgetProof(service, owner.email);
  await button(page, 'Save').click();
  await field(page, 'Your password').fill(PASSWORD);
  await look(page);
  await button(page, 'Confirm').click();
  await page.getByRole('heading', { name: 'New keys' }).waitFor();
  await look(page);
  await button(page, 'Done').click();
  await look(page);
});
