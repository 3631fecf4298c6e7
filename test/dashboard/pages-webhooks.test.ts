/**
 * Tests webhooks in a browser: from the dialog to a delivery that the copied secret verifies, test events, pausing,
 * replaying, rotating and removing, what is kept of each delivery, and all of it by keyboard alone.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { valuesOf } from '../kit/lists.ts';
import { Shop } from '../kit/records.ts';
import { until } from '../kit/wait.ts';
import { PRIVATE, Receiver } from '../webhooks/receiver.ts';
import { arrive, button, copy, field, goByMenu, openAs, readAll, region, shownCells } from './at-pages.ts';
import { waitUntilLoaded } from './browser.ts';
import { tabTo, waitForFocus } from './keyboard.ts';
import { forgetProof, openScene } from './scene.ts';
import { PASSWORD, Visitor } from './visitor.ts';

const service = await openScene(PRIVATE);

const keysOf = ({ received }: Receiver): string[] => received.map(({ data }) => data.key);

let shops = 0;
async function openShop(): Promise<{ shop: Shop; owner: Visitor; receiver: Receiver }> {
  const teamID = `hooked${++shops}`;
  const shop = await Shop.open(service, teamID);
  return { shop, owner: await Visitor.make(service, teamID, 'owner'), receiver: await Receiver.start() };
}

/** Adds a webhook for the receiver by the dialog. The receiver verifies each message with the copied secret. */
async function addWebhook(page: Page, receiver: Receiver): Promise<void> {
  await goByMenu(page, 'Webhooks');
  await button(page, 'Add webhook').click();
  await field(page, 'Address').fill(receiver.url);
  await button(page, 'Add').click();
  await page.getByRole('heading', { name: 'New webhook' }).waitFor();
  receiver.secrets = [await copy(page, button(page, 'Copy the secret'))];
  await button(page, 'Done').click();
}
const listed = (page: Page): Locator => region(page, 'Webhooks').getByRole('table');
/** Opens the only webhook. */
async function openWebhook(page: Page): Promise<void> {
  await listed(page).getByRole('link').click();
  await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
  await waitUntilLoaded(page);
}
/** Presses Refresh until this is visible. */
async function refreshUntil(page: Page, shown: Locator): Promise<void> {
  await until(async () => {
    if (await shown.isVisible()) return true;
    await button(page, 'Refresh').click();
    await waitUntilLoaded(page);
    return false;
  });
}
/** Finds the value beside a name. */
const factOf = (page: Page, name: string): Locator =>
  page.getByText(name, { exact: true }).locator('xpath=following-sibling::dd');
const newCustomer = async (shop: Shop, code: string): Promise<void> => {
  assert.equal((await shop.createCustomer({ CUSTOMER_CODE: code })).status, 200);
};

test('a webhook is added by its dialog, and the secret shown once verifies the next change', async (context) => {
  const { shop, owner, receiver } = await openShop();
  const page = await openAs(context, service, owner);
  await goByMenu(page, 'Webhooks');
  await page.getByText('No webhooks yet').waitFor();
  await button(page, 'Add webhook').click();
  for (const type of ['Orders', 'Customers', 'Inventory']) await page.getByRole('checkbox', { name: type }).uncheck();
  await field(page, 'Address').fill('ftp://shop.example.com/');
  await button(page, 'Add').click();
  await page.getByText('Choose at least one type of record.').waitFor();
  await page.getByRole('checkbox', { name: 'Customers' }).check();
  await button(page, 'Add').click();
  await page.locator('[name=url][aria-invalid=true]').waitFor();
  await waitForFocus(field(page, 'Address'));
  await field(page, 'Address').fill(receiver.url);
  await forgetProof(service, owner.email);
  await button(page, 'Add').click();
  await field(page, 'Your password').fill(PASSWORD);
  await button(page, 'Confirm').click();
  await waitForFocus(page.getByRole('heading', { name: 'New webhook' }));
  const secret = await copy(page, button(page, 'Copy the secret'));
  receiver.secrets = [secret];
  assert.match(await region(page, 'TypeScript').innerText(), /verifyWebhook/);
  await button(page, 'Done').click();
  assert.equal((await readAll(page)).includes(secret), false, 'the page keeps the secret');

  await shop.newOrder();
  await newCustomer(shop, 'ada');
  await receiver.has(1);
  assert.deepEqual(valuesOf(receiver.received, 'type'), ['customers.created']);
  await refreshUntil(page, listed(page).locator('td:nth-child(5) time'));
  const [[address, state, records, behind] = []] = await shownCells(listed(page));
  assert.deepEqual([address, state, records, behind], [receiver.url, 'Up to date', 'Customers', '0']);
});

