/**
 * `npm run bench`: the service on both stores beside a bare HTTP server and its peers, or beside a commit. bench/README.md
 * names the options and says how to read the figures. Ends with 1 when a bar was missed.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder, type Keys } from '../test/kit/service.ts';
import { compareAnswers, fetchText } from './answers.ts';
import { checkBars, checkComparison, checkGrowth } from './bars.ts';
import { keepResults, loadResults, writeDocuments } from './document.ts';
import { readOptions, type StoreName } from './options.ts';
import { measurePaging } from './paging.ts';
import { startPeers } from './peers/start.ts';
import { openPlaces, type Places } from './places.ts';
import { writeRecordFiles, type RecordFile } from './records.ts';
import { describeMachine, reportBars } from './report.ts';
import {
  BARE,
  concludeRows,
  concludeWorkload,
  printHeadings,
  type StoreResults,
  type WorkloadResult,
} from './results.ts';
import { measureRounds, takeTurns, type LoadedSide, type SideFigures } from './rounds.ts';
import { exportRecords, seed, type RowFigures } from './seed.ts';
import { checkOut, nameCheckout, startServer, startService, THIS_CHECKOUT } from './servers.ts';
import { ourDialect, type Side } from './side.ts';
import { measureStart } from './start.ts';
import { measureTenants } from './tenants.ts';
import { buildWorkloads, type Workload } from './workloads.ts';

const options = readOptions(process.argv.slice(2));
const { orders, rounds, workloads: wanted } = options;
/** By the names of its sides: this checkout, and the commit it is compared with. */
const checkouts: Readonly<Record<string, string>> =
  options.against === undefined
    ? { storeroom: THIS_CHECKOUT }
    : { here: THIS_CHECKOUT, there: checkOut(options.against) };

/** It imports the records: a commit may not read what a later one wrote. */
const LAST_CHECKOUT = Object.values(checkouts).at(-1)!;

/** An import takes longer than a round. */
const IMPORT_ROUNDS_MAX = 3;

const isWanted = ({ name }: Pick<Workload, 'name'>): boolean => wanted.includes(name.split(' ')[0] as 'W1');
const workloads = buildWorkloads(orders).filter(isWanted);
const peers = options.against !== undefined || workloads.every(({ isOwn }) => isOwn) ? [] : options.peers;

interface Seeded {
  readonly place: string;
  readonly keys: Keys;
}

/** W11 of every checkout in turns. What the last checkout imported last is for the other workloads. */
async function measureRows(places: Places, files: readonly RecordFile[], results: StoreResults): Promise<Seeded> {
  const seeded = new Map<string, Seeded>();
  const measure = async (checkout: string): Promise<RowFigures[]> => {
    const earlier = seeded.get(checkout);
    if (earlier) await places.drop(earlier.place);
    const place = await places.make();
    const { keys, imports } = await seed({ place, checkout }, files);
    seeded.set(checkout, { place, keys });
    return [...imports, ...(await exportRecords({ place, checkout })).exports];
  };
  console.log('W11 import and export by the command line, rows a second');
  const figures = await takeTurns(
    Math.min(rounds, IMPORT_ROUNDS_MAX),
    Object.values(checkouts).map((checkout) => () => measure(checkout)),
  );
  results.rows.push(...concludeRows(Object.keys(checkouts), figures));
  return seeded.get(LAST_CHECKOUT)!;
}

async function seedOnce(places: Places, files: readonly RecordFile[]): Promise<Seeded> {
  const place = await places.make();
  return { place, keys: (await seed({ place, checkout: LAST_CHECKOUT }, files)).keys };
}

async function measurePages(ours: readonly Side[], results: StoreResults): Promise<void> {
  const measure = async (side: Side): Promise<RowFigures[]> => [
    await measurePaging(side, 'customers'),
    await measurePaging(side, 'orders'),
  ];
  console.log('W10 pages of 1,000 records by cursor, records a second');
  const figures = await takeTurns(
    rounds,
    ours.map((side) => () => measure(side)),
  );
  results.rows.push(...concludeRows(Object.keys(checkouts), figures));
}

interface Copy {
  readonly name: string;
  readonly place: string;
  readonly checkout: string;
}

async function copyForEach(places: Places, place: string): Promise<Copy[]> {
  const copies: Copy[] = [];
  for (const [name, checkout] of Object.entries(checkouts))
    copies.push({ name, checkout, place: await places.copy(place, name) });
  return copies;
}

/** In the order of the copies, whichever of them starts first. */
async function startOurs(store: StoreName, copies: readonly Copy[], keys: Keys, first = 0): Promise<Side[]> {
  const sides: Side[] = [];
  for (let n = 0; n < copies.length; n++) {
    const index = (first + n) % copies.length;
    const { name, place, checkout } = copies[index]!;
    const server = await startService(place, checkout);
    const databaseUrl = store === 'postgres' ? place : undefined;
    sides[index] = { name, server, dialect: ourDialect(keys), databaseUrl };
  }
  return sides;
}

