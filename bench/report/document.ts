/**
 * Keeps the results of whole runs in bench/results. Writes the tables of bench/figures.md and the short table of the
 * README from them. docs/performance.md names some of their figures.
 */
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GROWN_LEAST } from './bars.ts';
import { formatNumber, formatRatio, table } from './report.ts';
import {
  BARE,
  fastestPeer,
  findSide,
  MAIN_ORDERS,
  shareOfBare,
  sidesOf,
  type SideResult,
  type StoreResults,
} from './results.ts';
import { THIS_CHECKOUT } from '../sides/servers.ts';

const RESULTS = join(THIS_CHECKOUT, 'bench/results');
const DOCUMENT = join(THIS_CHECKOUT, 'bench/figures.md');
const README = join(THIS_CHECKOUT, 'README.md');
/** Workloads in which the sides cannot use the same indexes, by store and name, and why: they have no ratio. */
const NOT_COMPARED: Readonly<Record<string, string>> = {
  'sqlite W4': 'not compared: on SQLite, the peers have no substring index',
};
const STORES: Readonly<Record<string, string>> = { sqlite: 'SQLite', postgres: 'PostgreSQL' };

export function keepResults(results: StoreResults): void {
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(join(RESULTS, `${results.store}-${results.orders}.json`), `${JSON.stringify(results, null, 1)}\n`);
}

/** Loads all kept results. Those with the fewest orders come first. */
export const loadResults = (): StoreResults[] =>
  readdirSync(RESULTS)
    .map((name) => JSON.parse(readFileSync(join(RESULTS, name), 'utf8')) as StoreResults)
    .toSorted((a, b) => a.orders - b.orders);

/** Replaces the lines between `<!-- NAME -->` and `<!-- /NAME -->`, for each name. */
function putParts(file: string, parts: Readonly<Record<string, readonly string[]>>): void {
  let text = readFileSync(file, 'utf8');
  for (const [name, lines] of Object.entries(parts)) {
    const [opening, closing] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
    const [start, end] = [text.indexOf(opening), text.indexOf(closing)];
    if (start === -1 || end === -1) throw new Error(`${file} has no part '${name}'.`);
    text = `${text.slice(0, start)}${opening}\n${lines.join('\n')}\n${text.slice(end)}`;
  }
  writeFileSync(file, text);
}

export function writeDocuments(all: readonly StoreResults[]): void {
  const mains: StoreResults[] = [];
  for (const store in STORES) {
    const ofStore = all.filter((one) => one.store === store);
    const main = ofStore.find(({ orders }) => orders === MAIN_ORDERS) ?? ofStore.at(-1);
    if (main === undefined) continue;
    mains.push(main);
    putParts(DOCUMENT, {
      [`${store} load`]: describeLoad(main),
      [`${store} rows`]: describeRows(main),
      [`${store} growth`]: describeGrowth(ofStore),
    });
  }
  putParts(README, { speed: describeShort(mains) });
}

/** Returns a table that shows how many times as fast as the faster peer each store is. */
function describeShort(mains: readonly StoreResults[]): string[] {
  const compared = mains[0]?.workloads.filter(({ sides }) => fastestPeer(sides)) ?? [];
  const cellOf = (main: StoreResults, name: string): string => {
    const reason = NOT_COMPARED[`${main.store} ${name}`];
    if (reason !== undefined) return reason;
    const peer = fastestPeer(sidesOf(main, name));
    return peer ? `${formatNumber(peer.ratio.median)} × ${peer.name}` : '';
  };
  const titles = mains.map(({ store, orders }) => `${STORES[store]}, ${orders.toLocaleString('en')} orders`);
  const rows = compared.map(({ name, title }) => [title, ...mains.map((main) => cellOf(main, name))]);
  return table(['', ...titles], rows);
}

/** Returns the cell of a side. The cell is empty if the side was not measured. */
const cell = (side: SideResult | undefined, describe: (side: SideResult) => string): string =>
  side === undefined ? '' : describe(side);
const speedOf = ({ perSecond, cpuUs }: SideResult): string => `${formatNumber(perSecond)} (${formatNumber(cpuUs)})`;
const ratioOf = ({ ratio }: SideResult): string => formatRatio(ratio).join(' (') + ')';

function describeLoad({
  store,
  workloads,
  peers,
  machine,
  commit,
  date,
  orders,
  rounds,
  seconds,
}: StoreResults): string[] {
  const names = [BARE, ...Object.keys(peers)];
  const headings = ['', 'Storeroom', 'p50, p99 ms', 'memory MB', ...names, 'to bare', 'to the faster peer'];
  const rows = workloads.map(({ name, title, sides }) => {
    const [ours] = sides as [SideResult];
    return [
      `${name} ${title}`,
      `**${speedOf(ours)}**`,
      `${formatNumber(ours.p50Ms)}, ${formatNumber(ours.p99Ms)}`,
      ours.memoryMb.toFixed(0),
      ...names.map((side) => cell(findSide(sides, side), speedOf)),
      cell(findSide(sides, BARE), ratioOf),
      NOT_COMPARED[`${store} ${name}`] ?? cell(fastestPeer(sides), (peer) => `**${ratioOf(peer)}**`),
    ];
  });
  const versions = Object.entries(peers).map((peer) => peer.join(' '));
  return [
    `${orders.toLocaleString('en')} orders, commit ${commit}, ${date.slice(0, 10)}; medians of ${rounds} rounds of ${seconds} s. ${machine}.`,
    `Requests a second, in brackets CPU µs a request. ${versions.join(', ')}.`,
    '',
    ...table(headings, rows),
  ];
}

function describeRows({ rows, start }: StoreResults): string[] {
  const figures = rows.map(({ name, rows: count, rowsPerSecond, memoryMb }) => [
    name,
    count.toLocaleString('en'),
    formatNumber(rowsPerSecond),
    memoryMb.toFixed(0),
  ]);
  const starts = start
    ? ['', `Start to the first answer: ${start.startMs.toFixed(0)} ms. Idle: ${start.idleMb.toFixed(0)} MB.`]
    : [];
  return [...table(['', 'rows', 'rows a second', 'memory MB'], figures), ...starts];
}

/**
 * Returns a table with requests per second and, in brackets, their share of the bare server's. It is empty until a
 * store was measured with two numbers of orders.
 */
function describeGrowth(all: readonly StoreResults[]): string[] {
  if (all.length < 2) return [];
  const rows = Object.keys(GROWN_LEAST).map((name) => {
    const points = all.map((results) => ({ ours: sidesOf(results, name)[0], share: shareOfBare(results, name) }));
    const shares = points.flatMap(({ share }) => share ?? []);
    const left = shares.length > 1 ? formatNumber(shares.at(-1)! / shares[0]!) : '';
    const cells = points.map(({ ours, share }) =>
      ours && share !== undefined ? `${formatNumber(ours.perSecond)} (${formatNumber(share)})` : '',
    );
    return [name, ...cells, left];
  });
  const starts = all.map(({ start }) => (start ? `${start.startMs.toFixed(0)} ms, ${start.idleMb.toFixed(0)} MB` : ''));
  return table(
    ['orders', ...all.map(({ orders }) => orders.toLocaleString('en')), 'last ÷ first'],
    [...rows, ['start, idle memory', ...starts, '']],
  );
}