test('Send test shows the outcome, and an opened delivery shows its request and response', async (context) => {
  const { owner, receiver } = await openShop();
  const page = await openAs(context, service, owner);
  await addWebhook(page, receiver);
  await openWebhook(page);
  await page.getByText('No deliveries yet').waitFor();
  await button(page, 'Send test').click();
  await page.getByText('The test was delivered').waitFor();
  receiver.behave = () => 503;
  receiver.answer = '<b>closed</b> for today';
  await button(page, 'Send test').click();
  await page.getByText('The test was not delivered').waitFor();
  await page.getByText('Your app must answer with a status from 200 to 299.').waitFor();
  const attempts = region(page, 'Attempts');
  await attempts.getByText('503').first().waitFor();
  const rows = await shownCells(attempts);
  assert.deepEqual(
    rows.map(([event, outcome]) => [event, outcome!.slice(0, 3)]),
    [
      ['test', '503'],
      ['test', '200'],
    ],
  );
  await attempts.getByRole('link').first().click();
  const opened = page.getByRole('dialog', { name: 'test' });
  const sent = (await region(page, 'Request').innerText()).trim();
  assert.deepEqual(JSON.parse(sent), JSON.parse(receiver.received[1]!.body));
  assert.equal((await region(page, 'Response').innerText()).trim(), receiver.answer);
  await page.reload();
  await opened.waitFor();
  await page.keyboard.press('Escape');
  await opened.waitFor({ state: 'detached' });
});

test('Pause holds deliveries, Resume continues from there, Replay delivers again from a number', async (context) => {
  const { shop, owner, receiver } = await openShop();
  const page = await openAs(context, service, owner);
  await addWebhook(page, receiver);
  await newCustomer(shop, 'ada');
  await receiver.has(1);
  await openWebhook(page);
  await button(page, 'Pause').click();
  await page.getByText(`It was paused manually (${owner.email}).`).waitFor();
  await newCustomer(shop, 'grace');
  await refreshUntil(page, factOf(page, 'Pending changes').getByText('1', { exact: true }));
  assert.deepEqual(keysOf(receiver), ['ada']);
  await button(page, 'Resume').click();
  await receiver.has(2);
  assert.deepEqual(keysOf(receiver), ['ada', 'grace']);

  await refreshUntil(page, page.getByText('Up to date'));
  await button(page, 'Replay').click();
  const { seq } = receiver.received[0]!.data;
  await field(page, 'After change').fill(String(Number(seq) - 1));
  await button(page.getByRole('dialog'), 'Replay').click();
  await receiver.has(4);
  assert.deepEqual(keysOf(receiver).slice(2), ['ada', 'grace']);
});

test('a failing endpoint is shown with its failures and its next try', async (context) => {
  const { shop, owner, receiver } = await openShop();
  const page = await openAs(context, service, owner);
  await addWebhook(page, receiver);
  receiver.behave = () => 500;
  await newCustomer(shop, 'ada');
  await refreshUntil(page, page.getByText('Failing'));
  const [[, state, , behind, last, next] = []] = await shownCells(listed(page));
  assert.deepEqual([state, behind, last], ['Failing 1 failed attempt in a row', '1', 'Not yet']);
  assert.match(next!, /\d\d:\d\d:\d\d/);
  await openWebhook(page);
  const [[event, outcome, key, , attempt] = []] = await shownCells(region(page, 'Attempts'));
  assert.deepEqual([event, outcome!.slice(0, 3), key, attempt], ['customers.created', '500', 'ada', '1']);
});

