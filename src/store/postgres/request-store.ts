/** The request log of PostgreSQL, on other connections than counts (decision 0022). */
import type { OwnRequests } from '../control/calls.ts';
import type { Bound, Row } from '../sql/writing.ts';
import { transpose } from './control-database.ts';
import type { Pool, SharedConnection } from './connection/shared-connection.ts';
import { CONTROL } from './migrate.ts';

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
 * Writes on the connections for writes, so that counts never wait. Reads blocks on the connections for long queries,
 * and small values on one for reads by key.
 */
export const makeOwnRequests = (reader: SharedConnection, writers: Pool, queries: Pool): OwnRequests => ({
  schema: `${CONTROL}.`,
  readRows: <R extends Row>(sql: string, ...values: Bound[]) => reader.askRows<R>(sql, values),
  readBlocks: <R extends Row>(sql: string, ...values: Bound[]) =>
    queries.use(0, (connection) => connection.askRows<R>(sql, values)),
  async addRequests(blocks, refusals, uses) {
    const values = [
      ...transpose(blocks, ['teamId', 'blockId', 'firstAt', 'boot', 'firstNumber', 'lastNumber', 'lines']),
      ...transpose(refusals, ['teamId', 'day', 'operation', 'calls']),
      Math.min(blocks.length, 1),
      ...transpose(uses, ['teamId', 'apiId', 'usedAt', 'client', 'usedInUrlAt']),
    ];
    await writers.use(0, (connection) => connection.askRows(ADD_BLOCKS, values));
  },
  /** Nodes that delete at the same time skip each other's rows. */
  async deleteSome(teamId, before) {
    const values = [teamId, teamId, before, BLOCKS_PER_DELETE];
    const [deleted] = await writers.use(0, (connection) => connection.askRows<[number]>(DELETE_BLOCKS, values));
    return deleted?.[0] === BLOCKS_PER_DELETE;
  },
});
