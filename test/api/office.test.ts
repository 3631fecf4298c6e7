/**
 * Tests the operations of the back office over HTTP, with a pair of the scope `office`: what each returns and refuses,
 * that a pair without the scope writes nothing, and a till's sale in one batch. PostgreSQL has two nodes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { range, times, valuesOf } from '../kit/lists.ts';
import { expectRefusal, Shop, succeed, type Values } from '../kit/records.ts';
import { ownService, STORE, type Answer, type Keys } from '../kit/service.ts';

const CALLS = {
  approveOrder: ['POST', '/orders/approve'],
  invoiceOrder: ['POST', '/orders/invoice'],
  voidInvoice: ['POST', '/orders/void'],
  createPart: ['PUT', '/inventory/create'],
  updatePart: ['POST', '/inventory/update'],
  receiveStock: ['POST', '/stock/receive'],
  countStock: ['POST', '/stock/count'],
  adjustStock: ['POST', '/stock/adjust'],
} as const;
type Name = keyof typeof CALLS;
const NAMES = Object.keys(CALLS) as Name[];
const QUANTITIES = ['QTY_ONHAND', 'QTY_COMMITTED', 'QTY_AVAILABLE'];
const SERIALS_SHOWN_MAX = 10_000;
/** Races of 64 calls. Without the lock of the tenant, two nodes invoice an order twice in about half of them. */
const RACES = 6;

const shop = await Shop.shared('office');
const { service } = shop;
const nodes = STORE === 'postgres' ? [service, await ownService({ place: service.place })] : [service];
let turns = 0;
const till = await shop.run<Keys & Values>('keys', 'create', 'office', '--name', 'till', '--scope', 'office');

interface Sent {
  readonly keys?: Keys;
  readonly headers?: Record<string, string>;
}
function call(name: Name, body: unknown, { keys = till, headers = {} }: Sent = {}): Promise<Answer> {
  const [method, path] = CALLS[name];
  return nodes[turns++ % nodes.length]!.call(keys, method, path, { body, headers });
}
const run = <T = Values>(name: Name, body: unknown): Promise<T> => succeed<T>(call(name, body));
const sendBatch = (steps: (readonly [operation: string, body: object])[], { keys = till, headers = {} }: Sent = {}) =>
  service.call(keys, 'POST', '/batch', { body: steps.map(([operation, body]) => ({ operation, body })), headers });

let parts = 0;
/** Creates a part with this many units on hand, and returns its code. */
async function newPart(units: string, fields: object = {}): Promise<string> {
  const PART_CODE = `P-${++parts}`;
  await run<string>('createPart', { PART_CODE, ...fields });
  if (units !== '0') await run('receiveStock', { PART_CODE, QUANTITY: units });
  return PART_CODE;
}
/** Creates a part whose units have these serial numbers. */
async function newSerialized(...serials: string[]): Promise<string> {
  const PART_CODE = await newPart('0', { SERIALIZED: 'Y' });
  await run('receiveStock', { PART_CODE, QUANTITY: serials.length, SERIAL_NUMBERS: serials.join(',') });
  return PART_CODE;
}
/** Creates an order with a line for each quantity of the part. Returns its number and the lock codes of its lines. */
async function newOrder(PART_CODE: string, quantities: string[], fields: object = {}): Promise<[string, string[]]> {
  const ORDER_NUMBER = await shop.newOrder({ ORDER_TYPE: 'sales_order', ...fields });
  const codes: string[] = [];
  for (const QUANTITY of quantities) {
    const line = await succeed(shop.addLineItem({ ORDER_NUMBER, PART_CODE, QUANTITY }));
    codes.push(line['LINE_REF_LOCK_CODE']!);
  }
  return [ORDER_NUMBER, codes];
}
/** Returns the stock of a part: on hand − committed = available. */
async function stockOf(PART_CODE: string): Promise<string> {
  const { QTY_ONHAND, QTY_COMMITTED, QTY_AVAILABLE } = await succeed(shop.getInventoryItem(PART_CODE));
  return `${QTY_ONHAND} − ${QTY_COMMITTED} = ${QTY_AVAILABLE}`;
}
/** Makes calls that must be refused with this code and field, and change nothing. Returns their messages. */
const refuses = (name: Name, code: string, bodiesByField: Record<string, unknown[]>): Promise<string[]> =>
  shop.refuses((body) => call(name, body), code, bodiesByField);
const countsOf = async (teamID: string): Promise<Record<string, number>> => {
  const { byOperation } = await shop.run<{ byOperation: { operation: string; calls: number }[] }>('usage', teamID);
  return Object.fromEntries(byOperation.map(({ operation, calls }) => [operation, calls]));
};

/** A valid body of each operation, on the order and the part. */
const bodiesOf = (ORDER_NUMBER: string, PART_CODE: string): Record<Name, Values> => ({
  approveOrder: { ORDER_NUMBER },
  invoiceOrder: { ORDER_NUMBER },
  voidInvoice: { ORDER_NUMBER },
  createPart: { PART_CODE: `${PART_CODE} too` },
  updatePart: { PART_CODE, CATEGORY: 'Tea' },
  receiveStock: { PART_CODE, QUANTITY: '1' },
  countStock: { PART_CODE, QUANTITY: '5' },
  adjustStock: { PART_CODE, QUANTITY: '-1', REASON: 'broken' },
});

