/**
 * Replaced keys on several nodes: from the moment `storeroom keys replace` has said so, no call that begins with the old keys succeeds, on whatever node,
 * and the new ones are good everywhere at once. STOREROOM_TEST_REPLACEMENTS sets how often.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newDatabase } from '../kit/postgres.ts';
import { Service, type Keys } from '../kit/service.ts';
import { HttpClient } from '../kit/http-client.ts';

const REPLACEMENTS = Number(process.env['STOREROOM_TEST_REPLACEMENTS'] ?? 3);
const NODES = 3;
const CALLERS = 64;
/** How long the old keys are tried on after they have ended. */
const AFTERWARDS_MS = 300;

let nodes: Service[];
let client: HttpClient;
before(async () => {
  const databaseUrl = await newDatabase();
  nodes = await Service.startAll(NODES, { databaseUrl });
  // All but the first, beside which the keys are replaced.
  client = await HttpClient.open(nodes.slice(1), CALLERS);
});
after(async () => {
  client?.close();
  await Promise.all((nodes ?? []).map((node) => node.stop()));
});

interface Call {
  readonly begunAt: number;
  readonly status: number;
}

/** Calls with these keys from all connections until told to stop. */
async function callUntil(stop: AbortSignal, keys: Keys, orderNum: string): Promise<Call[]> {
  const calls: Call[] = [];
  const work = async (): Promise<void> => {
    while (!stop.aborted) {
      const begunAt = performance.now();
      const { status, text } = await client.call(keys, 'GET', '/orders/single', { query: { orderNum } });
      assert.ok(status === 200 || status === 401, text);
      calls.push({ begunAt, status });
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, work));
  return calls;
}

test(`${REPLACEMENTS} times replaced under ${CALLERS} callers: no call begun afterwards succeeds with the old keys, and every node takes the new ones`, async (context) => {
  let keys = await nodes[0]!.makeTenant('shop');
  const orderNum = (await nodes[0]!.call(keys, 'PUT', '/orders/create', { body: {} })).body.data as string;
  let inForce = 0;
  let afterwards = 0;
  for (let replacement = 0; replacement < REPLACEMENTS; replacement++) {
    const stop = new AbortController();
    const calling = callUntil(stop.signal, keys, orderNum);
    await sleep(Math.random() * 100);
    const { code, json, stderr } = await nodes[0]!.command('keys', 'replace', 'shop', '--json');
    const replacedAt = performance.now();
    assert.equal(code, 0, stderr);
    const renewed = json() as Keys;
    const statuses = await Promise.all(
      nodes.map(async (node) => (await node.call(renewed, 'GET', '/orders/single', { query: { orderNum } })).status),
    );
    assert.deepEqual(statuses, [200, 200, 200], 'the new keys are good on every node');
    await sleep(AFTERWARDS_MS);
    stop.abort();
    const calls = await calling;
    const late = calls.filter(({ begunAt }) => begunAt >= replacedAt);
    assert.deepEqual(late.filter(({ status }) => status !== 401), [], 'calls with the old keys that succeeded after they were replaced'); // prettier-ignore
    inForce += calls.filter(({ status }) => status === 200).length;
    afterwards += late.length;
    keys = renewed;
  }
  context.diagnostic(
    `${inForce} calls succeeded with keys in force, ${afterwards} begun after they were replaced did not`,
  );
  assert.ok(inForce > 0 && afterwards >= REPLACEMENTS * CALLERS, 'there were calls on both sides');
});
