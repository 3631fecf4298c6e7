/**
 * What is beside the tenants' inventory systems, as the code shared by all stores sees it: tables with the same columns under the same names, statements
 * that read and writings that commit. Holds no SQL.
 */
import { Refusal, type Outcome } from '../../errors.ts';
import type { Bound, Row, Writing } from '../writing.ts';

export interface Control {
  /** What stands before the name of a table: nothing, or a schema and a dot. */
  readonly schema: '' | `${string}.`;
  /** Runs one statement that changes nothing. */
  read<R extends Row>(sql: string, ...values: Bound[]): Promise<R[]>;
  /**
   * Runs a writing in a transaction, which a refusal undoes. Resolves when its outcome is on disk. A store that cannot be used is a refusal too.
   * `work` is called again where it has to be done again.
   */
  change<T>(work: () => Writing<Outcome<T>>): Promise<Outcome<T>>;
}

/** Where a port knows no refusal, the store's own is thrown. */
export async function insist<T>(outcome: Promise<Outcome<T>>): Promise<T> {
  const result = await outcome;
  if (result instanceof Refusal) throw result;
  return result;
}

/** Whether a store can hold the text at all; one it cannot hold names nothing. */
export const isPlain = (text: string): boolean => text.isWellFormed() && !text.includes('\0');
