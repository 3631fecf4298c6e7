/**
 * Whatever is in the data stays text: strings that break programs, and markup that would run a script, stored in every text field there is and shown by
 * every page. What a page shows is compared with what the API answers; a script that ran, a dialog, a broken policy or an element out of data fails.
 */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { NAUGHTY } from '../kit/naughty-strings.ts';
import { Shop, succeed, type Values } from '../kit/records.ts';
import { IS_THOROUGH } from '../kit/trials.ts';
import { openAs, openAt } from './at-pages.ts';
import { openScene } from './scene.ts';
import { Visitor } from './visitor.ts';

const RUN = 'window.broken=1';
/** Each would set the flag, ask a stranger or take the page over if it were more than text. */
const ALL_MARKUP: readonly string[] = [
  `<script>${RUN}</script>`, `<img src=x onerror=${RUN}>`, `"><svg onload=${RUN}>`, `'><img src=x onerror='${RUN}'>`, `</textarea><img src=x onerror=${RUN}>`,
  `</title><script>${RUN}</script>`, `<iframe srcdoc="<script>parent.broken=1</script>">`, `<template><img src=x onerror=${RUN}></template>`, `javascript:${RUN}`,
  `<a href="javascript:${RUN}">x</a>`, `{{constructor.constructor('${RUN}')()}}`, '${' + RUN + '}', `<math><mtext><mglyph><style><img src=x onerror=${RUN}>`,
  `<form id=innerHTML><input name=createElement>`, '<base href=//evil.example>', '<meta http-equiv=refresh content="0;url=//evil.example">',
  '<link rel=stylesheet href=//evil.example/x.css>', '<style>@import url(//evil.example)</style>', `<!--><img src=x onerror=${RUN}>-->`, `&lt;script&gt;${RUN}`,
  `<details open ontoggle=${RUN}>`, `\u2028<b onmouseover=${RUN} style="position:fixed;inset:0">`, `data:text/html,<script>${RUN}</script>`,
]; // prettier-ignore
const MARKUP = IS_THOROUGH ? ALL_MARKUP : ALL_MARKUP.slice(0, 9);
const STORED = [
  ...NAUGHTY.filter((text) => text !== '' && text.isWellFormed() && !text.includes('\0') && text.length <= 8192),
  ...MARKUP,
];
/** What takes more than this is only begun until somebody wants the rest. */
const WHOLE_MAX = 160;
const NAME_MAX = 200;
const PAGE_ROWS = 50;
const NOTHING_OF_DATA =
  'iframe, img, object, embed, base, form[id], style, link[href^="//"], meta[http-equiv], marquee, [onerror], [onload], [ontoggle], [onmouseover], a[href^="javascript:"], main script, b, svg[onload], math';

/** A record for each string, in which every field has another one: all of them together have every string in every field. */
const recordsOf = (names: readonly string[], strings: readonly string[]): Values[] =>
  strings.map((_, row) =>
    Object.fromEntries(names.map((name, place) => [name, strings[(row + place) % strings.length]!])),
  );
const inBatches = async <T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> => {
  for (let from = 0; from < items.length; from += 20) await Promise.all(items.slice(from, from + 20).map(act));
};

const service = await openScene();
const shop = await Shop.open(service, 'shop');
const owner = await Visitor.make(service, 'shop', 'owner');
for (const recordType of ['orders', 'lines', 'customers', 'inventory']) {
  assert.equal((await owner.post('/fields', { recordType, name: 'OF_OUR_OWN', type: 'text' })).status, 200);
}
const dictionary = (await owner.get('/fields')).body.fields as Record<
  string,
  { name: string; type: string; assigned: boolean }[]
>;
const textFields: Record<string, string[]> = {};
const keys = ['ORDER_NUMBER', 'ORDER_TYPE', 'LINE_REF_LOCK_CODE'];
for (const [recordType, all] of Object.entries(dictionary))
  textFields[recordType] = all
    .filter(({ name, type, assigned }) => type === 'text' && !assigned && !keys.includes(name))
    .map(({ name }) => name);
