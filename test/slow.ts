/** The test files that only `npm run test:all` runs, and why. What each of them guarantees has a short test in `npm test` too. */

export interface SlowFile {
  readonly file: string;
  /** Left out of `npm test` on PostgreSQL alone; without it, on both stores. */
  readonly store?: 'postgres';
  readonly reason: string;
}

export const SLOW: readonly SlowFile[] = [];
