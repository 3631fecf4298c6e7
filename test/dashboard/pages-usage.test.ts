/**
 * Tests Usage and Requests in a browser after known calls: the shown and downloaded figures are right, a request is
 * found by its ID and repeated by the copied command, new requests appear, and filters work.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import type { Answer, Keys } from '../kit/service.ts';
import { times, valuesOf } from '../kit/lists.ts';
import { arrive, button, shownCells, copy, field, figureOf, goByMenu, openAs, paste, region } from './at-pages.ts';
import { goTo, sendSignIn, waitUntilLoaded } from './browser.ts';
import { openScene, openTenant } from './scene.ts';

const service = await openScene();

const idOf = ({ headers }: Answer): string => headers.get('x-request-id')!;

interface Made {
  readonly operation: string;
  readonly status: number;
  readonly requestID: string;
}
/** Makes successful and refused calls of several operations, and one with a wrong secret, which is not counted. */
async function makeMix(keys: Keys): Promise<Made[]> {
  const made: Made[] = [];
  const call = async (operation: string, count: number, ...[method, path, options]: [string, string, object]) => {
    for (let left = count; left > 0; left--) {
      const answer = await service.call(keys, method, path, options);
      made.push({ operation, status: answer.status, requestID: idOf(answer) });
    }
  };
  await call('queryOrders', 4, 'POST', '/orders/query', { body: [] });
  await call('queryOrders', 1, 'POST', '/orders/query', { body: [{ field: 'NO_SUCH', value: 'x' }] });
  await call('getOrder', 3, 'GET', '/orders/single', { query: { orderNum: 'nothing' } });
  await call('createOrder', 2, 'PUT', '/orders/create', { body: { REFERENCE_NUMBER: '#1001' } });
  await call('createOrder', 1, 'PUT', '/orders/create', { body: { FREIGHT: 'much' } });
  await call('createCustomer', 1, 'PUT', '/customers/create', { body: { CUSTOMER_NAME: 'Ada' } });
  await service.call({ ...keys, apiSecret: 'wrong' }, 'POST', '/orders/query', { body: [] });
  return made;
}
const isRefused = ({ status }: Made): boolean => status >= 400;
const namesOf = (made: readonly Made[]): string[] => [...new Set(valuesOf(made, 'operation'))].toSorted();

const today = (): string => service.timeAt().slice(0, 10);

test('usage shows and downloads the calls of the team, with the figure of `storeroom usage`', async (context) => {
  const { keys, owner } = await openTenant(service);
  const made = await makeMix(keys);
  const page = await openAs(context, service, owner);
  await goByMenu(page, 'Usage');
  const told = (await service.command('usage', keys.teamID, '--json')).json() as {
    total: number;
    byOperation: { operation: string; calls: number }[];
  };
  const total = String(made.length);
  const refused = String(made.filter(isRefused).length);
  assert.equal(String(told.total), total);
  assert.equal(await figureOf(page, 'Calls this month').innerText(), total);
  assert.equal(await figureOf(page, 'Failed').first().innerText(), refused);
  const sums = namesOf(made).map((name) => {
    const mine = made.filter(({ operation }) => operation === name);
    return { name, calls: mine.length, refused: mine.filter(isRefused).length };
  });
  assert.deepEqual(
    told.byOperation.map(({ operation, calls }) => `${operation} ${calls}`).toSorted(),
    sums.map(({ name, calls }) => `${name} ${calls}`),
  );
  const byOperation = await shownCells(region(page, 'Calls by operation'));
  assert.deepEqual(
    byOperation.map((cells) => cells.slice(0, 4).join(' ')).toSorted(),
    sums.map(({ name, ...sum }) => `${name} ${sum.calls} ${sum.calls - sum.refused} ${sum.refused}`),
  );
  await page.getByRole('tab', { name: 'By day' }).click();
  const byDay = region(page, 'Calls by day');
  const [cells, ...more] = await shownCells(byDay);
  assert.deepEqual([cells?.slice(1, 4), more], [[total, String(made.length - Number(refused)), refused], []]);
  assert.equal(await byDay.locator('time').getAttribute('datetime'), today());
  await page.getByRole('link', { name: `: ${total} calls, ${refused} failed` }).click();
  await arrive(page, 'Requests');
  await page.getByText(`${total} requests`).waitFor();
  assert.equal(await field(page, 'From (your time zone)').inputValue(), `${today()}T00:00`);
  await page.goBack();
  await arrive(page, 'Usage');

  const downloading = page.waitForEvent('download');
  await button(page, 'Download CSV').click();
  const download = await downloading;
  assert.equal(download.suggestedFilename(), `storeroom-usage-${keys.teamID}-${today().slice(0, 7)}.csv`);
  const [head, ...lines] = readFileSync(await download.path(), 'utf8').split('\r\n');
  assert.equal(head, 'day,operation,calls,refused');
  const rows = sums.map(({ name, ...sum }) => `${today()},${name},${sum.calls},${sum.refused}`);
  assert.deepEqual(lines.toSorted(), ['', ...rows]);

  await service.call(keys, 'POST', '/orders/query', { body: [] });
  await button(page, 'Refresh').click();
  const oneMore = String(made.length + 1);
  await figureOf(page, 'Calls this month').getByText(oneMore, { exact: true }).waitFor();
});

