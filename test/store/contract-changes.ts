/** Contract: the change feed has every acknowledged change, in the order in which changes become visible. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { awaitChanges, CHANGED_TYPES, deleteOldChanges, listChanges } from '../../src/pims/changes.ts';
import type { Change, ChangePage, ChangesRequest } from '../../src/pims/changes.ts';
import * as operations from '../../src/pims/operations.ts';
import { bodyOf, WHOLE_INVOICE } from '../kit/invoices.ts';
import type { PimsStore } from '../../src/pims/pims-port.ts';
import type { WriteContext } from '../../src/pims/writes/writes.ts';
import type { KeyedType } from '../../src/pims/rules/fields.ts';
import type { Values } from '../../src/pims/rules/values.ts';
import { times } from '../kit/lists.ts';
import { WIDE_CUSTOMER } from '../kit/records.ts';
import { trials } from '../kit/trials.ts';
import { begin, ending } from './processes.ts';
import { assertRefusedBy } from './refused-by.ts';
import { batches, idempotency, NOW, write, type StoreUnderTest } from './store-under-test.ts';

/** Writers in each of two processes, and writes of each writer of one of them. */
const WRITERS = trials('CHANGE_WRITERS', { quick: 4, all: 8 });
const WRITES_EACH = 25;
const OPERATIONS = new URL('../../src/pims/operations.ts', import.meta.url).href;
/** Steps of a batch whose changes are too large for a short read: each has the values of these fields twice. */
const STEPS_MAX = 100;
const WIDE_FIELDS = Object.keys(WIDE_CUSTOMER).slice(0, 20);
const CHANGED_CHARACTERS = 100;
const LATER = '2026-12-31T00:00:00.000Z';
const context: WriteContext = { ...write(), defaultStage: 'worksheet' };
const ALL = { types: CHANGED_TYPES, limit: 1000 };

const read = (port: PimsStore, more: Partial<ChangesRequest> = {}): Promise<ChangePage> =>
  listChanges(port, { ...ALL, after: 0, ...more });
const shown = ({ type, key, change, operation }: Change): string => `${operation}: ${type} ${key} ${change}`;
const readShown = async (port: PimsStore, after: number): Promise<string[]> =>
  (await read(port, { after })).changes.map(shown);
/** Reads all pages, one after the other. */
async function readAll(port: PimsStore, types: readonly KeyedType[], limit: number): Promise<Change[]> {
  const seen: Change[] = [];
  for (let [after, hasMore] = [0, true]; hasMore;) {
    const page = await read(port, { after, types, limit });
    assert.ok(page.changes.length <= limit && page.next > after);
    seen.push(...page.changes);
    ({ next: after, hasMore } = page);
  }
  return seen;
}
const numberOf = ({ data }: { readonly data: string }): string => JSON.parse(data) as string;

