/**
 * How a transaction reaches any database: a writing is a generator that asks for statements and is given their rows.
 * SQLite runs each at once; PostgreSQL waits for those that read, and sends the others without waiting.
 */

/** A value bound to a statement. Drivers turn undefined, dates and objects into something else without a word. */
export type Bound = string | number | bigint | Uint8Array | null;

export interface Statement {
  readonly sql: string;
  readonly values: readonly Bound[];
  /** Whether the writing waits for its rows. */
  readonly reads: boolean;
  /** What it does, where it inserts or updates one row. */
  readonly change?: RowChange;
  /** Whether it may go out before others that write. */
  readonly commutes?: boolean;
  /** The update of a record's search index that this is, if it is one: it may run later in the transaction. */
  readonly search?: SearchChange;
}

export interface RowChange {
  readonly kind: 'insert' | 'update';
  readonly table: string;
  /** The column of each value. */
  readonly names: readonly string[];
  /** Which values are the key of the row. */
  readonly keysAt: readonly number[];
}

export interface SearchChange {
  readonly table: string;
  /** Key of a record that existed before. Without it, the record was inserted by the statement before. */
  readonly sortKey?: string;
  readonly text: string;
}

/** The columns of a row, in their order. */
export type Row = readonly unknown[];

/** Asks for statements, is given the rows of each (none for those that do not read), and comes to a T. */
export type Writing<T> = Generator<Statement, T, readonly Row[]>;

/** A statement that does not read. */
export const statement = (sql: string, ...values: Bound[]): Statement => ({ sql, values, reads: false });

export function* rows<R extends Row>(sql: string, ...values: Bound[]): Writing<readonly R[]> {
  return (yield { sql, values, reads: true }) as readonly R[];
}

/** The first row, or undefined. */
export function* row<R extends Row>(sql: string, ...values: Bound[]): Writing<R | undefined> {
  return (yield { sql, values, reads: true })[0] as R | undefined;
}
