/**
 * The embedded store's RequestStore: the request log in a file of its own, opened when it is first used, so that commands never make it. Nothing waits for
 * the disk: a power loss may take the last moments of the log with it. A file that can no longer be trusted ends the log, never the service.
 */
import { existsSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Refusal } from '../../errors.ts';
import type { KeyUse, RefusalCount, RequestBlock, RequestStore } from '../../request-log/port.ts';
import { Database } from './database.ts';
import { migrate } from './migrate.ts';
import { SqliteWriteQueue, type SqliteWriteQueueOptions } from './write-queue.ts';

interface RequestStoreOptions extends Pick<SqliteWriteQueueOptions, 'checkpoint'> {
  readonly busyTimeoutMs: number;
  /** Told once when the log cannot be written and read. */
  readonly report: (event: string) => void;
}

type BlockRow = [string, string, string, number, number, Uint8Array];

const ADD_BLOCK = 'INSERT INTO REQUESTS VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING';
const ADD_REFUSALS =
  'INSERT INTO REFUSALS VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET CALLS = CALLS + excluded.CALLS';
const ADD_USE = `INSERT INTO KEY_USES VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
  CLIENT = CASE WHEN excluded.USED_AT >= USED_AT THEN excluded.CLIENT ELSE CLIENT END,
  USED_AT = max(USED_AT, excluded.USED_AT), USED_IN_URL_AT = max(USED_IN_URL_AT, excluded.USED_IN_URL_AT)`;
const BLOCK = 'BLOCK_ID, FIRST_AT, BOOT, FIRST_NUMBER, LAST_NUMBER, LINES';
const READ_BLOCKS = `SELECT ${BLOCK} FROM REQUESTS WHERE TEAM_ID = ? AND BLOCK_ID < ? AND BLOCK_ID >= ? AND FIRST_AT <= ? ORDER BY BLOCK_ID DESC LIMIT ?`;
/** Blocks follow each other but for a few requests that took long, so the one that holds a number is among those that begin shortly before it. */
const FIND_BLOCKS = `SELECT ${BLOCK} FROM REQUESTS WHERE rowid IN (
    SELECT place FROM (SELECT rowid AS place, LAST_NUMBER AS last FROM REQUESTS WHERE TEAM_ID = ? AND BOOT = ? AND FIRST_NUMBER <= ?
      ORDER BY FIRST_NUMBER DESC LIMIT 400) WHERE last >= ? LIMIT 50
  ) ORDER BY FIRST_NUMBER DESC`;
const FORGET =
  'DELETE FROM REQUESTS WHERE rowid IN (SELECT rowid FROM REQUESTS WHERE TEAM_ID = ? AND BLOCK_ID < ? ORDER BY BLOCK_ID LIMIT ?)';
/** Long blocks are spread over many pages; so many are deleted in some milliseconds. */
const FORGOTTEN_AT_ONCE = 50;
/** Above all times. */
const ANY = '~';

interface Opened {
  readonly db: Database;
  readonly queue: SqliteWriteQueue;
}

export class SqliteRequestStore implements RequestStore {
  readonly #file: string;
  readonly #options: RequestStoreOptions;
  #opened: Opened | undefined;
  #isUnusable = false;
  #isReported = false;

  constructor(file: string, options: RequestStoreOptions) {
    this.#file = file;
    this.#options = options;
  }

