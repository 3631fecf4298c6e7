/**
 * The findings of a check: the place, the fault and the remedy. Their number is bounded, because one damage can appear
 * in every record.
 */

export interface Finding {
  /** A file, a table, or a part of a tenant's data. */
  readonly place: string;
  readonly what: string;
  readonly remedy: string;
  /** Whether a file, a page or an index is damaged. Otherwise records disagree. */
  readonly isDamage: boolean;
}

/** Findings that are listed; further ones are only counted. */
const LISTED_MAX = 200;

export const RESTORE = 'Stop the service and restore the last backup that passes `storeroom check --backup`.';

export class Findings {
  readonly listed: Finding[] = [];
  /** Sentences about what could not be checked, and about faults without effect, such as a block of the request log. */
  readonly notes: string[] = [];
  count = 0;

  /** Adds records that disagree. */
  add(place: string, what: string, remedy = RESTORE, isDamage = false): void {
    if (++this.count <= LISTED_MAX) this.listed.push({ place, what, remedy, isDamage });
  }

  addDamage(place: string, what: string, remedy = RESTORE): void {
    this.add(place, what, remedy, true);
  }

  note(sentence: string): void {
    if (this.notes.length < LISTED_MAX) this.notes.push(sentence);
  }
}
