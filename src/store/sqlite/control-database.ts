/**
 * control.db of the embedded store: reads share a snapshot, and each commit is synced. Rows that every call needs are
 * kept in memory until the file changes (decision 0009). A tenant has a row in this file and its own file of records.
 */
import { randomUUID } from 'node:crypto';
import type { AuditEntry } from '../../audit/entry.ts';
import { isKeyValid, type Scope } from '../../tenant/keys.ts';
import type { Caller, Tenant } from '../../tenant/tenant-port.ts';
import { audited } from '../control/audit.ts';
import {
  commit,
  TENANT_COLUMNS,
  toTenant,
  updateRows,
  type ControlDatabase,
  type TenantRow,
} from '../control/control.ts';
import type { OwnTenants } from '../control/tenants.ts';
import { statement, type Row, type Writing } from '../writing.ts';
import type { Database } from './files/database.ts';
import { migrate } from './files/migrate.ts';
import { makeTurnReader } from './reads/turn-reader.ts';
import { makeWriteQueue, runWriting, type SqliteWriteQueueOptions } from './writes/write-queue.ts';

/** Maximum number of rows kept. When it is reached, all are dropped. */
const KEPT_MAX = 10_000;

type SqliteControl = ReturnType<typeof openControl>;

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
    get logBytes() {
      return queue.log.bytes;
    },
    async close() {
      await queue.close();
      db.close();
    },
  } satisfies ControlDatabase & Record<string, unknown>;
}

const FIND_CALLER = `SELECT k.SECRET_HASH, k.ENDS_AT, k.NAME, k.SCOPE, ${TENANT_COLUMNS}
  FROM API_KEYS k JOIN TENANTS t ON t.TEAM_ID = k.TEAM_ID WHERE k.API_ID = ?`;

type CallerRow = [secretHash: Uint8Array, endsAt: string, name: string, scope: Scope, ...TenantRow];

/** Functions for a tenant's data outside the control file. */
interface Elsewhere {
  readonly makeFile: (storeId: string) => void;
  readonly deleteFile: (storeId: string) => Promise<void>;
  /** Deletes the counts and the request log. */
  readonly deleteCounts: (teamId: string) => Promise<void>;
}

export function makeOwnTenants(control: SqliteControl, { makeFile, deleteFile, deleteCounts }: Elsewhere): OwnTenants {
  const deleteRows = (teamId: string, ...tables: string[]) =>
    commit(control, function* () {
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
      if (isNew === false) await deleteFile(storeId);
      return isNew;
    },
    /** Deletes keys and users first, so that calls end at once, and the tenant last, so that a retry finds it. */
    async deleteTenant({ teamId, storeId }) {
      await deleteRows(teamId, 'API_KEYS', 'USERS');
      await deleteCounts(teamId);
      await deleteFile(storeId);
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