// Holds S17.1, S12.2.
test('403 SCOPE_MISSING for each operation with read or write, alone and as a step: counted, nothing written', async () => {
  const other = await Shop.open(service, 'narrow');
  await other.load('inventory', [{ PART_CODE: 'P', QTY_ONHAND: '9' }]);
  const ORDER_NUMBER = await other.newOrder({ ORDER_TYPE: 'quote' });
  await succeed(other.addLineItem({ ORDER_NUMBER, PART_CODE: 'P' }));
  const reader = await other.run<Keys & Values>('keys', 'create', 'narrow', '--name', 'reports', '--scope', 'read');
  const before = await other.everything();
  const counted = await countsOf('narrow');
  const bodies = bodiesOf(ORDER_NUMBER, 'P');
  for (const name of NAMES) {
    for (const [keys, told] of [
      [other.keys, /'default' has the scope write\. Use a key with the scope office/],
      [reader, /'reports' is read-only\. Use a key with the scope office/],
    ] as const)
      assert.match(expectRefusal(await call(name, bodies[name], { keys }), 403, 'SCOPE_MISSING'), told);
    const steps = [['createOrder', {}] as const, [name, bodies[name]] as const];
    expectRefusal(await sendBatch(steps, { keys: other.keys }), 403, 'SCOPE_MISSING');
  }
  const calls = await countsOf('narrow');
  for (const name of NAMES) assert.equal(calls[name], 2, name);
  assert.equal(calls['batch'], NAMES.length);
  assert.equal(calls['createOrder'], counted['createOrder']);
  assert.equal(await other.everything(), before);

  const office = await other.run<Keys & Values>('keys', 'create', 'narrow', '--name', 'desk', '--scope', 'office');
  for (const name of NAMES) assert.equal((await call(name, bodies[name], { keys: office })).status, 200, name);
  const read = await service.call(office, 'GET', '/orders/single', { query: { orderNum: ORDER_NUMBER } });
  assert.equal(read.status, 200);
  const changed = await service.call(office, 'POST', '/orders/update', { body: { ORDER_NUMBER, NOTES: 'write too' } });
  assert.equal(changed.status, 200);
});

// Holds S17.2.
test('each operation is repeated once under its Idempotency-Key, is in the feed under its name, and is a step', async () => {
  const PART_CODE = await newPart('20');
  const position = async (query: Values = {}): Promise<Answer> => service.call(till, 'GET', '/changes', { query });
  for (const isStep of [false, true]) {
    const [ORDER_NUMBER] = await newOrder(PART_CODE, ['2'], { ORDER_TYPE: 'worksheet' });
    const bodies = bodiesOf(ORDER_NUMBER, PART_CODE);
    bodies.createPart = { PART_CODE: `${PART_CODE} ${isStep}` };
    bodies.updatePart = { PART_CODE, CATEGORY: `as a step: ${isStep}` };
    bodies.countStock = { PART_CODE, QUANTITY: isStep ? '31' : '41' };
    for (const name of NAMES) {
      const after = (await position()).headers.get('x-next-after')!;
      const headers = { 'idempotency-key': `${name}-${isStep}` };
      const send = () =>
        isStep ? sendBatch([[name, bodies[name]]], { headers }) : call(name, bodies[name], { headers });
      const [first, again] = [await send(), await send()];
      assert.equal(first.status, 200, `${name}: ${first.text}`);
      assert.deepEqual([again.text, again.headers.get('idempotent-replayed')], [first.text, 'true']);
      const changes = (await position({ after })).body.data as Values[];
      assert.ok(changes.length > 0, name);
      for (const { operation, by } of changes) assert.deepEqual([operation, by], [name, 'till']);
      const keys = valuesOf(changes, 'key');
      assert.equal(new Set(keys).size, keys.length, 'one change for each record');
    }
  }
});

// Holds S11.2.
test('a body whose lines have their members in another order is the same request under its key', async () => {
  const PART_CODE = await newPart('10');
  const [ORDER_NUMBER, [line]] = await newOrder(PART_CODE, ['4']);
  const headers = { 'idempotency-key': 'nested' };
  const first = { LINE_REF_LOCK_CODE: line, QUANTITY: '1', SERIAL_NUMBERS: '' };
  const again = { SERIAL_NUMBERS: '', QUANTITY: '1', LINE_REF_LOCK_CODE: line };
  const answers = [
    await call('invoiceOrder', { ORDER_NUMBER, lines: [first] }, { headers }),
    await call('invoiceOrder', { lines: [again], ORDER_NUMBER }, { headers }),
  ];
  assert.deepEqual(valuesOf(answers, 'status'), [200, 200]);
  assert.equal(answers[1]!.headers.get('idempotent-replayed'), 'true');
  assert.equal(answers[1]!.text, answers[0]!.text);
  const other = await call('invoiceOrder', { ORDER_NUMBER, lines: [{ ...first, QUANTITY: '2' }] }, { headers });
  expectRefusal(other, 422, 'IDEMPOTENCY_KEY_REUSED');
});

// Holds S17.3, S17.4.
test('approve, invoice and void return ORDER_NUMBER, ORDER_TYPE, ORDER_STATUS and BACKORDER_NUMBER, and move stock', async () => {
  const PART_CODE = await newPart('10');
  const [ORDER_NUMBER, [line]] = await newOrder(PART_CODE, ['4'], { ORDER_TYPE: 'quote', ORDER_STATUS: 'OPEN' });
  const told = { ORDER_NUMBER, ORDER_TYPE: 'sales_order', ORDER_STATUS: 'OPEN', BACKORDER_NUMBER: '' };
  assert.equal(await stockOf(PART_CODE), '10 − 0 = 10');
  assert.deepEqual(await run('approveOrder', { ORDER_NUMBER }), told);
  assert.equal(await stockOf(PART_CODE), '10 − 4 = 6');
  const lines = [{ LINE_REF_LOCK_CODE: line, QUANTITY: 3 }];
  const { BACKORDER_NUMBER, ...invoice } = await run('invoiceOrder', { ORDER_NUMBER, lines });
  assert.deepEqual({ ...invoice, BACKORDER_NUMBER: '' }, { ...told, ORDER_TYPE: 'invoice' });
  assert.equal((await shop.order(BACKORDER_NUMBER!))['ORDER_TYPE'], 'sales_order');
  assert.equal(await stockOf(PART_CODE), '7 − 1 = 6');
  const last = await run('invoiceOrder', { ORDER_NUMBER: BACKORDER_NUMBER });
  assert.deepEqual(last, { ...told, ORDER_NUMBER: BACKORDER_NUMBER, ORDER_TYPE: 'invoice' });
  const voided = await run('voidInvoice', { ORDER_NUMBER });
  assert.deepEqual(voided, { ...told, ORDER_TYPE: 'invoice', ORDER_STATUS: 'VOID' });
  assert.equal(await stockOf(PART_CODE), '9 − 0 = 9');
});

