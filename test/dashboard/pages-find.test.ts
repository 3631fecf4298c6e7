/** Tests the search box by keyboard alone, and the home page: a team's open work, and the first steps of a new team. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { Shop, succeed } from '../kit/records.ts';
import { arrive, goByMenu, openAs } from './at-pages.ts';
import { checkAxe, checkWidth, goTo, waitUntilLoaded } from './browser.ts';
import { openScene, openTenant } from './scene.ts';
import { expectOk, Visitor } from './visitor.ts';

const service = await openScene();
const shop = await Shop.open(service, 'find');
const owner = await Visitor.make(service, 'find', 'owner');
const number = await succeed<string>(
  shop.createOrder({
    ORDER_TYPE: 'sales_order',
    REFERENCE_NUMBER: '#7781',
    BNAME: 'Yusuf Demir',
    BEMAIL: 'yusuf@example.com',
    PO_NUMBER: 'PO-9918',
    TRACKING_NUMBERS: '1Z999AA10123456784',
  }),
);
await succeed(shop.createCustomer({ CUSTOMER_CODE: 'DEMIR', CUSTOMER_NAME: 'Demir Lighting', BPHONE: '030 5550199' }));
const lamp = { PART_CODE: 'LAMP-9', PART_DESCRIPTION: 'Brass lamp', BARCODE: '4012345678901', SERIALIZED: 'Y' };
await expectOk(owner.send('PUT', '/dashboard/api/records/inventory/create', JSON.stringify(lamp)));
const received = { PART_CODE: 'LAMP-9', QUANTITY: '1', SERIAL_NUMBERS: 'SN-LAMP-1' };
await expectOk(owner.post('/records/stock/receive', received));

async function find(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('combobox').waitFor();
  await page.keyboard.type(text);
  await page.getByRole('option').first().waitFor();
}

test('everything can be found with the keyboard alone, and its page opened', async (context) => {
  const page = await openAs(context, service, owner);
  const { headers } = await shop.getOrder(number);
  const requestID = headers.get('x-request-id') ?? '';
  const cases: [text: string, heading: string | RegExp][] = [
    [number, `Order ${number}`],
    ['#7781', `Order ${number}`],
    ['7781', `Order ${number}`],
    ['yusuf d', `Order ${number}`],
    ['yusuf@example', `Order ${number}`],
    ['po-9918', `Order ${number}`],
    ['AA1012345', `Order ${number}`],
    ['SN-LAMP-1', 'Brass lamp'],
    ['5550199', 'Demir Lighting'],
    ['brass', 'Brass lamp'],
    ['4012345678901', 'Brass lamp'],
    ['Webh', 'Webhooks'],
    [shop.keys.apiID, 'API Settings'],
    [requestID, /./],
  ];
  for (const [text, heading] of cases) {
    await goTo(page, '/usage');
    await find(page, text);
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => !url.pathname.endsWith('/usage'));
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  }
  assert.ok(page.url().includes('/requests/'));
});

test('the arrow keys choose a result, Escape closes the box, and / does not open it in a field', async (context) => {
  const page = await openAs(context, service, owner);
  await page.keyboard.press('/');
  await page.getByRole('dialog').getByRole('combobox').waitFor();
  await page.keyboard.type('demir');
  await page.getByRole('option').nth(1).waitFor();
  await checkAxe(page);
  await page.keyboard.press('ArrowDown');
  assert.match(await page.getByRole('option', { selected: true }).innerText(), /Demir Lighting/);
  await page.keyboard.press('Enter');
  await arrive(page, 'Demir Lighting');
  await goByMenu(page, 'Audit log');
  const action = page.getByRole('searchbox').first();
  await action.focus();
  await page.keyboard.type('a/b');
  assert.equal(await page.getByRole('dialog').count(), 0);
  assert.equal(await action.inputValue(), 'a/b');
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('combobox').waitFor();
  await page.keyboard.type('nothing like this');
  await page.getByText('Nothing found for “nothing like this”.').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

test('the first page counts open work and links to it, and shows a new team how to begin', async (context) => {
  const page = await openAs(context, service, owner);
  await goTo(page, '/home');
  for (const check of [checkAxe, checkWidth]) await check(page);
  assert.equal(await page.getByText('Begin here').count(), 0);
  await page.getByRole('link', { name: 'Show open orders' }).click();
  await arrive(page, 'Orders');
  await page.getByRole('link', { name: number, exact: true }).waitFor();
  await page.getByRole('link', { name: 'Guides' }).waitFor();

  const fresh = await openTenant(service);
  const other = await openAs(context, service, fresh.owner);
  await goTo(other, '/home');
  await other.getByRole('heading', { name: 'Begin here' }).waitFor();
  await checkAxe(other);
  await other.getByRole('link', { name: 'Send a test order' }).click();
  await waitUntilLoaded(other);
  assert.ok(other.url().endsWith('/explorer/createOrder'));
});