await inBatches(recordsOf(textFields['orders']!, STORED), async (order) => succeed(shop.createOrder(order)));
await inBatches(recordsOf(textFields['customers']!.filter((name) => name !== 'CUSTOMER_CODE'), STORED), async (customer) => succeed(shop.createCustomer(customer))); // prettier-ignore
for (const CUSTOMER_CODE of MARKUP) await succeed(shop.createCustomer({ CUSTOMER_CODE, CUSTOMER_NAME: CUSTOMER_CODE }));
const onOneLine = STORED.filter((text) => !/\p{Cc}/u.test(text) && text.trim() === text && text.length <= 256);
await shop.load('inventory', recordsOf(textFields['inventory']!, onOneLine)); // an import trims cells
const lined = await succeed<string>(shop.createOrder({ REFERENCE_NUMBER: MARKUP[1]!, TRACKING_NUMBERS: MARKUP[2]! }));
await inBatches(recordsOf(textFields['lines']!, STORED), async (line) =>
  succeed(shop.addLineItem({ ...line, ORDER_NUMBER: lined, QUANTITY: '9' })),
);

/** A page at which everything a string could set off is noticed when the test ends; the harness notices the policy and strangers. */
async function openStrict(context: TestContext, visitor = owner): Promise<Page> {
  const page = await openAs(context, service, visitor);
  const dialogs: string[] = [];
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  context.after(() => assert.deepEqual(dialogs, []));
  return page;
}
async function expectOnlyText(page: Page): Promise<void> {
  assert.equal(await page.evaluate('window.broken'), undefined, `a script ran at ${page.url()}`);
  assert.deepEqual(
    await page.locator(NOTHING_OF_DATA).evaluateAll((found) => found.map((one) => one.outerHTML as string)),
    [],
    page.url(),
  );
}
const visit = async (page: Page, path: string): Promise<void> => {
  await page.goto(`/dashboard${path}`, { waitUntil: 'commit' });
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.locator('.skeleton, main [aria-busy=true]').first().waitFor({ state: 'detached' });
  await expectOnlyText(page);
};
const texts = (found: Locator): Promise<string[]> =>
  found.evaluateAll((all) => all.map((one) => one.textContent as string));
const isBegunIn = (text: string, shown: readonly string[]): boolean =>
  shown.some((one) => one.includes(text)) ||
  (text.length > WHOLE_MAX && shown.some((one) => one.endsWith('…') && text.startsWith(one.slice(0, -1))));
const pathOf = (kind: string, key: string): string => `/records/${kind}/${encodeURIComponent(key)}`;

const LISTS = [
  ['orders', 'ORDER_NUMBER', 'queryOrders'],
  ['customers', 'CUSTOMER_CODE', 'queryCustomers'],
  ['inventory', 'PART_CODE', 'queryInventoryItems'],
] as const;

// The three are shown by the same code.
for (const [kind, key, query] of IS_THOROUGH ? LISTS : LISTS.slice(0, 1))
  test(`${kind}: every string in every text field is shown as it is, in the list and on the page of the record`, async (context) => {
    const page = await openStrict(context);
    const columns = [key, ...textFields[kind]!.filter((name) => name !== key)];
    await page.evaluate(
      `localStorage.setItem('storeroom.columns.${kind}', ${JSON.stringify(JSON.stringify(columns))})`,
    );
    const records = await succeed<Values[]>(shop[query]([]));
    const wanted = STORED.filter(
      (text) => kind !== 'inventory' || records.some((record) => Object.values(record).includes(text)),
    );
    assert.ok(wanted.length > MARKUP.length);
    for (const name of columns.slice(1)) assert.deepEqual(wanted.filter((text) => !records.some((record) => record[name] === text)), [], name); // prettier-ignore

    await visit(page, `/records/${kind}`);
    const shown: string[][] = [];
    const pages = Math.ceil(records.length / PAGE_ROWS);
    for (let number = 1; number <= pages; number++) {
      if (number > 1) await page.getByRole('button', { name: 'Next', exact: true }).click();
      if (pages > 1) await page.getByText(`Page ${number} · `).waitFor();
      await page.locator('.table.is-loading').waitFor({ state: 'detached' });
      shown.push(
        ...(await page
          .locator('tbody tr')
          .evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent as string)))),
      );
      await expectOnlyText(page);
    }
    assert.deepEqual(shown, records.map((record) => columns.map((name) => record[name]))); // prettier-ignore

    const seen = new Set<string>();
    for (const start of [' ', ...MARKUP].filter((text) => wanted.includes(text))) {
      if (seen.has(start)) continue;
      const record = records.find((one) => one[columns[1]!] === start)!;
      await visit(page, pathOf(kind, record[key]!));
      const parts = await texts(page.locator('main bdi, main dd code, main h1'));
      for (const text of Object.values(record)) if (isBegunIn(text, parts)) seen.add(text);
      await page
        .getByRole('button', { name: /^Show all/ })
        .evaluateAll((buttons) => buttons.forEach((one) => one.click()));
      await expectOnlyText(page);
    }
    assert.deepEqual(MARKUP.filter((text) => wanted.includes(text) && !seen.has(text)), []); // prettier-ignore
  });

