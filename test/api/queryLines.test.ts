/** Tests queryLines: POST /lines/query, the lines of all orders. What filters mean is tested in filters.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times } from '../kit/lists.ts';
import { expectRefusal, FIELDS, Shop, succeed, valuesOf, type Filters, type Values } from '../kit/records.ts';
import type { Keys } from '../kit/service.ts';

const shop = await Shop.shared('lines');
const { service } = shop;

const NUMBERS = ['9', '10', '010', 'A', 'A\u0001', 'A\u0001B', 'A\t', 'A 1', 'B'];
await shop.load(
  'orders',
  NUMBERS.toReversed().map((ORDER_NUMBER) => ({ ORDER_NUMBER, ORDER_TYPE: 'quote' })),
);
const LINES = [
  { ORDER_NUMBER: '10', LINE_NUMBER: '2', PART_CODE: 'P', QUANTITY: '2', SERIAL_NUMBERS: 'S1, S2' },
  { ORDER_NUMBER: '10', LINE_NUMBER: '10', PART_CODE: 'Q', QUANTITY: '1.5', SERIAL_NUMBERS: '', DESCRIPTION: 'Größe' },
  { ORDER_NUMBER: '9', LINE_NUMBER: '1', PART_CODE: 'P', QUANTITY: '3', SERIAL_NUMBERS: 'S2,S12,S' },
  { ORDER_NUMBER: '9', LINE_NUMBER: '3', PART_CODE: 'p', QUANTITY: '1', SERIAL_NUMBERS: '' },
  ...NUMBERS.slice(2).map((ORDER_NUMBER) => ({ ORDER_NUMBER, LINE_NUMBER: '1', PART_CODE: 'Z', QUANTITY: '9' })),
];
await shop.load(
  'lines',
  LINES.map(
    ({ ORDER_NUMBER, LINE_NUMBER, PART_CODE, QUANTITY, SERIAL_NUMBERS = '', DESCRIPTION = 'it' }: Values) =>
      ({ ORDER_NUMBER, LINE_NUMBER, PART_CODE, QUANTITY, SERIAL_NUMBERS, DESCRIPTION }) as Values,
  ),
);

const find = async (filters: Filters, query: Values = {}): Promise<Values[]> =>
  succeed<Values[]>(shop.queryLines(filters, query));
const nameOf = ({ ORDER_NUMBER, LINE_NUMBER }: Values): string => `${ORDER_NUMBER}/${LINE_NUMBER}`;
const findNames = async (...filters: Filters): Promise<string[]> => (await find(filters)).map(nameOf);
/** The lines in the order of their orders and numbers. */
const IN_ORDER = ['9/1', '9/3', '10/2', '10/10', ...NUMBERS.slice(2).map((number) => `${number}/1`)];

// Holds S6.32.
test('200 the lines of all orders in the order of their orders and numbers, with all their fields', async () => {
  const lines = await find([]);
  assert.deepEqual(lines.map(nameOf), IN_ORDER);
  assert.deepEqual(Object.keys(lines[0]!), FIELDS.lines);
  assert.deepEqual(lines.slice(0, 2), await shop.lines('9'));
});

// Holds S6.32.
test('200 exact values of the four indexed fields find their lines, each serial number alone', async () => {
  assert.deepEqual(await findNames({ field: 'PART_CODE', value: 'P' }), ['9/1', '10/2']);
  for (const [at, number] of NUMBERS.entries())
    assert.deepEqual(
      await findNames({ field: 'ORDER_NUMBER', value: number }),
      IN_ORDER.filter((name) => name.startsWith(`${number}/`)),
      `order ${at}`,
    );
  assert.deepEqual(await findNames({ field: 'ORDER_NUMBER', op: 'in', value: ['A', '9', 'none'] }), [
    '9/1',
    '9/3',
    'A/1',
  ]);
  const [line] = await find([{ field: 'PART_CODE', value: 'Q' }]);
  const code = { field: 'LINE_REF_LOCK_CODE', value: line!['LINE_REF_LOCK_CODE'] };
  assert.deepEqual(await find([code]), [line]);
  const serial = (value: unknown, op = 'eq') => findNames({ field: 'SERIAL_NUMBERS', value, op });
  assert.deepEqual(await serial('S1'), ['10/2']);
  assert.deepEqual(await serial('S2'), ['9/1', '10/2']);
  assert.deepEqual(await serial('S'), ['9/1']);
  assert.deepEqual(await serial(['S1', 'S12'], 'in'), ['9/1', '10/2']);
  for (const none of ['S1, S2', 'S1,S2', ' S2', 's1', 'S3']) assert.deepEqual(await serial(none), [], none);
  assert.deepEqual(
    await serial('S2', 'ne'),
    IN_ORDER.filter((name) => name !== '9/1' && name !== '10/2'),
  );
  assert.deepEqual(
    await serial(''),
    IN_ORDER.filter((name) => name !== '9/1' && name !== '10/2'),
  );
  assert.deepEqual(
    await serial(['', 'S1'], 'in'),
    IN_ORDER.filter((name) => name !== '9/1'),
  );
  assert.deepEqual(await serial('', 'ne'), ['9/1', '10/2']);
  assert.deepEqual(await serial('S1, S', 'starts_with'), ['10/2']);
  assert.deepEqual(await serial('s12', 'contains'), ['9/1']);
});

