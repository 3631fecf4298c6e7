/**
 * control.db and usage.db of the embedded store. Reads of control.db share a snapshot. Rows that every call needs are
 * kept in memory until the file changes (decision 0009). A commit or a batch of counts is synced in the thread pool
 * before any response, so that it does not block the event loop (decisions 0008 and 0037).
 */
import { randomUUID } from 'node:crypto';
import { orThrow, Refusal, refuseForNow } from '../../errors.ts';
import type { AuditEntry } from '../../audit/audit.ts';
import { isKeyValid, type Scope } from '../../tenant/keys.ts';
import type { Caller, Tenant } from '../../tenant/tenant-port.ts';
import { audited } from '../control/audit.ts';
import type { OwnUsage } from '../control/calls.ts';
import {
  commitWriting,
  TENANT_COLUMNS,
  toTenant,
  updateRows,
  type ControlDatabase,
  type TenantRow,
} from '../control/control.ts';
import type { OwnTenants } from '../control/tenants.ts';
import { statement, type Bound, type Row, type Writing } from '../sql/writing.ts';
import type { Database } from './files/database.ts';
import { migrate, type Owner } from './files/migrate.ts';
import { makeRoundReader } from './reads/round-reader.ts';
import { makeWriteQueue, runWriting, type SqliteWriteQueueOptions } from './write-queue.ts';

/** Maximum number of rows kept. When it is reached, all are dropped. */
const KEPT_MAX = 10_000;

type SqliteControl = ReturnType<typeof openControl>;
type QueueOptions = Omit<SqliteWriteQueueOptions, 'gather'>;

export function openControl(db: Database, options: QueueOptions) {
  // The queue may defer syncs. Other files name the store's identity, so it is on disk before.
  migrate(db, 'control');
  const rows = new Map<string, Row>();
  const queue = makeWriteQueue(db, { ...options, gather: 'round' });
  const reader = makeRoundReader(db, {
    onFatal: options.onFatal,
    onChange: () => rows.clear(),
    unsynced: () => queue.log.unsynced,
  });
  return {
    schema: '',
    readRows: (sql, ...values) => reader.readInRound(() => db.rows(sql, ...values)),
    /** Reads the row of this key. Rows are kept, but are never older than the snapshot of their round. */
    readKept: <R extends Row, T>(sql: string, key: string, parse: (row: R) => T | undefined) =>
      reader.readInRound(() => {
        const kept = rows.get(key) as R | undefined;
        if (kept) return parse(kept);
        const row = db.row<R>(sql, key);
        if (!row) return undefined;
        if (rows.size >= KEPT_MAX) rows.clear();
        rows.set(key, row);
        return parse(row);
      }),
    transaction: (work) =>
      queue.enqueueWork(() => {
        rows.clear();
        return runWriting(db, work());
      }),
    isReadable() {
      try {
        return db.row('SELECT EXISTS (SELECT 1 FROM TENANTS)') !== undefined;
      } catch {
        return false;
      }
    },
    log: queue.log,
    close: queue.close,
  } satisfies ControlDatabase & Record<string, unknown>;
}

const ADD_CALLS = 'INSERT INTO USAGE VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET CALLS = CALLS + excluded.CALLS';
const ADD_MONTH = `INSERT INTO MONTH_USAGE VALUES (?, ?, '', '', ?, '')
  ON CONFLICT DO UPDATE SET CALLS = CALLS + excluded.CALLS RETURNING CALLS`;
const ADD_KEY = `INSERT INTO MONTH_USAGE VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
  CALLS = CALLS + excluded.CALLS, USED_AT = max(USED_AT, excluded.USED_AT)`;

/** The call may already have saved records. */
const UNCOUNTED = 'The disk of the service is full; the call could not be counted. The outcome of a write is unknown.';

