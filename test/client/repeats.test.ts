/** Tests which calls the TypeScript client repeats, and what it sends then. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { inspect } from 'node:util';
import { Storeroom, StoreroomError, type StoreroomOptions, type Try } from '../../client/src/storeroom.ts';
import { ERRORS } from '../../src/errors.ts';
import { times } from '../kit/lists.ts';
import { membersOf } from './clients.ts';
import { repeatedCodes } from './guide.ts';
import { hangUp, page, refuse, saySoAndHangUp, succeed, UnkindServer, type Answering } from './unkind-server.ts';

const server = await UnkindServer.start();
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

suite('the client retries', () => {
  // Holds S3.14.
  test('every error of the service (5xx), and exactly the other error codes that the guide lists', async () => {
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

  test('a call whose connection ended before or during the response, or whose proxy failed', async () => {
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

  test('no call to a wrong address, and no redirection, which would send the credentials elsewhere', async () => {
    for (const answer of [page(404), page(301, { Location: `${server.baseUrl}/elsewhere` })]) {
      will(answer);
      assert.equal((await failureOf(client.usage.get())).code, 'UNREADABLE_ANSWER');
      assert.equal(server.received.length, 1);
    }
  });

  test('at most as often as the client or the call says, and then throws the last failure', async () => {
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

  test('with one Idempotency-Key for all tries of a write, a new one or the one from the caller', async () => {
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

  test('an update of a moved line, with its new order and the same key, unless a tag names the order', async () => {
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

test('nothing that cannot be sent: the original error is thrown before any try', async () => {
  will(succeed());
  const big = { FREIGHT: 1n } as unknown as { FREIGHT: number };
  await assert.rejects(client.orders.create(big), { name: 'TypeError' });
  await assert.rejects(client.orders.create({}, { idempotencyKey: 'a\nb' }), { name: 'TypeError' });
  assert.deepEqual([server.received.length, tries.length], [0, 0]);
});

suite('secrets', () => {
  test('are only in the Authorization header: not in URLs, errors, tries or the printed client', async () => {
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
      for (const value of [undefined, '', 'with a space', 'with-its-line-break\n'])
        assert.throws(() => clientOf({ [name]: value }), {
          name: 'TypeError',
          message: `Set the option ${name}, without spaces and line breaks.`,
        });
    const baseUrl = `http://me:${SECRET}@127.0.0.1/`;
    assert.throws(() => clientOf({ baseUrl }), { message: 'baseUrl must have no credentials and no query.' });
  });
});

test('storefront numbers are sent a hundred at a time, and in halves if a response cannot contain all', async () => {
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
