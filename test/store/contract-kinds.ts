/** Contract: what holds for every kind of write, also for those that are sent at once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { CHANGED_TYPES, listChanges, type Change } from '../../src/pims/changes.ts';
import { RECORD_TYPES, type KeyedType } from '../../src/pims/rules/fields.ts';
import type { Values } from '../../src/pims/rules/values.ts';
import { PATIENT } from '../kit/caller.ts';
import { trials } from '../kit/trials.ts';
import {
  callsOf,
  GROUP_ORDERS,
  KINDS,
  onEach,
  prepare,
  send,
  SERIALS,
  voidingOf,
  withoutLocks,
  type Call,
  type Kind,
} from './write-kinds.ts';
import { accepted, type Pims, type StoreUnderTest } from './store-under-test.ts';

const GROUPS = trials('GROUPS', { quick: 1, all: 3 });
const WRITTEN = trials('WRITTEN', { quick: 1, all: 6 });
/** Groups that may follow for the kinds of which no call has changed anything. */
const MORE = 20;
const SENT = { minLength: 10, maxLength: 30, size: 'max' } as const;
/** The bounds of a change in the feed: how many fields it has, and how many characters of a value. */
const FIELDS = 20;
const CHARACTERS = 100;
const EACH_KIND = fc.shuffledSubarray(KINDS, { minLength: KINDS.length });
/** The number of the first order of the first group. */
const FIRST = 20_000;
/** The kinds of calls in a group. A fault makes each call of its group run alone; fewer kinds make fewer faults. */
const GROUPED: readonly (readonly Kind[])[] = [
  ['createCustomer', 'updateCustomer', 'updateCustomer'],
  ['updateLineItem'],
  ['addLineItem', 'updateLineItem'],
  ['createOrder', 'addLineItem', 'repeated'],
  ['approveOrder', 'updateLineItem'],
  ['updateOrder', 'updateLineItem', 'addLineItem'],
  ['updateOrder', 'cancelOrder', 'addLineItem', 'updateLineItem'],
  ['approveOrder', 'updateOrder', 'cancelOrder'],
  ['writeBatch', 'addLineItem', 'createCustomer'],
  ['invoicePart', 'updateLineItem', 'addLineItem', 'updateOrder'],
  ['invoiceWhole', 'voidInvoice', 'updateLineItem'],
  ['invoiceSerials', 'voidInvoice', 'updateLineItem', 'receiveStock'],
  ['invoiceWhole', 'returnOrder', 'voidReturn', 'voidInvoice'],
  ['invoiceSerials', 'returnOrder', 'returnOrder', 'voidReturn', 'voidInvoice', 'updateLineItem'],
  ['countStock'],
  ['receiveStock', 'countStock', 'adjustStock', 'updatePart', 'addLineItem'],
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

/** A record that was read. An order has its lines by their numbers. */
interface Read {
  readonly fields: Values;
  readonly lines: ReadonlyMap<string, Values>;
}

/** Returns the orders, customers and parts by type and key. */
async function readRecords(pims: Pims): Promise<Map<string, Read>> {
  const { lines, ...records } = await pims.readEverything();
  const ofOrders = Map.groupBy(lines, (line) => line['ORDER_NUMBER']!);
  const found = new Map<string, Read>();
  for (const [type, all] of Object.entries(records) as [KeyedType, Values[]][])
    for (const fields of all) {
      const key = fields[RECORD_TYPES[type].key]!;
      const own = type === 'orders' ? (ofOrders.get(key) ?? []) : [];
      found.set(`${type} ${key}`, { fields, lines: new Map(own.map((line) => [line['LINE_NUMBER']!, line])) });
    }
  return found;
}

const cut = (value: string): string => value.slice(0, CHARACTERS);
const nameLine = (line: Values | undefined): string =>
  line === undefined ? '' : cut(`${line['QUANTITY']} × ${line['PART_CODE'] || line['DESCRIPTION']}`);

/** Lists the fields with other values. A new custom field is empty in every record. */
const listFields = (before: Values, after: Values, ...line: string[]): string[][] =>
  Object.keys(after).flatMap((field) => {
    const [from, to] = [before[field] ?? '', after[field]!];
    return from === to ? [] : [[field, cut(from), cut(to), ...line]];
  });

/** Lists what differs between two states of a record, as the feed names it. */
function listDifferences(before: Read, after: Read): string[][] {
  const differing = listFields(before.fields, after.fields);
  for (const number of new Set([...before.lines.keys(), ...after.lines.keys()])) {
    const [from, to] = [before.lines.get(number), after.lines.get(number)];
    if (from && to) differing.push(...listFields(from, to, number));
    else differing.push(['line', nameLine(from), nameLine(to), number]);
  }
  return differing;
}

/** Lists the records that differ, each with its fields that do. Each of them has another date too. */
function listDiffering(before: Map<string, Read>, after: Map<string, Read>): Map<string, string[][]> {
  const told = new Map<string, string[][]>();
  for (const [name, record] of after) {
    const old = before.get(name);
    const fields = old ? listDifferences(old, record) : [];
    if (old === undefined) told.set(`${name} created`, []);
    else if (fields.length > 0)
      told.set(
        `${name} updated`,
        fields.filter(([field]) => field !== 'MODIFIED_DATE'),
      );
  }
  return told;
}

/** Asserts that changes of the feed are exactly these, and have exactly these fields, as far as a change has room. */
function assertTold(fed: readonly Change[], differing: Map<string, string[][]>, why: string): void {
  const told = new Map(fed.map(({ type, key, change, changes }) => [`${type} ${key} ${change}`, changes]));
  assert.deepEqual([...told.keys()].toSorted(), [...differing.keys()].toSorted(), why);
  for (const [name, fields] of differing) {
    const [named, all] = [told.get(name)!, fields].map((some) => some.map(String).toSorted());
    const isIn = new Set(all);
    assert.equal(named!.length, Math.min(all!.length, FIELDS), `${name} ${why}`);
    assert.deepEqual(named, all!.length > FIELDS ? named!.filter((field) => isIn.has(field)) : all, `${name} ${why}`);
  }
}

export function describeKinds(store: StoreUnderTest): void {
  test('simultaneous writes of any kinds have the same result as consecutive ones', async () => {
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

  // Holds S6.24, S6.29.
  test('after a write of any kind, exactly the records and fields that it put into the feed differ', async () => {
    const untold = new Set(KINDS);
    untold.delete('addField');
    // A kind that has told nothing yet, such as a void before any invoice, is sent again.
    for (let group = 0; group < WRITTEN || (untold.size > 0 && group < WRITTEN + MORE); group++) {
      const { pims } = await store.newTenant();
      await prepare(pims, FIRST);
      // First in an order in which most kinds have something to change, then in any.
      const [calls] = fc.sample(callsOf(group === 0 ? fc.constant(KINDS) : EACH_KIND, FIRST), 1);
      let [before, position] = [await readRecords(pims), (await readFeed(pims, 0)).length];
      const isTold = async (sent: Call): Promise<boolean> => {
        const isOpen = ({ fields }: Read) => fields['RETURN_OF'] && fields['ORDER_STATUS'] !== 'VOID';
        const back = sent.kind === 'voidReturn' ? [...before.values()].find(isOpen) : undefined;
        const call = back ? voidingOf(sent, back.fields['ORDER_NUMBER']!) : sent;
        await send(pims.port, call, 'ann');
        const [after, fed] = [await readRecords(pims), await readFeed(pims, position)];
        assertTold(fed, listDiffering(before, after), JSON.stringify(call));
        [before, position] = [after, position + fed.length];
        return fed.length > 0;
      };
      for (const call of calls!)
        for (const one of onEach(call))
          if (await isTold(one)) {
            untold.delete(call.kind);
            await isTold({ ...one, text: '' });
            break;
          }
    }
    assert.deepEqual([...untold], [], 'no call of these kinds changed a record');
  });
}
