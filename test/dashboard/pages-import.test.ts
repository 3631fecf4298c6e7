/** Tests the import of a CSV file in a browser, its effect on other tabs, and a list while the service is down. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Shop } from '../kit/records.ts';
import { arrive, button, goByMenu, openAs, region, shownCells } from './at-pages.ts';
import { checkAxe, checkWidth, goTo, waitUntilLoaded } from './browser.ts';
import { openScene } from './scene.ts';
import { Visitor } from './visitor.ts';

const service = await openScene();
const shop = await Shop.open(service, 'import');
const owner = await Visitor.make(service, 'import', 'owner');
const clerk = await owner.add('clerk');
await shop.load('inventory', [{ PART_CODE: 'LAMP', PART_DESCRIPTION: 'Old lamp', UNIT_PRICE: '40', QTY_ONHAND: '2' }]);
const fileOf = (name: string, text: string) => ({ name, mimeType: 'text/csv', buffer: Buffer.from(text, 'latin1') });

test('a file with semicolons in Latin-1 is matched, checked, imported, and its rejected rows come back', async (context) => {
  const page = await openAs(context, service, clerk);
  await goByMenu(page, 'Inventory');
  await page.getByRole('link', { name: 'Import CSV' }).click();
  await arrive(page, 'Import');
  const rows = ['LAMP;Stra\u{df}enlampe;41;5;x', 'CHAIR;Stuhl, gr\u{fc}n;12.5;3;x', 'BAD;Kaputt;teuer;1;x'];
  const csv = `Sku;PART_DESCRIPTION;UNIT_PRICE;QTY_ONHAND;Bemerkung\r\n${rows.join('\r\n')}\r\n`;
  await page.getByLabel('File', { exact: true }).setInputFiles(fileOf('parts.csv', csv));
  await page.getByText('The file has 3 rows and is read as Latin-1.').waitFor();
  await button(page, 'Check the rows').click();
  await page.getByText('0 rows can be imported, 0 can be updated, 3 rejected').waitFor();
  await page.getByLabel('Sku', { exact: true }).selectOption('PART_CODE');
  await page.getByLabel('Update existing records').check();
  await button(page, 'Check the rows').click();
  await page.getByText('1 row can be imported, 1 can be updated, 1 rejected').waitFor();
  assert.equal((await shop.getInventoryItem('CHAIR')).status, 404);
  await checkAxe(page);
  await checkWidth(page);
  await button(page, 'Import 2 rows').click();
  await page.getByText('1 row imported, 1 updated, 1 rejected').waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Download rejected rows').click()]);
  const lines = (await readFile(await download.path(), 'utf8')).split('\r\n');
  assert.equal(lines[0], 'Sku,PART_DESCRIPTION,UNIT_PRICE,QTY_ONHAND,Bemerkung,Reason');
  assert.match(lines[1]!, /^BAD,Kaputt,teuer,1,x,.*UNIT_PRICE/);
  assert.equal(lines.length, 3);
  const parts = await owner.post('/records/inventory/query', []);
  const shown = (parts.body as { data: Record<string, string>[] }).data.map((part) =>
    [part['PART_CODE'], part['PART_DESCRIPTION'], part['UNIT_PRICE'], part['QTY_ONHAND']].join('|'),
  );
  assert.deepEqual(shown, ['CHAIR|Stuhl, gr\u{fc}n|12.5|3', 'LAMP|Stra\u{df}enlampe|41|5']);
});

test('a file that is no CSV says where, and a long one is sent in pieces', async (context) => {
  const page = await openAs(context, service, clerk);
  await goTo(page, '/imports?type=customers');
  const choose = (text: string) =>
    page.getByLabel('File', { exact: true }).setInputFiles(fileOf('customers.csv', `CUSTOMER_CODE,NOTES\n${text}`));
  await choose('A,1\nB,1,2\n');
  await page.getByText('Row 2 has 3 cells, but the first line has 2. Correct this row.').waitFor();
  await choose('A,"open\n');
  await page.getByText(/^Row 1: Quoted field unterminated/).waitFor();
  await choose('');
  await page.getByText('The file has no rows below its first line. Add at least one.').waitFor();
  const many = Array.from({ length: 1201 }, (_, at) => `LONG-${at},${'n'.repeat(at % 90)}\n`).join('');
  await choose(many);
  await button(page, 'Check the rows').click();
  await button(page, 'Import 1,201 rows').click();
  await page.getByText('1,201 rows imported, 0 updated, 0 rejected').waitFor();
});

test('a tab shows what another has saved when it is used again', async (context) => {
  const page = await openAs(context, service, clerk);
  await goTo(page, '/records/inventory/LAMP');
  await waitUntilLoaded(page);
  const other = await page.context().newPage();
  await goTo(other, '/records/inventory/LAMP');
  await button(other, 'Receive').click();
  await other.getByLabel('Units received').fill('4');
  await other.getByRole('dialog').getByRole('button', { name: 'Receive' }).click();
  await other.getByRole('dialog').waitFor({ state: 'detached' });
  await page.evaluate("dispatchEvent(new Event('focus'))");
  await page.getByText('5 → 9').waitFor();
});

test('while the service cannot be reached the rows stay, and the next try shows the new ones', async (context) => {
  const page = await openAs(context, service, clerk);
  await goByMenu(page, 'Inventory');
  await waitUntilLoaded(page);
  const table = region(page, 'Inventory').getByRole('table');
  const rows = await shownCells(table);
  assert.equal(rows.length, 2);
  // The browser reports no error for requests that are aborted with this reason.
  await page.route('**/dashboard/api/**', (route) => route.abort('aborted'));
  await page.evaluate("dispatchEvent(new Event('storeroom:changed'))");
  await page.getByRole('alert').getByText('The service could not be reached.').waitFor();
  assert.deepEqual(await shownCells(table), rows);
  await page.unrouteAll();
  await button(page, 'Try again').click();
  await page.getByRole('alert').waitFor({ state: 'detached' });
  assert.deepEqual(await shownCells(table), rows);
});
