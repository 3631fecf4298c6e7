/** Contract: webhooks, the progress and deliveries of each, and the lease of the sender. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DELIVERIES_MAX, OLD_SECRETS_MAX, WEBHOOKS_MAX } from '../../src/webhooks/webhooks.ts';
import type { Attempt, Webhook } from '../../src/webhooks/webhooks-port.ts';
import { times, valuesOf } from '../kit/lists.ts';
import { at, bytes } from './people.ts';
import { accepted, assertRefused, entry, NOW, type StoreUnderTest } from './store-under-test.ts';

const attempt = (seq: number, more: Partial<Attempt> = {}): Attempt => ({
  seq: String(seq),
  type: 'orders.updated',
  key: 'a',
  at: NOW,
  attempt: 1,
  status: 200,
  error: null,
  durationMs: 5,
  request: '{}',
  response: 'ü',
  nextTryAt: null,
  ...more,
});

const plain = (webhook: Webhook): Webhook => ({
  ...webhook,
  secret: webhook.secret && new Uint8Array(webhook.secret),
  oldSecret: webhook.oldSecret && new Uint8Array(webhook.oldSecret),
});

export function describeWebhooks(store: StoreUnderTest): void {
  let made = 0;
  async function open() {
    const { tenant } = await store.newTenant();
    const { webhooks, tenants } = await store.first();
    const make = (more: Partial<Webhook> = {}): Webhook => ({
      teamId: tenant.teamId,
      id: `wh_${++made}`,
      url: 'https://shop.example.com/',
      types: ['orders', 'inventory'],
      createdAt: at(made),
      secret: bytes(1),
      oldSecret: null,
      oldSecretEndsAt: '',
      position: 7,
      state: 'active',
      reason: '',
      failures: 0,
      nextTryAt: '',
      deliveredAt: '',
      revision: 0,
      ...more,
    });
    const add = async (more?: Partial<Webhook>): Promise<Webhook> => {
      const webhook = make(more);
      accepted(await webhooks.addWebhook(webhook, entry()));
      return webhook;
    };
    // One of the stores returns bytes as a Buffer, so `plain` makes them comparable.
    const load = async ({ id }: Webhook): Promise<Webhook> => plain((await webhooks.findWebhook(tenant.teamId, id))!);
    return { tenant, tenants, webhooks, make, add, load };
  }

  test('an endpoint is kept as it was added, up to the maximum, and goes with its tenant', async () => {
    const { tenant, tenants, webhooks, make, add, load } = await open();
    const first = await add();
    assert.deepEqual(await load(first), plain(first));
    const changes = async () => (await webhooks.loadLease()).changes;
    const before = await changes();
    for (let count = 1; count < WEBHOOKS_MAX; count++) await add();
    assertRefused(await webhooks.addWebhook(make(), entry()), 'COMMAND_REFUSED');
    assert.equal(await changes(), before + WEBHOOKS_MAX - 1);
    assert.equal((await webhooks.listWebhooks(tenant.teamId)).length, WEBHOOKS_MAX);
    assert.equal(await webhooks.findWebhook('another', first.id), undefined);
    assert.equal(await webhooks.removeWebhook('another', first.id, entry()).catch(() => false), false);
    assert.equal(await webhooks.removeWebhook(tenant.teamId, first.id, entry()), true);
    assert.equal(await webhooks.removeWebhook(tenant.teamId, first.id, entry()), false);
    const ended = await changes();
    await tenants.deleteTenant(tenant);
    assert.deepEqual(await webhooks.listWebhooks(tenant.teamId), []);
    assert.ok((await changes()) > ended, 'the sender learns of it');
  });

  test('progress is saved only by a sender that knows the current state of the endpoint', async () => {
    const { tenant, webhooks, add, load } = await open();
    const webhook = await add();
    const ahead = { ...webhook, position: 9, deliveredAt: NOW };
    assert.equal(await webhooks.saveProgress(webhook, ahead, [attempt(8), attempt(9)]), true);
    assert.deepEqual(await load(webhook), plain(ahead));
    assert.equal(await webhooks.saveProgress(webhook, { ...webhook, position: 8 }, [attempt(8)]), false, 'moved');
    assert.equal(await webhooks.changeWebhook(tenant.teamId, webhook.id, { state: 'paused' }, entry()), true);
    assert.equal(await webhooks.changeWebhook(tenant.teamId, 'wh_none', { state: 'paused' }, entry()), false);
    assert.equal(await webhooks.saveProgress(ahead, { ...ahead, position: 10 }, [attempt(10)]), false, 'paused');
    const changed = await load(webhook);
    assert.deepEqual([changed.state, changed.position, changed.revision], ['paused', 9, 1]);
    const kept = await webhooks.loadDeliveries(webhook.id, 100, '', 10);
    assert.deepEqual(kept, [
      { number: 2, ...attempt(9) },
      { number: 1, ...attempt(8) },
    ]);
  });

  test('the last deliveries are kept, up to their maximum number and age, and are read by page', async () => {
    const { webhooks, add } = await open();
    const webhook = await add();
    const group = 1000;
    for (let seq = 0; seq < DELIVERIES_MAX; seq += group)
      await webhooks.saveProgress(
        webhook,
        webhook,
        times(group, (index) => attempt(seq + index)),
      );
    await webhooks.addTest(webhook, attempt(0, { at: at(1), seq: '', type: 'test', status: null, error: 'a' }));
    const numbers = async (before: number, limit: number, from = '') =>
      valuesOf(await webhooks.loadDeliveries(webhook.id, before, from, limit), 'number');
    assert.deepEqual(await numbers(Number.MAX_SAFE_INTEGER, 2), [DELIVERIES_MAX + 1, DELIVERIES_MAX]);
    assert.deepEqual(await numbers(4, 10), [3, 2]);
    assert.deepEqual(await numbers(Number.MAX_SAFE_INTEGER, 9, at(1)), [DELIVERIES_MAX + 1]);
    await webhooks.deleteDeliveriesBefore(at(1));
    assert.deepEqual(await numbers(Number.MAX_SAFE_INTEGER, 9), [DELIVERIES_MAX + 1]);
    await webhooks.addTest({ ...webhook, id: 'wh_none' }, attempt(1));
  });

  test('if several nodes take the lease at the same tick, one has it', async () => {
    const { webhooks, add } = await open();
    await add();
    const other = (await store.openAgain()).webhooks;
    const { tick, hasWebhooks } = await webhooks.loadLease();
    assert.equal(hasWebhooks, true);
    const taken = await Promise.all([webhooks.takeLease('a', tick), other.takeLease('b', tick)]);
    assert.deepEqual(taken.filter(Boolean), [true]);
    const lease = await other.loadLease();
    assert.deepEqual([lease.owner, lease.tick], [taken[0] ? 'a' : 'b', tick + 1]);
    assert.equal(await webhooks.takeLease('', tick + 1), true);
  });

  test('secrets that are replaced at once are each kept until their end, up to the maximum', async () => {
    const { tenant, webhooks, add, load } = await open();
    const webhook = await add();
    const other = (await store.openAgain()).webhooks;
    const oldSecretEndsAt = '9999-01-01T00:00:00.000Z';
    const replace = (by: typeof webhooks, secret: Uint8Array, later?: { at: string }): Promise<boolean> =>
      by.changeWebhook(tenant.teamId, webhook.id, { secret, oldSecretEndsAt }, { ...entry(), ...later });
    const used = [1];
    for (let round = 0; round < OLD_SECRETS_MAX / 2; round++) {
      const [left, right] = [10 + round, 100 + round];
      used.push(left, right);
      await Promise.all([
        replace(webhooks, bytes(left)),
        replace(other, bytes(right)),
        other.replaceSealingKey(entry()),
      ]);
      const { secret, oldSecret, oldSecretEndsAt: ends } = await load(webhook);
      const all = Buffer.concat([secret!, oldSecret!]);
      assert.deepEqual(new Set(all), new Set(used));
      assert.equal(all.length, 32 * used.length);
      assert.equal(ends.split(' ').length, used.length - 1);
    }
    await assert.rejects(replace(webhooks, bytes(7)), { code: 'COMMAND_REFUSED' });
    const before = (await load(webhook)).secret!;
    assert.equal(await replace(webhooks, bytes(8), { at: oldSecretEndsAt }), true);
    assert.partialDeepStrictEqual(await load(webhook), { secret: bytes(8), oldSecret: before, oldSecretEndsAt });
  });
}