test('Rotate shows a new secret once, both sign for a day, and Remove asks before deliveries end', async (context) => {
  const { shop, owner, receiver } = await openShop();
  const page = await openAs(context, service, owner);
  await addWebhook(page, receiver);
  const [old = ''] = receiver.secrets;
  await openWebhook(page);
  await button(page, 'Rotate secret').click();
  await forgetProof(service, owner.email);
  await button(page, 'Rotate').click();
  await field(page, 'Your password').fill(PASSWORD);
  await button(page, 'Confirm').click();
  await waitForFocus(page.getByRole('heading', { name: 'New secret' }));
  const secret = await copy(page, button(page, 'Copy the secret'));
  assert.notEqual(secret, old);
  const until24h = await factOf(page, 'Old secret valid until').locator('time').getAttribute('datetime');
  assert.equal(until24h!.slice(0, 10), service.timeAt(86_400_000).slice(0, 10));
  // The old and the new secret each verify the messages.
  for (const [count, one] of [secret, old].entries()) {
    receiver.secrets = [one];
    await newCustomer(shop, `customer ${count}`);
    assert.equal((await receiver.has(count + 1))[count]!.signatures, 2);
  }
  await button(page, 'Done').click();
  assert.equal((await readAll(page)).includes(secret), false, 'the page keeps the secret');

  await button(page, 'Remove').click();
  await button(page, 'Cancel').click();
  assert.equal((await owner.ask('GET /webhooks')).webhooks.length, 1, 'removed without the confirmation');
  await button(page, 'Remove').click();
  await button(page.getByRole('dialog'), 'Remove').click();
  await arrive(page, 'Webhooks');
  await page.getByText('No webhooks yet').waitFor();
  assert.deepEqual((await owner.ask('GET /webhooks')).webhooks, []);
});

test('a viewer sees the webhooks and their deliveries, and no control that changes them', async (context) => {
  const { owner, receiver } = await openShop();
  const { id, secret } = await owner.ask('POST /webhooks', { url: receiver.url, types: ['orders'] });
  receiver.secrets = [secret];
  await owner.ask('POST /webhooks/test', { id });
  const page = await openAs(context, service, await owner.add('viewer'));
  await goByMenu(page, 'Webhooks');
  await page.getByText('To change webhooks, ask an owner for the developer role.').waitFor();
  await openWebhook(page);
  await region(page, 'Attempts').getByText('test').waitFor();
  const buttons = /Add|Send|Pause|Resume|Replay|Rotate|Remove/;
  assert.equal(await page.getByRole('button', { name: buttons }).count(), 0);
});

test('keyboard alone adds a webhook, copies its secret, sends a test and reads its delivery', async (context) => {
  const { owner, receiver } = await openShop();
  const page = await openAs(context, service, owner);
  await tabTo(page, page.getByRole('link', { name: 'Webhooks', exact: true }));
  await page.keyboard.press('Enter');
  await waitForFocus(page.getByRole('heading', { level: 1, name: 'Webhooks' }));
  await waitUntilLoaded(page);
  await tabTo(page, button(page, 'Add webhook'));
  await page.keyboard.press('Enter');
  await waitForFocus(field(page, 'Address'));
  await page.keyboard.type(receiver.url);
  await tabTo(page, page.getByRole('checkbox', { name: 'Inventory' }));
  await page.keyboard.press('Space');
  await page.keyboard.press('Enter');
  await waitForFocus(page.getByRole('heading', { name: 'New webhook' }));
  await tabTo(page, button(page, 'Copy the secret'));
  receiver.secrets = [await copy(page, button(page, 'Copy the secret'), () => page.keyboard.press('Enter'))];
  await tabTo(page, button(page, 'Done'));
  await page.keyboard.press('Enter');
  await waitForFocus(page.getByRole('heading', { level: 1, name: 'Webhooks' }));
  await tabTo(page, listed(page).getByRole('link'));
  await page.keyboard.press('Enter');
  await waitForFocus(page.getByRole('heading', { level: 1, name: new URL(receiver.url).host }));
  await waitUntilLoaded(page);
  await page.getByText('Orders, Customers').waitFor();
  await tabTo(page, button(page, 'Send test'));
  await page.keyboard.press('Space');
  await page.getByText('The test was delivered').waitFor();
  const row = region(page, 'Attempts').getByRole('link', { name: 'test' });
  await row.waitFor();
  await tabTo(page, row);
  await page.keyboard.press('Enter');
  await region(page, 'Request').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await waitForFocus(row);
});

test('the query of a URL, which may hold a token, is shown to developers only and is in no audit log', async () => {
  const { owner } = await openShop();
  const url = 'https://hooks.example.com/in?token=t0ken&x=1';
  const { id } = await owner.ask('POST /webhooks', { url, types: [] });
  const shown: Record<string, string> = {};
  for (const role of ['viewer', 'clerk', 'developer'] as const)
    shown[role] = (await (await owner.add(role)).ask('GET /webhooks')).webhooks[0]!.url;
  const hidden = 'https://hooks.example.com/in?…';
  assert.deepEqual(shown, { viewer: hidden, clerk: hidden, developer: url });
  const added = (await owner.ask('GET /audit')).records.find(({ target }) => target === id);
  assert.equal(added?.detail['url'], hidden);
});
