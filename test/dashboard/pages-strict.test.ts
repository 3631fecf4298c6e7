/**
 * Tests that all data stays text: strings that break programs and markup that would run a script are stored in every
 * text field and shown by every page. A script, dialog, policy violation or element from the data fails the test.
 */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { cellsOf } from '../kit/lists.ts';
import { NAUGHTY } from '../kit/naughty-strings.ts';
import { Shop, succeed, valuesOf, type Values } from '../kit/records.ts';
import type { CallOptions } from '../kit/service.ts';
import { IS_THOROUGH } from '../kit/trials.ts';
import { button, field, openAs, openAt, region } from './at-pages.ts';
import { sendSignIn } from './browser.ts';
import { openScene } from './scene.ts';
import { expectOk, Visitor } from './visitor.ts';

const RUN = 'window.broken=1';
/** Each text would set the flag, call another server or take over the page if the page treated it as markup. */
const ALL_MARKUP: readonly string[] = [
  `<script>${RUN}</script>`, `<img src=x onerror=${RUN}>`, `"><svg onload=${RUN}>`, `'><img src=x onerror='${RUN}'>`,
  `</textarea><img src=x onerror=${RUN}>`, `</title><script>${RUN}</script>`, `javascript:${RUN}`,
  `<iframe srcdoc="<script>parent.broken=1</script>">`, `<template><img src=x onerror=${RUN}></template>`,
  `<a href="javascript:${RUN}">x</a>`, `{{constructor.constructor('${RUN}')()}}`, '${' + RUN + '}',
  `<math><mtext><mglyph><style><img src=x onerror=${RUN}>`, `<form id=innerHTML><input name=createElement>`,
  '<base href=//evil.example>', '<meta http-equiv=refresh content="0;url=//evil.example">',
  '<link rel=stylesheet href=//evil.example/x.css>', '<style>@import url(//evil.example)</style>',
  `<!--><img src=x onerror=${RUN}>-->`, `&lt;script&gt;${RUN}`, `<details open ontoggle=${RUN}>`,
  `\u2028<b onmouseover=${RUN} style="position:fixed;inset:0">`, `data:text/html,<script>${RUN}</script>`,
]; // prettier-ignore
const MARKUP = IS_THOROUGH ? ALL_MARKUP : ALL_MARKUP.slice(0, 9);
const STORED = [
  ...NAUGHTY.filter((text) => text !== '' && text.isWellFormed() && !text.includes('\0') && text.length <= 8192).filter(
    (_, place) => IS_THOROUGH || place % 16 === 0,
  ),
  ...MARKUP,
];
/** Length from which a page shows only the beginning of a text, until the user asks for the rest. */
const WHOLE_MAX = 160;
const NAME_MAX = 200;
const PAGE_ROWS = 50;
const NOTHING_OF_DATA = [
  'iframe, img, object, embed, base, form[id], style, link[href^="//"], meta[http-equiv], marquee, [onerror], [onload]',
  '[ontoggle], [onmouseover], a[href^="javascript:"], main script, b, svg[onload], math',
].join();

/** Makes a record for each string. Fields of a record have different strings; together, each field has every string. */
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
for (const recordType of ['orders', 'lines', 'customers', 'inventory'])
  await owner.ask('POST /fields', { recordType, name: 'OF_OUR_OWN', type: 'text' });
const { fields } = await owner.ask('GET /fields');
const textFields: Record<string, string[]> = {};
const keys = ['ORDER_NUMBER', 'ORDER_TYPE', 'LINE_REF_LOCK_CODE'];
for (const [recordType, all] of Object.entries(fields)) {
  const own = all.filter(({ name, type, assigned }) => type === 'text' && !assigned && !keys.includes(name));
  textFields[recordType] = valuesOf(own, 'name');
}
await inBatches(recordsOf(textFields['orders']!, STORED), async (order) => succeed(shop.createOrder(order)));
const ofCustomers = textFields['customers']!.filter((name) => name !== 'CUSTOMER_CODE');
await inBatches(recordsOf(ofCustomers, STORED), async (customer) => succeed(shop.createCustomer(customer)));
for (const CUSTOMER_CODE of MARKUP) await succeed(shop.createCustomer({ CUSTOMER_CODE, CUSTOMER_NAME: CUSTOMER_CODE }));
const onOneLine = STORED.filter((text) => !/\p{Cc}/u.test(text) && text.trim() === text && text.length <= 256);
await shop.load('inventory', recordsOf(textFields['inventory']!, onOneLine)); // an import trims cells
const lined = await succeed<string>(shop.createOrder({ REFERENCE_NUMBER: MARKUP[1]!, TRACKING_NUMBERS: MARKUP[2]! }));
await inBatches(recordsOf(textFields['lines']!, STORED), async (line) =>
  succeed(shop.addLineItem({ ...line, ORDER_NUMBER: lined, QUANTITY: '9' })),
);

