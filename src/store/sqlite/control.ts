/**
 * control.db of the embedded store: reads that share a snapshot, and writings through a queue of their own, each commit synced. Holds no SQL of its tables.
 */
import type { Outcome } from '../../errors.ts';
import type { Control } from '../control.ts';
import type { Bound, Row, Writing } from '../writing.ts';
import { runWriting, type Database } from './database.ts';
import { migrate } from './migrate.ts';
import { TurnReader } from './turn-reader.ts';
import { WriteQueue, type WriteQueueOptions } from './write-queue.ts';

export class SqliteControl implements Control {
  readonly schema = '';
  readonly #db: Database;
  readonly #reader: TurnReader;
  readonly #queue: WriteQueue;

  constructor(db: Database, options: Pick<WriteQueueOptions, 'checkpoint' | 'onFatal'>) {
    migrate(db, 'control');
    this.#db = db;
    this.#reader = new TurnReader(db, options.onFatal);
    this.#queue = new WriteQueue(db, { ...options, gather: 'turn', syncAfterCommit: false });
  }

  read<R extends Row>(sql: string, ...values: Bound[]): Promise<R[]> {
    return this.#reader.read(() => this.#db.rows<R>(sql, ...values));
  }

  /** The first row: what every call pays for. */
  readFirst<R extends Row>(sql: string, ...values: Bound[]): Promise<R | undefined> {
    return this.#reader.read(() => this.#db.row<R>(sql, ...values));
  }

  change<T>(work: () => Writing<Outcome<T>>): Promise<Outcome<T>> {
    return this.#queue.run(() => runWriting(this.#db, work()));
  }

  /** True when the file answers. */
  isUsable(): boolean {
    try {
      return this.#db.row('SELECT EXISTS (SELECT 1 FROM TENANTS)') !== undefined;
    } catch {
      return false;
    }
  }

  async close(): Promise<void> {
    await this.#queue.close();
    this.#db.close();
  }
}
