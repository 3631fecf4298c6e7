/**
 * control.db of the embedded store: reads that share a snapshot, and writings through a queue of their own, each commit synced. What every call asks for is
 * kept for as long as nobody has written to the file. Holds no SQL of its tables. Source: decision 0026.
 */
import type { Outcome } from '../../errors.ts';
import type { Control } from '../control/database.ts';
import type { Bound, Row, Writing } from '../writing.ts';
import { runWriting, type Database } from './database.ts';
import { migrate } from './migrate.ts';
import { TurnReader } from './turn-reader.ts';
import { SqliteWriteQueue, type SqliteWriteQueueOptions } from './write-queue.ts';

/** Tenants beyond this number are read anew now and then. */
const KEPT_MAX = 10_000;

export class SqliteControl implements Control {
  readonly schema = '';
  readonly #db: Database;
  readonly #reader: TurnReader;
  readonly #queue: SqliteWriteQueue;
  readonly #kept = new Map<string, Row>();
  /** Of the file when the rows kept were read. */
  #version = -1;

  constructor(db: Database, options: Pick<SqliteWriteQueueOptions, 'checkpoint' | 'onFatal'>) {
    migrate(db, 'control');
    this.#db = db;
    this.#reader = new TurnReader(db, options.onFatal, () => this.#followChanges());
    this.#queue = new SqliteWriteQueue(db, { ...options, gather: 'turn', syncAfterCommit: false });
  }

  read<R extends Row>(sql: string, ...values: Bound[]): Promise<R[]> {
    return this.#reader.read(() => this.#db.rows<R>(sql, ...values));
  }

  /** The only row the statement has for this key. Kept, and never older than the snapshot of its turn. */
  readKept<R extends Row>(sql: string, key: string): Promise<R | undefined> {
    return this.#reader.read(() => {
      const kept = this.#kept.get(key);
      if (kept) return kept as R;
      const row = this.#db.row<R>(sql, key);
      if (this.#kept.size >= KEPT_MAX) this.#kept.clear();
      if (row) this.#kept.set(key, row);
      return row;
    });
  }

  change<T>(work: () => Writing<Outcome<T>>): Promise<Outcome<T>> {
    return this.#queue.run(() => {
      this.#kept.clear();
      return runWriting(this.#db, work());
    });
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

  /** The number changes with every commit of another connection, in whatever process; this one's own are in `change`. */
  #followChanges(): void {
    const [version] = this.#db.row<[number]>('PRAGMA data_version')!;
    if (version === this.#version) return;
    this.#version = version;
    this.#kept.clear();
  }
}
