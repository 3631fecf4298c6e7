/** When the TypeScript client repeats a call, how long it waits, and when it gives up. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { inspect } from 'node:util';
import { Storeroom, StoreroomError, type StoreroomOptions, type Try } from '../../client/src/storeroom.ts';
import { ERRORS } from '../../src/errors.ts';
import { times } from '../kit/lists.ts';
import { membersOf } from './clients.ts';
import { repeatedCodes } from './guide.ts';
import {
  hangUp,
  keepSilent,
  page,
  refuse,
  saySoAndHangUp,
  succeed,
  UnkindServer,
  type Answering,
} from './unkind-server.ts';

const server = await UnkindServer.start();
/** For tries that are given up: their requests may arrive late, and then count for nobody else. */
const slowServer = await UnkindServer.start();
/** Longer than a test may take. */
const LONG_MS = 40_000;
const SECRET = 'sr_sk_verysecret';
const tries: Try[] = [];
const clientOf = (options: Partial<StoreroomOptions> = {}): Storeroom =>
  new Storeroom({
    baseUrl: server.baseUrl,
    teamID: 'shop',
    apiID: 'sr_id_one',
    apiSecret: SECRET,
    firstWaitMs: 1,
    onTry: (tried) => void tries.push(tried),
    ...options,
  });
const client = clientOf();

function will(...answers: Answering[]): void {
  server.will(...answers);
  tries.length = 0;
}

async function failureOf(running: Promise<unknown>): Promise<StoreroomError> {
  const failure = await running.then(
    () => assert.fail('it succeeded'),
    (error: unknown) => error,
  );
  assert.ok(failure instanceof StoreroomError, inspect(failure));
  return failure;
}

suite('what is repeated', () => {
  test('of every code of the service, those and only those that the guide says', async () => {
    const repeated = repeatedCodes();
    assert.ok(repeated.size >= 4);
    for (const [code, { httpStatus, place }] of Object.entries(ERRORS)) {
      if (place === 'dashboard' || place === 'command') continue;
      will(refuse(httpStatus, code), succeed());
      const expected = httpStatus >= 500 || repeated.has(code);
      const failure = await client.orders.create({}).catch((error: StoreroomError) => error);
      assert.equal(failure === '1', expected, code);
      if (failure instanceof StoreroomError) assert.equal(failure.repeatable, false, code);
      assert.equal(server.received.length, expected ? 2 : 1, code);
    }
  });

  test('a call whose connection ended, before the answer or in it, or that was answered by a proxy that was ill', async () => {
    will(hangUp, saySoAndHangUp, page(502), page(200), succeed('7'));
    assert.equal(await client.orders.create({}), '7');
    assert.deepEqual(
      tries.map(({ status, code }) => [status, code]),
      [
        [0, 'NO_ANSWER'],
        [0, 'NO_ANSWER'],
        [502, 'UNREADABLE_ANSWER'],
        [200, 'UNREADABLE_ANSWER'],
        [200, undefined],
      ],
    );
  });

  test('but not what stands at a wrong address, nor a redirection, which would take the credentials elsewhere', async () => {
    for (const answer of [page(404), page(301, { Location: `${server.baseUrl}/elsewhere` })]) {
      will(answer);
      assert.equal((await failureOf(client.usage.get())).code, 'UNREADABLE_ANSWER');
      assert.equal(server.received.length, 1);
    }
  });

  test('up to as many tries as the client or the call says, and then the last failure is thrown', async () => {
    will(refuse(503, 'SERVICE_BUSY'));
    const failure = await failureOf(client.orders.create({}));
    assert.partialDeepStrictEqual(membersOf(failure), {
      code: 'SERVICE_BUSY',
      status: 503,
      requestId: 'r1',
      operation: 'createOrder',
      repeatable: true,
    });
    assert.equal(server.received.length, 5);
    will(refuse(503, 'SERVICE_BUSY'));
    await failureOf(client.orders.create({}, { tries: 2 }));
    await failureOf(clientOf({ tries: 1 }).orders.create({}));
    assert.equal(server.received.length, 3);
  });

  test('with one Idempotency-Key for all tries of a write, another for the next write, or the one that is given', async () => {
    will(hangUp, refuse(409, 'IDEMPOTENCY_KEY_RUNNING'), succeed());
    const keys = (): unknown[] => server.received.map(({ headers }) => headers['idempotency-key']);
    await client.batch([{ operation: 'createOrder', body: {} }]).catch(() => undefined);
    const [first, ...others] = keys();
    assert.match(String(first), /^[0-9a-f-]{36}$/);
    assert.deepEqual(others, [first, first]);
    will(succeed());
    await client.orders.create({});
    await client.customers.update({ CUSTOMER_CODE: '1' }, { idempotencyKey: 'mine' });
    assert.notEqual(keys()[0], first);
    assert.equal(keys()[1], 'mine');
    await client.customers.get('1');
    assert.equal(keys()[2], undefined);
  });

  test('an update of a line that moved, with the order it moved to and under the same key, unless a tag names the order', async () => {
    const moved: Answering = (response) =>
      response.writeHead(400).end(JSON.stringify({ code: 'LINE_MOVED', message: 'Moved.', suggestion: '8' }));
    const change = { ORDER_NUMBER: '7', LINE_REF_LOCK_CODE: 'c', DISCOUNT: '1' };
    will(moved, hangUp, succeed({}));
    await client.lines.update(change);
    assert.deepEqual(
      server.received.map(({ body }) => (JSON.parse(body) as typeof change).ORDER_NUMBER),
      ['7', '8', '8'],
    );
    assert.equal(new Set(server.received.map(({ headers }) => headers['idempotency-key'])).size, 1);
    will(moved);
    assert.equal((await failureOf(client.lines.update(change, { ifMatch: '"a"' }))).suggestion, '8');
    assert.equal(server.received.length, 1);
    await failureOf(client.lines.update(change));
    assert.equal(server.received.length, 5, 'a line that always moves is followed three times');
  });
});

