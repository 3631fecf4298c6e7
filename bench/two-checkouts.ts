/**
 * `npm run bench:beside -- FOLDER`: this checkout and another one of Storeroom, such as the commit before a change,
 * under the same load in one run. Both start on copies of the same data, which the other checkout made. bench/README.md
 * names the flags.
 */
import { cpSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { PostgresServer, runStatement } from '../test/kit/postgres.ts';
import { temporaryFolder, type Keys } from '../test/kit/service.ts';
import { load, type LoadFigures } from './load-generator.ts';
import { checkBar, measureInTurns, median, medianOf, printMachine, printRow, ratiosOf, reportBars } from './report.ts';
import { seed } from './seed-data.ts';
import { startService, THIS_CHECKOUT, type Server } from './servers.ts';
import { buildWorkloads, type Workload } from './workloads.ts';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '9' },
    seconds: { type: 'string', default: '2' },
    store: { type: 'string', default: 'sqlite,postgres' },
    workload: { type: 'string', default: 'W' },
  },
});
const CONNECTIONS = 64;
const WARM_UP_SECONDS = 2;
const TRIES = 5;
const RATIO_LEAST = 0.97;
const POSTGRES_SETTINGS = { shared_buffers: '512MB', max_wal_size: '8GB' };
/** The kernel counts CPU time in hundredths of a second. */
const TICK_US = 10_000;

/** A checkout's service. */
interface Side {
  readonly server: Server;
  readonly place: string;
}

interface SideFigures extends LoadFigures {
  /** CPU time a request, of the service and of its connections in the database server. */
  readonly cpuUs: number;
}

/** The seeded data twice. */
interface Copies {
  readonly keys: Keys;
  readonly places: readonly [string, string];
  readonly remove: () => Promise<void>;
}

async function seedFolders(checkout: string): Promise<Copies> {
  const seeded = temporaryFolder();
  const keys = await seed(seeded, checkout);
  const places = [temporaryFolder(), temporaryFolder()] as const;
  for (const place of places) cpSync(seeded, place, { recursive: true });
  return { keys, places, remove: () => Promise.resolve() };
}

async function seedDatabases(checkout: string): Promise<Copies> {
  const postgres = await PostgresServer.start({ settings: POSTGRES_SETTINGS });
  const seeded = await postgres.newDatabase();
  const keys = await seed(seeded, checkout);
  await runStatement(seeded, 'VACUUM ANALYZE');
  const copy = async (name: string): Promise<string> => {
    await runStatement(postgres.url, `CREATE DATABASE ${name} TEMPLATE ${new URL(seeded).pathname.slice(1)}`);
    return Object.assign(new URL(postgres.url), { pathname: name }).href;
  };
  const places = [await copy('ours'), await copy('theirs')] as const;
  await runStatement(postgres.url, 'CHECKPOINT');
  return { keys, places, remove: () => postgres.remove() };
}

const startSide = async (place: string, checkout: string): Promise<Side> => ({
  place,
  server: await startService(place, checkout),
});

/** On a machine with other work a request may time out. Such a round is measured again. */
async function measureSide(side: Side, workload: Workload, seconds: number, tries = TRIES): Promise<SideFigures> {
  try {
    return await measureOnce(side, workload, seconds);
  } catch (fault) {
    if (tries === 1) throw fault;
    console.log(`Measured again: ${(fault as Error).message}`);
    return measureSide(side, workload, seconds, tries - 1);
  }
}

async function measureOnce(side: Side, { requests }: Workload, seconds: number): Promise<SideFigures> {
  const pids = await findProcesses(side);
  const before = cpuTimeUs(pids);
  const figures = await load(side.server.origin, requests, { connections: CONNECTIONS, seconds });
  return { ...figures, cpuUs: (cpuTimeUs(pids) - before) / figures.count };
}

/** The processes that work for a side: the service, and what PostgreSQL runs for its connections. */
async function findProcesses({ server, place }: Side): Promise<number[]> {
  if (!place.startsWith('postgres')) return [server.pid];
  const backends = await runStatement(
    place,
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'storeroom serve'`,
  );
  return [server.pid, ...backends.map(({ pid }) => Number(pid))];
}

/** The CPU time processes have taken so far, theirs and the kernel's for them. */
function cpuTimeUs(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return sum + (Number(fields[11]) + Number(fields[12])) * TICK_US;
  }, 0);
}

async function compare(name: string, [here, there]: readonly [Side, Side], workload: Workload): Promise<void> {
  for (const side of [here, there]) await measureSide(side, workload, WARM_UP_SECONDS);
  const sides = await measureInTurns(
    Number(flags.rounds),
    () => measureSide(here, workload, Number(flags.seconds)),
    () => measureSide(there, workload, Number(flags.seconds)),
  );
  const ratios = ratiosOf(sides, 'perSecond');
  const quartile = (part: number): string => ratios[Math.round((ratios.length - 1) * part)]!.toFixed(3);
  const ratio = median(ratios);
  const [ours, theirs] = [medianOf(sides.ours, 'perSecond'), medianOf(sides.theirs, 'perSecond')];
  const cpuUs = medianOf(sides.ours, 'cpuUs');
  const cpuRatio = median(ratiosOf(sides, 'cpuUs')).toFixed(3);
  printRow(name, ours, theirs, ratio.toFixed(3), `${quartile(0.25)}-${quartile(0.75)}`, cpuUs, cpuRatio);
  checkBar(`${name}: ratio`, ratio, ratio >= RATIO_LEAST, `at least ${RATIO_LEAST}`);
}

async function compareOnStore(store: string, other: string): Promise<void> {
  const { keys, places, remove } = await (store === 'postgres' ? seedDatabases : seedFolders)(other);
  const sides = [await startSide(places[0], THIS_CHECKOUT), await startSide(places[1], other)] as const;
  try {
    const names = flags.workload.split(',');
    for (const workload of buildWorkloads(keys).filter(({ name }) => names.some((start) => name.startsWith(start))))
      await compare(`${store}: ${workload.name}`, sides, workload);
  } finally {
    for (const { server } of sides) await server.stop();
    await remove();
  }
}

if (positionals.length !== 1) throw new Error('Give the folder of the other checkout, with its node_modules.');
printMachine();
console.log(`${CONNECTIONS} connections, medians of ${flags.rounds} rounds of ${flags.seconds} s`);
printRow('', 'here/s', 'there/s', 'ratio', 'middle half', 'CPU µs', 'CPU ratio');
for (const store of flags.store.split(',')) await compareOnStore(store, resolve(positionals[0]!));
reportBars();
