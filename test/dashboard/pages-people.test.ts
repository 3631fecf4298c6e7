/**
 * People in a browser: a second factor set up and signed in with, a user invited and given other roles, sessions ended elsewhere, settings and fields that
 * are in force for the API, calls of the explorer, and the audit log that has it all and is whole.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { Shop, expectRefusal, succeed } from '../kit/records.ts';
import { copy, goByMenu, openAs, openAt, until } from './at-pages.ts';
import { goTo, waitUntilLoaded } from './browser.ts';
import { openScene } from './scene.ts';
import { codeOf, PASSWORD, Visitor } from './visitor.ts';

const service = await openScene();

let tenants = 0;
async function open(): Promise<{ shop: Shop; teamID: string; owner: Visitor }> {
  const teamID = `shop${++tenants}`;
  const shop = await Shop.open(service, teamID);
  return { shop, teamID, owner: await Visitor.make(service, teamID, 'owner') };
}
const button = (page: Page, name: string): Locator => page.getByRole('button', { name, exact: true });
const field = (page: Page, label: string): Locator => page.getByLabel(label, { exact: true });

/** From anywhere inside, by the button of the menu, which loads the dashboard anew. */
async function signOut(page: Page): Promise<void> {
  await Promise.all([page.waitForEvent('load'), button(page, 'Sign out').click()]);
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
}
async function givePassword(page: Page, { teamID, email }: Visitor): Promise<void> {
  await field(page, 'Team').fill(teamID); // signing out clears what the browser had stored
  await field(page, 'E-mail address').fill(email);
  await field(page, 'Password').fill(PASSWORD);
  await button(page, 'Sign in').click();
  await page.getByRole('heading', { level: 1, name: 'Second factor' }).waitFor();
}
async function openAccount(page: Page, { email }: Visitor): Promise<void> {
  await page.getByRole('link', { name: new RegExp(email) }).click();
  await page.getByRole('heading', { level: 1, name: 'Account' }).waitFor();
  await waitUntilLoaded(page);
}

test('a second factor set up by the shown secret is asked for at the next sign-in: a code, or a recovery code once', async (context) => {
  const { owner } = await open();
  const page = await openAs(context, service, owner);
  await openAccount(page, owner);
  await button(page, 'Set up').click();
  await page.getByRole('img', { name: 'QR code' }).waitFor();
  const secret = await copy(page, button(page, 'Copy the secret'));
  await field(page, 'Code').fill(codeOf(secret, -20));
  await field(page, 'Your password').fill(PASSWORD);
  await button(page, 'Turn on').click();
  await page.getByRole('dialog').getByText('The code does not fit the secret.').waitFor();
  await field(page, 'Code').fill(codeOf(secret));
  await button(page, 'Turn on').click();
  await page.getByRole('heading', { name: 'Second factor on: your recovery codes' }).waitFor();
  const codes = await page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem').allInnerTexts();
  assert.equal(new Set(codes).size, 10);
  await button(page, 'I have stored them').click();

  await signOut(page);
  await givePassword(page, owner);
  await field(page, 'Code').fill(codeOf(secret, 1)); // that of now was used when it was set up
  await button(page, 'Sign in').click();
  await page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor();

  for (const isFirst of [true, false]) {
    await signOut(page);
    await givePassword(page, owner);
    await button(page, 'Use a recovery code').click();
    await field(page, 'Recovery code').fill(codes[3]!);
    await button(page, 'Sign in').click();
    if (isFirst) await page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor();
    else await page.getByRole('alert').getByText(/wrong/).waitFor();
  }
  await field(page, 'Recovery code').fill(codes[4]!);
  await button(page, 'Sign in').click();
  await page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor();
  await openAccount(page, owner);
  await page.getByText('8 of 10').waitFor();
});

async function changeRole(page: Page, email: string, role: string): Promise<void> {
  await button(page, `Change role of ${email}`).click();
  await page.getByRole('dialog').getByLabel(role, { exact: true }).check();
  await button(page, 'Save').click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}
const menuOf = (page: Page): Promise<string[]> =>
  page.getByRole('navigation', { name: 'Dashboard' }).getByRole('link').allInnerTexts();

