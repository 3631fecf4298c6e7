/** Tests the pages of a query: their size, whether they announce more pages, and that no record is lost or repeated. */
import assert from 'node:assert/strict';
import { crc32 } from 'node:zlib';
import { test } from 'node:test';
import { times } from '../kit/lists.ts';
import { expectRefusal, Shop, succeed, type Filters, type Values } from '../kit/records.ts';
import { type Answer } from '../kit/service.ts';

const PARTS = 5001;

const shop = await Shop.shared();
const { service } = shop;
const parts = times(PARTS, (index) => ({
  PART_CODE: String(index + 1),
  CATEGORY: index % 2 === 0 ? 'even' : 'odd',
  BARCODE: `barcode ${index}`,
}));
await shop.load('inventory', parts);

const query = (maxReturn?: string, more: Values = {}, filters: Filters = []): Promise<Answer> =>
  shop.queryInventoryItems(filters, { ...(maxReturn !== undefined && { maxReturn }), ...more });

/** Checks how many records an answer has, and whether it says that there are more. */
async function expectPage(answering: Promise<Answer>, records: number, hasMore: boolean): Promise<Answer> {
  const answer = await answering;
  assert.equal((await succeed<Values[]>(Promise.resolve(answer))).length, records);
  assert.equal(answer.headers.get('x-has-more'), hasMore ? 'true' : null);
  assert.equal(answer.headers.get('x-next-cursor') !== null, hasMore);
  return answer;
}

/** Reads all pages of a query, calls `between` between two pages, and returns the keys in the order of arrival. */
async function readAll(
  ask: (page: Values) => Promise<Answer>,
  key: string,
  between: () => Promise<void> = async () => undefined,
): Promise<string[]> {
  const keys: string[] = [];
  let page: Values = {};
  for (;;) {
    const answer = await ask(page);
    const records = await succeed<Values[]>(Promise.resolve(answer));
    assert.ok(records.length > 0, 'a page promised by X-Has-More has records');
    keys.push(...records.map((record) => record[key]!));
    const cursor = answer.headers.get('x-next-cursor');
    if (cursor === null) return keys;
    page = { cursor };
    await between();
  }
}

const numbers = (from: number, to: number): string[] => times(to - from + 1, (index) => String(from + index));

// Holds S6.15, S6.17.
test('without maxReturn, a page has 500 records; X-Has-More and X-Next-Cursor say that there are more', async () => {
  const { headers } = await expectPage(query(), 500, true);
  await expectPage(query(undefined, { cursor: headers.get('x-next-cursor')! }), 500, true);
});

// Holds S6.15.
test('maxReturn limits the records; X-Has-More is absent when a page contains the last one', async () => {
  await expectPage(query('1'), 1, true);
  await expectPage(query('007'), 7, true);
  const few: Filters = ['1', '2'].map((value) => ({ field: 'PART_CODE', value, conjunction: 'OR' }));
  await expectPage(query('1', {}, few), 1, true);
  await expectPage(query('2', {}, few), 2, false);
  await expectPage(query('3', {}, few), 2, false);
});

// Holds S6.15, S6.17.
test('a maxReturn above 5,000 is treated as 5,000', async () => {
  for (const maxReturn of ['5000', '5001', '99999999999999999999']) await expectPage(query(maxReturn), 5000, true);
});

// Holds S6.15, S6.17.
test('a maxReturn that is not a positive whole number is refused', async () => {
  for (const maxReturn of ['0', '-1', '1.5', '1e3', '0x10', '+5', ' 5', '5 ', 'all', '', '٣', '000'])
    expectRefusal(await query(maxReturn), 400, 'INVALID_PARAMETER', 'maxReturn');
  const twice = ['5', '6'].map((value) => ['maxReturn', value]);
  const answer = await service.call(shop.keys, 'POST', '/inventory/query', { query: twice, body: [] });
  expectRefusal(answer, 400, 'PARAMETER_CONFLICT', 'maxReturn');
});

