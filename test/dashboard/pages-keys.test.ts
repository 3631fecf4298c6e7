/**
 * Tests keys in a browser: from the one-time link to a pair that works, an overlap and its end, how long the page keeps
 * the secret, and all of it by keyboard alone.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { valuesOf } from '../kit/lists.ts';
import type { Keys } from '../kit/service.ts';
import {
  arrive,
  button,
  copy,
  field,
  goByMenu,
  openAs,
  openAt,
  paste,
  readAll,
  region,
  replaceKeys,
  setPassword,
  shownCells,
} from './at-pages.ts';
import { goTo, waitUntilLoaded } from './browser.ts';
import { tabTo, waitForFocus } from './keyboard.ts';
import { forgetProof, openScene, openTenant } from './scene.ts';
import { PASSWORD, Visitor } from './visitor.ts';

const service = await openScene();

const statusOf = async (keys: Keys): Promise<number> =>
  (await service.call(keys, 'POST', '/orders/query', { body: [] })).status;
const password = (page: Page): Locator => field(page, 'Your password');

/** Reads the pair that the page shows, with its copy buttons. */
async function copyPair(page: Page, { teamID }: Keys): Promise<Keys> {
  const apiID = await copy(page, button(page, 'Copy the new API ID'));
  return { teamID, apiID, apiSecret: await copy(page, button(page, 'Copy the new API Secret')) };
}

async function expectNowhere(page: Page, secret: string, complaint = 'the page has it'): Promise<void> {
  const all = await readAll(page);
  assert.equal(all.includes(secret), false, complaint);
}

test('a one-time link signs in once, and its token is removed from the address before any request', async (context) => {
  const { teamID } = await service.makeTenant('linked');
  const owner = new Visitor(service, teamID, 'owner@linked.example');
  const token = await owner.invite('owner');
  const page = await openAt(context, service, owner);
  await page.addInitScript(`
    const ask = window.fetch;
    window.asked = [];
    window.fetch = (...call) => { window.asked.push([location.href, String(call[0])]); return ask(...call); };`);
  const urls: string[] = [];
  page.on('request', (request) => urls.push(request.url(), request.headers()['referer'] ?? ''));
  await page.goto(`/dashboard/link#${token}`);
  await field(page, 'Password').waitFor();
  await waitUntilLoaded(page);
  const asked = await page.evaluate<[string, string][]>('window.asked');
  assert.deepEqual(asked, [[`${service.origin}/dashboard/link`, '/dashboard/api/link/check']]);
  await setPassword(page);
  await waitUntilLoaded(page);
  assert.equal(urls.join('\n').includes(token), false, 'the token was in a URL');
  await expectNowhere(page, token, 'the token was kept');
  await page.goBack();
  assert.equal(page.url().includes(token), false, 'Back shows the token');

  const other = await openAt(context, service, owner);
  await other.goto(`/dashboard/link#${token}`);
  await other.getByText('This link cannot be used').waitFor();
  assert.equal(await field(other, 'Password').count(), 0);
});

// Holds S2.7, S12.6.
test('the pair shown after Replace Keys, Save works at once, and the previous one is refused', async (context) => {
  const { keys, owner } = await openTenant(service);
  const page = await openAs(context, service, owner);
  await replaceKeys(page);
  const issued = await copyPair(page, keys);
  assert.notEqual(issued.apiID, keys.apiID);
  assert.equal(await statusOf(issued), 200);
  assert.equal(await statusOf(keys), 401);
  const shown = await region(page, 'New keys').innerText();
  assert.ok(shown.includes(issued.apiID) && shown.includes(issued.apiSecret), 'what is shown is not what is copied');
  assert.match(shown, /Name\s+default\s/);
  const curl = await copy(page, button(page, 'Copy curl'));
  const { code } = JSON.parse(await paste(curl, keys)) as { code: string };
  assert.equal(code, 'NOT_FOUND', 'good keys, and no order of that number');
  await button(page, 'Done').click();
  await expectNowhere(page, issued.apiSecret);
});

