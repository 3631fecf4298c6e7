/**
 * The control schema of PostgreSQL: reads on a connection that is shared, writings in a transaction each. Holds no SQL of its tables.
 */
import { Refusal, type Outcome } from '../../errors.ts';
import type { Control } from '../control/database.ts';
import type { Bound, Row, Writing } from '../writing.ts';
import { ConnectionLost } from './connection.ts';
import { CONTROL } from './migrate.ts';
import type { Pool } from './pool.ts';
import type { SharedConnection } from './shared-connection.ts';
import { runWriting } from './write-queue.ts';

export class PostgresControl implements Control {
  readonly schema = `${CONTROL}.` as const;
  readonly #reader: SharedConnection;
  readonly #writers: Pool;

  constructor(reader: SharedConnection, writers: Pool) {
    this.#reader = reader;
    this.#writers = writers;
  }

  read<R extends Row>(sql: string, ...values: Bound[]): Promise<R[]> {
    return this.#reader.ask<R>(sql, values);
  }

  /** What a lost connection has undone is done again, once. */
  async change<T>(work: () => Writing<Outcome<T>>): Promise<Outcome<T>> {
    try {
      return await this.#commit(work).catch((fault: unknown) => {
        if (fault instanceof ConnectionLost && fault.isUndone && !fault.isSilent) return this.#commit(work);
        throw fault;
      });
    } catch (fault) {
      if (fault instanceof Refusal) return fault;
      throw fault;
    }
  }

  #commit<T>(work: () => Writing<Outcome<T>>): Promise<T> {
    return this.#writers.use(0, (shared) =>
      shared.transaction(async (connection) => {
        const { result } = await runWriting(connection, work());
        // Thrown, it undoes what was written before it.
        if (result instanceof Refusal) throw result;
        return result;
      }),
    );
  }
}
