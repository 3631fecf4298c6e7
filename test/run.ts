/**
 * `npm test`: Node's own runner over test/**\/*.test.ts with the embedded store, then over what fits both stores with PostgreSQL; or over the files
 * named as arguments, with the store of STOREROOM_TEST_STORE. A PostgreSQL is there for all of it. Beyond `node --test` it fails when a test was
 * skipped or marked todo, or when none ran; and the summary is the end of the output also after failures, whose details Node prints below it.
 */
import { resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { PostgresServer, runStatement } from './kit/postgres.ts';

interface Pass {
  readonly store: string;
  readonly select: { readonly files: string[] } | { readonly globPatterns: string[] };
}

const ALL: Pass[] = [
  { store: 'sqlite', select: { globPatterns: ['test/**/*.test.ts'] } },
  {
    store: 'postgres',
    select: {
      globPatterns: [
        'test/{api,dashboard}/**/*.test.ts',
        'test/system/{kill,metering-load,online-retail,request-log-kill,stop}.test.ts',
      ],
    },
  },
];
const named = process.argv.slice(2).map((file) => resolve(file));
const passes =
  named.length === 0 ? ALL : [{ store: process.env['STOREROOM_TEST_STORE'] || 'sqlite', select: { files: named } }];
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());

const sums = { tests: 0, pass: 0, fail: 0, cancelled: 0, skipped: 0, todo: 0 };

/** Whether every test of the pass was run and passed. */
async function runPass({ store, select }: Pass, databaseUrl: string): Promise<boolean> {
  process.stdout.write(`\nStore: ${store}\n`);
  const results = run({
    ...select,
    // What a developer has set for a service of their own is not for tests.
    env: {
      ...process.env,
      STOREROOM_DATABASE_URL: undefined,
      STOREROOM_TEST_STORE: store,
      STOREROOM_TEST_DATABASE_URL: databaseUrl,
    },
    concurrency: 4, // much of a test is waiting for disks, timeouts and processes
    isolation: 'process',
    timeout: 600_000, // for a file, in ms: one that hangs fails
    signal: stop.signal,
  });

  let isGood = false; // unless the summary of the whole pass says so
  results.on('test:summary', ({ file, success, counts }) => {
    if (file !== undefined) return;
    const { tests, passed, cancelled, skipped, todo } = counts;
    isGood = success && tests > 0 && skipped === 0 && todo === 0;
    const found = { tests, pass: passed, fail: tests - passed - cancelled - skipped - todo, cancelled, skipped, todo };
    for (const [name, count] of Object.entries(found)) sums[name as keyof typeof sums] += count;
  });
  for await (const text of results.compose(spec())) process.stdout.write(text);
  return isGood;
}

async function runAll(databaseUrl: string): Promise<boolean> {
  let isGood = true;
  for (const pass of passes) if (!stop.signal.aborted) isGood = (await runPass(pass, databaseUrl)) && isGood;
  if (stop.signal.aborted) process.stdout.write('\nThe run was cut short.\n');
  return isGood && !stop.signal.aborted;
}

async function reach(databaseUrl: string): Promise<boolean> {
  const fault = await runStatement(databaseUrl, 'SELECT 1').then(() => undefined, (error: Error & { code?: string }) => error.message || error.code); // prettier-ignore
  if (fault !== undefined)
    process.stderr.write(`STOREROOM_TEST_DATABASE_URL is set, and no PostgreSQL can be used there: ${fault}\n`);
  return fault === undefined;
}

const given = process.env['STOREROOM_TEST_DATABASE_URL'];
if (given && !(await reach(given))) process.exit(1);
const server = given ? undefined : await PostgresServer.start();
let isGood = false;
try {
  isGood = await runAll(given || server!.url);
} finally {
  await server?.remove();
}
const closing = isGood
  ? `\nGood, with ${passes.map(({ store }) => store).join(' and ')}:\n`
  : '\nNot good: a test failed, was skipped or is todo, or there is none.\n';
process.stdout.write(closing + Object.entries(sums).map(([name, count]) => `ℹ ${name} ${count}\n`).join('')); // prettier-ignore
process.exitCode = isGood ? 0 : 1;