suite('how long it waits', () => {
  test('as long as Retry-After says', async () => {
    will(refuse(429, 'RATE_LIMITED', { 'Retry-After': '1' }), succeed());
    await client.usage.get();
    const [first, second] = server.received;
    assert.ok(second!.at - first!.at >= 995, `${second!.at - first!.at} ms`);
    assert.ok(tries[0]!.waitMs! >= 1000 && tries[0]!.waitMs! <= 1250);
  });

  test('never for next month, nor longer than the call may take: then the failure comes at once', async () => {
    will(refuse(429, 'QUOTA_EXCEEDED', { 'Retry-After': '1' }));
    assert.partialDeepStrictEqual(membersOf(await failureOf(client.usage.get())), { retryAfter: 1, repeatable: false });
    assert.equal(server.received.length, 1);
    will(refuse(503, 'STORE_UNAVAILABLE', { 'Retry-After': '86400' }));
    assert.partialDeepStrictEqual(membersOf(await failureOf(client.usage.get())), {
      retryAfter: 86400,
      repeatable: true,
    });
    assert.equal(server.received.length, 1);
    assert.equal(tries[0]!.waitMs, undefined);
  });

  test('otherwise a random time that doubles with each try, up to half a minute', async () => {
    will(refuse(500, 'INTERNAL_ERROR'));
    await failureOf(clientOf({ firstWaitMs: 8 }).usage.get());
    const waits = tries.map(({ waitMs }) => waitMs);
    assert.equal(waits.pop(), undefined);
    for (const [at, waitMs] of waits.entries()) {
      const most = 8 * 2 ** at;
      assert.ok(waitMs! >= most / 2 && waitMs! <= most, `${waitMs} of ${most}`);
    }
    const begin = async (): Promise<number> => {
      const stop = new AbortController();
      const told = Promise.withResolvers<number>();
      const calling = clientOf({
        firstWaitMs: 10_000_000,
        totalTimeoutMs: 100_000,
        onTry: (tried) => told.resolve(tried.waitMs!),
      })
        .usage.get(undefined, { signal: stop.signal })
        .catch(() => undefined);
      const waitMs = await told.promise;
      stop.abort();
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

  test('a try that is not answered in its time is given up and repeated; the call ends when all its time is up', async () => {
    const slow = clientOf({ baseUrl: slowServer.baseUrl });
    will(succeed());
    slowServer.will(keepSilent, succeed('7'));
    assert.equal(await slow.orders.create({}, { timeoutMs: 100, tries: 99 }), '7');
    assert.equal(tries[0]!.code, 'NO_ANSWER');
    will(succeed());
    slowServer.will(keepSilent);
    const failure = await failureOf(slow.orders.create({}, { timeoutMs: 40, totalTimeoutMs: 100, tries: 99 }));
    assert.partialDeepStrictEqual(membersOf(failure), { code: 'NO_ANSWER', status: 0, repeatable: true });
    assert.ok(tries.length <= 3, `${tries.length}`);
    will(refuse(503, 'SERVICE_BUSY', { 'Retry-After': String(30 * 86_400) }));
    const patient = clientOf({ timeoutMs: Infinity, totalTimeoutMs: Infinity });
    assert.equal((await failureOf(patient.usage.get())).code, 'SERVICE_BUSY', 'no timer is that long');
    assert.equal(server.received.length, 1);
    const begunAt = performance.now();
    await failureOf(slow.usage.get(undefined, { timeoutMs: LONG_MS, totalTimeoutMs: 50 }));
    assert.ok(performance.now() - begunAt < LONG_MS / 2, 'a try takes no more than is left of the call');
    slowServer.will((response) => response.writeHead(200).write('{'));
    await failureOf(slow.usage.get(undefined, { timeoutMs: 40, tries: 1 }));
  });

  test('an abort ends a call at once, before it, in a try and in a wait, and throws its reason', async () => {
    const reason = new Error('enough');
    const begunAt = performance.now();
    for (const answer of [keepSilent, refuse(503, 'SERVICE_BUSY', { 'Retry-After': '20' })]) {
      const stop = new AbortController();
      will((response, request) => {
        answer(response, request);
        setTimeout(() => stop.abort(reason), 20);
      });
      const calling = client.usage.get(undefined, { signal: stop.signal, timeoutMs: LONG_MS });
      await assert.rejects(calling, (error) => error === reason);
      assert.equal(server.received.length, 1);
    }
    assert.ok(performance.now() - begunAt < LONG_MS / 2);
    will(succeed());
    await assert.rejects(
      client.usage.get(undefined, { signal: AbortSignal.abort(reason) }),
      (error) => error === reason,
    );
    assert.equal(server.received.length, 0);
  });
});

test('what cannot be sent is thrown as it is, before any try', async () => {
  will(succeed());
  const big = { FREIGHT: 1n } as unknown as { FREIGHT: number };
  await assert.rejects(client.orders.create(big), { name: 'TypeError' });
  await assert.rejects(client.orders.create({}, { idempotencyKey: 'a\nb' }), { name: 'TypeError' });
  assert.deepEqual([server.received.length, tries.length], [0, 0]);
});

suite('secrets', () => {
  test('are in the Authorization header and nowhere else: not in URLs, errors, tries or what the client shows of itself', async () => {
    const basic = Buffer.from(`sr_id_one:${SECRET}`).toString('base64');
    const shown: unknown[] = [client, JSON.stringify(client)];
    for (const answer of [hangUp, page(500), refuse(401, 'INVALID_CREDENTIALS')]) {
      will(answer);
      const failure = await failureOf(client.orders.create({}, { tries: 2 }));
      shown.push(
        failure,
        failure.stack,
        JSON.stringify(failure),
        tries,
        server.received.map(({ url, body }) => [url, body]),
      );
      assert.ok(server.received.every(({ headers }) => headers.authorization === `Basic ${basic}`));
    }
    const text = shown.map((one) => inspect(one, { depth: 20, showHidden: true })).join('\n');
    assert.ok(text.includes('INVALID_CREDENTIALS'));
    assert.ok(!text.includes(SECRET) && !text.includes(basic), text);
  });

  test('a missing or broken option is named, not shown', () => {
    for (const name of ['baseUrl', 'teamID', 'apiID', 'apiSecret'] as const)
      for (const value of [undefined, '', 'with a space'])
        assert.throws(() => clientOf({ [name]: value }), {
          name: 'TypeError',
          message: `Storeroom needs the option ${name}.`,
        });
    const baseUrl = `http://me:${SECRET}@127.0.0.1/`;
    assert.throws(() => clientOf({ baseUrl }), { message: 'baseUrl must have no credentials and no query.' });
  });
});

test('numbers of storefronts go out a hundred at a time, in halves where one answer does not hold them all', async () => {
  const sizes: number[] = [];
  will((response, { body }) => {
    const numbers = JSON.parse(body) as string[];
    sizes.push(numbers.length);
    if (numbers.length > 1 && numbers.includes('#3')) return refuse(422, 'RESULT_TOO_LARGE')(response, {} as never);
    response.end(JSON.stringify(numbers.map((number) => ({ storefront_order_number: number, orders: [] }))));
  });
  const numbers = times(205, (at) => `#${at}`);
  const found = await client.orders.byStorefrontReference(numbers);
  assert.deepEqual(
    found.map(({ storefront_order_number: number }) => number),
    numbers,
  );
  assert.deepEqual(sizes, [100, 50, 25, 13, 7, 4, 2, 2, 1, 1, 3, 6, 12, 25, 50, 100, 5]);
  assert.deepEqual(await client.orders.byStorefrontReference([]), []);
});
