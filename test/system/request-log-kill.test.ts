/**
 * Kills the service with SIGKILL under load: every acknowledged call is counted, and none that was not sent. Every
 * request that was answered before the last flush is in the request log. STOREROOM_TEST_KILLS sets how often.
 */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Visitor } from '../dashboard/visitor.ts';
import { times } from '../kit/lists.ts';
import { getOrder } from '../kit/orders.ts';
import { runStatement } from '../kit/postgres.ts';
import { ownService, STORE } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';
import { HttpClient, NoAnswer } from '../kit/http-client.ts';
import { until } from '../kit/wait.ts';

const KILLS = trials('KILLS', { quick: 1, all: 3 });
const CONNECTIONS = 8;
/** Maximum answers before a flush, and again between the flush and the kill. */
const ANSWERS_MAX = 200;
/** The FLUSH_MS of request-log.ts. */
const FLUSH_MS = 250;

const service = await ownService();
const keys = await service.makeTenant('shop');
const owner = await Visitor.make(service, 'shop', 'owner');
const client = await HttpClient.open(service, CONNECTIONS);

/** Returns the IDs of all requests in the log. */
async function readLog(): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let cursor: string | null = ''; cursor !== null;) {
    const { status, body, text } = await owner.get('/requests', cursor === '' ? {} : { cursor });
    assert.equal(status, 200, text);
    const { requests, next } = body as { requests: { requestID: string }[]; next: string | null };
    for (const { requestID } of requests) {
      assert.ok(!ids.has(requestID), `${requestID} is in the log twice`);
      ids.add(requestID);
    }
    cursor = next;
  }
  return ids;
}

/** Counts the refused calls in the store, which saves them with their lines. Asking the service would save more. */
async function countStored(): Promise<number> {
  if (STORE === 'postgres') {
    const [row] = await runStatement(service.place, 'SELECT sum("CALLS") AS calls FROM storeroom."REFUSALS"');
    return Number(row!['calls']);
  }
  using log = new DatabaseSync(join(service.dataFolder, 'requests.db'), { readOnly: true, timeout: 5000 });
  return Number(log.prepare('SELECT sum(CALLS) AS CALLS FROM REFUSALS').get()!['CALLS']);
}

test(`${KILLS} kills lose no acknowledged count and no flushed request`, async (context) => {
  const answered: string[] = [];
  /** The answered requests that the log must have. */
  const due: string[] = [];
  const calls = new EventEmitter();
  let sent = 0;
  const work = async (): Promise<void> => {
    while (!service.hasExited) {
      sent++;
      try {
        const { status, headers, text } = await getOrder(client, keys, 'nothing');
        assert.equal(status, 404, text);
        answered.push(headers.get('x-request-id')!);
      } catch (fault) {
        if (!(fault instanceof NoAnswer)) throw fault;
      }
      calls.emit('ended');
    }
  };
  const someAnswers = async (): Promise<void> => {
    const wanted = answered.length + 1 + Math.floor(Math.random() * ANSWERS_MAX);
    while (answered.length < wanted && !service.hasExited) await once(calls, 'ended');
  };
  assert.equal((await readLog()).size, 0, 'the first look makes its file');
  for (let kill = 0; kill < KILLS; kill++) {
    const earlier = { answered: answered.length, sent, stored: await countStored() };
    const working = Promise.all(times(CONNECTIONS, work));
    await someAnswers();
    due.push(...answered.slice(earlier.answered));
    // They are among the first `least` refused calls, because calls are logged in the order of their answers.
    const least = earlier.stored + sent - earlier.sent;
    await service.move(FLUSH_MS);
    await until(async () => (await countStored()) >= least);
    await someAnswers();
    assert.equal(service.hasExited, false, 'the service ended before it was killed');
    await service.stop('SIGKILL');
    await working;
    await service.restart();
    const total = await service.usageOf('shop');
    const counted = `${total} counted, ${answered.length} acknowledged, ${sent} sent`;
    assert.ok(total >= answered.length && total <= sent, counted);
    const log = await readLog();
    assert.deepEqual(
      due.filter((requestID) => !log.has(requestID)),
      [],
    );
    assert.equal(log.size, await countStored());
    assert.equal((await owner.get('/usage')).body.total, total);
  }
  const lost = answered.length - (await readLog()).size;
  context.diagnostic(`${answered.length} acknowledged of ${sent} sent; ${lost} after the last flushes not in the log`);
});
