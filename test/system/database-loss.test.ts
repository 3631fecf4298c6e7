/**
 * PostgreSQL lost to a node under load: stopped, frozen, behind a silent line, its sessions ended again and again.
 * Every request is answered in time, the node comes back by itself, and everything is whole afterwards.
 * STOREROOM_TEST_OUTAGE_S sets for how many seconds. With STOREROOM_TEST_FIREWALL=on, root and iptables on the PATH,
 * packets are dropped; else a proxy holds them back.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { times } from '../kit/lists.ts';
import { createOrder, getOrder } from '../kit/orders.ts';
import { PostgresServer, runStatement } from '../kit/postgres.ts';
import { ownService } from '../kit/service.ts';
import { HttpClient, type TimedAnswer } from '../kit/http-client.ts';
import { IS_THOROUGH, trials } from '../kit/trials.ts';
import { MixedLoad } from './mixed-load.ts';
import { PostgresProxy } from './postgres-proxy.ts';

const OUTAGE_MS = trials('OUTAGE_S', { quick: 2.5, all: 4 }) * 1000;
const HAS_FIREWALL = process.env['STOREROOM_TEST_FIREWALL'] === 'on';
const CONNECTIONS = trials('CONNECTIONS', { quick: 8, all: 32 });
const ANSWER_MS = 3000;
const RETURN_MS = 2000;
const HEALTH_MS = 1000;
/** Until a node has to have noticed. */
const NOTICED_MS = 2000;
const TERMINATIONS_MS = Math.min(OUTAGE_MS, 10_000);
const TERMINATE_EVERY_MS = 500;
/** Within which something happens that happens many times a second. */
const SOON_MS = 20_000;
const READERS = trials('READERS', { quick: 2, all: 8 });
const READS_FAILED_MOST = 0.01;

const server = await PostgresServer.start();
const databaseUrl = await server.newDatabase();
const proxy = await PostgresProxy.open(databaseUrl);
const service = await ownService({ databaseUrl: HAS_FIREWALL ? databaseUrl : proxy.url });
after(() => {
  proxy.close();
  return server.remove();
});
const client = await HttpClient.open(service, CONNECTIONS + READERS);
const load = await MixedLoad.open(client, service);

interface Outage {
  readonly begin: () => unknown;
  readonly end: () => unknown;
}

function dropPackets(action: '-I' | '-D'): void {
  for (const side of ['--dport', '--sport'])
    execFileSync('iptables', [action, 'INPUT', '-i', 'lo', '-p', 'tcp', side, String(server.port), '-j', 'DROP']);
}

const silent: Record<string, Outage> = HAS_FIREWALL
  ? { 'behind a firewall': { begin: () => dropPackets('-I'), end: () => dropPackets('-D') } }
  : { 'behind a silent line': { begin: () => proxy.goSilent(), end: () => proxy.speak() } };
const stopped: Outage = { begin: () => server.stop('immediate'), end: () => server.restart() };
const frozen: Outage = { begin: () => server.pause(), end: () => server.resume() };
/** A frozen server is as silent as a line that drops packets, so `npm test` looks at one of the two. */
const OUTAGES: Record<string, Outage> = { stopped, ...silent, ...(IS_THOROUGH && { frozen }) };

/** Status and time of a page of the service's own. */
async function probe(path: string): Promise<{ status: number; ms: number }> {
  const begunAt = performance.now();
  const { status } = await fetch(service.origin + path);
  return { status, ms: performance.now() - begunAt };
}

async function expectUnhealthy(): Promise<void> {
  for (const path of ['/healthz', '/readyz']) {
    const { status, ms } = await probe(path);
    assert.equal(status, 503, path);
    assert.ok(ms < HEALTH_MS, `${path} took ${ms} ms`);
  }
  await sleep(200);
}

const describe = ({ method, status, body, begunAt, endedAt }: TimedAnswer): string =>
  `${method} ${status} ${body.code ?? ''} ${(endedAt - begunAt).toFixed(0)} ms`;
const slowest = (answers: readonly TimedAnswer[]): string =>
  answers.reduce((most, { begunAt, endedAt }) => Math.max(most, endedAt - begunAt), 0).toFixed(0);

