/**
 * Begin here: group commit. Writes of one turn of the event loop share a transaction, and their callers get a response
 * when it is on disk. Source: decisions 0008 and 0037.
 */
import { close, existsSync, fdatasync, fstatSync, openSync, statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Clock } from '../../clock.ts';
import { Refusal, refuseForNow, type Outcome } from '../../errors.ts';
import { mergeFeed } from '../pims/script-sql.ts';
import type { Row, SearchChange, Statement, Writing } from '../writing.ts';
import { faultOf, type Database, type OnFatal } from './files/database.ts';

const NO_ROWS: readonly Row[] = [];

/** Work that is done at the end of a transaction: changes of search indexes by ascending IDs, then one row of the feed. */
export type LateWork = { readonly id: number; readonly run: () => void } | Statement;

/**
 * Runs a writing to its end, in the transaction of the caller, who rolls back when this throws. If `late` is given, it
 * gets rows of the feed, and changes of the search index: whenever IDs descend, FTS5 writes all pending ones to tables.
 */
export function runWriting<T>(db: Database, writing: Writing<T>, late?: LateWork[]): T {
  let step = writing.next();
  while (step.done !== true) {
    const { sql, values, reads, search, isFeed } = step.value;
    if (search && late) late.push(changeSearchLate(db, search));
    else if (isFeed && late) late.push(step.value);
    else if (!reads) db.run(sql, ...values);
    step = writing.next(reads ? db.rows(sql, ...values) : NO_ROWS);
  }
  return step.value;
}

function changeSearchLate(db: Database, { table, sortKey, text }: SearchChange): LateWork {
  if (sortKey === undefined) {
    const id = db.lastRowId;
    return { id, run: () => void db.run(`INSERT INTO "${table}_SEARCH" (rowid, "FOLDED") VALUES (?, ?)`, id, text) };
  }
  const [id] = db.row<[number]>(`SELECT "ID" FROM "${table}" WHERE "SORT_KEY" = ?`, sortKey)!;
  return { id, run: () => void db.run(`UPDATE "${table}_SEARCH" SET "FOLDED" = ? WHERE rowid = ?`, text, id) };
}

/** Does a write inside the transaction. Work that it adds to `late` is done last in the group. May be called again. */
type Work<T> = (late: LateWork[]) => T;

interface SqliteWrite {
  readonly work: Work<unknown>;
  readonly resolve: (result: never) => void;
  readonly reject: (fault: unknown) => void;
  /** Responds to the caller when the write has run. */
  complete: () => void;
}

export interface SqliteWriteQueueOptions {
  /** Runs a passive checkpoint of the file in another thread. */
  readonly checkpoint: (file: string) => Promise<void>;
  readonly onFatal: OnFatal;
  /** `turn`: gather writes until the end of the event loop's turn; `none`: the caller has gathered them. */
  readonly gather: 'turn' | 'none';
  /** Whether to sync the log after COMMIT, in the thread pool, before any caller is answered. */
  readonly syncAfterCommit: boolean;
  /** Called when a group is on disk. */
  readonly onCommit?: () => void;
  readonly clock: Clock;
}

/** Time after which a group ends, so that other work gets a turn. */
const GROUP_MS_MOST = 50;
const BUSY_RETRY_MS = 5;
const BUSY_GIVE_UP_MS = 5000;

export type SqliteWriteQueue = ReturnType<typeof makeWriteQueue>;

