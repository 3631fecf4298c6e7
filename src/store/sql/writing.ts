/**
 * Describes a transaction for any database: a writing is a generator that yields statements and receives their rows.
 * SQLite runs each statement at once. PostgreSQL waits for statements that read, and sends the others without waiting.
 */

/** A value bound to a statement. Drivers change undefined, dates and objects into other values without an error. */
export type Bound = string | number | bigint | Uint8Array | null;

export interface Statement {
  readonly sql: string;
  readonly values: readonly Bound[];
  /** Whether the writing waits for the statement's rows. */
  readonly reads: boolean;
  /** The row that the statement inserts or updates, if it is a single row. */
  readonly change?: RowChange;
  /** Whether the statement may be sent before others that write. */
  readonly commutes?: boolean;
  /** A record whose search index the statement updates. Such a statement may run later in the transaction. */
  readonly search?: SearchChange;
  /** Whether the statement adds a row to the change feed. Such rows of a transaction may be added as one at its end. */
  readonly isFeed?: boolean;
}

export interface RowChange {
  readonly kind: 'insert' | 'update';
  readonly table: string;
  /** The column of each value. */
  readonly names: readonly string[];
  /** Indexes of the values that form the key of the row. */
  readonly keysAt: readonly number[];
}

export interface SearchChange {
  readonly table: string;
  /** Key of a record that existed before. Without it, the previous statement inserted the record. */
  readonly sortKey?: string;
  readonly text: string;
}

/** The columns of a row, in order. */
export type Row = readonly unknown[];

/** Yields statements, receives the rows of each (none for those that do not read), and returns a T. */
export type Writing<T> = Generator<Statement, T, readonly Row[]>;

/** Makes a statement that does not read. */
export const statement = (sql: string, ...values: Bound[]): Statement => ({ sql, values, reads: false });

/** Runs a statement and returns its rows. */
export function* yieldRows<R extends Row>(sql: string, ...values: Bound[]): Writing<readonly R[]> {
  return (yield { sql, values, reads: true }) as readonly R[];
}

/** Runs a statement and returns its first row, or undefined. */
export function* yieldRow<R extends Row>(sql: string, ...values: Bound[]): Writing<R | undefined> {
  return (yield { sql, values, reads: true })[0] as R | undefined;
}
