/**
 * The embedded store's UsageStore: metered calls in a file of their own. A batch is one transaction whose log is synced in the thread pool before
 * anybody is answered: as durable as an fsync in COMMIT, without stopping the event loop (test/faults/power-loss.ts proves it; decision 0008).
 */
import { Refusal } from '../../errors.ts';
import type { MonthUsage, UsageCount, UsageStore } from '../../tenant/port.ts';
import type { Database } from './database.ts';
import { migrate } from './migrate.ts';
import { SqliteWriteQueue, type SqliteWriteQueueOptions } from './write-queue.ts';

const ADD = 'INSERT INTO USAGE VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET CALLS = CALLS + excluded.CALLS';
const ADD_MONTH =
  'INSERT INTO USAGE_MONTHS VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET CALLS = CALLS + excluded.CALLS RETURNING CALLS';

/** The call's own records may have been written before its count found no space. */
const uncounted = (): Refusal =>
  new Refusal(
    'STORAGE_FULL',
    'The disk of the service is full; the call could not be counted. The outcome of a write is unknown.',
    { retryAfterSeconds: 30 },
  );

export class SqliteUsageStore implements UsageStore {
  readonly #db: Database;
  readonly #queue: SqliteWriteQueue;

  constructor(db: Database, options: Pick<SqliteWriteQueueOptions, 'checkpoint' | 'onFatal'>) {
    migrate(db, 'usage');
    this.#db = db;
    this.#queue = new SqliteWriteQueue(db, { ...options, gather: 'none', syncAfterCommit: true });
  }

  async addUsage(counts: readonly UsageCount[]): Promise<ReadonlyMap<string, number>> {
    const totals = await this.#queue.run(() => {
      const sums = new Map<string, number>();
      for (const { teamId, day, operation, calls } of counts) {
        const month = day.slice(0, 7);
        this.#db.run(ADD, teamId, day, operation, calls);
        sums.set(`${teamId} ${month}`, this.#db.row<[number]>(ADD_MONTH, teamId, month, calls)![0]);
      }
      return sums;
    });
    if (totals instanceof Refusal) throw totals.code === 'STORAGE_FULL' ? uncounted() : totals;
    return totals;
  }

  async loadUsage(teamId: string, month: string): Promise<MonthUsage> {
    const rows = this.#db.rows<[string, string, number]>(
      'SELECT DAY, OPERATION, CALLS FROM USAGE WHERE TEAM_ID = ? AND DAY BETWEEN ? AND ? ORDER BY DAY, OPERATION',
      teamId,
      `${month}-00`,
      `${month}-99`,
    );
    const byDay = rows.map(([day, operation, calls]) => ({ day, operation, calls }));
    return { total: byDay.reduce((sum, { calls }) => sum + calls, 0), byDay };
  }

  async listMonths(teamId: string): Promise<{ month: string; calls: number }[]> {
    const rows = this.#db.rows<[string, number]>(
      'SELECT MONTH, CALLS FROM USAGE_MONTHS WHERE TEAM_ID = ? ORDER BY MONTH DESC LIMIT 36',
      teamId,
    );
    return rows.map(([month, calls]) => ({ month, calls }));
  }

  /** Forgets the calls of a removed tenant. */
  async deleteUsage(teamId: string): Promise<void> {
    const removed = await this.#queue.run(() => {
      for (const table of ['USAGE', 'USAGE_MONTHS']) this.#db.run(`DELETE FROM ${table} WHERE TEAM_ID = ?`, teamId);
      return true;
    });
    if (removed instanceof Refusal) throw removed;
  }

  async close(): Promise<void> {
    await this.#queue.close();
    this.#db.close();
  }
}