test('with an overlap, the old pair still works and is listed, until Revoke ends it at once', async (context) => {
  const { keys, owner } = await openTenant(service);
  const page = await openAs(context, service, owner);
  await replaceKeys(page, 'After 1 hour');
  const issued = await copyPair(page, keys);
  assert.deepEqual([await statusOf(issued), await statusOf(keys)], [200, 200]);
  await button(page, 'Done').click();
  const listed = region(page, 'Old keys');
  await listed.getByRole('row').filter({ hasText: keys.apiID }).filter({ hasText: 'in 60 minutes' }).waitFor();
  await button(page, `Revoke ${keys.apiID}`).click();
  const question = page.getByRole('dialog');
  await button(page, 'Cancel').click();
  assert.equal(await statusOf(keys), 200, 'ended without the confirmation');
  await button(page, `Revoke ${keys.apiID}`).click();
  await button(question, 'Revoke').click();
  await listed.waitFor({ state: 'detached' });
  assert.deepEqual([await statusOf(issued), await statusOf(keys)], [200, 401]);
});

test('Create Keys makes another pair, which works beside the others until Revoke ends it', async (context) => {
  const { keys, owner } = await openTenant(service);
  const page = await openAs(context, service, owner);
  await goByMenu(page, 'API Settings');
  await button(page, 'Create Keys').click();
  await field(page, 'Name').fill('default');
  await field(page, 'Read').check();
  await field(page, 'Expires after (days)').fill('30');
  await button(page, 'Create').click();
  await page.locator('[name=name][aria-invalid=true]').waitFor();
  await page.getByText("The name 'default' is in use").waitFor();
  await field(page, 'Name').fill('Monthly reports');
  await forgetProof(service, owner.email);
  await button(page, 'Create').click();
  await password(page).fill(PASSWORD);
  await button(page, 'Confirm').click();
  await region(page, 'New keys').getByText('Monthly reports, scope read').waitFor();
  const issued = await copyPair(page, keys);
  assert.deepEqual([await statusOf(issued), await statusOf(issued), await statusOf(keys)], [200, 200, 200]);
  const refused = await service.call(issued, 'PUT', '/orders/create', { body: {} });
  assert.equal(refused.body.code, 'SCOPE_MISSING');
  await button(page, 'Done').click();
  await expectNowhere(page, issued.apiSecret);

  await page.reload();
  await waitUntilLoaded(page);
  const listed = region(page, 'Valid keys');
  const cells = (await shownCells(listed.getByRole('table'))).map((row) => row.map((cell) => cell.split(/\n+/)));
  assert.deepEqual(
    cells.map(([named, scope, , ends, , calls]) => [...named!, ...scope!, ends!.at(-1), ...calls!]),
    [
      ['default', keys.apiID, 'write', 'Never', '1'],
      ['Monthly reports', issued.apiID, 'read', 'in 30 days', '3'],
    ],
  );
  assert.equal(cells[1]![2]!.at(-1), `by ${owner.email}`);
  assert.match(cells[1]![4]!.at(-1)!, /^from \S+$/);
  assert.equal(await copy(page, button(page, 'Copy the API ID of Monthly reports')), issued.apiID);
  await button(page, `Revoke ${issued.apiID}`).click();
  await button(page.getByRole('dialog'), 'Revoke').click();
  await listed.getByText('Monthly reports').waitFor({ state: 'detached' });
  assert.deepEqual([await statusOf(issued), await statusOf(keys)], [401, 200]);

  await goTo(page, '/usage?by=keys');
  const counted = await shownCells(region(page, 'Calls by keys').getByRole('table'));
  assert.deepEqual(
    counted.map((row) => row.slice(0, 3)),
    [
      ['Monthly reports', issued.apiID, '3'],
      ['default', keys.apiID, '2'],
    ],
  );
  await goTo(page, `/requests/${refused.headers.get('x-request-id')!}`);
  await page.getByText('Monthly reports', { exact: true }).waitFor();
});