// Holds S17.4.
test('400 STAGE_NOT_ALLOWED in the wrong stage, ORDER_CLOSED if cancelled or void, ORDER_NOT_FOUND if unknown', async () => {
  const PART_CODE = await newPart('10');
  const orderIn = async (fields: object): Promise<string> => (await newOrder(PART_CODE, ['1'], fields))[0];
  const [sale, invoice, cancelled, voided] = [
    await orderIn({}),
    await orderIn({}),
    await orderIn({}),
    await orderIn({}),
  ];
  for (const ORDER_NUMBER of [invoice, voided]) await run('invoiceOrder', { ORDER_NUMBER });
  await succeed(shop.cancelOrder({ ORDER_NUMBER: cancelled }));
  await run('voidInvoice', { ORDER_NUMBER: voided });
  const named = (...numbers: string[]) => numbers.map((ORDER_NUMBER) => ({ ORDER_NUMBER }));
  const empty = await shop.newOrder({ ORDER_TYPE: 'sales_order' });
  await refuses('approveOrder', 'STAGE_NOT_ALLOWED', { '': named(sale, invoice) });
  await refuses('invoiceOrder', 'STAGE_NOT_ALLOWED', { '': named(invoice, empty) });
  await refuses('voidInvoice', 'STAGE_NOT_ALLOWED', { '': named(sale, empty) });
  await refuses('voidInvoice', 'ORDER_CLOSED', { ORDER_NUMBER: named(cancelled) });
  await refuses('approveOrder', 'ORDER_CLOSED', { ORDER_NUMBER: named(cancelled, voided) });
  await refuses('invoiceOrder', 'ORDER_CLOSED', { ORDER_NUMBER: named(cancelled, voided) });
  for (const name of ['approveOrder', 'invoiceOrder', 'voidInvoice'] as const) {
    await refuses(name, 'ORDER_NOT_FOUND', { ORDER_NUMBER: named('424242') });
    await refuses(name, 'MISSING_FIELD', { ORDER_NUMBER: [{}] });
  }
});

// Holds S17.5.
test('400 INVALID_BODY or MISSING_FIELD for lines that are not 1 to 1,000 different lines with both members', async () => {
  const [ORDER_NUMBER, codes] = await newOrder(await newPart('10'), ['2', '2']);
  const [line] = codes.map((LINE_REF_LOCK_CODE) => ({ LINE_REF_LOCK_CODE, QUANTITY: '1' }));
  const withLines = (...all: unknown[]) => all.map((lines) => ({ ORDER_NUMBER, lines }));
  const messages = await refuses('invoiceOrder', 'INVALID_BODY', {
    lines: [
      ...withLines([], 'all', null, line, [[line]], ['x'], [null]),
      ...withLines([{ ...line, LINE_NUMBER: '1' }], [{ ...line, QUANTITY: ['1'] }], [line, line]),
      ...withLines(times(1001, (at) => ({ LINE_REF_LOCK_CODE: `code ${at}`, QUANTITY: '1' }))),
    ],
  });
  assert.match(messages[9]!, /^lines\[1\] names the line .+ again/);
  await refuses('invoiceOrder', 'MISSING_FIELD', {
    QUANTITY: withLines([{ LINE_REF_LOCK_CODE: codes[0] }], [line, { LINE_REF_LOCK_CODE: codes[1], QUANTITY: '' }]),
    LINE_REF_LOCK_CODE: withLines([{ QUANTITY: '1' }], [{}]),
  });
});

// Holds S17.5.
test('1,000 lines can be named', async () => {
  const PART_CODE = await newPart('0');
  const ORDER_NUMBER = '900001';
  await shop.load('orders', [{ ORDER_NUMBER, ORDER_TYPE: 'sales_order' }]);
  await shop.load(
    'lines',
    range(1001).map((line) => ({ ORDER_NUMBER, LINE_NUMBER: String(line), PART_CODE, QUANTITY: '1' })),
  );
  const codes = valuesOf(await shop.lines(ORDER_NUMBER), 'LINE_REF_LOCK_CODE');
  const lines = codes.slice(0, 1000).map((LINE_REF_LOCK_CODE) => ({ LINE_REF_LOCK_CODE, QUANTITY: '1' }));
  const { BACKORDER_NUMBER } = await run('invoiceOrder', { ORDER_NUMBER, lines });
  assert.deepEqual(valuesOf(await shop.lines(BACKORDER_NUMBER!), 'LINE_REF_LOCK_CODE'), codes.slice(1000));
});

// Holds S17.6.
test('without lines everything is invoiced; with lines, the units of others stay open on the backorder', async () => {
  const PART_CODE = await newPart('100');
  const shown = async (number: string): Promise<string[]> =>
    (await shop.lines(number)).map(({ LINE_NUMBER, QUANTITY }) => `${LINE_NUMBER}: ${QUANTITY}`);
  const [whole] = await newOrder(PART_CODE, ['2', '3.5']);
  assert.equal((await run('invoiceOrder', { ORDER_NUMBER: whole }))['BACKORDER_NUMBER'], '');
  assert.deepEqual(await shown(whole), ['1: 2', '2: 3.5']);

  const [ORDER_NUMBER, [first, second]] = await newOrder(PART_CODE, ['2', '3.5', '4']);
  const lines = [
    { LINE_REF_LOCK_CODE: second, QUANTITY: 1.5 },
    { LINE_REF_LOCK_CODE: first, QUANTITY: '0' },
  ];
  const { BACKORDER_NUMBER } = await run('invoiceOrder', { ORDER_NUMBER, lines });
  assert.deepEqual(await shown(ORDER_NUMBER), ['2: 1.5']);
  assert.deepEqual(await shown(BACKORDER_NUMBER!), ['1: 2', '2: 2', '3: 4']);
});

