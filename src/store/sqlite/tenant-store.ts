/**
 * The embedded store's TenantStore: tenants and keys in the control file. Keys are checked anew for every call, so a replaced one is dead at once.
 */
import { randomUUID } from 'node:crypto';
import type { Outcome } from '../../errors.ts';
import type { Caller, Tenant, TenantStore } from '../../tenant/port.ts';
import { insist } from '../control/database.ts';
import { FIRST_SETTINGS, refuseTaken, TENANT_COLUMNS, Tenants, toTenant, type TenantRow } from '../control/tenants.ts';
import { row, run } from '../writing.ts';
import type { SqliteControl } from './control-database.ts';

const FIND_CALLER = `SELECT k.SECRET_HASH, k.ENDS_AT, ${TENANT_COLUMNS} FROM API_KEYS k JOIN TENANTS t ON t.TEAM_ID = k.TEAM_ID WHERE k.API_ID = ?`;

export class SqliteTenantStore extends Tenants implements TenantStore {
  readonly #control: SqliteControl;
  readonly #removeData: (tenant: Tenant) => Promise<void>;

  constructor(control: SqliteControl, removeData: (tenant: Tenant) => Promise<void>) {
    super(control);
    this.#control = control;
    this.#removeData = removeData;
  }

  async findCaller(teamId: string, apiId: string, now: string): Promise<Caller | undefined> {
    const found = await this.#control.readKept<[Uint8Array, string, ...TenantRow]>(FIND_CALLER, apiId);
    if (!found || (found[1] !== '' && found[1] <= now)) return undefined;
    const [secretHash, , ...tenant] = found;
    return tenant[0] === teamId ? { secretHash, tenant: toTenant(tenant) } : undefined;
  }

  createTenant(teamId: string, name: string, now: string): Promise<Outcome<Tenant>> {
    const tenant: Tenant = {
      teamId,
      name,
      createdAt: now,
      storeId: `${teamId}.${randomUUID().slice(0, 8)}`,
      ...FIRST_SETTINGS,
    };
    const insert = 'INSERT INTO TENANTS VALUES (?, ?, ?, ?, ?, 0, NULL, NULL) ON CONFLICT DO NOTHING RETURNING 1';
    return this.control.change(function* () {
      return (yield* row(insert, teamId, name, now, tenant.storeId, tenant.defaultStage))
        ? tenant
        : refuseTaken(teamId);
    });
  }

  /** Keys and users go first, so that nobody calls any more, and the tenant last, so that a removal that was cut short can be repeated. */
  async deleteTenant(tenant: Tenant): Promise<void> {
    await this.#delete(tenant, ['API_KEYS', 'USERS']);
    await this.#removeData(tenant);
    await this.#delete(tenant, ['TENANTS']);
  }

  #delete({ teamId }: Tenant, tables: readonly string[]): Promise<void> {
    return insist(this.control.change(function* () {
      for (const table of tables) yield* run(`DELETE FROM ${table} WHERE TEAM_ID = ?`, teamId);
    })); // prettier-ignore
  }
}
