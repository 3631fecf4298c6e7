/** Tests that orders.createWithLines sends one batch if it fits, otherwise several, and writes nothing twice. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { inspect } from 'node:util';
import { Storeroom, StoreroomError } from '../../client/src/storeroom.ts';
import { times, valuesOf } from '../kit/lists.ts';
import { Shop } from '../kit/records.ts';
import { sharedService } from '../kit/service.ts';
import { clientOf } from './clients.ts';
import { hangUp, refuse, succeed, UnkindServer, type Answering } from './unkind-server.ts';

interface Step {
  readonly operation: string;
  readonly body: { readonly ORDER_NUMBER?: string; readonly DESCRIPTION?: string };
}

async function failureOf(running: Promise<unknown>): Promise<StoreroomError> {
  const failure = await running.then(
    () => assert.fail('it succeeded'),
    (error: unknown) => error,
  );
  assert.ok(failure instanceof StoreroomError, inspect(failure));
  return failure;
}

const linesOf = (count: number): { DESCRIPTION: string }[] => times(count, (at) => ({ DESCRIPTION: `line ${at}` }));

/** A server that limits the steps of a batch and keeps the answers of batches by key, as the service does. */
class Rated {
  /** Maximum steps of a batch. */
  most: number;
  /** The key of a batch that gets no answer, and whether the batch is written. */
  lost: { readonly key: string; readonly isWritten: boolean } | undefined;
  /** New values of `most`, by the key of the batch from which on they hold. */
  rateFrom: Readonly<Record<string, number>> = {};
  /** Size and key of each batch. */
  readonly sent: string[] = [];
  readonly written: Step[] = [];
  readonly bodies: Step[][] = [];
  readonly client: Storeroom;
  readonly #kept = new Map<string, { text: string; data: unknown }>();

  private constructor(server: UnkindServer, most: number) {
    this.most = most;
    const keys = { teamID: 'shop', apiID: 'sr_id_one', apiSecret: 'sr_sk_two' };
    this.client = new Storeroom({ baseUrl: server.baseUrl, ...keys, tries: 2, firstWaitMs: 1 });
    server.will((response, request) =>
      this.#choose(request.body, String(request.headers['idempotency-key']))(response, request),
    );
  }

  static async open(most: number): Promise<Rated> {
    return new Rated(await UnkindServer.start(), most);
  }

  /** Sends an order with lines under the key `k`. */
  send = (lines: readonly object[]): Promise<{ orderNumber: string; lines: readonly object[] }> =>
    this.client.orders.createWithLines({ NOTES: '$5' }, lines, { idempotencyKey: 'k' });

  #choose(text: string, key: string): Answering {
    const steps = JSON.parse(text) as Step[];
    this.bodies.push(steps);
    this.most = this.rateFrom[key] ?? this.most;
    this.sent.push(`${steps.length} ${key}`);
    if (steps.length > this.most) {
      const policy = `"quota";q=9;w=2592000, "rate";q=${this.most};w=2`;
      return refuse(400, 'BATCH_TOO_LONG', { 'RateLimit-Policy': policy });
    }
    const kept = this.#kept.get(key);
    if (kept && kept.text !== text) return refuse(422, 'IDEMPOTENCY_KEY_REUSED');
    const isLost = key === this.lost?.key;
    if (isLost && !this.lost!.isWritten) return hangUp;
    if (!kept) this.written.push(...steps);
    const data = kept?.data ?? steps.map(({ operation, body }) => ({ data: operation === 'createOrder' ? '7' : body }));
    this.#kept.set(key, { text, data });
    return isLost ? hangUp : succeed(data);
  }

  /** Checks that the order and every line were written exactly once, in order. */
  assertWhole(lines: readonly { readonly DESCRIPTION: string }[]): void {
    assert.deepEqual(
      this.written.map(({ operation, body }) => body.DESCRIPTION ?? operation),
      ['createOrder', ...valuesOf(lines, 'DESCRIPTION')],
    );
  }
}

suite('a batch of more steps than the rate allows at once', () => {
  test('is sent in pieces of as many steps as the refusal says, under consecutive keys', async () => {
    const rated = await Rated.open(20);
    const lines = linesOf(50);
    const { orderNumber, lines: added } = await rated.send(lines);
    assert.deepEqual(rated.sent, ['51 k', '20 k', '20 k.2', '11 k.3']);
    assert.equal(orderNumber, '7');
    assert.deepEqual(valuesOf(added as typeof lines, 'DESCRIPTION'), valuesOf(lines, 'DESCRIPTION'));
    assert.deepEqual(rated.bodies[1]!.slice(0, 2), [
      { operation: 'createOrder', body: { NOTES: '$$5' } },
      { operation: 'addLineItem', body: { DESCRIPTION: 'line 0', ORDER_NUMBER: '$0.data' } },
    ]);
    assert.equal(rated.bodies[2]![0]!.body.ORDER_NUMBER, '7');
    rated.assertWhole(lines);
  });

  test('is sent step by step if a batch may have only one, and in hundreds if it may have any number', async () => {
    const one = await Rated.open(1);
    await one.send(linesOf(2));
    assert.deepEqual(one.sent, ['3 k', '1 k', '1 k.2', '1 k.3']);
    one.assertWhole(linesOf(2));
    const any = await Rated.open(500);
    await any.send(linesOf(250));
    assert.deepEqual(any.sent, ['100 k', '100 k.2', '51 k.3']);
    any.assertWhole(linesOf(250));
  });

  for (const isWritten of [true, false])
    test(`continues after a call that failed, ${isWritten ? 'once' : 'before'} a piece was written, and writes nothing twice`, async () => {
      for (const key of ['k', 'k.2', 'k.3']) {
        const rated = await Rated.open(20);
        const lines = linesOf(50);
        rated.lost = { key, isWritten };
        const { code, orderNumber } = await failureOf(rated.send(lines));
        assert.deepEqual([code, orderNumber], ['NO_ANSWER', key === 'k' ? undefined : '7']);
        rated.lost = undefined;
        assert.equal((await rated.send(lines)).lines.length, 50);
        rated.assertWhole(lines);
        await rated.send(lines);
        rated.assertWhole(lines);
      }
    });

  test('is never written a second time under another rate: the key is refused', async () => {
    const rateOf = { lower: 10, higher: 40, none: 100 };
    for (const most of Object.values(rateOf)) {
      const rated = await Rated.open(20);
      rated.lost = { key: 'k.2', isWritten: true };
      await failureOf(rated.send(linesOf(50)));
      const before = rated.written.length;
      Object.assign(rated, { lost: undefined, most });
      assert.equal((await failureOf(rated.send(linesOf(50)))).code, 'IDEMPOTENCY_KEY_REUSED');
      assert.equal(rated.written.length, before);
      rated.most = 20;
      await rated.send(linesOf(50));
      rated.assertWhole(linesOf(50));
    }
  });

  test('continues in smaller pieces when the rate is lowered meanwhile', async () => {
    const rated = await Rated.open(20);
    rated.rateFrom = { 'k.2': 15 };
    await rated.send(linesOf(50));
    assert.deepEqual(rated.sent, ['51 k', '20 k', '20 k.2', '15 k.2', '15 k.3', '1 k.4']);
    rated.assertWhole(linesOf(50));
  });
});

