/**
 * The control schema of PostgreSQL. A node keeps a key for a moment, and a change of keys waits for that time, so a
 * replaced key ends on all nodes at once. A batch of counts has its node and a sequence number, so that a batch that is
 * repeated after a lost response is added only once (decision 0020).
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { orThrow, Refusal, type Outcome } from '../../errors.ts';
import { isKeyValid, type Scope } from '../../tenant/keys.ts';
import type { Caller } from '../../tenant/tenant-port.ts';
import { USAGE_TABLES, type OwnUsage } from '../control/calls.ts';
import { TENANT_COLUMNS, toTenant, type ControlDatabase, type TenantRow } from '../control/control.ts';
import type { OwnTenants } from '../control/tenants.ts';
import type { Bound, Row, Writing } from '../sql/writing.ts';
import type { Connection } from './connection/connection.ts';
import type { Pool, SharedConnection } from './connection/shared-connection.ts';
import { buildTenantScript, CONTROL, PIMS_VERSION } from './migrate.ts';
import { makeKeyBatch } from './reads/shared-reads.ts';

export const openControl = (reader: SharedConnection, writers: Pool): ControlDatabase => ({
  schema: `${CONTROL}.`,
  readRows: <R extends Row>(sql: string, ...values: Bound[]) => reader.askRows<R>(sql, values),
  async transaction<T>(work: () => Writing<Outcome<T>>): Promise<Outcome<T>> {
    const runOrThrow = async (connection: Connection): Promise<T> => orThrow(await runWriting(connection, work()));
    try {
      // A refusal is thrown, so that it rolls the transaction back.
      return await writers.use(0, (shared) => shared.transaction(runOrThrow));
    } catch (fault) {
      if (fault instanceof Refusal) return fault;
      throw fault;
    }
  },
});

const NODES = `${CONTROL}."USAGE_NODES"`;
const USAGE = `${CONTROL}."USAGE"`;
const MONTHS = `${CONTROL}."USAGE_MONTHS"`;
const KEYS = `${CONTROL}."KEY_USAGE"`;

/**
 * A retry finds the sequence number and adds nothing. The row of the node makes the retry wait for a first attempt that
 * is still running. All nodes touch rows in the same order, which avoids deadlocks.
 */
const ADD_COUNTS = `WITH batch AS (
    INSERT INTO ${NODES} AS n VALUES ($1, $2, now())
      ON CONFLICT ("NODE") DO UPDATE SET "SEQUENCE" = excluded."SEQUENCE", "SEEN_AT" = now()
      WHERE n."SEQUENCE" < excluded."SEQUENCE" RETURNING 1
  ), days AS (
    INSERT INTO ${USAGE} AS u SELECT team, day, operation, calls
      FROM unnest($3::text[], $4::text[], $5::text[], $6::bigint[]) AS c(team, day, operation, calls)
      WHERE EXISTS (SELECT 1 FROM batch) ORDER BY team, day, operation
      ON CONFLICT ("TEAM_ID", "DAY", "OPERATION") DO UPDATE SET "CALLS" = u."CALLS" + excluded."CALLS" RETURNING 1
  ), months AS (
    INSERT INTO ${MONTHS} AS m SELECT team, left(day, 7), sum(calls)::bigint
      FROM unnest($3::text[], $4::text[], $6::bigint[]) AS c(team, day, calls)
      WHERE EXISTS (SELECT 1 FROM batch) AND (SELECT count(*) FROM days) >= 0 GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT ("TEAM_ID", "MONTH") DO UPDATE SET "CALLS" = m."CALLS" + excluded."CALLS"
      RETURNING "TEAM_ID", "MONTH", "CALLS"
  ), keys AS (
    INSERT INTO ${KEYS} AS k SELECT team, month, api_id, name, calls, used_at
      FROM unnest($7::text[], $8::text[], $9::text[], $10::text[], $11::bigint[], $12::text[])
        AS c(team, month, api_id, name, calls, used_at)
      WHERE EXISTS (SELECT 1 FROM batch) AND (SELECT count(*) FROM months) >= 0 ORDER BY team, month, api_id
      ON CONFLICT ("TEAM_ID", "MONTH", "API_ID") DO UPDATE SET "CALLS" = k."CALLS" + excluded."CALLS",
        "USED_AT" = greatest(k."USED_AT", excluded."USED_AT")
  )
  SELECT "TEAM_ID", "MONTH", "CALLS" FROM months`;
const READ_TOTALS = `SELECT DISTINCT m."TEAM_ID", m."MONTH", m."CALLS"
  FROM unnest(?::text[], ?::text[]) AS c(team, day) JOIN ${MONTHS} m ON m."TEAM_ID" = team AND m."MONTH" = left(day, 7)`;
const DELETE_NODES = `DELETE FROM ${NODES} WHERE "SEEN_AT" < now() - interval '7 days'`;

/** Returns the refusal of a call that could not be counted. The call may already have saved records. */
function uncounted({ code, retryAfterSeconds = 1 }: Refusal): Refusal {
  const message = 'The call could not be counted. The outcome of a write is unknown.';
  return new Refusal(code === 'STORAGE_FULL' ? code : 'STORE_UNAVAILABLE', message, { retryAfterSeconds });
}

