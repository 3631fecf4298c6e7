/** What a check finds: where, what is wrong, and what to do. Bounded, as one damage can show in every record. */

export interface Finding {
  /** A file, a table, or the part of a tenant's data. */
  readonly place: string;
  readonly what: string;
  readonly remedy: string;
  /** Whether a file, a page or an index is damaged. Else records disagree. */
  readonly isDamage: boolean;
}

/** Findings that are told; the rest is counted. */
const TOLD_MAX = 200;

export const RESTORE = 'Stop the service and restore the last backup that `storeroom check --backup` finds whole.';

export class Findings {
  readonly told: Finding[] = [];
  /** In sentences: what could not be looked at, and what decides nothing, such as a block of the request log. */
  readonly notes: string[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Records that disagree. */
  add(place: string, what: string, remedy = RESTORE): void {
    this.#tell({ place, what, remedy, isDamage: false });
  }

  note(sentence: string): void {
    if (this.notes.length < TOLD_MAX) this.notes.push(sentence);
  }

  addDamage(place: string, what: string, remedy = RESTORE): void {
    this.#tell({ place, what, remedy, isDamage: true });
  }

  #tell(finding: Finding): void {
    if (++this.#count <= TOLD_MAX) this.told.push(finding);
  }
}
