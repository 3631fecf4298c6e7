/**
 * The request log of the embedded store, in a file that is opened when it is first used. Commits are not synced: a
 * power loss can lose the last moments. A damaged file ends the log; the service goes on.
 */
import { existsSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { orThrow, Refusal } from '../../errors.ts';
import type { RefusalCount, RequestBlock } from '../../request-log/port.ts';
import { END_OF_TIME, type KeyUseOfTeam, type OwnRequests } from '../control/request-store.ts';
import type { Bound, Row } from '../writing.ts';
import { Database } from './files/database.ts';
import { migrate } from './files/migrate.ts';
import { SqliteWriteQueue, type SqliteWriteQueueOptions } from './writes/write-queue.ts';

interface RequestStoreOptions extends Pick<SqliteWriteQueueOptions, 'checkpoint' | 'clock'> {
  readonly busyTimeoutMs: number;
  /** Told once when the log cannot be used. */
  readonly report: (event: string) => void;
}

const ADD_BLOCK = 'INSERT INTO REQUESTS VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING';
const ADD_REFUSALS =
  'INSERT INTO REFUSALS VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET CALLS = CALLS + excluded.CALLS';
const ADD_USE = `INSERT INTO KEY_USES VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
  CLIENT = CASE WHEN excluded.USED_AT >= USED_AT THEN excluded.CLIENT ELSE CLIENT END,
  USED_AT = max(USED_AT, excluded.USED_AT), USED_IN_URL_AT = max(USED_IN_URL_AT, excluded.USED_IN_URL_AT)`;
const DELETE_BLOCKS = `DELETE FROM REQUESTS WHERE rowid IN
  (SELECT rowid FROM REQUESTS WHERE TEAM_ID = ? AND BLOCK_ID < ? ORDER BY BLOCK_ID LIMIT ?)`;
/** Long blocks are spread over many pages. Deleting these takes some milliseconds. */
const BLOCKS_PER_DELETE = 50;

interface LogFile {
  readonly db: Database;
  readonly queue: SqliteWriteQueue;
}

export class SqliteRequests implements OwnRequests {
  readonly schema = '';
  readonly #file: string;
  readonly #options: RequestStoreOptions;
  #opened: LogFile | undefined;
  #isUnusable = false;
  #isReported = false;

  constructor(file: string, options: RequestStoreOptions) {
    this.#file = file;
    this.#options = options;
  }

  async insertAll(
    blocks: readonly RequestBlock[],
    refusals: readonly RefusalCount[],
    uses: readonly KeyUseOfTeam[],
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

  async read<R extends Row>(sql: string, ...values: Bound[]): Promise<R[]> {
    return this.#open().db.rows<R>(sql, ...values);
  }

  readBlocks<R extends Row>(sql: string, ...values: Bound[]): Promise<R[]> {
    return this.read(sql, ...values);
  }

  async deleteSome(teamId: string, before: string): Promise<boolean> {
    const { db } = this.#open();
    const deleted = await this.#write(() => db.run(DELETE_BLOCKS, teamId, before, BLOCKS_PER_DELETE));
    return deleted === BLOCKS_PER_DELETE;
  }

  /** Deletes everything of a tenant. Creates no file for it. */
  async deleteRequests(teamId: string): Promise<void> {
    if (!this.#opened && !existsSync(this.#file)) return;
    while (await this.deleteSome(teamId, END_OF_TIME)) await nextTurn();
    const { db } = this.#open();
    await this.#write(() => {
      for (const table of ['REQUEST_BYTES', 'REFUSALS', 'KEY_USES'])
        db.run(`DELETE FROM ${table} WHERE TEAM_ID = ?`, teamId);
    });
  }

  /** Bytes of its write-ahead log. */
  get logBytes(): number {
    return this.#opened?.queue.logBytes ?? 0;
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#isUnusable = true;
    this.#opened = undefined;
    await opened?.queue.close();
    opened?.db.close();
  }

  async #write<T>(work: () => T): Promise<T> {
    return orThrow(await this.#open().queue.run(work));
  }

  #open(): LogFile {
    if (this.#isUnusable) throw unusable();
    return (this.#opened ??= this.#openFile());
  }

  /** Checkpoints are synced and commits are not, so the file is never damaged. */
  #openFile(): LogFile {
    const { busyTimeoutMs, checkpoint, clock } = this.#options;
    const onFatal = (fault: unknown): Refusal => {
      this.#report(fault);
      this.#isUnusable = true;
      return unusable();
    };
    let db: Database | undefined;
    try {
      db = new Database(this.#file, { mode: 'make', sync: 'deferred', busyTimeoutMs });
      migrate(db, 'requests');
    } catch (fault) {
      db?.close();
      this.#report(fault);
      throw fault;
    }
    return {
      db,
      queue: new SqliteWriteQueue(db, { checkpoint, clock, onFatal, gather: 'none', syncAfterCommit: false }),
    };
  }

  #report(fault: unknown): void {
    if (!this.#isReported && !this.#isUnusable)
      this.#options.report(`The request log ${this.#file} cannot be used: ${String(fault)}`);
    this.#isReported = true;
  }
}

const unusable = (): Refusal =>
  new Refusal('STORE_UNAVAILABLE', 'The request log cannot be used.', { retryAfterSeconds: 30 });