// Holds S12.2.
test('a pair with the scope Back office approves an order, which one that reads and writes cannot', async (context) => {
  const { keys, owner } = await openTenant(service);
  const created = await service.call(keys, 'PUT', '/orders/create', { body: { ORDER_TYPE: 'quote' } });
  const approve = (pair: Keys) =>
    service.call(pair, 'POST', '/orders/approve', { body: { ORDER_NUMBER: created.body.data as string } });
  assert.equal((await approve(keys)).body.code, 'SCOPE_MISSING');
  const page = await openAs(context, service, owner);
  await goByMenu(page, 'API Settings');
  await button(page, 'Create Keys').click();
  await field(page, 'Name').fill('Till');
  await field(page, 'Back office').check();
  await button(page, 'Create').click();
  await region(page, 'New keys').getByText('Till, scope office').waitFor();
  const { status, body } = await approve(await copyPair(page, keys));
  assert.deepEqual([status, body.data.ORDER_TYPE], [200, 'sales_order']);
  await button(page, 'Done').click();
  const row = region(page, 'Valid keys').getByRole('row').filter({ hasText: 'Till' });
  await row.getByText('office', { exact: true }).waitFor();
});

// Holds S2.7.
test('a secret is shown once: not after a reload or Back, in storage or in a later answer', async (context) => {
  const { keys, owner } = await openTenant(service);
  const page = await openAs(context, service, owner);
  await replaceKeys(page);
  const { apiSecret } = await copyPair(page, keys);
  const places = '[{ ...localStorage }, { ...sessionStorage }, history.state, location.href]';
  const kept = await page.evaluate<string>(`JSON.stringify(${places})`);
  assert.equal(kept.includes(apiSecret), false, 'kept while it is shown');

  const bodies: Promise<string>[] = [];
  page.on('response', (response) => bodies.push(response.text().catch(() => '')));
  page.on('dialog', (question) => void question.accept()); // the browser also asks before it reloads the page
  await page.getByRole('link', { name: 'Usage', exact: true }).click();
  await page.getByRole('dialog', { name: 'Leave without a copy?' }).waitFor();
  await button(page, 'Stay').click();
  assert.ok((await readAll(page)).includes(apiSecret), 'staying lost it');
  await page.reload();
  await waitUntilLoaded(page);
  await expectNowhere(page, apiSecret, 'a reload showed it');

  await replaceKeys(page);
  const second = await copyPair(page, keys);
  await page.getByRole('link', { name: 'Usage', exact: true }).click();
  await button(page, 'Leave').click();
  for (const way of ['leaving', 'Back', 'Forward', 'Back']) {
    if (way === 'Back') await page.goBack();
    if (way === 'Forward') await page.goForward();
    await waitUntilLoaded(page);
    await expectNowhere(page, second.apiSecret, `${way} showed it`);
  }
  for (const path of ['/requests', '/audit', '/account', '/explorer']) await goTo(page, path);
  const answers = (await Promise.all(bodies)).filter((body) => !body.includes('"apiSecret"'));
  assert.ok(answers.length > 20);
  for (const secret of [apiSecret, second.apiSecret])
    assert.ok(!answers.some((body) => body.includes(secret)), 'a later answer had it');
});

test('the keyboard alone is enough from the sign-in page to the copied secret', async (context) => {
  const { keys, owner } = await openTenant(service);
  const page = await openAt(context, service, owner);
  await page.goto('/dashboard/sign-in');
  await waitForFocus(field(page, 'Team'));
  await page.keyboard.type(keys.teamID);
  await tabTo(page, page.getByLabel('Email address'));
  await page.keyboard.type(owner.email);
  await tabTo(page, field(page, 'Password'));
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press('Enter');
  await arrive(page, `Tenant ${keys.teamID}`);

  await tabTo(page, page.getByRole('link', { name: 'API Settings', exact: true }));
  await page.keyboard.press('Enter');
  await waitForFocus(page.getByRole('heading', { level: 1, name: 'API Settings' }));
  await waitUntilLoaded(page);
  await tabTo(page, button(page, 'Replace Keys'));
  await page.keyboard.press('Space');
  await waitForFocus(page.getByLabel('After 24 hours', { exact: true }));
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await waitForFocus(button(page, 'Replace Keys'));

  await page.keyboard.press('Enter');
  await waitForFocus(page.getByLabel('After 24 hours', { exact: true }));
  await page.keyboard.press('ArrowUp');
  assert.ok(await page.getByLabel('After 1 hour', { exact: true }).isChecked());
  await forgetProof(service, owner.email);
  await tabTo(page, button(page, 'Save'));
  await page.keyboard.press('Space');
  await waitForFocus(password(page));
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press('Enter');
  await waitForFocus(page.getByRole('heading', { name: 'New keys' }));
  await tabTo(page, button(page, 'Copy the new API ID'));
  const apiID = await copy(page, button(page, 'Copy the new API ID'), () => page.keyboard.press('Enter'));
  await tabTo(page, button(page, 'Copy the new API Secret'));
  const apiSecret = await copy(page, button(page, 'Copy the new API Secret'), () => page.keyboard.press('Space'));
  assert.deepEqual([await statusOf({ ...keys, apiID, apiSecret }), await statusOf(keys)], [200, 200]);
  await tabTo(page, button(page, 'Done'));
  await page.keyboard.press('Enter');
  await waitForFocus(page.getByRole('heading', { level: 1, name: 'API Settings' }));
  await expectNowhere(page, apiSecret);
});

