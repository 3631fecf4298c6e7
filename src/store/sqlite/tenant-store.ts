/**
 * The embedded store's TenantStore: tenants and keys in the control file. Keys are read anew for every call, so a replaced one is dead at once.
 * Writes are rare and made by administrators; each commits by itself.
 */
import { randomUUID } from 'node:crypto';
import { Refusal, type Outcome } from '../../errors.ts';
import type { Caller, Tenant, TenantSettings, TenantStore } from '../../tenant/store.ts';
import type { Database } from './database.ts';
import { migrate } from './migrate.ts';
import { TurnReader } from './turn-reader.ts';

type TenantRow = [string, string, string, string, TenantSettings['defaultStage'], number, number | null, number | null];

const COLUMNS = ['TEAM_ID', 'NAME', 'CREATED_AT', 'STORE_ID', 'DEFAULT_STAGE', 'STRICT', 'MONTH_QUOTA', 'CALLS_PER_SECOND']
  .map((name) => `t.${name}`)
  .join(', ');
const FIND_CALLER = `SELECT k.SECRET_HASH, k.ENDS_AT, ${COLUMNS} FROM API_KEYS k JOIN TENANTS t ON t.TEAM_ID = k.TEAM_ID WHERE k.API_ID = ? AND k.TEAM_ID = ?`;

export class SqliteTenantStore implements TenantStore {
  readonly #db: Database;
  readonly #reader: TurnReader;
  readonly #removeData: (tenant: Tenant) => Promise<void>;

  constructor(db: Database, onFatal: (fault: unknown) => void, removeData: (tenant: Tenant) => Promise<void>) {
    migrate(db, 'control');
    this.#db = db;
    this.#reader = new TurnReader(db, onFatal);
    this.#removeData = removeData;
  }

  async findCaller(teamId: string, apiId: string, now: string): Promise<Caller | undefined> {
    const row = await this.#reader.read(() => this.#db.row<[Uint8Array, string, ...TenantRow]>(FIND_CALLER, apiId, teamId));
    if (!row || (row[1] !== '' && row[1] <= now)) return undefined;
    const [secretHash, , ...tenant] = row;
    return { secretHash, tenant: toTenant(tenant) };
  }

  async findTenant(teamId: string): Promise<Tenant | undefined> {
    const row = this.#db.row<TenantRow>(`SELECT ${COLUMNS} FROM TENANTS t WHERE t.TEAM_ID = ?`, teamId);
    return row && toTenant(row);
  }

  async listTenants(): Promise<Tenant[]> {
    return this.#db.rows<TenantRow>(`SELECT ${COLUMNS} FROM TENANTS t ORDER BY t.TEAM_ID`).map(toTenant);
  }

  async createTenant(teamId: string, name: string, now: string): Promise<Outcome<Tenant>> {
    const storeId = `${teamId}.${randomUUID().slice(0, 8)}`;
    const settings: TenantSettings = { defaultStage: 'worksheet', strict: false, monthQuota: null, callsPerSecond: null };
    const insert = 'INSERT INTO TENANTS VALUES (?, ?, ?, ?, ?, 0, NULL, NULL) ON CONFLICT DO NOTHING';
    const added = this.#db.run(insert, teamId, name, now, storeId, settings.defaultStage);
    if (added === 1) return { teamId, name, createdAt: now, storeId, ...settings };
    return new Refusal('COMMAND_REFUSED', `There is a tenant '${teamId}' already (upper and lower case count as the same).`);
  }

  async updateTenant(teamId: string, { defaultStage, strict, monthQuota, callsPerSecond }: TenantSettings): Promise<void> {
    const update = 'UPDATE TENANTS SET DEFAULT_STAGE = ?, STRICT = ?, MONTH_QUOTA = ?, CALLS_PER_SECOND = ? WHERE TEAM_ID = ?';
    this.#db.run(update, defaultStage, Number(strict), monthQuota, callsPerSecond, teamId);
  }

  /** Keys go first, so that nobody calls any more, and the tenant last, so that a removal that was cut short can be repeated. */
  async removeTenant(tenant: Tenant): Promise<void> {
    this.#db.run('DELETE FROM API_KEYS WHERE TEAM_ID = ?', tenant.teamId);
    await this.#removeData(tenant);
    this.#db.run('DELETE FROM TENANTS WHERE TEAM_ID = ?', tenant.teamId);
  }

  async replaceKeys(teamId: string, key: { apiId: string; secretHash: Uint8Array }, now: string, oldEndsAt: string): Promise<void> {
    this.#db.run('BEGIN IMMEDIATE');
    try {
      this.#db.run("UPDATE API_KEYS SET ENDS_AT = ? WHERE TEAM_ID = ? AND (ENDS_AT = '' OR ENDS_AT > ?)", oldEndsAt, teamId, oldEndsAt);
      this.#db.run("DELETE FROM API_KEYS WHERE TEAM_ID = ? AND ENDS_AT <> '' AND ENDS_AT <= ?", teamId, now);
      this.#db.run("INSERT INTO API_KEYS VALUES (?, ?, ?, ?, '')", key.apiId, teamId, key.secretHash, now);
      this.#db.run('COMMIT');
    } catch (fault) {
      this.#db.run('ROLLBACK');
      throw fault;
    }
  }
}

function toTenant([teamId, name, createdAt, storeId, defaultStage, strict, monthQuota, callsPerSecond]: TenantRow): Tenant {
  return { teamId, name, createdAt, storeId, defaultStage, strict: strict === 1, monthQuota, callsPerSecond };
}
