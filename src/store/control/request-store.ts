/** The request log in any SQL store: finds and deletes blocks. Each store inserts them in its own way. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KeyUse, RefusalCount, RequestBlock, RequestStore } from '../../request-log/port.ts';
import type { Bound } from '../writing.ts';
import type { ReadableTables } from './database.ts';
import { listColumns, toRecord } from './rows.ts';
import { loadCounts } from './usage-store.ts';

export type KeyUseOfTeam = KeyUse & { readonly teamId: string };

export interface OwnRequests extends ReadableTables {
  insertAll: RequestStore['addRequests'];
  /** Like `read`, for what is large. */
  readBlocks: ReadableTables['read'];
  /** Deletes some of the tenant's blocks below an ID or a time. False when none is left. */
  deleteSome(teamId: string, before: string): Promise<boolean>;
}

/** After all times. */
export const END_OF_TIME = '~';
const BLOCK = ['teamId', 'blockId', 'firstAt', 'boot', 'firstNumber', 'lastNumber', 'lines'] as const;
const USE = ['apiId', 'usedAt', 'client', 'usedInUrlAt'] as const;
/** Blocks of a boot hardly overlap, so the block of a number is among the last that begin before it. */
const OVERLAPPING_MAX = 400;
const FOUND_MAX = 50;
/** What a block takes beside its lines, as the triggers of "REQUEST_BYTES" count it. */
const BLOCK_BYTES = 200;
/** No more than each store deletes at a time. */
const BLOCKS_PER_TRIM = 50;

export class SqlRequestStore implements RequestStore {
  readonly #own: OwnRequests;

  constructor(own: OwnRequests) {
    this.#own = own;
  }

  addRequests(...all: Parameters<RequestStore['addRequests']>): Promise<void> {
    return this.#own.insertAll(...all);
  }

  loadBlocks(
    teamId: string,
    { before, from, to }: { before: string; from: string; to: string },
    limit: number,
  ): Promise<RequestBlock[]> {
    const where =
      '"TEAM_ID" = ? AND "BLOCK_ID" < ? AND "BLOCK_ID" >= ? AND "FIRST_AT" <= ? ORDER BY "BLOCK_ID" DESC LIMIT ?';
    return this.#load(where, teamId, before || END_OF_TIME, from, to || END_OF_TIME, limit);
  }

  findBlocks(teamId: string, boot: string, number: number): Promise<RequestBlock[]> {
    const begun = `SELECT "BLOCK_ID" AS id, "LAST_NUMBER" AS last FROM ${this.#own.schema}"REQUESTS"
      WHERE "TEAM_ID" = ? AND "BOOT" = ? AND "FIRST_NUMBER" <= ? ORDER BY "FIRST_NUMBER" DESC LIMIT ${OVERLAPPING_MAX}`;
    const where = `"TEAM_ID" = ? AND "BLOCK_ID" IN (SELECT id FROM (${begun}) begun WHERE last >= ?)`;
    const order = `ORDER BY "FIRST_NUMBER" DESC LIMIT ${FOUND_MAX}`;
    return this.#load(`${where} ${order}`, teamId, teamId, boot, number, number);
  }

  loadRefusals(teamId: string, month: string): Promise<RefusalCount[]> {
    return loadCounts(this.#own, 'REFUSALS', teamId, month);
  }

  async loadKeyUses(teamId: string): Promise<KeyUse[]> {
    const from = `FROM ${this.#own.schema}"KEY_USES" u WHERE "TEAM_ID" = ? ORDER BY "API_ID"`;
    const found = await this.#own.read(`SELECT ${listColumns(USE, 'u')} ${from}`, teamId);
    return found.map((use) => toRecord<KeyUse>(USE, use));
  }

  async trimRequests(bytesMax: number): Promise<void> {
    const { schema } = this.#own;
    const large = `SELECT min("TEAM_ID") FROM ${schema}"REQUEST_BYTES" WHERE "BYTES" > ?`;
    // One statement, so that nodes that do this at the same time choose the same blocks.
    const oldest = `SELECT "BLOCK_ID", length("LINES") + ${BLOCK_BYTES}, b."BYTES" - ?
      FROM ${schema}"REQUESTS" r JOIN ${schema}"REQUEST_BYTES" b ON b."TEAM_ID" = r."TEAM_ID"
      WHERE r."TEAM_ID" = ? ORDER BY "BLOCK_ID" LIMIT ${BLOCKS_PER_TRIM}`;
    for (;;) {
      const [[teamId] = [null]] = await this.#own.read<[string | null]>(large, bytesMax);
      if (teamId === null) return;
      let last = '';
      let taken = 0;
      for (const [blockId, bytes, excess] of await this.#own.read<[string, number, number]>(oldest, bytesMax, teamId))
        if (taken < excess) {
          last = blockId;
          taken += bytes;
        }
      if (last === '') return;
      await this.#own.deleteSome(teamId, last + END_OF_TIME);
      await nextTurn();
    }
  }

  async deleteRequestsBefore(before: string): Promise<void> {
    const next = `SELECT min("TEAM_ID") FROM ${this.#own.schema}"REQUESTS" WHERE "TEAM_ID" > ?`;
    const nextTeam = async (after: string): Promise<string | null> =>
      (await this.#own.read<[string | null]>(next, after))[0]![0];
    for (let teamId = await nextTeam(''); teamId !== null; teamId = await nextTeam(teamId))
      while (await this.#own.deleteSome(teamId, before)) await nextTurn();
  }

  async #load(where: string, ...values: Bound[]): Promise<RequestBlock[]> {
    const sql = `SELECT ${listColumns(BLOCK, 'b')} FROM ${this.#own.schema}"REQUESTS" b WHERE ${where}`;
    return (await this.#own.readBlocks(sql, ...values)).map((block) => toRecord<RequestBlock>(BLOCK, block));
  }
}
