/**
 * Begin here: group commit. Writes of one turn of the event loop share a transaction, and their callers get a response
 * when it is on disk. Checkpoints in another thread keep the write-ahead log short. Source: decisions 0008 and 0037.
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

/** Does a write inside the transaction. Work that it adds to `late` is done last in the group. May be called again. */
type Work<T> = (late: LateWork[]) => T;

interface SqliteWrite {
  readonly work: Work<unknown>;
  readonly resolve: (result: never) => void;
  readonly reject: (fault: unknown) => void;
  /** Responds to the caller when the write has run. */
  settle: () => void;
}

export interface SqliteWriteQueueOptions {
  /** `turn`: gather writes until the end of the event loop's turn; `none`: the caller has gathered them. */
  readonly gather: 'turn' | 'none';
  /** Whether to sync the log after COMMIT, in the thread pool, before any caller is answered. */
  readonly syncAfterCommit: boolean;
  /** Runs a passive checkpoint of the file in another thread. */
  readonly checkpoint: (file: string) => Promise<void>;
  readonly onFatal: OnFatal;
  /** Called when a group is on disk. */
  readonly onCommit?: () => void;
  readonly clock: Clock;
}

/** Time after which a group ends, so that other work gets a turn. */
const GROUP_MS_MOST = 50;
const BUSY_RETRY_MS = 5;
const BUSY_GIVE_UP_MS = 5000;
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

export class SqliteWriteQueue {
  readonly #db: Database;
  readonly #options: SqliteWriteQueueOptions;
  #waiting: SqliteWrite[] = [];
  #flushing: Promise<void> | undefined;
  #logFile: number | undefined;
  /** Commits since the log last restarted. */
  #commits = 0;
  #logBytes = 0;
  /** The refusal of every later write, once the file is closed or can no longer be trusted. */
  #ended: Refusal | undefined;
  /** The concurrent checkpoint, which leaves little work for the checkpoint that restarts the log. */
  #checkpointing: Promise<void> | undefined;
  #isCheckpointed = false;
  #unsynced: Promise<void> | undefined;

  constructor(db: Database, options: SqliteWriteQueueOptions) {
    this.#db = db;
    this.#options = options;
  }

