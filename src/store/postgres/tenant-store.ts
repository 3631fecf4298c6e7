/**
 * PostgreSQL's TenantStore: tenants and keys in the control schema, shared by all nodes. Keys are read from the database for every call, so a replaced
 * one is dead on every node at once; calls that arrive together are looked up together.
 */
import { randomBytes } from 'node:crypto';
import { Refusal, type Outcome } from '../../errors.ts';
import type { Caller, Tenant, TenantSettings, TenantStore } from '../../tenant/store.ts';
import { Batch } from './batch.ts';
import type { Connection } from './connection.ts';
import { CONTROL, PIMS_VERSION, writeTenantScript } from './migrate.ts';
import type { Pool, Slot } from './pool.ts';

type TenantRow = [string, string, string, string, TenantSettings['defaultStage'], boolean, number | null, number | null];

const COLUMNS = ['TEAM_ID', 'NAME', 'CREATED_AT', 'STORE_ID', 'DEFAULT_STAGE', 'STRICT', 'MONTH_QUOTA', 'CALLS_PER_SECOND']
  .map((name) => `t."${name}"`)
  .join(', ');
const TENANTS = `${CONTROL}."TENANTS"`;
const KEYS = `${CONTROL}."API_KEYS"`;
const FIND_CALLERS = `SELECT k."API_ID", k."SECRET_HASH", k."ENDS_AT", ${COLUMNS}
  FROM unnest(?::text[], ?::text[]) AS q(api_id, team_id) JOIN ${KEYS} k ON k."API_ID" = q.api_id AND k."TEAM_ID" = q.team_id JOIN ${TENANTS} t ON t."TEAM_ID" = k."TEAM_ID"`;
const FIND_TENANT = `SELECT ${COLUMNS} FROM ${TENANTS} t WHERE t."TEAM_ID" = ?`;
const LIST_TENANTS = `SELECT ${COLUMNS} FROM ${TENANTS} t ORDER BY t."TEAM_ID"`;
/** What a teamID and an apiID are made of; anything else belongs to nobody, and would not all be taken by the database. */
const PLAIN = /^[!-~]{1,256}$/;

interface FoundKey {
  readonly caller: Caller;
  readonly endsAt: string;
}

export class PostgresTenantStore implements TenantStore {
  readonly #slot: Slot;
  readonly #writers: Pool;
  readonly #openOwn: () => Promise<Connection>;
  readonly #callers: Batch<FoundKey>;

  /** `openOwn` opens a connection without time limits, for what makes or removes many tables. */
  constructor(slot: Slot, writers: Pool, openOwn: () => Promise<Connection>) {
    this.#slot = slot;
    this.#writers = writers;
    this.#openOwn = openOwn;
    this.#callers = new Batch((questions) => this.#findCallers(questions));
  }

  async findCaller(teamId: string, apiId: string, now: string): Promise<Caller | undefined> {
    if (!PLAIN.test(teamId) || !PLAIN.test(apiId)) return undefined;
    const found = await this.#callers.ask(`${apiId} ${teamId}`);
    return found && (found.endsAt === '' || found.endsAt > now) ? found.caller : undefined;
  }

  async findTenant(teamId: string): Promise<Tenant | undefined> {
    const [row] = PLAIN.test(teamId) ? await this.#slot.ask<TenantRow>(FIND_TENANT, [teamId]) : [];
    return row && toTenant(row);
  }

