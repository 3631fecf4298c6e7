/**
 * Tests people in a browser: a second factor, inviting users, changing roles, ending sessions, settings and fields that
 * change the API, calls of the explorer, and the audit log that records all of it.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { Shop, expectRefusal, succeed, type Values } from '../kit/records.ts';
import { until } from '../kit/wait.ts';
import {
  arrive,
  button,
  shownCells,
  copy,
  field,
  goByMenu,
  openAs,
  openAt,
  region,
  replaceKeys,
  setPassword,
} from './at-pages.ts';
import { goTo, sendSignIn, waitUntilLoaded } from './browser.ts';
import { forgetProof, openScene } from './scene.ts';
import { codeOf, expectCode, PASSWORD, Visitor } from './visitor.ts';

const service = await openScene();

let tenants = 0;
async function open(): Promise<{ shop: Shop; teamID: string; owner: Visitor }> {
  const teamID = `shop${++tenants}`;
  const shop = await Shop.open(service, teamID);
  return { shop, teamID, owner: await Visitor.make(service, teamID, 'owner') };
}

/** Signs out by the button of the menu, from any page. The browser then loads the dashboard again. */
async function signOut(page: Page): Promise<void> {
  await Promise.all([page.waitForEvent('load'), button(page, 'Sign out').click()]);
  await arrive(page, 'Sign in');
}
async function givePassword(page: Page, visitor: Visitor): Promise<void> {
  await sendSignIn(page, visitor); // fills in the team too, because signing out clears the browser's storage
  await arrive(page, 'Two-step verification');
}
async function sendCode(page: Page, label: string, code: string): Promise<void> {
  await field(page, label).fill(code);
  await button(page, 'Sign in').click();
}
async function openAccount(page: Page, { email }: Visitor): Promise<void> {
  await page.getByRole('link', { name: new RegExp(email) }).click();
  await arrive(page, 'Account');
  await waitUntilLoaded(page);
}

test('a second factor is asked for at the next sign-in; a recovery code works once', async (context) => {
  const { owner } = await open();
  const page = await openAs(context, service, owner);
  await openAccount(page, owner);
  await button(page, 'Set up').click();
  await page.getByRole('img', { name: 'QR code' }).waitFor();
  const secret = await copy(page, button(page, 'Copy the secret'));
  await field(page, 'Code').fill(codeOf(secret, service, -20));
  await field(page, 'Your password').fill(PASSWORD);
  await button(page, 'Turn on').click();
  await page.getByRole('dialog').getByText('The code does not match the secret.').waitFor();
  await field(page, 'Code').fill(codeOf(secret, service));
  await button(page, 'Turn on').click();
  await page.getByRole('heading', { name: 'Two-step verification is on: your recovery codes' }).waitFor();
  const codes = await page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem').allInnerTexts();
  assert.equal(new Set(codes).size, 10);
  await button(page, 'Done').click();

  await signOut(page);
  await givePassword(page, owner);
  await sendCode(page, 'Code', codeOf(secret, service, 1)); // the current code was used to enable the second factor
  await page.waitForURL('**/dashboard/home');

  for (const isFirst of [true, false]) {
    await signOut(page);
    await givePassword(page, owner);
    await button(page, 'Use a recovery code').click();
    await sendCode(page, 'Recovery code', codes[3]!);
    if (isFirst) await page.waitForURL('**/dashboard/home');
    else await page.getByRole('alert').getByText(/wrong/).waitFor();
  }
  await sendCode(page, 'Recovery code', codes[4]!);
  await page.waitForURL('**/dashboard/home');
  await openAccount(page, owner);
  await page.getByText('8 of 10').waitFor();

  await button(page, 'New recovery codes').click();
  const next = await copy(page, button(page, 'Copy the secret'));
  await field(page, 'Code').fill(codeOf(next, service));
  await field(page, 'Your password').fill(PASSWORD);
  await field(page, 'Present code').fill(codes[5]!);
  await button(page, 'Turn on').click();
  await page.getByRole('heading', { name: 'Two-step verification is on: your recovery codes' }).waitFor();
  await button(page, 'Done').click();
  await forgetProof(service, owner.email);
  await goByMenu(page, 'Users');
  await button(page, 'Invite user').click();
  await field(page, 'Email address').fill('invited@shop.example');
  await button(page, 'Invite').click();
  await field(page, 'Your password').fill(PASSWORD);
  await field(page, 'Code').fill(codeOf(next, service, 1));
  await button(page, 'Confirm').click();
  await button(page, 'Copy the link').waitFor();
});