export function describeChanges(store: StoreUnderTest): void {
  test('each write is in the feed, with every record that it changes once, under its operation', async () => {
    const { pims } = await store.newTenant();
    const { port } = pims;
    assert.deepEqual(await read(port), { changes: [], next: 0, hasMore: false });
    await pims.importAll('inventory', [{ PART_CODE: 'P', QTY_ONHAND: '10' }]);
    const code = numberOf(await operations.writeRecord(port, 'createCustomer', {}, context));
    await operations.writeRecord(port, 'updateCustomer', { CUSTOMER_CODE: code, NOTES: 'x' }, context);
    const order = numberOf(await operations.writeRecord(port, 'createOrder', { ORDER_TYPE: 'quote' }, context));
    const line = { ORDER_NUMBER: order, PART_CODE: 'P', QUANTITY: '3' };
    const { data } = await operations.writeRecord(port, 'addLineItem', line, context);
    const lock = (JSON.parse(data) as Record<string, string>)['LINE_REF_LOCK_CODE']!;
    await operations.writeRecord(port, 'approveOrder', { ORDER_NUMBER: order }, context);
    const change = { ORDER_NUMBER: order, LINE_REF_LOCK_CODE: lock, QUANTITY: '4' };
    await operations.writeRecord(port, 'updateLineItem', change, context);
    await operations.writeRecord(port, 'updateOrder', { ORDER_NUMBER: order, NOTES: 'y' }, context);
    const invoice = { ...WHOLE_INVOICE, quantities: new Map([['1', '1']]) };
    const body = bodyOf(order, invoice, (await pims.readOrder(order)).lines);
    const advanced = JSON.parse((await operations.writeRecord(port, 'invoiceOrder', body, context)).data) as Record<
      string,
      string
    >;
    await operations.writeRecord(port, 'cancelOrder', { ORDER_NUMBER: advanced['BACKORDER_NUMBER']! }, context);
    const found = await read(port);
    assert.deepEqual(found.changes.map(shown), [
      'import: inventory P created',
      `createCustomer: customers ${code} created`,
      `updateCustomer: customers ${code} updated`,
      `createOrder: orders ${order} created`,
      `addLineItem: orders ${order} updated`,
      `approveOrder: orders ${order} updated`,
      'approveOrder: inventory P updated',
      `updateLineItem: orders ${order} updated`,
      'updateLineItem: inventory P updated',
      `updateOrder: orders ${order} updated`,
      `invoiceOrder: orders ${order} updated`,
      `invoiceOrder: orders ${advanced['BACKORDER_NUMBER']} created`,
      'invoiceOrder: inventory P updated',
      `cancelOrder: orders ${advanced['BACKORDER_NUMBER']} updated`,
      'cancelOrder: inventory P updated',
    ]);
    assert.ok(found.changes.every(({ at }) => at === NOW));
    assert.equal(found.next, Number(found.changes.at(-1)!.seq));
  });

  test('a refused write, a kept answer and a repeated cancellation change nothing in the feed', async () => {
    const { pims } = await store.newTenant();
    const { port } = pims;
    const once = { ...context, ...idempotency('k') };
    const order = numberOf(await operations.writeRecord(port, 'createOrder', {}, once));
    await operations.writeRecord(port, 'cancelOrder', { ORDER_NUMBER: order }, context);
    const { next } = await read(port);
    await operations.writeRecord(port, 'createOrder', {}, once);
    await operations.writeRecord(port, 'cancelOrder', { ORDER_NUMBER: order }, context);
    await assertRefusedBy(
      operations.writeRecord(port, 'addLineItem', { ORDER_NUMBER: order }, context),
      'ORDER_CLOSED',
    );
    const steps = [
      { operation: 'createCustomer', body: {}, refusal: undefined },
      { operation: 'addLineItem', body: { ORDER_NUMBER: 'none' }, refusal: undefined },
    ] as const;
    await assertRefusedBy(operations.writeBatch(port, steps, context), 'ORDER_NOT_FOUND');
    assert.deepEqual(await readShown(port, next), []);
  });

  test('the feed has the successful ones of simultaneous writes in order, and nothing of a refused batch', async () => {
    const { pims } = await store.newTenant();
    const { port } = pims;
    const steps = [
      { operation: 'createCustomer', body: { CUSTOMER_CODE: 'REFUSED' }, refusal: undefined },
      { operation: 'addLineItem', body: { ORDER_NUMBER: 'none' }, refusal: undefined },
    ] as const;
    const codes = times(9, (n) => `C${n}`);
    const create = (code: string) => operations.writeRecord(port, 'createCustomer', { CUSTOMER_CODE: code }, context);
    const before = codes.slice(0, 5).map(create);
    const refused = assertRefusedBy(operations.writeBatch(port, steps, context), 'ORDER_NOT_FOUND');
    await Promise.all([...before, refused, ...codes.slice(5).map(create)]);
    const { changes, next } = await read(port);
    assert.deepEqual(
      changes.map(shown),
      codes.map((code) => `createCustomer: customers ${code} created`),
    );
    assert.deepEqual(
      changes.map(({ seq }) => Number(seq)),
      times(9, (n) => n + 1),
    );
    assert.equal(next, 9);
  });

  test('a batch has one change for each record, and an import one for each row, in one transaction or many', async () => {
    const { pims } = await store.newTenant();
    const { port } = pims;
    const steps = [
      { operation: 'createOrder', body: {}, refusal: undefined },
      { operation: 'updateOrder', body: { ORDER_NUMBER: '$0.data', NOTES: 'x' }, refusal: undefined },
    ] as const;
    const { data } = await operations.writeBatch(port, steps, context);
    const order = (JSON.parse(data) as { data: string }[])[0]!.data;
    assert.deepEqual(await readShown(port, 0), [`createOrder: orders ${order} created`]);
    for (const [at, atomic] of [true, false].entries()) {
      const { next } = await read(port);
      const parts = times(300, (n) => ({ PART_CODE: `P${at}-${n}` }));
      await pims.importRows('inventory', parts, { atomic, size: 250 });
      const created = parts.map(({ PART_CODE }) => `import: inventory ${PART_CODE} created`);
      assert.deepEqual(await readShown(port, next), created);
    }
    const { next } = await read(port);
    const rejected = port.importRows('inventory', batches([{ PART_CODE: 'N' }, { PART_CODE: 'N' }]), {
      now: NOW,
      atomic: true,
    });
    await Array.fromAsync(rejected);
    assert.deepEqual(await readShown(port, next), []);
  });

  test('imported lines, and an order of more than 100 parts, are in the feed with each part they move', async () => {
    const { pims } = await store.newTenant();
    const parts = times(101, (n) => `P${n}`);
    await pims.importAll('orders', [{ ORDER_NUMBER: '1', ORDER_TYPE: 'sales_order' }]);
    await pims.importAll(
      'inventory',
      parts.map((PART_CODE) => ({ PART_CODE, QTY_ONHAND: '100' })),
    );
    const lines = parts.map((PART_CODE) => ({ ORDER_NUMBER: '1', PART_CODE, QUANTITY: '2' }));
    let { next } = await read(pims.port);
    for (const [operation, work] of [
      ['import', () => pims.importAll('lines', lines)],
      ['cancelOrder', () => operations.writeRecord(pims.port, 'cancelOrder', { ORDER_NUMBER: '1' }, context)],
    ] as const) {
      await work();
      const moved = ['orders 1', ...parts.map((part) => `inventory ${part}`)];
      const expected = moved.map((one) => `${operation}: ${one} updated`);
      assert.deepEqual((await readShown(pims.port, next)).toSorted(), expected.toSorted());
      ({ next } = await read(pims.port, { after: next }));
    }
  });

  test('pages of some types skip the others, and continue where the last page ended', async () => {
    const { pims } = await store.newTenant();
    const { port } = pims;
    for (let at = 0; at < 3; at++) {
      await operations.writeRecord(port, 'createCustomer', { CUSTOMER_CODE: `C${at}` }, context);
      await operations.writeRecord(port, 'createOrder', {}, context);
    }
    const keys: string[] = [];
    for (let [after, hasMore] = [0, true]; hasMore;) {
      const page = await read(port, { after, types: ['customers'], limit: 2 });
      assert.ok(page.changes.length <= 2);
      keys.push(...page.changes.map(({ key }) => key));
      ({ next: after, hasMore } = page);
    }
    assert.deepEqual(keys, ['C0', 'C1', 'C2']);
    const { changes, next } = await read(port, { after: undefined });
    assert.deepEqual([changes, next], [[], (await read(port)).next]);
  });

  test('consecutive pages of any types and length have every change of them, also of large commits', async () => {
    const { pims } = await store.newTenant();
    const { port } = pims;
    const wide = (letter: string): Values =>
      Object.fromEntries(WIDE_FIELDS.map((field) => [field, letter.repeat(CHANGED_CHARACTERS)]));
    const steps = (operation: 'createCustomer' | 'updateCustomer', fields: Values) =>
      times(STEPS_MAX, (n) => ({ operation, body: { CUSTOMER_CODE: `C${n}`, ...fields }, refusal: undefined }));
    const by = { ...context, by: 'ann@example.com' };
    await operations.writeBatch(port, steps('createCustomer', wide('a')), by);
    await operations.writeRecord(port, 'createOrder', {}, by);
    await operations.writeBatch(port, steps('updateCustomer', wide('b')), by);
    await pims.importAll(
      'inventory',
      times(700, (n) => ({ PART_CODE: `P${n}` })),
    );
    for (let at = 0; at < 30; at++) await operations.writeRecord(port, 'createOrder', {}, by);
    await operations.writeBatch(port, steps('updateCustomer', wide('c')), by);
    const newest = (await read(port, { after: undefined })).next;
    const { changes: all } = await port.readChanges(null, 1);
    assert.equal(all.length, 1);
    const whole = await readAll(port, CHANGED_TYPES, 5000);
    assert.deepEqual(
      whole.map(({ seq }) => Number(seq)),
      times(newest, (n) => n + 1),
    );
    assert.deepEqual(Map.groupBy(whole, ({ type }) => type).get('orders')?.length, 31);
    for (const types of [['orders'], ['customers'], ['inventory'], ['orders', 'inventory'], CHANGED_TYPES] as const)
      for (const limit of [7, 100, 1000]) {
        const wanted = whole.filter(({ type }) => (types as readonly string[]).includes(type));
        assert.deepEqual(await readAll(port, types, limit), wanted, `${types.join()} ${limit}`);
      }
  });

  test('a page whose caller has left ends at once, and a page that has made progress is never refused', async () => {
    const { pims } = await store.newTenant();
    const { port } = pims;
    await pims.importAll(
      'inventory',
      times(1000, (n) => ({ PART_CODE: `P${n}` })),
    );
    const rare: ChangesRequest = { types: ['orders'], limit: 10, after: 0 };
    assert.deepEqual(await listChanges(port, rare), { changes: [], next: 1000, hasMore: false });
    const left = await listChanges(port, rare, () => AbortSignal.abort());
    assert.deepEqual(left.changes, []);
    assert.ok(left.next > 0 && left.next <= 1000, `${left.next}`);
  });

  // Holds S6.24.
  test('readers beside writers of two processes always see all numbers so far, and each acknowledged change once', async () => {
    const { tenant, pims } = await store.newTenant();
    const [one, other] = [await store.first(), await store.openAgain()];
    const writer = await store.runProcess(`
      const { writeRecord } = await import(${JSON.stringify(OPERATIONS)});
      const { port } = await pims(${JSON.stringify(tenant.teamId)});
      await Promise.all(Array.from({ length: ${WRITERS} }, async (_, by) => {
        for (let at = 0; at < ${WRITES_EACH}; at++)
          await writeRecord(port, 'createCustomer', { CUSTOMER_CODE: 'other-' + by + '-' + at }, ${JSON.stringify(context)});
      }));
      await store.close();`);
    const acknowledged = times(WRITERS, (by) => times(WRITES_EACH, (at) => `other-${by}-${at}`)).flat();
    const ended = new AbortController();
    const follow = async (by: typeof one, limit: number): Promise<string[]> => {
      const seen: string[] = [];
      const source = { openPims: () => by.pims(tenant), nextChange: (end: AbortSignal) => by.nextChange(tenant, end) };
      for (;;) {
        // A page that was being read when the writers ended may lack their last changes.
        const isLast = ended.signal.aborted;
        const request = { types: CHANGED_TYPES, limit, after: seen.length };
        const page = await awaitChanges(source, request, ended.signal);
        for (const { seq, key } of page.changes) assert.equal(seen.push(key), Number(seq));
        if (isLast && !page.hasMore && page.changes.length === 0) return seen;
      }
    };
    const readers = [follow(one, 3), follow(other, 100)];
    const writing = new AbortController();
    const end = ending(writer).finally(() => writing.abort());
    begin(writer);
    const work = async (by: number): Promise<void> => {
      for (let at = 0; !writing.signal.aborted; at++)
        acknowledged.push(
          numberOf(
            await operations.writeRecord(pims.port, 'createCustomer', { CUSTOMER_CODE: `own-${by}-${at}` }, context),
          ),
        );
    };
    await Promise.all(times(WRITERS, work));
    assert.equal((await end).code, 0);
    ended.abort();
    const [first, second] = await Promise.all(readers);
    assert.deepEqual(first, second);
    assert.deepEqual(first!.toSorted(), acknowledged.toSorted());
  });

  // Holds S6.27.
  test('old changes but the newest are deleted, and a deleted position is refused with the earliest', async () => {
    const { pims } = await store.newTenant();
    const { port } = pims;
    await pims.importAll(
      'inventory',
      times(1200, (n) => ({ PART_CODE: `P${n}` })),
    );
    await deleteOldChanges(() => port, NOW);
    assert.equal((await read(port)).changes.length, 1000);
    await operations.writeRecord(port, 'createCustomer', { CUSTOMER_CODE: 'B' }, context);
    await deleteOldChanges(() => port, LATER);
    const { earliest, newest } = await port.readChanges(null, 1);
    assert.equal(earliest, newest - 1);
    assert.deepEqual(await readShown(port, earliest), ['createCustomer: customers B created']);
    await assertRefusedBy(read(port), 'CHANGES_GONE', { earliest: String(earliest) });
    await assertRefusedBy(read(port, { after: newest + 1 }), 'CHANGES_GONE', { earliest: String(earliest) });
    await operations.writeRecord(port, 'createCustomer', { CUSTOMER_CODE: 'C' }, context);
    assert.deepEqual(await readShown(port, newest), ['createCustomer: customers C created']);
  });
}
