/**
 * `npm run bench:postgres`: the service over a real PostgreSQL of its own. GET of an order beside a bare pg pool behind bare node:http (bare-pool.ts),
 * with one node and with two; and 2,000 tenants beside one. Prints figures and says which bars were missed. bench/README.md says how to read it.
 * Flags: --only pool|tenants, --rounds N, --seconds S, --tenants N.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { openStore, type Store } from '../src/store/open.ts';
import { issueKey } from '../src/tenant/credentials.ts';
import { Refusal } from '../src/errors.ts';
import { PostgresServer, runStatement } from '../test/kit/postgres.ts';
import { BASE_PATH, Service, type Keys } from '../test/kit/service.ts';
import { load, loader, type Figures, type LoadRequest } from './load.ts';
import { makeWorkloads, seed } from './seed.ts';

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
/** Connections that call steadily where the time of a call is compared, not how many there can be. */
const STEADY_CONNECTIONS = 4;
const missed: string[] = [];
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
const print = (...cells: readonly (string | number)[]): void =>
  console.log(
    cells
      .map((cell, index) =>
        (typeof cell === 'number' ? cell.toFixed(cell < 100 ? 2 : 0) : cell)[index === 0 ? 'padEnd' : 'padStart'](
          index === 0 ? 34 : 10,
        ),
      )
      .join(''),
  );

async function startPool(url: string, schema: string): Promise<{ origin: string; stop: () => void }> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('bare-pool.ts', import.meta.url)), url, schema], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  return { origin: line.trim(), stop: () => child.kill() };
}

/** Ours and the pool in turns, then two nodes in turns with one. */
async function measureReads(server: PostgresServer): Promise<void> {
  const url = await server.newDatabase();
  const keys = await seed(url);
  await runStatement(url, 'VACUUM ANALYZE');
  const [tenant] = await runStatement(url, `SELECT "STORE_ID" FROM storeroom."TENANTS"`);
  const service = await Service.start({ databaseUrl: url });
  const second = await Service.start({ databaseUrl: url });
  const pool = await startPool(url, String(tenant!['STORE_ID']));
  print(`\n${CONNECTIONS} connections`, 'ours/s', 'pool/s', 'ratio', 'p50 ms', 'p99 ms');
  for (const { name, requests } of makeWorkloads(keys).filter((workload) => workload.name.startsWith('W1'))) {
    const ours: Figures[] = [];
    const bare: Figures[] = [];
    await load(service.origin, requests, { connections: CONNECTIONS, seconds: 1 });
    for (let round = 0; round < rounds; round++) {
      bare.push(await load(pool.origin, requests, { connections: CONNECTIONS, seconds }));
      ours.push(await load(service.origin, requests, { connections: CONNECTIONS, seconds }));
    }
    const ratio = median(ours.map(({ perSecond }, round) => perSecond / bare[round]!.perSecond));
    const of = (figures: Figures[], figure: keyof Figures): number => median(figures.map((one) => one[figure]));
    print(name, of(ours, 'perSecond'), of(bare, 'perSecond'), ratio, of(ours, 'p50Ms'), of(ours, 'p99Ms'));
    if (ratio < BARS.poolRatio)
      missed.push(`${name}: ratio to the pool is ${ratio.toFixed(2)}, and should be at least ${BARS.poolRatio}`);
    await measureSecondNode(service, second, requests);
  }
  pool.stop();
  await second.stop();
  await service.stop();
}

async function measureSecondNode(service: Service, second: Service, requests: LoadRequest[]): Promise<void> {
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const alone = await load(service.origin, requests, { connections: CONNECTIONS, seconds });
    const half = { connections: CONNECTIONS / 2, seconds };
    const both = await Promise.all([load(service.origin, requests, half), load(second.origin, requests, half)]);
    ratios.push(both.reduce((sum, { perSecond }) => sum + perSecond, 0) / alone.perSecond);
  }
  print('  two nodes, to one', '', '', median(ratios));
}

