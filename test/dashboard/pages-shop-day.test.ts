/**
 * Tests a clerk's day in a browser, from an empty team: receiving parts, taking orders by API and form, and correcting,
 * cancelling, invoicing, drop-shipping and voiding them, and counting stock. At the end the page, the API, the ledger
 * and `storeroom check` agree.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Page, Request } from 'playwright-core';
import { Shop, succeed, type Values } from '../kit/records.ts';
import { until } from '../kit/wait.ts';
import { button, openAs, region, shownCells } from './at-pages.ts';
import { checkAxe, checkWidth, goTo, waitUntilLoaded } from './browser.ts';
import { openScene } from './scene.ts';
import { Visitor } from './visitor.ts';

const service = await openScene();
const shop = await Shop.open(service, 'day');
const owner = await Visitor.make(service, 'day', 'owner');
const clerk = await owner.add('clerk');

const dialog = (page: Page) => page.getByRole('dialog');
const fill = (page: Page, label: string, text: string) => dialog(page).getByLabel(label, { exact: true }).fill(text);
/** Presses a button of the dialog, and waits until the dialog has closed and the page has loaded. */
async function send(page: Page, name: string): Promise<void> {
  await dialog(page).getByRole('button', { name, exact: true }).click();
  await dialog(page).waitFor({ state: 'detached' });
  await waitUntilLoaded(page);
}
async function newPart(page: Page, part: Readonly<Record<string, string>>, serials = ''): Promise<void> {
  await goTo(page, '/records/inventory');
  await button(page, 'New part').click();
  await fill(page, 'Part', part['code']!);
  await fill(page, 'Description', part['name']!);
  await fill(page, 'Unit price', part['price']!);
  if (serials !== '') await dialog(page).getByLabel('Has serial numbers').selectOption('Y');
  await send(page, 'Create');
  await button(page, 'Receive').click();
  await fill(page, 'Units received', part['units']!);
  if (serials !== '') await fill(page, 'Serial numbers', serials);
  await send(page, 'Receive');
}
async function order(lines: readonly Values[], more: Values = {}): Promise<string> {
  const ORDER_NUMBER = await shop.newOrder({ ORDER_TYPE: 'sales_order', ...more });
  for (const line of lines) await succeed(shop.addLineItem({ ORDER_NUMBER, ...line }));
  return ORDER_NUMBER;
}
const openOrder = (page: Page, number: string): Promise<void> => goTo(page, `/records/orders/${number}`);
async function invoice(page: Page, number: string, units: string, serials = ''): Promise<void> {
  await openOrder(page, number);
  await button(page, 'Invoice').click();
  await fill(page, 'Units of line 1', units);
  if (serials !== '') await fill(page, 'Serial numbers of line 1', serials);
  await send(page, 'Invoice');
}
const stockOf = async (code: string): Promise<(string | undefined)[]> => {
  const part = await succeed(shop.getInventoryItem(code));
  return [part['QTY_ONHAND'], part['QTY_COMMITTED'], part['QTY_AVAILABLE']];
};

