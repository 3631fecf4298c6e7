/**
 * Tests the forms of a clerk in a browser: numbers and dates of the locale, scanned barcodes, unknown codes, units and
 * totals of an invoice, and printed pages. The API confirms each write.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { Shop, succeed, type Values } from '../kit/records.ts';
import { arrive, button, field, openAs, region, shownCells } from './at-pages.ts';
import { checkAxe, goTo, waitUntilLoaded } from './browser.ts';
import { openScene } from './scene.ts';
import { expectOk, Visitor } from './visitor.ts';

const service = await openScene();
const shop = await Shop.open(service, 'forms');
const owner = await Visitor.make(service, 'forms', 'owner');
const clerk = await owner.add('clerk');
await shop.load('inventory', [
  { PART_CODE: 'BOLT', PART_DESCRIPTION: 'Bolt', BARCODE: '4006381333931', UNIT_PRICE: '2.5', QTY_ONHAND: '10' },
  { PART_CODE: 'NUT', PART_DESCRIPTION: 'Nut', BARCODE: '4006381333948', UNIT_PRICE: '0.99', QTY_ONHAND: '100' },
]);
await shop.createCustomer({ CUSTOMER_CODE: 'ANN', CUSTOMER_NAME: 'Ann Smith', SNAME: 'Ann Smith', SCITY: 'Rome' });

const dialog = (page: Page) => page.getByRole('dialog');
const says = (page: Page, text: string): Promise<void> => page.getByText(text, { exact: false }).first().waitFor();
const countOrders = async (): Promise<number> => (await succeed<Values[]>(shop.queryOrders([]))).length;
/** Opens an order that the API makes. */
async function openOrder(page: Page, order: Values, lines: readonly Values[]): Promise<string> {
  const ORDER_NUMBER = await shop.newOrder(order);
  for (const line of lines) await succeed(shop.addLineItem({ ORDER_NUMBER, ...line }));
  await goTo(page, `/records/orders/${ORDER_NUMBER}`);
  return ORDER_NUMBER;
}
/** Sends the new order, and returns its number. */
async function create(page: Page): Promise<string> {
  await button(page, 'Create order').click();
  await page.getByRole('heading', { level: 1, name: /^Order \d+$/ }).waitFor();
  await waitUntilLoaded(page);
  return page.url().split('/').at(-1)!;
}
const linesOf = async (number: string): Promise<(string | undefined)[][]> =>
  (await shop.lines(number)).map((line) => [line['PART_CODE'], line['QUANTITY'], line['UNIT_PRICE']]);

test('invalid numbers of a new order have an error at their field, and no input is lost', async (context) => {
  const page = await openAs(context, service, clerk);
  await goTo(page, '/records/orders/new');
  await field(page, 'Notes').fill('ring twice');
  await field(page, 'Part of line 1').fill('BOLT');
  const [units, price] = [field(page, 'Units of line 1'), field(page, 'Price of line 1')];
  for (const text of ['12,50', '$5', '1.2.3', 'abc', '1,2345', '-']) {
    await price.fill(text);
    await says(page, 'Enter a number, such as 12.50.');
    await says(page, 'Total –');
    assert.equal(await price.inputValue(), text);
  }
  for (const [text, total] of [
    ['.5', '0.50'],
    [' 5 ', '5.00'],
    ['1,234.50', '1,234.50'],
    ['12.', '12.00'],
  ]) {
    await price.fill(text!);
    await page.getByText(`Total ${total}`, { exact: true }).waitFor();
  }
  const before = await countOrders();
  for (const [input, text, fault] of [
    [units, '2,5', 'Enter a number'],
    [units, '-5', 'Enter more than 0 units.'],
    [price, '-5', 'A price cannot be negative.'],
  ] as const) {
    await input.fill(text);
    await button(page, 'Create order').click();
    await says(page, fault);
    assert.equal(await input.getAttribute('aria-invalid'), 'true');
    await input.fill('2.5');
  }
  assert.equal(await countOrders(), before);
  assert.equal(await field(page, 'Notes').inputValue(), 'ring twice');
  assert.deepEqual(await linesOf(await create(page)), [['BOLT', '2.5', '2.5']]);
});

