/** Tests how long the TypeScript client waits before a retry and when it gives up, on a clock that the test moves. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { suite, test } from 'node:test';
import { setImmediate as nextRound } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { CallOptions, Storeroom, StoreroomError, StoreroomOptions, Try } from '../../client/src/storeroom.ts';
import { TestClock } from '../kit/clock.ts';
import { times, valuesOf } from '../kit/lists.ts';
import { membersOf } from './clients.ts';
import { loadClient } from './host.ts';
import { keepSilent, refuse, succeed, UnkindServer, type Answering } from './unkind-server.ts';

/** A client on a clock that only the test moves, and the server that it calls. */
class Waiting {
  readonly clock = new TestClock();
  readonly tries: Try[] = [];
  readonly server: UnkindServer;
  readonly client: Storeroom;
  readonly #isFailure: (error: unknown) => error is StoreroomError;
  readonly #told = new EventEmitter();

  private constructor(server: UnkindServer, options: Partial<StoreroomOptions>) {
    const { Storeroom: Client, StoreroomError: Failure } = loadClient(this.clock);
    this.#isFailure = (error) => error instanceof Failure;
    this.server = server;
    this.client = new Client({
      baseUrl: server.baseUrl,
      teamID: 'shop',
      apiID: 'sr_id_one',
      apiSecret: 'sr_sk_verysecret',
      firstWaitMs: 1,
      onTry: (tried) => {
        this.tries.push(tried);
        this.#told.emit('try');
      },
      ...options,
    });
  }

  static async open(options: Partial<StoreroomOptions> = {}): Promise<Waiting> {
    return new Waiting(await UnkindServer.start(), options);
  }