// Holds S6.7, S6.32.
test('200 orders compare in the order of their numbers, and other fields by their types', async () => {
  for (const [at, value] of NUMBERS.entries()) {
    const upTo = (count: number): string[] =>
      IN_ORDER.filter((name) => NUMBERS.slice(0, count).some((number) => name.startsWith(`${number}/`)));
    const from = (count: number): string[] => IN_ORDER.slice(upTo(count).length);
    const expected = { lt: upTo(at), le: upTo(at + 1), gt: from(at + 1), ge: from(at) };
    for (const [op, names] of Object.entries(expected))
      assert.deepEqual(await findNames({ field: 'ORDER_NUMBER', op, value }), names, `${op} ${at}`);
  }
  assert.deepEqual(await findNames({ field: 'ORDER_NUMBER', op: 'starts_with', value: 'A\u0001' }), [
    'A\u0001/1',
    'A\u0001B/1',
  ]);
  assert.deepEqual(await findNames({ field: 'ORDER_NUMBER', op: 'starts_with', value: '1' }), ['10/2', '10/10']);
  assert.deepEqual(await findNames({ field: 'LINE_NUMBER', op: 'gt', value: '2' }), ['9/3', '10/10']);
  assert.deepEqual(await findNames({ field: 'LINE_NUMBER', op: 'in', value: ['2', 3] }), ['9/3', '10/2']);
  assert.deepEqual(await findNames({ field: 'LINE_NUMBER', op: 'starts_with', value: '10' }), ['10/10']);
  assert.deepEqual(await findNames({ field: 'DESCRIPTION', op: 'contains', value: 'GRÖSS' }), ['10/10']);
  const part = { field: 'PART_CODE', value: 'P' };
  assert.deepEqual(await findNames(part, { field: 'ORDER_NUMBER', op: 'gt', value: '9' }), ['10/2']);
  assert.deepEqual(await findNames(part, { field: 'SERIAL_NUMBERS', value: 'S12', conjunction: 'OR' }), [
    '9/1',
    '10/2',
  ]);
  assert.deepEqual(await findNames({ field: 'SERIAL_NUMBERS', value: 'S2' }, { field: 'QUANTITY', value: '3.0' }), [
    '9/1',
  ]);
});

// Holds S6.32.
test('200 pages of any size continue in any order, with chosen fields and a count', async () => {
  const any = [{ field: 'QUANTITY', op: 'gt', value: '0' }];
  const listed = [...IN_ORDER];
  const byPart = (await find([], { sort: 'PART_CODE' })).map(nameOf);
  assert.deepEqual(
    byPart.slice(0, 4),
    ['9/1', '10/2', '10/10', ...NUMBERS.slice(2).map((number) => `${number}/1`)].slice(0, 4),
  );
  const orders = {
    '': listed,
    ORDER_NUMBER: listed,
    '-ORDER_NUMBER': listed.toReversed(),
    PART_CODE: byPart,
    '-PART_CODE': byPart.toReversed(),
  };
  for (const filters of [[], any])
    for (const [sort, names] of Object.entries(orders))
      for (const maxReturn of ['1', '3', '50']) {
        const found: string[] = [];
        for (let cursor: string | null = ''; cursor !== null;) {
          const query = {
            maxReturn,
            count: 'exact',
            fields: 'LINE_NUMBER,ORDER_NUMBER',
            ...(sort && { sort }),
            ...(cursor && { cursor }),
          };
          const answer = await shop.queryLines(filters, query);
          found.push(...(await succeed<Values[]>(Promise.resolve(answer))).map(nameOf));
          assert.equal(answer.headers.get('x-total-count'), String(names.length));
          cursor = answer.headers.get('x-next-cursor');
        }
        assert.deepEqual(found, names, `${sort} ${maxReturn}`);
      }
  const [only] = await find([], { fields: 'PART_CODE', maxReturn: '1' });
  assert.deepEqual(only, { PART_CODE: 'P' });
});

