/**
 * control.db of the embedded store: reads share a snapshot, and each commit is synced. Rows that every call needs are
 * kept in memory until the file changes. Source: decision 0009.
 */
import type { Outcome } from '../../errors.ts';
import type { ControlDatabase } from '../control/control.ts';
import type { Bound, Row, Writing } from '../writing.ts';
import type { Database } from './files/database.ts';
import { migrate } from './files/migrate.ts';
import { TurnReader } from './reads/turn-reader.ts';
import { runWriting } from './writes/run-writing.ts';
import { SqliteWriteQueue, type SqliteWriteQueueOptions } from './writes/write-queue.ts';

/** Maximum number of rows kept. When it is reached, all are dropped. */
const KEPT_MAX = 10_000;

export class SqliteControl implements ControlDatabase {
  readonly schema = '';
  readonly #db: Database;
  readonly #reader: TurnReader;
  readonly #queue: SqliteWriteQueue;
  readonly #kept = new Map<string, Row>();

  constructor(db: Database, options: Pick<SqliteWriteQueueOptions, 'checkpoint' | 'onFatal' | 'clock'>) {
    migrate(db, 'control');
    this.#db = db;
    this.#reader = new TurnReader(db, { onFatal: options.onFatal, onChange: () => this.#kept.clear() });
    this.#queue = new SqliteWriteQueue(db, { ...options, gather: 'turn', syncAfterCommit: false });
  }

  read<R extends Row>(sql: string, ...values: Bound[]): Promise<R[]> {
    return this.#reader.read(() => this.#db.rows<R>(sql, ...values));
  }

  /** Reads the row of this key. Rows are kept, but are never older than the snapshot of their turn. */
  readKept<R extends Row, T>(sql: string, key: string, parse: (row: R) => T | undefined): Promise<T | undefined> {
    return this.#reader.read(() => {
      const kept = this.#kept.get(key);
      if (kept) return parse(kept as R);
      const row = this.#db.row<R>(sql, key);
      if (!row) return undefined;
      if (this.#kept.size >= KEPT_MAX) this.#kept.clear();
      this.#kept.set(key, row);
      return parse(row);
    });
  }

  transaction<T>(work: () => Writing<Outcome<T>>): Promise<Outcome<T>> {
    return this.#queue.run(() => {
      this.#kept.clear();
      return runWriting(this.#db, work());
    });
  }

  isUsable(): boolean {
    try {
      return this.#db.row('SELECT EXISTS (SELECT 1 FROM TENANTS)') !== undefined;
    } catch {
      return false;
    }
  }

  /** Returns the bytes of its write-ahead log. */
  get logBytes(): number {
    return this.#queue.logBytes;
  }

  async close(): Promise<void> {
    await this.#queue.close();
    this.#db.close();
  }
}