export function makeWriteQueue(db: Database, options: SqliteWriteQueueOptions) {
  const log = makeWriteAheadLog(db, options);
  let waiting: SqliteWrite[] = [];
  let flushing: Promise<void> | undefined;
  /** The refusal of every later write, once the file is closed or can no longer be trusted. */
  let ended: Refusal | undefined;
  const refuse = (fault: unknown) => {
    const kind = faultOf(fault);
    if (kind === 'full') return refuseForNow('STORAGE_FULL', undefined, 30);
    if (kind === 'busy') return refuseForNow('STORE_UNAVAILABLE');
    // After a failed write or sync, only a new process, which reads the log again, knows which data is on disk. This
    // process therefore commits nothing more, because a later sync may succeed although an earlier one has lost data.
    ended = options.onFatal(fault);
    return ended;
  };
  const begin = () => beginWriting(db, options.clock, refuse);
  /** Restarts the log, which then has space for counts even on a full disk. Returns whether a transaction has begun. */
  const restartFullLog = async () => {
    await log.checkpoint();
    return !((await begin()) instanceof Refusal);
  };
  const commit = async (group: SqliteWrite[], isLastTry = false) => {
    try {
      if (!runAll(db, group, waiting, false)) {
        rollBack(db);
        const refusal = await begin();
        if (refusal) return refuseAll(group, refusal);
        runAll(db, group, waiting, true);
      }
      db.run('COMMIT');
      if (options.syncAfterCommit) await log.sync();
      if (log.isRemoved()) throw new Error('it was removed while it was open');
    } catch (fault) {
      rollBack(db);
      if (faultOf(fault) === 'full' && !isLastTry && (await restartFullLog())) return commit(group, true);
      return refuseAll(group, refuse(fault));
    }
    for (const { complete } of group) complete();
    options.onCommit?.();
  };
  const flush = async () => {
    while (waiting.length > 0) {
      const begun = ended ?? (await begin());
      const group = waiting;
      waiting = [];
      const { length } = group;
      if (begun instanceof Refusal) refuseAll(group, begun);
      else await commit(group);
      if (group.length < length) await nextTurn();
      await log.shorten();
    }
    flushing = undefined;
  };
  return {
    log,
    /** Runs work inside the next transaction. A Refusal undoes only this work. Resolves when the result is on disk. */
    run<T>(work: Work<Outcome<T>>): Promise<Outcome<T>> {
      if (ended) return Promise.resolve(ended);
      const { promise, resolve, reject } = Promise.withResolvers<Outcome<T>>();
      waiting.push({ work, resolve, reject, complete: () => undefined });
      flushing ??= options.gather === 'turn' ? nextTurn().then(flush) : flush();
      return promise;
    },
    /** Waits for the queued writes and for a running checkpoint, then closes the log. */
    async close() {
      await flushing;
      ended ??= refuseForNow('SERVICE_BUSY');
      await log.close();
    },
  };
}

/** Retries while another process holds the file, because waiting inside SQLite would block the event loop. */
async function beginWriting(
  db: Database,
  clock: Clock,
  refuse: (fault: unknown) => Refusal,
): Promise<Refusal | undefined> {
  const giveUpAt = clock.elapsed() + BUSY_GIVE_UP_MS;
  for (;;) {
    try {
      db.run('BEGIN IMMEDIATE');
      return undefined;
    } catch (fault) {
      if (faultOf(fault) !== 'busy') return refuse(fault);
      if (clock.elapsed() > giveUpAt)
        return refuseForNow(
          'STORE_UNAVAILABLE',
          'Another process has held the store for five seconds; nothing was written.',
          5,
        );
    }
    await clock.sleep(BUSY_RETRY_MS);
  }
}

/**
 * Runs the writes of a group, and returns those that would block the event loop for too long to `waiting`, for the next
 * group. Savepoints are expensive, because SQLite copies every page that changes after one, and FTS5 writes all pending
 * changes. A group therefore first runs without savepoints, and returns false if one of its writes has to be undone.
 */
function runAll(db: Database, group: SqliteWrite[], waiting: SqliteWrite[], savepoints: boolean): boolean {
  const late: LateWork[] = [];
  const countChanges = () => db.row<[number]>('SELECT total_changes()')![0];
  const giveWayAt = performance.now() + GROUP_MS_MOST;
  for (const [at, item] of group.entries()) {
    const gathered = late.length;
    const changes = savepoints ? 0 : countChanges();
    if (savepoints) db.run('SAVEPOINT one');
    if (!runOne(item, late)) {
      if (savepoints) db.run('ROLLBACK TO one');
      else if (countChanges() !== changes) return false;
      late.length = gathered;
    }
    if (savepoints) db.run('RELEASE one');
    if (performance.now() > giveWayAt) waiting.unshift(...group.splice(at + 1));
  }
  for (const { run } of late.filter((work) => 'run' in work).toSorted((one, other) => one.id - other.id)) run();
  for (const { sql, values } of mergeFeed(late.filter((work) => 'sql' in work))) db.run(sql, ...values);
  return true;
}

