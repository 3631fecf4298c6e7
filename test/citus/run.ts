/**
 * Runs `npm run test:citus`: the API suite, the contract of the PostgreSQL store, moves under load and faults, on a
 * coordinator and its workers. Their addresses are in STOREROOM_TEST_DATABASE_URL and, separated by spaces, in
 * STOREROOM_TEST_CITUS_WORKERS: addresses of superusers, whom each server accepts from the others without a password.
 * Without these variables, it starts servers of the PostgreSQL with Citus on this machine. The tests of faults kill
 * servers, so they always start their own, and run only on a machine that has Citus.
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { runStatement } from '../kit/postgres.ts';
import { findCitus, startCluster } from './cluster.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const WORKERS = 2;
const hasCitus = findCitus() !== undefined;
const given = {
  STOREROOM_TEST_DATABASE_URL: process.env['STOREROOM_TEST_DATABASE_URL'],
  STOREROOM_TEST_CITUS_WORKERS: process.env['STOREROOM_TEST_CITUS_WORKERS'],
};
const startsServers = given.STOREROOM_TEST_DATABASE_URL === undefined && hasCitus;
const servers = startsServers ? await startServers() : given;
await check([servers.STOREROOM_TEST_DATABASE_URL ?? '', ...(servers.STOREROOM_TEST_CITUS_WORKERS ?? '').split(' ')]);
// postgres.test.ts is about the database of all tenants, which Citus does not change.
const files = [
  ...globSync(['test/api/*.test.ts', 'test/store/postgres-{records,tenants,writes}.test.ts'], { cwd: ROOT }).toSorted(),
  'test/citus/moves.ts',
  ...(hasCitus ? ['test/citus/faults.ts'] : []),
];
const env = {
  ...process.env,
  ...servers,
  STOREROOM_TEST_STORE: 'postgres',
  // They are removed with the servers. Dropping them makes a server sync every file, which can take minutes.
  ...(startsServers && { STOREROOM_TEST_KEEP_DATABASES: 'on' }),
};
process.exitCode =
  spawnSync(process.execPath, ['test/run.ts', ...files], { cwd: ROOT, env, stdio: 'inherit' }).status ?? 1;
if (!hasCitus)
  process.stderr.write('Faults were not tested, because this machine has no PostgreSQL with Citus in /usr.\n');

async function startServers(): Promise<typeof given> {
  const { coordinator, workers } = await startCluster(WORKERS);
  return {
    STOREROOM_TEST_DATABASE_URL: coordinator.url,
    STOREROOM_TEST_CITUS_WORKERS: workers.map(({ url }) => url).join(' '),
  };
}

async function check(urls: readonly string[]): Promise<void> {
  if (urls.includes('') || urls.length < 1 + WORKERS)
    end(
      'This machine has no PostgreSQL with Citus. Install one, or set STOREROOM_TEST_DATABASE_URL to a coordinator and ' +
        'STOREROOM_TEST_CITUS_WORKERS to two or more workers.',
    );
  for (const url of urls) {
    const loaded = await runStatement(url, 'SHOW shared_preload_libraries').catch((fault: Error) =>
      end(`${new URL(url).host} cannot be reached: ${fault.message}`),
    );
    if (!/\bcitus\b/.test(String(loaded[0]!['shared_preload_libraries'])))
      end(`${new URL(url).host} does not load Citus. Add it to shared_preload_libraries.`);
  }
}

function end(why: string): never {
  process.stderr.write(`${why}\n`);
  process.exit(1);
}
