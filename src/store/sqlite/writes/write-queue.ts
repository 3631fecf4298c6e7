/**
 * Group commit: writes of one turn of the event loop share a transaction and are answered after it is on disk. Keeps
 * the write-ahead log short, with checkpoints off the event loop. Source: decisions 0008 and 0037.
 */
import { close, existsSync, fdatasync, fstatSync, openSync, statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Clock } from '../../../clock.ts';
import { Refusal, type Outcome } from '../../../errors.ts';
import { faultOf, type Database, type OnFatal } from '../files/database.ts';
import type { LateWork } from './run-writing.ts';

const syncFile = promisify(fdatasync);
const closeFile = promisify(close);

/** Does a write inside the transaction. What it adds to `late` is done at the end of the group. May be called again. */
type Work<T> = (late: LateWork[]) => T;

interface SqliteWrite {
  readonly work: Work<unknown>;
  readonly resolve: (result: never) => void;
  readonly reject: (fault: unknown) => void;
  result?: unknown;
  fault?: unknown;
}

export interface SqliteWriteQueueOptions {
  /** `turn`: gather writes until the end of the event loop's turn; `none`: the caller has gathered them. */
  readonly gather: 'turn' | 'none';
  /** Set when COMMIT does not sync: the log is then synced in the thread pool before anybody is answered. */
  readonly syncAfterCommit: boolean;
  /** Runs a passive checkpoint of the file in another thread. */
  readonly checkpoint: (file: string) => Promise<void>;
  readonly onFatal: OnFatal;
  readonly clock: Clock;
}

/** A group goes on with no further write after this long. */
const GROUP_MS_MOST = 50;
const BUSY_RETRY_MS = 5;
const BUSY_GIVE_UP_MS = 5000;
const COMMITS_PER_CHECKPOINT = 400;
/** Large commits fill the log sooner; this many bytes of it bring a checkpoint forward. */
const LOG_BYTES_MAX = 24 * 1024 * 1024;
/** Most commits are small: the log is measured only this often. */
const COMMITS_PER_LOOK = 8;

/** Checkpoints beside the writes go on while each leaves more commits behind it than this, but not for ever. */
const COMMITS_LEFT_MOST = 2;
const ROUNDS_MOST = 4;

/** A checkpoint that runs beside the writes, to leave little for the one that lets the log start over. */
interface Checkpoint {
  readonly done: Promise<void>;
  /** How many ran in a row, with this one. */
  readonly round: number;
  /** The commits of the log when it began. */
  readonly commits: number;
  isDone: boolean;
}

export class SqliteWriteQueue {
  readonly #db: Database;
  readonly #options: SqliteWriteQueueOptions;
  #waiting: SqliteWrite[] = [];
  #flushing: Promise<void> | undefined;
  #logFile: number | undefined;
  /** Since the log last started over. */
  #commits = 0;
  #logBytes = 0;
  /** What every further write is answered with, once the file is closed or can no longer be trusted. */
  #ended: Refusal | undefined;
  #checkpoint: Checkpoint | undefined;
  #unsynced: Promise<void> | undefined;

  constructor(db: Database, options: SqliteWriteQueueOptions) {
    this.#db = db;
    this.#options = options;
  }

