/**
 * Tests records in a browser: finding, filtering and paging give the results of the API, and the curl command that the
 * page shows works. An order approved and invoiced in part then looks the same in the API, in stock and on the page.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { Shop, succeed, valuesOf, type Filters, type Values } from '../kit/records.ts';
import { times } from '../kit/lists.ts';
import { arrive, button, copy, figureOf, openAs, paste, region, shownCells } from './at-pages.ts';
import { until } from '../kit/wait.ts';
import { goTo, waitUntilLoaded } from './browser.ts';
import { openScene } from './scene.ts';
import { Visitor } from './visitor.ts';

const ORDERS = 120;
const PAGE_SIZE = 50;
const numberOf = (index: number): string => String(10_001 + index);

const service = await openScene();
const shop = await Shop.open(service, 'shop');
const owner = await Visitor.make(service, 'shop', 'owner');
const viewer = await owner.add('viewer');
const orders = times(ORDERS, (index) => ({
  ORDER_NUMBER: numberOf(index),
  ORDER_TYPE: 'quote',
  REFERENCE_NUMBER: `#${1000 + index}`,
  SHIP_VIA: index % 7 === 0 ? 'Federal Shipping' : 'United Package',
  CUSTOMER_CODE: index % 11 === 0 ? 'VINET' : 'TOMSP',
}));
await shop.load('orders', orders);
const parts = ['APPROVED', 'PHONE', 'REFUSED'].map((PART_CODE) => ({ PART_CODE, QTY_ONHAND: '9', SERIALIZED: 'Y' }));
await shop.load('inventory', parts);

/** The sort order of the list. */
const NEWEST = { sort: '-CREATE_DATE' };

const numbersIn = (page: Page): Promise<string[]> =>
  region(page, 'Orders').getByRole('row').getByRole('link').allInnerTexts();
/** Returns the texts of the cells of the first row that has a cell with this name. */
async function rowOf(page: Page, table: string, first: string): Promise<string[]> {
  const row = region(page, table)
    .getByRole('row')
    .filter({ has: page.getByRole('cell', { name: first }) });
  const texts = await row.first().getByRole('cell').allInnerTexts();
  return texts.map((text) => text.replaceAll(/\s+/g, ' ').trim());
}
async function stockOf(partCode: string): Promise<[onHand: string, committed: string]> {
  const { QTY_ONHAND = '', QTY_COMMITTED = '' } = await succeed(shop.getInventoryItem(partCode));
  return [QTY_ONHAND, QTY_COMMITTED];
}
/** Creates an order for five units of a part, with a care plan for each unit. */
async function makeOrder(partCode: string, ORDER_TYPE: string, REFERENCE_NUMBER: string): Promise<string> {
  const ORDER_NUMBER = await succeed<string>(shop.createOrder({ ORDER_TYPE, REFERENCE_NUMBER }));
  await succeed(shop.addLineItem({ ORDER_NUMBER, PART_CODE: partCode, QUANTITY: '5', UNIT_PRICE: '100' }));
  await succeed(shop.addLineItem({ ORDER_NUMBER, PART_CODE: `CARE-${partCode}`, QUANTITY: '5', CARE_PLAN: 'Y' }));
  return ORDER_NUMBER;
}
const openOrder = (page: Page, number: string): Promise<void> => goTo(page, `/records/orders/${number}`);

async function fillFilter(page: Page, number: number, field: string, match: string, value: string): Promise<void> {
  await button(page, 'Add filter').click();
  await page.getByLabel(`Field of filter ${number}`).fill(field);
  await page.getByLabel(`Match of filter ${number}`).selectOption(match);
  if (value !== '') await page.getByLabel(`Value of filter ${number}`).fill(value);
}

test('a filter of two conditions shows the result of the API, and the shown call runs unchanged', async (context) => {
  const page = await openAs(context, service, viewer);
  await fillFilter(page, 1, 'ship_via', 'contains', 'FEDERAL');
  await fillFilter(page, 2, 'CUSTOMER_CODE', 'is exactly', 'VINET');
  await page.getByLabel('Conjunction of filter 2').selectOption('OR');
  await button(page, 'Apply filters').click();
  const filters: Filters = [
    { field: 'SHIP_VIA', value: 'federal', contains: true },
    { field: 'CUSTOMER_CODE', value: 'VINET', conjunction: 'OR' },
  ];
  const wanted = await succeed<Values[]>(shop.queryOrders(filters, NEWEST));
  const meant = [...orders.keys()].filter((index) => index % 7 === 0 || index % 11 === 0);
  assert.deepEqual(valuesOf(wanted, 'ORDER_NUMBER'), meant.map(numberOf).toReversed());
  await page.getByText(`${wanted.length} records`, { exact: true }).waitFor();
  assert.deepEqual(await numbersIn(page), valuesOf(wanted, 'ORDER_NUMBER'));

  await page.getByText('API call', { exact: true }).click();
  await page.getByRole('tab', { name: 'curl' }).click();
  const printed = JSON.parse(await paste(await copy(page, button(page, 'Copy curl')), shop.keys)) as { data: Values[] };
  assert.deepEqual(printed.data, wanted);

  await page.reload();
  await waitUntilLoaded(page);
  assert.deepEqual(await numbersIn(page), valuesOf(wanted, 'ORDER_NUMBER'));
  await page.getByLabel('Conjunction of filter 2').selectOption('AND');
  await button(page, 'Apply filters').click();
  await page.getByText('2 records', { exact: true }).waitFor();
  assert.deepEqual(await numbersIn(page), [numberOf(77), numberOf(0)]);
  await page.goBack();
  await page.getByText(`${wanted.length} records`, { exact: true }).waitFor();
});

