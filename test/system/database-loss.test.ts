/**
 * A node under load loses PostgreSQL: the server is stopped, frozen or behind a silent line, or ends its sessions again
 * and again. Every request is answered, the node recovers by itself, and everything is whole afterwards. Time passes
 * for the node only when a test moves it. With STOREROOM_TEST_FIREWALL=on, root, and iptables on the PATH, packets are
 * dropped; otherwise, a proxy holds them back.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, suite, test } from 'node:test';
import { HttpClient, type PlacedAnswer } from '../kit/http-client.ts';
import { times } from '../kit/lists.ts';
import { createOrder, getOrder } from '../kit/orders.ts';
import { PostgresServer, runStatement } from '../kit/postgres.ts';
import { Repeater } from '../kit/repeat.ts';
import { ownService, type Answer } from '../kit/service.ts';
import { IS_THOROUGH, trials } from '../kit/trials.ts';
import { until } from '../kit/wait.ts';
import { MixedLoad } from './mixed-load.ts';
import { PostgresProxy } from './postgres-proxy.ts';

const HAS_FIREWALL = process.env['STOREROOM_TEST_FIREWALL'] === 'on';
const CONNECTIONS = trials('CONNECTIONS', { quick: 8, all: 32 });
const READERS = trials('READERS', { quick: 2, all: 8 });
const TERMINATIONS = trials('TERMINATIONS', { quick: 5, all: 20 });
/** Average number of calls of each connection while the database is lost. */
const CALLS_MEANWHILE = 5;
/** From src/store/postgres: maximum silence, its resolution, and how often a lost or usable server is asked. */
const SILENCE_MS = 1400;
const STEP_MS = 100;
const ASK_WHILE_LOST_MS = 250;
const ASK_WHILE_USABLE_MS = 1000;
const REFUSAL = '503 STORE_UNAVAILABLE 1';
/** Matches the statement with which a node asks its server. */
const QUESTION = /pg_is_in_recovery/;

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
  /** Whether connections stay open, and nothing passes through them. */
  readonly isSilent: boolean;
}

function dropPackets(action: '-I' | '-D'): void {
  for (const side of ['--dport', '--sport'])
    execFileSync('iptables', [action, 'INPUT', '-i', 'lo', '-p', 'tcp', side, String(server.port), '-j', 'DROP']);
}

const silent: Record<string, Outage> = HAS_FIREWALL
  ? { 'behind a firewall': { begin: () => dropPackets('-I'), end: () => dropPackets('-D'), isSilent: true } }
  : { 'behind a silent line': { begin: () => proxy.goSilent(), end: () => proxy.speak(), isSilent: true } };
const stopped: Outage = { begin: () => server.stop('immediate'), end: () => server.restart(), isSilent: false };
const frozen: Outage = { begin: () => server.pause(), end: () => server.resume(), isSilent: true };
/** A frozen server is as silent as a line that drops packets, so `npm test` tests one of the two. */
const OUTAGES: Record<string, Outage> = { stopped, ...silent, ...(IS_THOROUGH && { frozen }) };

const show = ({ status, body, headers }: PlacedAnswer): string =>
  `${status} ${body.code} ${headers.get('retry-after')}`;

async function expectHealth(status: number): Promise<void> {
  for (const path of ['/healthz', '/readyz']) assert.equal((await fetch(service.origin + path)).status, status, path);
}

type Wait = (isSo: () => boolean | Promise<boolean>) => Promise<void>;

/** Runs the load during `doing`, and returns the answers. Every call must be answered. */
async function workDuring(
  doing: (answers: readonly PlacedAnswer[], wait: Wait) => Promise<void>,
): Promise<PlacedAnswer[]> {
  await expectHealth(200);
  const answers: PlacedAnswer[] = [];
  client.onAnswer = (answer) => answers.push(answer);
  let isOver = false;
  const end = (): void => void (isOver = true);
  const working = load
    .run(CONNECTIONS, () => isOver || service.hasExited)
    .then(() => assert.equal(service.hasExited, false, 'the service has ended'))
    .finally(end);
  const wait: Wait = (isSo) => until(async () => isOver || (await isSo()));
  await service.stand();
  try {
    const acknowledged = load.acknowledges(CONNECTIONS).then(() => doing(answers, wait));
    await Promise.all([working, acknowledged.finally(end)]);
  } finally {
    client.onAnswer = undefined;
    if (!service.hasExited) await service.pass();
  }
  assert.equal(load.unanswered, 0, 'calls without an answer');
  return answers;
}

const isLost = async (): Promise<boolean> => (await fetch(`${service.origin}/healthz`)).status === 503;

/** Lets the maximum silence pass, after which the node must be healthy. Time passes in steps, as for any process. */
async function passSilence(): Promise<void> {
  for (let passed = 0; passed < SILENCE_MS; passed += STEP_MS) await service.move(STEP_MS);
  await expectHealth(200);
}

/** Lets time pass until an idle node has asked a silent database and given it up. `meanwhile` runs before the end. */
async function loseIdle(meanwhile?: () => Promise<void>): Promise<void> {
  // Other statements of the node begin the silence no earlier than here, and it may last for longer than this.
  await service.move(ASK_WHILE_USABLE_MS);
  await expectHealth(200);
  for (let steps = 0; !(await isLost()); steps++) {
    assert.ok(steps * STEP_MS <= SILENCE_MS, 'the silence is not noticed');
    if (steps === 2) await meanwhile?.();
    await service.move(STEP_MS);
  }
  await expectHealth(503);
}

