/** How long callers waited, in a few figures. */

/** Milliseconds of the calls answered as expected, and how many were not. */
export interface Waits {
  readonly p50: number;
  readonly p99: number;
  readonly worst: number;
  readonly count: number;
  readonly failed: number;
  /** How the failed ones ended: a status, or the code of a fault. */
  readonly failures: Record<string, number>;
}

export function summarize(waits: readonly number[], failures: Record<string, number>): Waits {
  const sorted = waits.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Infinity;
  const failed = Object.values(failures).reduce((sum, count) => sum + count, 0);
  return { p50: at(0.5), p99: at(0.99), worst: sorted.at(-1) ?? Infinity, count: sorted.length, failed, failures };
}
