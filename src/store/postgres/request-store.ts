/**
 * PostgreSQL's RequestStore: the request log in the control schema, written by all nodes. What a node adds is one statement that commits by itself, on the
 * connections of the writes, so that counts never wait for it. Source: decision 0022.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KeyUse, RefusalCount, RequestBlock, RequestStore } from '../../request-log/port.ts';
import { CONTROL } from './migrate.ts';
import type { Pool } from './pool.ts';

type BlockRow = [string, string, string, number, number, Uint8Array];

const REQUESTS = `${CONTROL}."REQUESTS"`;
const REFUSALS = `${CONTROL}."REFUSALS"`;
const USES = `${CONTROL}."KEY_USES"`;
const BLOCK = '"BLOCK_ID", "FIRST_AT", "BOOT", "FIRST_NUMBER", "LAST_NUMBER", "LINES"';

/**
 * Sent again because its answer was lost, it finds its blocks and adds nothing; one still on its way holds their keys, and the second waits for it. Tables
 * and rows are touched in one order by all nodes, so that none waits for another in a circle.
 */
const ADD = `WITH blocks AS (
    INSERT INTO ${REQUESTS} SELECT * FROM unnest(?::text[], ?::text[], ?::text[], ?::text[], ?::bigint[], ?::bigint[], ?::bytea[])
      AS b(team, block, first_at, boot, first_number, last_number, lines) ORDER BY team, block
      ON CONFLICT DO NOTHING RETURNING 1
  ), refusals AS (
    INSERT INTO ${REFUSALS} AS r SELECT * FROM unnest(?::text[], ?::text[], ?::text[], ?::bigint[]) AS c(team, day, operation, calls)
      WHERE (SELECT count(*) FROM blocks) >= ?::int ORDER BY team, day, operation
      ON CONFLICT ("TEAM_ID", "DAY", "OPERATION") DO UPDATE SET "CALLS" = r."CALLS" + excluded."CALLS" RETURNING 1
  ), uses AS (
    INSERT INTO ${USES} AS u SELECT * FROM unnest(?::text[], ?::text[], ?::text[], ?::text[], ?::text[]) AS k(team, api_id, used_at, client, in_url_at)
      WHERE (SELECT count(*) FROM refusals) >= 0 ORDER BY team, api_id
      ON CONFLICT ("TEAM_ID", "API_ID") DO UPDATE SET "USED_AT" = greatest(u."USED_AT", excluded."USED_AT"),
        "CLIENT" = CASE WHEN excluded."USED_AT" >= u."USED_AT" THEN excluded."CLIENT" ELSE u."CLIENT" END,
        "USED_IN_URL_AT" = greatest(u."USED_IN_URL_AT", excluded."USED_IN_URL_AT") RETURNING 1
  )
  SELECT count(*) FROM uses`;
const READ_BLOCKS = `SELECT ${BLOCK} FROM ${REQUESTS} WHERE "TEAM_ID" = ? AND "BLOCK_ID" < ? AND "BLOCK_ID" >= ? AND "FIRST_AT" <= ?
  ORDER BY "BLOCK_ID" DESC LIMIT ?`;
/** Blocks follow each other but for a few requests that took long, so the one that holds a number is among those that begin shortly before it. */
const FIND_BLOCKS = `SELECT ${BLOCK} FROM (
    SELECT ${BLOCK} FROM ${REQUESTS} WHERE "TEAM_ID" = ? AND "BOOT" = ? AND "FIRST_NUMBER" <= ? ORDER BY "FIRST_NUMBER" DESC LIMIT 400
  ) b WHERE "LAST_NUMBER" >= ? ORDER BY "FIRST_NUMBER" DESC LIMIT 50`;