// Holds S17.6.
test('400 QUANTITY_NOT_ALLOWED beyond the open units of a line, naming them, and for nothing at all', async () => {
  const [ORDER_NUMBER, [first, second]] = await newOrder(await newPart('10'), ['2', '3']);
  const ask = (LINE_REF_LOCK_CODE: unknown, QUANTITY: unknown) => ({ LINE_REF_LOCK_CODE, QUANTITY });
  const messages = await refuses('invoiceOrder', 'QUANTITY_NOT_ALLOWED', {
    QUANTITY: [
      [ask(first, '1'), ask(second, '3.5')],
      [ask(second, -1)],
      [ask(second, 'all')],
      [ask(first, '0'), ask(second, 0)],
    ].map((lines) => ({ ORDER_NUMBER, lines })),
  });
  assert.match(messages[0]!, /^Line 2 has 3 units, so '3\.5' cannot be invoiced\. Send 0 to 3\./);
  assert.match(messages[3]!, /Invoice at least one unit/);
});

// Holds S17.7.
test('400 LINE_NOT_FOUND for a line of another order, LINE_MOVED with the order that has a moved line now', async () => {
  const PART_CODE = await newPart('10');
  const [ORDER_NUMBER, [first, second]] = await newOrder(PART_CODE, ['2', '3']);
  const [, [strange]] = await newOrder(PART_CODE, ['1']);
  const naming = (LINE_REF_LOCK_CODE: unknown) => ({ ORDER_NUMBER, lines: [{ LINE_REF_LOCK_CODE, QUANTITY: '1' }] });
  await refuses('invoiceOrder', 'LINE_NOT_FOUND', { LINE_REF_LOCK_CODE: [naming(strange), naming('no line')] });
  const { BACKORDER_NUMBER } = await run('invoiceOrder', naming(first));
  const before = await shop.everything();
  const refused = await call('invoiceOrder', naming(second));
  expectRefusal(refused, 400, 'LINE_MOVED', 'ORDER_NUMBER');
  assert.equal(refused.body.suggestion, BACKORDER_NUMBER);
  assert.equal(await shop.everything(), before);
  await run('invoiceOrder', { ...naming(second), ORDER_NUMBER: refused.body.suggestion as string });
});

// Holds S17.8.
test('an invoice gets the sent TRACKING_NUMBERS beside those of the order, and SHIP_VIA; no other field', async () => {
  const PART_CODE = await newPart('10');
  const [ORDER_NUMBER] = await newOrder(PART_CODE, ['1'], { TRACKING_NUMBERS: 'A1', SHIP_VIA: 'Truck' });
  await refuses('invoiceOrder', 'FIELD_NOT_ALLOWED', {
    NOTES: [{ ORDER_NUMBER, NOTES: 'x' }],
    ORDER_TOTAL: [{ ORDER_NUMBER, ORDER_TOTAL: '1' }],
  });
  await run('invoiceOrder', { ORDER_NUMBER, TRACKING_NUMBERS: 'B2,A1', SHIP_VIA: 'Courier' });
  const { TRACKING_NUMBERS, SHIP_VIA } = await shop.order(ORDER_NUMBER);
  assert.deepEqual([TRACKING_NUMBERS, SHIP_VIA], ['A1,B2', 'Courier']);
});

// Holds S17.8.
test('400 INVALID_VALUE if the TRACKING_NUMBERS sent and those of the order have more than 8,192 characters', async () => {
  const own = 'A'.repeat(4096);
  const [ORDER_NUMBER] = await newOrder(await newPart('10'), ['1'], { TRACKING_NUMBERS: own });
  const tracking = (characters: number) => ({ ORDER_NUMBER, TRACKING_NUMBERS: 'B'.repeat(characters) });
  await refuses('invoiceOrder', 'INVALID_VALUE', { TRACKING_NUMBERS: [tracking(4096), tracking(8192)] });
  await run('invoiceOrder', tracking(4095));
  assert.equal((await shop.order(ORDER_NUMBER))['TRACKING_NUMBERS']!.length, 8192);
});

// Holds S17.8.
test('an invoiced line gets the sent SERIAL_NUMBERS, otherwise those that it has', async () => {
  const PART_CODE = await newSerialized('S1', 'S2', 'S3');
  const [ORDER_NUMBER, [line]] = await newOrder(PART_CODE, ['3']);
  const named = { ORDER_NUMBER, LINE_REF_LOCK_CODE: line };
  const lines = (QUANTITY: string, SERIAL_NUMBERS?: string) => ({
    ORDER_NUMBER,
    lines: [{ LINE_REF_LOCK_CODE: line, QUANTITY, ...(SERIAL_NUMBERS !== undefined && { SERIAL_NUMBERS }) }],
  });
  await refuses('invoiceOrder', 'SERIALS_NOT_ALLOWED', {
    SERIAL_NUMBERS: [lines('2'), lines('2', 'S1'), lines('1', 'S1,S2'), lines('1.5', 'S1')],
  });
  const { BACKORDER_NUMBER } = await run('invoiceOrder', lines('2', 'S3,S1'));
  assert.equal((await shop.lines(ORDER_NUMBER))[0]!['SERIAL_NUMBERS'], 'S3,S1');
  const [open] = valuesOf(await shop.lines(BACKORDER_NUMBER!), 'LINE_REF_LOCK_CODE');
  const rest = { ...named, ORDER_NUMBER: BACKORDER_NUMBER, LINE_REF_LOCK_CODE: open };
  await succeed(shop.updateLineItem({ ...rest, SERIAL_NUMBERS: 'S2' }));
  await run('invoiceOrder', { ORDER_NUMBER: BACKORDER_NUMBER });
  assert.equal((await shop.lines(BACKORDER_NUMBER!))[0]!['SERIAL_NUMBERS'], 'S2');
  assert.equal((await run('countStock', { PART_CODE, QUANTITY: '0' }))['SERIAL_NUMBERS'], '');
});