async function changeRole(page: Page, email: string, role: string): Promise<void> {
  await button(page, `Change role of ${email}`).click();
  await page.getByRole('dialog').getByLabel(role, { exact: true }).check();
  await button(page, 'Save').click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}
const menuOf = (page: Page): Promise<string[]> =>
  page.getByRole('navigation', { name: 'Dashboard' }).getByRole('link').allInnerTexts();

test('an invited user sets a password and sees the pages of the role; a new role applies at once', async (context) => {
  const { owner, teamID, shop } = await open();
  const page = await openAs(context, service, owner);
  await goByMenu(page, 'Users');
  await button(page, 'Invite user').click();
  const newcomer = new Visitor(service, teamID, `new@${teamID}.example`);
  await field(page, 'Email address').fill(newcomer.email);
  await button(page, 'Invite').click();
  const link = await copy(page, button(page, 'Copy the link'));
  await button(page, 'Done').click();
  const row = page.getByRole('row').filter({ hasText: newcomer.email });
  await row.getByText('Not set yet').waitFor();
  assert.equal((await page.content()).includes(link.split('#')[1]!), false, 'the link is still on the page');

  const theirs = await openAt(context, service, newcomer);
  await theirs.goto(link);
  await theirs.getByText(`You are ${newcomer.email} in the team ${teamID}.`).waitFor();
  await setPassword(theirs);
  const ownersPages = new Set(['Settings', 'Users', 'Audit log']);
  assert.deepEqual(
    (await menuOf(theirs)).filter((name) => ownersPages.has(name)),
    ['Settings'],
  );
  assert.equal(await button(theirs, 'Replace Keys').count(), 0);
  for (const path of ['/users', '/audit']) {
    await goTo(theirs, path);
    await theirs.getByText('Only owners can see').waitFor();
    assert.equal(await theirs.getByRole('region').count(), 0);
  }

  await changeRole(page, newcomer.email, 'Developer');
  await row.getByText('developer').waitFor();
  await goTo(theirs, '/api-settings');
  await button(theirs, 'Replace Keys').click();
  await changeRole(page, newcomer.email, 'Viewer');
  await row.getByText('viewer').waitFor();
  await button(theirs, 'Save').click();
  await theirs.getByRole('dialog').getByRole('alert').getByText(/role/).waitFor();
  await succeed(shop.queryOrders([])); // the keys still work
  await changeRole(page, newcomer.email, 'Owner');
  await goTo(theirs, '/users');
  assert.ok((await menuOf(theirs)).includes('Audit log'));
  await theirs.getByRole('row').filter({ hasText: owner.email }).waitFor();
});

test('End all others ends the session at every other browser, and not this one', async (context) => {
  const { owner } = await open();
  const [here, there] = [await openAs(context, service, owner), await openAs(context, service, owner)];
  await openAccount(here, owner);
  const sessions = region(here, 'Your sessions').locator('tbody').getByRole('row');
  assert.equal(await sessions.count(), 3); // the two browsers and the one-time link
  await button(here, 'End all others').click();
  await here.getByText('All other sessions have ended').waitFor();
  await until(async () => (await sessions.count()) === 1);
  await there.getByRole('link', { name: 'Usage', exact: true }).click();
  const again = there.getByRole('dialog', { name: 'You were signed out' });
  await again.waitFor();
  await expectCode(owner.get('/session'), '401 NOT_SIGNED_IN');
  await goByMenu(here, 'Usage');
  // After signing in again in the dialog, the user sees the page that they had asked for.
  await again.getByLabel('Your password', { exact: true }).fill(PASSWORD);
  await again.getByRole('button', { name: 'Sign in', exact: true }).click();
  await again.waitFor({ state: 'detached' });
  await arrive(there, 'Usage');
  await there.getByRole('heading', { name: 'Calls in detail' }).waitFor();
});

