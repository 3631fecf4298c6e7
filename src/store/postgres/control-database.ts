/** The control schema of PostgreSQL: reads share a connection, and each writing runs in a separate transaction. */
import { Refusal, type Outcome } from '../../errors.ts';
import type { ControlDatabase } from '../control/control.ts';
import type { Bound, Row, Writing } from '../writing.ts';
import type { Connection } from './connection/connection.ts';
import { CONTROL } from './migrate.ts';
import type { Pool } from './connection/pool.ts';
import type { SharedConnection } from './connection/shared-connection.ts';
import { runWriting } from './writes/write-queue.ts';

export class PostgresControl implements ControlDatabase {
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

  async transaction<T>(work: () => Writing<Outcome<T>>): Promise<Outcome<T>> {
    const runOrThrow = async (connection: Connection): Promise<T> => {
      const result = await runWriting(connection, work());
      // Throwing rolls the transaction back.
      if (result instanceof Refusal) throw result;
      return result;
    };
    try {
      return await this.#writers.use(0, (shared) => shared.transaction(runOrThrow));
    } catch (fault) {
      if (fault instanceof Refusal) return fault;
      throw fault;
    }
  }
}
