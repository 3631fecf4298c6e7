/**
 * PostgreSQL's TenantStore: tenants and keys in the control schema, shared by all nodes. Keys are read from the database for every call, so a replaced
 * one is dead on every node at once; calls that arrive together are looked up together.
 */
import { randomBytes } from 'node:crypto';
import type { Outcome } from '../../errors.ts';
import type { Caller, Tenant, TenantStore } from '../../tenant/port.ts';
import type { Control } from '../control/database.ts';
import { FIRST_SETTINGS, refuseTaken, TENANT_COLUMNS, Tenants, toTenant, type TenantRow } from '../control/tenants.ts';
import { KeyBatch } from './key-batch.ts';
import type { Connection } from './connection.ts';
import { CONTROL, PIMS_VERSION, buildTenantScript } from './migrate.ts';
import type { SharedConnection } from './shared-connection.ts';

const TENANTS = `${CONTROL}."TENANTS"`;
const FIND_CALLERS = `SELECT k."API_ID", k."SECRET_HASH", k."ENDS_AT", ${TENANT_COLUMNS}
  FROM unnest(?::text[], ?::text[]) AS q(api_id, team_id) JOIN ${CONTROL}."API_KEYS" k ON k."API_ID" = q.api_id AND k."TEAM_ID" = q.team_id
  JOIN ${TENANTS} t ON t."TEAM_ID" = k."TEAM_ID"`;
/** What a teamID and an apiID are made of; anything else belongs to nobody, and would not all be taken by the database. */
const PLAIN = /^[!-~]{1,256}$/;

interface FoundKey {
  readonly caller: Caller;
  readonly endsAt: string;
}

export class PostgresTenantStore extends Tenants implements TenantStore {
  readonly #connection: SharedConnection;
  readonly #openOwn: () => Promise<Connection>;
  readonly #callers: KeyBatch<FoundKey>;

  /** Keys are looked up on the shared connection. `openOwn` opens a connection without time limits, for what makes or removes many tables. */
  constructor(control: Control, connection: SharedConnection, openOwn: () => Promise<Connection>) {
    super(control);
    this.#connection = connection;
    this.#openOwn = openOwn;
    this.#callers = new KeyBatch((questions) => this.#findCallers(questions));
  }

  async findCaller(teamId: string, apiId: string, now: string): Promise<Caller | undefined> {
    if (!PLAIN.test(teamId) || !PLAIN.test(apiId)) return undefined;
    const found = await this.#callers.ask(`${apiId} ${teamId}`);
    return found && (found.endsAt === '' || found.endsAt > now) ? found.caller : undefined;
  }

  createTenant(teamId: string, name: string, now: string): Promise<Outcome<Tenant>> {
    const tenant: Tenant = {
      teamId,
      name,
      createdAt: now,
      storeId: `pims_${randomBytes(8).toString('hex')}`,
      ...FIRST_SETTINGS,
    };
    return this.#makeOrRemove(async (connection) => {
      const added = await connection.query(
        `INSERT INTO ${TENANTS} ("TEAM_ID", "NAME", "CREATED_AT", "STORE_ID", "DEFAULT_STAGE", "STRICT", "SCHEMA_VERSION") VALUES (?, ?, ?, ?, ?, FALSE, ?)
          ON CONFLICT DO NOTHING RETURNING 1`,
        [teamId, name, now, tenant.storeId, tenant.defaultStage, PIMS_VERSION()],
      );
      if (added.length === 0) return refuseTaken(teamId);
      await connection.execute(buildTenantScript(tenant.storeId));
      return tenant;
    });
  }

  /** One transaction: keys, usage, records and the tenant itself go together. */
  async deleteTenant({ teamId, storeId }: Tenant): Promise<void> {
    await this.#makeOrRemove(async (connection) => {
      for (const table of ['USAGE', 'USAGE_MONTHS', 'REQUESTS', 'REFUSALS', 'KEY_USES', 'TENANTS'])
        await connection.query(`DELETE FROM ${CONTROL}."${table}" WHERE "TEAM_ID" = ?`, [teamId]);
      await connection.execute(`DROP SCHEMA IF EXISTS "${storeId}" CASCADE`);
    });
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
    const rows = await this.#connection.ask<[string, Uint8Array, string, ...TenantRow]>(FIND_CALLERS, [
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
