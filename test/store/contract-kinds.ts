/** Contract: what holds for every kind of write, also for those that are sent at once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { CHANGED_TYPES, listChanges, type Change } from '../../src/pims/changes.ts';
import { RECORD_TYPES, type KeyedType } from '../../src/pims/rules/fields.ts';
import type { Values } from '../../src/pims/rules/values.ts';
import { PATIENT } from '../kit/caller.ts';
import { trials } from '../kit/trials.ts';
import { callsOf, GROUP_ORDERS, KINDS, prepare, send, SERIALS, withoutLocks, type Kind } from './write-kinds.ts';
import { accepted, type Pims, type StoreUnderTest } from './store-under-test.ts';

const GROUPS = trials('GROUPS', { quick: 1, all: 20 });
const WRITTEN = trials('WRITTEN', { quick: 3, all: 40 });
const SENT = { minLength: 10, maxLength: 30, size: 'max' } as const;
const EACH_KIND = fc.shuffledSubarray(KINDS, { minLength: KINDS.length });
/** The number of the first order of the first group. */
const FIRST = 20_000;
/** The kinds of calls in a group. A fault makes each call of its group run alone; fewer kinds make fewer faults. */
const GROUPED: readonly (readonly Kind[])[] = [
  ['createCustomer', 'updateCustomer', 'updateCustomer'],
  ['updateLineItem'],
  ['addLineItem', 'updateLineItem'],
  ['createOrder', 'addLineItem', 'repeated'],
  ['approve', 'updateLineItem'],
  ['updateOrder', 'updateLineItem', 'addLineItem'],
  ['updateOrder', 'cancelOrder', 'addLineItem', 'updateLineItem'],
  ['approve', 'updateOrder', 'cancelOrder'],
  ['writeBatch', 'addLineItem', 'createCustomer'],
  ['invoicePart', 'updateLineItem', 'addLineItem', 'updateOrder'],
  ['invoiceWhole', 'voidInvoice', 'updateLineItem'],
  ['invoiceSerials', 'voidInvoice', 'updateLineItem', 'received'],
  ['received', 'counted', 'adjusted', 'setOnOrder', 'updatePart', 'addLineItem'],
  ['createPart', 'writeBatch', 'addLineItem', 'updateLineItem'],
  ['import lines', 'import inventory', 'addLineItem', 'invoicePart'],
  ['import orders', 'import customers', 'createOrder', 'createCustomer'],
  KINDS,
];

const readFeed = async (pims: Pims, after: number): Promise<readonly Change[]> => {
  const { changes, next, hasMore } = await listChanges(pims.port, { types: CHANGED_TYPES, limit: 1000, after });
  return hasMore ? [...changes, ...(await readFeed(pims, next))] : changes;
};

/** Reads everything that writes leave: records, ledger, serial numbers and feed. */
async function readLeft(pims: Pims) {
  const records = await pims.readEverything();
  const ledger = await pims.readLedger(records.inventory.map((part) => part['PART_CODE']!));
  const serials = await Promise.all(
    SERIALS.map(async (serial) => accepted(await pims.port.look('serials', PATIENT.signal, serial))),
  );
  // A write moves parts in the order in which the store finds them.
  const told = (await readFeed(pims, 0)).map(({ type, key, change, operation }) =>
    [operation, type, key, change].join(),
  );
  const [parts, feed] = [true, false].map((isPart) => told.filter((one) => one.includes(',inventory,') === isPart));
  parts!.sort();
  return JSON.parse(withoutLocks(JSON.stringify({ records, ledger, serials, feed, parts }))) as unknown;
}

/** Returns the orders, customers and parts by type and key, without empty values. An order has its lines. */
async function readRecords(pims: Pims): Promise<Map<string, string>> {
  const { lines, ...records } = await pims.readEverything();
  const ofOrders = Map.groupBy(lines, (line) => line['ORDER_NUMBER']!);
  const found = new Map<string, string>();
  for (const [type, all] of Object.entries(records) as [KeyedType, Values[]][])
    for (const record of all) {
      const key = record[RECORD_TYPES[type].key]!;
      found.set(
        `${type} ${key}`,
        JSON.stringify([record, type === 'orders' ? ofOrders.get(key) : []], (_, value) =>
          value === '' ? undefined : value,
        ),
      );
    }
  return found;
}

export function describeKinds(store: StoreUnderTest): void {
  test('writes of any kinds sent at once leave what they leave one after the other', async () => {
    const [together, apart] = [(await store.newTenant()).pims, (await store.newTenant()).pims];
    let base = FIRST;
    for (const kinds of GROUPED)
      for (let trial = 0; trial < GROUPS; trial++) {
        base += GROUP_ORDERS;
        for (const pims of [together, apart]) await prepare(pims, base);
        const [calls] = fc.sample(callsOf(fc.array(fc.constantFrom(...kinds), SENT), base), 1);
        const atOnce = await Promise.all(calls!.map((call) => send(together.port, call, 'ann')));
        const inTurn: string[] = [];
        for (const call of calls!) inTurn.push(await send(apart.port, call, 'ann'));
        assert.deepEqual(atOnce, inTurn, JSON.stringify(calls));
      }
    assert.deepEqual(await readLeft(together), await readLeft(apart));
  });

  // Holds S6.24.
  test('after a write of any kind, the records that differ are exactly those that it put into the feed', async () => {
    const { pims } = await store.newTenant();
    for (let [base, group] = [FIRST, 0]; group < WRITTEN; [base, group] = [base + GROUP_ORDERS, group + 1]) {
      await prepare(pims, base);
      const [calls] = fc.sample(callsOf(EACH_KIND, base), 1);
      let [before, position] = [await readRecords(pims), (await readFeed(pims, 0)).length];
      for (const call of calls!) {
        await send(pims.port, call, 'ann');
        const [after, fed] = [await readRecords(pims), await readFeed(pims, position)];
        const told = fed.map(({ type, key, change }) => `${type} ${key} ${change}`);
        const differing = [...after].filter(([name, record]) => before.get(name) !== record);
        const expected = differing.map(([name]) => `${name} ${before.has(name) ? 'updated' : 'created'}`);
        assert.deepEqual(told.toSorted(), expected.toSorted(), JSON.stringify(call));
        [before, position] = [after, position + fed.length];
      }
    }
  });
}
