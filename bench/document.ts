/**
 * Keeps the results of whole runs in bench/results. Writes the tables of docs/performance.md and the short table of the
 * README from them.
 */
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatNumber } from './report.ts';
import { BARE, MAIN_ORDERS, shareOfBare, type SideResult, type StoreResults, type WorkloadResult } from './results.ts';
import { THIS_CHECKOUT } from './servers.ts';

const RESULTS = join(THIS_CHECKOUT, 'bench/results');
const DOCUMENT = join(THIS_CHECKOUT, 'docs/performance.md');
const README = join(THIS_CHECKOUT, 'README.md');
/** The workloads whose speed should not follow the size of the tables. */
const GROWING = ['W1', 'W2', 'W3', 'W4', 'W5', 'W6', 'W7', 'W8'];
const STORES = { sqlite: 'SQLite', postgres: 'PostgreSQL' };

export function keepResults(results: StoreResults): void {
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(join(RESULTS, `${results.store}-${results.orders}.json`), `${JSON.stringify(results, null, 1)}\n`);
}

/** The results with the fewest orders come first. */
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
  for (const store of Object.keys(STORES)) {
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

/** How many times as fast as the fastest peer each store is. */
function describeShort(mains: readonly StoreResults[]): string[] {
  const [first] = mains;
  const compared = first?.workloads.filter((one) => fastestPeer(one)) ?? [];
  const cellOf = ({ workloads }: StoreResults, name: string): string => {
    const peer = fastestPeer(workloads.find((one) => one.name === name) ?? { sides: [] });
    return peer ? `${formatNumber(peer.ratio.median)} × ${peer.name}` : '';
  };
  const titles = mains.map(({ store, orders }) => `${nameStore(store)}, ${orders.toLocaleString('en')} orders`);
  const rows = compared.map(({ name, title }) => [title, ...mains.map((main) => cellOf(main, name))]);
  return table(['', ...titles], rows);
}

const nameStore = (store: string): string => STORES[store as keyof typeof STORES];

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return [row(headings), `|${'---|'.repeat(headings.length)}`, ...rows.map(row)];
}

const speedOf = ({ perSecond, cpuUs }: SideResult): string => `${formatNumber(perSecond)} (${formatNumber(cpuUs)})`;

function describeLoad({ workloads, peers, machine, commit, date, orders, rounds, seconds }: StoreResults): string[] {
  const names = [BARE, ...Object.keys(peers)];
  const headings = ['', 'Storeroom', 'p50, p99 ms', 'memory MB', ...names, 'to bare', 'to the fastest peer'];
  const rows = workloads.map(({ name, title, sides }) => {
    const ours = sides[0]!;
    const find = (side: string) => sides.find((one) => one.name === side);
    const peer = fastestPeer({ sides });
    return [
      `${name} ${title}`,
      `**${speedOf(ours)}**`,
      `${formatNumber(ours.p50Ms)}, ${formatNumber(ours.p99Ms)}`,
      ours.memoryMb.toFixed(0),
      ...names.map((side) => (find(side) ? speedOf(find(side)!) : '')),
      ratio(find(BARE)),
      peer ? `**${ratio(peer)}**` : '',
    ];
  });
  const versions = Object.entries(peers).map(([name, version]) => `${name} ${version}`);
  return [
    `${orders.toLocaleString('en')} orders, commit ${commit}, ${date.slice(0, 10)}; medians of ${rounds} rounds of ${seconds} s. ${machine}.`,
    `Requests a second, in brackets CPU µs a request. ${versions.join(', ')}.`,
    '',
    ...table(headings, rows),
  ];
}

const ratio = (side: SideResult | undefined): string =>
  side === undefined
    ? ''
    : `${formatNumber(side.ratio.median)} (${formatNumber(side.ratio.low)}–${formatNumber(side.ratio.high)})`;

const fastestPeer = ({ sides }: Pick<WorkloadResult, 'sides'>): SideResult | undefined =>
  sides
    .slice(1)
    .filter(({ name }) => name !== BARE)
    .toSorted((a, b) => b.perSecond - a.perSecond)[0];

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

function describeGrowth(all: readonly StoreResults[]): string[] {
  const rows = GROWING.map((name) => {
    const shares = all.map((results) => shareOfBare(results, name)).filter((share) => share !== undefined);
    const left = shares.length > 1 ? formatNumber(shares.at(-1)! / shares[0]!) : '';
    return [name, ...all.map((results) => describePoint(results, name)), left];
  });
  const starts = all.map(({ start }) => (start ? `${start.startMs.toFixed(0)} ms, ${start.idleMb.toFixed(0)} MB` : ''));
  return table(
    ['orders', ...all.map(({ orders }) => orders.toLocaleString('en')), 'last to first'],
    [...rows, ['start, idle memory', ...starts, '']],
  );
}

/** Requests a second, and the share of the bare server's. */
function describePoint(results: StoreResults, name: string): string {
  const ours = results.workloads.find((one) => one.name === name)?.sides[0];
  const share = shareOfBare(results, name);
  return ours && share !== undefined ? `${formatNumber(ours.perSecond)} (${formatNumber(share)})` : '';
}
