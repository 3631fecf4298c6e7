/**
 * Tests a database in which one tenant waits: for a row that another session holds, or for a query that takes too long.
 * The waiting calls are refused meanwhile, and other tenants are served.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { times } from '../kit/lists.ts';
import { createOrder, getOrder } from '../kit/orders.ts';
import { newDatabase, runStatement } from '../kit/postgres.ts';
import { isCounted, Repeater } from '../kit/repeat.ts';
import { ownService, type Answer } from '../kit/service.ts';
import { HttpClient } from '../kit/http-client.ts';
import { until } from '../kit/wait.ts';

/** More writes than one transaction contains, so the others wait in the queue. */
const WRITERS = 400;
const NEIGHBOURS = 8;
/** Number of calls of each neighbour meanwhile. */
const CALLS = 12;
/** The WAIT_MS of src/store/postgres/writes/write-queue.ts. */
const WAIT_MS = 1200;
/** Lets PostgreSQL end a session that holds a row and does nothing. Tests do not wait for that. */
const HOLD = "SET idle_in_transaction_session_timeout = '120s'";
const CUSTOMERS = 10_000;

const databaseUrl = await newDatabase();
const service = await ownService({ databaseUrl, env: { STOREROOM_QUERY_BUDGET_MS: '20' } });
const client = await HttpClient.open(service, WRITERS + NEIGHBOURS);
const [stuck, free] = [await service.makeTenant('stuck'), await service.makeTenant('free')];

const storeIdOf = async (teamID: string): Promise<string> =>
  (await runStatement(databaseUrl, `SELECT "STORE_ID" FROM storeroom."TENANTS" WHERE "TEAM_ID" = '${teamID}'`))[0]![
    'STORE_ID'
  ] as string;

/** Holds the row that every write of the tenant locks first. Returns a function that releases it. */
async function holdRow(): Promise<() => Promise<void>> {
  const holder = new Client(databaseUrl);
  holder.on('error', () => undefined); // PostgreSQL has ended it
  await holder.connect();
  await holder.query(HOLD);
  await holder.query('BEGIN');
  await holder.query(`SELECT * FROM "${await storeIdOf('stuck')}"."COUNTERS" FOR UPDATE`);
  return async () => {
    await holder.query('ROLLBACK').catch(() => undefined);
    await holder.end();
  };
}

/** Finds sessions that hold a lock and do nothing. */
const HOLDERS = `SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND state = 'idle in transaction' AND query LIKE '%FOR UPDATE'`;

