/**
 * `npm run bench`: seeds a folder, starts the service and the yardstick (bare.ts) each in its own process, and loads them in turns. Prints a table, says
 * which of the project's bars were met, and ends with 1 when one was not. bench/README.md says how to read it.
 * Flags: --only W1 (names beginning with it; also `start`, `import`), --rounds N, --seconds S, --keep FOLDER (seed there once, use it again).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { Service, temporaryFolder, type Keys } from '../test/kit/service.ts';
import { measureImport } from './import.ts';
import { load, loader, type Figures, type LoadRequest } from './load.ts';
import { makeWorkloads, ORDERS, seed, type Workload } from './seed.ts';

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
const missed: string[] = [];

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
const middle = (figures: readonly Figures[], name: keyof Figures): number => median(figures.map((one) => one[name]));
const wanted = (name: string): boolean => name.startsWith(flags.only);

function check(name: string, value: number, isMet: boolean, bar: string): void {
  if (!isMet) missed.push(`${name} is ${value.toFixed(2)}, and should be ${bar}`);
}

function print(cells: readonly (string | number)[]): void {
  const [name, ...rest] = cells.map((cell) => (typeof cell === 'number' ? cell.toFixed(cell < 100 ? 2 : 0) : cell));
  console.log([name!.padEnd(28), ...rest.map((cell) => cell.padStart(10))].join(''));
}

async function startBare(bytes: string): Promise<{ origin: string; stop: () => void }> {
  const file = join(temporaryFolder(), 'answer');
  writeFileSync(file, bytes);
  const child = spawn(process.execPath, [fileURLToPath(new URL('bare.ts', import.meta.url)), file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  return { origin: line.trim(), stop: () => child.kill() };
}

/** Rounds of yardstick and service in turns, so that whatever else the machine does falls on both. */
async function measureWorkload(
  service: Service,
  bareOrigin: string,
  yardstick: LoadRequest[],
  { name, requests }: Workload,
): Promise<void> {
  const bare: Figures[] = [];
  const ours: Figures[] = [];
  await load(service.origin, requests, { connections: CONNECTIONS, seconds: 1 });
  for (let round = 0; round < rounds; round++) {
    bare.push(await load(bareOrigin, yardstick, { connections: CONNECTIONS, seconds }));
    ours.push(await load(service.origin, requests, { connections: CONNECTIONS, seconds }));
  }
  const ratio = median(ours.map(({ perSecond }, round) => perSecond / bare[round]!.perSecond));
  const p99 = middle(ours, 'p99Ms');
  print([name, middle(ours, 'perSecond'), middle(bare, 'perSecond'), ratio, middle(ours, 'p50Ms'), p99]);
  if (!name.startsWith('W1')) return;
  check(`${name}: ratio`, ratio, ratio >= BARS.ratio, `at least ${BARS.ratio}`);
  check(`${name}: p99 in ms`, p99, p99 < BARS.loadedP99Ms, `under ${BARS.loadedP99Ms}`);
}

async function measureUnderLoad(folder: string, workloads: readonly Workload[]): Promise<void> {
  const service = await Service.start({ dataFolder: folder });
  const yardstick = workloads[0]!.requests;
  const bare = await startBare(await answerOf(service.origin, yardstick[0]!));
  try {
    console.log(`\n${CONNECTIONS} connections, median of ${rounds} rounds of ${seconds} s`);
    print(['', 'ours/s', 'bare/s', 'ratio', 'p50 ms', 'p99 ms']);
    for (const workload of workloads.filter(({ name }) => wanted(name)))
      await measureWorkload(service, bare.origin, yardstick, workload);
    const queries = workloads.filter(({ name }) => /^W[123]/.test(name) && wanted(name));
    if (queries.length > 0) console.log('\n1 connection: time of one call');
    for (const { name, requests } of queries) {
      const { perSecond, p50Ms, p99Ms } = await load(service.origin, requests, { connections: 1, seconds });
      print([name, perSecond, '', '', p50Ms, p99Ms]);
      check(`${name} at 1 connection: p50 in ms`, p50Ms, p50Ms <= BARS.queryP50Ms, `at most ${BARS.queryP50Ms}`);
    }
  } finally {
    bare.stop();
    await service.stop();
  }
}

async function answerOf(origin: string, { method, path, headers }: LoadRequest): Promise<string> {
  const answer = await fetch(origin + path, { method, headers });
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  return answer.text();
}

/** From the start of the process to the first order answered, and what it holds in memory when nobody calls. */
async function measureStart(folder: string, first: LoadRequest): Promise<void> {
  const times: number[] = [];
  let idleMb = 0;
  for (let round = 0; round < rounds; round++) {
    const begunAt = performance.now();
    const service = await Service.start({ dataFolder: folder });
    await answerOf(service.origin, first);
    times.push(performance.now() - begunAt);
    if (round === 0) {
      await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
      idleMb = Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))![1]) / 1024;
    }
    await service.stop();
  }
  const startMs = median(times);
  console.log(
    `\nStart to first answer on ${ORDERS} orders: ${startMs.toFixed(0)} ms; resident when idle: ${idleMb.toFixed(0)} MB`,
  );
  check('Start in ms', startMs, startMs < BARS.startMs, `under ${BARS.startMs}`);
  check('Idle memory in MB', idleMb, idleMb < BARS.idleMb, `under ${BARS.idleMb}`);
}

async function reportImport(): Promise<void> {
  const figures = await measureImport(rounds);
  const rowsPerSecond = median(figures.map((one) => one.rowsPerSecond));
  const peakMb = Math.max(...figures.map((one) => one.peakMb));
  console.log(
    `\nImport of 25,281 order lines: ${rowsPerSecond.toFixed(0)} rows a second, at most ${peakMb.toFixed(0)} MB resident`,
  );
  check('Rows a second', rowsPerSecond, rowsPerSecond >= BARS.importRows, `at least ${BARS.importRows}`);
  check('Import memory in MB', peakMb, peakMb < BARS.importMb, `under ${BARS.importMb}`);
}

/** The seeded folder; with --keep it is used again. */
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

console.log(`Node ${process.version}, ${cpus()[0]?.model}, ${availableParallelism()} cores, load by ${loader}`);
if (wanted('import')) await reportImport();
if (flags.only !== 'import') {
  const { folder, keys } = await openData();
  const workloads = makeWorkloads(keys);
  if (wanted('start')) await measureStart(folder, workloads[0]!.requests[0]!);
  if (workloads.some(({ name }) => wanted(name))) await measureUnderLoad(folder, workloads);
}
for (const line of missed) console.log(`MISSED: ${line}.`);
if (missed.length === 0) console.log('\nNo bar was missed.');
process.exitCode = missed.length === 0 ? 0 : 1;