// Holds S6.32.
test('200 writes change what is found: serial numbers of updates, partial invoices, and the lines of backorders', async () => {
  const office = await shop.run<Keys & Values>('keys', 'create', 'lines', '--name', 'till', '--scope', 'office');
  const ORDER_NUMBER = await shop.newOrder({ ORDER_TYPE: 'sales_order' });
  const line = await succeed(
    shop.addLineItem({ ORDER_NUMBER, PART_CODE: 'T', QUANTITY: '3', SERIAL_NUMBERS: 'T1,T2,T2' }),
  );
  const { LINE_REF_LOCK_CODE } = line;
  const serial = (value: string): Promise<string[]> => findNames({ field: 'SERIAL_NUMBERS', value });
  assert.deepEqual(await serial('T2'), [`${ORDER_NUMBER}/1`]);
  await succeed(shop.updateLineItem({ ORDER_NUMBER, LINE_REF_LOCK_CODE, SERIAL_NUMBERS: 'T2,T3' }));
  await succeed(shop.updateLineItem({ ORDER_NUMBER, LINE_REF_LOCK_CODE, DESCRIPTION: 'ÄRGER' }));
  assert.deepEqual(
    [await serial('T1'), await serial('T2'), await serial('T3')],
    [[], [`${ORDER_NUMBER}/1`], [`${ORDER_NUMBER}/1`]],
  );
  assert.deepEqual(await findNames({ field: 'DESCRIPTION', op: 'contains', value: 'ärg' }), [`${ORDER_NUMBER}/1`]);
  const lines = [{ LINE_REF_LOCK_CODE, QUANTITY: '1', SERIAL_NUMBERS: 'T3' }];
  const invoice = await succeed(service.call(office, 'POST', '/orders/invoice', { body: { ORDER_NUMBER, lines } }));
  assert.deepEqual(
    [await serial('T2'), await serial('T3')],
    [[`${invoice['BACKORDER_NUMBER']}/1`], [`${ORDER_NUMBER}/1`]],
  );
  const long = 'x'.repeat(257);
  const { BACKORDER_NUMBER } = invoice;
  const [open] = await shop.lines(BACKORDER_NUMBER!);
  const named = { ORDER_NUMBER: BACKORDER_NUMBER, LINE_REF_LOCK_CODE: open!['LINE_REF_LOCK_CODE'] };
  await succeed(shop.updateLineItem({ ...named, SERIAL_NUMBERS: `${long},${long.slice(1)}` }));
  assert.deepEqual(await serial(long.slice(1)), [`${BACKORDER_NUMBER}/1`]);
  await shop.run('fields', 'add', 'lines', 'lines', 'ENGRAVING', '--type', 'text');
  await succeed(shop.updateLineItem({ ...named, ENGRAVING: 'for Ida' }));
  assert.deepEqual(await findNames({ field: 'ENGRAVING', value: 'for Ida' }), [`${BACKORDER_NUMBER}/1`]);
});

test('400 of unknown fields, and of fields by which lines cannot be sorted', async () => {
  expectRefusal(await shop.queryLines([{ field: 'ORDER_TYPE', value: 'x' }]), 400, 'UNKNOWN_FIELD', 'ORDER_TYPE');
  for (const sort of ['SERIAL_NUMBERS', 'QUANTITY', 'CREATE_DATE']) {
    const message = expectRefusal(await shop.queryLines([], { sort }), 400, 'FIELD_NOT_SORTABLE', 'sort');
    assert.match(message, /Use one of ORDER_NUMBER, PART_CODE, LINE_REF_LOCK_CODE\.$/);
  }
  expectRefusal(await shop.queryLines([], { include: 'lines' }), 400, 'INVALID_PARAMETER', 'include');
  expectRefusal(await shop.queryLines([{ field: 'SERIAL_NUMBERS', value: ['S1'] }]), 400, 'INVALID_FILTER', 'value');
  const { headers } = await shop.queryLines([], { maxReturn: '1' });
  const cursor = headers.get('x-next-cursor')!;
  expectRefusal(await shop.queryOrders([], { cursor }), 400, 'INVALID_CURSOR', 'cursor');
});

test('200 a field of lines is listed as indexed if an exact filter on it uses an index', async () => {
  const { body } = await shop.service.call(shop.keys, 'GET', '/fields', { query: { type: 'lines' } });
  const fields = body.data as { name: string; indexed: boolean }[];
  const indexed = fields.filter((field) => field.indexed);
  assert.deepEqual(valuesOf(indexed, 'name'), ['ORDER_NUMBER', 'PART_CODE', 'SERIAL_NUMBERS', 'LINE_REF_LOCK_CODE']);
});

test('200 an order with thousands of lines is found whole, page by page', async () => {
  await shop.load('orders', [{ ORDER_NUMBER: 'LARGE', ORDER_TYPE: 'quote' }]);
  await shop.load(
    'lines',
    times(3000, (at) => ({
      ORDER_NUMBER: 'LARGE',
      LINE_NUMBER: String(at + 1),
      PART_CODE: `N${at % 7}`,
      QUANTITY: '1',
    })),
  );
  const large = { field: 'ORDER_NUMBER', value: 'LARGE' };
  const answer = await shop.queryLines([large], { maxReturn: '5000', count: 'exact' });
  assert.deepEqual(
    valuesOf(answer.body.data as Values[], 'LINE_NUMBER'),
    times(3000, (at) => String(at + 1)),
  );
  assert.equal(answer.headers.get('x-total-count'), '3000');
  const some = await find([large, { field: 'PART_CODE', value: 'N3' }], { maxReturn: '2' });
  assert.deepEqual(valuesOf(some, 'LINE_NUMBER'), ['4', '11']);
});