/** Finds a request by typing its ID into the search box. */
async function find(page: Page, requestID: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill(requestID);
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/dashboard/requests/${requestID}`);
  await page.getByRole('heading', { name: 'Run again' }).waitFor();
}

test('a request is found by its X-Request-Id, with its content and its error and without a secret', async (context) => {
  const { keys, owner } = await openTenant(service);
  const page = await openAs(context, service, owner);
  const { teamID, apiID, apiSecret } = keys;
  const answer = await service.request('GET', '/orders/single', {
    query: { teamID, apiID, apiSecret, orderNum: `it's "#1" & 100%` },
  });
  const { code, message } = answer.body as { code: string; message: string };
  await find(page, idOf(answer));
  await arrive(page, 'getOrder');
  const parameters = await shownCells(region(page, 'Names and values'));
  const sent = parameters.map((cells) => cells.slice(0, 2));
  assert.deepEqual(sent, [['orderNum', `it's "#1" & 100%`]]);
  await page.getByText(message, { exact: true }).waitFor();
  await page.getByText(code, { exact: true }).waitFor();
  assert.equal((await page.content()).includes(apiSecret), false);

  const write = await service.request('PUT', '/orders/create', {
    body: { teamID, apiID, apiSecret, NOTES: `it's $HOME`, FREIGHT: 'much' },
  });
  await find(page, idOf(write));
  const shown = await region(page, 'Body of the request').innerText();
  assert.deepEqual(JSON.parse(shown), { NOTES: `it's $HOME`, FREIGHT: 'much' });
  await page.getByText('FREIGHT', { exact: true }).waitFor();
  assert.equal((await page.content()).includes(apiSecret), false);
});

test('the command of Copy as curl runs with the keys filled in, and gets the same response', async (context) => {
  const { keys, owner } = await openTenant(service);
  const odd = `it's "Ø" $HOME \\ \`id\` #1`;
  await service.call(keys, 'PUT', '/orders/create', { body: { REFERENCE_NUMBER: odd, NOTES: '-' } });
  const page = await openAs(context, service, owner);
  const repeat = async (answer: Answer): Promise<void> => {
    await find(page, idOf(answer));
    const command = await copy(page, button(page, 'Copy as curl'));
    assert.equal(command.includes(keys.apiSecret), false);
    const again = JSON.parse(await paste(command, keys)) as Record<string, unknown>;
    // Each response has its own ID; only refusals have it in the body.
    assert.deepEqual({ ...again, requestId: '' }, { ...(answer.body as object), requestId: '' });
  };
  const query = await service.call(keys, 'POST', '/orders/query', {
    query: { maxReturn: '1' },
    body: [{ field: 'REFERENCE_NUMBER', value: odd }],
  });
  assert.equal((query.body as { data: unknown[] }).data.length, 1);
  await repeat(query);
  await repeat(
    await service.call(keys, 'GET', '/orders/by_storefront_reference', { query: { storefront_order_number: odd } }),
  );
  await repeat(await service.call(keys, 'GET', '/orders/single', { query: { orderNum: odd } }));
  await repeat(await service.call(keys, 'POST', '/customers/update', { body: { CUSTOMER_CODE: odd } }));
});

const requestsOf = (page: Page): Locator => region(page, 'Requests');

test('Live shows a new call without a reload', async (context) => {
  const { keys, owner } = await openTenant(service);
  const page = await openAs(context, service, owner);
  await service.call(keys, 'POST', '/orders/query', { body: [] });
  await goByMenu(page, 'Requests');
  await requestsOf(page).getByText('queryOrders').waitFor();
  await page.evaluate(`window.isSame = true`);
  await button(page, 'Live').click();
  assert.equal(await button(page, 'Live').getAttribute('aria-pressed'), 'true');
  const calls = [
    ['getOrder', '/orders/single', 'orderNum'],
    ['getCustomer', '/customers/single', 'customerCode'],
  ] as const;
  for (const [operation, path, key] of calls) {
    const id = idOf(await service.call(keys, 'GET', path, { query: { [key]: 'nothing' } }));
    const row = requestsOf(page).getByRole('row').filter({ hasText: id });
    await row.getByText(operation, { exact: true }).waitFor();
    await row.getByText('NOT_FOUND', { exact: true }).waitFor();
    const newest = requestsOf(page).getByRole('row').nth(1);
    assert.match(await newest.innerText(), new RegExp(id));
  }
  assert.equal(await page.evaluate<boolean>('window.isSame'), true, 'the page was loaded again');
});

