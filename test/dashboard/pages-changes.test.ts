/**
 * Tests the page Changes in a browser: the waiting call shows each new change on top, once, with a link to its record.
 * Also tests the filter by type, pausing, lost connections, and the limit of rows.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { times } from '../kit/lists.ts';
import { Shop } from '../kit/records.ts';
import { arrive, button, field, goByMenu, openAs, region, shownCells } from './at-pages.ts';
import { goTo } from './browser.ts';
import { openScene } from './scene.ts';
import { Visitor } from './visitor.ts';

const ROWS_MAX = 500;
const FEED = '**/dashboard/api/records/changes*';

const service = await openScene();
const openShop = async (teamID: string): Promise<{ shop: Shop; owner: Visitor }> => ({
  shop: await Shop.open(service, teamID),
  owner: await Visitor.make(service, teamID, 'owner'),
});

const list = (page: Page): Locator => region(page, 'Changes');
const newest = (page: Page, text: string): Locator =>
  list(page).locator('tbody tr:first-child').filter({ hasText: text });
const isLive = (page: Page): Promise<void> => page.getByRole('main').getByText('Live', { exact: true }).waitFor();
/** Returns the rows of the list, newest first: key, type, change and operation. */
const shown = async (page: Page): Promise<string[]> =>
  (await shownCells(list(page))).map(([key, type, change, , operation]) => [key, type, change, operation].join(' '));
const newCustomer = async (shop: Shop, code: string): Promise<void> => {
  assert.equal((await shop.createCustomer({ CUSTOMER_CODE: code })).status, 200);
};

test('each change is shown once, newest first and at once, and links to its record', async (context) => {
  const { shop, owner } = await openShop('followed');
  await shop.load('inventory', [{ PART_CODE: 'part/1 #2', QTY_ONHAND: '9' }]);
  const page = await openAs(context, service, owner);
  await goByMenu(page, 'Changes');
  await newest(page, 'part/1 #2').waitFor();
  await isLive(page);
  const order = await shop.newOrder({ ORDER_TYPE: 'sales_order' });
  await newest(page, order).waitFor();
  await shop.addLineItem({ ORDER_NUMBER: order, PART_CODE: 'part/1 #2', QUANTITY: '2' });
  await newest(page, 'addLineItem').waitFor();
  await newCustomer(shop, 'ada');
  await newest(page, 'ada').waitFor();
  const rows = await shown(page);
  assert.deepEqual(
    [rows[0], rows.at(-2)],
    ['ada customer created createCustomer', `${order} order created createOrder`],
  );
  assert.ok(rows.includes(`${order} order updated addLineItem`), rows.join('\n'));
  assert.ok(rows.includes('part/1 #2 part updated addLineItem'), rows.join('\n'));
  const numbers = (await shownCells(list(page))).map((cells) => Number(cells.at(-1)));
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].toSorted((a, b) => b - a),
  );

  await list(page).getByRole('link', { name: 'part/1 #2' }).first().click();
  await arrive(page, 'part/1 #2');
});

test('one type alone can be shown and followed, and the address keeps it', async (context) => {
  const { shop, owner } = await openShop('one-type');
  await newCustomer(shop, 'ada');
  const order = await shop.newOrder();
  const page = await openAs(context, service, owner);
  await goTo(page, '/changes');
  await newest(page, order).waitFor();
  await field(page, 'Type').selectOption('Customers');
  await newest(page, 'ada').waitFor();
  await isLive(page);
  await shop.newOrder();
  await newCustomer(shop, 'grace');
  await newest(page, 'grace').waitFor();
  await page.reload();
  await newest(page, 'grace').waitFor();
  assert.deepEqual(await shown(page), ['grace customer created createCustomer', 'ada customer created createCustomer']);
  await field(page, 'Type').selectOption('Inventory');
  await page.getByText('No recent changes of this type').waitFor();
});

test('Pause keeps the list unchanged and says so, and Resume shows the changes made in between', async (context) => {
  const { shop, owner } = await openShop('paused');
  const page = await openAs(context, service, owner);
  await goTo(page, '/changes');
  await page.getByText('No changes yet').waitFor();
  await newCustomer(shop, 'ada');
  await newest(page, 'ada').waitFor();
  await button(page, 'Pause').click();
  await page.getByText('Paused', { exact: true }).waitFor();
  await newCustomer(shop, 'grace');
  // A waiting call would report the change within this time.
  await page.clock.fastForward(30_000);
  assert.deepEqual(await shown(page), ['ada customer created createCustomer']);
  await button(page, 'Resume').click();
  await newest(page, 'grace').waitFor();
  await newCustomer(shop, 'mary');
  await newest(page, 'mary').waitFor();
  assert.equal((await shown(page)).length, 3);
});

test('a list without its service says so, and shows missed changes once it responds again', async (context) => {
  const { shop, owner } = await openShop('cut-off');
  await newCustomer(shop, 'ada');
  const page = await openAs(context, service, owner);
  await goTo(page, '/changes');
  await newest(page, 'ada').waitFor();
  await isLive(page);
  await page.route(FEED, (route) => route.abort('aborted'));
  // The change ends the waiting call; the next call cannot reach the service.
  await newCustomer(shop, 'grace');
  await page.getByText('Disconnected').first().waitFor();
  await page.getByText('Trying again.').waitFor();
  await newCustomer(shop, 'mary');
  await page.unroute(FEED);
  await page.clock.fastForward(5000);
  await newest(page, 'mary').waitFor();
  await isLive(page);
  assert.deepEqual(
    (await shownCells(list(page))).map(([key]) => key),
    ['mary', 'grace', 'ada'],
  );
});

test('the page keeps the newest 500 changes, even if more arrive at once', async (context) => {
  const { shop, owner } = await openShop('crowded');
  const page = await openAs(context, service, owner);
  await goTo(page, '/changes');
  await page.getByText('No changes yet').waitFor();
  const codes = times(ROWS_MAX + 100, (place) => `c${1000 + place}`);
  await shop.load(
    'customers',
    codes.map((CUSTOMER_CODE) => ({ CUSTOMER_CODE })),
  );
  await newCustomer(shop, 'last');
  await newest(page, 'last').waitFor();
  const keys = (await shownCells(list(page))).map(([key]) => key);
  assert.equal(keys.length, ROWS_MAX);
  assert.deepEqual(keys, ['last', ...codes.toReversed()].slice(0, ROWS_MAX));
});
