/** Tests the order, the schedule and the pauses of deliveries: what a receiver gets, and when, for each answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { valuesOf } from '../kit/lists.ts';
import { ownService, type Keys, type Service } from '../kit/service.ts';
import { until } from '../kit/wait.ts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { inlineRefs } from '../kit/contract.ts';
import { addWebhook, createCustomers, listWebhooks, passUntil, PRIVATE, Receiver, webhook } from './receiver.ts';

const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;
/** The waits between retries (S16.3). */
const SCHEDULE_MS = [
  ...[5, 15, 60, 300, 1800].map((s) => s * SECOND_MS),
  ...[2, 5, 10, 14, 20, 24].map((h) => h * HOUR_MS),
];

/** A part of the contract that describes a message. */
interface Described {
  readonly requestBody: { readonly content: Record<string, { readonly schema: object }> };
}

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
test('a receiver gets every change of its types after it was added, signed, once and in order', async () => {
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

/** Adds a receiver that hangs, and lets a change get to it. Returns how many messages are there, and its first key. */
async function hangUp(own: Service, keys: Keys) {
  const receiver = await Receiver.start();
  const { id } = await addWebhook(own, keys.teamID, receiver);
  receiver.behave = () => 'hang';
  await createCustomers(own, keys, 3);
  await passUntil(own, () => receiver.received.length > 0);
  return { id, receiver, first: receiver.received[0]!.data.key };
}

/** Waits until a receiver gets all three changes, from the one that it did not answer on. */
async function takesAll(own: Service, receiver: Receiver, first: string, before: number): Promise<void> {
  await passUntil(own, () => receiver.received.length >= before + 3);
  assert.equal(receiver.received[before]!.data.key, first);
}

// Holds S16.1.
test('a change whose delivery a pause interrupts is delivered when the endpoint continues', async () => {
  const keys = await newTeam();
  const { id, receiver, first } = await hangUp(service, keys);
  await webhook(service, 'pause', keys.teamID, id);
  await passUntil(service, async () => (await only(service, keys.teamID)).state === 'paused');
  assert.equal((await only(service, keys.teamID)).lag, 3, 'nothing was answered');
  receiver.behave = () => 200;
  const before = receiver.received.length;
  await webhook(service, 'replay', keys.teamID, id);
  await takesAll(service, receiver, first, before);
});

for (const signal of ['SIGTERM', 'SIGKILL'] as const)
  test(`a change whose delivery ${signal} interrupts is delivered after the next start`, async () => {
    const own = await ownService({ env: PRIVATE });
    const { receiver, first } = await hangUp(own, await own.makeTenant('shop'));
    await own.stop(signal);
    const before = receiver.received.length;
    receiver.behave = () => 200;
    await own.restart();
    await takesAll(own, receiver, first, before);
  });

// Holds S16.3.
test('a refused change is tried again on the schedule, with its ID, and then the endpoint is paused', async () => {
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
  assert.deepEqual([failures, nextTryAt, lag > 0], [12, null, true]);
  assert.match(reason!, /^12 attempts failed\. The last error: The receiver answered 500\.$/);
  const refused = receiver.received[1]!.id;
  assert.deepEqual(new Set(valuesOf(receiver.received.slice(1), 'id')), new Set([refused]));

  receiver.behave = () => 200;
  await webhook(service, 'replay', keys.teamID, id);
  // The refused message can come twice before the next one.
  await passUntil(service, () => new Set(valuesOf(receiver.received, 'id')).size === 3);
  assert.deepEqual(valuesOf(receiver.received.slice(13), 'id').indexOf(refused), 0);
  assert.equal((await only(service, keys.teamID)).state, 'active');
});

// Holds S16.3.
test('a successful test ends the wait for the next attempt, not a pause; the list shows the last attempts', async () => {
  const keys = await newTeam();
  const receiver = await Receiver.start();
  const { id } = await addWebhook(service, keys.teamID, receiver);
  receiver.behave = ({ type }) => (type === 'test' ? 204 : 500);
  await createCustomers(service, keys, 1);
  await passUntil(service, async () => (await only(service, keys.teamID)).failures === 4);
  const { state, reason, attempts } = await only(service, keys.teamID);
  assert.deepEqual([state, reason], ['active', 'The receiver answered 500.']);
  assert.deepEqual(valuesOf(attempts, 'attempt'), [4, 3, 2, 1]);
  assert.partialDeepStrictEqual(attempts[0], { type: 'customers.created', status: 500, error: reason });
  const shown = (await service.command('webhook', 'list', keys.teamID)).stdout;
  assert.match(shown, /LAST ATTEMPTS.*\n.* 500 500 500 500 .*The receiver answered 500\./);
  await service.stand();
  await webhook(service, 'test', keys.teamID, id);
  await service.hold(2 * SECOND_MS); // The sender looks for changes this often.
  await receiver.has(6);
  assert.deepEqual(valuesOf(receiver.received, 'type').slice(4), ['test', 'customers.created']);
  receiver.behave = () => 410;
  await webhook(service, 'replay', keys.teamID, id);
  await service.hold(2 * SECOND_MS);
  await until(async () => (await only(service, keys.teamID)).state === 'paused');
  receiver.behave = () => 200;
  await webhook(service, 'test', keys.teamID, id);
  assert.equal((await only(service, keys.teamID)).state, 'paused');
  await service.pass();
});

// Holds S16.1.
test('a webhook with a list of events receives no others', async () => {
  const keys = await newTeam();
  const receiver = await Receiver.start();
  await addWebhook(service, keys.teamID, receiver, '--types', 'customers.updated,orders.created');
  assert.deepEqual((await only(service, keys.teamID)).types, ['orders.created', 'customers.updated']);
  const send = async (method: string, path: string, body: object): Promise<string> => {
    const answer = await service.call(keys, method, path, { body });
    assert.equal(answer.status, 200, answer.text);
    return answer.body.data as string;
  };
  const CUSTOMER_CODE = await send('PUT', '/customers/create', { CUSTOMER_NAME: 'Ann' });
  const ORDER_NUMBER = await send('PUT', '/orders/create', {});
  await send('POST', '/orders/update', { ORDER_NUMBER, NOTES: 'x' });
  await send('POST', '/customers/update', { CUSTOMER_CODE, BCITY: 'Reims' });
  await send('POST', '/orders/update', { ORDER_NUMBER, NOTES: 'y' });
  await passUntil(service, async () => (await only(service, keys.teamID)).lag === 0);
  assert.deepEqual(valuesOf(receiver.received, 'type'), ['orders.created', 'customers.updated']);
  await assert.rejects(
    webhook(service, 'add', keys.teamID, receiver.url, '--types', 'orders.deleted'),
    /orders\.created.*not 'orders\.deleted'/,
  );
});

// Holds S1.9.
test('the contract describes the messages', async () => {
  const keys = await newTeam();
  const receiver = await Receiver.start();
  const { id } = await addWebhook(service, keys.teamID, receiver);
  await webhook(service, 'test', keys.teamID, id);
  await createCustomers(service, keys, 1);
  await passUntil(service, () => receiver.received.length === 2);
  const text = await (await fetch(`${service.origin}/openapi.json`)).text();
  const { webhooks } = inlineRefs(JSON.parse(text) as { webhooks: Record<string, { post: Described }> });
  const { content } = webhooks['change']!.post.requestBody;
  const isDescribed = new Ajv2020({ strict: false }).compile(content['application/json']!.schema);
  for (const { body } of receiver.received)
    assert.ok(isDescribed(JSON.parse(body)), `${body} ${JSON.stringify(isDescribed.errors)}`);
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
test('every secret signs for 24 hours after it is replaced; test, pause and replay work', async () => {
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
  await service.hold(12 * HOUR_MS);
  const { secret: last } = await webhook(service, 'rotate', keys.teamID, id);
  for (const [hours, signing, count] of [
    [0, old, 3],
    [12, secret, 2],
    [12, last, 1],
  ] as const) {
    await service.hold(hours * HOUR_MS);
    receiver.secrets = [signing!];
    await webhook(service, 'test', keys.teamID, id);
    assert.equal(receiver.received.at(-1)!.signatures, count);
  }
  assert.equal(new Set([old, secret, last]).size, 3);

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
