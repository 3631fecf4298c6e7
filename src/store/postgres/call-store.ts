/**
 * Metered calls and the request log of PostgreSQL. A batch of counts has its node and a sequence number, so that a
 * batch that is repeated after a lost response is added only once (decision 0020). The log uses other connections, so
 * that counts never wait, and reads blocks in turns (decision 0022).
 */
import { randomUUID } from 'node:crypto';
import { Refusal } from '../../errors.ts';
import type { OwnRequests, OwnUsage } from '../control/calls.ts';
import type { Bound, Row } from '../writing.ts';
import { columnsOf } from './connection/connection.ts';
import type { Pool, SharedConnection } from './connection/shared-connection.ts';
import { CONTROL } from './migrate.ts';

const NODES = `${CONTROL}."USAGE_NODES"`;
const USAGE = `${CONTROL}."USAGE"`;
const MONTHS = `${CONTROL}."USAGE_MONTHS"`;
const KEYS = `${CONTROL}."KEY_USAGE"`;

/**
 * A retry finds the sequence number and adds nothing. The row of the node makes it wait for a first attempt that is
 * still running. All nodes touch rows in the same order, which avoids deadlocks.
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
    read: <R extends Row>(sql: string, ...values: Bound[]) => connection.ask<R>(sql, values),

    /** The caller adds one batch at a time, so the sequence numbers of a node arrive in order. */
    async addUsage(counts, byKey = []) {
      if (sequence === 0) await connection.ask(DELETE_NODES, []);
      const days = columnsOf(counts, ['teamId', 'day', 'operation', 'calls']);
      const keys = columnsOf(byKey, ['teamId', 'month', 'apiId', 'name', 'calls', 'usedAt']);
      type Total = [string, string, number];
      try {
        let totals = await connection.ask<Total>(ADD_COUNTS, [node, ++sequence, ...days, ...keys]);
        if (totals.length === 0) totals = await connection.ask<Total>(READ_TOTALS, days.slice(0, 2));
        return new Map(totals.map(([team, month, calls]) => [`${team} ${month}`, calls]));
      } catch (fault) {
        throw fault instanceof Refusal ? uncounted(fault) : fault;
      }
    },
  };
}

const REQUESTS = `${CONTROL}."REQUESTS"`;
const REFUSALS = `${CONTROL}."REFUSALS"`;
const USES = `${CONTROL}."KEY_USES"`;

/**
 * A retry waits for a first attempt that is still running, finds its blocks and adds none. All nodes touch tables and
 * rows in the same order, which avoids deadlocks.
 */
const ADD_BLOCKS = `WITH blocks AS (
    INSERT INTO ${REQUESTS} SELECT *
      FROM unnest(?::text[], ?::text[], ?::text[], ?::text[], ?::bigint[], ?::bigint[], ?::bytea[])
      AS b(team, block, first_at, boot, first_number, last_number, lines) ORDER BY team, block
      ON CONFLICT DO NOTHING RETURNING 1
  ), refusals AS (
    INSERT INTO ${REFUSALS} AS r SELECT *
      FROM unnest(?::text[], ?::text[], ?::text[], ?::bigint[]) AS c(team, day, operation, calls)
      WHERE (SELECT count(*) FROM blocks) >= ?::int ORDER BY team, day, operation
      ON CONFLICT ("TEAM_ID", "DAY", "OPERATION") DO UPDATE SET "CALLS" = r."CALLS" + excluded."CALLS" RETURNING 1
  ), uses AS (
    INSERT INTO ${USES} AS u SELECT *
      FROM unnest(?::text[], ?::text[], ?::text[], ?::text[], ?::text[]) AS k(team, api_id, used_at, client, in_url_at)
      WHERE (SELECT count(*) FROM refusals) >= 0 ORDER BY team, api_id
      ON CONFLICT ("TEAM_ID", "API_ID") DO UPDATE SET "USED_AT" = greatest(u."USED_AT", excluded."USED_AT"),
        "CLIENT" = CASE WHEN excluded."USED_AT" >= u."USED_AT" THEN excluded."CLIENT" ELSE u."CLIENT" END,
        "USED_IN_URL_AT" = greatest(u."USED_IN_URL_AT", excluded."USED_IN_URL_AT") RETURNING 1
  )
  SELECT count(*) FROM uses`;
const DELETE_BLOCKS = `WITH deleted AS (DELETE FROM ${REQUESTS} WHERE "TEAM_ID" = ? AND "BLOCK_ID" IN (
    SELECT "BLOCK_ID" FROM ${REQUESTS} WHERE "TEAM_ID" = ? AND "BLOCK_ID" < ?
      ORDER BY "BLOCK_ID" LIMIT ? FOR UPDATE SKIP LOCKED
  ) RETURNING 1) SELECT count(*) FROM deleted`;
const BLOCKS_PER_DELETE = 200;

/**
 * Writes on the connections for writes, so that counts never wait. Reads blocks in turns on the connections for
 * queries, and small values on the connection for keys.
 */
export const makeOwnRequests = (reader: SharedConnection, writers: Pool, queries: Pool): OwnRequests => ({
  schema: `${CONTROL}.`,
  read: <R extends Row>(sql: string, ...values: Bound[]) => reader.ask<R>(sql, values),
  readBlocks: <R extends Row>(sql: string, ...values: Bound[]) =>
    queries.use(0, (connection) => connection.ask<R>(sql, values)),
  async addRequests(blocks, refusals, uses) {
    const values = [
      ...columnsOf(blocks, ['teamId', 'blockId', 'firstAt', 'boot', 'firstNumber', 'lastNumber', 'lines']),
      ...columnsOf(refusals, ['teamId', 'day', 'operation', 'calls']),
      Math.min(blocks.length, 1),
      ...columnsOf(uses, ['teamId', 'apiId', 'usedAt', 'client', 'usedInUrlAt']),
    ];
    await writers.use(0, (connection) => connection.ask(ADD_BLOCKS, values));
  },
  /** Nodes that delete at the same time skip each other's rows. */
  async deleteSome(teamId, before) {
    const values = [teamId, teamId, before, BLOCKS_PER_DELETE];
    const [deleted] = await writers.use(0, (connection) => connection.ask<[number]>(DELETE_BLOCKS, values));
    return deleted?.[0] === BLOCKS_PER_DELETE;
  },
});
