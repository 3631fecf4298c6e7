/**
 * A primary that is killed under load and its synchronous standby promoted, again and again, with both in the address:
 * three nodes go on by themselves, nothing acknowledged is lost or doubled, every call is counted. How often:
 * STOREROOM_TEST_FAILOVERS.
 */
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpClient, type TimedAnswer } from '../kit/http-client.ts';
import { times } from '../kit/lists.ts';
import { createOrder, getOrder } from '../kit/orders.ts';
import { runStatement } from '../kit/postgres.ts';
import { PostgresPair } from '../kit/postgres-pair.ts';
import { Service, type Answer } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';
import { MixedLoad } from './mixed-load.ts';

const FAILOVERS = trials('FAILOVERS', { quick: 2, all: 2 });
const CONNECTIONS = trials('CONNECTIONS', { quick: 16, all: 32 });
const NODES = 3;
/** `asynchronous` shows that the tests fail where commits do not wait for the standby. */
const REPLICATION = process.env['STOREROOM_TEST_REPLICATION'] || 'synchronous';
/** How long the standby gets nothing before the primary is killed: what is acknowledged meanwhile would be lost. */
const CUT_OFF_MS = 300;
/** Within which something has to happen that happens many times a second. */
const SOON_MS = 20_000;
const ANSWER_MS = 3000;

async function soon(what: string, isSo: () => boolean): Promise<void> {
  const until = performance.now() + SOON_MS;
  while (!isSo()) {
    assert.ok(performance.now() < until, `${what} within ${SOON_MS} ms`);
    await sleep(5);
  }
}

const pair = await PostgresPair.start({ isSynchronous: REPLICATION === 'synchronous' });
const nodes = await Service.startAll(NODES, { databaseUrl: pair.url });
after(async () => {
  await Promise.all(nodes.map((node) => node.stop('SIGKILL')));
  await pair.remove();
});
const client = await HttpClient.open(nodes, CONNECTIONS);

/** What one failover took, in milliseconds. */
interface Failover {
  /** From the kill until a call was refused. */
  readonly refused: number;
  /** From the kill until the standby took writes: how fast something promotes it is not the service's. */
  readonly promoted: number;
  /** From there until the first good answer, of the first node and of the last. */
  readonly good: number;
  readonly ready: number;
  /** The longest that a call has waited. */
  readonly slowest: number;
}

async function failOver(answers: readonly TimedAnswer[]): Promise<Failover> {
  await pair.cutOff();
  await sleep(CUT_OFF_MS);
  const begun = answers.length;
  const killedAt = performance.now();
  await pair.primary.kill();
  await pair.promote();
  const promotedAt = performance.now();
  const ready = Promise.all(
    nodes.map(async (node) => {
      while ((await fetch(`${node.origin}/readyz`)).status !== 200) await sleep(5);
      return performance.now();
    }),
  );
  const isGood = ({ status, begunAt }: TimedAnswer): boolean => status === 200 && begunAt > killedAt;
  await soon('a good answer', () => answers.slice(begun).some(isGood));
  const meanwhile = answers.slice(begun);
  const refusedAt = meanwhile.find(({ status, endedAt }) => status === 503 && endedAt > killedAt)?.endedAt;
  return {
    refused: (refusedAt ?? Number.NaN) - killedAt,
    promoted: promotedAt - killedAt,
    good: meanwhile.find(isGood)!.endedAt - promotedAt,
    ready: Math.max(...(await ready)) - promotedAt,
    slowest: Math.max(...meanwhile.map(({ begunAt, endedAt }) => endedAt - begunAt)),
  };
}

/** The first answer that is no 503. */
async function untilAnswered(ask: () => Promise<Answer>): Promise<Answer> {
  const until = performance.now() + SOON_MS;
  for (;;) {
    const answer = await ask();
    if (answer.status !== 503) return answer;
    assert.ok(performance.now() < until, answer.text);
    await sleep(20);
  }
}

const rangeOf = (values: readonly number[]): string => {
  const sorted = values.filter((value) => !Number.isNaN(value)).toSorted((a, b) => a - b);
  const [least = 0, middle = 0, most = 0] = [0, sorted.length >> 1, sorted.length - 1].map((at) => sorted[at]);
  return `${least.toFixed(0)} / ${middle.toFixed(0)} / ${most.toFixed(0)} ms`;
};

