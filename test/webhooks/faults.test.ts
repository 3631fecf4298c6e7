/**
 * Tests webhooks with faults: receivers fail in every way and restart, the service is killed, and the sender is lost.
 * Each change is accepted in order, and sent only after all earlier ones were accepted. STOREROOM_TEST_WEBHOOK_CHANGES
 * and STOREROOM_TEST_WEBHOOK_KILLS set the numbers.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { findInStore } from '../dashboard/scene.ts';
import { times } from '../kit/lists.ts';
import { readMetrics } from '../kit/metrics.ts';
import { newDatabase } from '../kit/postgres.ts';
import { ownService, type Keys, type Service } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';
import { until } from '../kit/wait.ts';
import { addWebhook, createCustomers, passUntil, PRIVATE, Receiver, webhook, type Behaviour } from './receiver.ts';

const CHANGES = trials('WEBHOOK_CHANGES', { quick: 300, all: 10_000 });
const KILLS = trials('WEBHOOK_KILLS', { quick: 3, all: 20 });
/** One in this many messages is not accepted at the first attempt. */
const FAULT_EVERY = 25;
const FAULTS: readonly Behaviour[] = [500, 'close', 'redirect', 'hang', 429, 'slow'];
/** Changes of a page, which is the maximum that is sent again after a kill. */
const PAGE_MAX = 64;
const SECOND_MS = 1000;

/** Returns the numbers of all changes of the tenant, in order. */
async function feedOf(service: Service, keys: Keys): Promise<string[]> {
  const seqs: string[] = [];
  for (let after = '0'; ;) {
    const { body, headers } = await service.call(keys, 'GET', '/changes', { query: { after } });
    seqs.push(...(body.data as { seq: string }[]).map(({ seq }) => seq));
    after = headers.get('x-next-after')!;
    if (headers.get('x-has-more') !== 'true') return seqs;
  }
}

/**
 * Checks that each change was accepted, and sent only after all earlier ones were accepted. Returns the number of
 * changes that were sent again after that.
 */
function checkOrder(receiver: Receiver, feed: readonly string[]): number {
  let taken = 0;
  let repeats = 0;
  const ids = new Map<string, string>();
  for (const { data, id, isTaken } of receiver.received) {
    const place = feed.indexOf(data.seq, Math.max(0, taken - 100));
    assert.ok(place >= 0 && place <= taken, `change ${data.seq} came when ${taken} had been taken`);
    if (place < taken) repeats++;
    else if (isTaken) taken++;
    assert.equal(ids.get(data.seq) ?? id, id);
    ids.set(data.seq, id);
  }
  assert.equal(taken, feed.length);
  return repeats;
}

// Holds S16.1.
test('a failing receiver gets every change in order, while the service is killed', async () => {
  const service = await ownService({ env: PRIVATE });
  const keys = await service.makeTenant('shop');
  const receiver = await Receiver.start();
  const { secret } = await addWebhook(service, 'shop', receiver);
  const tried = new Set<string>();
  let faults = 0;
  /** The answer to every message just before a kill. */
  let atKill: Behaviour | undefined;
  receiver.behave = ({ id }) => {
    const isNew = !tried.has(id);
    tried.add(id);
    if (atKill !== undefined) return atKill;
    return isNew && tried.size % FAULT_EVERY === 0 ? FAULTS[faults++ % FAULTS.length]! : 200;
  };
  const pass = (isSo: () => boolean): Promise<void> =>
    passUntil(service, () => receiver.answerSlow().then(isSo), 3 * SECOND_MS);
  const share = Math.ceil(CHANGES / KILLS);
  for (let kills = 1; kills <= KILLS; kills++) {
    await createCustomers(service, keys, share);
    await pass(() => tried.size >= share * (kills - 0.5));
    const before = receiver.received.length;
    atKill = kills % 2 === 0 ? 200 : 'hang';
    await pass(() => receiver.received.length > before);
    // The kill comes while a message has no answer, or while the progress of deliveries is not saved yet.
    if (atKill === 200) await receiver.has(before + PAGE_MAX / 2);
    await service.stop('SIGKILL');
    atKill = undefined;
    await receiver.restart();
    await service.restart();
  }
  const feed = await feedOf(service, keys);
  const last = feed.at(-1)!;
  await pass(() => receiver.received.findLast(({ isTaken }) => isTaken)?.data.seq === last);
  const repeats = checkOrder(receiver, feed);
  assert.ok(repeats <= KILLS * PAGE_MAX, `${repeats} changes came again`);
  assert.ok(faults >= FAULTS.length, `${faults} faults`);
  // The store and the log contain no secret in plain text (S16.5).
  const bytes = Buffer.from(secret.slice('whsec_'.length), 'base64');
  assert.deepEqual(await findInStore(service, { secret: secret.slice(6), bytes, url: receiver.url }), ['url']);
  assert.ok(!service.output.includes(secret.slice(6)));
});

test('while nine receivers hang, the tenth gets everything without delay', async () => {
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

/** Returns the age of the oldest change that this node has not delivered; 0 for a node that does not send. */
async function lagOf(node: Service): Promise<number> {
  const { samples } = await readMetrics(node);
  return samples.find(({ name }) => name === 'storeroom_webhook_lag_seconds')!.value;
}

suite('of two nodes', () => {
  // Holds S16.1.
  test('one sends every change in order, and the other continues after it is killed', async () => {
    const databaseUrl = await newDatabase();
    const nodes = [
      await ownService({ databaseUrl, env: PRIVATE }),
      await ownService({ databaseUrl, env: PRIVATE }),
    ] as const;
    const keys = await nodes[0].makeTenant('shop');
    const receiver = await Receiver.start();
    await addWebhook(nodes[0], 'shop', receiver);
    const moveAll = async (ms: number): Promise<void> => void (await Promise.all(nodes.map((node) => node.move(ms))));
    const senders = new Set<Service>();
    for (let kills = 1; kills <= 2; kills++) {
      const before = receiver.received.length;
      receiver.behave = () => 'hang';
      await createCustomers(nodes[0], keys, 20);
      while (receiver.received.length === before) {
        await moveAll(SECOND_MS);
        await webhook(nodes[0], 'list', 'shop');
      }
      for (let seconds = 0; seconds < 10; seconds++) {
        await moveAll(SECOND_MS);
        await webhook(nodes[0], 'list', 'shop');
      }
      assert.equal(receiver.received.length, before + 1, 'one node sends');
      const [sender, other] = (await lagOf(nodes[0])) > 0 ? nodes : [nodes[1], nodes[0]];
      assert.equal(await lagOf(other), 0);
      senders.add(sender);
      await sender.stop('SIGKILL');
      receiver.behave = () => 200;
      await passUntil(other, () => new Set(receiver.received.map(({ id }) => id)).size >= 20 * kills);
      await sender.restart();
    }
    assert.equal(senders.size, 2);
    const repeats = checkOrder(receiver, await feedOf(nodes[0], keys));
    assert.ok(repeats <= 2 * PAGE_MAX, `${repeats} changes came again`);
  });
});
