/** The usage of the tenants in any SQL store, by day and operation. Each store adds counts in its own way. */
import type { KeyCount, UsageCount, UsageStore } from '../../tenant/tenant-port.ts';
import type { ReadableTables } from './control.ts';
import { loadRecords } from './rows.ts';

export interface OwnUsage extends ReadableTables, Pick<UsageStore, 'addUsage'> {}

const MONTHS_MAX = 36;
export const USAGE_TABLES: readonly string[] = ['USAGE', 'USAGE_MONTHS', 'KEY_USAGE'];

/** Loads the calls of a month (`2026-11`), by day and operation. */
export function loadCounts(
  db: ReadableTables,
  table: 'USAGE' | 'REFUSALS',
  teamId: string,
  month: string,
): Promise<UsageCount[]> {
  // The count of an operation is 0 if all its calls were subtracted again.
  const where = '"TEAM_ID" = ? AND "DAY" BETWEEN ? AND ? AND "CALLS" > 0 ORDER BY "DAY", "OPERATION"';
  const columns = ['teamId', 'day', 'operation', 'calls'] as const;
  return loadRecords(db, table, columns, where, teamId, `${month}-00`, `${month}-99`);
}

export const makeUsageStore = (own: OwnUsage): UsageStore => ({
  addUsage: (...counts) => own.addUsage(...counts),
  async loadUsage(teamId, month) {
    const where = '"TEAM_ID" = ? AND "MONTH" = ? ORDER BY "NAME", "API_ID"';
    const [counts, byKey] = await Promise.all([
      loadCounts(own, 'USAGE', teamId, month),
      loadRecords<KeyCount>(own, 'KEY_USAGE', ['apiId', 'name', 'calls'], where, teamId, month),
    ]);
    const byDay = counts.map(({ day, operation, calls }) => ({ day, operation, calls }));
    return { total: byDay.reduce((sum, { calls }) => sum + calls, 0), byDay, byKey };
  },
  async loadLastUses(teamId) {
    const from = `FROM ${own.schema}"KEY_USAGE" WHERE "TEAM_ID" = ? GROUP BY "API_ID"`;
    return new Map(await own.read<[string, string]>(`SELECT "API_ID", max("USED_AT") ${from}`, teamId));
  },
  listMonths(teamId) {
    const where = `"TEAM_ID" = ? ORDER BY "MONTH" DESC LIMIT ${MONTHS_MAX}`;
    return loadRecords(own, 'USAGE_MONTHS', ['month', 'calls'], where, teamId);
  },
  loadMonth(month, teamIds) {
    const where = `"MONTH" = ? AND "TEAM_ID" IN (${teamIds.map(() => '?').join(', ')})`;
    return loadRecords(own, 'USAGE_MONTHS', ['teamId', 'calls'], where, month, ...teamIds);
  },
});
