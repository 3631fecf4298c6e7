/**
 * Tests in a browser what an open dialog does when something changes below it: it follows a change in another tab
 * without losing what is typed, and it says itself that its form could not be fetched.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { times } from '../kit/lists.ts';
import { Shop, succeed, type Values } from '../kit/records.ts';
import { arrive, button, field, openAs } from './at-pages.ts';
import { checkAxe, goTo, waitUntilLoaded } from './browser.ts';
import { openScene } from './scene.ts';
import { expectOk, Visitor } from './visitor.ts';

const service = await openScene();
const shop = await Shop.open(service, 'dialogs');
const owner = await Visitor.make(service, 'dialogs', 'owner');
const clerk = await owner.add('clerk');

const dialog = (page: Page) => page.getByRole('dialog');
/** Presses the button of the dialog with this name, which closes it. */
async function send(page: Page, name: string): Promise<void> {
  await button(dialog(page), name).click();
  await dialog(page).waitFor({ state: 'detached' });
}
/** Opens a path in another tab, does something there, and returns to the first tab. */
async function inAnotherTab(page: Page, path: string, act: (other: Page) => Promise<void>): Promise<void> {
  const other = await page.context().newPage();
  await goTo(other, path);
  await act(other);
  await other.close();
  await page.evaluate(`dispatchEvent(new Event('focus'))`);
}
const editNotes = async (page: Page): Promise<void> => {
  await button(page, 'Edit').click();
  await field(page, 'Notes').fill('ring twice');
  await send(page, 'Save');
};
async function openInvoice(page: Page): Promise<string> {
  const number = await shop.newOrder({ ORDER_TYPE: 'sales_order' });
  await succeed(shop.addLineItem({ ORDER_NUMBER: number, PART_CODE: 'NUT', QUANTITY: '5' }));
  await expectOk(clerk.invoice(number));
  await goTo(page, `/records/orders/${number}`);
  return number;
}

await shop.load('inventory', [
  { PART_CODE: 'PHONE', PART_DESCRIPTION: 'Phone', QTY_ONHAND: '22', SERIALIZED: 'N' },
  { PART_CODE: 'NUT', PART_DESCRIPTION: 'Nut', QTY_ONHAND: '100', SERIALIZED: 'N' },
]);

test('a count follows units that another tab receives, and keeps what is typed', async (context) => {
  const page = await openAs(context, service, clerk);
  const path = '/records/inventory/PHONE';
  await goTo(page, path);
  await button(page, 'Adjust').click();
  await field(page, 'Units to add (negative to remove)').fill('-2');
  await page.getByText('On hand: 22 → 20', { exact: true }).waitFor();
  await inAnotherTab(page, path, async (other) => {
    await button(other, 'Receive').click();
    await field(other, 'Units received').fill('5');
    await send(other, 'Receive');
  });
  await page.getByText('On hand: 27 → 25', { exact: true }).waitFor();
  await button(dialog(page), 'Cancel').click();
  await waitUntilLoaded(page);

  await button(page, 'Count').click();
  await field(page, 'Units counted').fill('40');
  await field(page, 'Reason').fill('stocktaking');
  await page.getByText('On hand: 27 → 40', { exact: true }).waitFor();
  await inAnotherTab(page, path, async (other) => {
    await button(other, 'Receive').click();
    await field(other, 'Units received').fill('3');
    await send(other, 'Receive');
  });
  await page.getByText('On hand: 30 → 40', { exact: true }).waitFor();
  assert.equal(await field(page, 'Reason').inputValue(), 'stocktaking');
  await send(page, 'Count');
  assert.equal((await succeed(shop.getInventoryItem('PHONE')))['QTY_ONHAND'], '40');
});

test('a return succeeds after another tab has changed its invoice, with the units typed before', async (context) => {
  const page = await openAs(context, service, clerk);
  const number = await openInvoice(page);
  await button(page, 'Return').click();
  await field(page, 'Units of line 1').fill('2');
  await inAnotherTab(page, `/records/orders/${number}`, editNotes);
  await page.getByText('ring twice').first().waitFor({ state: 'attached' });
  await waitUntilLoaded(page);
  await send(page, 'Return');
  const [made] = await succeed<Values[]>(shop.queryOrders([{ field: 'RETURN_OF', value: number }]));
  await arrive(page, `Return ${made!['ORDER_NUMBER']}`);
  assert.deepEqual(
    (await shop.lines(made!['ORDER_NUMBER']!)).map((line) => line['QUANTITY']),
    ['-2'],
  );
});

test('an order is cancelled and an invoice voided after another tab has changed them', async (context) => {
  const page = await openAs(context, service, clerk);
  const order = await shop.newOrder({ ORDER_TYPE: 'sales_order' });
  await goTo(page, `/records/orders/${order}`);
  await button(page, 'Cancel order').click();
  await inAnotherTab(page, `/records/orders/${order}`, editNotes);
  await waitUntilLoaded(page);
  await send(page, 'Cancel order');
  assert.equal((await shop.order(order))['ORDER_STATUS'], 'CANCELLED');

  const invoice = await openInvoice(page);
  await button(page, 'Void').click();
  await field(page, 'Reason').fill('sent back');
  await inAnotherTab(page, `/records/orders/${invoice}`, editNotes);
  await waitUntilLoaded(page);
  assert.equal(await field(page, 'Reason').inputValue(), 'sent back');
  await send(page, 'Void');
  await page.getByText('This invoice is void.', { exact: false }).waitFor();
});

test('a change that another person makes is still refused, because the page does not show it', async (context) => {
  const page = await openAs(context, service, clerk);
  const number = await openInvoice(page);
  await succeed(shop.updateOrder({ ORDER_NUMBER: number, NOTES: 'do not void' }));
  await button(page, 'Void').click();
  await button(dialog(page), 'Void').click();
  await dialog(page).getByRole('alert').waitFor();
  await button(dialog(page), 'Cancel').click();
});

test('New customer says in a dialog that its form could not be fetched, and that reloading the page helps', async (context) => {
  await shop.load(
    'customers',
    times(60, (place) => ({ CUSTOMER_CODE: `c${100 + place}` })),
  );
  const page = await openAs(context, service, clerk);
  await goTo(page, '/records/customers');
  await page.route('**/record-dialog-*.js', (route) => route.abort('aborted'));
  await button(page, 'New customer').click();
  const opened = page.getByRole('dialog', { name: 'New customer' });
  await opened.getByRole('alert').waitFor();
  await checkAxe(page);
  await page.unroute('**/record-dialog-*.js');
  await button(opened, 'Reload').click();
  await opened.waitFor({ state: 'detached' });
  await button(page, 'New customer').click();
  await opened.getByLabel('Customer', { exact: true }).fill('ANN');
  await send(page, 'Create');
  await arrive(page, 'ANN');
});
