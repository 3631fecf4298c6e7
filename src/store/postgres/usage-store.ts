/**
 * Metered calls of PostgreSQL. A batch has its node and a sequence number, so that a batch that is repeated after a
 * lost response is added only once. Source: decision 0020.
 */
import { randomUUID } from 'node:crypto';
import { Refusal } from '../../errors.ts';
import type { OwnUsage } from '../control/calls.ts';
import type { Bound, Row } from '../writing.ts';
import { columnsOf } from './connection/connection.ts';
import { CONTROL } from './migrate.ts';
import type { SharedConnection } from './connection/shared-connection.ts';

const NODES = `${CONTROL}."USAGE_NODES"`;
const USAGE = `${CONTROL}."USAGE"`;
const MONTHS = `${CONTROL}."USAGE_MONTHS"`;
const KEYS = `${CONTROL}."KEY_USAGE"`;

/**
 * A retry finds the sequence number and adds nothing. The row of the node makes it wait for a first attempt that is
 * still running. All nodes touch rows in the same order, which avoids deadlocks.
 */
const ADD = `WITH batch AS (
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

    /** Adds one batch at a time, so that the sequence numbers of a node arrive in order. */
    async addUsage(counts, byKey = []) {
      if (sequence === 0) await connection.ask(DELETE_NODES, []);
      const days = columnsOf(counts, ['teamId', 'day', 'operation', 'calls']);
      const keys = columnsOf(byKey, ['teamId', 'month', 'apiId', 'name', 'calls', 'usedAt']);
      type Total = [string, string, number];
      try {
        let totals = await connection.ask<Total>(ADD, [node, ++sequence, ...days, ...keys]);
        if (totals.length === 0) totals = await connection.ask<Total>(READ_TOTALS, days.slice(0, 2));
        return new Map(totals.map(([team, month, calls]) => [`${team} ${month}`, calls]));
      } catch (fault) {
        throw fault instanceof Refusal ? uncounted(fault) : fault;
      }
    },
  };
}
