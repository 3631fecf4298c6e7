/** Tests the order, the schedule and the pauses of deliveries: what a receiver gets, and when, for each answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { valuesOf } from '../kit/lists.ts';
import { ownService, type Service } from '../kit/service.ts';
import { until } from '../kit/wait.ts';
import { addWebhook, createCustomers, listWebhooks, passUntil, PRIVATE, Receiver, webhook } from './receiver.ts';

const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;
/** The waits between retries (S16.3). */
const SCHEDULE_MS = [
  5 * SECOND_MS,
  300 * SECOND_MS,
  1800 * SECOND_MS,
  ...[2, 5, 10, 14, 20, 24].map((h) => h * HOUR_MS),
];

const service = await ownService({ env: PRIVATE });
let teams = 0;
const newTeam = () => service.makeTenant(`team-${++teams}`);
const only = async (of: Service, teamID: string) => (await listWebhooks(of, teamID))[0]!;

/** Lets time pass, and calls `look` one millisecond before its end, in which the sender can also renew its lease. */
async function passTo(ms: number, look: () => Promise<void>): Promise<void> {
  await service.hold(ms - 1);
  await look();
  await service.hold(1);
}

// Holds S16.1, S16.2.
test('a receiver gets every change after it was added, signed, once and in order, and of its types alone', async () => {
  const keys = await newTeam();
  await createCustomers(service, keys, 2);
  const [all, orders] = [await Receiver.start(), await Receiver.start()];
  await addWebhook(service, keys.teamID, all);
  await addWebhook(service, keys.teamID, orders, '--types', 'orders');
  await createCustomers(service, keys, 150);
  const order = await service.call(keys, 'PUT', '/orders/create', { body: { ORDER_TYPE: 'quote' } });
  assert.equal(order.status, 200, order.text);
  await passUntil(service, () => all.received.length > 0 && orders.received.length > 0);
  await all.has(151);
  const seqs = all.received.map(({ data }) => Number(data.seq));
  assert.deepEqual(
    seqs,
    seqs.toSorted((a, b) => a - b),
  );
  assert.equal(new Set(seqs).size, 151);
  const { id, type, timestamp, data, headers, body } = all.received[150]!;
  assert.equal(type, 'orders.created');
  const { seq, key, ...rest } = data;
  assert.match(`${seq} ${key}`, /^\d+ \d+$/);
  assert.deepEqual(rest, { type: 'orders', change: 'created', operation: 'createOrder', by: 'default' });
  assert.deepEqual(Object.keys(JSON.parse(body) as object), ['type', 'timestamp', 'data']);
  assert.match(timestamp, /^\d{4}-\d\d-\d\dT.*Z$/);
  assert.equal(headers['content-type'], 'application/json');
  assert.notEqual(id, orders.received[0]!.id);
  assert.deepEqual(valuesOf(orders.received, 'data'), [data]);
  await passUntil(service, async () => (await only(service, keys.teamID)).lag === 0);
});

// Holds S16.1.
test('the position is saved every half second, so that a kill repeats no more', async () => {
  const keys = await newTeam();
  const receiver = await Receiver.start();
  receiver.behave = () => {
    const { length } = receiver.received;
    return length === 19 ? 'slow' : length < 40 ? 200 : 'hang';
  };
  await addWebhook(service, keys.teamID, receiver);
  await createCustomers(service, keys, 60);
  await passUntil(service, () => receiver.received.length > 0);
  await receiver.has(20);
  await service.move(500);
  for (let calls = 0; calls < 2; calls++) await receiver.answerSlow();
  await receiver.has(41);
  const { position } = await only(service, keys.teamID);
  const saved = receiver.received.findIndex(({ data }) => data.seq === position) + 1;
  assert.ok(saved >= 20 && saved <= 40, `${saved} of 40 changes are saved`);
});

// Holds S16.3.
test('a change that is refused is tried again on the schedule, with its ID, and then the endpoint is paused', async () => {
  const keys = await newTeam();
  const receiver = await Receiver.start();
  const { id } = await addWebhook(service, keys.teamID, receiver);
  await createCustomers(service, keys, 1);
  await passUntil(service, () => receiver.received.length > 0);
  await service.stand();
  receiver.behave = () => 500;
  await createCustomers(service, keys, 2);
  await receiver.has(2);
  for (const [failed, ms] of SCHEDULE_MS.entries()) {
    let view = await only(service, keys.teamID);
    while (view.failures <= failed) view = await only(service, keys.teamID);
    assert.equal(Date.parse(view.nextTryAt!) - service.now(), ms, `after ${failed + 1} failures`);
    await passTo(ms, async () => {
      await only(service, keys.teamID);
      assert.equal(receiver.received.length, failed + 2, 'not before its time');
    });
    await receiver.has(failed + 3);
  }
  await service.pass();
  await passUntil(service, async () => (await only(service, keys.teamID)).state === 'paused');
  const { failures, reason, nextTryAt, lag } = await only(service, keys.teamID);
  assert.deepEqual([failures, nextTryAt, lag > 0], [10, null, true]);
  assert.match(reason!, /^10 attempts failed\. The last error: The receiver answered 500\.$/);
  const refused = receiver.received[1]!.id;
  assert.deepEqual(new Set(valuesOf(receiver.received.slice(1), 'id')), new Set([refused]));

  receiver.behave = () => 200;
  await webhook(service, 'replay', keys.teamID, id);
  await passUntil(service, () => receiver.received.length >= 13);
  assert.deepEqual(valuesOf(receiver.received.slice(11), 'id').indexOf(refused), 0);
  assert.equal(new Set(valuesOf(receiver.received, 'id')).size, 3);
  assert.equal((await only(service, keys.teamID)).state, 'active');
});

