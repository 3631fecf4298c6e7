/**
 * kill -9 of the service under load: the calls counted are those that were acknowledged or at least sent, and every
 * request answered more than a second before the kill is in the request log. STOREROOM_TEST_KILLS sets how often.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Visitor } from '../dashboard/visitor.ts';
import { times } from '../kit/lists.ts';
import { getOrder } from '../kit/orders.ts';
import { ownService } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';
import { HttpClient, NoAnswer } from '../kit/http-client.ts';

const KILLS = trials('KILLS', { quick: 1, all: 3 });
const CONNECTIONS = 8;
/** What may be missing from the log: twice the time between two flushes and as much again for a slow machine. */
const LOST_MS = 1000;
const PAUSE_MS = 5;

const service = await ownService();
const keys = await service.makeTenant('shop');
const owner = await Visitor.make(service, 'shop', 'owner');
const client = await HttpClient.open(service, CONNECTIONS);

/** IDs of all requests in the log. */
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

test(`${KILLS} kills lose no acknowledged count, and of the request log at most the last second`, async (context) => {
  const answered: { requestID: string; endedAt: number }[] = [];
  let sent = 0;
  let lost = 0;
  const work = async (): Promise<void> => {
    while (!service.hasExited) {
      sent++;
      try {
        const { status, headers, text } = await getOrder(client, keys, 'nothing');
        assert.equal(status, 404, text);
        answered.push({ requestID: headers.get('x-request-id')!, endedAt: performance.now() });
      } catch (fault) {
        if (!(fault instanceof NoAnswer)) throw fault;
        return;
      }
      await sleep(PAUSE_MS);
    }
  };
  for (let kill = 0; kill < KILLS; kill++) {
    const earlier = answered.length;
    const working = Promise.all(times(CONNECTIONS, work));
    await sleep(1500 + Math.random() * 500);
    const killedAt = performance.now();
    assert.equal(await service.stop('SIGKILL'), null, 'the service ended before it was killed');
    await working;
    await service.restart();
    const total = await service.usageOf('shop');
    const counted = `${total} counted, ${answered.length} acknowledged, ${sent} sent`;
    assert.ok(total >= answered.length && total <= sent, counted);
    const log = await readLog();
    const mustBe = answered.slice(earlier).filter(({ endedAt }) => endedAt < killedAt - LOST_MS);
    assert.ok(mustBe.length > 0, 'nothing was answered early enough to tell anything');
    const missing = mustBe.filter(({ requestID }) => !log.has(requestID));
    assert.deepEqual(missing, []);
    lost += answered.filter(({ requestID }) => !log.has(requestID)).length;
    assert.equal((await owner.get('/usage')).body.total, total);
  }
  context.diagnostic(`${answered.length} acknowledged of ${sent} sent; ${lost} of a last second not in the log`);
});