test('a clerk works a day without the command line, and all figures add up', async (context) => {
  const page = await openAs(context, service, clerk);
  await newPart(page, { code: 'PHONE', name: 'Phone', price: '999', units: '3' }, 'P1\nP2\nP3');
  await newPart(page, { code: 'CASE', name: 'Case', price: '29.50', units: '10' });
  await shop.createCustomer({ CUSTOMER_CODE: 'ANN', CUSTOMER_NAME: 'Ann Smith', SNAME: 'Ann', SCITY: 'Rome' });

  const phones = await order([{ PART_CODE: 'PHONE', QUANTITY: '5' }], { REFERENCE_NUMBER: '#1' });
  const cases = await order([{ PART_CODE: 'CASE', QUANTITY: '4' }]);
  const wrong = await order([{ PART_CODE: 'CASE', QUANTITY: '1' }]);
  const dropped = await order([{ PART_CODE: 'CASE', QUANTITY: '7' }], { DROP_SHIP: 'Y' });

  // Corrects two orders: the header of one, and the lines of the other.
  await openOrder(page, phones);
  await button(page, 'Edit').click();
  await fill(page, 'Purchase order', 'PO 7');
  await send(page, 'Save');
  await openOrder(page, cases);
  await button(page, 'Edit line 1').click();
  await fill(page, 'Quantity', '3');
  await send(page, 'Save');
  await button(page, 'Add line').click();
  await fill(page, 'Part', 'PHONE');
  await send(page, 'Add');
  const corrected = await shop.getOrder(cases);
  assert.deepEqual(
    (corrected.body.subRecords as { ORDER_LINEITEMS: Values }[]).map(({ ORDER_LINEITEMS: line }) => [
      line['PART_CODE'],
      line['QUANTITY'],
      line['UNIT_PRICE'],
    ]),
    [
      ['CASE', '3', '29.5'],
      ['PHONE', '1', '999'],
    ],
  );
  assert.equal((await shop.order(phones))['PO_NUMBER'], 'PO 7');
  await openOrder(page, wrong);
  await button(page, 'Cancel order').click();
  await send(page, 'Cancel order');
  assert.equal((await shop.order(wrong))['ORDER_STATUS'], 'CANCELLED');

  // Three of five phones are in stock. The other two wait, are received later, and fill the backorder.
  await invoice(page, phones, '3', 'P1\nP2\nP3');
  const [{ pims_order_number: backorder }] = (await shop.findOrdersByStorefrontReference('#1')).body.orders.slice(-1);
  await goTo(page, '/records/inventory/PHONE');
  const waiting = await shownCells(region(page, 'Waiting orders'));
  assert.deepEqual(
    new Set(waiting.map(([number, , , units, stock]) => `${number} ${units} ${stock}`)),
    new Set([`${backorder} 2 Short`, `${cases} 1 Short`]),
  );
  await button(page, 'Receive').click();
  await fill(page, 'Units received', '3');
  await fill(page, 'Serial numbers', 'P4\nP5\nP6');
  await send(page, 'Receive');
  await invoice(page, backorder as string, '2', 'P4\nP5');
  await invoice(page, dropped, '7');

  // Voids an invoice: its units and serial numbers return to stock and can be sold again.
  await openOrder(page, backorder as string);
  await button(page, 'Void').click();
  await fill(page, 'Reason', 'sent back');
  await send(page, 'Void');
  await page.getByText('Invoice, void', { exact: true }).first().waitFor();
  await goTo(page, '/records/inventory/CASE');
  await button(page, 'Count').click();
  await fill(page, 'Units counted', '9');
  const [onHand] = await stockOf('CASE');
  const [counted] = await Promise.all([page.waitForRequest(/\/stock\/count$/), send(page, 'Count')]);
  assert.equal((counted.postDataJSON() as Values)['FROM_QUANTITY'], onHand, 'the quantity that the page showed');
  await button(page, 'Set on order').click();
  await fill(page, 'Units on order', '-1');
  await button(dialog(page), 'Set on order').click();
  await dialog(page).locator('[name=QTY_ONORDER][aria-invalid=true]').waitFor();
  await fill(page, 'Units on order', '4');
  await send(page, 'Set on order');
  assert.equal((await succeed(shop.getInventoryItem('CASE')))['QTY_ONORDER'], '4');

  // A part with nothing on hand is created without a count.
  await goTo(page, '/records/inventory');
  await button(page, 'New part').click();
  await fill(page, 'Part', 'LATER');
  await fill(page, 'On hand', '0');
  const isWrite = (request: Request): boolean => request.method() !== 'GET';
  const [created] = await Promise.all([page.waitForRequest(isWrite), send(page, 'Create')]);
  assert.match(created.url(), /\/inventory\/create$/);

  // The figures are on hand, committed and available.
  assert.deepEqual(await stockOf('PHONE'), ['3', '1', '2']);
  assert.deepEqual(await stockOf('CASE'), ['9', '3', '6']);
  await goTo(page, '/records/inventory/PHONE');
  const ledger = await shownCells(region(page, 'Movements'));
  const moved = ledger.map(([, kind, units]) => [kind, units]);
  assert.deepEqual(moved, [
    ['Returned', '+2'],
    ['Sold', '-2'],
    ['Received', '+3'],
    ['Sold', '-3'],
    ['Received', '+3'],
  ]);
  assert.ok(ledger.every((cells) => cells.includes(clerk.email)));
  const { code, stdout } = await service.command('check');
  assert.equal(code, 0, stdout);
});