test('an invited user sets a password by the link, sees what the role allows, and another role is in force at once', async (context) => {
  const { owner, teamID, shop } = await open();
  const page = await openAs(context, service, owner);
  await goByMenu(page, 'Users');
  await button(page, 'Invite user').click();
  const newcomer = new Visitor(service, teamID, `new@${teamID}.example`);
  await field(page, 'E-mail address').fill(newcomer.email);
  await button(page, 'Invite').click();
  const link = await copy(page, button(page, 'Copy the link'));
  await button(page, 'Done').click();
  const row = page.getByRole('row').filter({ hasText: newcomer.email });
  await row.getByText('Not set yet').waitFor();
  assert.equal((await page.content()).includes(link.split('#')[1]!), false, 'the link is still on the page');

  const theirs = await openAt(context, service, newcomer);
  await theirs.goto(link);
  await theirs.getByText(`For ${newcomer.email} in the team ${teamID}.`).waitFor();
  await field(theirs, 'Password').fill(PASSWORD);
  await field(theirs, 'The same again').fill(PASSWORD);
  await button(theirs, 'Set password and sign in').click();
  await theirs.getByRole('heading', { level: 1, name: 'API Settings' }).waitFor();
  assert.deepEqual(
    (await menuOf(theirs)).filter((name) => ['Settings', 'Users', 'Audit log'].includes(name)),
    ['Settings'],
  );
  assert.equal(await button(theirs, 'Replace Keys').count(), 0);
  for (const path of ['/users', '/audit']) {
    await goTo(theirs, path);
    await theirs.getByText('Only owners see').waitFor();
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
  await succeed(shop.queryOrders([])); // the keys are still good
  await changeRole(page, newcomer.email, 'Owner');
  await goTo(theirs, '/users');
  assert.ok((await menuOf(theirs)).includes('Audit log'));
  await theirs.getByRole('row').filter({ hasText: owner.email }).waitFor();
});

test('End all others ends the session at every other browser, and not this one', async (context) => {
  const { owner } = await open();
  const [here, there] = [await openAs(context, service, owner), await openAs(context, service, owner)];
  await openAccount(here, owner);
  const sessions = here.getByRole('region', { name: 'Your sessions' }).locator('tbody').getByRole('row');
  assert.equal(await sessions.count(), 3); // that of the link too
  await button(here, 'End all others').click();
  await here.getByText('All other sessions have ended').waitFor();
  await until(async () => (await sessions.count()) === 1, 'one session is left');
  await there.getByRole('link', { name: 'Usage', exact: true }).click();
  await there.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  assert.match(there.url(), /\/dashboard\/sign-in\?next=%2Fusage$/);
  assert.equal((await owner.get('/session')).status, 401);
  await goByMenu(here, 'Usage');
  // Signing in again leads back to what was wanted.
  await field(there, 'E-mail address').fill(owner.email);
  await field(there, 'Password').fill(PASSWORD);
  await button(there, 'Sign in').click();
  await there.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
});

test('a default stage, strict references and a custom field set in the browser are in force for the API at once; the audit log has it all and is whole', async (context) => {
  const { owner, shop, teamID } = await open();
  const page = await openAs(context, service, owner);
  await goByMenu(page, 'Settings');
  await field(page, 'Name').fill('Tea & <Sons>');
  await field(page, 'Quote').check();
  await field(page, 'Strict references').check();
  await button(page, 'Save').click();
  await page.getByText('Settings saved').waitFor();
  const number = await succeed<string>(shop.createOrder({ NOTES: 'made now' }));
  assert.equal(((await shop.getOrder(number)).body as { data: { ORDER_TYPE: string } }).data.ORDER_TYPE, 'quote');
  expectRefusal(await shop.addLineItem({ ORDER_NUMBER: number, PART_CODE: 'nowhere' }), 400, 'UNKNOWN_REFERENCE');
  await page.getByRole('complementary').getByText('Tea & <Sons>', { exact: true }).waitFor();

  await goByMenu(page, 'Fields');
  await button(page, 'Add field').click();
  await field(page, 'Name').pressSequentially('gift_note');
  await page.getByRole('dialog').getByRole('button', { name: 'Add field', exact: true }).click();
  await page.getByRole('row').filter({ hasText: 'GIFT_NOTE' }).getByText('custom').waitFor();
  const gift = await succeed<string>(shop.createOrder({ GIFT_NOTE: 'For you' }));
  assert.equal((await succeed<object[]>(shop.queryOrders([{ field: 'GIFT_NOTE', value: 'For you' }]))).length, 1);
  await goTo(page, `/records/orders/${gift}`);
  await page.getByText('For you', { exact: true }).waitFor();
  await button(page, 'Approve').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByText('is a sales order now').waitFor();
  await goByMenu(page, 'API Settings');
  await button(page, 'Replace Keys').click();
  await button(page, 'Save').click();
  const apiID = await copy(page, button(page, 'Copy the new API ID'));
  await button(page, 'I have stored it').click();

  await goByMenu(page, 'Audit log');
  const log = page.getByRole('region', { name: 'Audit log', exact: true });
  const rows = await log
    .locator('tbody tr')
    .evaluateAll((all) => all.map((row) => [...row.cells].slice(2, 5).map((cell) => cell.innerText as string)));
  assert.deepEqual(rows.toReversed().slice(-6), [
    [owner.email, 'password set by link', owner.email],
    [owner.email, 'signed in', owner.email],
    [owner.email, 'tenant changed', teamID],
    [owner.email, 'field added', 'GIFT_NOTE'],
    [owner.email, 'order approved', gift],
    [owner.email, 'keys replaced', apiID],
  ]);
  await button(page, 'Verify').click();
  await page.getByText(`The log is whole: ${rows.length} records, each as it was written`).waitFor();
});

/** Sends what is in the form and gives the body of the answer. */
async function send(page: Page): Promise<{ data: unknown }> {
  await button(page, 'Send').click();
  return JSON.parse(await page.getByRole('region', { name: 'Body of the answer' }).innerText()) as { data: unknown };
}

test('the explorer reads and writes as any program, metered, and in Requests as the user; a viewer only reads', async (context) => {
  const { owner, shop, teamID } = await open();
  const number = await succeed<string>(shop.createOrder({ NOTES: 'known' }));
  const counted = await service.usageOf(teamID);
  const page = await openAs(context, service, owner);
  await goTo(page, '/explorer/getOrder');
  await field(page, 'orderNum').fill(number);
  assert.equal(((await send(page)).data as { NOTES: string }).NOTES, 'known');
  const list = page.getByRole('navigation', { name: 'Operations' });
  await list.locator('a[href$="/createOrder"]').click();
  await page.waitForURL('**/explorer/createOrder');
  await field(page, 'Body, as JSON').fill('{"NOTES":"by the \\"explorer\\""}');
  assert.ok(await button(page, 'Send').isDisabled(), 'a write is confirmed first');
  await field(page, 'This writes to your records').check();
  const made = (await send(page)).data as string;
  const { data } = (await shop.getOrder(made)).body as { data: { NOTES: string } };
  assert.equal(data.NOTES, 'by the "explorer"');
  assert.equal(await service.usageOf(teamID), counted + 3);

  await goByMenu(page, 'Requests');
  const marked = page
    .getByRole('region', { name: 'Requests', exact: true })
    .getByRole('row')
    .filter({ hasText: 'explorer' });
  assert.deepEqual(
    (await marked.allInnerTexts()).map((text) => /(\w+Order)\s+explorer/.exec(text)?.[1]),
    ['createOrder', 'getOrder'],
  );
  await marked.getByRole('link').first().click();
  await page.getByText(`API explorer, by ${owner.email}`).waitFor();

  const viewing = await openAs(context, service, await owner.add('viewer'));
  await goTo(viewing, '/explorer/createOrder');
  await viewing.getByText('It needs the role developer; yours is viewer.').waitFor();
  assert.ok(await button(viewing, 'Send').isDisabled());
  await goTo(viewing, '/explorer/getOrder');
  await field(viewing, 'orderNum').fill(number);
  assert.equal(((await send(viewing)).data as { NOTES: string }).NOTES, 'known');
});