test('every operator of the API is in the form, and the list shows the result of the API for it', async (context) => {
  const page = await openAs(context, service, viewer);
  const [first, last] = [numberOf(3), numberOf(20)];
  const cases: [label: string, value: string, filter: object][] = [
    ['is not', first, { op: 'ne', value: first }],
    ['is one of', `${first}, ${last}`, { op: 'in', value: [first, last] }],
    ['is less than', first, { op: 'lt', value: first }],
    ['is at most', first, { op: 'le', value: first }],
    ['is more than', last, { op: 'gt', value: last }],
    ['is at least', last, { op: 'ge', value: last }],
    ['starts with', first.slice(0, -1), { op: 'starts_with', value: first.slice(0, -1) }],
    ['is empty', '', { op: 'empty' }],
    ['is not empty', '', { op: 'not_empty' }],
  ];
  await button(page, 'Add filter').click();
  await page.getByLabel('Field of filter 1').fill('ORDER_NUMBER');
  for (const [label, value, filter] of cases) {
    await page.getByLabel('Match of filter 1').selectOption(label);
    const values = page.getByLabel('Value of filter 1');
    assert.equal(await values.count(), value === '' ? 0 : 1, label);
    if (value !== '') await values.fill(value);
    await button(page, 'Apply filters').click();
    const asked = [{ field: 'ORDER_NUMBER', ...filter }] as Filters;
    const wanted = await succeed<Values[]>(shop.queryOrders(asked, { maxReturn: String(PAGE_SIZE), ...NEWEST }));
    const numbers = valuesOf(wanted, 'ORDER_NUMBER').join();
    await until(async () => (await numbersIn(page)).join() === numbers);
  }
});

test('paging shows every order once, and goes back with the button and with Back', async (context) => {
  const page = await openAs(context, service, viewer);
  const expectPage = async (number: number, length: number): Promise<string[]> => {
    await page.getByText(`Page ${number} · ${length} records`, { exact: true }).waitFor();
    return numbersIn(page);
  };
  const next = async (): Promise<void> => button(page, 'Next').click();
  const pages = [await expectPage(1, PAGE_SIZE)];
  await next();
  pages.push(await expectPage(2, PAGE_SIZE));
  await next();
  const all = valuesOf(await succeed<Values[]>(shop.queryOrders([], NEWEST)), 'ORDER_NUMBER');
  pages.push(await expectPage(3, all.length - 2 * PAGE_SIZE));
  assert.deepEqual(pages.flat(), all);
  assert.ok(await button(page, 'Next').isDisabled());
  await button(page, 'Previous').click();
  assert.deepEqual(await expectPage(2, PAGE_SIZE), pages[1]);
  await page.reload();
  assert.deepEqual(await expectPage(2, PAGE_SIZE), pages[1]);
  await button(page, 'Previous').click();
  assert.deepEqual(await expectPage(1, PAGE_SIZE), pages[0]);
  await page.goBack();
  assert.deepEqual(await expectPage(2, PAGE_SIZE), pages[1]);
});

test('a new order is the first of the list, with the name of its customer', async (context) => {
  const number = await succeed<string>(shop.createOrder({ BNAME: 'Yusuf Demir' }));
  const page = await openAs(context, service, viewer);
  const [[shown, , , name] = []] = await shownCells(region(page, 'Orders').getByRole('table'));
  assert.deepEqual([shown, name], [number, 'Yusuf Demir']);
});

