/**
 * The ports of a check: a store, a part of it, and the findings with place, fault and remedy. The number of listed
 * findings is bounded, because one fault can appear in every record.
 */
import type { LinesOf } from '../pims/lines-of.ts';
import type { ReadableTables } from '../control/control.ts';
import type { Row } from '../sql/writing.ts';

export interface Finding {
  /** A file, a table, or a part of a tenant's data. */
  readonly place: string;
  readonly what: string;
  readonly remedy: string;
  /** Whether a file, a page or an index is damaged. Otherwise records disagree. */
  readonly isDamage: boolean;
}

/** Maximum findings that are listed; further ones are only counted. */
const LISTED_MAX = 200;

export const RESTORE =
  'Stop the service and restore the newest good backup (embedded store: one that passes `storeroom check --backup`).';

export class Findings {
  readonly listed: Finding[] = [];
  /** Sentences about parts that were not checked, and about harmless faults, such as in the request log. */
  readonly notes: string[] = [];
  count = 0;

  /** Adds a finding, by default that records disagree. */
  addFinding(place: string, what: string, remedy = RESTORE, isDamage = false): void {
    if (++this.count <= LISTED_MAX) this.listed.push({ place, what, remedy, isDamage });
  }

  addDamage(place: string, what: string, remedy = RESTORE): void {
    this.addFinding(place, what, remedy, true);
  }

  addNote(sentence: string): void {
    if (this.notes.length < LISTED_MAX) this.notes.push(sentence);
  }
}

/** A snapshot of one file or one schema. */
export interface CheckedDatabase extends ReadableTables {
  readonly linesOf: LinesOf;
  /** Calls `take` with each row of a statement. */
  readonly each: <R extends Row>(sql: string, take: (row: R) => void) => Promise<void>;
}

export type CheckedPart = 'control' | 'usage' | 'requests' | { readonly storeId: string };

export interface CheckedStore {
  /** Runs the store's own checks of files, pages and indexes. */
  checkItself(findings: Findings): Promise<void>;
  /** Reads a part in a snapshot. Does nothing if the part does not exist yet or is unreadable. */
  readPart(part: CheckedPart, work: (db: CheckedDatabase) => Promise<void>): Promise<void>;
  /** Returns the message of a fault that means damage, or undefined for any other fault. */
  damageOf(fault: unknown): string | undefined;
  close?(): Promise<void>;
}