test('in German, numbers have a decimal comma, also in the dialogs of records and stock', async (context) => {
  const page = await openAs(context, service, clerk, 'de-DE');
  await goTo(page, '/records/orders/new');
  await field(page, 'Part of line 1').fill('BOLT');
  await field(page, 'Units of line 1').fill('1.000');
  await field(page, 'Price of line 1').fill('12,50');
  await page.getByText('Total 12.500,00', { exact: true }).waitFor();
  const number = await create(page);
  assert.deepEqual(await linesOf(number), [['BOLT', '1000', '12.5']]);
  await button(page, 'Edit line 1').click();
  const price = dialog(page).getByLabel('Unit price', { exact: true });
  await price.waitFor();
  assert.equal(await price.inputValue(), '12,5');
  await price.fill('7,25');
  await button(dialog(page), 'Save').click();
  await dialog(page).waitFor({ state: 'detached' });
  assert.deepEqual(await linesOf(number), [['BOLT', '1000', '7.25']]);
  await goTo(page, '/records/inventory/NUT');
  await button(page, 'Receive').click();
  await field(page, 'Units received').fill('0,5');
  await button(dialog(page), 'Receive').click();
  await dialog(page).waitFor({ state: 'detached' });
  assert.equal((await succeed(shop.getInventoryItem('NUT')))['QTY_ONHAND'], '100.5');
});

test('a scanner selects parts by barcode, line after line, and its Enter never sends the order', async (context) => {
  const page = await openAs(context, service, clerk);
  await goTo(page, '/records/orders/new');
  const before = await countOrders();
  await field(page, 'Part of line 1').focus();
  let refused = 0;
  // Someone who scans fast makes more calls than a user may. The first choice is refused once.
  await page.route('**/api/records/inventory/query*', async (route) => {
    if (refused > 0 || route.request().postData()!.includes('contains')) return route.fallback();
    refused++;
    const json = { status: 'error', code: 'RATE_LIMITED', message: 'Rate limit exceeded.' };
    return route.fulfill({ status: 429, headers: { 'retry-after': '1' }, json });
  });
  for (const scanned of ['4006381333931', '4006381333948', 'BOLT']) {
    await page.keyboard.type(scanned);
    await page.keyboard.press('Enter');
  }
  await page.getByText('Total 5.99', { exact: true }).waitFor();
  assert.equal(refused, 1);
  await field(page, 'Purchase order').focus();
  await page.keyboard.press('Enter');
  assert.equal(await countOrders(), before);
  const codes = await Promise.all([1, 2, 3, 4].map((line) => field(page, `Part of line ${line}`).inputValue()));
  assert.deepEqual(codes, ['BOLT', 'NUT', 'BOLT', '']);
  assert.deepEqual(await linesOf(await create(page)), [
    ['BOLT', '1', '2.5'],
    ['NUT', '1', '0.99'],
    ['BOLT', '1', '2.5'],
  ]);
});

test('an empty form creates nothing, and unknown customers and parts are asked about in the form', async (context) => {
  const page = await openAs(context, service, clerk);
  const before = await countOrders();
  await goTo(page, '/records/orders/new');
  await button(page, 'Create order').click();
  await says(page, 'Enter at least one part.');
  await field(page, 'Price of line 1').fill('19.90');
  await button(page, 'Create order').click();
  await says(page, 'Enter the part of this line, or remove the line.');
  await field(page, 'Part of line 1').fill('GHOST');
  await field(page, 'Customer').fill('Müller');
  await button(page, 'Create order').click();
  await says(page, "No part has the code 'GHOST'. No customer has the code 'Müller'.");
  assert.equal(await countOrders(), before);
  await checkAxe(page);
  await field(page, 'Customer').fill('ANN');
  await button(page, 'Create order').click();
  await page.getByText("No customer has the code 'Müller'.", { exact: false }).first().waitFor({ state: 'detached' });
  assert.equal(await countOrders(), before);
  await page.getByLabel('Use it anyway.').check();
  const number = await create(page);
  assert.deepEqual(await linesOf(number), [['GHOST', '1', '19.9']]);
  assert.deepEqual((await shop.order(number))['SCITY'], 'Rome');

  await button(page, 'Add line').click();
  await dialog(page).getByLabel('Part', { exact: true }).fill('GHOST 2');
  await button(dialog(page), 'Add').click();
  await says(page, "No part has the code 'GHOST 2'.");
  await dialog(page).getByLabel('Part', { exact: true }).fill('4006381333948');
  await button(dialog(page), 'Add').click();
  await dialog(page).waitFor({ state: 'detached' });
  assert.deepEqual((await linesOf(number))[1], ['NUT', '1', '0.99']);
  await goTo(page, '/records/customers');
  await button(page, 'New customer').click();
  await button(dialog(page), 'Create').click();
  await says(page, 'The form is empty. Fill in a field.');
  assert.equal((await succeed<Values[]>(shop.queryCustomers([]))).length, 1);
});

