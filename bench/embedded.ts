/**
 * `npm run bench`: the service with its embedded store beside a bare HTTP server, how fast it starts and imports, and
 * many tenants called in turn. Ends with 1 when a bar was missed. bench/README.md names the flags and says how to read
 * the figures.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { temporaryFolder, type Keys } from '../test/kit/service.ts';
import { measureImport } from './import-speed.ts';
import { load, type LoadRequest } from './load-generator.ts';
import { checkBar, measureInTurns, median, medianOf, printMachine, printRow, ratiosOf, reportBars } from './report.ts';
import { ORDERS, seed } from './seed-data.ts';
import { startServer, startService } from './servers.ts';
import { measureTenants } from './tenants.ts';
import { buildWorkloads, type Workload } from './workloads.ts';

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    keep: { type: 'string' },
  },
});
const rounds = Number(flags.rounds);
const seconds = Number(flags.seconds);
const CONNECTIONS = 64;
const BARS = {
  ratio: 0.3,
  loadedP99Ms: 10,
  queryP50Ms: 2,
  startMs: 1000,
  idleMb: 150,
  importRows: 50_000,
  importMb: 300,
};
const IDLE_MS = 3000;

const isWanted = (name: string): boolean => name.startsWith(flags.only);

async function measureWorkload(ours: string, bare: string, { name, requests }: Workload): Promise<void> {
  const measure = (origin: string) => load(origin, requests, { connections: CONNECTIONS, seconds });
  await load(ours, requests, { connections: CONNECTIONS, seconds: 1 });
  const sides = await measureInTurns(
    rounds,
    () => measure(ours),
    () => measure(bare),
  );
  const ratio = median(ratiosOf(sides, 'perSecond'));
  const p99 = medianOf(sides.ours, 'p99Ms');
  const speeds = [medianOf(sides.ours, 'perSecond'), medianOf(sides.theirs, 'perSecond')];
  printRow(name, ...speeds, ratio, medianOf(sides.ours, 'p50Ms'), p99);
  if (!name.startsWith('W1')) return;
  checkBar(`${name}: ratio`, ratio, ratio >= BARS.ratio, `at least ${BARS.ratio}`);
  checkBar(`${name}: p99 in ms`, p99, p99 < BARS.loadedP99Ms, `under ${BARS.loadedP99Ms}`);
}

async function measureUnderLoad(folder: string, workloads: readonly Workload[], first: LoadRequest): Promise<void> {
  const service = await startService(folder);
  const answer = join(temporaryFolder(), 'answer');
  writeFileSync(answer, await fetchAnswer(service.origin, first));
  const bare = await startServer([fileURLToPath(new URL('bare-http-server.ts', import.meta.url)), answer]);
  console.log(`\n${CONNECTIONS} connections, median of ${rounds} rounds of ${seconds} s`);
  printRow('', 'ours/s', 'bare/s', 'ratio', 'p50 ms', 'p99 ms');
  for (const workload of workloads) await measureWorkload(service.origin, bare.origin, workload);
  await bare.stop();
  const queries = workloads.filter(({ name }) => /^W[123]/.test(name));
  if (queries.length > 0) console.log('\n1 connection: time of one call');
  for (const { name, requests } of queries) {
    const { perSecond, p50Ms, p99Ms } = await load(service.origin, requests, { connections: 1, seconds });
    printRow(name, perSecond, '', '', p50Ms, p99Ms);
    checkBar(`${name} at 1 connection: p50 in ms`, p50Ms, p50Ms <= BARS.queryP50Ms, `at most ${BARS.queryP50Ms}`);
  }
  await service.stop();
}

async function fetchAnswer(origin: string, { method, path, headers }: LoadRequest): Promise<string> {
  const answer = await fetch(origin + path, { method, headers });
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  return answer.text();
}

/** From the start of a process, after a kill -9, to the first order answered, and the memory it holds when idle. */
async function measureStart(folder: string, first: LoadRequest): Promise<void> {
  const times: number[] = [];
  let idleMb = 0;
  for (let round = 0; round < rounds; round++) {
    const begunAt = performance.now();
    const service = await startService(folder);
    await fetchAnswer(service.origin, first);
    times.push(performance.now() - begunAt);
    if (round === 0) {
      await sleep(IDLE_MS);
      idleMb = Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))![1]) / 1024;
    }
    await service.stop('SIGKILL');
  }
  const startMs = median(times);
  console.log(`\nStart to first answer on ${ORDERS} orders: ${startMs.toFixed(0)} ms; idle: ${idleMb.toFixed(0)} MB`);
  checkBar('Start in ms', startMs, startMs < BARS.startMs, `under ${BARS.startMs}`);
  checkBar('Idle memory in MB', idleMb, idleMb < BARS.idleMb, `under ${BARS.idleMb}`);
}

async function reportImport(): Promise<void> {
  const figures = await measureImport(rounds);
  const rowsPerSecond = medianOf(figures, 'rowsPerSecond');
  const peakMb = Math.max(...figures.map((one) => one.peakMb));
  console.log(`\nImport of 25,281 lines: ${rowsPerSecond.toFixed(0)} rows a second, at most ${peakMb.toFixed(0)} MB`);
  checkBar('Rows a second', rowsPerSecond, rowsPerSecond >= BARS.importRows, `at least ${BARS.importRows}`);
  checkBar('Import memory in MB', peakMb, peakMb < BARS.importMb, `under ${BARS.importMb}`);
}

/** Seeds the folder. With --keep, a folder that is seeded already is used again. */
async function openData(): Promise<{ folder: string; keys: Keys }> {
  const folder = flags.keep ?? temporaryFolder();
  const keyFile = join(folder, 'bench-keys.json');
  mkdirSync(folder, { recursive: true });
  if (!existsSync(keyFile)) {
    const begunAt = performance.now();
    writeFileSync(keyFile, JSON.stringify(await seed(folder)));
    console.log(`Seeded in ${((performance.now() - begunAt) / 1000).toFixed(1)} s.`);
  }
  return { folder, keys: JSON.parse(readFileSync(keyFile, 'utf8')) as Keys };
}

printMachine();
if (isWanted('import')) await reportImport();
if (isWanted('tenants')) await measureTenants(rounds, seconds);
if (!['import', 'tenants'].includes(flags.only)) {
  const { folder, keys } = await openData();
  const workloads = buildWorkloads(keys);
  const wanted = workloads.filter(({ name }) => isWanted(name));
  const first = workloads[0]!.requests[0]!;
  if (isWanted('start')) await measureStart(folder, first);
  if (wanted.length > 0) await measureUnderLoad(folder, wanted, first);
}
reportBars();
