/**
 * Tests the lists of records in a browser: views with the counts of the API, sorting, ranges, CSV files, approving
 * several orders at once, cards on a phone, and the place that Back returns to.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { times } from '../kit/lists.ts';
import { Shop, succeed, valuesOf, type Filters, type Values } from '../kit/records.ts';
import { arrive, button, goByMenu, openAs, region, shownCells } from './at-pages.ts';
import { checkAxe, checkWidth, goTo, waitUntilLoaded } from './browser.ts';
import { openScene } from './scene.ts';
import { expectOk, Visitor } from './visitor.ts';

const ORDERS = 70;
const service = await openScene();
const shop = await Shop.open(service, 'lists');
const owner = await Visitor.make(service, 'lists', 'owner');
const clerk = await owner.add('clerk');
const STAGES = ['quote', 'sales_order', 'worksheet', 'invoice', 'sales_order'];
await shop.load(
  'orders',
  times(ORDERS, (index) => ({
    ORDER_NUMBER: String(20_001 + index),
    ORDER_TYPE: STAGES[index % STAGES.length]!,
    REFERENCE_NUMBER: `#${5000 + index}`,
    CUSTOMER_CODE: `C-${index}`,
    BNAME: index === 3 ? '=HYPERLINK("http://evil.example")' : `Buyer ${index % 9}`,
    ORDER_DATE: `0${1 + (index % 9)}/15/2026`,
    ORDER_STATUS: index % 10 === 0 ? 'CANCELLED' : 'NEW',
    ORDER_TOTAL: `${1000 + index}.5`,
  })),
);
await shop.load('inventory', [
  { PART_CODE: 'LAMP', PART_DESCRIPTION: 'Desk lamp', QTY_ONHAND: '2', UNIT_PRICE: '40' },
  { PART_CODE: 'CHAIR', PART_DESCRIPTION: 'Steel chair', QTY_ONHAND: '9', UNIT_PRICE: '120' },
]);

/** Creates a sales order for five lamps; two are in stock. */
async function orderLamps(more: Values = {}): Promise<string> {
  const ORDER_NUMBER = await succeed<string>(shop.createOrder({ ORDER_TYPE: 'sales_order', ...more }));
  await succeed(shop.addLineItem({ ORDER_NUMBER, PART_CODE: 'LAMP', QUANTITY: '5' }));
  return ORDER_NUMBER;
}
const numbersIn = async (page: Page): Promise<string[]> =>
  (await shownCells(region(page, 'Orders').getByRole('table'))).map(([number = '']) => number);
const listed = async (filters: Filters, sort = '-CREATE_DATE', maxReturn = '50'): Promise<string[]> =>
  valuesOf(await succeed<Values[]>(shop.queryOrders(filters, { sort, maxReturn })), 'ORDER_NUMBER');
const views = (page: Page) => page.getByRole('navigation', { name: 'Views' });

const ofStage = (stage: string, closed = 'CANCELLED'): Filters => [
  { field: 'ORDER_TYPE', value: stage },
  { field: 'ORDER_STATUS', op: 'ne', value: closed },
];
const VIEWS: Readonly<Record<string, Filters>> = {
  All: [],
  Open: ofStage('sales_order'),
  Quotes: ofStage('quote'),
  Drafts: ofStage('worksheet'),
  Backorders: [...ofStage('sales_order'), { field: 'BACKORDER_OF', op: 'not_empty' }],
  Invoiced: ofStage('invoice', 'VOID'),
  Returns: [...ofStage('invoice', 'VOID'), { field: 'RETURN_OF', op: 'not_empty' }],
  Cancelled: [{ field: 'ORDER_STATUS', op: 'in', value: ['CANCELLED', 'VOID'] }],
};

test('each view has the same count and rows as the API', async (context) => {
  const page = await openAs(context, service, clerk);
  for (const [name, filters] of Object.entries(VIEWS)) {
    const { length } = await listed(filters, '-CREATE_DATE', '500');
    await views(page)
      .getByRole('link', { name: `${name} ${length}`, exact: true })
      .click();
    await page.locator('.page-title').getByText(String(length), { exact: true }).waitFor();
    await waitUntilLoaded(page);
    assert.deepEqual(await numbersIn(page), await listed(filters), name);
  }
  await checkAxe(page);
});

