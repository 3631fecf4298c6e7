/** Tests listMovements: GET /stock/movements, the ledger of a part. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times } from '../kit/lists.ts';
import { expectRefusal, Shop, succeed, type Values } from '../kit/records.ts';
import type { Answer, Keys } from '../kit/service.ts';

const shop = await Shop.shared('ledger');
const { service } = shop;
const office = await shop.run<Keys & Values>('keys', 'create', 'ledger', '--name', 'till', '--scope', 'office');
const reader = await shop.run<Keys & Values>('keys', 'create', 'ledger', '--name', 'viewer', '--scope', 'read');

const ask = (partCode: string, query: Values = {}): Promise<Answer> =>
  service.call(reader, 'GET', '/stock/movements', { query: { partCode, ...query } });
const run = (path: string, body: object, method = 'POST'): Promise<Values> =>
  succeed(service.call(office, method, path, { body }));
const placeOf = ({ headers }: Answer): (string | null)[] => [headers.get('x-next-after'), headers.get('x-has-more')];

/** Reads all pages, each after the place that the one before names. */
async function readLedger(partCode: string, query: Values = {}): Promise<{ rows: Values[]; pages: number }> {
  const rows: Values[] = [];
  let pages = 0;
  for (let after = '0'; ; pages++) {
    const answer = await ask(partCode, { ...query, after });
    rows.push(...(await succeed<Values[]>(Promise.resolve(answer))));
    const [next, hasMore] = placeOf(answer);
    assert.equal(next, rows.at(-1)?.['NUMBER'] ?? '0');
    if (hasMore === 'false') return { rows, pages: pages + 1 };
    assert.equal(hasMore, 'true');
    after = next!;
  }
}

// Holds S6.31.
test('200 the movements of a part are listed in ascending order, with who, why, the order and the serial numbers', async () => {
  const PART_CODE = 'A/1#x';
  await run('/inventory/create', { PART_CODE, SERIALIZED: 'Y' }, 'PUT');
  await run('/stock/receive', { PART_CODE, QUANTITY: '3', SERIAL_NUMBERS: 'S1, S2,S3', REASON: 'PO 7' });
  await run('/stock/count', { PART_CODE, QUANTITY: '2', SERIAL_NUMBERS: 'S1,S2' });
  await run('/stock/adjust', { PART_CODE, QUANTITY: '-1', SERIAL_NUMBERS: 'S1', REASON: 'broken' });
  const ORDER_NUMBER = await shop.newOrder({ ORDER_TYPE: 'sales_order' });
  await succeed(shop.addLineItem({ ORDER_NUMBER, PART_CODE, SERIAL_NUMBERS: 'S2' }));
  await run('/orders/invoice', { ORDER_NUMBER });
  await run('/orders/void', { ORDER_NUMBER, REASON: 'wrong customer' });
  const answer = await ask(PART_CODE);
  const rows = answer.body.data as Values[];
  const none = { ORDER_NUMBER: '', DONE_BY: 'till', REASON: '', SERIAL_NUMBERS: '' };
  assert.deepEqual(
    rows.map(({ AT, ...row }) => {
      assert.match(AT!, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      return row;
    }),
    [
      { NUMBER: '1', KIND: 'received', QUANTITY: '3', AFTER: '3', ...none, REASON: 'PO 7', SERIAL_NUMBERS: 'S1,S2,S3' },
      { NUMBER: '2', KIND: 'counted', QUANTITY: '-1', AFTER: '2', ...none, SERIAL_NUMBERS: 'S3' },
      { NUMBER: '3', KIND: 'adjusted', QUANTITY: '-1', AFTER: '1', ...none, REASON: 'broken', SERIAL_NUMBERS: 'S1' },
      { NUMBER: '4', KIND: 'sold', QUANTITY: '-1', AFTER: '0', ...none, ORDER_NUMBER },
      { NUMBER: '5', KIND: 'returned', QUANTITY: '1', AFTER: '1', ...none, ORDER_NUMBER, REASON: 'wrong customer' },
    ],
  );
  assert.deepEqual(placeOf(answer), ['5', 'false']);
});

// Holds S6.31.
test('200 pages continue after the number of the last movement, also after movements that were added in between', async () => {
  await shop.load('inventory', [
    { PART_CODE: 'P', QTY_ONHAND: '1' },
    { PART_CODE: 'P2', QTY_ONHAND: '9' },
  ]);
  for (const QUANTITY of ['2', '3', '4', '5']) await run('/stock/receive', { PART_CODE: 'P', QUANTITY });
  const { rows, pages } = await readLedger('P', { maxReturn: '2' });
  const [imported] = rows;
  assert.deepEqual([imported!['KIND'], imported!['DONE_BY']], ['imported', 'import']);
  assert.deepEqual([rows.map(({ NUMBER }) => NUMBER), pages], [['1', '2', '3', '4', '5'], 3]);
  assert.deepEqual((await readLedger('P')).rows, rows);
  const end = await ask('P', { after: '5' });
  assert.deepEqual([end.body.data, placeOf(end)], [[], ['5', 'false']]);
  await run('/stock/adjust', { PART_CODE: 'P', QUANTITY: '1', REASON: 'found' });
  assert.deepEqual(
    (await succeed<Values[]>(ask('P', { after: '5' }))).map(({ NUMBER, AFTER }) => [NUMBER, AFTER]),
    [['6', '16']],
  );
});

// Holds S6.31.
test('200 a page also ends at a megabyte, and the next pages have the other movements', async () => {
  await run('/inventory/create', { PART_CODE: 'MANY' }, 'PUT');
  for (let at = 0; at < 10; at++) {
    const serials = times(1000, (unit) => `${at}-${unit}-`.padEnd(128, 'x')).join();
    await run('/stock/receive', { PART_CODE: 'MANY', QUANTITY: '1000', SERIAL_NUMBERS: serials });
  }
  const { rows, pages } = await readLedger('MANY');
  assert.deepEqual([rows.map(({ NUMBER }) => NUMBER), pages], [times(10, (at) => String(at + 1)), 2]);
  assert.equal(
    rows.reduce((sum, { QUANTITY }) => sum + Number(QUANTITY), 0),
    10_000,
  );
});

// Holds S6.31.
test('404 of an unknown part; a part without movements has an empty ledger', async () => {
  const message = expectRefusal(await ask('nothing'), 404, 'NOT_FOUND', 'partCode');
  assert.match(message, /part 'nothing'/);
  await run('/inventory/create', { PART_CODE: 'NEW' }, 'PUT');
  const empty = await ask('NEW');
  assert.deepEqual([empty.body.data, placeOf(empty)], [[], ['0', 'false']]);
});

test('400 parameters that are missing or wrong', async () => {
  const call = (query: Values): Promise<Answer> => service.call(reader, 'GET', '/stock/movements', { query });
  expectRefusal(await call({}), 400, 'MISSING_PARAMETER', 'partCode');
  expectRefusal(await call({ partCode: '' }), 400, 'MISSING_PARAMETER', 'partCode');
  expectRefusal(await call({ partCode: 'a\0b' }), 400, 'INVALID_VALUE', 'partCode');
  expectRefusal(await ask('P', { before: '3' }), 400, 'UNKNOWN_PARAMETER', 'before');
  for (const after of ['-1', '1.5', 'x', '1'.repeat(16), ''])
    expectRefusal(await ask('P', { after }), 400, 'INVALID_PARAMETER', 'after');
  for (const maxReturn of ['0', 'x'])
    expectRefusal(await ask('P', { maxReturn }), 400, 'INVALID_PARAMETER', 'maxReturn');
});