  /** Runs work inside the next transaction. A Refusal undoes only this work. Resolves when the result is on disk. */
  run<T>(work: Work<Outcome<T>>): Promise<Outcome<T>> {
    if (this.#ended) return Promise.resolve(this.#ended);
    const { promise, resolve, reject } = Promise.withResolvers<Outcome<T>>();
    this.#waiting.push({ work, resolve, reject });
    this.#flushing ??= this.#options.gather === 'turn' ? nextTurn().then(() => this.#flush()) : this.#flush();
    return promise;
  }

  /**
   * There while others can read a commit that is not on disk: nobody may be told of it before this resolves. Rejects
   * with a Refusal, and stays there, once the log could not be synced.
   */
  get unsynced(): Promise<void> | undefined {
    return this.#unsynced;
  }

  /** Bytes of the log when it was last measured, a few commits ago. */
  get logBytes(): number {
    return this.#logBytes;
  }

  /** Waits for what is queued, brings the log into the file, and lets go of it. */
  async close(): Promise<void> {
    await this.#flushing;
    this.#ended ??= new Refusal('SERVICE_BUSY', undefined, { retryAfterSeconds: 1 });
    await this.#checkpoint?.done;
    const logFile = this.#logFile;
    this.#logFile = undefined;
    if (logFile !== undefined) await closeFile(logFile);
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      const begun = this.#ended ?? (await this.#begin());
      const group = this.#waiting;
      this.#waiting = [];
      const { length } = group;
      if (begun instanceof Refusal) refuseAll(group, begun);
      else await this.#commit(group);
      this.#commits++;
      if (group.length < length) await nextTurn();
      await this.#shortenLog();
    }
    this.#flushing = undefined;
  }

