/**
 * control.db of the embedded store: reads share a snapshot, and each commit is synced. Rows that every call needs are
 * kept in memory until the file changes. Source: decision 0009.
 */
import type { ControlDatabase } from '../control/control.ts';
import type { Row } from '../writing.ts';
import type { Database } from './files/database.ts';
import { migrate } from './files/migrate.ts';
import { makeTurnReader } from './reads/turn-reader.ts';
import { runWriting } from './writes/run-writing.ts';
import { makeWriteQueue, type SqliteWriteQueueOptions } from './writes/write-queue.ts';

/** Maximum number of rows kept. When it is reached, all are dropped. */
const KEPT_MAX = 10_000;

export type SqliteControl = ReturnType<typeof openControl>;

export function openControl(db: Database, options: Pick<SqliteWriteQueueOptions, 'checkpoint' | 'onFatal' | 'clock'>) {
  migrate(db, 'control');
  const rows = new Map<string, Row>();
  const reader = makeTurnReader(db, { onFatal: options.onFatal, onChange: () => rows.clear() });
  const queue = makeWriteQueue(db, { ...options, gather: 'turn', syncAfterCommit: false });
  return {
    schema: '',
    read: (sql, ...values) => reader.read(() => db.rows(sql, ...values)),
    /** Reads the row of this key. Rows are kept, but are never older than the snapshot of their turn. */
    readKept: <R extends Row, T>(sql: string, key: string, parse: (row: R) => T | undefined) =>
      reader.read(() => {
        const kept = rows.get(key) as R | undefined;
        if (kept) return parse(kept);
        const row = db.row<R>(sql, key);
        if (!row) return undefined;
        if (rows.size >= KEPT_MAX) rows.clear();
        rows.set(key, row);
        return parse(row);
      }),
    transaction: (work) =>
      queue.run(() => {
        rows.clear();
        return runWriting(db, work());
      }),
    isUsable() {
      try {
        return db.row('SELECT EXISTS (SELECT 1 FROM TENANTS)') !== undefined;
      } catch {
        return false;
      }
    },
    /** The bytes of its write-ahead log. */
    get logBytes() {
      return queue.log.bytes;
    },
    async close() {
      await queue.close();
      db.close();
    },
  } satisfies ControlDatabase & Record<string, unknown>;
}