test('lines show discounts, totals and custom fields, and a warning if totals do not match', async (context) => {
  assert.equal((await service.command('fields', 'add', 'shop', 'lines', 'ENGRAVING', '--type', 'text')).code, 0);
  const number = await succeed<string>(
    shop.createOrder({ SUBTOTAL: '30000', TAX_TOTAL: '12.5', ORDER_TOTAL: '30012.5' }),
  );
  const add = (line: Values): Promise<unknown> => succeed(shop.addLineItem({ ORDER_NUMBER: number, ...line }));
  await add({ DESCRIPTION: 'Steel chair', QUANTITY: '12', UNIT_PRICE: '1899', DISCOUNT: '8', ENGRAVING: 'For Ann' });
  await add({ DESCRIPTION: 'Lamp', QUANTITY: '3', UNIT_PRICE: '0.335' });
  const page = await openAs(context, service, viewer);
  await openOrder(page, number);
  await waitUntilLoaded(page);
  const lines = await shownCells(region(page, 'Lines of the order').getByRole('table'));
  assert.deepEqual(
    lines.map((cells) => cells.slice(5, 9)),
    [
      ['1,899.00', '8 %', '20,964.96', 'For Ann'],
      ['0.335', '', '1.01', ''],
    ],
  );
  await page.getByText('The lines add up to 20,965.97, and the subtotal is 30,000.00.').waitFor();
  const totals = await page.locator('.totals > div').allInnerTexts();
  assert.deepEqual(
    totals.map((text) => text.split(/\s+/)),
    [
      ['Subtotal', '30,000.00'],
      ['Tax', '12.50'],
      ['Total', '30,012.50'],
    ],
  );
  const right = await makeOrder('PHONE', 'quote', '#right');
  await openOrder(page, right);
  await waitUntilLoaded(page);
  assert.equal(await page.getByText('The totals do not match the lines').count(), 0);
});

test('lines without a part code can be distinguished in the storefront order', async (context) => {
  const number = await succeed<string>(shop.createOrder({ ORDER_TYPE: 'sales_order', REFERENCE_NUMBER: '#nameless' }));
  for (const DESCRIPTION of ['Chair', 'Lamp'])
    await succeed(shop.addLineItem({ ORDER_NUMBER: number, DESCRIPTION, QUANTITY: '2' }));
  const page = await openAs(context, service, viewer);
  await openOrder(page, number);
  await waitUntilLoaded(page);
  const rows = await shownCells(region(page, 'Ordered and shipped, part by part').getByRole('table'));
  assert.deepEqual(
    rows.map((cells) => cells.slice(0, 2)),
    [
      ['Chair', '2'],
      ['Lamp', '2'],
      ['All parts\nNothing shipped', '4'],
    ],
  );
});

test('an approved order is a sales order in the API, and both show its units as committed', async (context) => {
  const number = await makeOrder('APPROVED', 'quote', '#approved');
  const page = await openAs(context, service, owner);
  await openOrder(page, number);
  await button(page, 'Approve').click();
  assert.equal((await succeedOrder(number))['ORDER_TYPE'], 'quote', 'approved without the confirmation');
  await button(page.getByRole('dialog'), 'Approve').click();
  await page.getByText(`Order ${number} is a sales order now`).waitFor();
  await waitUntilLoaded(page);
  assert.equal((await succeedOrder(number))['ORDER_TYPE'], 'sales_order');
  assert.deepEqual(await stockOf('APPROVED'), ['9', '5']);
  const stock = ['APPROVED', '9', '0 → , now 5', '9 → , now 4'];
  assert.deepEqual(await rowOf(page, 'Stock of the parts', 'APPROVED'), stock);
  assert.equal(await button(page, 'Approve').count(), 0);
});

const succeedOrder = async (number: string): Promise<Values> => {
  const { status, body, text } = await shop.getOrder(number);
  assert.equal(status, 200, text);
  return (body as { data: Values }).data;
};

interface Found {
  order_type: string;
  pims_order_number: string;
  tracking_numbers: unknown;
  items: { part_number: string; quantity: number; shipped: number; serial_numbers: unknown; is_care_plan: boolean }[];
}
async function lookUp(reference: string): Promise<Found[]> {
  const { status, body, text } = await shop.findOrdersByStorefrontReference(reference);
  assert.equal(status, 200, text);
  return (body as { orders: Found[] }).orders;
}