// Holds S6.3.
test('the pages together have every record once, in order, for any filters and page size', async () => {
  const even = { field: 'CATEGORY', value: 'even' };
  const all = numbers(1, PARTS);
  const ofEven = all.filter((code) => Number(code) % 2 === 1);
  const of49 = all.filter((code) => String(Number(code) - 1).startsWith('49'));
  const queries: [Filters, maxReturn: string, expected: string[]][] = [
    [[], '1999', all],
    [[even], '1250', ofEven],
    [[{ field: 'BARCODE', value: 'CODE 49', contains: true }], '50', of49],
    [[{ field: 'CATEGORY', value: 'eve', contains: true }], '1250', ofEven],
    [[even, { field: 'CATEGORY', value: 'odd', conjunction: 'OR' }], '1700', all],
    [[even, { field: 'UNIT_COST', value: '', conjunction: 'OR' }], '2501', all],
  ];
  for (const [filters, maxReturn, expected] of queries) {
    const found = await readAll((page) => query(maxReturn, page, filters), 'PART_CODE');
    assert.deepEqual(found, expected, JSON.stringify(filters));
  }
});

// Holds S6.15, S6.17.
test('no record is lost or returned twice while customers are added before, after and between', async () => {
  const codes = ['1', '5', '20', '300', 'B', 'D', 'F', 'H', 'J', 'L'];
  const customers = codes.map((CUSTOMER_CODE) => ({ CUSTOMER_CODE }));
  await shop.load('customers', customers);
  let round = 0;
  const added: string[] = [];
  const add = async (): Promise<void> => {
    round++;
    for (const code of [String(round + 400), `A${round}`, `E${round}`, `Z${round}`, `0${round}`])
      added.push(await succeed<string>(shop.createCustomer({ CUSTOMER_CODE: code })));
  };
  const seen = await readAll((page) => shop.queryCustomers([], { maxReturn: '3', ...page }), 'CUSTOMER_CODE', add);
  assert.ok(round >= 3);
  assert.equal(new Set(seen).size, seen.length, 'a record came twice');
  const found = seen.filter((code) => codes.includes(code));
  assert.deepEqual(found, codes);
  assert.ok(seen.every((code) => codes.includes(code) || added.includes(code)));
  const got = (await readAll((page) => shop.queryCustomers([], page), 'CUSTOMER_CODE')).length;
  assert.deepEqual(got, codes.length + added.length);
});

test('a cursor continues after its record even if the record has changed or no longer matches', async () => {
  const ask = (page: Values): Promise<Answer> =>
    shop.queryCustomers([{ field: 'BCITY', value: 'Here' }], { maxReturn: '1', ...page });
  for (const CUSTOMER_CODE of ['moves 1', 'moves 2', 'moves 3'])
    await succeed(shop.createCustomer({ CUSTOMER_CODE, BCITY: 'Here' }));
  let moved = 0;
  const move = async (): Promise<void> =>
    void (await succeed(shop.updateCustomer({ CUSTOMER_CODE: `moves ${++moved}`, BCITY: 'There' })));
  assert.deepEqual(await readAll(ask, 'CUSTOMER_CODE', move), ['moves 1', 'moves 2', 'moves 3']);
});

test('INVALID_CURSOR for an impossible key, and for a checksum in place of a signature', async () => {
  const signature = Buffer.from((await query('1')).headers.get('x-next-cursor')!, 'base64url').subarray(0, 16);
  for (const key of ['~\0', '', '00012']) {
    const checksum = Buffer.alloc(4);
    checksum.writeUInt32BE(crc32(`i${key}`));
    const checked = `i${Buffer.concat([checksum, Buffer.from(key)]).toString('base64url')}`;
    for (const cursor of [checked, Buffer.concat([signature, Buffer.from(key)]).toString('base64url')])
      expectRefusal(await query('1', { cursor }), 400, 'INVALID_CURSOR', 'cursor');
  }
});

test('INVALID_CURSOR for an invented, shortened or changed cursor', async () => {
  const cursor = (await query('1234')).headers.get('x-next-cursor')!;
  const cut = times(cursor.length - 1, (index) => cursor.slice(0, index + 1));
  const changed = Array.from(
    cursor,
    (character, at) => `${cursor.slice(0, at)}${character === 'A' ? 'B' : 'A'}${cursor.slice(at + 1)}`,
  );
  const madeUp = ['x', '5', 'i00015', `i${Buffer.from('00015').toString('base64url')}`, "' OR 1=1", '\0'];
  for (const wrong of [...cut, ...changed, ...madeUp, cursor.slice(1), `${cursor}A`, `${cursor}=`, `${cursor} `])
    expectRefusal(await query('1', { cursor: wrong }), 400, 'INVALID_CURSOR', 'cursor');
});
