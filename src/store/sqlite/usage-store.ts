/**
 * Metered calls of the embedded store. The log of a batch is synced in the thread pool before any response. This is as
 * durable as an fsync in COMMIT, but does not block the event loop (test/faults/power-loss.ts, decision 0008).
 */
import { orThrow, Refusal, refuseForNow } from '../../errors.ts';
import type { OwnUsage } from '../control/calls.ts';
import type { Bound, Row } from '../writing.ts';
import type { Database } from './files/database.ts';
import { migrate } from './files/migrate.ts';
import { makeWriteQueue, type SqliteWriteQueueOptions } from './writes/write-queue.ts';

const ADD = 'INSERT INTO USAGE VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET CALLS = CALLS + excluded.CALLS';
const ADD_MONTH = `INSERT INTO MONTH_USAGE VALUES (?, ?, '', '', ?, '')
  ON CONFLICT DO UPDATE SET CALLS = CALLS + excluded.CALLS RETURNING CALLS`;
const ADD_KEY = `INSERT INTO MONTH_USAGE VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
  CALLS = CALLS + excluded.CALLS, USED_AT = max(USED_AT, excluded.USED_AT)`;

/** The call may already have saved records. */
const UNCOUNTED = 'The disk of the service is full; the call could not be counted. The outcome of a write is unknown.';

export function openUsage(db: Database, options: Pick<SqliteWriteQueueOptions, 'checkpoint' | 'onFatal' | 'clock'>) {
  migrate(db, 'usage');
  const queue = makeWriteQueue(db, { ...options, gather: 'none', syncAfterCommit: true });
  return {
    schema: '',
    read: async <R extends Row>(sql: string, ...values: Bound[]) => db.rows<R>(sql, ...values),

    async addUsage(counts, byKey = []) {
      const totals = await queue.run(() => {
        const sums = new Map<string, number>();
        for (const { teamId, day, operation, calls } of counts) {
          const month = day.slice(0, 7);
          db.run(ADD, teamId, day, operation, calls);
          sums.set(`${teamId} ${month}`, db.row<[number]>(ADD_MONTH, teamId, month, calls)![0]);
        }
        for (const { teamId, month, apiId, name, calls, usedAt } of byKey)
          db.run(ADD_KEY, teamId, month, apiId, name, calls, usedAt);
        return sums;
      });
      if (totals instanceof Refusal && totals.code === 'STORAGE_FULL')
        throw refuseForNow('STORAGE_FULL', UNCOUNTED, 30);
      return orThrow(totals);
    },
    async deleteUsage(teamId: string) {
      const deleted = await queue.run(() => {
        for (const table of ['USAGE', 'MONTH_USAGE']) db.run(`DELETE FROM ${table} WHERE TEAM_ID = ?`, teamId);
      });
      orThrow(deleted);
    },

    /** Bytes of the write-ahead log. */
    get logBytes() {
      return queue.log.bytes;
    },
    async close() {
      await queue.close();
      db.close();
    },
  } satisfies OwnUsage & Record<string, unknown>;
}
