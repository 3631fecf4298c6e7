/**
 * Begin here: group commit. Writes of one round of the event loop share a transaction, and their callers get a response
 * when it is on disk. Source: decisions 0008 and 0037.
 */
import { setImmediate as nextRound } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import { Refusal, refuseForNow, type Outcome } from '../../errors.ts';
import { mergeFeed } from '../pims/script-sql.ts';
import { isSliceOver, runInSlices, type Steps } from '../sql/slices.ts';
import type { Row, SearchChange, Statement, Writing } from '../sql/writing.ts';
import { faultOf, type Database } from './files/database.ts';
import { makeWriteAheadLog, type LogOptions } from './write-ahead-log.ts';

const NO_ROWS: readonly Row[] = [];

/**
 * Work that is done at the end of a transaction: changes of search indexes by ascending IDs, then one row of the feed.
 */
export type LateWork = { readonly id: number; readonly run: () => void } | Statement;

/** Runs a writing to its end, in the transaction of the caller, who rolls back when this throws. */
export function runWriting<T>(db: Database, writing: Writing<T>): T {
  const steps = runWritingInSteps(db, writing);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/**
 * Runs a writing as `runWriting` does, and yields when its slice is over. If `late` is given, it gets rows of the feed,
 * and changes of the search index: whenever IDs descend, FTS5 writes all pending ones to tables.
 */
export function* runWritingInSteps<T>(db: Database, writing: Writing<T>, late?: LateWork[]): Steps<T> {
  let step = writing.next();
  while (step.done !== true) {
    const { sql, values, reads, search, isFeed } = step.value;
    if (search && late) late.push(changeSearchLate(db, search));
    else if (isFeed && late) late.push(step.value);
    else if (!reads) db.runSql(sql, ...values);
    const found = reads ? db.rows(sql, ...values) : NO_ROWS;
    if (isSliceOver()) yield;
    step = writing.next(found);
  }
  return step.value;
}

function changeSearchLate(db: Database, { table, sortKey, text }: SearchChange): LateWork {
  if (sortKey === undefined) {
    const id = db.lastRowId;
    return { id, run: () => void db.runSql(`INSERT INTO "${table}_SEARCH" (rowid, "FOLDED") VALUES (?, ?)`, id, text) };
  }
  const [id] = db.row<[number]>(`SELECT "ID" FROM "${table}" WHERE "SORT_KEY" = ?`, sortKey)!;
  return { id, run: () => void db.runSql(`UPDATE "${table}_SEARCH" SET "FOLDED" = ? WHERE rowid = ?`, text, id) };
}

/** Does a write inside the transaction. Work that it adds to `late` is done last in the group. May be called again. */
type Work<T> = (late: LateWork[]) => T;
type WorkInSteps<T> = Work<Steps<T>>;

// oxlint-disable-next-line require-yield
function* runInOneStep<T>(work: Work<T>, late: LateWork[]): Steps<T> {
  return work(late);
}

interface SqliteWrite {
  readonly work: WorkInSteps<unknown>;
  readonly resolve: (result: never) => void;
  readonly reject: (fault: unknown) => void;
  readonly onSyncing: (() => void) | undefined;
  /** Responds to the caller when the write has run. */
  complete: () => void;
}

export interface SqliteWriteQueueOptions extends LogOptions {
  /** `round`: gather writes until the end of the event loop's round; `none`: the caller has gathered them. */
  readonly gather: 'round' | 'none';
  /** When the log is synced. `after commit`: in the thread pool, before any caller is answered. */
  readonly sync: 'in commit' | 'after commit' | 'never';
  /** Called when a group is on disk. */
  readonly onCommit?: () => void;
  readonly clock: Clock;
}

/** Time after which a group ends, so that its callers get a response. */
const GROUP_MS_MAX = 50;
const BUSY_RETRY_MS = 5;
const BUSY_GIVE_UP_MS = 5000;

/** Only a service commits before it syncs, because only a service lets reads wait for the sync. */
export const syncOf = (busyTimeoutMs: number): SqliteWriteQueueOptions['sync'] =>
  busyTimeoutMs === 0 ? 'after commit' : 'in commit';

export type SqliteWriteQueue = ReturnType<typeof makeWriteQueue>;

export function makeWriteQueue(db: Database, options: SqliteWriteQueueOptions) {
  const log = makeWriteAheadLog(db.file, options);
  if (options.sync !== 'in commit') db.exec('PRAGMA synchronous=NORMAL');
  const waiting: SqliteWrite[] = [];
  let flushing: Promise<void> | undefined;
  /** The refusal of every later write, once the file is closed or can no longer be trusted. */
  let ended: Refusal | undefined;
  const refuseFault = (fault: unknown) => {
    const kind = faultOf(fault);
    if (kind === 'full') return refuseForNow('STORAGE_FULL', undefined, 30);
    if (kind === 'busy') return refuseForNow('STORE_UNAVAILABLE');
    // After a failed write or sync, only a new process, which reads the log again, knows which data is on disk. This
    // process therefore commits nothing more, because a later sync may succeed although an earlier one has lost data.
    return (ended = options.onFatal(fault));
  };
  const beginGroup = () => beginWriting(db, options.clock, refuseFault);
  /** Restarts the log, which then has space for counts even on a full disk. Returns whether a transaction has begun. */
  const restartFullLog = async () => {
    await log.checkpoint();
    return !((await beginGroup()) instanceof Refusal);
  };
  const commitGroup = async (group: SqliteWrite[], isLastTry = false) => {
    try {
      const undone = await runInSlices(runAll(db, group, waiting));
      if (undone) {
        rollBack(db);
        const refusal = await beginGroup();
        if (refusal) return refuseAll(group, refusal);
        await runInSlices(runAll(db, group, waiting, undone));
      }
      db.runSql('COMMIT');
      for (const { onSyncing } of group) onSyncing?.();
      if (options.sync === 'after commit') await log.sync();
      if (log.isRemoved()) throw new Error('it was removed while it was open');
    } catch (fault) {
      rollBack(db);
      if (faultOf(fault) === 'full' && !isLastTry && (await restartFullLog())) return commitGroup(group, true);
      return refuseAll(group, refuseFault(fault));
    }
    for (const { complete } of group) complete();
    options.onCommit?.();
  };
  const flushWrites = async () => {
    while (waiting.length > 0) {
      const begun = ended ?? (await beginGroup());
      const group = waiting.splice(0);
      const { length } = group;
      if (begun instanceof Refusal) refuseAll(group, begun);
      else await commitGroup(group);
      if (group.length < length) await nextRound();
      await log.shorten();
    }
    flushing = undefined;
  };
  return {
    log,
    /**
     * Runs work inside the next transaction. A Refusal undoes only this work. Resolves when the result is on disk, and
     * calls `onSyncing` when it is committed.
     */
    enqueueWork<T>(work: Work<Outcome<T>>, onSyncing?: () => void): Promise<Outcome<T>> {
      return this.enqueueSteps((late) => runInOneStep(work, late), onSyncing);
    },
    /** Runs work as `enqueueWork` does, and lets other work run in between. Only another connection may read. */
    enqueueSteps<T>(work: WorkInSteps<Outcome<T>>, onSyncing?: () => void): Promise<Outcome<T>> {
      if (ended) return Promise.resolve(ended);
      const { promise, resolve, reject } = Promise.withResolvers<Outcome<T>>();
      waiting.push({ work, resolve, reject, onSyncing, complete: () => undefined });
      flushing ??= options.gather === 'round' ? nextRound().then(flushWrites) : flushWrites();
      return promise;
    },
    /** Waits for the queued writes and for a running checkpoint, then closes the file. */
    close: async () => {
      await flushing;
      ended ??= refuseForNow('SERVICE_BUSY');
      await log.close();
      db.close();
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
      db.runSql('BEGIN IMMEDIATE');
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
 * Runs the writes of a group, and returns those that would keep the others waiting for too long to `waiting`, for the
 * next group. Savepoints are expensive, because SQLite copies every page that changes after one, and FTS5 writes all
 * pending changes. A group therefore first runs without savepoints, as far as the first write that has to be undone,
 * which this returns. Then the others run again with savepoints.
 */
function* runAll(
  db: Database,
  group: SqliteWrite[],
  waiting: SqliteWrite[],
  undone?: SqliteWrite,
): Steps<SqliteWrite | undefined> {
  const late: LateWork[] = [];
  const endsAt = performance.now() + GROUP_MS_MAX;
  for (const [at, item] of group.entries()) {
    if (item === undone) continue;
    const gathered = late.length;
    const { changes } = db;
    if (undone) db.runSql('SAVEPOINT one');
    if (!(yield* runOne(item, late))) {
      if (undone) db.runSql('ROLLBACK TO one');
      else if (db.changes !== changes) return item;
      late.length = gathered;
    }
    if (undone) db.runSql('RELEASE one');
    if (performance.now() > endsAt) waiting.unshift(...group.splice(at + 1));
  }
  if (late.length === 0) return undefined;
  for (const { run } of late.filter((work) => 'run' in work).toSorted((one, other) => one.id - other.id)) {
    run();
    if (isSliceOver()) yield;
  }
  for (const { sql, values } of mergeFeed(late.filter((work) => 'sql' in work))) db.runSql(sql, ...values);
  return undefined;
}

/** Runs a write, and returns whether to keep its changes. */
function* runOne(item: SqliteWrite, late: LateWork[]): Steps<boolean> {
  try {
    const result = yield* item.work(late);
    item.complete = () => item.resolve(result as never);
    return !(result instanceof Refusal);
  } catch (fault) {
    const kind = faultOf(fault);
    if (kind === 'fatal' || kind === 'full') throw fault;
    // The rules throw their refusals; to the caller a refusal is an outcome like any other.
    item.complete = () => (fault instanceof Refusal ? item.resolve(fault as never) : item.reject(fault));
    return false;
  }
}

function rollBack(db: Database): void {
  try {
    db.runSql('ROLLBACK');
  } catch {
    // After some faults SQLite has already rolled back.
  }
}

function refuseAll(group: readonly SqliteWrite[], refusal: Refusal): void {
  for (const { resolve } of group) resolve(refusal as never);
}