// Holds S17.9.
test('voiding twice succeeds and changes nothing the second time; REASON is at most 500 characters', async () => {
  const PART_CODE = await newSerialized('V1');
  const [ORDER_NUMBER, [line]] = await newOrder(PART_CODE, ['1']);
  const lines = [{ LINE_REF_LOCK_CODE: line, QUANTITY: '1', SERIAL_NUMBERS: 'V1' }];
  await run('invoiceOrder', { ORDER_NUMBER, lines });
  await refuses('voidInvoice', 'INVALID_VALUE', { REASON: [{ ORDER_NUMBER, REASON: 'x'.repeat(501) }] });
  await refuses('voidInvoice', 'FIELD_NOT_ALLOWED', { NOTES: [{ ORDER_NUMBER, NOTES: 'x' }] });
  const first = await run('voidInvoice', { ORDER_NUMBER, REASON: 'x'.repeat(500) });
  assert.equal(await stockOf(PART_CODE), '1 − 0 = 1');
  const before = await shop.everything();
  assert.deepEqual(await run('voidInvoice', { ORDER_NUMBER, REASON: 'again' }), first);
  assert.equal(await shop.everything(), before);
  const counted = await run('countStock', { PART_CODE, QUANTITY: '1', SERIAL_NUMBERS: 'V1' });
  assert.equal(counted['SERIAL_NUMBERS'], 'V1');
});

// Holds S11.6.
test('412 RECORD_CHANGED from approve, invoice and void for a changed order; nothing is written', async () => {
  const PART_CODE = await newPart('10');
  const [ORDER_NUMBER] = await newOrder(PART_CODE, ['1'], { ORDER_TYPE: 'quote' });
  for (const name of ['approveOrder', 'invoiceOrder', 'voidInvoice'] as const) {
    const old = (await shop.getOrder(ORDER_NUMBER)).headers.get('etag')!;
    await succeed(shop.updateOrder({ ORDER_NUMBER, NOTES: name }));
    const before = await shop.everything();
    const refused = await call(name, { ORDER_NUMBER }, { headers: { 'if-match': old } });
    expectRefusal(refused, 412, 'RECORD_CHANGED');
    assert.equal(await shop.everything(), before);
    const tag = refused.headers.get('etag')!;
    assert.equal((await call(name, { ORDER_NUMBER }, { headers: { 'if-match': tag } })).status, 200);
  }
  for (const name of NAMES.slice(3)) {
    const body = bodiesOf(ORDER_NUMBER, PART_CODE)[name];
    expectRefusal(await call(name, body, { headers: { 'if-match': '"x"' } }), 400, 'PRECONDITION_NOT_ALLOWED');
  }
});

// Holds S17.10.
test('createPart and updatePart set the fields of a part and return its code; a part begins with nothing on hand', async () => {
  assert.equal(
    await run<string>('createPart', { PART_CODE: 'NEW', PART_DESCRIPTION: 'A part', UNIT_PRICE: 9.5 }),
    'NEW',
  );
  const created = await succeed(shop.getInventoryItem('NEW'));
  assert.deepEqual([created['PART_DESCRIPTION'], created['UNIT_PRICE']], ['A part', '9.5']);
  assert.equal(await stockOf('NEW'), '0 − 0 = 0');
  assert.equal(await run<string>('updatePart', { PART_CODE: 'NEW', UNIT_PRICE: '10', PART_DESCRIPTION: null }), 'NEW');
  const updated = await succeed(shop.getInventoryItem('NEW'));
  assert.deepEqual([updated['PART_DESCRIPTION'], updated['UNIT_PRICE']], ['', '10']);
  await refuses('createPart', 'CODE_TAKEN', { PART_CODE: [{ PART_CODE: 'NEW' }] });
  await refuses('updatePart', 'PART_NOT_FOUND', { PART_CODE: [{ PART_CODE: 'no part' }] });
  for (const name of ['createPart', 'updatePart'] as const)
    await refuses(name, 'MISSING_FIELD', { PART_CODE: [{ CATEGORY: 'x' }] });
  await refuses('createPart', 'INVALID_VALUE', { PART_CODE: [{ PART_CODE: 'x'.repeat(257) }] });
});

// Holds S17.10.
test('units that orders have committed count for a part that is created after them', async () => {
  await newOrder('LATER', ['3']);
  await run<string>('createPart', { PART_CODE: 'LATER' });
  assert.equal(await stockOf('LATER'), '0 − 3 = -3');
});

// Holds S17.10.
test('400 FIELD_NOT_ALLOWED for QTY_ONHAND, QTY_COMMITTED and QTY_AVAILABLE, naming the operations to use', async () => {
  const PART_CODE = await newPart('0');
  for (const [name, code] of [
    ['createPart', 'ANOTHER'],
    ['updatePart', PART_CODE],
  ] as const) {
    const bodies = QUANTITIES.map((field): [string, unknown[]] => [field, [{ PART_CODE: code, [field]: '1' }]]);
    const messages = await refuses(name, 'FIELD_NOT_ALLOWED', Object.fromEntries(bodies));
    for (const message of messages)
      assert.match(message, /To change stock, use receiveStock, countStock or adjustStock/);
  }
});

