/** Tests that an order has at most 10,000 lines, whether calls add them or an import. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { range, times } from '../kit/lists.ts';
import { expectRefusal, Shop, succeed, type Values } from '../kit/records.ts';
import { temporaryFolder } from '../kit/service.ts';

const LINES_MAX = 10_000;
interface Report {
  imported: number;
  rejections: { row: number; reason: string; field: string }[];
}

const shop = await Shop.shared();
const orders = (await Promise.all(times(3, () => succeed<string>(shop.createOrder({}))))) as [string, string, string];
const reason = (order: string): string => `Order ${order} already has 10000 lines, the maximum.`;

/** Imports lines, and returns the exit code and the report. */
async function importLines(rows: readonly Values[]): Promise<{ code: number | null; report: Report }> {
  const names = Object.keys(rows[0]!);
  const file = join(temporaryFolder(), 'lines.csv');
  writeFileSync(file, [names, ...rows.map((row) => names.map((name) => row[name] ?? ''))].join('\n'));
  const { code, json } = await shop.service.command('import', shop.keys.teamID, 'lines', file, '--partial', '--json');
  return { code, report: json() as Report };
}

test('400 TOO_MANY_LINES for the line after the 10,000th; the lines stay, and can still be changed', async () => {
  const [ORDER_NUMBER] = orders;
  // The line numbers have gaps, because only the count of lines is limited.
  await shop.load(
    'lines',
    range(LINES_MAX - 1).map((line) => ({ ORDER_NUMBER, LINE_NUMBER: String(line * 2) })),
  );
  assert.equal((await succeed(shop.addLineItem({ ORDER_NUMBER })))['LINE_NUMBER'], String(LINES_MAX * 2 - 1));
  const answer = await shop.addLineItem({ ORDER_NUMBER });
  expectRefusal(answer, 400, 'TOO_MANY_LINES', 'ORDER_NUMBER');
  assert.equal(answer.body.message, reason(ORDER_NUMBER));
  const lines = await shop.lines(ORDER_NUMBER);
  assert.equal(lines.length, LINES_MAX);
  const { LINE_REF_LOCK_CODE } = lines[0]!;
  await succeed(shop.updateLineItem({ ORDER_NUMBER, LINE_REF_LOCK_CODE, QUANTITY: '2' }));
});

test('an import rejects the lines after the 10,000th with the reason, and imports the others', async () => {
  const [full, filled, other] = orders;
  const rows = [
    { ORDER_NUMBER: full, LINE_NUMBER: '' },
    { ORDER_NUMBER: full, LINE_NUMBER: '1' },
    ...times(LINES_MAX + 2, () => ({ ORDER_NUMBER: filled })),
    { ORDER_NUMBER: other },
  ];
  const { code, report } = await importLines(rows);
  assert.equal(code, 1);
  assert.equal(report.imported, LINES_MAX + 1);
  const expected = [2, 3, LINES_MAX + 4, LINES_MAX + 5].map((row) => ({
    row,
    reason: reason(row < 4 ? full : filled),
    field: 'ORDER_NUMBER',
  }));
  assert.deepEqual(report.rejections, expected);
  assert.equal((await shop.lines(filled)).length, LINES_MAX);
});

test('an order of a few lines with high numbers accepts more', async () => {
  const [, , ORDER_NUMBER] = orders;
  const { code } = await importLines([
    { ORDER_NUMBER, LINE_NUMBER: '999999999' },
    { ORDER_NUMBER, LINE_NUMBER: '20000' },
  ]);
  assert.equal(code, 0);
  for (const number of ['1000000000', '1000000001'])
    assert.equal((await succeed(shop.addLineItem({ ORDER_NUMBER })))['LINE_NUMBER'], number);
  const numbers = (await shop.lines(ORDER_NUMBER)).map(({ LINE_NUMBER }) => LINE_NUMBER);
  assert.deepEqual(numbers, ['1', '20000', '999999999', '1000000000', '1000000001']);
});

test('a long order is changed and cancelled whole; a batch moves the stock of at most 10,000 lines', async () => {
  const part = (index: number): string => `PART-${index % 250}`;
  await shop.load(
    'inventory',
    times(250, (index) => ({ PART_CODE: part(index), QTY_ONHAND: '100' })),
  );
  const ORDER_NUMBER = await shop.newOrder({ ORDER_TYPE: 'sales_order' });
  await shop.load(
    'lines',
    times(LINES_MAX, (index) => ({ ORDER_NUMBER, PART_CODE: part(index), QUANTITY: index % 2 ? '1.5' : '2' })),
  );
  const committed = async (): Promise<string[]> => {
    const found = await succeed<Values[]>(shop.queryInventoryItems([]));
    return [...new Set(found.map(({ QTY_COMMITTED, QTY_AVAILABLE }) => `${QTY_COMMITTED} ${QTY_AVAILABLE}`))];
  };
  const held = ['80 20', '60 40'];
  const free = ['0 100'];
  const dropShip = (value: string): object => ({ operation: 'updateOrder', body: { ORDER_NUMBER, DROP_SHIP: value } });
  const batch = (...steps: object[]) => shop.service.call(shop.keys, 'POST', '/batch', { body: steps });
  assert.deepEqual(await committed(), held);
  const refused = await batch(dropShip('Y'), dropShip('N'));
  expectRefusal(refused, 400, 'BATCH_TOO_LONG');
  assert.equal(refused.body.step, 1);
  assert.deepEqual(await committed(), held, 'nothing is written');
  assert.equal((await batch(dropShip('Y'))).status, 200);
  assert.deepEqual(await committed(), free);
  await succeed(shop.updateOrder({ ORDER_NUMBER, DROP_SHIP: 'N' }));
  assert.deepEqual(await committed(), held);
  await succeed(shop.cancelOrder({ ORDER_NUMBER }));
  assert.deepEqual(await committed(), free);
});
