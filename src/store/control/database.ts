/** The control database as the shared code sees it, with the same tables in every SQL store. */
import { orThrow, type Outcome } from '../../errors.ts';
import type { Bound, Row, Writing } from '../writing.ts';

export interface ReadableTables {
  /** What precedes the name of a table: nothing, or a schema and a dot. */
  readonly schema: '' | `${string}.`;
  /** Runs one statement that changes nothing. */
  read<R extends Row>(sql: string, ...values: Bound[]): Promise<R[]>;
}

export interface ControlDatabase extends ReadableTables {
  /**
   * Runs a writing in one transaction, which a refusal undoes, and resolves when it is on disk. Calls `work` again when
   * the transaction is retried.
   */
  transaction<T>(work: () => Writing<Outcome<T>>): Promise<Outcome<T>>;
}

/** Runs a writing in one transaction and throws what refuses it. */
export const commit = <T>(db: ControlDatabase, work: () => Writing<Outcome<T>>): Promise<T> =>
  db.transaction(work).then(orThrow);

/** The random bytes that the installation signs cursors with: the same for all nodes, and after a restart. */
export async function loadCursorKey(db: ReadableTables): Promise<Uint8Array> {
  const [found] = await db.read<[Uint8Array]>(`SELECT "SECRET" FROM ${db.schema}"SECRETS" WHERE "NAME" = 'cursors'`);
  return found![0];
}

/** Whether a store can hold the text. A text it cannot hold names nothing. */
export const isPlain = (text: string): boolean => text.isWellFormed() && !text.includes('\0');