test('an order page shows the changes of another tab, and the views count approved orders', async (context) => {
  const page = await openAs(context, service, clerk);
  const number = await openOrder(page, { ORDER_TYPE: 'sales_order' }, [{ PART_CODE: 'NUT', QUANTITY: '1' }]);
  await button(page, 'Invoice').click();
  await button(dialog(page), 'Invoice').click();
  await says(page, 'The order is complete.');
  await waitUntilLoaded(page);
  const other = await page.context().newPage();
  await goTo(other, `/records/orders/${number}`);
  await button(other, 'Void').click();
  await button(dialog(other), 'Void').click();
  await dialog(other).waitFor({ state: 'detached' });
  await page.evaluate(`dispatchEvent(new Event('focus'))`);
  await says(page, 'This invoice is void.');
  assert.equal(await page.getByText('The order is complete.').count(), 0);
  assert.equal(await page.getByText('before and after this change').count(), 0);

  const quote = await shop.newOrder({ ORDER_TYPE: 'quote' });
  await goTo(page, '/records/orders');
  await page.getByRole('link', { name: 'Quotes 1' }).waitFor();
  await page.getByLabel(`Select order ${quote}`).check();
  await button(page, 'Approve selected').click();
  await button(dialog(page), 'Approve').click();
  await page.getByRole('link', { name: 'Quotes 0' }).waitFor();
  await region(page, 'Orders')
    .getByRole('row', { name: new RegExp(`${quote}.*Sales order`) })
    .waitFor();
});

test('the invoice dialog shows ordered, open, available and missing units, and the later totals', async (context) => {
  const page = await openAs(context, service, clerk);
  const number = await openOrder(page, { ORDER_TYPE: 'sales_order', FREIGHT: '9', TAX_TOTAL: '7', BNAME: 'Bob' }, [
    { PART_CODE: 'BOLT', QUANTITY: '30' },
    { PART_CODE: 'NUT', QUANTITY: '3' },
  ]);
  await button(page, 'Invoice').click();
  await says(page, '30 ordered, 30 open, 10 on hand');
  await says(page, 'BOLT: 30 to ship, 10 on hand; the stock becomes -20.');
  await field(page, 'Units of line 1').fill('10');
  await page.getByText('This ships units that are not in stock').waitFor({ state: 'detached' });
  await checkAxe(page);
  const shown = await dialog(page).locator('dl.totals dd').allInnerTexts();
  const [, left] = /backorder is ([\d.]+)\./.exec(await dialog(page).innerText()) ?? [];
  await button(dialog(page), 'Invoice').click();
  await dialog(page).waitFor({ state: 'detached' });
  const invoice = await shop.order(number);
  const cents = (name: string): string => Number(invoice[name]).toFixed(2);
  assert.deepEqual(shown, ['SUBTOTAL', 'FREIGHT', 'TAX_TOTAL', 'ORDER_TOTAL'].map(cents));
  assert.equal(Number(left) + Number(invoice['ORDER_TOTAL']), 30 * 2.5 + 3 * 0.99 + 9 + 7);

  const more = await openOrder(page, { ORDER_TYPE: 'sales_order', CUSTOMER_CODE: 'ANN' }, [
    { PART_CODE: 'BOLT', QUANTITY: '4' },
  ]);
  await goTo(page, '/records/orders');
  const backorder = String(Number(number) + 1);
  for (const one of [more, backorder]) await page.getByLabel(`Select order ${one}`).check();
  await button(page, 'Invoice selected').click();
  await says(page, 'Sum');
  const told = await dialog(page).innerText();
  for (const text of [
    `${more} ANN 10.00`,
    `${backorder} Bob ${left}`,
    `Sum ${(10 + Number(left)).toFixed(2)}`,
    'BOLT: 24 to ship, 0 on hand',
  ])
    assert.ok(told.includes(text), `${told}\n\n${text}`);
});

test('units of an invoice are returned in a dialog, listed on its page, and printed as a return slip', async (context) => {
  const page = await openAs(context, service, clerk);
  const number = await openOrder(page, { ORDER_TYPE: 'sales_order' }, [
    { PART_CODE: 'NUT', QUANTITY: '3' },
    { PART_CODE: 'BOLT', QUANTITY: '2' },
  ]);
  await expectOk(clerk.invoice(number));
  await page.reload();
  const before = (await succeed(shop.getInventoryItem('NUT')))['QTY_ONHAND'];
  await button(page, 'Return').click();
  await says(page, '3 left to return');
  await field(page, 'Units of line 1').fill('4');
  await says(page, 'Enter 0 to 3.');
  await field(page, 'Units of line 1').fill('1');
  await field(page, 'Put the units of line 1 back in stock').uncheck();
  await field(page, 'Reason').fill('torn');
  await checkAxe(page);
  await button(dialog(page), 'Return').click();
  await page.getByRole('link', { name: number, exact: true }).waitFor();
  const [order] = await succeed<Values[]>(shop.queryOrders([{ field: 'RETURN_OF', value: number }]));
  const returned = order!['ORDER_NUMBER']!;
  assert.ok(page.url().endsWith(`/records/orders/${returned}`), page.url());
  assert.deepEqual(await linesOf(returned), [['NUT', '-1', '0.99']]);
  assert.equal((await succeed(shop.getInventoryItem('NUT')))['QTY_ONHAND'], before);
  assert.equal(await button(page, 'Return').count(), 0);
  await page.getByRole('link', { name: 'Print' }).click();
  await page.getByRole('heading', { level: 1, name: `Return slip ${returned}` }).waitFor();
  await page.getByRole('row', { name: 'NUT Nut 1', exact: true }).waitFor();
  await goTo(page, `/records/orders/${number}`);
  await region(page, 'Returns').getByRole('link', { name: returned }).waitFor();
  await button(page, 'Return').click();
  await says(page, '2 left to return');
  await field(page, 'Units of line 2').fill('2');
  await button(dialog(page), 'Return').click();
  await page.getByRole('heading', { level: 1, name: `Return ${Number(returned) + 1}` }).waitFor();
  await button(page, 'Void').click();
  await says(page, `are those of invoice ${number} again`);
});

