/**
 * The write-ahead log of a file that is written to: syncs it in the thread pool, and keeps it short with checkpoints in
 * another thread. Source: decision 0037.
 */
import { close, existsSync, fdatasync, fstatSync, openSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { refuseForNow } from '../../errors.ts';
import type { OnFatal } from './files/database.ts';

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
const COMMITS_LEFT_MAX = 2;
const ATTEMPTS_MAX = 4;

export interface LogOptions {
  /** Runs a passive checkpoint of the file in another thread. */
  readonly checkpoint: (file: string) => Promise<void>;
  readonly onFatal: OnFatal;
}

/** Opens the log of a file. */
export function makeWriteAheadLog(file: string, { checkpoint: run, onFatal }: LogOptions) {
  const path = `${file}-wal`;
  let descriptor: number | undefined;
  /** Commits since the log last restarted. */
  let commits = 0;
  let bytes = 0;
  /** The concurrent checkpoint, which leaves little work for the checkpoint that restarts the log. */
  let checkpointing: Promise<void> | undefined;
  let isCheckpointed = false;
  let unsynced: Promise<void> | undefined;

  const checkpoint = () => run(file).catch((fault: unknown) => onFatal(fault));
  const checkpointBeside = async () => {
    for (let [attempt, left] = [1, Infinity]; attempt <= ATTEMPTS_MAX && left > COMMITS_LEFT_MAX; attempt++) {
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
     * checkpoints run concurrently with writes and do most of the work. The last, for which writes wait, has little
     * left to do.
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