test('lines: every string is shown as it is in the lines, the comparison and the form that invoices them', async (context) => {
  const page = await openStrict(context);
  const lines = await shop.lines(lined);
  await visit(page, pathOf('orders', lined));
  const cells = await page.getByRole('region', { name: 'Lines of the order' }).locator('tbody tr').evaluateAll((rows) =>
    rows.map((row) => [row.cells[1].textContent, row.cells[2].querySelector('bdi').textContent] as [string, string])); // prettier-ignore
  assert.equal(cells.length, STORED.length);
  for (const [index, [partCode, description]] of cells.entries()) {
    const line = lines[index]!;
    assert.equal(partCode, line['PART_CODE']);
    assert.ok(isBegunIn(line['DESCRIPTION']!, [description]), JSON.stringify(line['DESCRIPTION']));
  }
  await page
    .getByRole('button', { name: 'Invoice', exact: true })
    .or(page.getByRole('button', { name: 'Approve', exact: true }))
    .last()
    .click();
  await page.getByRole('dialog').waitFor();
  const named = await texts(page.getByRole('dialog').locator('bdi'));
  assert.deepEqual(MARKUP.filter((text) => !isBegunIn(text, named)), []); // prettier-ignore
  await expectOnlyText(page);
});

test('requests: what was sent, as a name or a value, is shown as it is', async (context) => {
  const page = await openStrict(context);
  const short = STORED.filter((text) => text.length <= WHOLE_MAX);
  const asked: [Record<string, string>, string][] = [];
  for (let from = 0; from < short.length; from += 30) {
    const batch = short.slice(from, from + 30);
    const query = Object.fromEntries([
      ...batch.map((text, index) => [`p${index}`, text]),
      ...batch.map((text) => [text, 'x']),
    ]) as Record<string, string>;
    const { headers } = await service.call(shop.keys, 'GET', '/orders/single', {
      query: { orderNum: 'nothing', ...query },
    });
    asked.push([query, headers.get('x-request-id')!]);
  }
  for (const [query, requestID] of asked) {
    await visit(page, `/requests/${requestID}`);
    const rows = await page.getByRole('region', { name: 'Names and values' }).locator('tbody tr').evaluateAll((all) =>
      all.map((row) => [row.cells[0].textContent, row.cells[1].textContent] as [string, string])); // prettier-ignore
    const told = Object.fromEntries(rows);
    for (const [name, value] of Object.entries(query)) assert.equal(told[name], value, name);
  }
  for (const body of [
    Object.fromEntries(MARKUP.map((text) => [text, text])),
    MARKUP.map((value) => ({ field: value, value })),
  ]) {
    const { headers } = await service.call(
      shop.keys,
      Array.isArray(body) ? 'POST' : 'PUT',
      `/orders/${Array.isArray(body) ? 'query' : 'create'}`,
      { body },
    );
    await visit(page, `/requests/${headers.get('x-request-id')}`);
    assert.deepEqual(JSON.parse((await texts(page.getByRole('region', { name: 'Body of the request' })))[0]!), body);
  }
  await visit(page, '/requests');
});

