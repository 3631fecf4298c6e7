/**
 * Begin here. `npm run bench` compares the service on both stores with a bare HTTP server and with peers, or with a
 * commit. bench/README.md has the options and explains the figures. Exits with 1 if a bar is missed.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder, type Keys } from '../test/kit/service.ts';
import { measurePaging } from './load/paging.ts';
import { measureRounds, takeTurns, type LoadedSide, type SideFigures } from './load/rounds.ts';
import { measureStart } from './load/start.ts';
import { measureTenants } from './load/tenants.ts';
import { readOptions } from './options.ts';
import { startPeers } from './peers/peers.ts';
import { writeRecordFiles } from './records/records.ts';
import { exportRecords, seed, type RowFigures } from './records/seed.ts';
import { buildWorkloads, type Workload } from './records/workloads.ts';
import { checkBars, checkComparison, checkGrowth } from './report/bars.ts';
import { keepResults, loadResults, writeDocuments } from './report/document.ts';
import { describeMachine, reportBars } from './report/report.ts';
import { BARE, concludeRows, concludeWorkload, printHeadings, type StoreResults } from './report/results.ts';
import { compareAnswers } from './sides/answers.ts';
import { fetchText } from './sides/calls.ts';
import { openPlaces, type Places, type StoreName } from './sides/places.ts';
import { checkOut, nameCheckout, startServer, startService, THIS_CHECKOUT } from './sides/servers.ts';
import { ourDialect, type Side } from './sides/side.ts';

const options = readOptions(process.argv.slice(2));
const { orders, rounds, workloads: wanted } = options;
const isComparison = options.against !== undefined;
/** The folders of this checkout and of the commit that it is compared with, if any, by the name of the side. */
const checkouts: Readonly<Record<string, string>> =
  options.against === undefined
    ? { storeroom: THIS_CHECKOUT }
    : { here: THIS_CHECKOUT, there: checkOut(options.against) };
const names = Object.keys(checkouts);

/** Maximum rounds of imports, because an import takes longer than another round. */
const IMPORT_ROUNDS_MAX = 3;

const workloads = buildWorkloads(orders).filter(({ name }) => wanted.includes(name.split(' ')[0] as 'W1'));
const peers = isComparison || workloads.every(({ isOwn }) => isOwn) ? [] : options.peers;
const [firstWorkload] = buildWorkloads(orders) as [Workload];

/** Starts the bare server, which answers every request with the bytes of an order and its lines. */
async function startBare({ server: { origin }, dialect }: Side): Promise<Side> {
  const answer = join(temporaryFolder(), 'answer');
  writeFileSync(answer, await fetchText(origin, firstWorkload.requestsOf(dialect)[0]!));
  const server = await startServer([fileURLToPath(new URL('sides/bare-http-server.ts', import.meta.url)), answer]);
  return { name: BARE, server, dialect };
}

const load = (workload: Workload, sides: readonly Side[]): LoadedSide[] =>
  sides
    .filter(({ name }) => !workload.isOwn || name === BARE || names.includes(name))
    .map((side) => ({ side, requests: workload.requestsOf(side.dialect) }));

/** Compares the answers of all sides, reads first, because the records that each side writes have different times. */
async function compareAll(sides: readonly Side[]): Promise<void> {
  for (const workload of workloads.toSorted((a, b) => Number(Boolean(a.written)) - Number(Boolean(b.written)))) {
    const [first, ...rest] = load(workload, sides);
    for (const other of rest) await compareAnswers(workload, first!, other, isComparison);
  }
}

/** A run on one store. */
interface Run {
  readonly store: StoreName;
  readonly places: Places;
  readonly results: StoreResults;
  /** Every side that was started, to be stopped at the end. */
  readonly started: Side[];
}

interface Seeded {
  readonly place: string;
  readonly keys: Keys;
}

/** The records of each checkout, by its name: a commit may be unable to read what another one wrote. */
type SeededByName = Readonly<Record<string, Seeded>>;

/** Measures the rows per second that each checkout reads or writes. */
async function measureRows(
  title: string,
  turns: number,
  measures: readonly (() => Promise<RowFigures[]>)[],
  { results }: Run,
): Promise<void> {
  console.log(`${title}, a second`);
  results.rows.push(...concludeRows(names, await takeTurns(turns, measures)));
}