test('a password is asked for once in 5 minutes, errors are at its field, and the action continues', async (context) => {
  const { keys, owner } = await openTenant(service);
  const page = await openAs(context, service, owner);
  await goByMenu(page, 'API Settings');
  await button(page, 'Replace Keys').click();
  await page.getByLabel('Immediately', { exact: true }).check();
  await forgetProof(service, owner.email);
  await button(page, 'Save').click();
  await password(page).fill(`${PASSWORD}.`);
  await button(page, 'Confirm').click();
  await page.locator('[aria-invalid=true]').waitFor();
  await waitForFocus(password(page));
  const said = await password(page).evaluate((input) => {
    const ids = (input.getAttribute('aria-describedby') as string).split(' ');
    const about = ids.map((id) => input.ownerDocument.getElementById(id).textContent as string);
    return `${input.getAttribute('aria-invalid') as string}: ${about.join(' ')}`;
  });
  assert.match(said, /^true: .*password/i);
  assert.equal(await page.getByRole('heading', { name: 'New keys' }).count(), 0);
  assert.equal(await statusOf(keys), 200);
  assert.deepEqual(valuesOf((await owner.ask('GET /keys')).keys, 'apiID'), [keys.apiID]);

  await button(page, 'Cancel').last().click();
  await page.getByText('you last entered it more than 5 minutes ago').waitFor();
  assert.equal(await statusOf(keys), 200);
  await button(page, 'Save').click();
  await password(page).fill(PASSWORD);
  await button(page, 'Confirm').click();
  await page.getByRole('heading', { name: 'New keys' }).waitFor();
  assert.equal(await statusOf(keys), 401);
  await button(page, 'Done').click();

  // The dashboard does not ask for the password again for a while, not even on another page.
  await goByMenu(page, 'Users');
  await button(page, 'Invite user').click();
  await field(page, 'Email address').fill('newcomer@example.com');
  await button(page, 'Invite').click();
  await page.getByRole('heading', { name: 'One-time link' }).waitFor();
});

test('if the session ends at the password dialog, a sign-in over it continues the action', async (context) => {
  const { keys, owner } = await openTenant(service);
  const page = await openAs(context, service, owner);
  await goByMenu(page, 'API Settings');
  await button(page, 'Replace Keys').click();
  await page.getByLabel('Immediately', { exact: true }).check();
  await forgetProof(service, owner.email);
  await button(page, 'Save').click();
  await password(page).fill(PASSWORD);
  await page.context().clearCookies();
  await button(page, 'Confirm').click();
  const again = page.getByRole('dialog', { name: 'You were signed out' });
  await again.getByLabel('Your password', { exact: true }).fill(PASSWORD);
  await again.getByRole('button', { name: 'Sign in' }).click();
  await again.waitFor({ state: 'detached' });
  assert.equal(await statusOf(keys), 200);
  await button(page, 'Confirm').click();
  await page.getByRole('heading', { name: 'New keys' }).waitFor();
  assert.equal(await statusOf(keys), 401);
});

test('a viewer sees the pair in force and no Replace Keys', async (context) => {
  const { keys, owner } = await openTenant(service);
  const page = await openAs(context, service, await owner.add('viewer'));
  await goByMenu(page, 'API Settings');
  await page.getByText(keys.apiID, { exact: true }).waitFor();
  await page.getByText('To create or replace keys, ask an owner').waitFor();
  assert.equal(await page.getByRole('button', { name: /Replace|Create|Revoke/ }).count(), 0);
});
