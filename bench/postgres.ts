/**
 * `npm run bench:postgres`: the service over a PostgreSQL of its own, beside a bare pool of connections, with one node
 * and with two, and with one tenant and with many. Ends with 1 when a bar was missed. bench/README.md names the flags
 * and says how to read the figures.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { PostgresServer, runStatement } from '../test/kit/postgres.ts';
import { load, type LoadRequest } from './load-generator.ts';
import { checkBar, measureInTurns, median, medianOf, printMachine, printRow, ratiosOf, reportBars } from './report.ts';
import { seed } from './seed-data.ts';
import { startServer, startService } from './servers.ts';
import { makeTenants, orderOf } from './tenants.ts';
import { buildWorkloads, type Workload } from './workloads.ts';

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    tenants: { type: 'string', default: '2000' },
  },
});
const rounds = Number(flags.rounds);
const seconds = Number(flags.seconds);
const CONNECTIONS = 64;
const BARS = { poolRatio: 1, tenantsP99: 2 };
/** Few connections, as this compares the time of a call, not how many calls there can be. */
const STEADY_CONNECTIONS = 4;

/** The service and a bare pool in turns, then two nodes in turns with one. */
async function measureReads(postgres: PostgresServer): Promise<void> {
  const url = await postgres.newDatabase();
  const keys = await seed(url);
  await runStatement(url, 'VACUUM ANALYZE');
  const [tenant] = await runStatement(url, `SELECT "STORE_ID" FROM storeroom."TENANTS"`);
  const nodes = [await startService(url), await startService(url)] as const;
  const script = fileURLToPath(new URL('bare-pg-server.ts', import.meta.url));
  const pool = await startServer([script, url, String(tenant!['STORE_ID'])]);
  printRow(`\n${CONNECTIONS} connections`, 'ours/s', 'pool/s', 'ratio', 'p50 ms', 'p99 ms');
  for (const workload of buildWorkloads(keys).filter(({ name }) => name.startsWith('W1'))) {
    await measureBesidePool(nodes[0].origin, pool.origin, workload);
    await measureSecondNode([nodes[0].origin, nodes[1].origin], workload);
  }
  for (const server of [pool, ...nodes]) await server.stop();
}

async function measureBesidePool(ours: string, pool: string, { name, requests }: Workload): Promise<void> {
  const measure = (origin: string) => load(origin, requests, { connections: CONNECTIONS, seconds });
  await load(ours, requests, { connections: CONNECTIONS, seconds: 1 });
  const sides = await measureInTurns(
    rounds,
    () => measure(ours),
    () => measure(pool),
  );
  const ratio = median(ratiosOf(sides, 'perSecond'));
  const speeds = [medianOf(sides.ours, 'perSecond'), medianOf(sides.theirs, 'perSecond')];
  printRow(name, ...speeds, ratio, medianOf(sides.ours, 'p50Ms'), medianOf(sides.ours, 'p99Ms'));
  checkBar(`${name}: ratio to the pool`, ratio, ratio >= BARS.poolRatio, `at least ${BARS.poolRatio}`);
}

async function measureSecondNode([first, second]: [string, string], { requests }: Workload): Promise<void> {
  const half = { connections: CONNECTIONS / 2, seconds };
  const sides = await measureInTurns(
    rounds,
    async () => {
      const both = await Promise.all([load(first, requests, half), load(second, requests, half)]);
      return { perSecond: both[0].perSecond + both[1].perSecond };
    },
    () => load(first, requests, { connections: CONNECTIONS, seconds }),
  );
  printRow('  two nodes, to one', '', '', median(ratiosOf(sides, 'perSecond')));
}

/** Calls to all of many tenants and to one of them, and the memory that the server's processes hold afterwards. */
async function measureTenants(postgres: PostgresServer, count: number): Promise<void> {
  const url = await postgres.newDatabase();
  const begunAt = performance.now();
  const keys = await makeTenants({ data: '', databaseUrl: url }, count);
  console.log(`\nMade ${count} tenants in ${((performance.now() - begunAt) / 1000).toFixed(1)} s.`);
  await runStatement(url, 'VACUUM ANALYZE');
  const service = await startService(url);
  const all = keys.map(orderOf);
  const one = all.slice(0, 1);
  const measure = (requests: LoadRequest[], times = 1) =>
    load(service.origin, requests, { connections: STEADY_CONNECTIONS, seconds: seconds * times });
  printRow(`${STEADY_CONNECTIONS} connections`, 'calls/s', 'p50 ms', 'p99 ms');
  for (const requests of [all, one]) await measure(requests, 2);
  const sides = await measureInTurns(
    rounds,
    () => measure(all),
    () => measure(one),
  );
  for (const [name, figures] of [
    ['one tenant', sides.theirs],
    [`${count} tenants`, sides.ours],
  ] as const)
    printRow(name, medianOf(figures, 'perSecond'), medianOf(figures, 'p50Ms'), medianOf(figures, 'p99Ms'));
  const ratio = medianOf(sides.ours, 'p99Ms') / medianOf(sides.theirs, 'p99Ms');
  console.log(`p99 with ${count} tenants is ${ratio.toFixed(2)} times that with one.`);
  checkBar('p99 with many tenants, to one', ratio, ratio <= BARS.tenantsP99, `at most ${BARS.tenantsP99}`);
  await printMemory(url);
  await service.stop();
}

/** The memory of its own of each server process that works for the service. */
async function printMemory(url: string): Promise<void> {
  const query = `SELECT pid FROM pg_stat_activity WHERE application_name = 'storeroom serve'`;
  const sizes = (await runStatement(url, query)).map(({ pid }) => privateBytes(Number(pid)) / 2 ** 20);
  const list = sizes.toSorted((a, b) => b - a).map((size) => size.toFixed(0));
  console.log(`Memory of each of ${sizes.length} server processes, in MB: ${list.join(', ')}`);
}

/** What a process does not share with the others. */
function privateBytes(pid: number): number {
  const parts = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').matchAll(/^Private_\w+:\s+(\d+) kB/gm);
  return [...parts].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);
}

printMachine();
const postgres = await PostgresServer.start({ settings: { shared_buffers: '512MB', max_connections: '200' } });
try {
  if ('pool'.startsWith(flags.only)) await measureReads(postgres);
  if ('tenants'.startsWith(flags.only)) await measureTenants(postgres, Number(flags.tenants));
} finally {
  await postgres.remove();
}
reportBars();