  async addRequests(
    blocks: readonly RequestBlock[],
    refusals: readonly RefusalCount[],
    uses: readonly (KeyUse & { teamId: string })[],
  ): Promise<void> {
    const { db } = this.#open();
    await this.#write(() => {
      for (const [index, { teamId, blockId, firstAt, boot, firstNumber, lastNumber, lines }] of blocks.entries()) {
        const added = db.run(ADD_BLOCK, teamId, blockId, firstAt, boot, firstNumber, lastNumber, lines);
        if (index === 0 && added === 0) return;
      }
      for (const { teamId, day, operation, calls } of refusals) db.run(ADD_REFUSALS, teamId, day, operation, calls);
      for (const { teamId, apiId, usedAt, client, usedInUrlAt } of uses)
        db.run(ADD_USE, teamId, apiId, usedAt, client, usedInUrlAt);
    });
  }

  async loadBlocks(
    teamId: string,
    { before, from, to }: { before: string; from: string; to: string },
    limit: number,
  ): Promise<RequestBlock[]> {
    return toBlocks(teamId, this.#open().db.rows<BlockRow>(READ_BLOCKS, teamId, before || ANY, from, to || ANY, limit));
  }

  async findBlocks(teamId: string, boot: string, number: number): Promise<RequestBlock[]> {
    return toBlocks(teamId, this.#open().db.rows<BlockRow>(FIND_BLOCKS, teamId, boot, number, number));
  }

  async loadRefusals(teamId: string, month: string): Promise<RefusalCount[]> {
    const read =
      'SELECT DAY, OPERATION, CALLS FROM REFUSALS WHERE TEAM_ID = ? AND DAY BETWEEN ? AND ? ORDER BY DAY, OPERATION';
    const rows = this.#open().db.rows<[string, string, number]>(read, teamId, `${month}-00`, `${month}-99`);
    return rows.map(([day, operation, calls]) => ({ teamId, day, operation, calls }));
  }

  async loadKeyUses(teamId: string): Promise<KeyUse[]> {
    const read = 'SELECT API_ID, USED_AT, CLIENT, USED_IN_URL_AT FROM KEY_USES WHERE TEAM_ID = ? ORDER BY API_ID';
    const rows = this.#open().db.rows<[string, string, string, string]>(read, teamId);
    return rows.map(([apiId, usedAt, client, usedInUrlAt]) => ({ apiId, usedAt, client, usedInUrlAt }));
  }

  async deleteRequestsBefore(before: string): Promise<void> {
    const nextTeam = (after: string): string | null =>
      this.#open().db.row<[string | null]>('SELECT min(TEAM_ID) FROM REQUESTS WHERE TEAM_ID > ?', after)![0];
    for (let teamId = nextTeam(''); teamId !== null; teamId = nextTeam(teamId))
      await this.#deleteBlocksBefore(teamId, before);
  }

  /** Forgets everything of a removed tenant. A log that was never written is not made for it. */
  async deleteRequests(teamId: string): Promise<void> {
    if (!this.#opened && !existsSync(this.#file)) return;
    await this.#deleteBlocksBefore(teamId, ANY);
    const { db } = this.#open();
    await this.#write(() => {
      for (const table of ['REFUSALS', 'KEY_USES']) db.run(`DELETE FROM ${table} WHERE TEAM_ID = ?`, teamId);
    });
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#isUnusable = true;
    this.#opened = undefined;
    await opened?.queue.close();
    opened?.db.close();
  }

  async #deleteBlocksBefore(teamId: string, before: string): Promise<void> {
    for (;;) {
      const { db } = this.#open();
      const deleted = await this.#write(() => db.run(FORGET, teamId, before, FORGOTTEN_AT_ONCE));
      if (deleted < FORGOTTEN_AT_ONCE) return;
      await nextTurn();
    }
  }

  async #write<T>(work: () => T): Promise<T> {
    const result = await this.#open().queue.run(work);
    if (result instanceof Refusal) throw result;
    return result;
  }

  #open(): Opened {
    if (this.#isUnusable)
      throw new Refusal('STORE_UNAVAILABLE', 'The request log cannot be used.', { retryAfterSeconds: 30 });
    return (this.#opened ??= this.#openFile());
  }

  /** Commits are not synced, only the checkpoints are, so what is there is whole. */
  #openFile(): Opened {
    const { busyTimeoutMs, checkpoint } = this.#options;
    const onFatal = (fault: unknown): void => {
      this.#report(fault);
      this.#isUnusable = true;
    };
    let db: Database | undefined;
    try {
      db = new Database(this.#file, { mode: 'write', sync: 'deferred', busyTimeoutMs });
      migrate(db, 'requests');
    } catch (fault) {
      db?.close();
      this.#report(fault);
      throw fault;
    }
    return { db, queue: new SqliteWriteQueue(db, { checkpoint, onFatal, gather: 'none', syncAfterCommit: false }) };
  }

  #report(fault: unknown): void {
    if (!this.#isReported && !this.#isUnusable)
      this.#options.report(`The request log ${this.#file} cannot be used: ${String(fault)}`);
    this.#isReported = true;
  }
}

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