/** Answers every request with the bytes of an order and its lines. */
async function startBare(ours: Side): Promise<Side> {
  const answer = join(temporaryFolder(), 'answer');
  const [request] = buildWorkloads(orders)[0]!.requestsOf(ours.dialect);
  writeFileSync(answer, await fetchText(ours, request!));
  const server = await startServer([fileURLToPath(new URL('bare-http-server.ts', import.meta.url)), answer]);
  return { name: BARE, server, dialect: ours.dialect };
}

const load = (workload: Workload, sides: readonly Side[]): LoadedSide[] =>
  sides.map((side) => ({ side, requests: workload.requestsOf(side.dialect) }));

/** Compares reads before anything is written: the records that each side writes have different times. */
async function compareAll(ours: readonly Side[], others: readonly Side[]): Promise<void> {
  for (const workload of workloads.toSorted((a, b) => Number(Boolean(a.written)) - Number(Boolean(b.written)))) {
    const [first, ...rest] = load(workload, [...ours, ...(workload.isOwn ? [] : others)]);
    for (const other of rest) await compareAnswers(workload, first!, other);
  }
}

/** Two processes of one program differ by up to a fifth for as long as they live: `--starts` starts them again. */
async function measureLoad(
  start: (turn: number) => Promise<Side[]>,
  others: readonly Side[],
  bare: readonly Side[],
): Promise<WorkloadResult[]> {
  const results: WorkloadResult[] = [];
  const earlier = new Map<Workload, SideFigures[][]>();
  printHeadings();
  for (let turn = 1; turn <= options.starts; turn++) {
    const ours = await start(turn);
    if (turn === 1) await compareAll(ours, others);
    for (const workload of workloads) {
      const sides = load(workload, [...ours, ...(workload.isOwn ? [] : others), ...bare]);
      const found = await measureRounds(sides, { ...options, connections: workload.connections }, turn);
      const figures = found.map((ofSide, index) => [...(earlier.get(workload)?.[index] ?? []), ...ofSide]);
      earlier.set(workload, figures);
      const names = sides.map(({ side }) => side.name);
      if (turn === options.starts) results.push(concludeWorkload(workload, names, figures));
    }
  }
  return results;
}

async function measureStore(store: StoreName): Promise<StoreResults> {
  const results: StoreResults = {
    store,
    orders,
    commit: nameCheckout(),
    date: new Date().toISOString(),
    machine: describeMachine(),
    rounds,
    seconds: options.seconds,
    peers: {},
    workloads: [],
    rows: [],
  };
  console.log(`\n${store}, ${orders} orders; medians of ${rounds} rounds of ${options.seconds} s`);
  const places = await openPlaces(store);
  const running: Side[] = [];
  try {
    const files = writeRecordFiles(temporaryFolder(), orders);
    const imported = wanted.includes('W11') ? await measureRows(places, files, results) : undefined;
    if (wanted.includes('tenants')) await measureTenants(store, await places.make(), options);
    if (workloads.length === 0 && !wanted.includes('W10') && !wanted.includes('start')) return results;
    const { place, keys } = imported ?? (await seedOnce(places, files));
    const copies = await copyForEach(places, place);
    let ours = await startOurs(store, copies, keys);
    running.push(...ours);
    const startAgain = async (turn: number): Promise<Side[]> => {
      if (turn === 1) return ours;
      for (const { server } of ours) await server.stop();
      running.splice(0, ours.length);
      ours = await startOurs(store, copies, keys, turn);
      running.unshift(...ours);
      return ours;
    };
    const bare = options.against === undefined ? [await startBare(ours[0]!)] : [];
    running.push(...bare);
    const others = await startPeers(peers, store, places, place);
    running.push(...others);
    for (const { name, version } of others) results.peers[name] = version;
    await places.settle();
    results.workloads.push(...(await measureLoad(startAgain, others, bare)));
    if (wanted.includes('W10')) await measurePages(ours, results);
    if (wanted.includes('start') && options.against === undefined) {
      const [first] = buildWorkloads(orders)[0]!.requestsOf(ourDialect(keys));
      results.start = await measureStart(place, first!, rounds);
      const { startMs, idleMb } = results.start;
      console.log(`Start to the first answer: ${startMs.toFixed(0)} ms; idle: ${idleMb.toFixed(0)} MB`);
    }
  } finally {
    for (const { server } of running) await server.stop();
    await places.close();
  }
  return results;
}

console.log(describeMachine());
for (const store of options.stores) {
  const results = await measureStore(store);
  if (options.against === undefined) checkBars(results);
  else checkComparison(results);
  if (!options.isWhole) continue;
  keepResults(results);
  const all = loadResults();
  writeDocuments(all);
  checkGrowth(all.filter((one) => one.store === store));
}
reportBars();