test('a new order is created in one form, found by the name of its customer, and shows its history', async (context) => {
  await shop.createCustomer({ CUSTOMER_CODE: 'BOB', CUSTOMER_NAME: 'Bob Lighthouse', BNAME: 'Bob Lighthouse' });
  await shop.load('inventory', [{ PART_CODE: 'LAMP', PART_DESCRIPTION: 'Lamp', UNIT_PRICE: '12.25', QTY_ONHAND: '2' }]);
  const page = await openAs(context, service, clerk);
  await button(page, 'New order')
    .or(page.getByRole('link', { name: 'New order' }))
    .click();
  await page.getByRole('heading', { level: 1, name: 'New order' }).waitFor();
  // The first field has the focus, and shows whether a customer has the typed code.
  await page.keyboard.type('Lighthouse');
  await page.getByText('No customer with exactly this code was found.').waitFor();
  await page.getByLabel('Customer', { exact: true }).fill('BOB');
  await page.getByText('Bob Lighthouse', { exact: true }).first().waitFor();
  await page.getByLabel('Part of line 1').fill('LAMP');
  await page.getByText('Lamp · 12.25 · 2 available', { exact: true }).first().waitFor();
  await page.getByLabel('Units of line 1').fill('2');
  await page.getByText('Total 24.50', { exact: true }).waitFor();
  await checkAxe(page);
  await button(page, 'Create order').click();
  await page.getByRole('heading', { level: 1, name: /^Order \d+$/ }).waitFor();
  await waitUntilLoaded(page);
  const number = page.url().split('/').at(-1)!;
  const made = await shop.order(number);
  assert.match(made['ORDER_DATE']!, /^\d\d\/\d\d\/\d{4}$/);
  assert.deepEqual([made['BNAME'], made['CUSTOMER_CODE'], made['ORDER_TOTAL']], ['Bob Lighthouse', 'BOB', '24.5']);

  // A program changes the order while the clerk's form is open. The form loses nothing.
  await button(page, 'Edit').click();
  await fill(page, 'Carrier', 'Federal');
  await succeed(shop.updateOrder({ ORDER_NUMBER: number, NOTES: 'ring twice' }));
  await dialog(page).getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('This was changed in the meantime. Notes is now “ring twice”.', { exact: false }).waitFor();
  await send(page, 'Save');
  const changed = await shop.order(number);
  assert.deepEqual([changed['NOTES'], changed['SHIP_VIA']], ['ring twice', 'Federal']);
  await region(page, 'Changes of the order').getByRole('row').filter({ hasText: 'Federal' }).waitFor();
  const history = (await shownCells(region(page, 'Changes of the order'))).map(([, ...cells]) => cells);
  assert.deepEqual(history.slice(0, 2), [
    ['Changed', clerk.email, 'Carrier Federal'],
    ['Changed', 'default', 'Notes ring twice'],
  ]);
  assert.deepEqual(history.at(-1)!.slice(0, 2), ['Created', clerk.email]);

  await page.keyboard.press('/');
  await dialog(page).getByRole('combobox').fill('lighthouse');
  await page.getByRole('option').first().waitFor();
  assert.match(
    await page.getByRole('option').first().innerText(),
    new RegExp(`Orders\\s${number}\\s.*Bob Lighthouse`, 's'),
  );
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: `Order ${number}` }).waitFor();
});

