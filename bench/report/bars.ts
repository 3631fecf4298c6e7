/**
 * The bars: the minimum or maximum of each figure at 100,000 orders, and of comparisons with a commit.
 */
import { checkLeast, checkMost } from './report.ts';
import { BARE, fastestPeer, findSide, MAIN_ORDERS, shareOfBare, type StoreResults } from './results.ts';

const BESIDE_LEAST = 0.97;
/** Minimum ratio of our speed to the fastest peer's on the same store. */
const PEER_LEAST: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  sqlite: { W1: 6, W2: 3, W3: 3, W4: 30, W5: 2.5, W6: 2.5, W7: 4 },
  postgres: { W1: 4, W2: 1.5, W3: 2, W4: 10, W5: 1.5, W6: 1.5, W7: 1.5 },
};
/** Minimum ratio of our speed to the bare server's, on the embedded store. */
const BARE_LEAST: Readonly<Record<string, number>> = { W1: 0.45, 'W1 hot': 0.65, W8: 0.25 };
const P99_MS_MAX = 5;
const LARGE_ORDER_MS_MAX = 2;
const ROWS_LEAST: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  sqlite: {
    'page through customers': 100_000,
    'page through orders': 100_000,
    'import customers': 50_000,
    'import lines of sales orders': 100_000,
    'import lines of invoices': 100_000,
    'export customers': 300_000,
    'export orders': 300_000,
    'export lines': 300_000,
  },
  postgres: {
    'import customers': 40_000,
    'import lines of sales orders': 40_000,
    'import lines of invoices': 40_000,
  },
};
const COMMAND_MB_MAX = 300;
const START_MS_MAX = 500;
const IDLE_MB_MAX = 120;
const LOADED_MB_MAX = 350;

/** Minimum ratio of the speed with the most orders to the speed with the fewest. */
export const GROWN_LEAST: Readonly<Record<string, number>> = {
  W1: 0.85,
  W2: 0.85,
  W3: 0.7,
  W4: 0.7,
  W5: 0.85,
  W6: 0.85,
  W7: 0.85,
  W8: 0.85,
};

export function checkBars({ store, orders, workloads, rows, start }: StoreResults): void {
  for (const { name, sides } of workloads) {
    const [ours] = sides;
    checkMost(`${store} ${name}: memory in MB`, ours!.memoryMb, LOADED_MB_MAX);
    if (orders !== MAIN_ORDERS) continue;
    const fastest = fastestPeer(sides);
    const least = PEER_LEAST[store]?.[name];
    if (fastest && least) checkLeast(`${store} ${name}: times ${fastest.name}`, fastest.ratio.median, least);
    if (name === 'W9') checkMost(`${store} W9: p50 in ms`, ours!.p50Ms, LARGE_ORDER_MS_MAX);
    const ofBare = BARE_LEAST[name];
    if (store !== 'sqlite' || ofBare === undefined) continue;
    checkLeast(`${store} ${name}: of bare`, findSide(sides, BARE)!.ratio.median, ofBare);
    if (name.startsWith('W1')) checkMost(`${store} ${name}: p99 in ms`, ours!.p99Ms, P99_MS_MAX);
  }
  for (const { name, rowsPerSecond, memoryMb } of rows) {
    if (orders === MAIN_ORDERS)
      checkLeast(`${store} ${name}: rows a second`, rowsPerSecond, ROWS_LEAST[store]?.[name] ?? 0);
    if (!name.startsWith('page')) checkMost(`${store} ${name}: memory in MB`, memoryMb, COMMAND_MB_MAX);
  }
  if (start === undefined) return;
  checkMost(`${store}: start in ms`, start.startMs, START_MS_MAX);
  checkMost(`${store}: idle memory in MB`, start.idleMb, IDLE_MB_MAX);
}

/** Checks the results of one store. Those with the fewest orders come first. */
export function checkGrowth(results: readonly StoreResults[]): void {
  const [first, last] = [results[0]!, results.at(-1)!];
  for (const [name, least] of Object.entries(GROWN_LEAST)) {
    const [before, after] = [shareOfBare(first, name), shareOfBare(last, name)];
    if (before && after) checkLeast(`${last.store} ${name}: speed at ${last.orders} orders`, after / before, least);
  }
}

export function checkComparison({ store, workloads }: StoreResults): void {
  for (const { name, sides } of workloads)
    checkLeast(`${store} ${name}: times there`, sides[1]!.ratio.median, BESIDE_LEAST);
}