// Holds S16.4.
test('410 pauses at once; a redirect is not followed; a receiver that hangs has 15 seconds', async () => {
  const keys = await newTeam();
  const receiver = await Receiver.start();
  const { id } = await addWebhook(service, keys.teamID, receiver);
  await createCustomers(service, keys, 1);
  await passUntil(service, () => receiver.received.length > 0);
  await service.stand();
  const failures = async (): Promise<number> => (await only(service, keys.teamID)).failures;
  receiver.behave = () => 'redirect';
  await createCustomers(service, keys, 1);
  await until(async () => (await failures()) === 1);
  receiver.behave = () => 'hang';
  await passTo(SCHEDULE_MS[0]!, async () => assert.equal(await failures(), 1));
  await receiver.has(3);
  assert.deepEqual(new Set(valuesOf(receiver.received, 'url')), new Set(['/hooks?shop=1']));
  await passTo(15 * SECOND_MS, async () => assert.equal(await failures(), 1));
  await until(async () => (await failures()) === 2);
  receiver.behave = () => 410;
  await passTo(SCHEDULE_MS[1]!, async () => assert.equal(await failures(), 2));
  await until(async () => (await only(service, keys.teamID)).state === 'paused');
  assert.equal((await only(service, keys.teamID)).reason, 'The receiver answered 410.');
  await service.pass();
  receiver.behave = () => 204;
  await webhook(service, 'replay', keys.teamID, id);
  await passUntil(service, async () => (await only(service, keys.teamID)).lag === 0);
});

// Holds S16.5.
test('two secrets sign for 24 hours while one is replaced; a test, a pause and a replay do what they say', async () => {
  const keys = await newTeam();
  const receiver = await Receiver.start();
  const { id } = await addWebhook(service, keys.teamID, receiver);
  const [old] = receiver.secrets;
  const tested = await webhook(service, 'test', keys.teamID, id);
  assert.deepEqual([tested['status'], tested['error']], [200, null]);
  assert.deepEqual([receiver.received[0]!.type, receiver.received[0]!.data], ['test', {}]);
  const { secret } = await webhook(service, 'rotate', keys.teamID, id);
  receiver.secrets = [secret!];
  await webhook(service, 'test', keys.teamID, id);
  assert.equal(receiver.received.at(-1)!.signatures, 2);
  receiver.secrets = [old!];
  await createCustomers(service, keys, 1);
  await passUntil(service, async () => (await only(service, keys.teamID)).lag === 0);
  assert.equal(receiver.received.at(-1)!.signatures, 2);
  receiver.secrets = [secret!];
  await service.hold(24 * HOUR_MS);
  await webhook(service, 'test', keys.teamID, id);
  assert.equal(receiver.received.at(-1)!.signatures, 1);
  assert.notEqual(secret, old);

  await webhook(service, 'pause', keys.teamID, id);
  await passUntil(service, async () => (await only(service, keys.teamID)).state === 'paused');
  await service.move(2 * SECOND_MS);
  await only(service, keys.teamID);
  const count = receiver.received.length;
  const { position } = await only(service, keys.teamID);
  await createCustomers(service, keys, 1);
  await service.move(2 * SECOND_MS);
  await only(service, keys.teamID);
  assert.equal(receiver.received.length, count, 'nothing while it is paused');
  await webhook(service, 'replay', keys.teamID, id, '--after', '0');
  await passUntil(service, () => receiver.received.length >= count + 2);
  assert.deepEqual(
    receiver.received.slice(count).map(({ data }) => Number(data.seq) > Number(position)),
    [false, true],
  );
  await assert.rejects(webhook(service, 'replay', keys.teamID, id, '--after', '99999999'), /number of a change/);
  await webhook(service, 'remove', keys.teamID, id);
  assert.deepEqual(await listWebhooks(service, keys.teamID), []);
});
