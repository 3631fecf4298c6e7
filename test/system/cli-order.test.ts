/**
 * Tests the life of an order at the command line: stages, a partial invoice, serial numbers, tracking numbers, and the
 * stock that follows.
 */
import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { cellsOf } from '../kit/lists.ts';
import { openCommandLine } from '../kit/cli-process.ts';

type Values = Record<string, string>;
interface Shown {
  order: Values;
  lines: Values[];
  sameReference: { orderNumber: string; stage: string }[];
}

const INVENTORY = 'PART_CODE,PART_DESCRIPTION,QTY_ONHAND,CARE_PLAN\nMB/14,Notebook,10,N\nPLAN+3Y,Care plan,0,Y\n';
const ORDERS =
  'ORDER_NUMBER,ORDER_TYPE,REFERENCE_NUMBER,ORDER_TOTAL\n1000,quote,#1001,5000\n1001,worksheet,,\n1002,sales_order,,\n' +
  '1003,quote,\u001b[2Jweb,\n1004,quote,\u001b[2Jweb,\n';
const LINES = 'ORDER_NUMBER,PART_CODE,QUANTITY\n1000,MB/14,3\n1000,PLAN+3Y,3\n1001,MB/14,2\n';

suite('the life of an order', () => {
  const { ask, run, refused, file } = openCommandLine();
  const show = (orderNumber: string): Promise<Shown> => ask<Shown>('order show acme', orderNumber);
  /** Returns the stock of MB/14: on hand − committed = available. */
  const stock = async (): Promise<string> => {
    const { records } = await ask<{ records: Values[] }>('export acme inventory');
    const { QTY_ONHAND, QTY_COMMITTED, QTY_AVAILABLE } = records.find(({ PART_CODE }) => PART_CODE === 'MB/14')!;
    return `${QTY_ONHAND} − ${QTY_COMMITTED} = ${QTY_AVAILABLE}`;
  };

  const cellsOfLines = ({ lines }: Shown): string[] =>
    lines.map((line) => cellsOf(line, 'PART_CODE QUANTITY NUMBER_SHIPPED SERIAL_NUMBERS').join(' '));

  before(async () => {
    await ask('tenant create acme --name Acme --create');
    await ask('import acme inventory', file('inventory.csv', INVENTORY));
    await ask('import acme orders', file('orders.csv', ORDERS));
    await ask('import acme lines', file('lines.csv', LINES));
    const answer = { teamID: 'acme', orderNumber: '1000', stage: 'sales_order', backorder: null };
    assert.deepEqual(await ask('order approve acme 1000'), answer);
  });

  test('an invalid command is refused and changes nothing', async () => {
    const invoice = 'order invoice acme 1000';
    assert.equal((await refused('order approve acme 1000')).code, 'STAGE_NOT_ALLOWED');
    assert.equal((await refused(`${invoice} --line 1=4`)).code, 'QUANTITY_NOT_ALLOWED');
    assert.equal((await refused(`${invoice} --line 7=1`)).code, 'LINE_NOT_FOUND');
    assert.equal((await refused(`${invoice} --line 1=1 --serial 1=A,B`)).code, 'SERIALS_NOT_ALLOWED');
    assert.equal((await refused(`${invoice} --line 2=1 --serial 2=A`)).code, 'SERIALS_NOT_ALLOWED');
    for (const words of ['1=.', '1=1..2']) assert.equal((await run(`${invoice} --line ${words}`)).exitCode, 2, words);
    assert.equal((await refused('order invoice acme 1002')).code, 'STAGE_NOT_ALLOWED');
    assert.equal((await refused('order approve acme 9')).code, 'ORDER_NOT_FOUND');
    assert.equal((await refused('order show acme 9')).code, 'NOT_FOUND');
    assert.equal(await stock(), '10 − 3 = 7');
  });

  test('a partial invoice reduces stock by its units; its backorder stays committed', async () => {
    const words = '--line 1=2 --line 2=2 --serial 1=SN1 --serial 1=SN2 --tracking T1,T2 --tracking T3';
    const { backorder, stage } = await ask<{ backorder: string; stage: string }>(`order invoice acme 1000 ${words}`);
    assert.equal(stage, 'invoice');
    assert.equal(await stock(), '8 − 1 = 7');

    const invoice = await show('1000');
    assert.deepEqual([invoice.order['ORDER_TYPE'], invoice.order['TRACKING_NUMBERS']], ['invoice', 'T1,T2,T3']);
    assert.deepEqual(cellsOfLines(invoice), ['MB/14 2 2 SN1,SN2', 'PLAN+3Y 2 2 ']);
    assert.deepEqual(invoice.sameReference, [{ orderNumber: backorder, stage: 'sales_order' }]);

    const open = await show(backorder);
    const orderCells = cellsOf(open.order, 'ORDER_TYPE REFERENCE_NUMBER ORDER_TOTAL');
    assert.deepEqual(orderCells, ['sales_order', '#1001', '']);
    assert.deepEqual(cellsOfLines(open), ['MB/14 1 0 ', 'PLAN+3Y 1 0 ']);
    assert.deepEqual(open.sameReference, [{ orderNumber: '1000', stage: 'invoice' }]);
    assert.equal(new Set([...invoice.lines, ...open.lines].map((line) => line['LINE_REF_LOCK_CODE'])).size, 4);

    const last = await run('order invoice acme', backorder);
    assert.equal(last.out, `Order ${backorder} is now an invoice.\n`);
    assert.equal(await stock(), '7 − 0 = 7');
    assert.equal((await refused('order invoice acme', backorder)).code, 'STAGE_NOT_ALLOWED');
  });

  test('a return is a new order; its units are in stock again unless --no-restock is given', async () => {
    const back = await ask<Record<string, string>>('order return acme 1000 --line 1=1 --serial 1=SN1 --reason torn');
    assert.deepEqual(back, { teamID: 'acme', orderNumber: back['orderNumber'], returnOf: '1000' });
    assert.equal(await stock(), '8 − 0 = 8');
    const { order, lines } = await show(back['orderNumber']!);
    assert.deepEqual([order['RETURN_OF'], lines[0]!['QUANTITY'], lines[0]!['SERIAL_NUMBERS']], ['1000', '-1', 'SN1']);
    const { out } = await run('order return acme 1000 --line 1=1 --no-restock');
    assert.match(out, /^Order \d+ is the return of order 1000\.\n$/);
    assert.equal(await stock(), '8 − 0 = 8');
    assert.equal((await refused('order return acme 1000 --line 1=1')).code, 'QUANTITY_NOT_ALLOWED');
    assert.equal((await refused('order void acme 1000')).code, 'ORDER_CLOSED');
    await ask('order void acme', back['orderNumber']!);
    assert.equal(await stock(), '7 − 0 = 7');
  });

  test('the output for people has the order, its lines and the other records of its reference', async () => {
    const { out } = await run('order show acme 1000');
    assert.match(out, /^ORDER_NUMBER +1000$/m);
    assert.match(out, /^1 +MB\/14 +Notebook +2 +2 +SN1,SN2 /m);
    assert.match(out, /^Other orders of #1001:\n(\d+ +invoice( +cancelled)?\s*\n?)+$/m);
    assert.doesNotMatch(out, /ORDER_STATUS/);
    assert.match((await run('order show acme 1003')).out, /^Other orders of \ufffd\[2Jweb:\n1004 /m);
  });
});
