/**
 * Tests that the proxy, which fails on purpose, does what the fault tests rely on: a cut comes after the commit, and
 * silence loses nothing.
 */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { Client } from 'pg';
import { newDatabase, runStatement } from '../kit/postgres.ts';
import { until } from '../kit/wait.ts';
import { PostgresProxy, type CutKind } from './postgres-proxy.ts';

/** Number of statements that are answered past the proxy while it is silent. */
const OTHERS = 20;

interface Line {
  readonly proxy: PostgresProxy;
  /** Counts the facts on a connection past the proxy. */
  readonly count: () => Promise<number>;
  readonly connect: () => Promise<Client>;
}

async function openLine(context: TestContext): Promise<Line> {
  const url = await newDatabase();
  await runStatement(url, 'CREATE TABLE facts (fact text)');
  const proxy = await PostgresProxy.open(url);
  context.after(() => proxy.close());
  const connect = async (): Promise<Client> => {
    const client = new Client({ connectionString: proxy.url, pipeline: true });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  return {
    proxy,
    connect,
    count: async () => Number((await runStatement(url, 'SELECT count(*) AS n FROM facts'))[0]!['n']),
  };
}

const INSERT = "INSERT INTO facts VALUES ('it took place')";
const prepared = (text: string) => ({ name: text.slice(0, 20), text });

const CASES: Record<string, { kind: CutKind; sent: (string | { name: string; text: string })[] }> = {
  'a prepared COMMIT': { kind: 'commit', sent: ['BEGIN', INSERT, 'COMMIT'].map(prepared) },
  'a simple COMMIT': { kind: 'commit', sent: ['BEGIN', INSERT, 'COMMIT'] },
  'a script that commits': { kind: 'commit', sent: [`BEGIN; ${INSERT}; COMMIT`] },
  'a simple statement': { kind: 'statement', sent: [INSERT] },
  'a prepared statement': { kind: 'statement', sent: [prepared(INSERT)] },
  'a statement that writes on the way to reading': {
    kind: 'statement',
    sent: [prepared(`WITH written AS (${INSERT} RETURNING 1) SELECT * FROM written`)],
  },
};

for (const [what, { kind, sent }] of Object.entries(CASES))
  test(`after ${what} is cut, its client has no response and the row exists`, async (context) => {
    const { proxy, connect, count } = await openLine(context);
    const client = await connect();
    // Neither a read nor a write that is rolled back is cut.
    for (const text of ['SELECT 1', 'BEGIN', INSERT, 'ROLLBACK']) await client.query(text);
    const cutting = proxy.cutNext(kind);
    await client.query('SELECT 2');
    const results = await Promise.allSettled(sent.map((one) => client.query(one)));
    const outcomes = results.map(({ status }) => status);
    assert.deepEqual(outcomes, [...sent.slice(1).map(() => 'fulfilled'), 'rejected']);
    await cutting;
    assert.equal(proxy.cuts[kind], 1);
    assert.equal(await count(), 1);
    const next = await connect();
    await next.query(INSERT);
    assert.equal(await count(), 2);
    await next.end();
  });

test('a kind of commit that was not requested is not cut', async (context) => {
  const { proxy, connect, count } = await openLine(context);
  const client = await connect();
  void proxy.cutNext('commit');
  await client.query(INSERT);
  void proxy.cutNext('statement');
  for (const text of ['BEGIN', INSERT, 'COMMIT']) await client.query(text);
  assert.deepEqual(proxy.cuts, { commit: 0, statement: 0 });
  assert.equal(await count(), 2);
  await client.end();
});

test('while silent it forwards nothing and connects no one; afterwards the sent bytes arrive', async (context) => {
  const { proxy, connect, count } = await openLine(context);
  const [patient, impatient] = [await connect(), await connect()];
  proxy.goSilent();
  const answered: string[] = [];
  const answer = patient.query(INSERT).then(() => answered.push('statement'));
  const connecting = connect().then((client) => (answered.push('connection'), client));
  impatient.query(INSERT).catch(() => undefined);
  for (let others = 0; others < OTHERS; others++) assert.equal(await count(), 0);
  // Closes the connection in the middle of a statement, as a node does that no longer waits.
  (impatient as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
  for (let others = 0; others < OTHERS; others++) assert.equal(await count(), 0);
  assert.deepEqual(answered, []);
  proxy.speak();
  await Promise.all([answer, connecting]);
  await until(async () => (await count()) === 2);
  await Promise.all([patient.end(), (await connecting).end()]);
});