/** Works while something is done, and gives the answers there were. Every call has to be answered, in time. */
async function workDuring(doing: (answers: readonly TimedAnswer[]) => Promise<void>): Promise<TimedAnswer[]> {
  assert.equal(service.hasExited, false, 'the service has ended');
  const answers: TimedAnswer[] = [];
  client.onAnswer = (answer) => answers.push(answer);
  let isOver = false;
  const working = load.run(CONNECTIONS, () => isOver);
  const { acknowledged } = load;
  const giveUpAt = performance.now() + SOON_MS;
  while (load.acknowledged < acknowledged + CONNECTIONS && !service.hasExited && !isOver) {
    await sleep(10);
    isOver = performance.now() > giveUpAt;
  }
  assert.equal(isOver, false, `no writes are acknowledged within ${SOON_MS} ms`);
  await Promise.all([working, doing(answers).finally(() => (isOver = true))]);
  client.onAnswer = undefined;
  assert.equal(service.hasExited, false, 'the service has ended');
  assert.equal(load.unanswered, 0, 'calls without an answer');
  const late = answers.filter(({ begunAt, endedAt }) => endedAt - begunAt > ANSWER_MS);
  assert.deepEqual(late.map(describe), [], `answers after more than ${ANSWER_MS} ms`);
  return answers;
}

suite('a database that is lost', () => {
  for (const [what, { begin, end }] of Object.entries(OUTAGES))
    test(`${what} for ${OUTAGE_MS} ms: answered in time, back by itself, nothing lost`, async (context) => {
      const at = { gone: 0, back: 0 };
      const isBack = ({ status, begunAt }: TimedAnswer): boolean => status === 200 && begunAt > at.gone;
      const answers = await workDuring(async (soFar) => {
        await begin();
        at.gone = performance.now();
        const isGone = (): boolean => performance.now() - at.gone < OUTAGE_MS;
        try {
          await sleep(NOTICED_MS);
          while (isGone()) await expectUnhealthy();
        } finally {
          await end();
          at.back = performance.now();
        }
        while (!soFar.some(isBack) && performance.now() < at.back + RETURN_MS) await sleep(10);
      });
      const meanwhile = answers.filter(({ begunAt, endedAt }) => begunAt > at.gone && endedAt < at.gone + OUTAGE_MS);
      assert.ok(meanwhile.length > CONNECTIONS, 'there were calls meanwhile');
      for (const { status, body, headers } of meanwhile)
        assert.equal(`${status} ${body.code} ${headers.get('retry-after')}`, '503 STORE_UNAVAILABLE 1');
      const success = answers.find(isBack);
      assert.ok(success && success.endedAt - at.back < RETURN_MS, `no success within ${RETURN_MS} ms of the return`);
      for (const path of ['/healthz', '/readyz']) assert.equal((await probe(path)).status, 200, path);
      await load.repeatUnanswered();
      await load.check(service);
      const returned = Math.max(0, success.endedAt - at.back).toFixed(0);
      context.diagnostic(`${what}: ${answers.length} answers, the slowest after ${slowest(answers)} ms`);
      context.diagnostic(`a success ${returned} ms after its return`);
    });

  test('that ends every session again and again: reads are repeated, writes settle with their key', async (context) => {
    const terminate = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`;
    const reader = await service.makeTenant('reader');
    const orderNum = (await createOrder(client, reader)).body.data as string;
    let ended = 0;
    const stop = new AbortController();
    const read = async (): Promise<void> => {
      while (!stop.signal.aborted) await getOrder(client, reader, orderNum);
    };
    const answers = await workDuring(async () => {
      const until = performance.now() + TERMINATIONS_MS;
      const reading = Promise.all(times(READERS, read));
      while (performance.now() < until) {
        ended += (await runStatement(databaseUrl, terminate)).length;
        await sleep(TERMINATE_EVERY_MS);
      }
      stop.abort();
      await reading;
    });
    const reads = answers.filter(({ method }) => method === 'GET');
    const failed = reads.filter(({ status }) => status >= 500);
    context.diagnostic(`${ended} sessions ended; ${failed.length} of ${reads.length} reads failed`);
    context.diagnostic(`the slowest answer after ${slowest(answers)} ms`);
    assert.ok(ended > 0 && reads.length > 0);
    assert.ok(failed.length <= reads.length * READS_FAILED_MOST, failed.map(describe).join('\n'));
    await load.repeatUnanswered();
    await load.check(service);
  });
});