// Holds S17.10.
test('400 QUANTITY_NOT_ALLOWED for a QTY_ONORDER below 0; 0 and none are accepted', async () => {
  const PART_CODE = await newPart('0');
  for (const [name, code] of [
    ['createPart', 'NONE'],
    ['updatePart', PART_CODE],
  ] as const) {
    const bodies = [-1, '-0.5'].map((QTY_ONORDER) => ({ PART_CODE: code, QTY_ONORDER }));
    const messages = await refuses(name, 'QUANTITY_NOT_ALLOWED', { QTY_ONORDER: bodies });
    assert.deepEqual(messages[1], "QTY_ONORDER must be 0 or more, not '-0.5'.");
  }
  for (const QTY_ONORDER of [2, '0', null, '-0']) await run('updatePart', { PART_CODE, QTY_ONORDER });
});

// Holds S17.11.
test('receive adds, count sets and adjust changes QTY_ONHAND; each returns the part', async () => {
  const PART_CODE = await newPart('0', { QTY_ONORDER: '6' });
  const afterwards = async (returned: Values): Promise<string> => {
    assert.deepEqual(returned, await succeed(shop.getInventoryItem(PART_CODE)));
    return `${returned['QTY_ONHAND']}, ${returned['QTY_ONORDER']} on order`;
  };
  assert.equal(await afterwards(await run('receiveStock', { PART_CODE, QUANTITY: '4.5' })), '4.5, 1.5 on order');
  assert.equal(await afterwards(await run('receiveStock', { PART_CODE, QUANTITY: 4 })), '8.5, 0 on order');
  assert.equal(await afterwards(await run('countStock', { PART_CODE, QUANTITY: '3' })), '3, 0 on order');
  const REASON = 'x'.repeat(500);
  assert.equal(await afterwards(await run('adjustStock', { PART_CODE, QUANTITY: -5, REASON })), '-2, 0 on order');
  for (const name of ['receiveStock', 'countStock', 'adjustStock'] as const)
    await refuses(name, 'PART_NOT_FOUND', { PART_CODE: [{ PART_CODE: 'no part', QUANTITY: '1', REASON: 'x' }] });
});

// Holds S17.12.
test('400 QUANTITY_NOT_ALLOWED for a receipt of 0, a count below 0 and an adjustment by 0, MISSING_FIELD for none', async () => {
  const PART_CODE = await newPart('5');
  const withQuantities = (...quantities: unknown[]) =>
    quantities.map((QUANTITY) => ({ PART_CODE, QUANTITY, REASON: 'x' }));
  for (const [name, quantities] of [
    ['receiveStock', ['0', -1, 'many']],
    ['countStock', ['-1', 'many']],
    ['adjustStock', [0, 'many']],
  ] as const) {
    await refuses(name, 'QUANTITY_NOT_ALLOWED', { QUANTITY: withQuantities(...quantities) });
    await refuses(name, 'MISSING_FIELD', { QUANTITY: withQuantities('', null, undefined) });
    await refuses(name, 'INVALID_VALUE', { REASON: [{ PART_CODE, QUANTITY: '1', REASON: 'x'.repeat(501) }] });
    await refuses(name, 'UNKNOWN_FIELD', { CATEGORY: [{ PART_CODE, QUANTITY: '1', REASON: 'x', CATEGORY: 'x' }] });
  }
  await refuses('adjustStock', 'MISSING_FIELD', {
    REASON: [undefined, '', '  '].map((REASON) => ({ PART_CODE, QUANTITY: '1', REASON })),
  });
});

// Holds S17.13.
test('a SERIALIZED part needs a serial number for each unit, and is returned with those in stock', async () => {
  const PART_CODE = await newPart('0', { SERIALIZED: 'Y' });
  const units = (QUANTITY: string, SERIAL_NUMBERS = '', more: object = {}) => ({
    PART_CODE,
    QUANTITY,
    SERIAL_NUMBERS,
    REASON: 'x',
    ...more,
  });
  for (const name of ['receiveStock', 'countStock', 'adjustStock'] as const)
    await refuses(name, 'SERIALS_NOT_ALLOWED', {
      SERIAL_NUMBERS: [units('2', 'A'), units('1'), units('1', 'A,B'), units('1.5', 'A'), units('2', 'A,A')],
    });
  const serialsAfter = async (name: Name, body: object) => (await run(name, body))['SERIAL_NUMBERS'];
  assert.equal(await serialsAfter('receiveStock', units('3', 'C,A,B')), 'A,B,C');
  assert.equal(await serialsAfter('countStock', units('2', 'B,D')), 'B,D');
  assert.equal(await serialsAfter('adjustStock', units('-1', 'B')), 'D');
  await refuses('adjustStock', 'SERIALS_NOT_ALLOWED', { SERIAL_NUMBERS: [units('-1', 'B')] });
  assert.ok(!('SERIAL_NUMBERS' in (await run('receiveStock', { PART_CODE: await newPart('0'), QUANTITY: '1' }))));
});

// Holds S17.13.
test('SERIAL_NUMBERS of a movement have up to 130,000 characters: a thousand of the longest serial numbers', async () => {
  const PART_CODE = await newPart('0', { SERIALIZED: 'Y' });
  const serials = range(1000).map((at) => String(at).padStart(128, 'S'));
  const SERIAL_NUMBERS = serials.join(', ').padEnd(130_000);
  const received = await run('receiveStock', { PART_CODE, QUANTITY: 1000, SERIAL_NUMBERS });
  assert.equal(received['SERIAL_NUMBERS'], serials.toSorted().join(','));
  const long = { PART_CODE, QUANTITY: '1', SERIAL_NUMBERS: `${SERIAL_NUMBERS} `, REASON: 'x' };
  for (const name of ['receiveStock', 'countStock', 'adjustStock'] as const)
    await refuses(name, 'INVALID_VALUE', { SERIAL_NUMBERS: [long] });
});