test('2 of 5 units are invoiced in API, stock and page; the rest is a new sales order', async (context) => {
  const number = await makeOrder('PHONE', 'sales_order', '#5001');
  assert.deepEqual(await stockOf('PHONE'), ['9', '5']);
  const page = await openAs(context, service, owner);
  await openOrder(page, number);
  await button(page, 'Invoice').click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Units of line 1').fill('2');
  await form.getByLabel('Serial numbers of line 1').fill('SN-A1\nSN-A2');
  await form.getByLabel('Units of line 2').fill('2');
  assert.equal(await form.getByLabel('Serial numbers of line 2').count(), 0, 'a care plan has no serial numbers');
  await form.getByLabel('Tracking numbers').fill('TRACK-1, TRACK-2');
  await form.getByText('4 of 10 units. The others move to a new backorder.').waitFor();
  await button(form, 'Invoice').click();
  await page.getByText('The other units moved to the backorder').waitFor();
  await waitUntilLoaded(page);

  const found = await lookUp('#5001');
  const backorder = found[1]!.pims_order_number;
  const told = found.map((one) => [one.order_type, one.pims_order_number, one.tracking_numbers]);
  assert.deepEqual(told, [
    ['invoice', number, ['TRACK-1', 'TRACK-2']],
    ['sales_order', backorder, []],
  ]);
  const itemsOf = (order: Found) =>
    order.items.map((item) => [item.part_number, item.quantity, item.shipped, item.serial_numbers, item.is_care_plan]);
  assert.deepEqual(found.map(itemsOf), [
    [
      ['PHONE', 2, 2, ['SN-A1', 'SN-A2'], false],
      ['CARE-PHONE', 2, 2, [], true],
    ],
    [
      ['PHONE', 3, 0, [], false],
      ['CARE-PHONE', 3, 0, [], true],
    ],
  ]);
  assert.deepEqual(await stockOf('PHONE'), ['7', '3']);

  assert.deepEqual(await rowOf(page, 'Stock of the parts', 'PHONE'), ['PHONE', '9 → , now 7', '5 → , now 3', '4']);
  const comparison = 'Ordered and shipped, part by part';
  assert.deepEqual((await rowOf(page, comparison, 'PHONE')).slice(1), ['5', '2', '2', '3', '2', '3']);
  assert.deepEqual((await rowOf(page, comparison, 'All parts')).slice(1), ['10', '4', '4', '6', '4', '6']);
  await page.getByText('Partly shipped').waitFor();
  assert.match((await rowOf(page, 'Lines of the order', 'PHONE')).join(' '), /SN-A1 SN-A2/);
  const further = page.getByRole('button', { name: /^(Approve|Invoice)$/ });
  assert.equal(await further.count(), 0, 'an invoice goes no further');
  await page.getByRole('link', { name: backorder }).first().click();
  await arrive(page, `Order ${backorder}`);
  await waitUntilLoaded(page);
  assert.deepEqual((await rowOf(page, comparison, 'PHONE')).slice(1), ['5', '2', '2', '3', '2', '3']);
  await goTo(page, '/records/inventory/PHONE');
  for (const [label, value] of Object.entries({ 'On hand': '7', Committed: '3', Available: '4' }))
    assert.equal(await figureOf(page, label).innerText(), value, label);
});

test('a refusal of an invoice is shown in its form, and nothing is changed', async (context) => {
  const number = await makeOrder('REFUSED', 'sales_order', '#refused');
  const untouched = await shop.everything();
  const page = await openAs(context, service, owner);
  await openOrder(page, number);
  await button(page, 'Invoice').click();
  const form = page.getByRole('dialog');
  const expectAlert = (text: RegExp) => form.getByRole('alert').getByText(text).waitFor();
  const submit = (): Promise<void> => button(form, 'Invoice').click();
  await form.getByLabel('Units of line 1').fill('2');
  await form.getByLabel('Serial numbers of line 1').fill('A\nB\nC');
  await form.getByText('3 serial numbers for 2 units. Enter at most one per unit.').waitFor();
  await submit();
  await expectAlert(/serial/i);
  await form.getByLabel('Serial numbers of line 1').fill('');
  await form.getByLabel('Units of line 1').fill('6');
  await form.getByText('Enter 0 to 5.').waitFor();
  await submit();
  await expectAlert(/6/);
  await button(page, 'No units').click();
  await submit();
  await expectAlert(/nothing/i);
  assert.equal(await shop.everything(), untouched);
  await button(page, 'Cancel').click();
});

test('a cancelled order is marked, can have no further stage, and is not counted as ordered', async (context) => {
  const open = await makeOrder('PHONE', 'sales_order', '#cancelled');
  const number = await makeOrder('PHONE', 'sales_order', '#cancelled');
  await succeed(shop.cancelOrder({ ORDER_NUMBER: number }));
  const page = await openAs(context, service, owner);
  await openOrder(page, number);
  await page.getByText('It can no longer be approved or invoiced.').waitFor();
  assert.equal(await page.getByRole('button', { name: /^(Approve|Invoice)$/ }).count(), 0);
  assert.equal(await page.getByText('Sales order, cancelled').count(), 2, 'beside the title, and in the comparison');
  const sums = await rowOf(page, 'Ordered and shipped, part by part', 'PHONE');
  assert.equal(sums[1], '5', `of order ${open} alone`);
  await page.getByText('Worksheets, quotes and cancelled orders are not included.').waitFor();
});

test('a viewer cannot approve or invoice, and the page says why', async (context) => {
  const page = await openAs(context, service, viewer);
  await openOrder(page, numberOf(3));
  await page.getByText('To approve or invoice, ask an owner for the clerk role.').waitFor();
  for (const name of ['Approve', 'Invoice']) assert.ok(await button(page, name).isDisabled(), name);
});
