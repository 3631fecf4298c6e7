/** The tenants and their keys in any SQL store. */
import type { AuditEntry } from '../../audit/entry.ts';
import { Refusal, type Outcome } from '../../errors.ts';
import { chooseReplaced, refuseNewPair, sortKeys } from '../../tenant/key-pairs.ts';
import type { Caller, KeyInfo, KeyTerms, NewKey, Tenant, TenantChange, TenantStore } from '../../tenant/port.ts';
import { FIRST_SETTINGS, refuseTaken } from '../../tenant/tenant.ts';
import { row, rows, statement, type Row, type Statement, type Writing } from '../writing.ts';
import { appendAudit, lockAudit } from './audit-store.ts';
import { commit, isPlain, type ControlDatabase } from './database.ts';
import { insertRow, listColumns, TENANT_COLUMNS, toRecord, toTenant, updateRows, type TenantRow } from './rows.ts';

export interface OwnTenants {
  findCaller(teamId: string, apiId: string, now: string): Promise<Caller | undefined>;
  /** A name for a tenant's inventory system that no other has. */
  newStoreId(teamId: string): string;
  /** Inserts a tenant, makes its inventory system and then writes `more`; false when the teamID is taken. */
  insertTenant(tenant: Tenant, more: () => Writing<void>): Promise<Outcome<boolean>>;
  /** Deletes the tenant, its keys, usage, users, requests, audit log and inventory system. */
  deleteAll(tenant: Tenant): Promise<void>;
}

const KEY = ['apiId', 'name', 'scope', 'issuedAt', 'issuedBy', 'endsAt'] as const;

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

  async hasTenants(): Promise<boolean> {
    const [found] = await this.#db.read(`SELECT 1 FROM ${this.#db.schema}"TENANTS" LIMIT 1`);
    return found !== undefined;
  }

  async createTenant(teamId: string, name: string, now: string, entry?: AuditEntry): Promise<Outcome<Tenant>> {
    const tenant = { teamId, name, createdAt: now, storeId: this.#own.newStoreId(teamId), ...FIRST_SETTINGS };
    const { schema } = this.#db;
    const isNew = await this.#own.insertTenant(tenant, function* () {
      if (entry) yield* appendAudit(yield* lockAudit(schema, teamId), entry);
    });
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

  createKeys(
    teamId: string,
    { name, scope, ...newKey }: NewKey & KeyTerms,
    endsAt: string,
    entry: AuditEntry,
  ): Promise<Outcome<void>> {
    const keys = new KeysOf(this.#db.schema, teamId);
    return this.#db.transaction(function* (): Writing<Outcome<void>> {
      const head = yield* lockAudit(keys.schema, teamId);
      const refusal = refuseNewPair(yield* keys.load(entry.at), name);
      if (refusal) return refusal;
      yield* keys.insert(newKey, { name, scope }, endsAt, entry);
      yield* appendAudit(head, entry);
      return undefined;
    });
  }

  replaceKeys(
    teamId: string,
    newKey: NewKey,
    oldEndsAt: string,
    entry: AuditEntry,
    asked?: string,
  ): Promise<Outcome<KeyTerms>> {
    const keys = new KeysOf(this.#db.schema, teamId);
    return this.#db.transaction(function* (): Writing<Outcome<KeyTerms>> {
      const head = yield* lockAudit(keys.schema, teamId);
      const terms = chooseReplaced(yield* keys.load(entry.at), asked, oldEndsAt > entry.at);
      if (terms instanceof Refusal) return terms;
      yield keys.endAll(terms.name, oldEndsAt);
      yield* keys.insert(newKey, terms, '', entry);
      yield* appendAudit(head, { ...entry, detail: { ...entry.detail, name: terms.name } });
      return terms;
    });
  }

  async listKeys(teamId: string, now: string): Promise<KeyInfo[]> {
    const { sql, values } = new KeysOf(this.#db.schema, teamId).select(now);
    return toKeys(await this.#db.read(sql, ...values));
  }

  async endKey(teamId: string, apiId: string, entry: AuditEntry): Promise<boolean> {
    if (!isPlain(apiId)) return false;
    const { schema } = this.#db;
    const valid = `"TEAM_ID" = ? AND "API_ID" = ? AND ("ENDS_AT" = '' OR "ENDS_AT" > ?)`;
    return commit(this.#db, function* (): Writing<boolean> {
      const head = yield* lockAudit(schema, teamId);
      const sql = `DELETE FROM ${schema}"API_KEYS" WHERE ${valid} RETURNING "NAME"`;
      const ended = yield* row<[string]>(sql, teamId, apiId, entry.at);
      if (!ended) return false;
      yield* appendAudit(head, { ...entry, detail: { ...entry.detail, name: ended[0] } });
      return true;
    });
  }
}

/** The statements about the keys of one tenant. */
class KeysOf {
  readonly schema: string;
  readonly #table: string;
  readonly #teamId: string;

  constructor(schema: string, teamId: string) {
    this.schema = schema;
    this.#table = `${schema}"API_KEYS"`;
    this.#teamId = teamId;
  }

  /** Those that are valid, the newest of a name before the ones it replaced. */
  select(now: string): Statement {
    const from = `FROM ${this.#table} k WHERE "TEAM_ID" = ? AND ("ENDS_AT" = '' OR "ENDS_AT" > ?)`;
    const order = `ORDER BY "ENDS_AT" = '' DESC, "ISSUED_AT" DESC, "API_ID"`;
    return statement(`SELECT ${listColumns(KEY, 'k')} ${from} ${order}`, this.#teamId, now);
  }

  *load(now: string): Writing<KeyInfo[]> {
    const { sql, values } = this.select(now);
    return toKeys(yield* rows(sql, ...values));
  }

  /** Those of this name end at a time, unless they end before it. */
  endAll(name: string, endsAt: string): Statement {
    const which = `"TEAM_ID" = ? AND "NAME" = ? AND ("ENDS_AT" = '' OR "ENDS_AT" > ?)`;
    return statement(`UPDATE ${this.#table} SET "ENDS_AT" = ? WHERE ${which}`, endsAt, this.#teamId, name, endsAt);
  }

  /** Takes those that have ended away. */
  *insert({ apiId, secretHash }: NewKey, terms: KeyTerms, endsAt: string, { at, actor }: AuditEntry): Writing<void> {
    const ended = `DELETE FROM ${this.#table} WHERE "TEAM_ID" = ? AND "ENDS_AT" <> '' AND "ENDS_AT" <= ?`;
    yield statement(ended, this.#teamId, at);
    const teamId = this.#teamId;
    yield insertRow(this.#table, { apiId, teamId, secretHash, issuedAt: at, endsAt, issuedBy: actor, ...terms });
  }
}

const toKeys = (found: readonly Row[]): KeyInfo[] =>
  sortKeys(found.map((key) => toRecord<Omit<KeyInfo, 'isReplaced'>>(KEY, key)));