const READ_REFUSALS = `SELECT "DAY", "OPERATION", "CALLS" FROM ${REFUSALS} WHERE "TEAM_ID" = ? AND "DAY" BETWEEN ? AND ? ORDER BY "DAY", "OPERATION"`;
const READ_USES = `SELECT "API_ID", "USED_AT", "CLIENT", "USED_IN_URL_AT" FROM ${USES} WHERE "TEAM_ID" = ? ORDER BY "API_ID"`;
const NEXT_TEAM = `SELECT min("TEAM_ID") FROM ${REQUESTS} WHERE "TEAM_ID" > ?`;
const FORGET = `WITH gone AS (DELETE FROM ${REQUESTS} WHERE "TEAM_ID" = ? AND "BLOCK_ID" IN (
    SELECT "BLOCK_ID" FROM ${REQUESTS} WHERE "TEAM_ID" = ? AND "BLOCK_ID" < ? ORDER BY "BLOCK_ID" LIMIT ? FOR UPDATE SKIP LOCKED
  ) RETURNING 1) SELECT count(*) FROM gone`;
const FORGOTTEN_AT_ONCE = 200;
/** Above all times. */
const ANY = '~';

export class PostgresRequestStore implements RequestStore {
  readonly #writers: Pool;
  readonly #queries: Pool;

  constructor(writers: Pool, queries: Pool) {
    this.#writers = writers;
    this.#queries = queries;
  }

  async addRequests(
    blocks: readonly RequestBlock[],
    refusals: readonly RefusalCount[],
    uses: readonly (KeyUse & { teamId: string })[],
  ): Promise<void> {
    const values = [
      ...columnsOf(blocks, ['teamId', 'blockId', 'firstAt', 'boot', 'firstNumber', 'lastNumber', 'lines']),
      ...columnsOf(refusals, ['teamId', 'day', 'operation', 'calls']),
      Math.min(blocks.length, 1),
      ...columnsOf(uses, ['teamId', 'apiId', 'usedAt', 'client', 'usedInUrlAt']),
    ];
    await this.#writers.use(0, (shared) => shared.ask(ADD, values));
  }

  async loadBlocks(
    teamId: string,
    { before, from, to }: { before: string; from: string; to: string },
    limit: number,
  ): Promise<RequestBlock[]> {
    return toBlocks(teamId, await this.#read<BlockRow>(READ_BLOCKS, teamId, before || ANY, from, to || ANY, limit));
  }

  async findBlocks(teamId: string, boot: string, number: number): Promise<RequestBlock[]> {
    return toBlocks(teamId, await this.#read<BlockRow>(FIND_BLOCKS, teamId, boot, number, number));
  }

  async loadRefusals(teamId: string, month: string): Promise<RefusalCount[]> {
    const rows = await this.#read<[string, string, number]>(READ_REFUSALS, teamId, `${month}-00`, `${month}-99`);
    return rows.map(([day, operation, calls]) => ({ teamId, day, operation, calls }));
  }

  async loadKeyUses(teamId: string): Promise<KeyUse[]> {
    const rows = await this.#read<[string, string, string, string]>(READ_USES, teamId);
    return rows.map(([apiId, usedAt, client, usedInUrlAt]) => ({ apiId, usedAt, client, usedInUrlAt }));
  }

  /** Several nodes may do it at once; each passes over what another is deleting. */
  async deleteRequestsBefore(before: string): Promise<void> {
    const nextTeam = async (after: string): Promise<string | null> =>
      (await this.#read<[string | null]>(NEXT_TEAM, after))[0]![0];
    for (let teamId = await nextTeam(''); teamId !== null; teamId = await nextTeam(teamId)) {
      let deleted = FORGOTTEN_AT_ONCE;
      while (deleted === FORGOTTEN_AT_ONCE) {
        const values = [teamId, teamId, before, FORGOTTEN_AT_ONCE];
        [[deleted] = [0]] = await this.#writers.use(0, (shared) => shared.ask<[number]>(FORGET, values));
        await nextTurn();
      }
    }
  }

  #read<R extends unknown[]>(sql: string, ...values: (string | number)[]): Promise<R[]> {
    return this.#queries.use(0, (shared) => shared.ask<R>(sql, values));
  }
}

/** A list of values for each column. */
const columnsOf = <T, Name extends keyof T>(rows: readonly T[], names: readonly Name[]): T[Name][][] =>
  names.map((name) => rows.map((row) => row[name]));

const toBlocks = (teamId: string, rows: readonly BlockRow[]): RequestBlock[] =>
  rows.map(([blockId, firstAt, boot, firstNumber, lastNumber, lines]) => ({
    teamId,
    blockId,
    firstAt,
    boot,
    firstNumber,
    lastNumber,
    lines,
  }));
