/** Runs a writing in a transaction of SQLite, with the changes of its search index at the end. */
import type { Row, SearchChange, Writing } from '../../writing.ts';
import type { Database } from '../files/database.ts';

const NO_ROWS: readonly Row[] = [];

/** Work that is done at the end of a transaction, by ascending IDs. */
export interface LateWork {
  readonly id: number;
  readonly run: () => void;
}

/**
 * Runs a writing to its end, in the transaction of the caller, who rolls back when this throws. Puts changes of the
 * search index into `late` if it is given, because whenever IDs descend, FTS5 writes all pending changes to its tables.
 */
export function runWriting<T>(db: Database, writing: Writing<T>, late?: LateWork[]): T {
  let step = writing.next();
  while (step.done !== true) {
    const { sql, values, reads, search } = step.value;
    if (search && late) late.push(changeSearchLate(db, search));
    else if (!reads) db.run(sql, ...values);
    step = writing.next(reads ? db.rows(sql, ...values) : NO_ROWS);
  }
  return step.value;
}

function changeSearchLate(db: Database, { table, sortKey, text }: SearchChange): LateWork {
  if (sortKey === undefined) {
    const id = db.lastRowId;
    return { id, run: () => void db.run(`INSERT INTO "${table}_SEARCH" (rowid, "FOLDED") VALUES (?, ?)`, id, text) };
  }
  const [id] = db.row<[number]>(`SELECT "ID" FROM "${table}" WHERE "SORT_KEY" = ?`, sortKey)!;
  return { id, run: () => void db.run(`UPDATE "${table}_SEARCH" SET "FOLDED" = ? WHERE rowid = ?`, text, id) };
}
