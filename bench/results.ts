/**
 * The results of a run: medians of the rounds of each side, and how many times ours is as fast, round by round.
 */
import { formatRatio, medianOf, printRow, ratioOf, type Ratio } from './report.ts';
import type { SideFigures } from './rounds.ts';
import type { RowFigures } from './seed.ts';
import type { StartFigures } from './start.ts';

export interface SideResult extends SideFigures {
  readonly name: string;
  /** Requests a second of the first side, to those of this one. */
  readonly ratio: Ratio;
  /** The same of the CPU time a request. */
  readonly cpuRatio: Ratio;
}

export interface WorkloadResult {
  readonly name: string;
  readonly title: string;
  readonly sides: readonly SideResult[];
}

export interface RowResult extends RowFigures {
  /** Rows a second of the first side, to those of this one. */
  readonly ratio: Ratio;
}

export interface StoreResults {
  readonly store: string;
  readonly orders: number;
  readonly commit: string;
  readonly date: string;
  readonly machine: string;
  readonly rounds: number;
  readonly seconds: number;
  /** The version of each peer that took part. */
  readonly peers: Record<string, string>;
  readonly workloads: WorkloadResult[];
  readonly rows: RowResult[];
  start?: StartFigures;
}

/** Number of orders for the bars and the tables beside peers. Other numbers show growth. */
export const MAIN_ORDERS = 100_000;
export const BARE = 'bare node:http';

/** Our speed divided by the bare server's in the same rounds, which can be compared between runs. */
export const shareOfBare = ({ workloads }: StoreResults, name: string): number | undefined =>
  workloads.find((one) => one.name === name)?.sides.find((side) => side.name === BARE)?.ratio.median;

export function printHeadings(): void {
  printRow('', 'calls/s', 'p50 ms', 'p99 ms', 'CPU µs', 'memory MB', 'ratio', '', 'CPU ratio', '', 'elsewhere');
}

/** The figures of each side, the first being ours, as a result that is printed as well. */
export function concludeWorkload(
  { name, title }: { name: string; title: string },
  names: readonly string[],
  figures: readonly (readonly SideFigures[])[],
): WorkloadResult {
  const sides = names.map((side, index): SideResult => {
    const theirs = figures[index]!;
    const [first] = figures as [readonly SideFigures[]];
    return {
      name: side,
      count: medianOf(theirs, 'count'),
      perSecond: medianOf(theirs, 'perSecond'),
      p50Ms: medianOf(theirs, 'p50Ms'),
      p99Ms: medianOf(theirs, 'p99Ms'),
      cpuUs: medianOf(theirs, 'cpuUs'),
      memoryMb: Math.max(...theirs.map(({ memoryMb }) => memoryMb)),
      elsewhere: medianOf(theirs, 'elsewhere'),
      ratio: ratioOf(first, theirs, 'perSecond'),
      cpuRatio: ratioOf(first, theirs, 'cpuUs'),
    };
  });
  console.log(`${name} ${title}`);
  for (const [index, side] of sides.entries()) {
    const ratios = index === 0 ? ['', '', '', ''] : [...formatRatio(side.ratio), ...formatRatio(side.cpuRatio)];
    const { perSecond, p50Ms, p99Ms, cpuUs, memoryMb, elsewhere } = side;
    printRow(
      `  ${side.name}`,
      perSecond,
      p50Ms,
      p99Ms,
      cpuUs,
      memoryMb,
      ...ratios,
      `${(elsewhere * 100).toFixed(0)} %`,
    );
  }
  return { name, title, sides };
}

/** The same for rows that go in or come out. Each side has a list of figures a round. */
export function concludeRows(names: readonly string[], figures: readonly (readonly RowFigures[][])[]): RowResult[] {
  return figures[0]![0]!.map(({ name, rows }, place) => {
    const ofSides = figures.map((rounds) => rounds.map((round) => round[place]!));
    const results = ofSides.map((theirs): RowResult => ({
      name,
      rows,
      rowsPerSecond: medianOf(theirs, 'rowsPerSecond'),
      memoryMb: Math.max(...theirs.map(({ memoryMb }) => memoryMb)),
      ratio: ratioOf(ofSides[0]!, theirs, 'rowsPerSecond'),
    }));
    for (const [index, { rowsPerSecond, memoryMb, ratio }] of results.entries())
      printRow(
        index === 0 ? name : '',
        `${names[index]}`,
        rowsPerSecond,
        `${memoryMb.toFixed(0)} MB`,
        ...(index === 0 ? [] : formatRatio(ratio)),
      );
    return results[0]!;
  });
}