/** Opens a page. A dialog fails the test at its end, as policy violations and calls of other servers always do. */
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
  const found = await page.locator(NOTHING_OF_DATA).evaluateAll((all) => all.map((one) => one.outerHTML as string));
  assert.deepEqual(found, [], page.url());
}
const visit = async (page: Page, path: string): Promise<void> => {
  await page.goto(`/dashboard${path}`, { waitUntil: 'commit' });
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.locator('.skeleton, main [aria-busy=true]').first().waitFor({ state: 'detached' });
  await expectOnlyText(page);
};
const texts = (found: Locator): Promise<string[]> =>
  found.evaluateAll((all) => all.map((one) => one.textContent as string));
const without = (all: readonly string[], isThere: (text: string) => boolean): string[] =>
  all.filter((text) => !isThere(text));
const isBegunIn = (text: string, shown: readonly string[]): boolean =>
  shown.some((one) => one.includes(text)) ||
  (text.length > WHOLE_MAX && shown.some((one) => one.endsWith('…') && text.startsWith(one.slice(0, -1))));
/** Returns the text of each cell in these rows. */
const textsOfCells = (rows: Locator): Promise<string[][]> =>
  rows.evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent as string)));
const pathOf = (kind: string, key: string): string => `/records/${kind}/${encodeURIComponent(key)}`;

const LISTS = [
  ['orders', 'ORDER_NUMBER', 'queryOrders'],
  ['customers', 'CUSTOMER_CODE', 'queryCustomers'],
  ['inventory', 'PART_CODE', 'queryInventoryItems'],
] as const;

// The same code shows all three lists, so `npm test` checks one of them.
for (const [kind, key, query] of IS_THOROUGH ? LISTS : LISTS.slice(0, 1))
  test(`${kind}: every string in every text field is shown unchanged, in the list and on its page`, async (context) => {
    const page = await openStrict(context);
    const columns = [key, ...textFields[kind]!.filter((name) => name !== key)];
    const stored = JSON.stringify(JSON.stringify(columns));
    await page.evaluate(`localStorage.setItem('storeroom.columns.${kind}', ${stored})`);
    const records = await succeed<Values[]>(shop[query]([], kind === 'orders' ? { sort: '-CREATE_DATE' } : {}));
    const isIn = (text: string) => records.some((record) => Object.values(record).includes(text));
    const wanted = STORED.filter((text) => kind !== 'inventory' || isIn(text));
    assert.ok(wanted.length > MARKUP.length);
    for (const name of columns.slice(1))
      assert.deepEqual(
        without(wanted, (text) => records.some((record) => record[name] === text)),
        [],
        name,
      );

    await visit(page, `/records/${kind}`);
    const shown: string[][] = [];
    const pages = Math.ceil(records.length / PAGE_ROWS);
    for (let number = 1; number <= pages; number++) {
      if (number > 1) await page.getByRole('button', { name: 'Next', exact: true }).click();
      if (pages > 1) await page.getByText(`Page ${number} · `).waitFor();
      await page.locator('.table.is-loading').waitFor({ state: 'detached' });
      shown.push(...(await textsOfCells(page.locator('tbody tr'))));
      await expectOnlyText(page);
    }
    // A row of an order has the customer's code below the name, and a last cell with a check box.
    const selected = kind === 'orders' ? [''] : [];
    const named = records.map((record) =>
      kind === 'orders' ? { ...record, BNAME: `${record['BNAME']}${record['CUSTOMER_CODE']}` } : record,
    );
    assert.deepEqual(
      shown,
      named.map((record) => [...cellsOf(record, columns.join(' ')), ...selected]),
    );

    const seen = new Set<string>();
    for (const start of [' ', ...MARKUP].filter((text) => wanted.includes(text))) {
      if (seen.has(start)) continue;
      const record = records.find((one) => one[columns[1]!] === start)!;
      await visit(page, pathOf(kind, record[key]!));
      const parts = await texts(page.locator('main bdi, main dd code, main h1'));
      for (const text of Object.values(record)) if (isBegunIn(text, parts)) seen.add(text);
      const more = page.getByRole('button', { name: /^Show all/ });
      await more.evaluateAll((buttons) => buttons.forEach((one) => one.click()));
      await expectOnlyText(page);
    }
    assert.deepEqual(
      without(MARKUP, (text) => seen.has(text) || !wanted.includes(text)),
      [],
    );
  });

