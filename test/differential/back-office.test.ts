/**
 * Tests random changes of stock and orders by clerks and callers. QTY_ONHAND is the sum of its movements, QTY_COMMITTED
 * is the sum of open sales orders, each serial number is in one place, and both stores return the same.
 * STOREROOM_TEST_RUNS sets the number of runs; STOREROOM_TEST_SEED repeats them.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, test } from 'node:test';
import * as fc from 'fast-check';
import { orThrow, Refusal } from '../../src/errors.ts';
import * as operations from '../../src/pims/operations.ts';
import type { Body, Written } from '../../src/pims/writes/writes.ts';
import { bodyOf } from '../kit/invoices.ts';
import type { PimsStore } from '../../src/pims/pims-port.ts';
import { addDecimals } from '../../src/pims/rules/decimal.ts';
import { splitList } from '../../src/pims/rules/lists.ts';
import { textOf } from '../../src/pims/rules/json.ts';
import type { Values } from '../../src/pims/rules/values.ts';
import { openPostgres, type PostgresStore } from '../../src/store/postgres/store.ts';
import { passing } from '../kit/clock.ts';
import { TURNS } from '../kit/caller.ts';
import { newDatabase } from '../kit/postgres.ts';
import { trials } from '../kit/trials.ts';
import { newFolder, openForAll } from '../store/sqlite-folder.ts';
import { accepted, NOW, type OpenedStore } from '../store/store-under-test.ts';

const RUNS = trials('RUNS', { quick: 15, all: 100 });
const SEED = Number(process.env['STOREROOM_TEST_SEED'] ?? randomInt(2 ** 31));
const LANES = 4;
const PARTS = ['PHONE', 'CASE'] as const;
const SERIALS = ['A', 'B', 'C', 'D', 'E', 'F'];
const signal = () => new AbortController().signal;
const OPTIONS = { now: NOW, strict: false, by: 'ann@example.com', defaultStage: 'worksheet' } as const;

type Step =
  | { do: 'received' | 'counted' | 'adjusted'; part: string; quantity: string; serials: string[] }
  | { do: 'order'; part: string; quantity: string; price: string; stage: string }
  | { do: 'line'; at: number; part: string; quantity: string }
  | { do: 'change'; at: number; quantity: string; serials: string[] }
  | { do: 'approve' | 'cancel' | 'void' | 'drop'; at: number }
  | { do: 'invoice'; at: number; units: string; serials: string[] }
  | { do: 'return'; at: number; units: string; restock: 'Y' | 'N' };

const part = fc.constantFrom(...PARTS);
const quantity = fc.constantFrom('0', '1', '2', '3', '1.5');
const serials = fc.uniqueArray(fc.constantFrom(...SERIALS), { maxLength: 3 });
const at = fc.nat(7);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('received', 'counted', 'adjusted'), part, quantity, serials }),
  fc.record({
    do: fc.constant('order'),
    part,
    quantity,
    price: fc.constantFrom('', '0.333', '10'),
    stage: fc.constantFrom('quote', 'sales_order'),
  }),
  fc.record({ do: fc.constant('line'), at, part, quantity }),
  fc.record({ do: fc.constant('change'), at, quantity, serials }),
  fc.record({ do: fc.constantFrom('approve', 'cancel', 'void', 'drop'), at }),
  fc.record({ do: fc.constant('invoice'), at, units: quantity, serials }),
  fc.record({ do: fc.constant('return'), at, units: fc.constantFrom('1', '2'), restock: fc.constantFrom('Y', 'N') }),
);

let postgres: PostgresStore | undefined;
const stores: OpenedStore[] = [];
before(async () => {
  const options = { ...TURNS, clock: passing, connections: LANES, queryBudgetMs: 60_000, name: 'test' };
  postgres = await openPostgres({ ...options, url: await newDatabase() });
  stores.push(openForAll(newFolder(), { queryBudgetMs: 60_000 }), postgres);
});
after(() => postgres?.close());

const linesOf = async (store: PimsStore, number: string): Promise<Values[]> => {
  const { lines } = await operations.getOrder(store, number, signal);
  return (JSON.parse(textOf(lines ?? '[]')) as { ORDER_LINEITEMS: Values }[]).map((one) => one.ORDER_LINEITEMS);
};
const recordsOf = async (store: PimsStore, recordType: 'orders' | 'inventory'): Promise<Values[]> => {
  const request = { filters: [], limit: 500, bytesMax: 2 ** 24, after: '', signal };
  const page = orThrow(await store.queryRecords(recordType, request));
  return JSON.parse(textOf(page.records)) as Values[];
};

/**
 * Serial numbers that were received again by hand, each with its part and invoice. Their units are in stock, although
 * the invoices still have the numbers. Also those of returns that did not put them in stock, which begin with `out`.
 */