/** Opens usage.db. Syncs each batch, which is as durable as an fsync in COMMIT (test/faults/power-loss.ts). */
export function openUsage(db: Database, owner: Owner, options: QueueOptions) {
  migrate(db, 'usage', owner);
  const queue = makeWriteQueue(db, { ...options, gather: 'none', sync: 'after commit' });
  return {
    schema: '',
    readRows: async <R extends Row>(sql: string, ...values: Bound[]) => db.rows<R>(sql, ...values),

    async addUsage(counts, byKey = [], onSyncing) {
      const totals = await queue.enqueueWork(() => {
        const sums = new Map<string, number>();
        for (const { teamId, day, operation, calls } of counts) {
          const month = day.slice(0, 7);
          db.runSql(ADD_CALLS, teamId, day, operation, calls);
          sums.set(`${teamId} ${month}`, db.row<[number]>(ADD_MONTH, teamId, month, calls)![0]);
        }
        for (const { teamId, month, apiId, name, calls, usedAt } of byKey)
          db.runSql(ADD_KEY, teamId, month, apiId, name, calls, usedAt);
        return sums;
      }, onSyncing);
      if (totals instanceof Refusal && totals.code === 'STORAGE_FULL')
        throw refuseForNow('STORAGE_FULL', UNCOUNTED, 30);
      return orThrow(totals);
    },
    async deleteUsage(teamId: string) {
      const deleted = await queue.enqueueWork(() => {
        for (const table of ['USAGE', 'MONTH_USAGE']) db.runSql(`DELETE FROM ${table} WHERE TEAM_ID = ?`, teamId);
      });
      orThrow(deleted);
    },

    log: queue.log,
    close: queue.close,
  } satisfies OwnUsage & Record<string, unknown>;
}

const FIND_CALLER = `SELECT k.SECRET_HASH, k.ENDS_AT, k.NAME, k.SCOPE, ${TENANT_COLUMNS}
  FROM API_KEYS k JOIN TENANTS t ON t.TEAM_ID = k.TEAM_ID WHERE k.API_ID = ?`;

type CallerRow = [secretHash: Uint8Array, endsAt: string, name: string, scope: Scope, ...TenantRow];

/** Functions for a tenant's data outside the control file. */
interface Elsewhere {
  readonly makeFile: (storeId: string) => void;
  /** Deletes a file, or with `others` all files of its tenant. */
  readonly deleteFiles: (storeId: string, others?: boolean) => Promise<void>;
  /** Deletes the counts and the request log. */
  readonly deleteCounts: (teamId: string) => Promise<void>;
}

export function makeOwnTenants(control: SqliteControl, { makeFile, deleteFiles, deleteCounts }: Elsewhere): OwnTenants {
  const deleteRows = (teamId: string, ...tables: string[]) =>
    commitWriting(control, function* () {
      for (const table of tables) yield statement(`DELETE FROM ${table} WHERE TEAM_ID = ?`, teamId);
    });
  return {
    findCaller: (teamId, apiId, now) =>
      control.readKept<CallerRow, Caller>(FIND_CALLER, apiId, ([secretHash, endsAt, name, scope, ...tenant]) =>
        tenant[0] === teamId && isKeyValid(endsAt, now)
          ? { secretHash, key: { apiId, name, scope }, tenant: toTenant(tenant) }
          : undefined,
      ),
    newStore: (teamId) => ({ storeId: newStoreId(teamId) }),

    /** Creates the file before the row, because a row without a file means that the file was lost. */
    async insertTenant(storeId, insert) {
      makeFile(storeId);
      const isNew = await control.transaction(insert);
      if (isNew === false) await deleteFiles(storeId);
      return isNew;
    },
    /** Deletes keys and users first, so that calls end at once, and the tenant last, so that a retry finds it. */
    async deleteTenant({ teamId, storeId }) {
      await deleteRows(teamId, 'API_KEYS', 'USERS');
      await deleteCounts(teamId);
      await deleteFiles(storeId, true);
      await deleteRows(teamId, 'TENANTS');
    },
  };
}

export const newStoreId = (teamId: string): string => `${teamId}.${randomUUID().slice(0, 8)}`;

/** Gives the tenant another file of records. */
export const replaceStore = ({ teamId, storeId }: Tenant, entry: AuditEntry): Writing<void> =>
  audited('', teamId, entry, function* () {
    yield updateRows('TENANTS', { storeId }, 'TEAM_ID = ?', teamId);
  });