/** Runs a write, and returns whether to keep its changes. */
function runOne(item: SqliteWrite, late: LateWork[]): boolean {
  try {
    const result = item.work(late);
    item.complete = () => item.resolve(result as never);
    return !(result instanceof Refusal);
  } catch (fault) {
    if (faultOf(fault) === 'fatal' || faultOf(fault) === 'full') throw fault;
    // The rules throw their refusals; to the caller a refusal is an outcome like any other.
    item.complete = () => (fault instanceof Refusal ? item.resolve(fault as never) : item.reject(fault));
    return false;
  }
}

function rollBack(db: Database): void {
  try {
    db.run('ROLLBACK');
  } catch {
    // After some faults SQLite has already rolled back.
  }
}

function refuseAll(group: readonly SqliteWrite[], refusal: Refusal): void {
  for (const { resolve } of group) resolve(refusal as never);
}

const syncFile = promisify(fdatasync);
const closeFile = promisify(close);

const COMMITS_PER_CHECKPOINT = 400;
/** Bytes of the log after which a checkpoint is due, because large commits fill the log sooner. */
const LOG_BYTES_MAX = 24 * 1024 * 1024;
/** Commits between two measurements of the log. */
const COMMITS_PER_LOOK = 8;

/**
 * A concurrent checkpoint is repeated if more commits than this were made during it, but only a limited number of
 * times.
 */
const COMMITS_LEFT_MOST = 2;
const ROUNDS_MOST = 4;

/**
 * The write-ahead log of a file that is written to: syncs it in the thread pool, and keeps it short with checkpoints in
 * another thread.
 */
function makeWriteAheadLog({ file }: Database, options: SqliteWriteQueueOptions) {
  const path = `${file}-wal`;
  let descriptor: number | undefined;
  /** Commits since the log last restarted. */
  let commits = 0;
  let bytes = 0;
  /** The concurrent checkpoint, which leaves little work for the checkpoint that restarts the log. */
  let checkpointing: Promise<void> | undefined;
  let isCheckpointed = false;
  let unsynced: Promise<void> | undefined;

  const checkpoint = () => options.checkpoint(file).catch((fault: unknown) => options.onFatal(fault));
  const checkpointBeside = async () => {
    for (let [round, left] = [1, Infinity]; round <= ROUNDS_MOST && left > COMMITS_LEFT_MOST; round++) {
      const before = commits;
      await checkpoint();
      left = commits - before;
    }
    checkpointing = undefined;
    isCheckpointed = true;
  };
  const isLong = () => {
    if (commits % COMMITS_PER_LOOK !== 0) return false;
    bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    return bytes > LOG_BYTES_MAX;
  };

  return {
    checkpoint,
    /**
     * A promise while others can read a commit that is not on disk. No response may show the commit before it resolves.
     * If the log could not be synced, the promise stays and is rejected with a Refusal.
     */
    get unsynced() {
      return unsynced;
    },
    /** Bytes of the log when it was last measured, a few commits ago. */
    get bytes() {
      return bytes;
    },
    /** Syncs the commits so far to the disk, in the thread pool. */
    async sync() {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      // Usually no one awaits this promise.
      promise.catch(() => undefined);
      unsynced = promise;
      try {
        await syncFile((descriptor ??= openSync(path, 'r')));
      } catch (fault) {
        reject(refuseForNow('STORE_UNAVAILABLE'));
        throw fault;
      }
      unsynced = undefined;
      resolve();
    },
    /** Returns whether the file was deleted. While it is open, it accepts writes, which are lost with the process. */
    isRemoved: () => !existsSync(file) || (descriptor !== undefined && fstatSync(descriptor).nlink === 0),
    /**
     * Notes a commit and shortens the log, which restarts only when a checkpoint has copied every commit. The first
     * checkpoints run concurrently with writes and do most of the work. The last, for which writes wait, has little left
     * to do.
     */
    async shorten() {
      commits++;
      if (isCheckpointed) {
        await checkpoint();
        isCheckpointed = false;
        commits = 0;
      } else if (commits >= COMMITS_PER_CHECKPOINT || isLong()) checkpointing ??= checkpointBeside();
    },
    /** Waits for a running checkpoint. */
    async close() {
      await checkpointing;
      const closed = descriptor;
      descriptor = undefined;
      if (closed !== undefined) await closeFile(closed);
    },
  };
}