test('the rest of a partial invoice is among the backorders until it is invoiced, and a return among the returns', async (context) => {
  const ORDER_NUMBER = await orderLamps();
  const invoiced = await expectOk(clerk.invoice(ORDER_NUMBER, { quantities: { 1: '2' } }));
  const { BACKORDER_NUMBER: backorder } = invoiced.body.data as { BACKORDER_NUMBER: string };
  const page = await openAs(context, service, clerk);
  const shows = async (name: string, ...numbers: string[]): Promise<void> => {
    await page.reload();
    await views(page)
      .getByRole('link', { name: `${name} ${numbers.length}`, exact: true })
      .click();
    await page.locator('.page-title').getByText(String(numbers.length), { exact: true }).waitFor();
    assert.deepEqual(await numbersIn(page), numbers);
  };
  await shows('Backorders', backorder);
  await expectOk(clerk.invoice(backorder));
  await page.reload();
  await views(page).getByRole('link', { name: 'Backorders 0', exact: true }).waitFor();
  const { orderNumber } = await shop.run('order', 'return', shop.keys.teamID, backorder, '--line', '1=1');
  await shows('Returns', orderNumber!);
});

test('column heads sort by every indexed field, and a range of dates filters by label', async (context) => {
  const page = await openAs(context, service, clerk);
  await button(page, 'Customer name').waitFor({ state: 'detached' }); // BNAME of an order has no index
  for (const [head, sort] of [
    ['Storefront number', 'REFERENCE_NUMBER'],
    ['Storefront number', '-REFERENCE_NUMBER'],
    ['Order date', 'ORDER_DATE'],
  ] as const) {
    await button(region(page, 'Orders'), head).click();
    await page.waitForURL((url) => url.searchParams.get('sort') === sort);
    await waitUntilLoaded(page);
    assert.deepEqual(await numbersIn(page), await listed([], sort), sort);
  }
  await button(page, 'Add filter').click();
  await page.getByLabel('Field of filter 1').fill('order date');
  await page.getByLabel('Match of filter 1').selectOption('is between');
  await page.getByLabel('Value of filter 1, from').fill('2026-03-01');
  await page.getByLabel('Value of filter 1, to').fill('2026-04-30');
  await button(page, 'Apply filters').click();
  const wanted = await listed(
    [
      { field: 'ORDER_DATE', op: 'ge', value: '2026-03-01' },
      { field: 'ORDER_DATE', op: 'le', value: '2026-04-30' },
    ],
    'ORDER_DATE',
  );
  assert.ok(wanted.length > 5);
  await page.getByText(`${wanted.length} records`, { exact: true }).waitFor();
  assert.deepEqual(await numbersIn(page), wanted);
  await page.getByLabel('Field of filter 1').fill('CUSTOMER_NAME');
  await page.getByLabel('Match of filter 1').selectOption('contains');
  await page.getByLabel('Value of filter 1').fill('Buyer');
  await button(page, 'Apply filters').click();
  await page.getByText('Customer names are in BNAME').waitFor();
  await button(page, 'Use BNAME').click();
  await page.getByText('Page 1 · 50 records').waitFor();
});

test('the CSV has every record of the query with the columns that are shown, and no formula', async (context) => {
  const page = await openAs(context, service, clerk);
  await goTo(page, '/records/orders?filter=and.exact.ORDER_TYPE.invoice&sort=ORDER_NUMBER');
  const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Export CSV').click()]);
  assert.equal(download.suggestedFilename(), 'storeroom-orders.csv');
  const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n');
  const columns = 'ORDER_NUMBER,ORDER_DATE,REFERENCE_NUMBER,BNAME,ORDER_TYPE,ORDER_TOTAL';
  assert.equal(lines.shift(), columns);
  const wanted = await listed([{ field: 'ORDER_TYPE', value: 'invoice' }], 'ORDER_NUMBER', '500');
  assert.deepEqual(
    lines.map((line) => line.split(',')[0]),
    wanted,
  );
  assert.ok(lines.some((line) => line.includes(`"'=HYPERLINK(""http://evil.example"")"`)));
});

