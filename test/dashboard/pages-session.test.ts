/** Tests the end of a session in a browser: the page warns in time, the user can stay, and no typed text is lost. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownService } from '../kit/service.ts';
import { Shop } from '../kit/records.ts';
import { button, field, openAs } from './at-pages.ts';
import { checkAxe, goTo } from './browser.ts';
import { BEHIND_PROXY } from './scene.ts';
import { PASSWORD, Visitor } from './visitor.ts';

const IDLE_MS = 30 * 60_000;
const service = await ownService({ env: BEHIND_PROXY });
const shop = await Shop.open(service, 'shop');
const owner = await Visitor.make(service, 'shop', 'owner');

test('a warning is shown two minutes before a session ends, and one click extends the session', async (context) => {
  const page = await openAs(context, service, owner);
  await page.clock.fastForward(IDLE_MS - 119_000);
  await page.getByRole('dialog', { name: 'You will be signed out in two minutes' }).waitFor();
  await checkAxe(page);
  await button(page, 'Stay signed in').click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

test('a signed-out user signs in again over the page, and no input is lost', async (context) => {
  const number = await shop.newOrder();
  const page = await openAs(context, service, owner);
  await goTo(page, `/records/orders/${number}`);
  await button(page, 'Edit').click();
  await field(page, 'Notes').fill('ring twice');
  await service.move(IDLE_MS + 60_000);
  await button(page, 'Save').click();
  const again = page.getByRole('dialog', { name: 'You were signed out' });
  await again.getByText(`Sign in again as ${owner.email}`).waitFor();
  await again.getByLabel('Your password', { exact: true }).fill(PASSWORD);
  await again.getByRole('button', { name: 'Sign in' }).click();
  await again.waitFor({ state: 'detached' });
  assert.equal(await field(page, 'Notes').inputValue(), 'ring twice');
  await button(page, 'Save').click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.equal((await shop.order(number))['NOTES'], 'ring twice');
});

test('leaving a page with changed settings asks for confirmation', async (context) => {
  const page = await openAs(context, service, owner);
  await goTo(page, '/settings');
  await field(page, 'Limit of calls a month').fill('500');
  const orders = page.getByRole('link', { name: 'Orders', exact: true });
  await orders.click();
  const question = page.getByRole('dialog', { name: 'Leave without saving?' });
  await question.waitFor();
  await checkAxe(page);
  await question.getByRole('button', { name: 'Stay' }).click();
  assert.equal(await field(page, 'Limit of calls a month').inputValue(), '500');
  await button(page, 'Save').click();
  await page.getByText('Settings saved').first().waitFor();
  await orders.click();
  await page.waitForURL('**/records/orders*');
});
