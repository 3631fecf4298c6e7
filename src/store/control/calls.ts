/**
 * The calls of the tenants in any SQL store: their usage by day and operation, and the request log. Each store adds
 * counts and inserts blocks in its own way.
 */
import { setImmediate as nextRound } from 'node:timers/promises';
import type { KeyUse, RequestBlock, RequestStore } from '../../request-log/request-log-port.ts';
import type { KeyCount, UsageCount, UsageStore } from '../../tenant/tenant-port.ts';
import type { Bound } from '../sql/writing.ts';
import { loadRecords, type ReadableTables } from './control.ts';

export interface OwnUsage extends ReadableTables, Pick<UsageStore, 'addUsage'> {}

const MONTHS_MAX = 36;
export const USAGE_TABLES: readonly string[] = ['USAGE', 'USAGE_MONTHS', 'KEY_USAGE'];

/** Loads the calls of a month (`2026-11`), by day and operation. */
function loadCounts(
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
  addUsage: own.addUsage,
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
    return new Map(await own.readRows<[string, string]>(`SELECT "API_ID", max("USED_AT") ${from}`, teamId));
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

export interface OwnRequests extends ReadableTables, Pick<RequestStore, 'addRequests'> {
  /** Reads like `readRows`, but for large rows. */
  readBlocks: ReadableTables['readRows'];
  /** Deletes some of the tenant's blocks below an ID or a time. Returns false when none is left. */
  deleteSome(teamId: string, before: string): Promise<boolean>;
}

/** A text that sorts after all times. */
export const END_OF_TIME = '~';
const BLOCK = ['teamId', 'blockId', 'firstAt', 'boot', 'firstNumber', 'lastNumber', 'lines'] as const;
/** Blocks of a boot hardly overlap, so the block of a number is among the last that begin before it. */
const OVERLAPPING_MAX = 400;
const FOUND_MAX = 50;
/** The bytes of a block without its lines, as the triggers of "REQUEST_BYTES" count them. */
const BLOCK_BYTES = 200;
/** Each store deletes at least this many at a time. */
const BLOCKS_PER_TRIM = 50;

export function makeRequestStore(own: OwnRequests): RequestStore {
  const [requests, bytes] = [`${own.schema}"REQUESTS"`, `${own.schema}"REQUEST_BYTES"`];
  const large = { schema: own.schema, readRows: own.readBlocks.bind(own) };
  const loadBlocks = (where: string, ...values: Bound[]) =>
    loadRecords<RequestBlock>(large, 'REQUESTS', BLOCK, where, ...values);
  return {
    addRequests: own.addRequests,
    loadBlocks(teamId, { before, from, to }, limit) {
      const within = '"BLOCK_ID" < ? AND "BLOCK_ID" >= ? AND "FIRST_AT" <= ?';
      const where = `"TEAM_ID" = ? AND ${within} ORDER BY "BLOCK_ID" DESC LIMIT ?`;
      return loadBlocks(where, teamId, before || END_OF_TIME, from, to || END_OF_TIME, limit);
    },
    findBlocks(teamId, boot, number) {
      const begun = `SELECT "BLOCK_ID" AS id, "LAST_NUMBER" AS last FROM ${requests} WHERE "TEAM_ID" = ?
        AND "BOOT" = ? AND "FIRST_NUMBER" <= ? ORDER BY "FIRST_NUMBER" DESC LIMIT ${OVERLAPPING_MAX}`;
      const where = `"TEAM_ID" = ? AND "BLOCK_ID" IN (SELECT id FROM (${begun}) begun WHERE last >= ?)
        ORDER BY "FIRST_NUMBER" DESC LIMIT ${FOUND_MAX}`;
      return loadBlocks(where, teamId, teamId, boot, number, number);
    },
    loadRefusals: (teamId, month) => loadCounts(own, 'REFUSALS', teamId, month),
    loadKeyUses: (teamId) =>
      loadRecords<KeyUse>(
        own,
        'KEY_USES',
        ['apiId', 'usedAt', 'client', 'usedInUrlAt'],
        '"TEAM_ID" = ? ORDER BY "API_ID"',
        teamId,
      ),

    async trimRequests(bytesMax) {
      const largest = `SELECT min("TEAM_ID") FROM ${bytes} WHERE "BYTES" > ?`;
      // Excess and blocks come from one statement, so that nodes that trim at the same time choose the same blocks.
      const oldest = `SELECT "BLOCK_ID", length("LINES") + ${BLOCK_BYTES}, b."BYTES" - ?
        FROM ${requests} r JOIN ${bytes} b ON b."TEAM_ID" = r."TEAM_ID"
        WHERE r."TEAM_ID" = ? ORDER BY "BLOCK_ID" LIMIT ${BLOCKS_PER_TRIM}`;
      for (;;) {
        const [[teamId] = [null]] = await own.readRows<[string | null]>(largest, bytesMax);
        if (teamId === null) return;
        let [last, taken] = ['', 0];
        for (const [blockId, size, excess] of await own.readRows<[string, number, number]>(oldest, bytesMax, teamId))
          if (taken < excess) [last, taken] = [blockId, taken + size];
        if (last === '') return;
        await own.deleteSome(teamId, last + END_OF_TIME);
        await nextRound();
      }
    },
    async deleteRequestsBefore(before) {
      const next = `SELECT min("TEAM_ID") FROM ${requests} WHERE "TEAM_ID" > ?`;
      for (let after = ''; ;) {
        const [[teamId] = [null]] = await own.readRows<[string | null]>(next, after);
        if (teamId === null) return;
        while (await own.deleteSome(teamId, before)) await nextRound();
        after = teamId;
      }
    },
  };
}