/** Finds the transaction of the service that waits for the row. */
async function findWaiting(): Promise<{ pid: number; begun: string } | undefined> {
  const [row] = await runStatement(
    databaseUrl,
    `SELECT pid, xact_start::text AS begun FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return row as { pid: number; begun: string } | undefined;
}

/** Resolves when the service has counted this many calls of the tenant: then their writes are in its queue. */
const arrived = (calls: number): Promise<void> => until(async () => (await service.usageOf('stuck')) >= calls);
const createStuck = (key: string): Promise<Answer> => createOrder(client, stuck, {}, { 'idempotency-key': key });

/** Repeats a write until it is counted, and so reaches the row: a busy machine may refuse it before that. */
async function createHeld(key: string): Promise<Answer> {
  for (;;) {
    const answer = await createStuck(key);
    if (isCounted(answer)) return answer;
  }
}

test(`${WRITERS} writes of a tenant with a locked row are refused meanwhile, and no other call`, async (context) => {
  const orderNum = (await createStuck('before')).body.data as string;
  const release = await holdRow();
  await service.stand();
  const before = await service.usageOf('stuck');
  const repeater = new Repeater();
  const writing = Promise.all(times(WRITERS, (index) => createHeld(`held-${index}`)));
  await until(async () => (await findWaiting()) !== undefined);
  await arrived(before + WRITERS);
  await Promise.all(
    times(NEIGHBOURS, async (neighbour) => {
      for (let call = 0; call < CALLS; call++) {
        const key = { 'idempotency-key': `neighbour-${neighbour}-${call}` };
        const create = () => createOrder(client, free, {}, key);
        const { status, text } = await repeater.call(
          neighbour % 2 === 0 ? create : () => getOrder(client, stuck, orderNum),
        );
        assert.equal(status, 200, text);
      }
    }),
  );
  // PostgreSQL ends the writes that wait for the row. The writes after them have now waited for too long.
  await service.move(WAIT_MS + 1);
  const refused = await writing;
  assert.notDeepEqual(await runStatement(databaseUrl, HOLDERS), [], 'the row is still held');
  await release();
  await service.pass();
  for (const { status, body, headers, text } of refused)
    assert.equal(`${status} ${body.code} ${headers.get('retry-after')}`, '503 SERVICE_BUSY 1', text);
  context.diagnostic(`${repeater.refused} calls of neighbours were repeated`);
  const again = await Promise.all(times(WRITERS, (index) => new Repeater().call(() => createStuck(`held-${index}`))));
  assert.deepEqual(new Set(again.map(({ status }) => status)), new Set([200]), 'writes continue once the row is free');
  const numbers = new Set(again.map(({ body }) => body.data as string));
  assert.equal(numbers.size, WRITERS);
  const made = await runStatement(databaseUrl, `SELECT FROM "${await storeIdOf('stuck')}"."ORDERS"`);
  assert.equal(made.length, 1 + WRITERS, 'what was refused was not written');
});

for (const [ms, isRefused] of [
  [WAIT_MS, false],
  [WAIT_MS + 1, true],
] as const)
  test(`a write that has waited ${ms} ms for those before it is ${isRefused ? 'refused' : 'written'}`, async () => {
    for (let attempt = 0, isOver = false; !isOver; attempt++) {
      const release = await holdRow();
      await service.stand();
      const before = await service.usageOf('stuck');
      let isRefusedFirst = false;
      const first = createHeld(`first-${ms}-${attempt}`);
      void first.then(() => (isRefusedFirst = true));
      await until(async () => isRefusedFirst || (await findWaiting()) !== undefined);
      const waiting = await findWaiting();
      const second = createHeld(`second-${ms}-${attempt}`);
      await arrived(before + 2);
      await service.move(ms);
      // On a busy machine, PostgreSQL may have ended the first write by then. Then the test tries again.
      isOver = waiting !== undefined && (await findWaiting())?.begun === waiting.begun;
      await runStatement(databaseUrl, `SELECT pg_cancel_backend(${waiting?.pid ?? 0})`);
      if (isOver) assert.equal((await first).body.code, 'SERVICE_BUSY');
      if (isOver && isRefused) {
        const { status, body } = await second;
        assert.equal(`${status} ${body.message}`, '503 Too many writes are waiting; nothing was written.');
      }
      await release();
      const { status, text } = await second;
      // The second write may also have waited for the row, so PostgreSQL may have ended it too.
      if (/The database is busy/.test(text)) isOver = false;
      if (isOver && !isRefused) assert.equal(status, 200, text);
      await first;
      await service.pass();
    }
  });

// Holds S3.16.
test('400 QUERY_TOO_COSTLY for a query over its budget, and others write while such queries run', async () => {
  const filler = `INSERT INTO "${await storeIdOf('stuck')}"."CUSTOMER" ("SORT_KEY", search, "_VERSION", "CUSTOMER_CODE", "NOTES")
    SELECT 'S' || n, '', '', 'S' || n, repeat('a note ', 20) FROM generate_series(1, ${CUSTOMERS}) n`;
  await runStatement(databaseUrl, filler);
  const costly = times(50, (index) => ({
    field: 'NOTES',
    value: `${index % 10}!`,
    contains: true,
    ...(index > 0 && { conjunction: 'OR' }),
  }));
  const ask = () => client.call(stuck, 'POST', '/customers/query', { body: costly });
  const { status, body, text } = await ask();
  assert.equal(`${status} ${body.code}`, '400 QUERY_TOO_COSTLY', text);
  const state = { isOver: false };
  const askUntilOver = async (): Promise<void> => {
    while (!state.isOver) {
      const answer = await ask();
      if (answer.status !== 503) assert.equal(`${answer.status} ${answer.body.code}`, '400 QUERY_TOO_COSTLY');
    }
  };
  const asking = Promise.all(times(16, askUntilOver));
  const before = await service.usageOf('free');
  const repeater = new Repeater();
  const create = async (neighbour: number): Promise<string[]> => {
    const codes: string[] = [];
    for (let call = 0; call < CALLS; call++) {
      const headers = { 'idempotency-key': `beside-${neighbour}-${call}` };
      const send = () => client.call(free, 'PUT', '/customers/create', { body: {}, headers });
      const made = await repeater.call(send);
      assert.equal(made.status, 200, made.text);
      codes.push(made.body.data as string);
    }
    return codes;
  };
  const codes = (await Promise.all(times(NEIGHBOURS, create))).flat();
  state.isOver = true;
  await asking;
  assert.equal(new Set(codes).size, NEIGHBOURS * CALLS);
  const kept = await runStatement(databaseUrl, `SELECT FROM "${await storeIdOf('free')}"."CUSTOMER"`);
  assert.equal(kept.length, codes.length, 'one record for each that was made');
  assert.equal(await service.usageOf('free'), before + repeater.counted);
});
