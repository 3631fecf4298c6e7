/**
 * Kills a primary under load and promotes its synchronous standby, again and again, with both in the address: three
 * nodes continue by themselves, nothing acknowledged is lost or doubled, and every call is counted.
 * STOREROOM_TEST_FAILOVERS sets how often.
 */
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { now } from '../kit/clock.ts';
import { HttpClient } from '../kit/http-client.ts';
import { times } from '../kit/lists.ts';
import { createOrder, getOrder } from '../kit/orders.ts';
import { runStatement } from '../kit/postgres.ts';
import { PostgresPair } from '../kit/postgres-pair.ts';
import { Repeater } from '../kit/repeat.ts';
import { Service, type Answer } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';
import { until } from '../kit/wait.ts';
import { MixedLoad } from './mixed-load.ts';

const FAILOVERS = trials('FAILOVERS', { quick: 2, all: 2 });
const CONNECTIONS = trials('CONNECTIONS', { quick: 16, all: 32 });
const NODES = 3;
/** `asynchronous` shows that the tests fail if commits do not wait for the standby. */
const REPLICATION = process.env['STOREROOM_TEST_REPLICATION'] || 'synchronous';
/** Acknowledged writes that the standby lacks if commits do not wait for it. They are lost with the primary. */
const LOST_LEAST = 20;

interface TimedAnswer {
  readonly status: number;
  readonly begun: number;
  readonly ended: number;
  readonly at: number;
}

const pair = await PostgresPair.start({ isSynchronous: REPLICATION === 'synchronous' });
const nodes = await Service.startAll(NODES, { databaseUrl: pair.url });
after(async () => {
  await Promise.all(nodes.map((node) => node.stop('SIGKILL')));
  await pair.remove();
});
const client = await HttpClient.open(nodes, CONNECTIONS);

/** Times of a failover in milliseconds: figures for docs/reliability.md, on which no test depends. */
interface Failover {
  /** From the kill until a call was refused. */
  readonly refused: number;
  /** From the kill until the standby accepted writes. The service has no influence on this time. */
  readonly promoted: number;
  /** From then until the first successful call (`good`), and until the last node was ready (`ready`). */
  readonly good: number;
  readonly ready: number;
}

/** Cuts the standby off. Returns when a write waits for it, or when LOST_LEAST writes are acknowledged without it. */
async function cutOff(load: MixedLoad): Promise<void> {
  await pair.cutOff();
  let isOver = false;
  const waits = `SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
  const waiting = until(async () => isOver || (await runStatement(pair.primaryUrl, waits)).length > 0);
  await Promise.race([waiting, load.acknowledges(LOST_LEAST)]);
  isOver = true;
  await waiting;
}

async function failOver(load: MixedLoad, answers: readonly TimedAnswer[], isOver: () => boolean): Promise<Failover> {
  await cutOff(load);
  const before = answers.length;
  const [killed, killedAt] = [client.mark(), now()];
  await pair.primary.kill();
  await pair.promote();
  const promotedAt = now();
  const ready = Promise.all(
    nodes.map(async (node) => {
      await until(async () => (await fetch(`${node.origin}/readyz`)).status === 200);
      return now();
    }),
  );
  const since = (): TimedAnswer[] => answers.slice(before);
  const isGood = ({ status, begun }: TimedAnswer): boolean => status === 200 && begun > killed;
  await until(() => isOver() || since().some(isGood));
  const at = (answer: TimedAnswer | undefined): number => answer?.at ?? Number.NaN;
  return {
    refused: at(since().find(({ status, ended }) => status === 503 && ended > killed)) - killedAt,
    promoted: promotedAt - killedAt,
    good: at(since().find(isGood)) - promotedAt,
    ready: Math.max(...(await ready)) - promotedAt,
  };
}

/** Repeats a call until it is answered with another status than 503, and returns that answer. */
const untilAnswered = (ask: () => Promise<Answer>): Promise<Answer> => new Repeater().call(ask);

const rangeOf = (values: readonly number[]): string => {
  const sorted = values.filter((value) => !Number.isNaN(value)).toSorted((a, b) => a - b);
  const [least = 0, middle = 0, most = 0] = [0, sorted.length >> 1, sorted.length - 1].map((at) => sorted[at]);
  return `${least.toFixed(0)} / ${middle.toFixed(0)} / ${most.toFixed(0)} ms`;
};

suite('a synchronous standby', () => {
  test(`${FAILOVERS} failovers under load: nothing is lost or doubled, nodes recover alone`, async (context) => {
    const pids = nodes.map(({ pid }) => pid);
    const load = await MixedLoad.open(client, nodes[0]!);
    const answers: TimedAnswer[] = [];
    client.onAnswer = ({ status, begunAt: begun, endedAt: ended }) => answers.push({ status, begun, ended, at: now() });
    const failovers: Failover[] = [];
    for (let count = 0; count < FAILOVERS; count++) {
      let isOver = false;
      const working = load.run(CONNECTIONS, () => isOver).finally(() => (isOver = true));
      const acknowledge = (): Promise<void> => load.acknowledges(CONNECTIONS);
      const failing = (async (): Promise<void> => {
        await acknowledge();
        failovers.push(await failOver(load, answers, () => isOver));
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
    for (const name of ['refused', 'promoted', 'good', 'ready'] as const)
      context.diagnostic(`${name}: ${rangeOf(failovers.map((one) => one[name]))} (least, middle, most)`);
    context.diagnostic(`${load.acknowledged} acknowledged writes, ${JSON.stringify([...load.statuses])}`);
    assert.equal(load.unanswered, 0, 'every call was answered');
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

  test('an old primary that returns as a primary is not used by nodes that know the new one', async () => {
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
    // The old primary does not know that it was replaced, and it is the first one in the address.
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
