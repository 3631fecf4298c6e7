/** Begin here: the control database as the shared code uses it. Every SQL store has the same tables in it. */
import { orThrow, type Outcome } from '../../errors.ts';
import { row, type Bound, type Row, type Statement, type Writing } from '../writing.ts';

export interface ReadableTables {
  /** The prefix of a table name: empty, or a schema and a dot. */
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

/** Runs a writing in one transaction and throws its refusal. */
export const commit = <T>(db: ControlDatabase, work: () => Writing<Outcome<T>>): Promise<T> =>
  db.transaction(work).then(orThrow);

/** Runs one statement in a transaction. */
export const commitOne = (db: ControlDatabase, change: Statement): Promise<void> =>
  commit(db, function* () {
    yield change;
  });

/** Runs one statement in a transaction and returns whether it changed a row. */
export const commitRow = (db: ControlDatabase, change: Statement): Promise<boolean> =>
  commit(db, () => changesRow(change));

/** Runs a statement and returns whether it changed a row. When several run at once, only one of them changes it. */
export function* changesRow({ sql, values }: Statement): Writing<boolean> {
  return (yield* row(`${sql} RETURNING 1`, ...values)) !== undefined;
}

/** Loads random bytes of the installation. All nodes have the same, also after a restart. */
export async function loadSecret(db: ReadableTables, name: 'cursors' | 'webhooks'): Promise<Uint8Array> {
  const [found] = await db.read<[Uint8Array]>(`SELECT "SECRET" FROM ${db.schema}"SECRETS" WHERE "NAME" = ?`, name);
  return found![0];
}

/** Returns whether a store can hold the text. A text that it cannot hold identifies no record. */
export const isPlain = (text: string): boolean => text.isWellFormed() && !text.includes('\0');