test('a quote prints as Quote, with dates of the locale and the address of its customer', async (context) => {
  const page = await openAs(context, service, clerk);
  await goTo(page, '/records/orders/new');
  await field(page, 'Order date').fill('2026-11-12');
  await field(page, 'Stage').selectOption('quote');
  await field(page, 'Part of line 1').fill('NUT');
  const typed = await create(page);
  assert.equal((await shop.order(typed))['ORDER_DATE'], '11/12/2026');
  await page.getByText('12 Nov 2026', { exact: true }).first().waitFor();
  await button(page, 'Edit').click();
  assert.equal(await field(page, 'Order date').inputValue(), '2026-11-12');
  await field(page, 'Order date').fill('2026-12-11');
  await button(dialog(page), 'Save').click();
  await dialog(page).waitFor({ state: 'detached' });
  await region(page, 'Changes of the order').getByText('11 Dec 2026', { exact: true }).waitFor();

  const quote = await openOrder(page, { ORDER_TYPE: 'quote', CUSTOMER_CODE: 'ANN', ORDER_DATE: '11/12/2026' }, [
    { PART_CODE: 'NUT' },
  ]);
  await goTo(page, `/records/orders/${quote}/print?sheet=invoice`);
  await arrive(page, `Quote ${quote}`);
  await page.getByText('12 Nov 2026', { exact: true }).waitFor();
  await page.getByText('Ann Smith', { exact: true }).waitFor();
  await page.getByText('Rome', { exact: true }).waitFor();
  await shop.updateOrder({ ORDER_NUMBER: quote, SNAME: 'Elsewhere' });
  await goTo(page, `/records/orders/${quote}/print`);
  await arrive(page, `Packing slip ${quote}`);
  await page.getByText('Elsewhere', { exact: true }).waitFor();
  assert.equal(await page.getByText('Rome', { exact: true }).count(), 0);
  const draft = await openOrder(page, { ORDER_TYPE: 'worksheet' }, []);
  await goTo(page, `/records/orders/${draft}/print?sheet=invoice`);
  await arrive(page, `Worksheet ${draft}`);
  await openOrder(page, { ORDER_TYPE: 'sales_order', ORDER_DATE: '11/12/2026' }, [{ PART_CODE: 'NUT' }]);
  await goTo(page, '/records/inventory/NUT');
  const waiting = await shownCells(region(page, 'Waiting orders'));
  assert.ok(waiting.some(([, date]) => date === '12 Nov 2026'));
  await expectOk(owner.post('/fields', { recordType: 'orders', name: 'DUE', type: 'date' }));
  await openOrder(page, { DUE: '12/24/2026' }, []);
  await page.getByText('24 Dec 2026', { exact: true }).waitFor();
  await expectOk(owner.post('/fields', { recordType: 'lines', name: 'DUE', type: 'date' }));
  await openOrder(page, {}, [{ PART_CODE: 'NUT', DUE: '12/27/2026' }]);
  await region(page, 'Lines of the order').getByText('27 Dec 2026', { exact: true }).waitFor();
});

test('an imported order without totals shows the sum of its lines, labelled as such', async (context) => {
  await shop.load('orders', [{ ORDER_NUMBER: '900001', ORDER_TYPE: 'sales_order', FREIGHT: '9.9' }]);
  const line = { ORDER_NUMBER: '900001', PART_CODE: 'BOLT' };
  await shop.load('lines', [
    { ...line, QUANTITY: '3', UNIT_PRICE: '19.99' },
    { ...line, QUANTITY: '1', UNIT_PRICE: '5' },
  ]);
  assert.equal((await shop.order('900001'))['ORDER_TOTAL'], '');
  const page = await openAs(context, service, clerk);
  for (const path of ['', '/print?sheet=invoice']) {
    await goTo(page, `/records/orders/900001${path}`);
    const sum = page.getByText('Sum of the lines', { exact: true }).last();
    assert.equal(await sum.locator('xpath=following-sibling::dd').innerText(), '64.97');
  }
});
