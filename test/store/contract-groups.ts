/** Contract: calls that are sent at once have the same outcomes and leave the same records as one after the other. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Refusal, type Outcome } from '../../src/errors.ts';
import type { Values } from '../../src/pims/rules/values.ts';
import type { Written } from '../../src/pims/writes/writes.ts';
import { times, valuesOf } from '../kit/lists.ts';
import { trials } from '../kit/trials.ts';
import { accepted, assertRefused, idempotency, write, type Pims, type StoreUnderTest } from './store-under-test.ts';

const GROUPS = trials('GROUPS', { quick: 2, all: 30 });
type Kind =
  | 'order'
  | 'customer'
  | 'update'
  | 'line'
  | 'changeLine'
  | 'change'
  | 'cancel'
  | 'approve'
  | 'again'
  | 'batch';
/** The kinds of calls in a group. A fault makes each call of its group run alone; fewer kinds make fewer faults. */
const GROUPED: Kind[][] = [
  ['customer', 'update', 'update'],
  ['changeLine'],
  ['line', 'changeLine'],
  ['order', 'line', 'again'],
  ['approve', 'changeLine'],
  ['change', 'changeLine', 'line'],
  ['change', 'cancel', 'line', 'changeLine'],
  ['batch', 'line', 'customer'],
  ['order', 'customer', 'update', 'line', 'changeLine', 'approve', 'again', 'batch'],
];
const ORDERS = 3;
/** More parts than the write of an order may read in a group with other writes. */
const MANY_PARTS = 101;
const group = (kinds: Kind[]) =>
  fc.array(
    fc.record({
      kind: fc.constantFrom(...kinds),
      n: fc.nat(ORDERS - 1),
      text: fc.constantFrom('a', 'b\\', '"c', '\t', 'É'),
    }),
    { minLength: 10, maxLength: 30, size: 'max' },
  );
type Call = ReturnType<typeof group> extends fc.Arbitrary<(infer T)[]> ? T : never;

/** Returns the committed units of each part. */
const readCommitted = (pims: Pims, ...partCodes: string[]): Promise<string[]> =>
  Promise.all(partCodes.map(async (code) => (await pims.readRecord('inventory', code))!['QTY_COMMITTED']!));

/** Imports parts with stock and orders, and adds a line to each order. Returns the lock codes of the lines. */
async function begin(pims: Pims): Promise<string[]> {
  await pims.importAll(
    'inventory',
    times(ORDERS, (n) => ({ PART_CODE: `P${n}`, QTY_ONHAND: '100' })),
  );
  await pims.importAll(
    'orders',
    times(ORDERS, (n) => ({ ORDER_NUMBER: `${n + 1}`, ORDER_TYPE: n < 2 ? 'sales_order' : 'quote' })),
  );
  const locks: string[] = [];
  for (let n = 0; n < ORDERS; n++)
    locks.push((await pims.newLine(`${n + 1}`, { PART_CODE: `P${n}`, QUANTITY: '1' }))['LINE_REF_LOCK_CODE']!);
  return locks;
}

function send(pims: Pims, locks: readonly string[], { kind, n, text }: Call, at: number): Promise<Outcome<Written>> {
  const now = new Date(Date.UTC(2026, 10, 21) + at).toISOString();
  const options = write({ now });
  const line = { PART_CODE: `P${(n + at) % ORDERS}`, QUANTITY: String((at % 5) + 1), DESCRIPTION: text };
  if (kind === 'order') return pims.createRecord('orders', { NOTES: text }, options);
  if (kind === 'customer') return pims.createRecord('customers', { CUSTOMER_CODE: `C${n}`, NOTES: text }, options);
  if (kind === 'update')
    return pims.updateCustomer(`C${n}`, at % 2 ? { NOTES: text } : { CUSTOMER_NAME: text }, options);
  if (kind === 'line') return pims.addLine(`${n + 1}`, line, options);
  if (kind === 'changeLine') return pims.updateLine(`${n + 1}`, locks[n]!, { QUANTITY: line.QUANTITY }, options);
  if (kind === 'change')
    return pims.updateOrder(`${n + 1}`, at % 3 ? { DROP_SHIP: at % 2 ? 'Y' : 'N' } : { NOTES: text }, options);
  if (kind === 'cancel' && (at > 20 || n > 1)) return pims.cancelOrder(`${n + 1}`, options);
  if (kind === 'batch') {
    // While the customer does not exist, the batch is refused at its sixth step.
    const known = { ORDER_NUMBER: `${n + 1}`, LINE_REF_LOCK_CODE: locks[n]! };
    return pims.batch(
      [
        ['createOrder', { NOTES: text, ORDER_TYPE: 'sales_order' }],
        ['addLineItem', { ...line, ORDER_NUMBER: '$0.data' }],
        ['addLineItem', { ...line, ORDER_NUMBER: known.ORDER_NUMBER }],
        ['updateLineItem', { ...known, DESCRIPTION: '$1.data.DESCRIPTION' }],
        ['updateLineItem', { ...known, QUANTITY: '$2.data.LINE_NUMBER' }],
        ['updateCustomer', { CUSTOMER_CODE: `C${n}`, BCITY: '$0.data' }],
        ['createOrder', { REFERENCE_NUMBER: '$4.data.QUANTITY' }],
      ],
      options,
    );
  }
  if (kind === 'cancel' || kind === 'approve') return pims.advanceOrder(`${n + 1}`, { approve: true }, options);
  return pims.addLine(`${n + 1}`, line, { ...idempotency(`key ${at}`), now });
}