test('lines: every string is shown unchanged in the lines and in the form that invoices them', async (context) => {
  const page = await openStrict(context);
  const lines = await shop.lines(lined);
  await visit(page, pathOf('orders', lined));
  const rows = region(page, 'Lines of the order').locator('tbody tr');
  const cells = await rows.evaluateAll((all) =>
    all.map(({ cells: [, part, about] }) => [
      part.textContent as string,
      about.querySelector('bdi').textContent as string,
    ]),
  );
  assert.equal(cells.length, STORED.length);
  for (const [index, [partCode, description = '']] of cells.entries()) {
    const line = lines[index]!;
    assert.equal(partCode, line['PART_CODE']);
    assert.ok(isBegunIn(line['DESCRIPTION']!, [description]), JSON.stringify(line['DESCRIPTION']));
  }
  await button(page, 'Invoice').or(button(page, 'Approve')).last().click();
  await page.getByRole('dialog').waitFor();
  const named = await texts(page.getByRole('dialog').locator('bdi'));
  assert.deepEqual(
    without(MARKUP, (text) => isBegunIn(text, named)),
    [],
  );
  await expectOnlyText(page);
});

/** Bytes of a query that fit into a line of the request log. */
const LOGGED_BYTES = 500;
/** Returns the bytes that a text needs in the log when it is sent both as a value and as a name. */
const bytesOf = (text: string): number => 2 * Buffer.byteLength(JSON.stringify(text)) + 12;
function countFitting(all: readonly string[]): number {
  let room = LOGGED_BYTES;
  const beyond = all.findIndex((text) => (room -= bytesOf(text)) < 0);
  return beyond < 0 ? all.length : beyond;
}

test('requests: sent names and values are shown unchanged', async (context) => {
  const page = await openStrict(context);
  // The log keeps no parameter whose name looks like a secret's.
  const short = STORED.filter((text) => bytesOf(text) <= LOGGED_BYTES / 2 && !/passw/i.test(text));
  const asked: [Record<string, string>, string][] = [];
  const idOf = async (method: string, path: string, options: CallOptions): Promise<string> =>
    (await service.call(shop.keys, method, `/orders/${path}`, options)).headers.get('x-request-id')!;
  for (let rest = short; rest.length > 0;) {
    const batch = rest.slice(0, Math.max(1, countFitting(rest)));
    rest = rest.slice(batch.length);
    const values = batch.map((text, index) => [`p${index}`, text]);
    const names = batch.map((text) => [text, 'x']);
    const query = Object.fromEntries([...values, ...names]) as Record<string, string>;
    asked.push([query, await idOf('GET', 'single', { query: { orderNum: 'nothing', ...query } })]);
  }
  for (const [query, requestID] of asked) {
    await visit(page, `/requests/${requestID}`);
    const told = Object.fromEntries(await textsOfCells(region(page, 'Names and values').locator('tbody tr'))) as Values;
    for (const [name, value] of Object.entries(query)) assert.equal(told[name], value, name);
  }
  for (let from = 0; from < MARKUP.length; from += 6) {
    const some = MARKUP.slice(from, from + 6);
    for (const [method, path, body] of [
      ['PUT', 'create', Object.fromEntries(some.map((text) => [text, text]))],
      ['POST', 'query', some.map((value) => ({ field: value, value }))],
    ] as const) {
      await visit(page, `/requests/${await idOf(method, path, { body })}`);
      assert.deepEqual(JSON.parse((await texts(region(page, 'Body of the request')))[0]!), body);
    }
  }
  await visit(page, '/requests');
});

