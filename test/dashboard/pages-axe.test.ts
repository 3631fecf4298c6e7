/**
 * Every page and the main dialogs passes axe-core (WCAG 2.2 AA) and fits its window, on a laptop in light and on a phone in dark colours, with the demo
 * tenant's data and calls of its own. `npm run screenshots` does the same in all four combinations.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { IS_THOROUGH } from '../kit/trials.ts';
import { openAs } from './at-pages.ts';
import { checkAxe, checkWidth, goTo, openPage, waitUntilLoaded } from './browser.ts';
import { forgetProof, openScene } from './scene.ts';
import { PASSWORD, Visitor } from './visitor.ts';

const DEMO = join(import.meta.dirname, '../../demo');
const LOOKS = [
  { size: { width: 390, height: 844 }, colorScheme: 'dark' },
  { size: { width: 1440, height: 900 }, colorScheme: 'light' },
] as const;

const service = await openScene();
const keys = await service.makeTenant('demo');
// With PostgreSQL there is no demo tenant at the first start, so its data is imported.
for (const folder of ['northwind', 'dealer'])
  for (const recordType of ['customers', 'orders', 'lines', 'inventory']) {
    const { code, stderr } = await service.command(
      'import',
      'demo',
      recordType,
      join(DEMO, folder, `${recordType}.csv`),
    );
    assert.equal(code, 0, stderr);
  }
const owner = await Visitor.make(service, 'demo', 'owner');
for (let call = 0; call < 20; call++)
  await service.call(keys, 'GET', '/orders/single', { query: { orderNum: String(20_001 + (call % 14)) } });
const refused = await service.call(keys, 'PUT', '/orders/create', {
  body: { REFERENC_NUMBER: '#1013', CUSTOMER_CODE: '50003' },
});
assert.equal(refused.status, 400);
const requestID = refused.headers.get('x-request-id')!;
await owner.add('viewer');
const invoice = {
  ORDER_NUMBER: '20010',
  quantities: { 1: '2', 2: '2' },
  serials: { 1: ['FK6S2A0917', 'FK6S2A0922'] },
  tracking: ['PG7740219907'],
};
const invoiced = await owner.post('/orders/invoice', invoice);
assert.equal(invoiced.status, 200, invoiced.text);
const { backorder } = invoiced.body as { backorder: string };
for (const [path, body] of [
  ['/keys/replace', { overlap: '24h' }],
  ['/fields', { recordType: 'orders', name: 'GIFT_MESSAGE', type: 'text' }],
] as const)
  assert.equal((await owner.post(path, body)).status, 200, path);

let looked = 0;

/**
 * Looks at the page as it is now in both ways, in `npm test` in one of them by turns; faults are told together, so that one does not hide another.
 */
async function look(page: Page): Promise<void> {
  const faults: string[] = [];
  for (const { size, colorScheme } of IS_THOROUGH ? LOOKS : [LOOKS[looked++ % 2]!]) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize(size);
    for (const check of [checkAxe, checkWidth])
      await check(page).catch((fault: unknown) => faults.push(`${size.width}, ${colorScheme}: ${String(fault)}`));
  }
  assert.deepEqual(faults, []);
}

test('pages for anybody', async (context) => {
  const page = await openPage(context, service);
  for (const path of ['/sign-in', '/link#nothing']) {
    await goTo(page, path);
    await look(page);
  }
});

const path = (...parts: string[]): string => parts.map((part) => `/${encodeURIComponent(part)}`).join('');

test('pages by their address', async (context: TestContext) => {
  const page = await openAs(context, service, owner);
  const paths = [
    '/records/orders /records/customers /records/inventory /records/orders?filter=and.exact.NO_SUCH.x /records/orders/nothing'.split(
      ' ',
    ),
    [
      path('records', 'orders', '20010'),
      path('records', 'customers', '50003'),
      path('records', 'inventory', 'FK/6#SND+512'),
      path('requests', requestID),
    ],
    '/requests /usage?by=day /explorer/queryOrders /fields /settings /users /audit /account /nowhere'.split(' '),
  ].flat();
  for (const address of paths)
    await context.test(address, async () => {
      await goTo(page, address);
      await look(page);
    });
});

test('dialogs, and what is shown once', async (context) => {
  const page = await openAs(context, service, owner);
  const open = async (address: string, button: string): Promise<void> => {
    await goTo(page, address);
    await page.getByRole('button', { name: button, exact: true }).click();
    await page.getByRole('dialog').waitFor();
    await waitUntilLoaded(page);
    await look(page);
  };
  await open(path('records', 'orders', backorder), 'Invoice');
  await open('/fields', 'Add field');
  await open('/users', 'Invite user');
  await open('/account', 'Set up');
  await open('/api-settings', 'Replace Keys');
  await forgetProof(service, owner.email);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByLabel('Your password', { exact: true }).fill(PASSWORD);
  await look(page);
  await page.getByRole('button', { name: 'Confirm', exact: true }).click();
  await page.getByRole('heading', { name: 'New keys' }).waitFor();
  await look(page);
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await look(page);
});
