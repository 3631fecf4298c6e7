/**
 * Webhooks beside faults: receivers that fail in every way and restart, a service that is killed, a sender that is lost.
 * Every change is taken, in order, and none is sent before those below it were taken. How many:
 * STOREROOM_TEST_WEBHOOK_CHANGES and _WEBHOOK_KILLS.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { findInStore } from '../dashboard/scene.ts';
import { times } from '../kit/lists.ts';
import { newDatabase } from '../kit/postgres.ts';
import { ownService, type Keys, type Service } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';
import { until } from '../kit/wait.ts';
import { addWebhook, createCustomers, passUntil, PRIVATE, Receiver, webhook, type Behaviour } from './receiver.ts';

const CHANGES = trials('WEBHOOK_CHANGES', { quick: 300, all: 10_000 });
const KILLS = trials('WEBHOOK_KILLS', { quick: 3, all: 20 });
/** A message in so many is not taken at first. */
const FAULT_EVERY = 25;
const FAULTS: readonly Behaviour[] = [500, 'close', 'redirect', 'hang', 429];
const SECOND_MS = 1000;

/** The numbers of all changes of the tenant, in order. */
async function feedOf(service: Service, keys: Keys): Promise<string[]> {
  const seqs: string[] = [];
  for (let after = '0'; ;) {
    const { body, headers } = await service.call(keys, 'GET', '/changes', { query: { after } });
    seqs.push(...(body.data as { seq: string }[]).map(({ seq }) => seq));
    after = headers.get('x-next-after')!;
    if (headers.get('x-has-more') !== 'true') return seqs;
  }
}

/** Checks that each change was taken, and came only after all below it had been taken. */
function checkOrder(receiver: Receiver, feed: readonly string[]): void {
  let taken = 0;
  const ids = new Map<string, string>();
  for (const { data, id, isTaken } of receiver.received) {
    const place = feed.indexOf(data.seq, Math.max(0, taken - 100));
    assert.ok(place >= 0 && place <= taken, `change ${data.seq} came when ${taken} had been taken`);
    if (isTaken) taken = Math.max(taken, place + 1);
    assert.equal(ids.get(data.seq) ?? id, id);
    ids.set(data.seq, id);
  }
  assert.equal(taken, feed.length);
}

// Holds S16.1.
test('every change is taken, in order, by a receiver that fails, while the service is killed', async () => {
  const service = await ownService({ env: PRIVATE });
  const keys = await service.makeTenant('shop');
  const receiver = await Receiver.start();
  const { secret } = await addWebhook(service, 'shop', receiver);
  const tried = new Set<string>();
  let faults = 0;
  receiver.behave = ({ id }) => {
    if (tried.has(id)) return 200;
    tried.add(id);
    return tried.size % FAULT_EVERY === 0 ? FAULTS[faults++ % FAULTS.length]! : 200;
  };
  const share = Math.ceil(CHANGES / KILLS);
  for (let kills = 1; kills <= KILLS; kills++) {
    await createCustomers(service, keys, share);
    await passUntil(service, () => tried.size >= share * (kills - 0.5), 6 * SECOND_MS);
    await service.stop('SIGKILL');
    await receiver.restart();
    await service.restart();
  }
  await passUntil(service, () => tried.size >= share * KILLS, 6 * SECOND_MS);
  const feed = await feedOf(service, keys);
  const last = feed.at(-1)!;
  await passUntil(
    service,
    () => receiver.received.some(({ data, isTaken }) => data.seq === last && isTaken),
    6 * SECOND_MS,
  );
  checkOrder(receiver, feed);
  assert.ok(faults >= Math.floor(CHANGES / FAULT_EVERY), `${faults} faults`);
  // The secret is nowhere in the clear (S16.5).
  const bytes = Buffer.from(secret.slice('whsec_'.length), 'base64');
  assert.deepEqual(await findInStore(service, { secret: secret.slice(6), bytes, url: receiver.url }), ['url']);
  assert.ok(!service.output.includes(secret.slice(6)));
});

test('while nine receivers hang, the tenth gets everything: no time has to pass', async () => {
  const service = await ownService({ env: PRIVATE });
  const keys = await service.makeTenant('shop');
  const dead = await Promise.all(times(9, () => Receiver.start()));
  const prompt = await Receiver.start();
  for (const receiver of [...dead, prompt]) {
    receiver.behave = () => (receiver === prompt ? 200 : 'hang');
    await addWebhook(service, 'shop', receiver);
  }
  await createCustomers(service, keys, 1);
  await passUntil(service, () => [...dead, prompt].every(({ received }) => received.length > 0));
  await service.stand();
  await createCustomers(service, keys, 200);
  await until(() => prompt.received.length >= 201);
  assert.deepEqual(
    dead.map(({ received }) => received.length),
    times(9, () => 1),
  );
  await service.pass();
});

suite('of two nodes', () => {
  // Holds S16.1.
  test('one sends, and the other after it was killed: every change, in order', async () => {
    const databaseUrl = await newDatabase();
    const nodes = [
      await ownService({ databaseUrl, env: PRIVATE }),
      await ownService({ databaseUrl, env: PRIVATE }),
    ] as const;
    const keys = await nodes[0].makeTenant('shop');
    const receiver = await Receiver.start();
    await addWebhook(nodes[0], 'shop', receiver);
    let count = 0;
    for (const [live, killed] of [nodes, [...nodes].toReversed()] as [Service, Service][]) {
      await createCustomers(live, keys, 20);
      await passUntil(live, async () => {
        await killed.move(2 * SECOND_MS);
        return receiver.received.length >= count + 10;
      });
      await killed.stop('SIGKILL');
      count += 20;
      await passUntil(live, () => new Set(receiver.received.map(({ id }) => id)).size >= count);
      await killed.restart();
    }
    checkOrder(receiver, await feedOf(nodes[0], keys));
    await webhook(nodes[0], 'list', 'shop');
  });
});