test('after every change an order page shows the current state, and a void invoice counts nowhere', async (context) => {
  await shop.load('inventory', [{ PART_CODE: 'NUT', UNIT_PRICE: '1', QTY_ONHAND: '20' }]);
  const number = await order([{ PART_CODE: 'NUT', QUANTITY: '6' }], { REFERENCE_NUMBER: '#now' });
  const page = await openAs(context, service, clerk);
  await openOrder(page, number);
  const rowOf = async (table: string, first: string): Promise<string[] | undefined> =>
    (await shownCells(region(page, table))).find((cells) => cells[0] === first)?.slice(1);
  const expectCompared = (compared: string[]): Promise<void> =>
    until(async () =>
      isDeepStrictEqual((await rowOf('Ordered and shipped, part by part', 'NUT'))?.slice(0, 4), compared),
    );
  const expectShown = async (compared: string[]): Promise<void> => {
    await expectCompared(compared);
    const stock = await stockOf('NUT');
    await until(async () => isDeepStrictEqual(await rowOf('Stock of the parts', 'NUT'), stock));
  };
  await expectShown(['6', '0', '0', '6']);
  await button(page, 'Edit line 1').click();
  await fill(page, 'Quantity', '8');
  await send(page, 'Save');
  await expectShown(['8', '0', '0', '8']);
  await button(page, 'Invoice').click();
  await fill(page, 'Units of line 1', '5');
  await send(page, 'Invoice');
  await page.getByText('The other units moved to the backorder').waitFor();
  await expectCompared(['8', '5', '5', '3']);
  await button(page, 'Void').click();
  await send(page, 'Void');
  await page.getByText('This invoice is void.', { exact: false }).waitFor();
  assert.equal(await page.getByText('The other units moved to the backorder').count(), 0);
  await expectShown(['3', '0', '0', '3']);
});

test('serial numbers and pages are found by search; a slip is printed without the menu', async (context) => {
  const page = await openAs(context, service, clerk);
  await page.keyboard.press('Control+k');
  await dialog(page).getByRole('combobox').fill('P1');
  await page.getByRole('option', { name: /Serial numbers P1 PHONE, sold on order/ }).click();
  await page.getByRole('link', { name: 'Print' }).click();
  await page.getByRole('heading', { level: 1, name: /^Packing slip/ }).waitFor();
  await waitUntilLoaded(page);
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.getByRole('navigation', { name: 'Dashboard' }).isVisible(), false);
  assert.equal(await page.getByText('P1, P2, P3', { exact: true }).isVisible(), true);
  await page.emulateMedia({ media: 'screen' });
  await page.keyboard.press('/');
  await dialog(page).getByRole('combobox').fill('Invent');
  await page.getByRole('option', { name: /Pages Inventory/ }).click();
  await page.getByRole('heading', { level: 1, name: 'Inventory' }).waitFor();
});

test('views count like the API, heads sort, orders are approved at once, and the export has the list', async (context) => {
  for (const NOTES of ['a', 'b']) await shop.newOrder({ ORDER_TYPE: 'quote', NOTES });
  const page = await openAs(context, service, clerk);
  const quotes = await succeed<Values[]>(shop.queryOrders([{ field: 'ORDER_TYPE', value: 'quote' }]));
  await page.getByRole('link', { name: `Quotes ${quotes.length}` }).click();
  await waitUntilLoaded(page);
  await page.getByRole('button', { name: 'Order', exact: true }).click();
  await waitUntilLoaded(page);
  const numbers = quotes.map((quote) => quote['ORDER_NUMBER']!);
  const shown = async () => (await shownCells(region(page, 'Orders'))).map(([number]) => number);
  assert.deepEqual(await shown(), numbers);
  const downloading = page.waitForEvent('download');
  await button(page, 'Export CSV').click();
  const file = await (await downloading).createReadStream();
  const text = Buffer.concat(await file.toArray()).toString();
  assert.deepEqual(
    text
      .trim()
      .split('\r\n')
      .map((line) => line.split(',')[0]),
    ['ORDER_NUMBER', ...numbers],
  );
  for (const number of numbers) await page.getByLabel(`Select order ${number}`).check();
  await button(page, 'Approve selected').click();
  await send(page, 'Approve');
  // The dialog closes before the first order is approved.
  await page.getByText(`${numbers.length} of ${numbers.length} orders changed`, { exact: true }).waitFor();
  assert.deepEqual(await succeed(shop.queryOrders([{ field: 'ORDER_TYPE', value: 'quote' }])), []);
  await page.setViewportSize({ width: 390, height: 800 });
  await goTo(page, '/records/orders');
  await checkWidth(page);
  await goTo(page, '/home');
  await checkWidth(page);
  await checkAxe(page);
});
