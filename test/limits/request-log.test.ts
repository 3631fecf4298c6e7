/**
 * Tests the request log under a flood: the lines and bytes of a tenant are bounded, others lose nothing, counts are
 * exact, and the log stops before the disk is full.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Visitor } from '../dashboard/visitor.ts';
import { HttpClient } from '../kit/http-client.ts';
import { readMetrics, sumOf } from '../kit/metrics.ts';
import { ownService, STORE, type Keys, type Service } from '../kit/service.ts';

const CONNECTIONS = 32;
/** Lines per second. A burst may have ten times as many; half of a burst may be refused calls. */
const RATE = 20;
const BURST_REFUSED = 5 * RATE;
const REFUSED = 1000;
/** Time after which waiting lines are written. */
const FLUSH_MS = 250;
const OTHERS = 60;
const CHANGED = 1200;

interface Logged {
  requestID: string;
  operation: string;
  httpStatus: number;
}

/** Reads the whole log, newest line first. */
async function readLog(visitor: Visitor): Promise<Logged[]> {
  const found: Logged[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { status, body, text } = await visitor.get('/requests', cursor === '' ? {} : { cursor });
    assert.equal(status, 200, text);
    const page = body as { requests: Logged[]; next: string | null };
    found.push(...page.requests);
    cursor = page.next;
  }
  return found;
}

/** Makes this many calls, as many at once as there are connections. */
async function callMany(count: number, call: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) await call(next++);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
}

const noise = (characters: number): string => randomBytes(characters).toString('base64url').slice(0, characters);

/** Returns the bytes of the files of the log. */
const logBytes = ({ dataFolder }: Service): number =>
  globSync('requests.db*', { cwd: dataFolder }).reduce((sum, name) => sum + statSync(join(dataFolder, name)).size, 0);

const metric = async (service: Service, name: string): Promise<number | undefined> =>
  sumOf((await readMetrics(service)).samples, name);

async function start(env: Record<string, string>): Promise<{ service: Service; client: HttpClient; keys: Keys }> {
  const service = await ownService({ env });
  return { service, client: await HttpClient.open(service, CONNECTIONS + 1), keys: await service.makeTenant('flood') };
}

test('refused calls beyond a rate are counted and not logged, and no other tenant loses a line', async () => {
  const { service, client, keys } = await start({ STOREROOM_REQUEST_LOG_RATE: String(RATE) });
  const other = await service.makeTenant('other');
  const owners = [
    await Visitor.make(service, 'flood', 'owner'),
    await Visitor.make(service, 'other', 'owner'),
  ] as const;
  const query = Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, noise(1000)]));
  await service.stand();
  const others = (async () => {
    for (let call = 0; call < OTHERS; call++)
      await client.call(other, 'GET', '/orders/single', { query: { orderNum: '1' } });
  })();
  await callMany(REFUSED, () => client.call(keys, 'GET', '/orders/single', { query }));
  await others;
  assert.equal((await readLog(owners[0])).length, BURST_REFUSED);
  assert.equal((await readLog(owners[1])).length, OTHERS);
  if (STORE === 'sqlite') assert.ok(logBytes(service) < 2_000_000, `${logBytes(service)} bytes`);
  assert.equal(await metric(service, 'storeroom_request_log_beyond_rate_total'), REFUSED - BURST_REFUSED);
  assert.equal(await service.usageOf('flood'), REFUSED);
  const { body } = await owners[0].get('/usage');
  assert.match(JSON.stringify(body), new RegExp(`"refused":${REFUSED}\\b`));
  for (const [ms, more] of [
    [999, RATE - 1],
    [1000, RATE],
  ] as const) {
    const before = (await readLog(owners[0])).length;
    await service.move(ms);
    await callMany(2 * RATE, () => client.call(keys, 'GET', '/orders/single', { query: { orderNum: '1' } }));
    assert.equal((await readLog(owners[0])).length, before + more, `after ${ms} ms`);
  }
});

test('if a tenant logs more bytes than it may, the newest are kept', async () => {
  const { service, client, keys } = await start({
    STOREROOM_REQUEST_LOG_MB: '1',
    STOREROOM_REQUEST_LOG_RATE: '100000',
  });
  const owner = await Visitor.make(service, 'flood', 'owner');
  const ids: string[] = [];
  await callMany(CHANGED, async () => {
    const body = Object.fromEntries(['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'].map((name) => [name, noise(250)]));
    const { status, headers } = await client.call(keys, 'PUT', '/orders/create', { body });
    assert.equal(status, 400);
    ids.push(headers.get('x-request-id')!);
  });
  await readLog(owner);
  const kept = new Set((await readLog(owner)).map(({ requestID }) => requestID));
  // A compressed line has about 1.2 KB.
  assert.ok(kept.size >= 400 && kept.size <= 1000, `${kept.size} of ${CHANGED} are kept`);
  for (const id of ids.slice(-100)) assert.ok(kept.has(id), id);
  assert.equal(await service.usageOf('flood'), CHANGED);
});

test('below its bound of free disk the log stops and says so, calls continue; /readyz has its own bound', async () => {
  const { service, client, keys } = await start({
    STOREROOM_DISK_FREE_MB: '999999999',
    STOREROOM_DISK_FREE_PERCENT: '100',
    STOREROOM_READY_FREE_MB: '999999999',
  });
  const owner = await Visitor.make(service, 'flood', 'owner');
  await callMany(100, async () => {
    const { status } = await client.call(keys, 'PUT', '/orders/create', { body: {} });
    assert.equal(status, 200);
  });
  await service.move(FLUSH_MS);
  const ready = await fetch(`${service.origin}/readyz`);
  const isEmbedded = STORE === 'sqlite';
  assert.equal(await ready.text(), isEmbedded ? '{"status":"unavailable","reason":"disk"}' : '{"status":"ok"}');
  assert.equal(ready.status, isEmbedded ? 503 : 200);
  assert.equal((await fetch(`${service.origin}/healthz`)).status, 200);
  assert.equal((await readLog(owner)).length, isEmbedded ? 0 : 100);
  assert.equal(await metric(service, 'storeroom_request_log_stopped'), isEmbedded ? 1 : 0);
  assert.equal(await metric(service, 'storeroom_ready'), isEmbedded ? 0 : 1);
  assert.equal(await metric(service, 'storeroom_store_usable'), 1);
  const free = await metric(service, 'storeroom_disk_free_bytes');
  if (isEmbedded) {
    assert.ok(free! > 0, String(free));
    const low = await metric(service, 'storeroom_disk_low_bytes');
    assert.equal(low, await metric(service, 'storeroom_disk_size_bytes'));
    await service.said((output) => /The request log stops, because only \d+ bytes are free\./.test(output));
  } else assert.equal(free, undefined);
});