suite('a synchronous standby', () => {
  test(`${FAILOVERS} failovers under load: nothing is lost or doubled, nodes go on by themselves`, async (context) => {
    const pids = nodes.map(({ pid }) => pid);
    const load = await MixedLoad.open(client, nodes[0]!);
    const answers: TimedAnswer[] = [];
    client.onAnswer = (answer) => answers.push(answer);
    const failovers: Failover[] = [];
    for (let count = 0; count < FAILOVERS; count++) {
      let isOver = false;
      const working = load.run(CONNECTIONS, () => isOver).finally(() => (isOver = true));
      const acknowledge = async (): Promise<void> => {
        const before = load.acknowledged;
        await soon('acknowledged writes', () => isOver || load.acknowledged > before + CONNECTIONS);
      };
      const failing = (async (): Promise<void> => {
        await acknowledge();
        failovers.push(await failOver(answers));
        await acknowledge();
        await pair.rebuild();
        await acknowledge();
      })().finally(() => (isOver = true));
      await Promise.all([working, failing]);
      await load.repeatUnanswered();
      await load.check(nodes[0]!, pair.primaryUrl);
      const { code, stdout } = await nodes[0]!.command('check');
      assert.equal(code, 0, stdout);
    }
    for (const name of ['refused', 'promoted', 'good', 'ready', 'slowest'] as const)
      context.diagnostic(`${name}: ${rangeOf(failovers.map((one) => one[name]))} (least, middle, most)`);
    context.diagnostic(`${load.acknowledged} acknowledged writes, ${JSON.stringify([...load.statuses])}`);
    assert.equal(load.unanswered, 0, 'every call was answered');
    for (const { slowest } of failovers) assert.ok(slowest < ANSWER_MS, `an answer took ${slowest} ms`);
    const expected = new Set([200, 400, 401, 409, '503 STORE_UNAVAILABLE', '503 SERVICE_BUSY']);
    assert.deepEqual(new Set(load.statuses.keys()).difference(expected), new Set(), 'no other answers than these');
    client.onAnswer = undefined;
    const running = nodes.map(({ pid, hasExited }) => (hasExited ? 'has ended' : pid));
    assert.deepEqual(running, pids, 'no node was started again');
  });

  test('a write whose wait for the standby is canceled is not acknowledged', async () => {
    const keys = await nodes[0]!.makeTenant('waiting');
    assert.equal((await createOrder(client, keys)).status, 200);
    const create = () => createOrder(client, keys, { REFERENCE_NUMBER: 'waiting' }, { 'idempotency-key': 'waiting' });
    pair.standby.pause();
    const cancel = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
    const answered = new AbortController();
    const canceling = (async (): Promise<number> => {
      let canceled = 0;
      while (!answered.signal.aborted) canceled += (await runStatement(pair.primaryUrl, cancel)).length;
      return canceled;
    })();
    const { status, text } = await create();
    answered.abort();
    pair.standby.resume();
    assert.equal(status, 503, text);
    assert.ok((await canceling) > 0, 'something waited');
    const again = await untilAnswered(create);
    assert.equal(again.status, 200, again.text);
    const body = [{ field: 'REFERENCE_NUMBER', value: 'waiting' }];
    const found = await untilAnswered(() => client.call(keys, 'POST', '/orders/query', { body }));
    assert.equal(found.body.data.length, 1);
  });

  test('an old primary that comes back as one is not used by nodes that know the new one', async () => {
    const keys = await nodes[0]!.makeTenant('replaced');
    const back = new AbortController();
    const reading = times(NODES * 4, async () => {
      while (!back.signal.aborted) await getOrder(client, keys, '1');
    });
    await pair.primary.kill();
    await pair.promote();
    for (const node of nodes) await untilAnswered(async () => getOrder(node, keys, '1'));
    back.abort();
    await Promise.all(reading);
    const number = (await untilAnswered(() => createOrder(client, keys))).body.data as string;
    // Nobody has told it that it was replaced, and it comes first in the address.
    await pair.standby.restart();
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'storeroom serve'`;
    for (let count = 0; count < 3; count++) {
      assert.ok((await runStatement(pair.primaryUrl, end)).length > 0, 'nodes are connected to the new primary');
      for (const node of nodes) {
        const { status, text } = await untilAnswered(() => getOrder(node, keys, number));
        assert.equal(status, 200, text);
      }
    }
  });
});
