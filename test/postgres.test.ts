/**
 * Tests the PostgreSQL of the tests: what tests rely on when they share it or break a separate one, and that nothing
 * of it is left afterwards.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { Client } from 'pg';
import { findProcesses, findSharedMemory } from './kit/postgres-guard.ts';
import { temporaryFolder } from './kit/service.ts';
import { trials } from './kit/trials.ts';
import { newDatabase, postgresUrl, PostgresServer, runStatement } from './kit/postgres.ts';
import { until } from './kit/wait.ts';

const HERE = { PATH: process.env['PATH'], TMPDIR: process.env['TMPDIR'] };
const RUN = join(import.meta.dirname, 'run.ts');
const POSTGRES = new URL('kit/postgres.ts', import.meta.url).href;
/** Number of statements that another server answers while one is silent. */
const OTHERS = 20;

/** The file in which Linux lists the segments of shared memory. */
const SEGMENTS = '/proc/sysvipc/shm';
const listSegments = (): string[] =>
  readFileSync(SEGMENTS, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/)[1] ?? '');

const countRows = async (url: string): Promise<unknown> =>
  (await runStatement(url, 'SELECT count(*)::int AS n FROM numbers'))[0]!['n'];

test('a run whose STOREROOM_TEST_DATABASE_URL has no server fails at once, with one sentence', async () => {
  const env = { ...HERE, STOREROOM_TEST_DATABASE_URL: 'postgres://tester:hidden@127.0.0.1:1/none' };
  const child = spawn(process.execPath, [RUN, import.meta.filename], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 1);
  assert.match(
    printed,
    /^STOREROOM_TEST_DATABASE_URL is set, and no PostgreSQL can be used there: .*127\.0\.0\.1:1\n$/,
  );
  assert.doesNotMatch(printed, /hidden/);
});

test('a server in a folder that its user cannot enter is refused, in a sentence that says what to set', async () => {
  const parentFolder = join(temporaryFolder(), 'place');
  mkdirSync(parentFolder); // the folder above has the mode 0700
  const started = PostgresServer.start({ parentFolder });
  // Only as root is the server's user another one.
  if (process.getuid!() === 0)
    await assert.rejects(started, /^Error: PostgreSQL .* cannot enter \S+\. Set TMPDIR to .*\.$/);
  else await (await started).remove();
});

test('databases made at the same time are empty and separate', async () => {
  const urls = await Promise.all(Array.from({ length: 4 }, newDatabase));
  await Promise.all(urls.map((url) => runStatement(url, 'CREATE TABLE numbers (n int)')));
  await runStatement(urls[0]!, 'INSERT INTO numbers VALUES (1)');
  assert.deepEqual(await Promise.all(urls.map(countRows)), [1, 0, 0, 0]);
});

suite('a separate server', () => {
  let server: PostgresServer;
  before(async () => {
    server = await PostgresServer.start();
  });
  after(() => server.remove());

  // Dropping a database makes a server sync every file, so on the shared server the other tests would have to wait.
  test('has no databases of a test process that has ended, even with open connections', async () => {
    const script = `
      const { newDatabase } = await import(${JSON.stringify(POSTGRES)});
      console.log(await newDatabase());
      await new Promise((resolve) => process.stdin.once('end', resolve).resume());`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...HERE, STOREROOM_TEST_DATABASE_URL: server.url },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const url = String((await once(child.stdout, 'data'))[0]).trim();
    const sleeping = assert.rejects(runStatement(url, 'SELECT pg_sleep(60)'), /terminating connection/);
    const sleepers = `SELECT FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)'`;
    await until(async () => (await runStatement(url, sleepers)).length > 0);
    child.stdin.end();
    assert.deepEqual(await once(child, 'exit'), [0, null]);
    await sleeping;
    await assert.rejects(runStatement(url, 'SELECT 1'), /does not exist/);
  });

  test('has every safety setting on and the locale of all systems, and asks for its password', async () => {
    const names = ['fsync', 'synchronous_commit', 'full_page_writes', 'max_connections', 'server_encoding'];
    const shown = await Promise.all(
      names.map(async (name) => Object.values((await runStatement(server.url, `SHOW ${name}`))[0]!)[0]),
    );
    assert.deepEqual(shown, ['on', 'on', 'on', '600', 'UTF8']);
    assert.deepEqual(await runStatement(server.url, `SELECT datcollate FROM pg_database WHERE datname = 'postgres'`), [
      { datcollate: 'C.UTF-8' },
    ]);
    const url = new URL(server.url);
    url.password = 'wrong';
    await assert.rejects(runStatement(url.href, 'SELECT 1'), /password authentication failed/);
  });

  const ENDS = {
    'stopped fast': () => server.stop(),
    'stopped without writing out': () => server.stop('immediate'),
    killed: () => server.kill(),
  };
  test(`${Object.keys(ENDS).join(', ')}, it is down; started again, it has its data on the same port`, async () => {
    await runStatement(server.url, 'CREATE TABLE numbers (n int)');
    for (const [index, end] of Object.values(ENDS).entries()) {
      await runStatement(server.url, 'INSERT INTO numbers VALUES (1)');
      await end();
      assert.deepEqual(server.pids(), []);
      await assert.rejects(runStatement(server.url, 'SELECT 1'), /ECONNREFUSED/);
      await server.restart();
      assert.equal(await countRows(server.url), index + 1);
    }
  });

  test('paused, it sends nothing, also on new connections; resumed, it responds to the waiting requests', async () => {
    const client = new Client(server.url);
    await client.connect();
    server.pause();
    const asked = [
      client.query('SELECT 1 AS one').then(({ rows }) => rows as unknown),
      runStatement(server.url, 'SELECT 1 AS one'),
    ];
    let answered = 0;
    for (const one of asked) void one.then(() => answered++);
    for (let others = 0; others < OTHERS; others++) await runStatement(postgresUrl(), 'SELECT 1');
    assert.equal(answered, 0);
    server.resume();
    assert.deepEqual(await Promise.all(asked), [[{ one: 1 }], [{ one: 1 }]]);
    await client.end();
  });
});

suite('nothing stays behind', () => {
  const LIVES = [
    { life: 'working', script: '', ending: 'SIGTERM' },
    { life: 'paused', script: 'server.pause();', ending: 'SIGKILL' },
    { life: 'working', script: '', ending: 'SIGKILL' },
  ] as const;
  for (const { life, script, ending } of LIVES.slice(0, trials('LIVES', { quick: 2, all: 3 })))
    test(`of a server that is ${life} when the process that started it ends by ${ending}`, async () => {
      const source = `
        const { PostgresServer } = await import(${JSON.stringify(POSTGRES)});
        const server = await PostgresServer.start();
        ${script}
        console.log(server.dataFolder);
        process.stdin.resume();`;
      const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
        env: HERE,
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      const folder = dirname(String((await once(child.stdout, 'data'))[0]).trim());
      assert.ok(findProcesses(folder).length > 0);
      const memory = findSharedMemory(folder)!;
      if (existsSync(SEGMENTS)) assert.ok(listSegments().includes(memory));
      child.kill(ending);
      await until(() => !existsSync(folder) && findProcesses(folder).length === 0);
      if (existsSync(SEGMENTS)) assert.ok(!listSegments().includes(memory), 'its shared memory');
    });
});
