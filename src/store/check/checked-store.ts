/** The ports of a check: a store, and a part of it. */
import type { ReadableTables } from '../control/control.ts';
import type { Row } from '../writing.ts';
import type { Findings } from './findings.ts';

/** A snapshot of one file or one schema. */
export interface CheckedDatabase extends ReadableTables {
  /** Calls `take` with the rows of a statement one by one. */
  readonly each: <R extends Row>(sql: string, take: (row: R) => void) => Promise<void>;
}

export type CheckedPart = 'control' | 'usage' | 'requests' | { readonly storeId: string };

export interface CheckedStore {
  /** Runs the store's own checks of files, pages and indexes. */
  checkItself(findings: Findings): Promise<void>;
  /** Reads a part in a snapshot. Does nothing if the part does not exist yet or is unreadable. */
  read(part: CheckedPart, work: (db: CheckedDatabase) => Promise<void>): Promise<void>;
  /** Returns the message of a fault that means damage, or undefined for any other fault. */
  damageOf(fault: unknown): string | undefined;
  close?(): Promise<void>;
}
