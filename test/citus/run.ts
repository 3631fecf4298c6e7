/**
 * Runs `npm run test:citus`: the API suite, the contract of the PostgreSQL store, and moves under load, on a coordinator
 * and its workers. STOREROOM_TEST_DATABASE_URL is the coordinator, STOREROOM_TEST_CITUS_WORKERS the workers, with blanks
 * between them: addresses of superusers that the servers accept from one another without a password.
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { runStatement } from '../kit/postgres.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const { STOREROOM_TEST_DATABASE_URL: coordinator = '', STOREROOM_TEST_CITUS_WORKERS: workers = '' } = process.env;
const servers = [coordinator, ...workers.split(' ')].filter((url) => url !== '');
if (coordinator === '' || servers.length < 3)
  end('Set STOREROOM_TEST_DATABASE_URL to the coordinator, and STOREROOM_TEST_CITUS_WORKERS to two or more workers.');
for (const url of servers) {
  const loaded = await runStatement(url, 'SHOW shared_preload_libraries').catch((fault: Error) =>
    end(`${new URL(url).host} cannot be reached: ${fault.message}`),
  );
  if (!/\bcitus\b/.test(String(loaded[0]!['shared_preload_libraries'])))
    end(`${new URL(url).host} does not load Citus. Add it to shared_preload_libraries.`);
}
// Nodes of older versions never wrote to a database with Citus, so postgres.test.ts, which has them, is left out.
const files = [
  ...globSync(['test/api/*.test.ts', 'test/store/postgres-{records,tenants,writes}.test.ts'], { cwd: ROOT }).toSorted(),
  'test/citus/moves.ts',
];
const env = { ...process.env, STOREROOM_TEST_STORE: 'postgres' };
process.exitCode =
  spawnSync(process.execPath, ['test/run.ts', ...files], { cwd: ROOT, env, stdio: 'inherit' }).status ?? 1;

function end(why: string): never {
  process.stderr.write(`${why}\n`);
  process.exit(1);
}