type Returned = Set<string>;

/** Carries out a step and returns its result. For lines, the result is a word, because their lock codes are random. */
async function carryOut(store: PimsStore, run: Step, returned: Returned): Promise<unknown> {
  const orders = await recordsOf(store, 'orders');
  const number = 'at' in run ? (orders[run.at % Math.max(1, orders.length)]?.['ORDER_NUMBER'] ?? '1') : '';
  switch (run.do) {
    case 'order': {
      const order = { ORDER_TYPE: run.stage, REFERENCE_NUMBER: `#${orders.length}` };
      const { data } = await operations.writeRecord(store, 'createOrder', order, OPTIONS);
      const line = { ORDER_NUMBER: JSON.parse(data) as string, PART_CODE: run.part, QUANTITY: run.quantity };
      await operations.writeRecord(store, 'addLineItem', { ...line, UNIT_PRICE: run.price }, OPTIONS);
      return data;
    }
    case 'line': {
      const line = { ORDER_NUMBER: number, PART_CODE: run.part, QUANTITY: run.quantity };
      await operations.writeRecord(store, 'addLineItem', line, OPTIONS);
      return 'added';
    }
    case 'change': {
      const [line] = await linesOf(store, number);
      const { ORDER_TYPE } = orders.find((one) => one['ORDER_NUMBER'] === number)!;
      const change = ORDER_TYPE === 'invoice' ? { SERIAL_NUMBERS: run.serials.join() } : { QUANTITY: run.quantity };
      const lock = { ORDER_NUMBER: number, LINE_REF_LOCK_CODE: line?.['LINE_REF_LOCK_CODE'] ?? 'none' };
      await operations.writeRecord(store, 'updateLineItem', { ...lock, ...change }, OPTIONS);
      // Sending the current serial numbers changes nothing, so units that were received by hand stay in stock.
      if (line?.['SERIAL_NUMBERS'] !== change.SERIAL_NUMBERS)
        for (const serial of run.serials) returned.delete(`${line?.['PART_CODE']} ${serial} ${number}`);
      return 'changed';
    }
    case 'approve':
      return dataOf(operations.writeRecord(store, 'approveOrder', { ORDER_NUMBER: number }, OPTIONS));
    case 'cancel':
      return (await operations.writeRecord(store, 'cancelOrder', { ORDER_NUMBER: number }, OPTIONS)).data;
    case 'drop':
      return (await operations.writeRecord(store, 'updateOrder', { ORDER_NUMBER: number, DROP_SHIP: 'Y' }, OPTIONS))
        .data;
    case 'void':
      return dataOf(operations.writeRecord(store, 'voidInvoice', { ORDER_NUMBER: number }, OPTIONS));
    case 'invoice': {
      const asked = { quantities: new Map([['1', run.units]]), serials: new Map([['1', run.serials]]), tracking: [] };
      return dataOf(
        operations.writeRecord(store, 'invoiceOrder', bodyOf(number, asked, await linesOf(store, number)), OPTIONS),
      );
    }
    case 'return': {
      const invoices = orders.filter(({ ORDER_TYPE }) => ORDER_TYPE === 'invoice');
      const { ORDER_NUMBER = '1' } = invoices[run.at % Math.max(1, invoices.length)] ?? {};
      const [{ LINE_REF_LOCK_CODE = 'none', PART_CODE, SERIAL_NUMBERS = '' } = {}] = await linesOf(store, ORDER_NUMBER);
      const back = splitList(SERIAL_NUMBERS).slice(0, Number(run.units));
      const named = { QUANTITY: run.units, SERIAL_NUMBERS: back.join(), RESTOCK: run.restock };
      const body = { ORDER_NUMBER, lines: [{ LINE_REF_LOCK_CODE, ...named }] } as unknown as Body;
      const made = (await dataOf(operations.writeRecord(store, 'returnOrder', body, OPTIONS))) as string;
      if (run.restock === 'N') for (const serial of back) returned.add(`out ${PART_CODE} ${serial} ${made}`);
      return made;
    }
    default: {
      const sold = await Promise.all(run.serials.map((serial) => findOwner(store, run.part, serial)));
      const moved = { PART_CODE: run.part, QUANTITY: run.quantity, SERIAL_NUMBERS: run.serials.join(), REASON: 'test' };
      const answer = await dataOf(operations.writeRecord(store, STOCK_OPERATIONS[run.do], moved, OPTIONS));
      for (const [index, owner] of sold.entries()) returned.add(`${run.part} ${run.serials[index]} ${owner}`);
      if (run.do === 'counted' && run.part === 'PHONE')
        for (const serial of SERIALS) {
          const isThere: boolean = (await findOwner(store, run.part, serial)) === '';
          assert.equal(isThere, run.serials.includes(serial), `${serial} after a count of ${run.serials.join()}`);
        }
      return answer;
    }
  }
}

