/**
 * Tenants of PostgreSQL, a schema each. Every call loads its key from the database, so a replaced one ends on all nodes
 * at once; calls that arrive together share a statement.
 */
import { randomBytes } from 'node:crypto';
import { isKeyValid, type Scope } from '../../tenant/keys.ts';
import type { Caller, Tenant } from '../../tenant/port.ts';
import { insertRow, TENANT_COLUMNS, toTenant, type TenantRow } from '../control/rows.ts';
import type { OwnTenants } from '../control/tenant-store.ts';
import { USAGE_TABLES } from '../control/usage-store.ts';
import { columnsOf, type Connection } from './connection/connection.ts';
import { KeyBatch } from './reads/key-batch.ts';
import { buildTenantScript, CONTROL, PIMS_VERSION } from './migrate.ts';
import type { SharedConnection } from './connection/shared-connection.ts';
import type { Writing } from '../writing.ts';
import { runWriting } from './writes/write-queue.ts';

const TENANTS = `${CONTROL}."TENANTS"`;
const FIND_CALLERS = `SELECT k."API_ID", k."SECRET_HASH", k."ENDS_AT", k."NAME", k."SCOPE", ${TENANT_COLUMNS}
  FROM unnest(?::text[], ?::text[]) AS q(api_id, team_id)
  JOIN ${CONTROL}."API_KEYS" k ON k."API_ID" = q.api_id AND k."TEAM_ID" = q.team_id
  JOIN ${TENANTS} t ON t."TEAM_ID" = k."TEAM_ID"`;
/** The characters of a teamID and an apiID. No tenant has others, and the database would refuse some. */
const PLAIN = /^[!-~]{1,256}$/;

type FoundCaller = Caller & { readonly endsAt: string };

export class PostgresTenants implements OwnTenants {
  readonly #connection: SharedConnection;
  readonly #openOwn: () => Promise<Connection>;
  readonly #callers: KeyBatch<FoundCaller>;

  /** `openOwn` opens a connection without time limits, for creating and deleting many tables. */
  constructor(connection: SharedConnection, openOwn: () => Promise<Connection>) {
    this.#connection = connection;
    this.#openOwn = openOwn;
    this.#callers = new KeyBatch((questions) => this.#loadCallers(questions));
  }

  async findCaller(teamId: string, apiId: string, now: string): Promise<Caller | undefined> {
    if (!PLAIN.test(teamId) || !PLAIN.test(apiId)) return undefined;
    const found = await this.#callers.ask(`${apiId} ${teamId}`);
    return found && isKeyValid(found.endsAt, now) ? found : undefined;
  }

  newStoreId(): string {
    return `pims_${randomBytes(8).toString('hex')}`;
  }

  insertTenant(tenant: Tenant, more: () => Writing<void>): Promise<boolean> {
    const record = { ...tenant, strict: Number(tenant.strict), schemaVersion: PIMS_VERSION() };
    const { sql, values } = insertRow(TENANTS, record);
    return this.#transaction(async (connection) => {
      const added = await connection.query(`${sql} ON CONFLICT DO NOTHING RETURNING 1`, values);
      if (added.length === 0) return false;
      await connection.execute(buildTenantScript(tenant.storeId));
      await runWriting(connection, more());
      return true;
    });
  }

  /** Keys, users and audit log go with the row of the tenant. */
  async deleteAll({ teamId, storeId }: Tenant): Promise<void> {
    await this.#transaction(async (connection) => {
      for (const table of USAGE_TABLES.concat('REFUSALS', 'KEY_USES', 'REQUESTS', 'REQUEST_BYTES', 'TENANTS'))
        await connection.query(`DELETE FROM ${CONTROL}."${table}" WHERE "TEAM_ID" = ?`, [teamId]);
      await connection.execute(`DROP SCHEMA IF EXISTS "${storeId}" CASCADE`);
    });
  }

  async #transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
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

  async #loadCallers(questions: string[]): Promise<ReadonlyMap<string, FoundCaller>> {
    const pairs = questions.map((question) => question.split(' ') as [string, string]);
    type CallerRow = [string, Uint8Array, string, string, Scope, ...TenantRow];
    const rows = await this.#connection.ask<CallerRow>(FIND_CALLERS, columnsOf(pairs, [0, 1]));
    const found = new Map<string, FoundCaller>();
    for (const [apiId, secretHash, endsAt, name, scope, ...row] of rows)
      found.set(`${apiId} ${row[0]}`, { tenant: toTenant(row), key: { apiId, name, scope }, secretHash, endsAt });
    return found;
  }
}