/** Lets time pass until the node asks for the database, which is back. It must not ask before, and must find it. */
async function expectReturn(): Promise<void> {
  const { opened } = proxy;
  await service.move(ASK_WHILE_LOST_MS - 1);
  await expectHealth(503);
  assert.equal(proxy.opened, opened, 'the node has asked before');
  const asked = proxy.answers(QUESTION);
  await service.move(1);
  if (HAS_FIREWALL) await until(async () => (await fetch(`${service.origin}/readyz`)).status === 200);
  else await asked;
  // The node reads what the proxy has sent before it reads a second call.
  await fetch(`${service.origin}/healthz`);
  await expectHealth(200);
}

suite('a database that is lost', () => {
  for (const [what, { begin, end, isSilent }] of Object.entries(OUTAGES))
    test(`${what}: every call gets a response, the node recovers by itself, nothing is lost`, async (context) => {
      const answers = await workDuring(async (soFar, wait) => {
        const begun = client.mark();
        let isGone = true;
        try {
          await begin();
          const gone = client.mark();
          if (isSilent) await passSilence();
          // A call that finds no server makes the node ask for one, and it finds none either.
          else await wait(() => soFar.some(({ status, begunAt }) => status === 503 && begunAt > gone));
          // The silence begins with the first statement that gets no answer: a step or more later on a busy machine.
          await wait(async () => {
            await service.move(isSilent ? STEP_MS : 0);
            return isLost();
          });
          await expectHealth(503);
          const lost = client.mark();
          const refused = (): PlacedAnswer[] => soFar.filter(({ begunAt }) => begunAt > lost);
          // No time passes for the node, so neither the earlier calls nor these wait for anything.
          await wait(() => refused().length >= CALLS_MEANWHILE * CONNECTIONS && client.oldest() > lost);
          assert.deepEqual(new Set(refused().map(show)), new Set([REFUSAL]));
          await expectHealth(503);
          await end();
          isGone = false;
          await expectReturn();
          const back = client.mark();
          await wait(() => soFar.some(({ status, begunAt }) => status === 200 && begunAt > back));
          const between = soFar.filter(({ begunAt, endedAt }) => begunAt < begun && endedAt > gone);
          context.diagnostic(`${between.length} calls were under way when it went`);
        } finally {
          if (isGone) await end();
        }
      });
      context.diagnostic(`${answers.length} answers`);
      await load.repeatUnanswered();
      await load.check(service);
    });

  if (!HAS_FIREWALL)
    test('is checked by an idle node every second, so that silence is noticed without a call', async () => {
      await service.stand();
      const asked = proxy.answers(QUESTION);
      await service.move(ASK_WHILE_USABLE_MS);
      await asked;
      await expectHealth(200);
      proxy.goSilent();
      await loseIdle();
      proxy.speak();
      await expectReturn();
      await service.pass();
    });

  if (!HAS_FIREWALL)
    test('fails a call at once whose connection is being opened when it is lost', async () => {
      const keys = await service.makeTenant('opening');
      await service.stand();
      proxy.goSilent();
      await loseIdle();
      proxy.speak();
      await expectReturn(); // and no connection for calls is open yet
      proxy.goSilent();
      const { opened } = proxy;
      let answer: Promise<Answer> | undefined;
      await loseIdle(() => {
        answer = getOrder(service, keys, '1');
        return until(() => proxy.opened > opened);
      });
      assert.equal((await answer!).body.code, 'STORE_UNAVAILABLE');
      proxy.speak();
      await expectReturn();
      await service.pass();
    });

  test('that ends every session again and again: no read fails, writes settle with their key', async (context) => {
    const terminate = `SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`;
    const areGone = async (pids: unknown[]): Promise<boolean> =>
      (await runStatement(databaseUrl, `SELECT FROM pg_stat_activity WHERE pid IN (${pids.join(', ')})`)).length === 0;
    const reader = await service.makeTenant('reader');
    const orderNum = (await createOrder(client, reader)).body.data as string;
    const canceled = countCanceled();
    const repeater = new Repeater();
    const state = { terminations: 0, isOver: false };
    /** Number of terminations when each reader began the last of its reads that was answered. */
    const readAfter = new Map<number, number>();
    let ended = 0;
    let reads = 0;
    const read = async (one: number): Promise<void> => {
      for (; !state.isOver; reads++) {
        const { terminations } = state;
        const { status, text } = await repeater.call(async () => {
          const answer = await getOrder(client, reader, orderNum);
          if (answer.status === 503 && countCanceled() === canceled) assert.equal(answer.status, 200);
          return answer;
        });
        assert.equal(status, 200, text);
        readAfter.set(one, terminations);
      }
    };
    await workDuring(async () => {
      const reading = Promise.all(times(READERS, read)).finally(() => (state.isOver = true));
      const terminating = (async () => {
        for (; state.terminations < TERMINATIONS && !state.isOver; state.terminations++) {
          // A read is repeated only once, so the next termination must not hit the repetition.
          const isRead = (): boolean =>
            times(READERS, (one) => readAfter.get(one)).every((at) => at === state.terminations);
          await until(() => isRead() || state.isOver);
          const pids = (await runStatement(databaseUrl, terminate)).map(({ pid }) => pid);
          await until(() => areGone(pids));
          ended += pids.length;
        }
      })().finally(() => (state.isOver = true));
      await Promise.all([reading, terminating]);
    });
    context.diagnostic(`${ended} sessions ended, ${reads} reads`);
    assert.ok(ended >= TERMINATIONS && reads > TERMINATIONS);
    assert.equal(await service.usageOf('reader'), 1 + repeater.counted);
    await load.repeatUnanswered();
    await load.check(service);
  });
});

/** Counts statements that PostgreSQL has ended because they took too long: on a busy machine, calls may be refused. */
function countCanceled(): number {
  return server.log.match(/canceling statement due to \w+ timeout/g)?.length ?? 0;
}
