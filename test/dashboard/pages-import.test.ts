/** Tests the import of a CSV file in a browser, its effect on other tabs, and a list while the service is down. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { cellsOf } from '../kit/lists.ts';
import { Shop, type Values } from '../kit/records.ts';
import { temporaryFolder } from '../kit/service.ts';
import { SHOP_FILES } from '../kit/shop-files.ts';
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

test('a Latin-1 file with semicolons is matched, checked and imported, and returns rejected rows', async (context) => {
  const page = await openAs(context, service, clerk);
  await goByMenu(page, 'Inventory');
  await page.getByRole('link', { name: 'Import CSV' }).click();
  await arrive(page, 'Import');
  const rows = ['LAMP;Stra\u{df}enlampe;41;5;x', 'CHAIR;Stuhl, gr\u{fc}n;12,5;3;x', 'BAD;Kaputt;teuer;1;x'];
  const csv = `Sku;PART_DESCRIPTION;UNIT_PRICE;QTY_ONHAND;Bemerkung\r\n${rows.join('\r\n')}\r\n`;
  await page.getByLabel('File', { exact: true }).setInputFiles(fileOf('parts.csv', csv));
  await page.getByText('The file has 3 rows and is read as windows-1252.').waitFor();
  await button(page, 'Check the rows').click();
  await page.getByText('0 rows can be imported, 0 can be updated, 3 rejected').waitFor();
  await page.getByLabel('Sku', { exact: true }).selectOption('PART_CODE');
  await page.getByLabel('Update existing records').check();
  await button(page, 'Check the rows').click();
  await page.getByText('1 row can be imported, 1 can be updated, 1 rejected').waitFor();
  assert.equal((await shop.getInventoryItem('CHAIR')).status, 404);
  await checkAxe(page);
  await checkWidth(page);
  assert.equal(await button(page, 'Import 2 rows').count(), 0);
  await page.getByText('Row 4: UNIT_PRICE').waitFor();
  await page.getByLabel('Import without rejected rows').check();
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

test('rejected rows have the numbers of the spreadsheet, and a long file is sent in pieces', async (context) => {
  const page = await openAs(context, service, clerk);
  await goTo(page, '/imports?type=customers');
  const choose = (text: string) =>
    page.getByLabel('File', { exact: true }).setInputFiles(fileOf('customers.csv', `CUSTOMER_CODE,NOTES\n${text}`));
  await choose('A,"1\n1"\n,\nB,1,2\nC,5" pipe\n');
  await button(page, 'Check the rows').click();
  await page.getByText('1 row can be imported, 0 can be updated, 2 rejected').waitFor();
  await page.getByText('Row 4: The row has 3 cells, but the first line has 2.').waitFor();
  await page.getByText('Row 5: There is a quote inside a cell, at line 6, column 4.').waitFor();
  await choose('');
  await page.getByText('The file has no rows below its first line. Add at least one.').waitFor();
  const rows = Array.from({ length: 1201 }, (_, at) => `LONG-${at},${'n'.repeat(at % 90)}\n`);
  await choose([...rows, 'LONG-0,again\n'].join(''));
  await button(page, 'Check the rows').click();
  await page.getByText('Row 1203: Row 2 has the same CUSTOMER_CODE.').waitFor();
  assert.equal(await page.getByRole('button', { name: /^Import \d/ }).count(), 0);
  await choose(rows.join(''));
  await button(page, 'Check the rows').click();
  await button(page, 'Import 1,201 rows').click();
  await page.getByText('1,201 rows imported, 0 updated, 0 rejected').waitFor();
});

test('files of eight shops are imported by page and by command with the same result', async (context) => {
  const [byPage, byCommand] = [await Shop.open(service, 'by-page'), await Shop.open(service, 'by-command')];
  const page = await openAs(context, service, await Visitor.make(service, 'by-page', 'owner'));
  const folder = temporaryFolder();
  for (const [shopName, { recordType, columns, content, fields, records }] of Object.entries(SHOP_FILES)) {
    const file = join(folder, 'shop.csv');
    writeFileSync(file, content);
    const chosen = Object.entries(columns);
    const map = chosen.flatMap(([column, field]) => ['--map', `${field}=${column}`]);
    const report = await byCommand.run('import', 'by-command', recordType, file, ...map, '--skip-unknown');
    assert.equal(Number(report['imported']), records.length, shopName);
    await goTo(page, `/imports?type=${recordType}`);
    await page.getByLabel('File', { exact: true }).setInputFiles(file);
    for (const [column, field] of chosen) await page.getByLabel(column, { exact: true }).selectOption(field);
    await button(page, 'Check the rows').click();
    const count = records.length === 1 ? '1 row' : `${records.length} rows`;
    await button(page, `Import ${count}`).click();
    await page.getByText(`${count} imported, 0 updated, 0 rejected`).waitFor();
    const read = async (one: Shop) => {
      const lists = { orders: one.queryOrders, customers: one.queryCustomers, inventory: one.queryInventoryItems };
      return (await lists[recordType]([])).body.data as Values[];
    };
    const withoutDates = (record: Values) => ({ ...record, CREATE_DATE: '', MODIFIED_DATE: '' });
    const imported = (await read(byCommand)).map(withoutDates);
    assert.deepEqual((await read(byPage)).map(withoutDates), imported, shopName);
    const shown = imported.map((record) => [Object.values(record)[0], ...cellsOf(record, fields)].join('|'));
    assert.deepEqual(
      records.filter((record) => !shown.includes(record)),
      [],
      `${shopName}: ${shown.join('\n')}`,
    );
  }
});

test('an import removes the marks with which Export CSV guards against formulas', async (context) => {
  const page = await openAs(context, service, clerk);
  const values = { CUSTOMER_CODE: 'PHONE', CUSTOMER_NAME: '=1+1', BPHONE: '+49 30 1234567' };
  await shop.load('customers', [values]);
  await goByMenu(page, 'Customers');
  await waitUntilLoaded(page);
  const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Export CSV').click()]);
  const file = await download.path();
  assert.match(await readFile(file, 'utf8'), /'=1\+1/);
  await goTo(page, '/imports?type=customers');
  await page.getByLabel('File', { exact: true }).setInputFiles({
    name: 'customers.csv',
    mimeType: 'text/csv',
    buffer: await readFile(file),
  });
  await page.getByLabel('Update existing records').check();
  await button(page, 'Check the rows').click();
  await page
    .getByRole('button', { name: /^Import / })
    .last()
    .click();
  await page.getByText(/0 rows imported, [\d,]+ updated, 0 rejected/).waitFor();
  const { data } = (await shop.getCustomer('PHONE')).body as { data: Values };
  assert.deepEqual(cellsOf(data, 'CUSTOMER_NAME BPHONE'), ['=1+1', '+49 30 1234567']);
});

test('a tab that is used again shows the changes that another has saved', async (context) => {
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

test('while the service cannot be reached, the rows stay, and the next try shows the new ones', async (context) => {
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