/** The operation for each kind of movement by hand. */
const STOCK_OPERATIONS = { received: 'receiveStock', counted: 'countStock', adjusted: 'adjustStock' } as const;
const dataOf = async (written: Promise<Written>): Promise<unknown> => JSON.parse((await written).data) as unknown;

/** Returns the invoice that sold this unit, '' if it is in stock, or undefined if its serial number is unknown. */
async function findOwner(store: PimsStore, partCode: string, serial: string): Promise<string | undefined> {
  return (await ownersOf(store, serial)).get(partCode);
}

/** Returns the owners of a serial number, by part. */
const ownersOf = async (store: PimsStore, serial: string): Promise<Map<string, string>> =>
  new Map(
    orThrow(await store.look('serials', signal, serial)).map(({ PART_CODE, ORDER_NUMBER }) => [
      PART_CODE,
      ORDER_NUMBER,
    ]),
  );

/** Checks what has to be true after every step. */
async function checkInvariants(store: PimsStore, returned: Returned): Promise<void> {
  const committed = new Map<string, string>();
  const owners = new Map<string, string>();
  const orders = (await recordsOf(store, 'orders')).filter(
    ({ ORDER_STATUS }) => ORDER_STATUS !== 'CANCELLED' && ORDER_STATUS !== 'VOID',
  );
  const back = new Set<string>();
  const left = new Map<string, string>();
  for (const { ORDER_NUMBER = '', RETURN_OF } of orders.filter(({ ORDER_TYPE }) => ORDER_TYPE === 'invoice'))
    for (const line of await linesOf(store, ORDER_NUMBER)) {
      const name = `${RETURN_OF || ORDER_NUMBER} ${line['LINE_NUMBER']}`;
      left.set(name, addDecimals(left.get(name) ?? '', line['QUANTITY']!));
      if (RETURN_OF === '') continue;
      for (const serial of splitList(line['SERIAL_NUMBERS']!)) back.add(`${line['PART_CODE']} ${serial} ${RETURN_OF}`);
    }
  for (const [name, units] of left) assert.ok(!units.startsWith('-'), `${units} units of ${name} are left to return`);
  for (const { ORDER_NUMBER = '', ORDER_TYPE, RETURN_OF, DROP_SHIP } of orders) {
    if (DROP_SHIP === 'Y') continue;
    for (const { PART_CODE = '', QUANTITY = '', SERIAL_NUMBERS = '' } of await linesOf(store, ORDER_NUMBER)) {
      if (ORDER_TYPE === 'sales_order') committed.set(PART_CODE, addDecimals(committed.get(PART_CODE) ?? '', QUANTITY));
      if (ORDER_TYPE !== 'invoice') continue;
      for (const serial of splitList(SERIAL_NUMBERS)) {
        const name = `${PART_CODE} ${serial} ${ORDER_NUMBER}`;
        if (returned.has(name) || back.has(name)) continue;
        if (RETURN_OF !== '' && !returned.has(`out ${name}`)) continue;
        assert.equal(owners.get(`${PART_CODE} ${serial}`), undefined, `${serial} is sold twice`);
        owners.set(`${PART_CODE} ${serial}`, ORDER_NUMBER);
      }
    }
  }
  for (const { PART_CODE = '', QTY_ONHAND = '', QTY_COMMITTED = '' } of await recordsOf(store, 'inventory')) {
    const page = await store.look('movements', signal, PART_CODE, 'before', Number.MAX_SAFE_INTEGER, 1000);
    const movements = orThrow(page);
    const sum = movements.map(({ QUANTITY }) => QUANTITY).reduce(addDecimals, '0');
    assert.equal(sum, QTY_ONHAND || '0', `the movements of ${PART_CODE}`);
    assert.equal(movements[0]?.AFTER ?? '0', QTY_ONHAND || '0', `the last movement of ${PART_CODE}`);
    assert.equal(QTY_COMMITTED || '0', committed.get(PART_CODE) ?? '0', `what is committed of ${PART_CODE}`);
  }
  for (const serial of SERIALS) {
    const kept = await ownersOf(store, serial);
    for (const code of PARTS)
      assert.equal(kept.get(code) ?? '', owners.get(`${code} ${serial}`) ?? '', `where ${code} ${serial} is`);
  }
}

