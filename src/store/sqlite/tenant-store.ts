/** Tenants of the embedded store: a row in the control file and files of their own. */
import { randomUUID } from 'node:crypto';
import { isKeyValid, type Scope } from '../../tenant/keys.ts';
import type { Caller, Tenant } from '../../tenant/port.ts';
import type { AuditEntry } from '../../audit/entry.ts';
import { appendAudit, lockAudit } from '../control/audit-store.ts';
import { commit } from '../control/database.ts';
import { insertRow, TENANT_COLUMNS, toTenant, updateRows, type TenantRow } from '../control/rows.ts';
import type { OwnTenants } from '../control/tenant-store.ts';
import { row, run, type Writing } from '../writing.ts';
import type { SqliteControl } from './control-database.ts';

const FIND_CALLER = `SELECT k.SECRET_HASH, k.ENDS_AT, k.NAME, k.SCOPE, ${TENANT_COLUMNS}
  FROM API_KEYS k JOIN TENANTS t ON t.TEAM_ID = k.TEAM_ID WHERE k.API_ID = ?`;

type CallerRow = [secretHash: Uint8Array, endsAt: string, name: string, scope: Scope, ...TenantRow];

/** What a tenant has beside its rows in the control file. */
interface Elsewhere {
  readonly makeFile: (storeId: string) => void;
  readonly deleteFile: (storeId: string) => Promise<void>;
  /** With the lines of the request log. */
  readonly deleteCounts: (teamId: string) => Promise<void>;
}

export class SqliteTenants implements OwnTenants {
  readonly #control: SqliteControl;
  readonly #elsewhere: Elsewhere;

  constructor(control: SqliteControl, elsewhere: Elsewhere) {
    this.#control = control;
    this.#elsewhere = elsewhere;
  }

  findCaller(teamId: string, apiId: string, now: string): Promise<Caller | undefined> {
    return this.#control.readKept<CallerRow, Caller>(
      FIND_CALLER,
      apiId,
      ([secretHash, endsAt, name, scope, ...tenant]) =>
        tenant[0] === teamId && isKeyValid(endsAt, now)
          ? { secretHash, key: { apiId, name, scope }, tenant: toTenant(tenant) }
          : undefined,
    );
  }

  readonly newStoreId = newStoreId;

  /** The file is on disk first: a tenant without one has lost it. */
  async insertTenant(tenant: Tenant, more: () => Writing<void>): ReturnType<OwnTenants['insertTenant']> {
    const { sql, values } = insertRow('TENANTS', { ...tenant, strict: Number(tenant.strict) });
    this.#elsewhere.makeFile(tenant.storeId);
    const made = await this.#control.transaction(function* () {
      const isNew = (yield* row(`${sql} ON CONFLICT DO NOTHING RETURNING 1`, ...values)) !== undefined;
      if (isNew) yield* more();
      return isNew;
    });
    if (made === false) await this.#elsewhere.deleteFile(tenant.storeId);
    return made;
  }

  /** Keys and users go first, so that calls end at once; the tenant goes last, so that a retry finds it. */
  async deleteAll(tenant: Tenant): Promise<void> {
    await this.#delete(tenant, ['API_KEYS', 'USERS']);
    await this.#elsewhere.deleteCounts(tenant.teamId);
    await this.#elsewhere.deleteFile(tenant.storeId);
    await this.#delete(tenant, ['TENANTS']);
  }

  #delete({ teamId }: Tenant, tables: readonly string[]): Promise<void> {
    return commit(this.#control, function* () {
      for (const table of tables) yield* run(`DELETE FROM ${table} WHERE TEAM_ID = ?`, teamId);
    });
  }
}

export const newStoreId = (teamId: string): string => `${teamId}.${randomUUID().slice(0, 8)}`;

/** The tenant's records are in another file from now on. */
export function* replaceStore({ teamId, storeId }: Tenant, entry: AuditEntry): Writing<void> {
  const head = yield* lockAudit('', teamId);
  yield updateRows('TENANTS', { storeId }, 'TEAM_ID = ?', teamId);
  yield* appendAudit(head, entry);
}
