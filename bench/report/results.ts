/**
 * The results of a run: medians of the rounds of each side, and how many times ours is as fast, round by round.
 */
import type { SideFigures } from '../load/rounds.ts';
import type { StartFigures } from '../load/start.ts';
import type { RowFigures } from '../records/seed.ts';
import { formatRatio, median, printRow, ratioOf, type Ratio } from './report.ts';

export interface SideResult extends SideFigures {
  readonly name: string;
  /** Requests a second of the first side, to those of this one. */
  readonly ratio: Ratio;
  /** The same of the CPU time a request. */
  readonly cpuRatio: Ratio;
}

interface WorkloadResult {
  readonly name: string;
  readonly title: string;
  readonly sides: readonly SideResult[];
}

interface RowResult extends RowFigures {
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

/** The sides of a workload, the first being ours; none when it was not measured. */
export const sidesOf = ({ workloads }: StoreResults, workload: string): readonly SideResult[] =>
  workloads.find(({ name }) => name === workload)?.sides ?? [];

export const findSide = (sides: readonly SideResult[], name: string): SideResult | undefined =>
  sides.find((side) => side.name === name);

export const fastestPeer = (sides: readonly SideResult[]): SideResult | undefined =>
  sides
    .slice(1)
    .filter(({ name }) => name !== BARE)
    .toSorted((a, b) => b.perSecond - a.perSecond)[0];

/** Our speed divided by the bare server's in the same rounds, which can be compared between runs. */
export const shareOfBare = (results: StoreResults, workload: string): number | undefined =>
  findSide(sidesOf(results, workload), BARE)?.ratio.median;

export function printHeadings(): void {
  printRow('', 'calls/s', 'p50 ms', 'p99 ms', 'CPU µs', 'memory MB', 'ratio', '', 'CPU ratio', '', 'elsewhere');
}

/** The medians of all figures of some rounds, and the most memory. */
function conclude<Figures extends { readonly memoryMb: number }>(rounds: readonly Figures[]): Figures {
  const medians = Object.entries(rounds[0]!).map(([name, value]) => [
    name,
    typeof value === 'number' ? median(rounds.map((figures) => figures[name as keyof Figures] as number)) : value,
  ]);
  return { ...Object.fromEntries(medians), memoryMb: Math.max(...rounds.map(({ memoryMb }) => memoryMb)) } as Figures;
}

/** The figures of each side, the first being ours, as a result that is printed as well. */
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

/** The same for rows that go in or come out. Each side has a list of figures a round. */
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