const LOCK_CODE = /"LINE_REF_LOCK_CODE":"[^"]*"/g;
const show = (outcome: Outcome<Written>): string =>
  outcome instanceof Refusal ? outcome.message : outcome.data.replaceAll(LOCK_CODE, '');

export function describeGroups(store: StoreUnderTest): void {
  test('writes sent at once have the outcomes they have one after the other', async () => {
    const [together, apart] = [(await store.newTenant()).pims, (await store.newTenant()).pims];
    const [locks, ownLocks] = [await begin(together), await begin(apart)];
    const groups = GROUPED.flatMap((kinds) => fc.sample(group(kinds), GROUPS));
    for (const calls of groups) {
      const atOnce = await Promise.all(calls.map((one, at) => send(together, locks, one, at)));
      const inTurn: Outcome<Written>[] = [];
      for (const [at, one] of calls.entries()) inTurn.push(await send(apart, ownLocks, one, at));
      assert.deepEqual(atOnce.map(show), inTurn.map(show), JSON.stringify(calls));
    }
    const read = async (pims: Pims): Promise<string> =>
      JSON.stringify(await pims.readEverything()).replaceAll(LOCK_CODE, '');
    assert.equal(await read(together), await read(apart));
  });

  test('a write sent with one that is too large to share its reads starts from what that one leaves', async () => {
    const { pims } = await store.newTenant();
    const parts = times(MANY_PARTS, (index) => `P${index}`);
    await pims.importAll(
      'inventory',
      parts.map((PART_CODE) => ({ PART_CODE, QTY_ONHAND: '100' })),
    );
    await pims.importAll(
      'orders',
      ['1', '2'].map((ORDER_NUMBER) => ({ ORDER_NUMBER, ORDER_TYPE: 'sales_order' })),
    );
    await pims.importAll(
      'lines',
      parts.map((PART_CODE) => ({ ORDER_NUMBER: '1', PART_CODE, QUANTITY: '2' })),
    );
    assert.deepEqual(await readCommitted(pims, 'P7'), ['2']);
    const line = { PART_CODE: 'P7', QUANTITY: '5' };
    for (const outcome of await Promise.all([pims.cancelOrder('1'), pims.addLine('2', line)])) accepted(outcome);
    assert.deepEqual(await readCommitted(pims, 'P7', 'P8'), ['5', '0']);
  });

  test('of two writes sent at once with the same tag, one happens and the other is refused', async () => {
    const { pims } = await store.newTenant();
    const [order, customer] = [await pims.createOrder(), await pims.createCustomer()];
    for (const [recordType, key, update] of [
      ['orders', order, pims.updateOrder.bind(pims)],
      ['customers', customer, pims.updateCustomer.bind(pims)],
    ] as const) {
      const options = write({ expected: [(await pims.port.getRecord(recordType, key))!.tag] });
      const [first, second] = await Promise.all(['a', 'b'].map((NOTES) => update(key, { NOTES }, options)));
      accepted(first!);
      assertRefused(second, 'RECORD_CHANGED');
      assert.equal((await pims.readRecord(recordType, key))!['NOTES'], 'a');
    }
  });

  test('care plans that are added at once with a change of their order commit no stock', async () => {
    const { pims } = await store.newTenant();
    await pims.importAll('inventory', [
      { PART_CODE: 'LAMP', QTY_ONHAND: '10' },
      { PART_CODE: 'CARE', QTY_ONHAND: '10', CARE_PLAN: 'Y' },
    ]);
    const lines = ['LAMP', 'CARE'].map((PART_CODE) => ({ PART_CODE, QUANTITY: '2' }));
    const ORDER_NUMBER = await pims.createOrder({ ORDER_TYPE: 'sales_order' });
    const change = (DROP_SHIP: string) => pims.updateOrder(ORDER_NUMBER, { DROP_SHIP });
    for (const outcome of await Promise.all([...lines.map((line) => pims.addLine(ORDER_NUMBER, line)), change('Y')]))
      accepted(outcome);
    assert.deepEqual(await readCommitted(pims, 'LAMP', 'CARE'), ['0', '0']);
    accepted(await change('N'));
    assert.deepEqual(await readCommitted(pims, 'LAMP', 'CARE'), ['2', '0']);

    const made = { ORDER_NUMBER: '$0.data' };
    accepted(
      await pims.batch([
        ['createOrder', { ORDER_TYPE: 'sales_order' }],
        ...lines.map((line) => ['addLineItem', { ...made, ...line }] as const),
        ['updateOrder', { ...made, DROP_SHIP: 'Y' }],
      ]),
    );
    assert.deepEqual(await readCommitted(pims, 'LAMP', 'CARE'), ['2', '0']);
  });

  test('numbers given out at once pass over the codes that callers take in the same moment', async () => {
    const { pims } = await store.newTenant();
    const first = Number(await pims.createCustomer());
    const own = times(20, (index): Values => (index % 2 ? { CUSTOMER_CODE: String(first + index) } : {}));
    const codes = await Promise.all(own.map((values) => pims.createRecord('customers', values)));
    const given = codes.filter((outcome) => !(outcome instanceof Refusal)).map((outcome) => accepted(outcome).data);
    assert.equal(new Set(given).size, given.length);
    assert.equal((await pims.readAll('customers')).length, given.length + 1);
    for (const [index, outcome] of codes.entries())
      if (!own[index]!['CUSTOMER_CODE']) assert.ok(!(outcome instanceof Refusal), 'a number is always found');
  });

  test('queries sent at once have an answer of their own each, of one page or several', async () => {
    const { pims } = await store.newTenant();
    const cities = times(30, (index) => (index % 3 === 0 ? `"City" ${index}\\ Ünter` : `City ${index}`));
    const customers = times(300, (index) => ({
      CUSTOMER_CODE: String(index),
      BCITY: cities[index % 30]!,
      BSTATE: `S${index % 7}`,
      CUSTOMER_NAME: `Firm ${cities[index % 30]!}`,
    }));
    await pims.importAll('customers', customers);
    const askFor = (value: string, city: number): Promise<number>[] =>
      [3, 10, 500].flatMap((limit) =>
        [
          [],
          [{ field: 'BSTATE', value: 'S1', conjunction: 'AND' }],
          [{ field: 'BSTATE', value: 'S1', conjunction: 'OR' }],
        ].map(async (more, kind) => {
          const text = { field: 'CUSTOMER_NAME', value: value.toLowerCase(), contains: true };
          const filter = city % 2 === 0 ? text : { field: 'BCITY', value };
          const { records, next } = await pims.ask('customers', [filter, ...more], { limit });
          const expected = customers.filter(({ BCITY, BSTATE }) => {
            const [isCity, isState] = [city % 2 === 0 ? BCITY.includes(value) : BCITY === value, BSTATE === 'S1'];
            return kind === 0 ? isCity : kind === 1 ? isCity && isState : isCity || isState;
          });
          assert.equal(next !== null, expected.length > limit);
          assert.deepEqual(valuesOf(records, 'CUSTOMER_CODE'), valuesOf(expected.slice(0, limit), 'CUSTOMER_CODE'));
          return records.length;
        }),
      );
    // At most 72 queries of a tenant may run and wait.
    let most = 0;
    for (let from = 0; from < cities.length; from += 7) {
      const together = cities.slice(from, from + 7).flatMap((value, index) => askFor(value, from + index));
      most = Math.max(most, ...(await Promise.all(together)));
    }
    assert.ok(most > 10);
  });
  test('a text that more than a thousand records have is found in all of them, in the order of their keys', async () => {
    const { pims } = await store.newTenant();
    // The records are written in descending order of their keys.
    const codes = times(1100, (index) => String(5000 - index));
    await pims.importAll(
      'customers',
      codes.map((CUSTOMER_CODE) => ({ CUSTOMER_CODE, CUSTOMER_NAME: 'Common' })),
    );
    const filters = [{ field: 'CUSTOMER_NAME', value: 'common', contains: true }];
    const expected = codes.toReversed().slice(0, 20);
    for (let asked = 0; asked < 2; asked++) {
      const { records, next } = await pims.ask('customers', filters, { limit: 20 });
      assert.deepEqual([valuesOf(records, 'CUSTOMER_CODE'), next !== null], [expected, true]);
    }
  });
}
