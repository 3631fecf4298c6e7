/** Tests that the TypeScript client skips and repeats no change of the feed, through every kind of failure. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { Storeroom, StoreroomError, type StoreroomOptions } from '../../client/src/storeroom.ts';
import { times, valuesOf } from '../kit/lists.ts';
import { Feed } from './feed.ts';
import { hangUp, page, refuse, saySoAndHangUp, succeed, type Answering } from './unkind-server.ts';

const KEYS = { teamID: 'shop', apiID: 'sr_id_one', apiSecret: 'sr_sk_two' };
const clientOf = ({ server }: Feed, options: Partial<StoreroomOptions> = {}): Storeroom =>
  new Storeroom({ baseUrl: server.baseUrl, ...KEYS, firstWaitMs: 1, ...options });
const numbersTo = (last: number, first = 1): string[] => times(last - first + 1, (at) => String(first + at));

async function failureOf(running: Promise<unknown>): Promise<StoreroomError> {
  const failure = await running.then(
    () => assert.fail('it succeeded'),
    (error: unknown) => error,
  );
  assert.ok(failure instanceof StoreroomError, inspect(failure));
  return failure;
}

/** Reads changes up to the one with this number, and returns their numbers. */
async function takeTo(last: string, changes: AsyncIterable<{ readonly seq: string }>): Promise<string[]> {
  const taken: string[] = [];
  for await (const { seq } of changes) {
    taken.push(seq);
    if (seq === last) break;
  }
  return taken;
}

test('every change is received once and in order, with lost connections, broken responses, 429 and 5xx', async () => {
  const feed = await Feed.open(40);
  const faults = [
    hangUp,
    saySoAndHangUp,
    refuse(429, 'RATE_LIMITED'),
    refuse(503, 'SERVICE_BUSY'),
    page(502),
    refuse(500, 'INTERNAL_ERROR'),
  ];
  feed.faults = times(60, (at) => (at % 7 < 6 ? faults[at % 7] : undefined));
  // Six failures follow one another, and `tries` is 2: following continues, as its calls have no limit of tries.
  const client = clientOf(feed, { tries: 2, totalTimeoutMs: 60_000 });
  const taking = takeTo('50', client.changes({ after: 0, pageSize: 4 }));
  await feed.server.has(60);
  feed.commit(10);
  assert.deepEqual(await taking, numbersTo(50));
});

test('a saved position continues with the next change, and a loop that is started again repeats nothing', async () => {
  const feed = await Feed.open(20);
  const client = clientOf(feed);
  const first = await takeTo('7', client.changes({ after: '2', pageSize: 3 }));
  const second = await takeTo('20', client.changes({ after: first.at(-1), pageSize: 3 }));
  assert.deepEqual([...first, ...second], numbersTo(20, 3));
});

test('it waits in calls of 55 seconds each; without a position it begins now and skips earlier changes', async () => {
  const feed = await Feed.open(5);
  const taking = takeTo('7', clientOf(feed).changes());
  await feed.server.has(2);
  feed.endWaits();
  await feed.server.has(3);
  feed.commit(1);
  await feed.server.has(4);
  feed.commit(1);
  assert.deepEqual(await taking, ['6', '7']);
  const waits = ['after=5&wait=55', 'after=5&wait=55', 'after=6&wait=55'];
  assert.deepEqual(feed.asked, ['', ...waits]);
});

test('pages, also empty ones, have the position to save, which is after changes of other types too', async () => {
  const feed = await Feed.open(6);
  const pages = clientOf(feed)
    .changes({ after: 0, types: ['customers', 'inventory'], pageSize: 4 })
    .pages();
  const seen: string[] = [];
  for await (const { changes, next, hasMore } of pages) {
    seen.push(`${valuesOf(changes, 'seq').join()} next ${next}${hasMore ? ' more' : ''}`);
    if (next === '6') feed.commit(1);
    if (next === '7') break;
  }
  assert.deepEqual(seen, ['2,3 next 4 more', '5,6 next 6', ' next 7']);
  assert.equal(feed.asked[0], 'after=0&types=customers%2Cinventory&maxReturn=4&wait=55');
});

test('a single page has the content of the response; it waits only if asked to', async () => {
  const feed = await Feed.open(3);
  const client = clientOf(feed);
  assert.deepEqual(await client.listChanges(), { changes: [], next: '3', hasMore: false });
  assert.partialDeepStrictEqual(await client.listChanges({ after: '1', pageSize: 1, include: 'records' }), {
    changes: [{ seq: '2', type: 'customers' }],
    next: '2',
    hasMore: true,
  });
  const waiting = client.listChanges({ after: 3, waitSeconds: 10 });
  await feed.server.has(3);
  feed.commit(1);
  assert.equal((await waiting).next, '4');
  assert.deepEqual(feed.asked, ['', 'after=1&include=records&maxReturn=1', 'after=3&wait=10']);
});

test('410 deleted changes end it at once, with the lowest remaining position', async () => {
  const feed = await Feed.open();
  const gone: Answering = (response) =>
    response.writeHead(410).end(JSON.stringify({ code: 'CHANGES_GONE', message: 'Gone.', earliest: '1024' }));
  feed.faults = [gone];
  const failure = await failureOf(takeTo('1', clientOf(feed).changes({ after: 5 })));
  assert.deepEqual(
    [failure.code, failure.status, failure.earliest, failure.repeatable],
    ['CHANGES_GONE', 410, '1024', false],
  );
  assert.equal((JSON.parse(JSON.stringify(failure)) as { earliest: string }).earliest, '1024');
  assert.equal(feed.asked.length, 1);
});

test('a used-up quota, ended keys, and limits of the loop itself end it too', async () => {
  for (const fault of [refuse(429, 'QUOTA_EXCEEDED', { 'Retry-After': '1' }), refuse(401, 'INVALID_CREDENTIALS')]) {
    const feed = await Feed.open();
    feed.faults = [fault];
    await failureOf(takeTo('1', clientOf(feed).changes({ after: 0 })));
    assert.equal(feed.asked.length, 1);
  }
  const feed = await Feed.open();
  feed.faults = times(9, () => refuse(503, 'SERVICE_BUSY'));
  assert.equal((await failureOf(takeTo('1', clientOf(feed).changes({ after: 0, tries: 3 })))).code, 'SERVICE_BUSY');
  assert.equal(feed.asked.length, 3);
});

test('a response without its position, which a proxy may drop, is an error and skips nothing', async () => {
  const feed = await Feed.open();
  feed.faults = [succeed([])];
  const failure = await failureOf(takeTo('1', clientOf(feed).changes()));
  assert.equal(failure.code, 'UNREADABLE_ANSWER');
  assert.match(failure.message, /X-Next-After/);
});

test('an abort ends it with its reason, in a wait and within a page', async () => {
  const reason = new Error('enough');
  const isReason = (error: unknown): boolean => error === reason;
  const feed = await Feed.open(5);
  const stop = new AbortController();
  const taken: string[] = [];
  const taking = (async () => {
    for await (const { seq } of clientOf(feed).changes({ after: 0, signal: stop.signal })) taken.push(seq);
  })();
  const rejected = assert.rejects(taking, isReason);
  await feed.server.has(2);
  stop.abort(reason);
  await rejected;
  assert.deepEqual(taken, numbersTo(5));

  const other = new AbortController();
  const changes = clientOf(feed).changes({ after: 0, signal: other.signal })[Symbol.asyncIterator]();
  assert.equal((await changes.next()).value?.seq, '1');
  other.abort(reason);
  await assert.rejects(changes.next(), isReason);
});
