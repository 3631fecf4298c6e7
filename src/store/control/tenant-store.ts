/** The tenants and their keys in any SQL store. */
import type { AuditEntry } from '../../audit/entry.ts';
import type { Outcome } from '../../errors.ts';
import type { Caller, KeyInfo, NewKey, Tenant, TenantChange, TenantStore } from '../../tenant/port.ts';
import { FIRST_SETTINGS, refuseTaken } from '../../tenant/tenant.ts';
import { row, statement, type Writing } from '../writing.ts';
import { appendAudit, lockAudit } from './audit-store.ts';
import { commit, isPlain, type ControlDatabase } from './database.ts';
import { insertRow, listColumns, TENANT_COLUMNS, toRecord, toTenant, updateRows, type TenantRow } from './rows.ts';

export interface OwnTenants {
  findCaller(teamId: string, apiId: string, now: string): Promise<Caller | undefined>;
  /** A name for a new tenant's inventory system that no other has. */
  newStoreId(teamId: string): string;
  /** Inserts a tenant and makes its inventory system; false when the teamID is taken. */
  insertTenant(tenant: Tenant): Promise<Outcome<boolean>>;
  /** Deletes the tenant, its keys, usage, users, requests, audit log and inventory system. */
  deleteAll(tenant: Tenant): Promise<void>;
}

const KEY = ['apiId', 'issuedAt', 'issuedBy', 'endsAt'] as const;

export class SqlTenantStore implements TenantStore {
  readonly #db: ControlDatabase;
  readonly #own: OwnTenants;

  constructor(db: ControlDatabase, own: OwnTenants) {
    this.#db = db;
    this.#own = own;
  }

  findCaller(teamId: string, apiId: string, now: string): Promise<Caller | undefined> {
    return this.#own.findCaller(teamId, apiId, now);
  }

  async findTenant(teamId: string): Promise<Tenant | undefined> {
    if (!isPlain(teamId)) return undefined;
    const sql = `SELECT ${TENANT_COLUMNS} FROM ${this.#db.schema}"TENANTS" t WHERE t."TEAM_ID" = ?`;
    const [found] = await this.#db.read<TenantRow>(sql, teamId);
    return found && toTenant(found);
  }

  async listTenants(): Promise<Tenant[]> {
    const sql = `SELECT ${TENANT_COLUMNS} FROM ${this.#db.schema}"TENANTS" t ORDER BY t."TEAM_ID"`;
    return (await this.#db.read<TenantRow>(sql)).map(toTenant);
  }

  async createTenant(teamId: string, name: string, now: string): Promise<Outcome<Tenant>> {
    const tenant = { teamId, name, createdAt: now, storeId: this.#own.newStoreId(teamId), ...FIRST_SETTINGS };
    const isNew = await this.#own.insertTenant(tenant);
    return isNew === true ? tenant : isNew || refuseTaken(teamId);
  }

  deleteTenant(tenant: Tenant): Promise<void> {
    return this.#own.deleteAll(tenant);
  }

  updateTenant(teamId: string, change: TenantChange, entry: AuditEntry | null): Promise<void> {
    const { schema } = this.#db;
    const { name, defaultStage, strict, monthQuota, callsPerSecond } = change;
    const settings = { name, defaultStage, strict: Number(strict), monthQuota, callsPerSecond };
    return commit(this.#db, function* () {
      const head = entry && (yield* lockAudit(schema, teamId));
      yield updateRows(`${schema}"TENANTS"`, settings, '"TEAM_ID" = ?', teamId);
      if (head && entry) yield* appendAudit(head, entry);
    });
  }

  replaceKeys(teamId: string, newKey: NewKey, oldEndsAt: string, entry: AuditEntry): Promise<void> {
    const { schema } = this.#db;
    const { apiId, secretHash } = newKey;
    const keys = `${schema}"API_KEYS"`;
    const endOld = `UPDATE ${keys} SET "ENDS_AT" = ? WHERE "TEAM_ID" = ? AND ("ENDS_AT" = '' OR "ENDS_AT" > ?)`;
    const deleteEnded = `DELETE FROM ${keys} WHERE "TEAM_ID" = ? AND "ENDS_AT" <> '' AND "ENDS_AT" <= ?`;
    const key = { apiId, teamId, secretHash, issuedAt: entry.at, endsAt: '', issuedBy: entry.actor };
    return commit(this.#db, function* () {
      const head = yield* lockAudit(schema, teamId);
      yield statement(endOld, oldEndsAt, teamId, oldEndsAt);
      yield statement(deleteEnded, teamId, entry.at);
      yield insertRow(keys, key);
      yield* appendAudit(head, entry);
    });
  }

  async listKeys(teamId: string, now: string): Promise<KeyInfo[]> {
    const from = `FROM ${this.#db.schema}"API_KEYS" k WHERE "TEAM_ID" = ? AND ("ENDS_AT" = '' OR "ENDS_AT" > ?)`;
    const order = `ORDER BY "ENDS_AT" = '' DESC, "ISSUED_AT" DESC, "API_ID"`;
    const found = await this.#db.read(`SELECT ${listColumns(KEY, 'k')} ${from} ${order}`, teamId, now);
    return found.map((key) => toRecord<KeyInfo>(KEY, key));
  }

  async endKey(teamId: string, apiId: string, entry: AuditEntry): Promise<boolean> {
    if (!isPlain(apiId)) return false;
    const { schema } = this.#db;
    const replaced = `"TEAM_ID" = ? AND "API_ID" = ? AND "ENDS_AT" <> '' AND "ENDS_AT" > ?`;
    return commit(this.#db, function* (): Writing<boolean> {
      const head = yield* lockAudit(schema, teamId);
      const sql = `DELETE FROM ${schema}"API_KEYS" WHERE ${replaced} RETURNING 1`;
      if (!(yield* row(sql, teamId, apiId, entry.at))) return false;
      yield* appendAudit(head, entry);
      return true;
    });
  }
}