export function makeOwnUsage(connection: SharedConnection): OwnUsage {
  const node = randomUUID();
  let sequence = 0;
  return {
    schema: `${CONTROL}.`,
    readRows: <R extends Row>(sql: string, ...values: Bound[]) => connection.askRows<R>(sql, values),

    /** Adds a batch. The caller adds one at a time, so the sequence numbers of a node arrive in order. */
    async addUsage(counts, byKey = []) {
      if (sequence === 0) await connection.askRows(DELETE_NODES, []);
      const days = transpose(counts, ['teamId', 'day', 'operation', 'calls']);
      const keys = transpose(byKey, ['teamId', 'month', 'apiId', 'name', 'calls', 'usedAt']);
      type Total = [string, string, number];
      try {
        let totals = await connection.askRows<Total>(ADD_COUNTS, [node, ++sequence, ...days, ...keys]);
        if (totals.length === 0) totals = await connection.askRows<Total>(READ_TOTALS, days.slice(0, 2));
        return new Map(totals.map(([team, month, calls]) => [`${team} ${month}`, calls]));
      } catch (fault) {
        throw fault instanceof Refusal ? uncounted(fault) : fault;
      }
    },
  };
}

const FIND_CALLERS = `SELECT k."API_ID", k."SECRET_HASH", k."ENDS_AT", k."NAME", k."SCOPE", ${TENANT_COLUMNS}
  FROM unnest(?::text[], ?::text[]) AS q(api_id, team_id)
  JOIN ${CONTROL}."API_KEYS" k ON k."API_ID" = q.api_id AND k."TEAM_ID" = q.team_id
  JOIN ${CONTROL}."TENANTS" t ON t."TEAM_ID" = k."TEAM_ID"`;
/** The characters that a teamID and an apiID can have. The database would refuse some others. */
const PLAIN = /^[!-~]{1,256}$/;

/** The time for which a node keeps a key that it loaded, and the maximum number of keys that it keeps. */
const KEPT_MS = 100;
const KEPT_MAX = 10_000;

type FoundCaller = Caller & { readonly endsAt: string };

/**
 * `counts` is the connection that counts calls. `openOwn` opens one without time limits, for creating and deleting many
 * tables.
 */
export function makeOwnTenants(
  connection: SharedConnection,
  counts: SharedConnection,
  openOwn: () => Promise<Connection>,
  clock: Clock,
): OwnTenants {
  const kept = new Map<string, FoundCaller & { until: number }>();
  const askCaller = makeKeyBatch(async (questions: string[]) => {
    const until = clock.elapsed() + KEPT_MS;
    const found = await loadCallers(connection, questions);
    if (kept.size >= KEPT_MAX) kept.clear();
    for (const [question, caller] of found) kept.set(question, { ...caller, until });
    return found;
  });
  // A timer can end 1 ms early.
  const untilForgotten = () => clock.sleep(KEPT_MS + 1);
  const commitOwn = async <T>(work: (own: Connection) => Promise<T>): Promise<T> => {
    await using own = await openOwn();
    await own.execute('BEGIN');
    const result = await work(own);
    await own.commitTransaction();
    return result;
  };
  return {
    async findCaller(teamId, apiId, now) {
      if (!PLAIN.test(teamId) || !PLAIN.test(apiId)) return undefined;
      const question = `${apiId} ${teamId}`;
      const known = kept.get(question);
      // A key is loaded beside other calls, because that costs little and gathers them for their next statement.
      const isUsed = known && clock.elapsed() < known.until && counts.isIdle;
      const found = isUsed ? known : await askCaller(question);
      return found && isKeyValid(found.endsAt, now) ? found : undefined;
    },
    newStore: () => ({ storeId: `pims_${randomBytes(8).toString('hex')}`, schemaVersion: PIMS_VERSION() }),
    insertTenant: (storeId, insert) =>
      commitOwn(async (own) => {
        const isNew = await runWriting(own, insert());
        if (isNew) await own.runStatements(buildTenantScript(storeId));
        return isNew;
      }),
    /** Keys, users and audit log are deleted with the row of the tenant. */
    deleteTenant: ({ teamId, storeId }) =>
      commitOwn(async (own) => {
        for (const table of USAGE_TABLES.concat('REFUSALS', 'KEY_USES', 'REQUESTS', 'REQUEST_BYTES', 'TENANTS'))
          await own.query(`DELETE FROM ${CONTROL}."${table}" WHERE "TEAM_ID" = ?`, [teamId]);
        await own.execute(`DROP SCHEMA IF EXISTS "${storeId}" CASCADE`);
      }).then(untilForgotten),
    untilForgotten,
  };
}

async function loadCallers(
  connection: SharedConnection,
  questions: string[],
): Promise<ReadonlyMap<string, FoundCaller>> {
  const pairs = questions.map((question) => question.split(' ') as [string, string]);
  type CallerRow = [string, Uint8Array, string, string, Scope, ...TenantRow];
  const rows = await connection.askRows<CallerRow>(FIND_CALLERS, transpose(pairs, [0, 1]));
  const found = new Map<string, FoundCaller>();
  for (const [apiId, secretHash, endsAt, name, scope, ...row] of rows)
    found.set(`${apiId} ${row[0]}`, { tenant: toTenant(row), key: { apiId, name, scope }, secretHash, endsAt });
  return found;
}

/** Runs a writing. It waits for statements that read, and sends the others without waiting. */
async function runWriting<T>(connection: Connection, writing: Writing<T>): Promise<T> {
  let step = writing.next();
  while (!step.done) {
    const { sql, values, reads } = step.value;
    if (!reads) connection.sendStatement(sql, values);
    step = writing.next(reads ? await connection.query(sql, values) : []);
  }
  return step.value;
}

/** Returns the values of some properties of all rows, one list for each property. */
export const transpose = <T, Name extends keyof T>(rows: readonly T[], names: readonly Name[]): T[Name][][] =>
  names.map((name) => rows.map((row) => row[name]));
