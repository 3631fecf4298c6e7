/**
 * What the benchmarks share: rounds of two sides in turns, medians, printed rows, and the bars that were missed.
 */
import { availableParallelism, cpus } from 'node:os';
import { loader } from './load-generator.ts';

const missed: string[] = [];

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

export const medianOf = <Name extends string>(figures: readonly Readonly<Record<Name, number>>[], name: Name): number =>
  median(figures.map((one) => one[name]));

/**
 * Measures two sides in turns, so that the rest of the machine's work falls on both. Each is first in every other
 * round.
 */
export async function measureInTurns<T>(
  rounds: number,
  measureOurs: () => Promise<T>,
  measureTheirs: () => Promise<T>,
): Promise<{ ours: T[]; theirs: T[] }> {
  const ours: T[] = [];
  const theirs: T[] = [];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) ours.push(await measureOurs());
    theirs.push(await measureTheirs());
    if (round % 2 !== 0) ours.push(await measureOurs());
  }
  return { ours, theirs };
}

/** The quotient of a figure of two sides, round by round, the least first. */
export function ratiosOf<Name extends string>(
  { ours, theirs }: Readonly<Record<'ours' | 'theirs', readonly Readonly<Record<Name, number>>[]>>,
  name: Name,
): number[] {
  return ours.map((figures, round) => figures[name] / theirs[round]![name]).toSorted((a, b) => a - b);
}

/** A name and columns of figures. */
export function printRow(name: string, ...cells: readonly (string | number)[]): void {
  const texts = cells.map((cell) => (typeof cell === 'number' ? cell.toFixed(cell < 100 ? 2 : 0) : cell));
  console.log([name.padEnd(36), ...texts.map((text) => text.padStart(12))].join(''));
}

export function printMachine(): void {
  console.log(`Node ${process.version}, ${cpus()[0]?.model}, ${availableParallelism()} cores, load by ${loader}`);
}

export function checkBar(name: string, value: number, isMet: boolean, bar: string): void {
  if (!isMet) missed.push(`${name} is ${value.toFixed(2)}, and should be ${bar}`);
}

/** Prints the bars that were missed. The process ends with 1 when there are any. */
export function reportBars(): void {
  for (const line of missed) console.log(`MISSED: ${line}.`);
  if (missed.length === 0) console.log('\nNo bar was missed.');
  process.exitCode = missed.length === 0 ? 0 : 1;
}
