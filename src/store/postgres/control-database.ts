/**
 * The control schema of PostgreSQL: reads share a connection, and each writing runs in a separate transaction. Each
 * tenant has a schema. Every call loads its key from the database, so a replaced key ends on all nodes at once; calls
 * that arrive together share a statement.
 */
import { randomBytes } from 'node:crypto';
import { Refusal, type Outcome } from '../../errors.ts';
import { isKeyValid, type Scope } from '../../tenant/keys.ts';
import type { Caller } from '../../tenant/tenant-port.ts';
import { USAGE_TABLES } from '../control/calls.ts';
import { TENANT_COLUMNS, toTenant, type ControlDatabase, type TenantRow } from '../control/control.ts';
import type { OwnTenants } from '../control/tenants.ts';
import type { Bound, Row, Writing } from '../writing.ts';
import { columnsOf, type Connection } from './connection/connection.ts';
import type { Pool, SharedConnection } from './connection/shared-connection.ts';
import { buildTenantScript, CONTROL, PIMS_VERSION } from './migrate.ts';
import { KeyBatch } from './reads/shared-reads.ts';
import { runWriting } from './writes/write-queue.ts';

export class PostgresControl implements ControlDatabase {
  readonly schema = `${CONTROL}.` as const;
  readonly #reader: SharedConnection;
  readonly #writers: Pool;

  constructor(reader: SharedConnection, writers: Pool) {
    this.#reader = reader;
    this.#writers = writers;
  }

  read<R extends Row>(sql: string, ...values: Bound[]): Promise<R[]> {
    return this.#reader.ask<R>(sql, values);
  }

  async transaction<T>(work: () => Writing<Outcome<T>>): Promise<Outcome<T>> {
    const runOrThrow = async (connection: Connection): Promise<T> => {
      const result = await runWriting(connection, work());
      // Throwing rolls the transaction back.
      if (result instanceof Refusal) throw result;
      return result;
    };
    try {
      return await this.#writers.use(0, (shared) => shared.transaction(runOrThrow));
    } catch (fault) {
      if (fault instanceof Refusal) return fault;
      throw fault;
    }
  }
}

const FIND_CALLERS = `SELECT k."API_ID", k."SECRET_HASH", k."ENDS_AT", k."NAME", k."SCOPE", ${TENANT_COLUMNS}
  FROM unnest(?::text[], ?::text[]) AS q(api_id, team_id)
  JOIN ${CONTROL}."API_KEYS" k ON k."API_ID" = q.api_id AND k."TEAM_ID" = q.team_id
  JOIN ${CONTROL}."TENANTS" t ON t."TEAM_ID" = k."TEAM_ID"`;
/** The characters that a teamID and an apiID can have. The database would refuse some others. */
const PLAIN = /^[!-~]{1,256}$/;

type FoundCaller = Caller & { readonly endsAt: string };

/** `openOwn` opens a connection without time limits, for creating and deleting many tables. */
export function makeOwnTenants(connection: SharedConnection, openOwn: () => Promise<Connection>): OwnTenants {
  const callers = new KeyBatch((questions: string[]) => loadCallers(connection, questions));
  const commit = async <T>(work: (own: Connection) => Promise<T>): Promise<T> => {
    await using own = await openOwn();
    await own.execute('BEGIN');
    const result = await work(own);
    await own.commit();
    return result;
  };
  return {
    async findCaller(teamId, apiId, now) {
      if (!PLAIN.test(teamId) || !PLAIN.test(apiId)) return undefined;
      const found = await callers.ask(`${apiId} ${teamId}`);
      return found && isKeyValid(found.endsAt, now) ? found : undefined;
    },
    newStore: () => ({ storeId: `pims_${randomBytes(8).toString('hex')}`, schemaVersion: PIMS_VERSION() }),
    insertTenant: (storeId, insert) =>
      commit(async (own) => {
        const isNew = await runWriting(own, insert());
        if (isNew) await own.runScript(buildTenantScript(storeId));
        return isNew;
      }),
    /** Keys, users and audit log are deleted with the row of the tenant. */
    deleteTenant: ({ teamId, storeId }) =>
      commit(async (own) => {
        for (const table of USAGE_TABLES.concat('REFUSALS', 'KEY_USES', 'REQUESTS', 'REQUEST_BYTES', 'TENANTS'))
          await own.query(`DELETE FROM ${CONTROL}."${table}" WHERE "TEAM_ID" = ?`, [teamId]);
        await own.execute(`DROP SCHEMA IF EXISTS "${storeId}" CASCADE`);
      }),
  };
}

async function loadCallers(
  connection: SharedConnection,
  questions: string[],
): Promise<ReadonlyMap<string, FoundCaller>> {
  const pairs = questions.map((question) => question.split(' ') as [string, string]);
  type CallerRow = [string, Uint8Array, string, string, Scope, ...TenantRow];
  const rows = await connection.ask<CallerRow>(FIND_CALLERS, columnsOf(pairs, [0, 1]));
  const found = new Map<string, FoundCaller>();
  for (const [apiId, secretHash, endsAt, name, scope, ...row] of rows)
    found.set(`${apiId} ${row[0]}`, { tenant: toTenant(row), key: { apiId, name, scope }, secretHash, endsAt });
  return found;
}
