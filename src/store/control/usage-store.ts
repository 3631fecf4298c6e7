/** The usage of the tenants in any SQL store, by day and operation. Each store adds counts in its own way. */
import type { KeyCount, MonthUsage, UsageCount, UsageStore } from '../../tenant/port.ts';
import type { ReadableTables } from './database.ts';
import { listColumns, toRecord } from './rows.ts';

export interface OwnUsage extends ReadableTables {
  addCounts(counts: readonly UsageCount[], byKey: readonly KeyCount[]): ReturnType<UsageStore['addUsage']>;
}

const COUNT = ['teamId', 'day', 'operation', 'calls'] as const;
const KEY_COUNT = ['apiId', 'name', 'calls'] as const;
const MONTHS_MAX = 36;
export const USAGE_TABLES: readonly string[] = ['USAGE', 'USAGE_MONTHS', 'KEY_USAGE'];

/** The calls of a month (`2026-11`), by day and operation. */
export async function loadCounts(
  db: ReadableTables,
  table: 'USAGE' | 'REFUSALS',
  teamId: string,
  month: string,
): Promise<UsageCount[]> {
  // None are left of an operation whose calls were taken back.
  const where = '"TEAM_ID" = ? AND "DAY" BETWEEN ? AND ? AND "CALLS" > 0 ORDER BY "DAY", "OPERATION"';
  const sql = `SELECT ${listColumns(COUNT, 'c')} FROM ${db.schema}"${table}" c WHERE ${where}`;
  const found = await db.read(sql, teamId, `${month}-00`, `${month}-99`);
  return found.map((count) => toRecord<UsageCount>(COUNT, count));
}

export class SqlUsageStore implements UsageStore {
  readonly #own: OwnUsage;

  constructor(own: OwnUsage) {
    this.#own = own;
  }

  addUsage(counts: readonly UsageCount[], byKey: readonly KeyCount[] = []): Promise<ReadonlyMap<string, number>> {
    return this.#own.addCounts(counts, byKey);
  }

  async loadUsage(teamId: string, month: string): Promise<MonthUsage> {
    const from = `FROM ${this.#own.schema}"KEY_USAGE" k WHERE "TEAM_ID" = ? AND "MONTH" = ? ORDER BY "NAME", "API_ID"`;
    const [counts, found] = await Promise.all([
      loadCounts(this.#own, 'USAGE', teamId, month),
      this.#own.read(`SELECT ${listColumns(KEY_COUNT, 'k')} ${from}`, teamId, month),
    ]);
    const byDay = counts.map(({ day, operation, calls }) => ({ day, operation, calls }));
    const byKey = found.map((key) => toRecord<MonthUsage['byKey'][number]>(KEY_COUNT, key));
    return { total: byDay.reduce((sum, { calls }) => sum + calls, 0), byDay, byKey };
  }

  async loadLastUses(teamId: string): Promise<ReadonlyMap<string, string>> {
    const from = `FROM ${this.#own.schema}"KEY_USAGE" WHERE "TEAM_ID" = ? GROUP BY "API_ID"`;
    return new Map(await this.#own.read<[string, string]>(`SELECT "API_ID", max("USED_AT") ${from}`, teamId));
  }

  async listMonths(teamId: string): Promise<{ month: string; calls: number }[]> {
    const from = `FROM ${this.#own.schema}"USAGE_MONTHS" WHERE "TEAM_ID" = ? ORDER BY "MONTH" DESC LIMIT ${MONTHS_MAX}`;
    const found = await this.#own.read<[string, number]>(`SELECT "MONTH", "CALLS" ${from}`, teamId);
    return found.map(([month, calls]) => ({ month, calls }));
  }
}