test('selected orders are approved one after the other, each with its result', async (context) => {
  const quote = await succeed<string>(shop.createOrder({ ORDER_TYPE: 'quote' }));
  const open = await orderLamps();
  const page = await openAs(context, service, clerk);
  for (const number of [quote, open]) await page.getByLabel(`Select order ${number}`).check();
  await button(page, 'Approve selected').click();
  await button(page.getByRole('dialog'), 'Approve').click();
  await page.getByText('1 of 2 orders changed').waitFor();
  await page.getByText(`${quote}: done`).waitFor();
  await page
    .getByText(/is already/)
    .or(page.getByText(/sales order\./))
    .first()
    .waitFor();
  assert.equal((await succeed(shop.getOrder(quote)))['ORDER_TYPE'], 'sales_order');
  const viewer = await openAs(context, service, await owner.add('viewer'));
  assert.equal(await viewer.getByRole('checkbox').count(), 0, 'a viewer selects nothing');
});

test('a view is saved with its filters, sort order and columns, and deleted', async (context) => {
  const page = await openAs(context, service, clerk);
  await goTo(page, '/records/orders?filter=and.contains.BNAME.Buyer%205&sort=ORDER_NUMBER');
  await button(page, 'Save view').click();
  await page.getByLabel('Name', { exact: true }).fill('Fives');
  await button(page, 'Save').click();
  await goByMenu(page, 'Orders');
  await views(page).getByRole('link', { name: 'Fives' }).click();
  await page.waitForURL((url) => url.searchParams.get('sort') === 'ORDER_NUMBER');
  const wanted = await listed([{ field: 'BNAME', op: 'contains', value: 'Buyer 5' }], 'ORDER_NUMBER');
  await page.getByText(`${wanted.length} records`, { exact: true }).waitFor();
  assert.deepEqual(await numbersIn(page), wanted);
  await button(page, 'Delete the view Fives').click();
  assert.equal(await views(page).getByText('Fives').count(), 0);
});

test('Back returns to the same place in the list', async (context) => {
  const page = await openAs(context, service, clerk);
  const list = region(page, 'Orders');
  const top = (): Promise<number> => list.evaluate((element) => element.scrollTop);
  const [number = ''] = (await numbersIn(page)).slice(-3);
  await list.getByRole('link', { name: number, exact: true }).scrollIntoViewIfNeeded();
  const before = await top();
  assert.ok(before > 100);
  await list.getByRole('link', { name: number, exact: true }).click();
  await arrive(page, `Order ${number}`);
  await page.goBack();
  await list.getByRole('link', { name: number, exact: true }).waitFor();
  assert.equal(await top(), before);
});

test('on a phone each record is a card that fits, with its whole number, name and total', async (context) => {
  const page = await openAs(context, service, clerk);
  await page.setViewportSize({ width: 390, height: 844 });
  for (const [kind, texts] of [
    ['orders', ['Buyer 6', '1,069.50', 'Sales order']],
    ['inventory', ['Desk lamp', '40.00']],
  ] as const) {
    await goTo(page, `/records/${kind}`);
    await checkWidth(page);
    await checkAxe(page);
    for (const text of texts) {
      const box = (await page.locator('.table').getByText(text, { exact: true }).first().boundingBox())!;
      assert.ok(box.x >= 0 && box.x + box.width <= 390, text);
    }
  }
});

test('an open menu on a phone closes when the phone is turned, and the page can be used', async (context) => {
  const page = await openAs(context, service, clerk);
  await page.setViewportSize({ width: 390, height: 844 });
  await goTo(page, '/records/orders');
  await button(page, 'Menu').click();
  await page.locator('main[inert]').waitFor();
  await page.setViewportSize({ width: 844, height: 390 });
  await page.locator('main:not([inert])').waitFor();
  await page.getByRole('link', { name: 'Quotes' }).click();
  await page.waitForURL(/filter=/);
});