// Holds S17.13.
test('a SERIALIZED part is returned with up to 10,000 serial numbers in stock, and without them beyond', async () => {
  const PART_CODE = await newPart('0', { SERIALIZED: 'Y' });
  const serials = range(SERIALS_SHOWN_MAX).map((at) => String(at).padStart(5, '0'));
  const body = { PART_CODE, QUANTITY: SERIALS_SHOWN_MAX, SERIAL_NUMBERS: serials.toReversed().join(',') };
  assert.equal((await run('receiveStock', body))['SERIAL_NUMBERS'], serials.join(','));
  const one = { PART_CODE, QUANTITY: '1', SERIAL_NUMBERS: 'last' };
  const beyond = await run('receiveStock', one);
  assert.equal(beyond['QTY_ONHAND'], String(SERIALS_SHOWN_MAX + 1));
  assert.ok(!('SERIAL_NUMBERS' in beyond));
  // A count knows all of them.
  const counted = await run('countStock', { ...one, QUANTITY: '2', SERIAL_NUMBERS: 'last,00001' });
  assert.deepEqual([counted['QTY_ONHAND'], counted['SERIAL_NUMBERS']], ['2', '00001,last']);
});

test('the contract bounds SERIAL_NUMBERS of a movement, of a line to invoice, and REASON', async () => {
  type Described = { properties: Record<string, { maxLength?: number; items: Described }> };
  const contract = (await (await fetch(`${service.origin}/openapi.json`)).json()) as {
    components: { schemas: Record<string, Described> };
  };
  const { Invoice, InvoiceToVoid, StockCount } = contract.components.schemas;
  const line = Invoice!.properties['lines']!.items;
  const bounds = [
    line.properties['SERIAL_NUMBERS'],
    StockCount!.properties['SERIAL_NUMBERS'],
    StockCount!.properties['REASON'],
    InvoiceToVoid!.properties['REASON'],
  ];
  assert.deepEqual(valuesOf(bounds as { maxLength: number }[], 'maxLength'), [8192, 130_000, 500, 500]);
});

// Holds S17.14.
test('412 RECORD_CHANGED if QTY_ONHAND is not FROM_QUANTITY: nothing is written, also of a batch', async () => {
  const PART_CODE = await newPart('5');
  const before = await shop.everything();
  for (const [name, QUANTITY] of [
    ['receiveStock', '1'],
    ['countStock', '7'],
    ['adjustStock', '-1'],
  ] as const) {
    const body = { PART_CODE, QUANTITY, REASON: 'x', FROM_QUANTITY: '4' };
    const message = expectRefusal(await call(name, body), 412, 'RECORD_CHANGED', 'FROM_QUANTITY');
    assert.match(message, /has 5 on hand, not 4/);
    const refused = await sendBatch([
      ['createOrder', {}],
      [name, body],
    ]);
    expectRefusal(refused, 412, 'RECORD_CHANGED', 'FROM_QUANTITY');
    assert.equal(refused.body.step, 1);
  }
  const messages = await refuses('countStock', 'QUANTITY_NOT_ALLOWED', {
    FROM_QUANTITY: ['five', '', null, 'x'.repeat(8192)].map((FROM_QUANTITY) => ({
      PART_CODE,
      QUANTITY: '1',
      FROM_QUANTITY,
    })),
  });
  assert.match(messages[0]!, /that you read, not 'five'\./);
  assert.match(messages[3]!, /not 'x{64}'\./);
  assert.equal(await shop.everything(), before);
  const counted = await run('countStock', { PART_CODE, QUANTITY: '7', FROM_QUANTITY: '5.0' });
  assert.equal(counted['QTY_ONHAND'], '7');
});

// Holds S17.14.
test('of 16 counts at once from the same quantity, one is written', async () => {
  const PART_CODE = await newPart('5');
  const answers = await Promise.all(
    range(16).map((at) => call('countStock', { PART_CODE, QUANTITY: 5 + at, FROM_QUANTITY: '5' })),
  );
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  for (const answer of answers) if (answer.status !== 200) expectRefusal(answer, 412, 'RECORD_CHANGED');
});

// Holds S17.15.
test('of 64 invoiceOrder of one order at once on all nodes, one gets 200, and the units leave stock once', async () => {
  const PART_CODE = await newPart('100');
  for (const race of range(RACES)) {
    const [ORDER_NUMBER] = await newOrder(PART_CODE, ['3']);
    const answers = await Promise.all(times(64, () => call('invoiceOrder', { ORDER_NUMBER })));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const answer of answers) if (answer.status !== 200) expectRefusal(answer, 400, 'STAGE_NOT_ALLOWED');
    const left = 100 - 3 * race;
    assert.equal(await stockOf(PART_CODE), `${left} − 0 = ${left}`);
  }
});

/** A sale at a till: an order with two lines, of which one unit of the first stays open. */
const saleOf = (PART_CODE: string, QUANTITY = '1') =>
  [
    ['createOrder', { REFERENCE_NUMBER: '#till' }],
    ['addLineItem', { ORDER_NUMBER: '$0.data', PART_CODE, QUANTITY: '2' }],
    ['addLineItem', { ORDER_NUMBER: '$0.data', PART_CODE, QUANTITY: '3' }],
    ['approveOrder', { ORDER_NUMBER: '$0.data' }],
    [
      'invoiceOrder',
      {
        ORDER_NUMBER: '$0.data',
        lines: [
          { LINE_REF_LOCK_CODE: '$1.data.LINE_REF_LOCK_CODE', QUANTITY },
          { LINE_REF_LOCK_CODE: '$2.data.LINE_REF_LOCK_CODE', QUANTITY: '$2.data.QUANTITY' },
        ],
      },
    ],
  ] as const;