suite('a batch that is too long', () => {
  test('is not retried, and the error says how many steps it may have', async () => {
    const { client, sent } = await Rated.open(1);
    const failure = await failureOf(client.batch(times(3, () => ({ operation: 'createOrder', body: {} }))));
    assert.deepEqual(
      [failure.code, failure.stepsMax, failure.repeatable, sent.length],
      ['BATCH_TOO_LONG', 1, false, 1],
    );
  });

  test('for another reason than the rate is not split', async () => {
    const server = await UnkindServer.start();
    const keys = { teamID: 'shop', apiID: 'sr_id_one', apiSecret: 'sr_sk_two' };
    const { orders } = new Storeroom({ baseUrl: server.baseUrl, ...keys });
    for (const policy of ['', '"quota";q=1;w=2592000', '"rate";q=20;w=2', '"rate";q=0;w=2', '"rate";w=2']) {
      server.will(refuse(400, 'BATCH_TOO_LONG', { 'RateLimit-Policy': policy }));
      assert.equal((await failureOf(orders.createWithLines({}, linesOf(19)))).code, 'BATCH_TOO_LONG');
      assert.equal(server.received.length, 1);
    }
  });
});

suite('an order with its lines', () => {
  test('an order that fits one batch is written in one call, whole or not at all', async () => {
    const shop = await Shop.open(await sharedService(), 'with-lines');
    const { client, tries } = clientOf(shop);
    const { orderNumber, lines } = await client.orders.createWithLines({ REFERENCE_NUMBER: '#1' }, [
      { DESCRIPTION: '$5 off', QUANTITY: 2 },
      { DESCRIPTION: 'b' },
    ]);
    assert.equal(tries.length, 1);
    assert.deepEqual((await client.orders.get(orderNumber)).lines, lines);
    assert.deepEqual(valuesOf(lines, 'DESCRIPTION'), ['$5 off', 'b']);
    const wrong = [...linesOf(3), { QUANTITY: 'many' }];
    const failure = await failureOf(client.orders.createWithLines({ REFERENCE_NUMBER: '#2' }, wrong));
    assert.deepEqual([failure.code, failure.step], ['INVALID_VALUE', 4]);
    assert.equal(await client.orders.query().count(), 1);
    const none = await client.orders.createWithLines({ REFERENCE_NUMBER: '#3' }, []);
    assert.deepEqual([none.lines, (await client.orders.get(none.orderNumber)).lines], [[], []]);
  });

  test('more than 100 steps and more than 1 MiB are sent in pieces, which a retry completes', async () => {
    const shop = await Shop.open(await sharedService(), 'with-many-lines');
    const { client, tries } = clientOf(shop);
    const wide = times(99, (at) => ({ DESCRIPTION: `${at} ${'ä'.repeat(8000)}` }));
    const lines = [...wide, ...linesOf(101), { DESCRIPTION: 'last', QUANTITY: 'many' }];
    const once = { idempotencyKey: 'k' };
    const failure = await failureOf(client.orders.createWithLines({}, lines, once));
    assert.deepEqual([failure.code, failure.step], ['INVALID_VALUE', 201]);
    assert.deepEqual(valuesOf(tries, 'status'), [200, 200, 400]);
    lines[200] = { DESCRIPTION: 'last', QUANTITY: '2' };
    tries.length = 0;
    const { orderNumber, lines: added } = await client.orders.createWithLines({}, lines, once);
    assert.deepEqual(valuesOf(tries, 'replayed'), [true, true, false]);
    assert.deepEqual((await client.orders.get(orderNumber)).lines, added);
    assert.deepEqual(valuesOf(added, 'DESCRIPTION'), valuesOf(lines, 'DESCRIPTION'));
    assert.equal(await client.orders.query().count(), 1);
  });

  test('a key that leaves no room for the numbers of the pieces is refused before anything is sent', async () => {
    const { client, sent } = await Rated.open(20);
    const idempotencyKey = 'k'.repeat(250);
    await assert.rejects(client.orders.createWithLines({}, [], { idempotencyKey }), { name: 'TypeError' });
    assert.deepEqual(sent, []);
    await client.orders.createWithLines({}, linesOf(20), { idempotencyKey: 'k'.repeat(249) });
  });
});