test('names of the team, addresses of users and names of browsers are shown as they are, in settings, audit, users and sessions', async (context) => {
  const agents = MARKUP.filter((text) => /^[ -~]+$/.test(text));
  for (const agent of agents) {
    const visitor = owner.elsewhere();
    const signIn = { teamID: visitor.teamID, email: visitor.email, password: visitor.password };
    assert.equal((await visitor.post('/sign-in', signIn, { 'user-agent': agent })).status, 200);
  }
  const emails = [
    `<img/src=x/onerror=${RUN}>@shop.example`,
    `"><svg/onload=${RUN}>@shop.example`,
    `\${7*7}{{7*7}}'--@shop.example`,
  ];
  for (const email of emails) assert.equal((await owner.post('/users', { email, role: 'viewer' })).status, 200);
  const page = await openStrict(context);
  await visit(page, '/account');
  const named = await page.getByRole('region', { name: 'Your sessions' }).locator('td [title]').evaluateAll((all) => all.map((one) => one.title as string)); // prettier-ignore
  assert.deepEqual(agents.filter((agent) => !named.includes(agent)), []); // prettier-ignore
  await visit(page, '/users');
  const addresses = await texts(page.getByRole('region', { name: 'Users' }).locator('td'));
  assert.deepEqual(emails.filter((email) => !addresses.includes(email)), []); // prettier-ignore

  const names: string[] = [];
  for (const text of STORED.filter((one) => !/\p{Cc}/u.test(one) && one.length < NAME_MAX)) {
    if (names.length > 0 && names.at(-1)!.length + text.length < NAME_MAX) names.push(`${names.pop()}|${text}`);
    else names.push(text);
  }
  for (const name of names.map((text) => text.trim())) {
    const { status, text } = await owner.post('/settings', { name, defaultStage: 'quote', strict: false });
    assert.equal(status, 200, text);
    await page.goto('/dashboard/settings', { waitUntil: 'commit' });
    await page.getByLabel('Name', { exact: true }).waitFor();
    assert.deepEqual(
      [...(await texts(page.locator('.tenant-name'))), await page.getByLabel('Name', { exact: true }).inputValue()],
      [name, name],
    );
    await expectOnlyText(page);
  }
  await visit(page, '/audit');
  const details = await texts(page.getByRole('region', { name: 'Audit log' }).locator('dd'));
  assert.deepEqual(names.filter((name) => !details.some((detail) => detail.includes(name.trim()))), []); // prettier-ignore
  for (const path of ['/fields', '/explorer', '/usage', '/api-settings']) await visit(page, path);
});

test('what an address says is shown as it is, and leads nowhere else', async (context) => {
  const page = await openStrict(context);
  const short = STORED.filter((text) => text.length <= WHOLE_MAX && !/[\r\n]/.test(text)); // a field of one line takes line breaks away
  for (let from = 0; from < short.length; from += 50) {
    const batch = short.slice(from, from + 50);
    const filters = batch.map((text, index) => ['filter', `${index === 0 ? 'and' : 'or'}.exact.NOTES.${text}`]);
    await visit(page, `/records/orders?${new URLSearchParams(filters).toString()}`);
    const values = await page
      .getByLabel(/^Value of filter/)
      .evaluateAll((fields) => fields.map((field) => field.value as string));
    assert.deepEqual(values, batch);
  }
  for (const path of [
    pathOf('orders', MARKUP[1]!),
    pathOf('customers', `${MARKUP[0]}!`),
    `/requests/${encodeURIComponent(MARKUP[1]!)}`,
  ])
    await visit(page, path);
  const stranger = await openAt(context, service, new Visitor(service, 'shop', 'nobody@shop.example'));
  for (const next of [
    'javascript:window.broken=1',
    '//evil.example/x',
    'https://evil.example',
    '/\\evil.example',
    MARKUP[1]!,
  ]) {
    await stranger.goto(`/dashboard/sign-in?${new URLSearchParams({ next, team: MARKUP[1]! }).toString()}`);
    await stranger.getByLabel('Team', { exact: true }).waitFor();
    await expectOnlyText(stranger);
  }
  await stranger.getByLabel('Team', { exact: true }).fill('shop');
  await stranger.getByLabel('E-mail address').fill(owner.email);
  await stranger.getByLabel('Password', { exact: true }).fill(owner.password);
  await stranger.goto(`/dashboard/sign-in?next=${encodeURIComponent('/\\evil.example')}`);
  await stranger.getByLabel('Team', { exact: true }).fill('shop');
  await stranger.getByLabel('E-mail address').fill(owner.email);
  await stranger.getByLabel('Password', { exact: true }).fill(owner.password);
  await stranger.getByRole('button', { name: 'Sign in', exact: true }).click();
  await stranger.getByRole('heading', { level: 1 }).filter({ hasNotText: 'Sign in' }).waitFor();
  assert.equal(new URL(stranger.url()).origin, service.origin);
});