test('names of the team, addresses of users and names of browsers are shown unchanged', async (context) => {
  const agents = MARKUP.filter((text) => /^[ -~]+$/.test(text));
  for (const agent of agents) {
    const { teamID, email, password } = owner;
    await expectOk(owner.elsewhere().post('/sign-in', { teamID, email, password }, { 'user-agent': agent }));
  }
  const emails = [
    `<img/src=x/onerror=${RUN}>@shop.example`,
    `"><svg/onload=${RUN}>@shop.example`,
    `\${7*7}{{7*7}}'--@shop.example`,
  ];
  for (const email of emails) await owner.ask('POST /users', { email, role: 'viewer' });
  const page = await openStrict(context);
  await visit(page, '/account');
  const titled = region(page, 'Your sessions').locator('td [title]');
  const named = await titled.evaluateAll((all) => all.map((one) => one.title as string));
  assert.deepEqual(
    without(agents, (agent) => named.includes(agent)),
    [],
  );
  await visit(page, '/users');
  const addresses = await texts(region(page, 'Users').locator('td'));
  assert.deepEqual(
    without(emails, (email) => addresses.includes(email)),
    [],
  );

  const names: string[] = [];
  for (const text of STORED.filter((one) => !/\p{Cc}/u.test(one) && one.length < NAME_MAX)) {
    if (names.length > 0 && names.at(-1)!.length + text.length < NAME_MAX) names.push(`${names.pop()}|${text}`);
    else names.push(text);
  }
  for (const name of names.map((text) => text.trim())) {
    await owner.ask('POST /settings', { name, defaultStage: 'quote', strict: false });
    await page.goto('/dashboard/settings', { waitUntil: 'commit' });
    await field(page, 'Name').waitFor();
    const shown = [...(await texts(page.locator('.tenant-name'))), await field(page, 'Name').inputValue()];
    assert.deepEqual(shown, [name, name]);
    await expectOnlyText(page);
  }
  await visit(page, '/audit');
  const details = await texts(region(page, 'Audit log').locator('dd'));
  assert.deepEqual(
    without(names, (name) => details.some((detail) => detail.includes(name.trim()))),
    [],
  );
  for (const path of ['/fields', '/explorer', '/usage', '/api-settings']) await visit(page, path);
});

test('texts in an address are shown unchanged, and lead to no other site', async (context) => {
  const page = await openStrict(context);
  // An input field of one line removes line breaks.
  const short = STORED.filter((text) => text.length <= WHOLE_MAX && !/[\r\n]/.test(text));
  for (let from = 0; from < short.length; from += 50) {
    const batch = short.slice(from, from + 50);
    const filters = batch.map((text, index) => ['filter', `${index === 0 ? 'and' : 'or'}.exact.NOTES.${text}`]);
    await visit(page, `/records/orders?${new URLSearchParams(filters).toString()}`);
    const shown = page.getByLabel(/^Value of filter/);
    const values = await shown.evaluateAll((all) => all.map((one) => one.value as string));
    assert.deepEqual(values, batch);
  }
  const request = `/requests/${encodeURIComponent(MARKUP[1]!)}`;
  for (const path of [pathOf('orders', MARKUP[1]!), pathOf('customers', `${MARKUP[0]}!`), request])
    await visit(page, path);
  const stranger = await openAt(context, service, new Visitor(service, 'shop', 'nobody@shop.example'));
  const elsewhere = ['//evil.example/x', 'https://evil.example', '/\\evil.example', 'javascript:window.broken=1'];
  for (const next of [...elsewhere, MARKUP[1]!]) {
    await stranger.goto(`/dashboard/sign-in?${new URLSearchParams({ next, team: MARKUP[1]! }).toString()}`);
    await field(stranger, 'Team').waitFor();
    await expectOnlyText(stranger);
  }
  await stranger.goto(`/dashboard/sign-in?next=${encodeURIComponent('/\\evil.example')}`);
  await sendSignIn(stranger, owner);
  await stranger.getByRole('heading', { level: 1 }).filter({ hasNotText: 'Sign in' }).waitFor();
  assert.equal(new URL(stranger.url()).origin, service.origin);
});