// Holds S17.16.
test('a till sells in one batch, whose references name lines: five calls, once under its key, all or nothing', async () => {
  const PART_CODE = await newPart('20');
  const usageBefore = await countsOf('office');
  const send = () => sendBatch([...saleOf(PART_CODE)], { headers: { 'idempotency-key': 'sale-1' } });
  const [first, second] = [await send(), await send()];
  assert.equal(first.status, 200, first.text);
  assert.deepEqual([second.text, second.headers.get('idempotent-replayed')], [first.text, 'true']);
  const [ORDER_NUMBER, , , approved, invoiced] = valuesOf(first.body.data as { data: Values & string }[], 'data');
  assert.equal(approved!['ORDER_TYPE'], 'sales_order');
  assert.deepEqual([invoiced!['ORDER_NUMBER'], invoiced!['ORDER_TYPE']], [ORDER_NUMBER, 'invoice']);
  assert.deepEqual(valuesOf(await shop.lines(ORDER_NUMBER!), 'QUANTITY'), ['1', '3']);
  assert.deepEqual(valuesOf(await shop.lines(invoiced!['BACKORDER_NUMBER']!), 'QUANTITY'), ['1']);
  assert.equal(await stockOf(PART_CODE), '16 − 1 = 15');
  const usage = await countsOf('office');
  const rise = (name: string) => usage[name]! - (usageBefore[name] ?? 0);
  assert.deepEqual(['createOrder', 'addLineItem', 'approveOrder', 'invoiceOrder'].map(rise), [2, 4, 2, 2]);
  assert.equal(usage['batch'], usageBefore['batch']);

  const before = await shop.everything();
  const refused = await sendBatch([...saleOf(PART_CODE, '2.5')]);
  expectRefusal(refused, 400, 'QUANTITY_NOT_ALLOWED', 'QUANTITY');
  assert.equal(refused.body.step, 4);
  assert.equal(await shop.everything(), before);
});

// Holds S17.16.
test('400 INVALID_REFERENCE for a reference in lines that names nothing; $$ is a literal $', async () => {
  const [ORDER_NUMBER] = await newOrder(await newPart('5'), ['1']);
  const naming = (LINE_REF_LOCK_CODE: string) =>
    sendBatch([['invoiceOrder', { ORDER_NUMBER, lines: [{ LINE_REF_LOCK_CODE, QUANTITY: '1' }] }]]);
  for (const code of ['$0.data.LINE_REF_LOCK_CODE', '$x']) expectRefusal(await naming(code), 400, 'INVALID_REFERENCE');
  assert.match(expectRefusal(await naming('$$x'), 400, 'LINE_NOT_FOUND'), /'\$x'/);
});

// Holds S10.12.
test('400 BATCH_TOO_LONG for steps that move the stock of more than 10,000 lines together; nothing is written', async () => {
  const large = await Shop.open(service, 'large-batches');
  const office = await large.run<Keys & Values>(
    'keys',
    'create',
    'large-batches',
    '--name',
    'desk',
    '--scope',
    'office',
  );
  const numbers = ['1', '2'];
  await large.load(
    'orders',
    numbers.map((ORDER_NUMBER) => ({ ORDER_NUMBER, ORDER_TYPE: 'quote' })),
  );
  const linesOf = (ORDER_NUMBER: string) =>
    range(5001).map((line) => ({ ORDER_NUMBER, LINE_NUMBER: String(line), PART_CODE: 'P', QUANTITY: '1' }));
  await large.load('lines', numbers.flatMap(linesOf));
  const stages = async () =>
    Promise.all(
      numbers.map(async (number) => {
        const { ORDER_TYPE, ORDER_STATUS } = await large.order(number);
        return `${ORDER_TYPE} ${ORDER_STATUS}`.trim();
      }),
    );
  for (const [name, before, after] of [
    ['approveOrder', 'quote', 'sales_order'],
    ['invoiceOrder', 'sales_order', 'invoice'],
    ['voidInvoice', 'invoice', 'invoice VOID'],
  ] as const) {
    const refused = await sendBatch(
      numbers.map((ORDER_NUMBER) => [name, { ORDER_NUMBER }] as const),
      { keys: office },
    );
    expectRefusal(refused, 400, 'BATCH_TOO_LONG');
    assert.equal(refused.body.step, 1);
    assert.deepEqual(await stages(), [before, before]);
    for (const ORDER_NUMBER of numbers)
      assert.equal((await sendBatch([[name, { ORDER_NUMBER }]], { keys: office })).status, 200);
    assert.deepEqual(await stages(), [after, after]);
  }
});

// Holds S10.12.
test('400 BATCH_TOO_LONG for a chain of partial invoices, each of the backorder of the one before', async () => {
  const PART_CODE = await newPart('0');
  const ORDER_NUMBER = '800001';
  await shop.load('orders', [{ ORDER_NUMBER, ORDER_TYPE: 'sales_order' }]);
  await shop.load(
    'lines',
    range(4000).map((line) => ({ ORDER_NUMBER, LINE_NUMBER: String(line), PART_CODE, QUANTITY: '1' })),
  );
  const codes = valuesOf(await shop.lines(ORDER_NUMBER), 'LINE_REF_LOCK_CODE');
  const link = (at: number) =>
    [
      'invoiceOrder',
      {
        ORDER_NUMBER: at === 0 ? ORDER_NUMBER : `$${at - 1}.data.BACKORDER_NUMBER`,
        lines: [{ LINE_REF_LOCK_CODE: codes[at], QUANTITY: '1' }],
      },
    ] as const;
  const before = await shop.everything();
  const refused = await sendBatch([link(0), link(1), link(2)]);
  assert.match(expectRefusal(refused, 400, 'BATCH_TOO_LONG'), /more than 10000 lines/);
  assert.equal(refused.body.step, 2);
  assert.equal(await shop.everything(), before);
  assert.equal((await sendBatch([link(0), link(1)])).status, 200);
});
