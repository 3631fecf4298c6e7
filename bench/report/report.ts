/**
 * Begin here: functions that all benchmarks share, for medians, ratios and their spread, printed rows, and missed bars.
 */
import { availableParallelism, cpus } from 'node:os';
import { loader } from '../load/load-generator.ts';

const missed: string[] = [];

const quantile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))]!;

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** The median of a quotient that was measured round by round, and the quartiles. */
export interface Ratio {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export function ratioOf<Name extends string>(
  ours: readonly Readonly<Record<Name, number>>[],
  theirs: readonly Readonly<Record<Name, number>>[],
  name: Name,
): Ratio {
  const ratios = ours.map((figures, round) => figures[name] / theirs[round]![name]);
  return { median: median(ratios), low: quantile(ratios, 0.25), high: quantile(ratios, 0.75) };
}

/** Returns two cells: the median, and the quartiles. */
export const formatRatio = ({ median: middle, low, high }: Ratio): [string, string] => [
  formatNumber(middle),
  `${formatNumber(low)}–${formatNumber(high)}`,
];

/** Formats a number with three significant digits, or as an integer from 1,000 on. */
export function formatNumber(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString('en');
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : value >= 0.1 ? 3 : 4);
}

/** Prints a name and columns of figures. */
export function printRow(name: string, ...cells: readonly (string | number)[]): void {
  const texts = cells.map((cell) => (typeof cell === 'number' ? formatNumber(cell) : cell));
  console.log([name.padEnd(30), ...texts.map((text) => ` ${text.padStart(12)}`)].join(''));
}

/** Returns the lines of a table in Markdown. */
export const table = (headings: readonly string[], rows: readonly (readonly string[])[]): string[] =>
  [headings, ...rows].map((cells) => `| ${cells.join(' | ')} |`).toSpliced(1, 0, `|${'---|'.repeat(headings.length)}`);

export const describeMachine = (): string =>
  `Node ${process.version}, ${cpus()[0]?.model}, ${availableParallelism()} cores, load by ${loader}`;

export function checkLeast(name: string, value: number, least: number): void {
  if (!(value >= least)) missed.push(`${name} is ${formatNumber(value)}, and should be at least ${least}`);
}

export function checkMost(name: string, value: number, most: number): void {
  if (!(value <= most)) missed.push(`${name} is ${formatNumber(value)}, and should be at most ${most}`);
}

/** Prints the missed bars. If there are any, the process exits with 1. */
export function reportBars(): void {
  for (const line of missed) console.log(`MISSED: ${line}.`);
  if (missed.length === 0) console.log('\nNo bar was missed.');
  process.exitCode = missed.length === 0 ? 0 : 1;
}