  /** Retries while another process holds the file: waiting inside SQLite would stop the event loop. */
  async #begin(): Promise<Refusal | undefined> {
    const { clock } = this.#options;
    const giveUpAt = clock.elapsed() + BUSY_GIVE_UP_MS;
    for (;;) {
      try {
        this.#db.run('BEGIN IMMEDIATE');
        return undefined;
      } catch (fault) {
        if (faultOf(fault) !== 'busy') return this.#refuse(fault);
        if (clock.elapsed() > giveUpAt)
          return new Refusal(
            'STORE_UNAVAILABLE',
            'Another process has held the store for five seconds; nothing was written.',
            { retryAfterSeconds: 5 },
          );
      }
      await clock.sleep(BUSY_RETRY_MS);
    }
  }

  async #commit(group: SqliteWrite[], isLastTry = false): Promise<void> {
    try {
      if (!this.#runAll(group, false)) {
        this.#rollBack();
        const refusal = await this.#begin();
        if (refusal) return refuseAll(group, refusal);
        this.#runAll(group, true);
      }
      this.#db.run('COMMIT');
      if (this.#options.syncAfterCommit) await this.sync();
      if (this.#isRemoved()) throw new Error('it was removed while it was open');
    } catch (fault) {
      this.#rollBack();
      if (faultOf(fault) === 'full' && !isLastTry && (await this.#beginLogAnew())) return this.#commit(group, true);
      return refuseAll(group, this.#refuse(fault));
    }
    for (const item of group) {
      if ('fault' in item) item.reject(item.fault);
      else item.resolve(item.result as never);
    }
  }

  /**
   * Savepoints are dear: SQLite copies every page that changes behind one, and FTS5 writes all it has gathered. So a
   * group runs without them, and answers false when one of its writes has changed something that it has to undo. What
   * makes it too long for the event loop is left for the next group.
   */
  #runAll(group: SqliteWrite[], savepoints: boolean): boolean {
    const late: LateWork[] = [];
    const giveWayAt = performance.now() + GROUP_MS_MOST;
    for (const [at, item] of group.entries()) {
      const gathered = late.length;
      const changes = savepoints ? 0 : this.#countChanges();
      if (savepoints) this.#db.run('SAVEPOINT one');
      if (!this.#runOne(item, late)) {
        if (savepoints) this.#db.run('ROLLBACK TO one');
        else if (this.#countChanges() !== changes) return false;
        late.length = gathered;
      }
      if (savepoints) this.#db.run('RELEASE one');
      if (performance.now() > giveWayAt) this.#waiting.unshift(...group.splice(at + 1));
    }
    for (const { run } of late.toSorted((one, other) => one.id - other.id)) run();
    return true;
  }

  #countChanges(): number {
    return this.#db.row<[number]>('SELECT total_changes()')![0];
  }

  /** Whether what the write has done is to stay. */
  #runOne(item: SqliteWrite, late: LateWork[]): boolean {
    delete item.fault;
    try {
      item.result = item.work(late);
    } catch (fault) {
      if (faultOf(fault) === 'fatal' || faultOf(fault) === 'full') throw fault;
      // The rules throw what they refuse; to the caller it is an outcome like any other.
      if (fault instanceof Refusal) item.result = fault;
      else item.fault = fault;
      return false;
    }
    return !(item.result instanceof Refusal);
  }

  /** Brings the commits so far to the disk, in the thread pool. */
  async sync(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // Mostly nobody reads meanwhile.
    promise.catch(() => undefined);
    this.#unsynced = promise;
    try {
      await syncFile((this.#logFile ??= openSync(`${this.#db.file}-wal`, 'r')));
    } catch (fault) {
      reject(new Refusal('STORE_UNAVAILABLE', undefined, { retryAfterSeconds: 1 }));
      throw fault;
    }
    this.#unsynced = undefined;
    resolve();
  }

  /** An open file without a name takes writes, and goes with the process. */
  #isRemoved(): boolean {
    return !existsSync(this.#db.file) || (this.#logFile !== undefined && fstatSync(this.#logFile).nlink === 0);
  }

  /** On a full disk the log has space once a checkpoint lets it start over, so that reads are still counted. */
  async #beginLogAnew(): Promise<boolean> {
    await this.#options.checkpoint(this.#db.file).catch((fault: unknown) => this.#options.onFatal(fault));
    return !((await this.#begin()) instanceof Refusal);
  }

  #rollBack(): void {
    try {
      this.#db.run('ROLLBACK');
    } catch {
      // SQLite has rolled back by itself after some faults.
    }
  }

  #refuse(fault: unknown): Refusal {
    const kind = faultOf(fault);
    if (kind === 'full') return new Refusal('STORAGE_FULL', undefined, { retryAfterSeconds: 30 });
    // After a failed write or sync only a new process, reading the log anew, knows what is on disk. Until this one has
    // ended it commits nothing more: a later sync may succeed over what an earlier one has lost.
    if (kind === 'busy') return new Refusal('STORE_UNAVAILABLE', undefined, { retryAfterSeconds: 1 });
    this.#ended = this.#options.onFatal(fault);
    return this.#ended;
  }

  #isLogLong(): boolean {
    if (this.#commits % COMMITS_PER_LOOK !== 0) return false;
    this.#logBytes = statSync(`${this.#db.file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    return this.#logBytes > LOG_BYTES_MAX;
  }

  /**
   * The log starts over only when a checkpoint has caught up with every commit. The first ones run beside the writes
   * and do the bulk; the last, for which the writes wait, has little left to do.
   */
  async #shortenLog(): Promise<void> {
    const last = this.#checkpoint;
    if (!last) {
      if (this.#commits >= COMMITS_PER_CHECKPOINT || this.#isLogLong()) this.#startCheckpoint(1);
    } else if (last.isDone) {
      if (this.#commits - last.commits > COMMITS_LEFT_MOST && last.round < ROUNDS_MOST)
        this.#startCheckpoint(last.round + 1);
      else await this.#restartLog();
    }
  }

  #startCheckpoint(round: number): void {
    const done = this.#options.checkpoint(this.#db.file).then(
      () => void (checkpoint.isDone = true),
      (fault: unknown) => void this.#options.onFatal(fault),
    );
    const checkpoint: Checkpoint = { done, round, commits: this.#commits, isDone: false };
    this.#checkpoint = checkpoint;
  }

  async #restartLog(): Promise<void> {
    await this.#options.checkpoint(this.#db.file).catch((fault: unknown) => this.#options.onFatal(fault));
    this.#checkpoint = undefined;
    this.#commits = 0;
  }
}

function refuseAll(group: readonly SqliteWrite[], refusal: Refusal): void {
  for (const { resolve } of group) resolve(refusal as never);
}