test('settings and a custom field apply to the API at once; the audit log is whole', async (context) => {
  const { owner, shop, teamID } = await open();
  const page = await openAs(context, service, owner);
  await goByMenu(page, 'Settings');
  await field(page, 'Name').fill('Tea & <Sons>');
  await field(page, 'Quote').check();
  await field(page, 'Strict references').check();
  await button(page, 'Save').click();
  await page.getByText('Settings saved').waitFor();
  const number = await succeed<string>(shop.createOrder({ NOTES: 'made now' }));
  assert.equal((await shop.getOrder(number)).body.data.ORDER_TYPE, 'quote');
  expectRefusal(await shop.addLineItem({ ORDER_NUMBER: number, PART_CODE: 'nowhere' }), 400, 'UNKNOWN_REFERENCE');
  await page.getByRole('complementary').getByText('Tea & <Sons>', { exact: true }).waitFor();

  await goByMenu(page, 'Fields');
  await button(page, 'Add field').click();
  await field(page, 'Name').pressSequentially('gift_note');
  await button(page.getByRole('dialog'), 'Add field').click();
  await page.getByRole('row').filter({ hasText: 'GIFT_NOTE' }).getByText('custom').waitFor();
  const gift = await succeed<string>(shop.createOrder({ GIFT_NOTE: 'For you' }));
  assert.equal((await succeed<object[]>(shop.queryOrders([{ field: 'GIFT_NOTE', value: 'For you' }]))).length, 1);
  await goTo(page, `/records/orders/${gift}`);
  await page.getByText('For you', { exact: true }).waitFor();
  await button(page, 'Approve').click();
  await button(page.getByRole('dialog'), 'Approve').click();
  await page.getByText('is a sales order now').waitFor();
  await replaceKeys(page);
  const apiID = await copy(page, button(page, 'Copy the new API ID'));
  await button(page, 'Done').click();

  await goByMenu(page, 'Audit log');
  const rows = (await shownCells(region(page, 'Audit log'))).map((cells) => cells.slice(2, 5));
  assert.deepEqual(rows.toReversed().slice(-6), [
    [owner.email, 'password set by link', owner.email],
    [owner.email, 'signed in', owner.email],
    [owner.email, 'tenant changed', teamID],
    [owner.email, 'field added', 'GIFT_NOTE'],
    [owner.email, 'approveOrder', gift],
    [owner.email, 'keys replaced', apiID],
  ]);
  await button(page, 'Verify').click();
  await page.getByText(`Verified: ${rows.length} records, none changed.`).waitFor();

  await field(page, 'What').fill('approveO');
  await page.getByText(`1 record of the last ${rows.length}`).waitFor();
  const downloading = page.waitForEvent('download');
  await button(page, 'Export CSV').click();
  const [head, record, end] = readFileSync(await (await downloading).path(), 'utf8').split('\r\n');
  assert.deepEqual([head, end], ['number,at,actor,action,target,client,detail,hash', '']);
  assert.match(record ?? '', new RegExp(`${owner.email},approveOrder,${gift},`));
  await region(page, 'Audit log').getByRole('link', { name: gift }).click();
  await page.waitForURL(`**/records/orders/${gift}`);
});

/** Sends the form and returns the data of the response. */
async function send<T = Values>(page: Page): Promise<T> {
  await button(page, 'Send').click();
  return (JSON.parse(await region(page, 'Response body').innerText()) as { data: T }).data;
}

test('the explorer reads and writes, metered and logged for the user; a viewer only reads', async (context) => {
  const { owner, shop, teamID } = await open();
  const number = await succeed<string>(shop.createOrder({ NOTES: 'known' }));
  const counted = await service.usageOf(teamID);
  const page = await openAs(context, service, owner);
  await goTo(page, '/explorer/getOrder');
  await field(page, 'orderNum').fill(number);
  assert.equal((await send(page))['NOTES'], 'known');
  const list = page.getByRole('navigation', { name: 'Operations' });
  await list.locator('a[href$="/createOrder"]').click();
  await page.waitForURL('**/explorer/createOrder');
  await field(page, 'Body, as JSON').fill('{"NOTES":"by the \\"explorer\\""}');
  assert.ok(await button(page, 'Send').isDisabled(), 'a write is confirmed first');
  await field(page, 'This changes live data').check();
  const made = await send<string>(page);
  assert.equal((await shop.getOrder(made)).body.data.NOTES, 'by the "explorer"');
  assert.equal(await service.usageOf(teamID), counted + 3);

  await goByMenu(page, 'Requests');
  const marked = region(page, 'Requests').getByRole('row').filter({ hasText: 'explorer' });
  const operations = (await marked.allInnerTexts()).map((text) => /(\w+Order)\s+explorer/.exec(text)?.[1]);
  assert.deepEqual(operations, ['createOrder', 'getOrder']);
  await marked.getByRole('link').first().click();
  await page.getByText(`API explorer, by ${owner.email}`).waitFor();

  const viewing = await openAs(context, service, await owner.add('viewer'));
  await goTo(viewing, '/explorer/createOrder');
  await viewing.getByText('To use it, ask an owner for the developer role.').waitFor();
  assert.ok(await button(viewing, 'Send').isDisabled());
  await goTo(viewing, '/explorer/getOrder');
  await field(viewing, 'orderNum').fill(number);
  assert.equal((await send(viewing))['NOTES'], 'known');
});