/** Calls to one tenant and to all of them in turns, at a load that does not fill the machine; and what the server's processes hold afterwards. */
async function measureTenants(server: PostgresServer, count: number): Promise<void> {
  const url = await server.newDatabase();
  const settings = { data: '', databaseUrl: url, databaseConnections: 4, queryBudgetMs: 5000, queryThreads: 1 };
  const store = await openStore(settings, { name: 'storeroom bench', busyTimeoutMs: 5000, onFatal: () => undefined });
  const begunAt = performance.now();
  const keys: Keys[] = [];
  for (let index = 0; index < count; index++) keys.push(await makeTenant(store, `team-${index}`));
  await store.close();
  console.log(`\nMade ${count} tenants in ${((performance.now() - begunAt) / 1000).toFixed(1)} s.`);
  await runStatement(url, 'VACUUM ANALYZE');
  const service = await Service.start({ databaseUrl: url });
  const one = keys.slice(0, 1).map(orderOf);
  const all = keys.map(orderOf);
  print(`${STEADY_CONNECTIONS} connections`, 'calls/s', 'p50 ms', 'p99 ms');
  const figures = { one: [] as Figures[], all: [] as Figures[] };
  for (const requests of [all, one])
    await load(service.origin, requests, { connections: STEADY_CONNECTIONS, seconds: seconds * 2 });
  for (let round = 0; round < rounds; round++) {
    figures.one.push(await load(service.origin, one, { connections: STEADY_CONNECTIONS, seconds }));
    figures.all.push(await load(service.origin, all, { connections: STEADY_CONNECTIONS, seconds }));
  }
  const p99 = (of: Figures[]): number => median(of.map(({ p99Ms }) => p99Ms));
  for (const [name, of] of Object.entries(figures))
    print(
      name === 'one' ? 'one tenant' : `${count} tenants`,
      median(of.map(({ perSecond }) => perSecond)),
      median(of.map(({ p50Ms }) => p50Ms)),
      p99(of),
    );
  const ratio = p99(figures.all) / p99(figures.one);
  console.log(`p99 with ${count} tenants is ${ratio.toFixed(2)} times that with one.`);
  if (ratio > BARS.tenantsP99)
    missed.push(
      `p99 with ${count} tenants is ${ratio.toFixed(2)} times that with one, and should be at most ${BARS.tenantsP99}`,
    );
  const backends = await runStatement(
    url,
    `SELECT pid FROM pg_stat_activity WHERE application_name = 'storeroom serve'`,
  );
  const sizes = backends.map(({ pid }) => privateBytes(Number(pid)) / 2 ** 20).toSorted((a, b) => b - a);
  console.log(
    `Memory of its own of each of ${sizes.length} server processes, in MB: ${sizes.map((size) => size.toFixed(0)).join(', ')}`,
  );
  await service.stop();
}

/** What a process does not share with the others. */
function privateBytes(pid: number): number {
  const parts = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').matchAll(/^Private_\w+:\s+(\d+) kB/gm);
  return [...parts].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);
}

async function makeTenant(store: Store, teamID: string): Promise<Keys> {
  const now = new Date().toISOString();
  const tenant = await store.tenants.createTenant(teamID, teamID, now);
  if (tenant instanceof Refusal) throw tenant;
  const { apiId: apiID, apiSecret, secretHash } = issueKey();
  await store.tenants.replaceKeys(teamID, { apiId: apiID, secretHash }, now, {
    at: now,
    actor: 'bench',
    action: 'keys.replaced',
    target: apiID,
    client: '',
    detail: {},
  });
  const pims = store.pims(tenant);
  const write = { now, strict: false };
  await pims.createRecord('orders', { ORDER_TYPE: 'worksheet', REFERENCE_NUMBER: '#1', BNAME: teamID }, write);
  for (const PART_CODE of ['A', 'B', 'C']) await pims.addLine('10001', { PART_CODE, QUANTITY: '1' }, write);
  return { teamID, apiID, apiSecret };
}

const orderOf = ({ teamID, apiID, apiSecret }: Keys): LoadRequest => ({
  method: 'GET',
  path: `${BASE_PATH}/orders/single?teamID=${teamID}&orderNum=10001`,
  headers: { authorization: `Basic ${Buffer.from(`${apiID}:${apiSecret}`).toString('base64')}` },
});

console.log(`Node ${process.version}, ${cpus()[0]?.model}, ${availableParallelism()} cores, load by ${loader}`);
const server = await PostgresServer.start({ settings: { shared_buffers: '512MB', max_connections: '200' } });
try {
  if ('pool'.startsWith(flags.only)) await measureReads(server);
  if ('tenants'.startsWith(flags.only)) await measureTenants(server, Number(flags.tenants));
} finally {
  await server.remove();
}
for (const line of missed) console.log(`MISSED: ${line}.`);
if (missed.length === 0) console.log('\nNo bar was missed.');
process.exitCode = missed.length === 0 ? 0 : 1;