let tenants = 0;
async function runOnNewTenants(steps: readonly Step[]): Promise<boolean> {
  const teamId = `t${++tenants}`;
  const opened = await Promise.all(
    stores.map(async (store) => ({
      store,
      tenant: accepted(await store.tenants.createTenant(teamId, 'A tenant', NOW)),
    })),
  );
  const systems = opened.map(({ store, tenant }) => ({ pims: store.pims(tenant), returned: new Set<string>() }));
  for (const { pims } of systems) {
    await operations.writeRecord(
      pims,
      'createPart',
      { PART_CODE: 'PHONE', SERIALIZED: 'Y', UNIT_PRICE: '99.99' },
      OPTIONS,
    );
    await operations.writeRecord(pims, 'createPart', { PART_CODE: 'CASE' }, OPTIONS);
    await operations.writeRecord(pims, 'countStock', { PART_CODE: 'CASE', QUANTITY: '5' }, OPTIONS);
  }
  try {
    for (const one of steps) {
      const answers = await Promise.all(
        systems.map(async ({ pims, returned }) => {
          try {
            return JSON.stringify(await carryOut(pims, one, returned));
          } catch (fault) {
            if (!(fault instanceof Refusal)) throw fault;
            return `${fault.code} ${fault.message}`;
          }
        }),
      );
      assert.equal(answers[1], answers[0], `PostgreSQL differs in ${JSON.stringify(one)}`);
      for (const { pims, returned } of systems) await checkInvariants(pims, returned);
    }
    return true;
  } finally {
    await Promise.all(opened.map(({ store, tenant }) => store.tenants.deleteTenant(tenant)));
  }
}

test('stock, serial numbers and orders stay consistent after any actions, on both stores alike', async (context) => {
  context.diagnostic(`${RUNS} runs, STOREROOM_TEST_SEED=${SEED}`);
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), runOnNewTenants);
  const lanes = Array.from({ length: LANES }, (_, lane) =>
    fc.assert(property, { seed: SEED + lane, numRuns: Math.ceil(RUNS / LANES) }),
  );
  // Waits for all lanes even if one fails, because the stores are closed when this test ends.
  await Promise.allSettled(lanes);
  await Promise.all(lanes);
});