  async listTenants(): Promise<Tenant[]> {
    return (await this.#slot.ask<TenantRow>(LIST_TENANTS, [])).map(toTenant);
  }

  async createTenant(teamId: string, name: string, now: string): Promise<Outcome<Tenant>> {
    const storeId = `pims_${randomBytes(8).toString('hex')}`;
    const settings: TenantSettings = { defaultStage: 'worksheet', strict: false, monthQuota: null, callsPerSecond: null };
    return this.#makeOrRemove(async (connection) => {
      const added = await connection.query(
        `INSERT INTO ${TENANTS} ("TEAM_ID", "NAME", "CREATED_AT", "STORE_ID", "DEFAULT_STAGE", "STRICT", "SCHEMA_VERSION") VALUES (?, ?, ?, ?, ?, FALSE, ?)
          ON CONFLICT DO NOTHING RETURNING 1`,
        [teamId, name, now, storeId, settings.defaultStage, PIMS_VERSION()],
      );
      if (added.length === 0) return new Refusal('COMMAND_REFUSED', `There is a tenant '${teamId}' already (upper and lower case count as the same).`);
      await connection.execute(writeTenantScript(storeId));
      return { teamId, name, createdAt: now, storeId, ...settings };
    });
  }

  async updateTenant(teamId: string, { defaultStage, strict, monthQuota, callsPerSecond }: TenantSettings): Promise<void> {
    const update = `UPDATE ${TENANTS} SET "DEFAULT_STAGE" = ?, "STRICT" = ?, "MONTH_QUOTA" = ?, "CALLS_PER_SECOND" = ? WHERE "TEAM_ID" = ?`;
    await this.#write((connection) => connection.query(update, [defaultStage, String(strict), monthQuota, callsPerSecond, teamId]));
  }

  /** One transaction: keys, usage, records and the tenant itself go together. */
  async removeTenant({ teamId, storeId }: Tenant): Promise<void> {
    await this.#makeOrRemove(async (connection) => {
      for (const table of ['USAGE', 'USAGE_MONTHS', 'TENANTS']) await connection.query(`DELETE FROM ${CONTROL}."${table}" WHERE "TEAM_ID" = ?`, [teamId]);
      await connection.execute(`DROP SCHEMA IF EXISTS "${storeId}" CASCADE`);
    });
  }

  async replaceKeys(teamId: string, key: { apiId: string; secretHash: Uint8Array }, now: string, oldEndsAt: string): Promise<void> {
    await this.#write(async (connection) => {
      // Of two replacements at once, on whatever nodes, the second ends the key of the first.
      await connection.query(`SELECT 1 FROM ${TENANTS} WHERE "TEAM_ID" = ? FOR UPDATE`, [teamId]);
      await connection.query(`UPDATE ${KEYS} SET "ENDS_AT" = ? WHERE "TEAM_ID" = ? AND ("ENDS_AT" = '' OR "ENDS_AT" > ?)`, [oldEndsAt, teamId, oldEndsAt]);
      await connection.query(`DELETE FROM ${KEYS} WHERE "TEAM_ID" = ? AND "ENDS_AT" <> '' AND "ENDS_AT" <= ?`, [teamId, now]);
      await connection.query(`INSERT INTO ${KEYS} VALUES (?, ?, ?, ?, '')`, [key.apiId, teamId, key.secretHash, now]);
    });
  }

  #write<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#writers.use(0, (slot) => slot.transaction(work));
  }

  async #makeOrRemove<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.#openOwn();
    try {
      await connection.execute('BEGIN');
      const result = await work(connection);
      await connection.commit();
      return result;
    } finally {
      await connection.close();
    }
  }

  async #findCallers(questions: string[]): Promise<ReadonlyMap<string, FoundKey>> {
    const pairs = questions.map((question) => question.split(' ') as [string, string]);
    const rows = await this.#slot.ask<[string, Uint8Array, string, ...TenantRow]>(FIND_CALLERS, [
      pairs.map(([apiId]) => apiId),
      pairs.map(([, teamId]) => teamId),
    ]);
    return new Map(
      rows.map(([apiId, secretHash, endsAt, ...row]) => {
        const tenant = toTenant(row);
        return [`${apiId} ${tenant.teamId}`, { caller: { tenant, secretHash }, endsAt }];
      }),
    );
  }
}

function toTenant([teamId, name, createdAt, storeId, defaultStage, strict, monthQuota, callsPerSecond]: TenantRow): Tenant {
  return { teamId, name, createdAt, storeId, defaultStage, strict, monthQuota, callsPerSecond };
}