  /** Waits until this try has ended and the client has begun its wait. Returns the length of that wait. */
  async tried(count: number): Promise<number | undefined> {
    while (this.tries.length < count) await once(this.#told, 'try');
    await nextRound();
    const { waitMs, durationMs } = this.tries[count - 1]!;
    assert.ok(Number.isInteger(durationMs) && Number.isInteger(waitMs ?? 0), `${durationMs}, ${waitMs}`);
    return waitMs;
  }

  async failureOf(running: Promise<unknown>): Promise<StoreroomError> {
    const failure = await running.then(
      () => assert.fail('it succeeded'),
      (error: unknown) => error,
    );
    assert.ok(this.#isFailure(failure), inspect(failure));
    return failure;
  }

  /** Checks that exactly this time ends the only wait, and that one millisecond less does not. */
  passExactly(ms: number): void {
    this.clock.move(Math.ceil(ms) - 1);
    assert.equal(this.clock.waiting, 1);
    this.clock.move(1);
    assert.equal(this.clock.waiting, 0);
  }
}

suite('between two tries', () => {
  test('a refusal for the rate is not a try: the call is retried after random waits until its time is up', async () => {
    const refused = refuse(429, 'RATE_LIMITED', { 'Retry-After': '1', 'RateLimit-Policy': '"rate";q=10;w=2' });
    const begin = async (options: Partial<StoreroomOptions>, ...answers: Answering[]): Promise<Waiting> => {
      const waiting = await Waiting.open(options);
      waiting.server.will(...answers);
      return waiting;
    };
    const follow = async (waiting: Waiting): Promise<void> => {
      for (let count = 1; ; count++) {
        const waitMs = await waiting.tried(count);
        if (waitMs === undefined) return;
        waiting.passExactly(waitMs);
      }
    };
    const busy = refuse(503, 'SERVICE_BUSY');
    const patient = await begin({ tries: 2 }, ...times(20, () => refused), busy, succeed());
    const calling = patient.client.usage.get();
    await follow(patient);
    await calling;
    assert.deepEqual(valuesOf(patient.tries, 'number'), [...times(21, () => 1), 2]);
    assert.ok(new Set(valuesOf(patient.tries, 'waitMs')).size > 10);

    const limited = await begin({ totalTimeoutMs: 30_000 }, refused);
    const failing = limited.failureOf(limited.client.usage.get());
    await follow(limited);
    assert.equal((await failing).code, 'RATE_LIMITED');
    assert.ok(limited.server.received.length >= 20, `${limited.server.received.length} tries in 30 s`);

    const single = await begin({ tries: 1 }, refused);
    await single.failureOf(single.client.usage.get());
    assert.equal(single.server.received.length, 1);
  });

  test('calls that were refused together are retried at the rate that the service reports', async () => {
    const waiting = await Waiting.open();
    const policy = { 'Retry-After': '1', 'RateLimit-Policy': '"rate";q=10;w=2' };
    waiting.server.will(...times(10, () => refuse(429, 'RATE_LIMITED', policy)), succeed());
    const calling = Promise.all(times(10, () => waiting.client.usage.get()));
    const waits = (await Promise.all(times(10, (at) => waiting.tried(at + 1)))) as number[];
    for (const [at, waitMs] of waits.entries()) {
      const leastMs = 1000 + 200 * at;
      assert.ok(waitMs >= leastMs && waitMs <= leastMs + 510, `${at}: ${waitMs}`);
    }
    waiting.clock.move(Math.max(...waits));
    await calling;
  });

  test('none before a call, unless the last response says that no call is left: then for one call', async () => {
    const waiting = await Waiting.open();
    const leaving =
      (count: number): Answering =>
      (response, request) => {
        response.setHeader('RateLimit-Policy', '"rate";q=10;w=2, "quota";q=9;w=9');
        succeed({})(response.setHeader('RateLimit', `"rate";r=${count};t=2, "quota";r=0;t=9`), request);
      };
    waiting.server.will(leaving(1), leaving(0), leaving(0), leaving(1));
    await waiting.client.usage.get();
    await waiting.client.usage.get();
    for (const sent of [3, 4]) {
      const calling = waiting.client.usage.get();
      while (waiting.clock.waiting === 0) await nextRound();
      assert.equal(waiting.server.received.length, sent - 1);
      waiting.passExactly(200);
      await calling;
    }
    waiting.clock.move(1000);
    waiting.server.will(leaving(0), succeed({}));
    await waiting.client.usage.get();
    await waiting.client.usage.get(undefined, { totalTimeoutMs: 100 });
    assert.equal(waiting.server.received.length, 2, 'a turn after the end of the call is not awaited');
  });

  test('as long as Retry-After says, and up to half as long again', async () => {
    const waiting = await Waiting.open();
    waiting.server.will(refuse(429, 'RATE_LIMITED', { 'Retry-After': '1' }), succeed());
    const calling = waiting.client.usage.get();
    const waitMs = (await waiting.tried(1))!;
    assert.ok(waitMs >= 1000 && waitMs <= 1500, `${waitMs}`);
    waiting.passExactly(waitMs);
    await calling;
    assert.equal(waiting.server.received.length, 2);
  });

  test('never until next month, nor longer than the call may take: then the call fails at once', async () => {
    const fail = async (code: string, retryAfter: number, options?: CallOptions): Promise<StoreroomError> => {
      const waiting = await Waiting.open();
      waiting.server.will(refuse(code === 'QUOTA_EXCEEDED' ? 429 : 503, code, { 'Retry-After': `${retryAfter}` }));
      const failing = waiting.failureOf(waiting.client.usage.get(undefined, options));
      assert.equal(await waiting.tried(1), undefined);
      assert.deepEqual([waiting.clock.elapsed(), waiting.clock.waiting], [0, 0]);
      return failing;
    };
    assert.partialDeepStrictEqual(membersOf(await fail('QUOTA_EXCEEDED', 1)), { retryAfter: 1, repeatable: false });
    const lost = membersOf(await fail('STORE_UNAVAILABLE', 86_400));
    assert.partialDeepStrictEqual(lost, { retryAfter: 86_400, repeatable: true });
    // A timer of JavaScript cannot be as long as 30 days.
    const busy = await fail('SERVICE_BUSY', 30 * 86_400, { timeoutMs: Infinity, totalTimeoutMs: Infinity });
    assert.equal(busy.code, 'SERVICE_BUSY');
  });

  test('otherwise a random time that doubles with each try', async () => {
    const waiting = await Waiting.open({ firstWaitMs: 8 });
    waiting.server.will(refuse(500, 'INTERNAL_ERROR'));
    const failing = waiting.failureOf(waiting.client.usage.get());
    for (const [at, most] of [8, 16, 32, 64].entries()) {
      const waitMs = (await waiting.tried(at + 1))!;
      assert.ok(waitMs >= most / 2 && waitMs <= most, `${waitMs} of ${most}`);
      waiting.passExactly(waitMs);
    }
    await failing;
    assert.deepEqual([waiting.tries.length, waiting.tries.at(-1)!.waitMs], [5, undefined]);
  });

  test('up to half a minute, with another time for each caller', async () => {
    const begin = async (): Promise<number> => {
      const waiting = await Waiting.open({ firstWaitMs: 10_000_000, totalTimeoutMs: 100_000 });
      waiting.server.will(refuse(500, 'INTERNAL_ERROR'), succeed());
      const calling = waiting.client.usage.get();
      const waitMs = (await waiting.tried(1))!;
      waiting.passExactly(waitMs);
      await calling;
      return waitMs;
    };
    const long = await Promise.all(times(8, begin));
    assert.ok(
      long.every((waitMs) => waitMs >= 15_000 && waitMs <= 30_000),
      String(long),
    );
    assert.ok(new Set(long).size > 1, 'callers do not come back together');
  });
});

suite('for an answer', () => {
  test('as long as a try may take: then it is given up and retried', async () => {
    const waiting = await Waiting.open();
    waiting.server.will(keepSilent, succeed('7'));
    const calling = waiting.client.orders.create({}, { timeoutMs: 100, tries: 99 });
    await waiting.server.has(1);
    waiting.passExactly(100);
    waiting.clock.move((await waiting.tried(1))!);
    assert.equal(await calling, '7');
    assert.deepEqual([waiting.tries[0]!.code, waiting.tries[0]!.durationMs], ['NO_ANSWER', 100]);
  });

  test('longer by the time that the service may hold the call', async () => {
    const waiting = await Waiting.open();
    waiting.server.will(keepSilent, (response) => response.setHeader('X-Next-After', '7').end('{"data":[]}'));
    const calling = waiting.client.listChanges({ after: 7, waitSeconds: 25 });
    await waiting.server.has(1);
    waiting.passExactly(35_000);
    waiting.clock.move((await waiting.tried(1))!);
    assert.equal((await calling).next, '7');
  });

  test('no longer than the remaining time of the call, which then ends', async () => {
    const waiting = await Waiting.open();
    waiting.server.will(keepSilent);
    const failing = waiting.failureOf(
      waiting.client.orders.create({}, { timeoutMs: 40, totalTimeoutMs: 100, tries: 99 }),
    );
    for (const number of [1, 2]) {
      await waiting.server.has(number);
      waiting.passExactly(40);
      waiting.clock.move((await waiting.tried(number))!);
    }
    await waiting.server.has(3);
    waiting.passExactly(100 - waiting.clock.elapsed());
    assert.partialDeepStrictEqual(membersOf(await failing), { code: 'NO_ANSWER', status: 0, repeatable: true });
    assert.equal(waiting.tries.length, 3);
    assert.equal(waiting.tries[2]!.waitMs, undefined);
  });

  test('also after a part of the response has arrived', async () => {
    const isBegun = Promise.withResolvers<void>();
    const waiting = await Waiting.open({
      fetch: async (...request) => {
        const response = await fetch(...request);
        isBegun.resolve();
        return response;
      },
    });
    waiting.server.will((response) => response.writeHead(200).write('{'));
    const failing = waiting.failureOf(waiting.client.usage.get(undefined, { timeoutMs: 40, tries: 1 }));
    await isBegun.promise;
    waiting.passExactly(40);
    assert.equal((await failing).code, 'NO_ANSWER');
  });
});

test('an abort ends a call at once, before it, in a try and in a wait, and throws its reason', async () => {
  const reason = new Error('enough');
  const isReason = (error: unknown): boolean => error === reason;
  for (const answer of [keepSilent, refuse(503, 'SERVICE_BUSY', { 'Retry-After': '20' })]) {
    const { client, server, clock, ...waiting } = await Waiting.open();
    server.will(answer);
    const stop = new AbortController();
    const calling = client.usage.get(undefined, { signal: stop.signal });
    if (answer === keepSilent) await server.has(1);
    else while (waiting.tries.length === 0 || clock.waiting === 0) await nextRound();
    const rejected = assert.rejects(calling, isReason);
    stop.abort(reason);
    for (let turn = 0; turn < 20; turn++) await nextRound();
    assert.deepEqual([server.received.length, clock.elapsed(), clock.waiting], [1, 0, 0]);
    await rejected;
  }
  const { client, server } = await Waiting.open();
  await assert.rejects(client.usage.get(undefined, { signal: AbortSignal.abort(reason) }), isReason);
  assert.equal(server.received.length, 0);
});