  /** Runs work inside the next transaction. A Refusal undoes only this work. Resolves when the result is on disk. */
  run<T>(work: Work<Outcome<T>>): Promise<Outcome<T>> {
    if (this.#ended) return Promise.resolve(this.#ended);
    const { promise, resolve, reject } = Promise.withResolvers<Outcome<T>>();
    this.#waiting.push({ work, resolve, reject, settle: () => undefined });
    this.#flushing ??= this.#options.gather === 'turn' ? nextTurn().then(() => this.#flush()) : this.#flush();
    return promise;
  }

  /**
   * Exists while others can read a commit that is not on disk. No response may show that commit before this resolves.
   * If the log could not be synced, it stays and is rejected with a Refusal.
   */
  get unsynced(): Promise<void> | undefined {
    return this.#unsynced;
  }

  /** Bytes of the log when it was last measured, a few commits ago. */
  get logBytes(): number {
    return this.#logBytes;
  }

  /** Waits for the queued writes and for a running checkpoint, then closes the log. */
  async close(): Promise<void> {
    await this.#flushing;
    this.#ended ??= new Refusal('SERVICE_BUSY', undefined, { retryAfterSeconds: 1 });
    await this.#checkpointing;
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

  /** Retries while another process holds the file, because waiting inside SQLite would block the event loop. */
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
      if (faultOf(fault) === 'full' && !isLastTry && (await this.#restartFullLog())) return this.#commit(group, true);
      return refuseAll(group, this.#refuse(fault));
    }
    for (const { settle } of group) settle();
    this.#options.onCommit?.();
  }

  /**
   * Runs the writes of a group, and leaves writes that would block the event loop for too long to the next group.
   * Savepoints are expensive, because SQLite copies every page that changes after one, and FTS5 writes all pending
   * changes. A group therefore first runs without them, and returns false if one of its writes has to be undone.
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

  /** Runs a write, and returns whether to keep its changes. */
  #runOne(item: SqliteWrite, late: LateWork[]): boolean {
    try {
      const result = item.work(late);
      item.settle = () => item.resolve(result as never);
      return !(result instanceof Refusal);
    } catch (fault) {
      if (faultOf(fault) === 'fatal' || faultOf(fault) === 'full') throw fault;
      // The rules throw their refusals; to the caller a refusal is an outcome like any other.
      item.settle = () => (fault instanceof Refusal ? item.resolve(fault as never) : item.reject(fault));
      return false;
    }
  }

  /** Syncs the commits so far to the disk, in the thread pool. */
  async sync(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // Usually no one awaits this promise.
    promise.catch(() => undefined);
    this.#unsynced = promise;
    try {
      await syncFile((this.#logFile ??= openSync(`${this.#db.file}-wal`, 'r')));
    } catch (fault) {
      reject(unavailable());
      throw fault;
    }
    this.#unsynced = undefined;
    resolve();
  }

  /** Returns whether the file was deleted. While it is open, it accepts writes, which are lost with the process. */
  #isRemoved(): boolean {
    return !existsSync(this.#db.file) || (this.#logFile !== undefined && fstatSync(this.#logFile).nlink === 0);
  }

  /** On a full disk, a restarted log has space, so that reads are still counted. */
  async #restartFullLog(): Promise<boolean> {
    await this.#checkpoint();
    return !((await this.#begin()) instanceof Refusal);
  }

  #rollBack(): void {
    try {
      this.#db.run('ROLLBACK');
    } catch {
      // After some faults SQLite has already rolled back.
    }
  }

  #refuse(fault: unknown): Refusal {
    const kind = faultOf(fault);
    if (kind === 'full') return new Refusal('STORAGE_FULL', undefined, { retryAfterSeconds: 30 });
    if (kind === 'busy') return unavailable();
    // After a failed write or sync, only a new process, which reads the log again, knows which data is on disk. This
    // process therefore commits nothing more, because a later sync may succeed although an earlier one has lost data.
    this.#ended = this.#options.onFatal(fault);
    return this.#ended;
  }

  #isLogLong(): boolean {
    if (this.#commits % COMMITS_PER_LOOK !== 0) return false;
    this.#logBytes = statSync(`${this.#db.file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    return this.#logBytes > LOG_BYTES_MAX;
  }

  /**
   * The log restarts only when a checkpoint has copied every commit. The first checkpoints run concurrently with writes
   * and do most of the work. The last, for which writes wait, has little left to do.
   */
  async #shortenLog(): Promise<void> {
    if (this.#isCheckpointed) {
      await this.#checkpoint();
      this.#isCheckpointed = false;
      this.#commits = 0;
    } else if (this.#commits >= COMMITS_PER_CHECKPOINT || this.#isLogLong())
      this.#checkpointing ??= this.#checkpointBeside();
  }

  async #checkpointBeside(): Promise<void> {
    for (let [round, left] = [1, Infinity]; round <= ROUNDS_MOST && left > COMMITS_LEFT_MOST; round++) {
      const before = this.#commits;
      await this.#checkpoint();
      left = this.#commits - before;
    }
    this.#checkpointing = undefined;
    this.#isCheckpointed = true;
  }

  #checkpoint(): Promise<unknown> {
    return this.#options.checkpoint(this.#db.file).catch((fault: unknown) => this.#options.onFatal(fault));
  }
}

const unavailable = (): Refusal => new Refusal('STORE_UNAVAILABLE', undefined, { retryAfterSeconds: 1 });

function refuseAll(group: readonly SqliteWrite[], refusal: Refusal): void {
  for (const { resolve } of group) resolve(refusal as never);
}