test('filters show only matching requests, and survive a reload, a visit to a request and Back', async (context) => {
  const { keys, owner } = await openTenant(service);
  const made = await makeMix(keys);
  const page = await openAs(context, service, owner);
  await goByMenu(page, 'Requests');
  const [status, operation] = [field(page, 'Status'), field(page, 'Operation')];
  const expectShown = async (statusClass: string, name: string, wanted: readonly Made[]): Promise<void> => {
    await requestsOf(page).getByRole('row').nth(wanted.length).waitFor();
    await page.getByText(`${wanted.length} requests`).waitFor();
    const shown = (await shownCells(requestsOf(page))).map((cells) => `${cells[1]} ${cells[2]} ${cells.at(-1)}`);
    assert.deepEqual(shown, wanted.map((one) => `${one.status} ${one.operation} ${one.requestID}`).toReversed());
    assert.deepEqual([await status.inputValue(), await operation.inputValue()], [statusClass, name]);
  };
  const refused = made.filter(isRefused);
  const orders = refused.filter((one) => one.operation === 'getOrder');
  await expectShown('', '', made);
  await status.selectOption('4xx client errors');
  await expectShown('4xx', '', refused);
  await operation.selectOption('getOrder');
  await expectShown('4xx', 'getOrder', orders);
  await page.reload();
  await waitUntilLoaded(page);
  await expectShown('4xx', 'getOrder', orders);
  await requestsOf(page).getByRole('link').first().click();
  await arrive(page, 'getOrder');
  await page.goBack();
  await expectShown('4xx', 'getOrder', orders);
  await page.goBack();
  await expectShown('4xx', '', refused);
  await page.goBack();
  await expectShown('', '', made);
  await goTo(page, '/requests?status=404&operation=getOrder');
  await requestsOf(page).getByRole('row').nth(orders.length).waitFor();
  const ids = (await shownCells(requestsOf(page))).map((cells) => cells.at(-1));
  assert.deepEqual(ids, valuesOf(orders, 'requestID').toReversed());
});

test('Back from a request returns to the older pages, the place and the row, but not for another user', async (context) => {
  const [{ keys, owner }, other] = [await openTenant(service), await openTenant(service)];
  for (let left = 120; left > 0; left -= 20)
    await Promise.all(times(20, () => service.call(keys, 'GET', '/orders/single', { query: { orderNum: 'nothing' } })));
  const page = await openAs(context, service, owner);
  const table = requestsOf(page);
  await goByMenu(page, 'Requests');
  const first = await table.getByRole('row').count();
  await button(page, 'Older').click();
  await table.getByRole('row').nth(first).waitFor();
  const [rows, link] = [await table.getByRole('row').count(), table.getByRole('row').nth(first).getByRole('link')];
  const top = (): Promise<number> => table.evaluate((element) => element.scrollTop);
  await link.scrollIntoViewIfNeeded();
  const [before, id] = [await top(), await link.getAttribute('href')];
  assert.ok(before > 100);
  await link.click();
  await arrive(page, 'getOrder');
  await page.goBack();
  await table.getByRole('row').nth(first).waitFor();
  assert.deepEqual([await table.getByRole('row').count(), await top()], [rows, before]);
  assert.equal(await page.evaluate<string>(`document.activeElement.getAttribute('href')`), id);
  await link.click();
  await arrive(page, 'getOrder');
  const { body, headers } = { body: '{}', headers: { 'content-type': 'application/json' } };
  await page.evaluate(`fetch('/dashboard/api/sign-out', ${JSON.stringify({ method: 'POST', body, headers })})`);
  await page.getByRole('navigation', { name: 'Dashboard' }).getByRole('link', { name: 'Usage', exact: true }).click();
  await page.getByRole('dialog', { name: 'You were signed out' }).waitFor();
  await page.keyboard.press('Escape');
  await sendSignIn(page, other.owner);
  await arrive(page, 'Usage');
  await page.goBack();
  await page.getByText('This request is not in the log').waitFor();
  await page.goBack();
  await page.getByText('No requests yet').waitFor();
  assert.equal(await table.getByRole('link').count(), 0);
});
