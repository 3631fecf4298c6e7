/** Ports: a store, and a part of it, as a check sees them. */
import type { ReadableTables } from '../control/control.ts';
import type { Row } from '../writing.ts';
import type { Findings } from './findings.ts';

/** One file, or one schema, in a snapshot. */
export interface CheckedDatabase extends ReadableTables {
  /** Calls `take` with the rows of a statement one by one. */
  readonly each: <R extends Row>(sql: string, take: (row: R) => void) => Promise<void>;
}

export type CheckedPart = 'control' | 'usage' | 'requests' | { readonly storeId: string };

export interface CheckedStore {
  /** Runs the store's own checks of files, pages and indexes. */
  checkItself(findings: Findings): Promise<void>;
  /** Reads a part in a snapshot. Does nothing when there is none yet, or it was found unreadable. */
  read(part: CheckedPart, work: (db: CheckedDatabase) => Promise<void>): Promise<void>;
  /** Returns the message of a fault that means damage; undefined for any other. */
  damageOf(fault: unknown): string | undefined;
  close?(): Promise<void>;
}
