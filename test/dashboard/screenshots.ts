/**
 * `npm run screenshots` takes the pictures of README.md and docs/dashboard.md. It also runs axe-core on every page and
 * notable state, on a phone and on a laptop, light and dark. Secrets are masked before a picture is taken. The clock
 * is set to a day after the last order of the demo, because an order must not change before it is created.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { button, field, openAs } from './at-pages.ts';
import { checkAxe, checkWidth, goTo, openPage, sendSignIn, waitUntilLoaded } from './browser.ts';
import { startBusyTeam, type BusyTeam } from './busy-team.ts';
import { forgetProof } from './scene.ts';
import { PASSWORD } from './visitor.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'docs/screenshots');
/** The pictures that a document shows. Other pages are checked, but no picture of them is kept. */
const SHOWN = new Set(
  ['README.md', 'docs/dashboard.md'].flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/screenshots\/([\w-]+)\.webp/g)].map(([, name]) => name),
  ),
);
const LAPTOP = { width: 1440, height: 900 };
const SIZES = [LAPTOP, { width: 390, height: 844 }];
const SCHEMES = ['light', 'dark'] as const;
const HEIGHT_MAX = 1600;
/** The first screen of an order, for README.md, where a whole page would leave no room for the start. */
const HERO = { name: 'hero', height: 800 };
const QUALITY = 70;

let team: BusyTeam;
before(async () => {
  team = await startBusyTeam();
  mkdirSync(FOLDER, { recursive: true });
});
after(() => team.service.stop());

/** Checks the page in both sizes and both colour schemes, and takes the shown pictures. Reports all faults together. */
async function take(page: Page, name: string): Promise<void> {
  const faults: unknown[] = [];
  for (const { width, height } of SIZES)
    for (const colorScheme of SCHEMES) {
      const picture = `${name}-${width}-${colorScheme}`;
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height });
      for (const check of [checkAxe, checkWidth])
        await check(page).catch((fault: unknown) => faults.push(`${picture}: ${String(fault)}`));
      if (!SHOWN.has(picture)) continue;
      await maskSecrets(page);
      const bounds = name === HERO.name ? [HERO.height, HERO.height] : [height];
      writeFileSync(join(FOLDER, `${picture}.webp`), await shoot(page, width, ...(bounds as [number, number?])));
    }
  await page.setViewportSize(LAPTOP);
  if (faults.length > 0) throw new Error(faults.join('\n'));
}

/** Takes a WebP picture as high as the page, within bounds. Playwright itself only takes PNG, 3 times as large. */
async function shoot(page: Page, width: number, least: number, most = HEIGHT_MAX): Promise<Buffer> {
  const whole = await page.locator('html').evaluate((root) => root.scrollHeight);
  await page.setViewportSize({ width, height: Math.min(Math.max(whole, least), most) });
  await page.locator('html').evaluate((root) => root.scrollTo(0, 0));
  const browser = await page.context().newCDPSession(page);
  const { data } = await browser.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
  await browser.detach();
  return Buffer.from(data, 'base64');
}

