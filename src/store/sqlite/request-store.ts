/**
 * The request log of the embedded store. Its commits are not synced: a power loss can lose the last moments. A damaged
 * file ends the log; the service continues.
 */
import { existsSync } from 'node:fs';
import { setImmediate as nextRound } from 'node:timers/promises';
import { orThrow, Refusal, refuseForNow } from '../../errors.ts';
import { END_OF_TIME, type OwnRequests } from '../control/calls.ts';
import type { Bound, Row } from '../sql/writing.ts';
import { Database } from './files/database.ts';
import { migrate, type Owner } from './files/migrate.ts';
import { makeWriteQueue, type SqliteWriteQueue, type SqliteWriteQueueOptions } from './write-queue.ts';

interface RequestStoreOptions extends Pick<SqliteWriteQueueOptions, 'checkpoint' | 'clock'> {
  readonly owner: Owner;
  readonly busyTimeoutMs: number;
  /** Called once when the log cannot be used. */
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
/**
 * Maximum number of blocks to delete at a time. Long blocks have many pages, so deleting this many takes some
 * milliseconds.
 */
const BLOCKS_PER_DELETE = 50;

interface LogFile {
  readonly db: Database;
  readonly queue: SqliteWriteQueue;
}

/** Returns the store of the request log, which opens its file at the first use. */
export function openRequests(file: string, options: RequestStoreOptions) {
  let opened: LogFile | undefined;
  let [isUnusable, isReported] = [false, false];
  const reportOnce = (fault: unknown) => {
    if (!isReported && !isUnusable)
      options.report(`The request log ${file} cannot be used: ${(fault as Error).message}`);
    isReported = true;
  };
  const endLog = (fault: unknown) => {
    reportOnce(fault);
    isUnusable = true;
    return unusable();
  };
  const requireLog = () => {
    if (isUnusable) throw unusable();
    try {
      return (opened ??= openLog(file, options, endLog));
    } catch (fault) {
      reportOnce(fault);
      throw fault instanceof Refusal ? unusable() : fault;
    }
  };
  const writeLog = async <T>(work: (db: Database) => T): Promise<T> => {
    const { db, queue } = requireLog();
    return orThrow(await queue.enqueueWork(() => work(db)));
  };
  const readRows = async <R extends Row>(sql: string, ...values: Bound[]): Promise<R[]> =>
    requireLog().db.rows<R>(sql, ...values);
  const deleteSome = async (teamId: string, before: string) =>
    (await writeLog((db) => db.runSql(DELETE_BLOCKS, teamId, before, BLOCKS_PER_DELETE))) === BLOCKS_PER_DELETE;
  return {
    schema: '',
    readRows,
    readBlocks: readRows,
    deleteSome,
    addRequests: (blocks, refusals, uses) =>
      writeLog((db) => {
        for (const [index, { teamId, blockId, firstAt, boot, firstNumber, lastNumber, lines }] of blocks.entries()) {
          const added = db.runSql(ADD_BLOCK, teamId, blockId, firstAt, boot, firstNumber, lastNumber, lines);
          if (index === 0 && added === 0) return;
        }
        for (const { teamId, day, operation, calls } of refusals)
          db.runSql(ADD_REFUSALS, teamId, day, operation, calls);
        for (const { teamId, apiId, usedAt, client, usedInUrlAt } of uses)
          db.runSql(ADD_USE, teamId, apiId, usedAt, client, usedInUrlAt);
      }),
    /** Deletes the log of a tenant. Creates no file if there is none. */
    async deleteRequests(teamId: string) {
      if (!opened && !existsSync(file)) return;
      while (await deleteSome(teamId, END_OF_TIME)) await nextRound();
      await writeLog((db) => {
        for (const table of ['REQUEST_BYTES', 'REFUSALS', 'KEY_USES'])
          db.runSql(`DELETE FROM ${table} WHERE TEAM_ID = ?`, teamId);
      });
    },
    get logBytes() {
      return opened?.queue.log.bytes ?? 0;
    },
    async close() {
      isUnusable = true;
      await opened?.queue.close();
    },
  } satisfies OwnRequests & Record<string, unknown>;
}

/** Opens or creates the file. Checkpoints are synced and commits are not, so a power loss cannot damage the file. */
function openLog(
  file: string,
  { owner, busyTimeoutMs, checkpoint, clock }: RequestStoreOptions,
  onFatal: (fault: unknown) => Refusal,
): LogFile {
  const db = new Database(file, { mode: 'make', busyTimeoutMs });
  try {
    migrate(db, 'requests', owner);
  } catch (fault) {
    db.close();
    throw fault;
  }
  const queue = makeWriteQueue(db, { checkpoint, clock, onFatal, gather: 'none', sync: 'never' });
  return { db, queue };
}

const unusable = () => refuseForNow('STORE_UNAVAILABLE', 'The request log cannot be used.', 30);
