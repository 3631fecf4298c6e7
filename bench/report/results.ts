/**
 * The results of a run: the medians of each side's rounds, and the ratio of our speed to each side's.
 */
import type { SideFigures } from '../load/rounds.ts';
import type { StartFigures } from '../load/start.ts';
import type { RowFigures } from '../records/seed.ts';
import { formatRatio, median, printRow, ratioOf, type Ratio } from './report.ts';

export interface SideResult extends SideFigures {
  readonly name: string;
  /** Ratio of the first side's requests per second to this side's. */
  readonly ratio: Ratio;
  /** Ratio of the first side's CPU time per request to this side's. */
  readonly cpuRatio: Ratio;
}

interface WorkloadResult {
  readonly name: string;
  readonly title: string;
  readonly sides: readonly SideResult[];
}

interface RowResult extends RowFigures {
  /** Ratio of the first side's rows per second to this side's. */
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

/** Number of orders for the bars and for the comparison with peers. Other numbers show growth. */
export const MAIN_ORDERS = 100_000;
export const BARE = 'bare node:http';

/** Returns the sides of a workload. The first is ours. There are none if the workload was not measured. */
export const sidesOf = ({ workloads }: StoreResults, workload: string): readonly SideResult[] =>
  workloads.find(({ name }) => name === workload)?.sides ?? [];

export const findSide = (sides: readonly SideResult[], name: string): SideResult | undefined =>
  sides.find((side) => side.name === name);

export const fastestPeer = (sides: readonly SideResult[]): SideResult | undefined =>
  sides
    .slice(1)
    .filter(({ name }) => name !== BARE)
    .toSorted((a, b) => b.perSecond - a.perSecond)[0];

/** Returns our speed divided by the bare server's in the same rounds, which can be compared between runs. */
export const shareOfBare = (results: StoreResults, workload: string): number | undefined =>
  findSide(sidesOf(results, workload), BARE)?.ratio.median;

export function printHeadings(): void {
  printRow('', 'calls/s', 'p50 ms', 'p99 ms', 'CPU µs', 'memory MB', 'ratio', '', 'CPU ratio', '', 'elsewhere');
}

/** Returns the medians of the figures of some rounds, with the maximum memory. */
function conclude<Figures extends { readonly memoryMb: number }>(rounds: readonly Figures[]): Figures {
  const medians = Object.entries(rounds[0]!).map(([name, value]) => [
    name,
    typeof value === 'number' ? median(rounds.map((figures) => figures[name as keyof Figures] as number)) : value,
  ]);
  return { ...Object.fromEntries(medians), memoryMb: Math.max(...rounds.map(({ memoryMb }) => memoryMb)) } as Figures;
}

/** Makes a result from the figures of each side, and prints it. The first side is ours. */
export function concludeWorkload(
  { name, title }: Pick<WorkloadResult, 'name' | 'title'>,
  names: readonly string[],
  figures: readonly (readonly SideFigures[])[],
): WorkloadResult {
  console.log(`${name} ${title}`);
  const sides = figures.map((theirs, index): SideResult => {
    const [ratio, cpuRatio] = [ratioOf(figures[0]!, theirs, 'perSecond'), ratioOf(figures[0]!, theirs, 'cpuUs')];
    const side = { name: names[index]!, ...conclude(theirs), ratio, cpuRatio };
    const ratios = index === 0 ? ['', '', '', ''] : [...formatRatio(ratio), ...formatRatio(cpuRatio)];
    const { perSecond, p50Ms, p99Ms, cpuUs, memoryMb, elsewhere } = side;
    const share = `${(elsewhere * 100).toFixed(0)} %`;
    printRow(`  ${side.name}`, perSecond, p50Ms, p99Ms, cpuUs, memoryMb, ...ratios, share);
    return side;
  });
  return { name, title, sides };
}

/** Makes results from the figures of rows, and prints them. Each side has a list of figures for each round. */
export function concludeRows(names: readonly string[], figures: readonly (readonly RowFigures[][])[]): RowResult[] {
  return figures[0]![0]!.map(({ name }, place) => {
    const ofSides = figures.map((rounds) => rounds.map((round) => round[place]!));
    const results = ofSides.map((theirs, index): RowResult => {
      const result = { ...conclude(theirs), ratio: ratioOf(ofSides[0]!, theirs, 'rowsPerSecond') };
      const ratios = index === 0 ? [] : formatRatio(result.ratio);
      const memory = `${result.memoryMb.toFixed(0)} MB`;
      printRow(index === 0 ? name : '', names[index]!, result.rowsPerSecond, memory, ...ratios);
      return result;
    });
    return results[0]!;
  });
}