/** Replaces everything in the page that looks like a secret, including QR codes. */
async function maskSecrets(page: Page): Promise<void> {
  await page.locator('html').evaluate((root) => {
    const texts = root.ownerDocument.createTreeWalker(root, 4); // NodeFilter.SHOW_TEXT
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      const text = node.nodeValue ?? '';
      // Each group of a second factor's secret, and each recovery code, is a separate text node.
      const isCode = node.parentElement?.closest('.groups, .codes') !== null;
      const masked = isCode
        ? text.replace(/\w/g, '•')
        : text.replace(/(?<=sr_sk_|whsec_|link#)[\w+/=-]+/g, '•'.repeat(24));
      if (masked !== text) node.nodeValue = masked;
    }
    for (const drawn of root.querySelectorAll('svg.qr-code path')) {
      const far = drawn.ownerSVGElement.viewBox.baseVal.width - 11;
      drawn.setAttribute('d', `M4 4h7v7h-7zM${far} 4h7v7h-7zM4 ${far}h7v7h-7z`);
    }
  });
}

const openSignedIn = (context: TestContext): Promise<Page> => openAs(context, team.service, team.owner);

const path = (...parts: string[]): string => parts.map((part) => `/${encodeURIComponent(part)}`).join('');

test('public pages', async (context) => {
  const page = await openPage(context, team.service);
  await goTo(page, '/sign-in');
  await take(page, 'sign-in');
  await sendSignIn(page, team.withFactor);
  await page.getByLabel('Code', { exact: true }).waitFor();
  await take(page, 'sign-in-code');
  await goTo(page, team.link.replace('/dashboard', ''));
  await button(page, 'Set password and sign in').waitFor();
  await take(page, 'link');
});

/** Pages that need only their address to be opened. */
const PAGES: readonly (readonly [name: string, path: (team: BusyTeam) => string])[] = [
  ['orders', () => '/records/orders'],
  ['customers', () => '/records/customers'],
  ['inventory', () => '/records/inventory'],
  [HERO.name, () => path('records', 'orders', '20001')],
  ['order', ({ invoice }) => path('records', 'orders', invoice)],
  ['customer', () => path('records', 'customers', '50003')],
  ['part', () => path('records', 'inventory', 'FK/6#SND+512')],
  ['webhooks', () => '/webhooks'],
  ['webhook', ({ webhook }) => path('webhooks', webhook)],
  ['changes', () => '/changes'],
  ['requests', () => '/requests'],
  ['request', ({ requestID }) => path('requests', requestID)],
  ['usage', () => '/usage'],
  ['fields', () => '/fields'],
  ['settings', () => '/settings'],
  ['users', () => '/users'],
  ['audit', () => '/audit'],
  ['account', () => '/account'],
  ['not-found', () => '/nowhere'],
];

test('pages by their address', async (context) => {
  const page = await openSignedIn(context);
  for (const [name, pathOf] of PAGES)
    await context.test(name, async () => {
      await goTo(page, pathOf(team));
      await take(page, name);
    });
});

test('an order about to be invoiced', async (context) => {
  const page = await openSignedIn(context);
  await goTo(page, path('records', 'orders', team.order));
  await button(page, 'Invoice').click();
  await page.getByRole('dialog').waitFor();
  await take(page, 'order-invoice');
});

test('the explorer with an answer', async (context) => {
  const page = await openSignedIn(context);
  await goTo(page, path('explorer', 'queryOrders'));
  await page.getByLabel('maxReturn').fill('1');
  await page.getByLabel('Body, as JSON').fill('[\n  { "field": "CUSTOMER_CODE", "value": "VINET" }\n]');
  await button(page, 'Send').click();
  await page.getByRole('region', { name: 'Response body' }).waitFor();
  await take(page, 'explorer');
});

test('keys: the list, creating one, replacing one, and the new pair', async (context) => {
  const page = await openSignedIn(context);
  await goTo(page, '/api-settings');
  await take(page, 'api-settings');
  await button(page, 'Create Keys').click();
  await field(page, 'Name').fill('Web shop');
  await take(page, 'api-settings-create');
  await button(page, 'Cancel').click();
  await button(page, 'Replace Keys').click();
  await page.getByLabel('After 24 hours').check();
  await take(page, 'api-settings-replace');
  await forgetProof(team.service, team.owner.email);
  await button(page, 'Save').click();
  await field(page, 'Your password').waitFor();
  await take(page, 'proof');
  await field(page, 'Your password').fill(PASSWORD);
  await button(page, 'Confirm').click();
  await page.getByRole('heading', { name: 'New keys' }).waitFor();
  await waitUntilLoaded(page);
  await take(page, 'api-settings-issued');
  await button(page, 'Done').click();
});

test('a webhook: adding one, its secret, and one of its deliveries', async (context) => {
  const page = await openSignedIn(context);
  await goTo(page, path('webhooks', team.webhook));
  await page.getByRole('region', { name: 'Attempts' }).getByRole('link').first().click();
  await page.getByRole('dialog').waitFor();
  await take(page, 'webhook-delivery');
  await goTo(page, '/webhooks');
  await button(page, 'Add webhook').click();
  await field(page, 'Address').fill('https://shop.example.com/storeroom');
  await take(page, 'webhooks-add');
  await button(page, 'Add').click();
  await page.getByRole('heading', { name: 'New webhook' }).waitFor();
  await take(page, 'webhooks-added');
  await button(page, 'Done').click();
});

test('setting up a second factor', async (context) => {
  const page = await openSignedIn(context);
  await goTo(page, '/account');
  await button(page, 'Set up').click();
  await page.getByRole('img', { name: 'QR code' }).waitFor();
  await take(page, 'account-second-factor');
});