/** Runs W11 of every checkout, or one import. Returns the last import of each, for the other workloads. */
async function importRecords(run: Run): Promise<SeededByName> {
  const files = writeRecordFiles(temporaryFolder(), orders);
  const seeded: Record<string, Seeded> = {};
  const measure = async (name: string, checkout: string): Promise<RowFigures[]> => {
    const place = await run.places.make();
    const { keys, imports } = await seed({ place, checkout }, files);
    const exports = wanted.includes('W11') ? (await exportRecords({ place, checkout })).exports : [];
    const old = seeded[name];
    seeded[name] = { place, keys };
    if (old) await run.places.drop(old.place);
    return [...imports, ...exports];
  };
  const measures = Object.entries(checkouts).map(
    ([name, checkout]) =>
      () =>
        measure(name, checkout),
  );
  const turns = Math.min(rounds, IMPORT_ROUNDS_MAX);
  if (wanted.includes('W11'))
    await measureRows('W11 import and export by the command line, rows', turns, measures, run);
  else await takeTurns(1, measures);
  return seeded;
}

/**
 * Measures W1 to W10. Two processes of the same program differ in speed by up to a fifth as long as they run, so
 * `--starts` measures several.
 */
async function measureLoad(run: Run, seeded: SeededByName): Promise<void> {
  const { store, places, results, started } = run;
  const starts: (() => Promise<Side>)[] = [];
  const [{ place: firstPlace }] = Object.values(seeded) as [Seeded];
  for (const [name, checkout] of Object.entries(checkouts)) {
    const { place, keys } = seeded[name]!;
    const copy = await places.copy(place, name);
    const databaseUrl = store === 'postgres' ? copy : undefined;
    starts.push(async () => ({
      name,
      server: await startService(copy, checkout),
      dialect: ourDialect(keys),
      databaseUrl,
    }));
  }
  const others: Side[] = [];
  const figures = new Map<Workload, SideFigures[][]>();
  printHeadings();
  for (let turn = 1; turn <= options.starts; turn++) {
    const isLast = turn === options.starts;
    const ours = (await takeTurns(1, starts, turn)).flat();
    started.push(...ours);
    if (turn === 1) {
      const versioned = await startPeers(peers, store, places, firstPlace);
      for (const { name, version } of versioned) results.peers[name] = version;
      others.push(...versioned, ...(isComparison ? [] : [await startBare(ours[0]!)]));
      started.push(...others);
      await places.settle();
      await compareAll([...ours, ...versioned]);
    }
    for (const workload of workloads) {
      const sides = load(workload, [...ours, ...others]);
      const found = await measureRounds(sides, { ...options, connections: workload.connections }, turn);
      const all = found.map((ofSide, index) => [...(figures.get(workload)?.[index] ?? []), ...ofSide]);
      figures.set(workload, all);
      const sideNames = sides.map(({ side }) => side.name);
      if (isLast) results.workloads.push(concludeWorkload(workload, sideNames, all));
    }
    const pages = ours.map((side) => async () => [
      await measurePaging(side, 'customers'),
      await measurePaging(side, 'orders'),
    ]);
    if (isLast && wanted.includes('W10'))
      await measureRows('W10 pages of 1,000 records by cursor, records', rounds, pages, run);
    for (const { server } of ours) await server.stop();
  }
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
  const run: Run = { store, places, results, started: [] };
  try {
    if (wanted.includes('tenants')) await measureTenants(store, await places.make(), options);
    if (wanted.every((part) => part === 'tenants')) return results;
    const seeded = await importRecords(run);
    if (workloads.length > 0 || wanted.includes('W10')) await measureLoad(run, seeded);
    if (wanted.includes('start') && !isComparison) {
      const { place, keys } = seeded[names[0]!]!;
      const [request] = firstWorkload.requestsOf(ourDialect(keys));
      const { startMs, idleMb } = (results.start = await measureStart(place, request!, rounds));
      console.log(`Start to the first answer: ${startMs.toFixed(0)} ms; idle: ${idleMb.toFixed(0)} MB`);
    }
  } finally {
    for (const { server } of run.started) await server.stop();
    await places.close();
  }
  return results;
}

console.log(describeMachine());
for (const store of options.stores) {
  const results = await measureStore(store);
  if (isComparison) checkComparison(results);
  else checkBars(results);
  if (!options.isWhole) continue;
  keepResults(results);
  const all = loadResults();
  writeDocuments(all);
  checkGrowth(all.filter((one) => one.store === store));
}
reportBars();
