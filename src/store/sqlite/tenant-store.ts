/** Tenants of the embedded store: a row in the control file and files of their own. */
import { randomUUID } from 'node:crypto';
import { isKeyValid, type Scope } from '../../tenant/keys.ts';
import type { Caller, Tenant } from '../../tenant/port.ts';
import { commit } from '../control/database.ts';
import { insertRow, TENANT_COLUMNS, toTenant, type TenantRow } from '../control/rows.ts';
import type { OwnTenants } from '../control/tenant-store.ts';
import { row, run, type Writing } from '../writing.ts';
import type { SqliteControl } from './control-database.ts';

const FIND_CALLER = `SELECT k.SECRET_HASH, k.ENDS_AT, k.NAME, k.SCOPE, ${TENANT_COLUMNS}
  FROM API_KEYS k JOIN TENANTS t ON t.TEAM_ID = k.TEAM_ID WHERE k.API_ID = ?`;

type CallerRow = [secretHash: Uint8Array, endsAt: string, name: string, scope: Scope, ...TenantRow];

export class SqliteTenants implements OwnTenants {
  readonly #control: SqliteControl;
  readonly #deleteFiles: (tenant: Tenant) => Promise<void>;

  constructor(control: SqliteControl, deleteFiles: (tenant: Tenant) => Promise<void>) {
    this.#control = control;
    this.#deleteFiles = deleteFiles;
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

  newStoreId(teamId: string): string {
    return `${teamId}.${randomUUID().slice(0, 8)}`;
  }

  insertTenant(tenant: Tenant, more: () => Writing<void>): ReturnType<OwnTenants['insertTenant']> {
    const { sql, values } = insertRow('TENANTS', { ...tenant, strict: Number(tenant.strict) });
    return this.#control.transaction(function* () {
      const isNew = (yield* row(`${sql} ON CONFLICT DO NOTHING RETURNING 1`, ...values)) !== undefined;
      if (isNew) yield* more();
      return isNew;
    });
  }

  /** Keys and users go first, so that calls end at once; the tenant goes last, so that a retry finds it. */
  async deleteAll(tenant: Tenant): Promise<void> {
    await this.#delete(tenant, ['API_KEYS', 'USERS']);
    await this.#deleteFiles(tenant);
    await this.#delete(tenant, ['TENANTS']);
  }

  #delete({ teamId }: Tenant, tables: readonly string[]): Promise<void> {
    return commit(this.#control, function* () {
      for (const table of tables) yield* run(`DELETE FROM ${table} WHERE TEAM_ID = ?`, teamId);
    });
  }
}
