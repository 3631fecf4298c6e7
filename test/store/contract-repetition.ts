/** Contract: a write that is repeated under its idempotency key takes effect once. Its transaction saves the key. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal, type Outcome } from '../../src/errors.ts';
import type { WriteOptions, Written } from '../../src/pims/writes/writes.ts';
import { times, valuesOf } from '../kit/lists.ts';
import { type StoreUnderTest, accepted, assertRefused, idempotency, Pims } from './store-under-test.ts';

const create = (pims: Pims, options: WriteOptions): Promise<Outcome<Written>> =>
  pims.createRecord('orders', { ORDER_TYPE: 'quote' }, options);
const countOrders = async (pims: Pims): Promise<number> => (await pims.readAll('orders')).length;
const at = (ms: number): string => new Date(Date.UTC(2026, 10, 20) + ms).toISOString();

export function describeRepetition(store: StoreUnderTest): void {
  test('a repeated write gets the same response, marked as replayed, and does not run again', async () => {
    const { pims } = await store.newTenant();
    const first = accepted(await create(pims, idempotency('key')));
    assert.equal(first.replayed, false);
    for (let time = 0; time < 3; time++)
      assert.deepEqual(await create(pims, idempotency('key')), { data: first.data, replayed: true });
    assert.equal(await countOrders(pims), 1);
    assert.notEqual(accepted(await create(pims, idempotency('another key'))).data, first.data);
  });

  test('every write can be repeated, and gets its first response after any changes', async () => {
    const { pims } = await store.newTenant();
    const order = await pims.createOrder();
    const { LINE_REF_LOCK_CODE: lock = '' } = await pims.newLine(order, { QUANTITY: '9' });
    const customer = await pims.createCustomer({});
    const writes: Record<string, (options: WriteOptions) => Promise<Outcome<Written>>> = {
      createOrder: (options) => create(pims, options),
      createCustomer: (options) => pims.createRecord('customers', { CUSTOMER_CODE: 'OWN' }, options),
      updateCustomer: (options) => pims.updateCustomer(customer, { NOTES: 'n' }, options),
      addLineItem: (options) => pims.addLine(order, { QUANTITY: '1' }, options),
      updateLineItem: (options) => pims.updateLine(order, lock, { QUANTITY: '2' }, options),
      approve: (options) => pims.advanceOrder(order, { approve: true }, options),
    };
    const answers = new Map<string, string>();
    for (const [operation, run] of Object.entries(writes))
      answers.set(operation, accepted(await run(idempotency('key', { operation }))).data);
    accepted(await pims.updateLine(order, lock, { QUANTITY: '7' }));
    for (const [operation, run] of Object.entries(writes))
      assert.deepEqual(
        await run(idempotency('key', { operation })),
        { data: answers.get(operation), replayed: true },
        operation,
      );
    const { lines } = await pims.readOrder(order);
    assert.deepEqual(valuesOf(lines, 'QUANTITY'), ['7', '1']);
  });

  test('the same key with another body is refused, and leaves the first response unchanged', async () => {
    const { pims } = await store.newTenant();
    const { data } = accepted(await create(pims, idempotency('key')));
    assertRefused(await create(pims, idempotency('key', { bodyHash: 'b'.repeat(64) })), 'IDEMPOTENCY_KEY_REUSED');
    assert.deepEqual(await create(pims, idempotency('key')), { data, replayed: true });
    assert.equal(await countOrders(pims), 1);
  });

  test('a key belongs to its tenant and its operation', async () => {
    const [a, b] = [await store.newTenant(), await store.newTenant()];
    for (const { pims } of [a, b])
      for (const operation of ['createOrder', 'createAnother'])
        assert.equal(accepted(await create(pims, idempotency('key', { operation }))).replayed, false);
  });

  test('64 at once under one key write once: the others get its response, or a refusal while it runs', async () => {
    const { pims } = await store.newTenant();
    for (let round = 0; round < 10; round++) {
      const key = `key ${round}`;
      const outcomes = await Promise.all(times(64, () => create(pims, idempotency(key))));
      const done = outcomes.flatMap((outcome) => (outcome instanceof Refusal ? [] : [outcome]));
      assert.equal(done.filter(({ replayed }) => !replayed).length, 1);
      assert.equal(new Set(done.map(({ data }) => data)).size, 1);
      for (const outcome of outcomes) if (outcome instanceof Refusal) assertRefused(outcome, 'IDEMPOTENCY_KEY_RUNNING');
      assert.deepEqual(await create(pims, idempotency(key)), { data: done[0]!.data, replayed: true });
    }
    assert.equal(await countOrders(pims), 10);
  });

  test('a second request under a key whose first is still running is refused, with any body', async () => {
    const { pims } = await store.newTenant();
    const first = create(pims, idempotency('key'));
    for (const bodyHash of ['a'.repeat(64), 'b'.repeat(64)])
      assertRefused(await create(pims, idempotency('key', { bodyHash })), 'IDEMPOTENCY_KEY_RUNNING');
    accepted(await first);
  });

  test('a key that is in use for one operation is free for another', async () => {
    const { pims } = await store.newTenant();
    const writes = ['createOrder', 'createAnother'].map((operation) => create(pims, idempotency('key', { operation })));
    for (const outcome of await Promise.all(writes)) assert.equal(accepted(outcome).replayed, false);
    assert.equal(await countOrders(pims), 2);
  });

  test('a bad body is refused whether its key is new, running or used, and leaves the key unchanged', async () => {
    const { pims } = await store.newTenant();
    const refuse = async (): Promise<void> =>
      assertRefused(await pims.createRecord('orders', { COLOUR: 'red' }, idempotency('key')), 'UNKNOWN_FIELD');
    await refuse();
    const first = create(pims, idempotency('key'));
    await refuse();
    assert.equal(accepted(await first).replayed, false);
    await refuse();
  });

  test('two processes under one key write once', async () => {
    const { tenant, pims } = await store.newTenant();
    const other = await store.reopened(tenant);
    for (let round = 0; round < 10; round++) {
      const outcomes = await Promise.all(
        [pims, other, pims, other].map((one) => create(one, idempotency(`key ${round}`))),
      );
      assert.equal(outcomes.filter((outcome) => !(outcome instanceof Refusal) && !outcome.replayed).length, 1);
    }
    assert.equal(await countOrders(pims), 10);
  });

  test('a key survives the process', async () => {
    const { tenant, pims } = await store.newTenant();
    const { data } = accepted(await create(pims, idempotency('key')));
    assert.deepEqual(await create(await store.reopened(tenant), idempotency('key')), { data, replayed: true });
  });

  test('a refusal is not kept: the corrected request may use the same key', async () => {
    const { pims } = await store.newTenant();
    accepted(await pims.createRecord('customers', { CUSTOMER_CODE: 'TAKEN' }));
    const options = idempotency('key', { operation: 'createCustomer' });
    const corrected = idempotency('key', { operation: 'createCustomer', bodyHash: 'b'.repeat(64) });
    for (let time = 0; time < 2; time++)
      assertRefused(await pims.createRecord('customers', { CUSTOMER_CODE: 'TAKEN' }, options), 'CODE_TAKEN');
    assert.equal(accepted(await pims.createRecord('customers', { CUSTOMER_CODE: 'FREE' }, corrected)).replayed, false);
  });

  test('a key is kept for the requested time despite later ones, and deleted some writes later', async () => {
    const { pims } = await store.newTenant();
    const keptMs = 60_000;
    const run = async (key: string, ms: number) =>
      accepted(await create(pims, { ...idempotency(key, { keptMs }), now: at(ms) }));
    const { data } = await run('key', 0);
    for (let ms = 1000; ms <= keptMs; ms += 1000) await run(`other ${ms}`, ms);
    assert.deepEqual(await run('key', keptMs), { data, replayed: true });
    for (let count = 0; count < 100; count++) await run(`later ${count}`, 2 * keptMs + 1);
    const again = await run('key', 2 * keptMs + 2);
    assert.equal(again.replayed, false);
    assert.notEqual(again.data, data);
  });
}
