/**
 * Reads that arrive in one round of the event loop share one snapshot, which is opened at the end of the round. Each
 * read sees everything that was acknowledged before it was sent, and all share the cost of a transaction. Source:
 * decisions 0009, 0029 and 0037.
 */
import { setImmediate as nextRound } from 'node:timers/promises';
import { faultOf, type Database, type OnFatal } from '../files/database.ts';

/** Time after which the remaining reads wait for the next round, so that other work can run in between. */
const ROUND_MS = 4;

interface QueuedRead {
  readonly read: () => unknown;
  readonly resolve: (result: never) => void;
  readonly reject: (fault: unknown) => void;
}

export interface RoundReaderOptions {
  /** Runs inside the first snapshot, and inside each one that shows a commit of another connection. */
  readonly onChange: () => void;
  /** Returns a promise while a snapshot contains data that is not yet on disk. */
  readonly unsynced: () => Promise<void> | undefined;
  readonly onFatal: OnFatal;
}

export type RoundReader = ReturnType<typeof makeRoundReader>;

export function makeRoundReader(db: Database, { onChange, unsynced, onFatal }: RoundReaderOptions) {
  let waiting: QueuedRead[] = [];
  /** A number that changes with every commit of another connection. */
  let version = -1;
  const reasonOf = (fault: unknown) => (faultOf(fault) === 'fatal' ? onFatal(fault) : fault);

  const readAll = () => {
    const group = waiting;
    waiting = [];
    try {
      db.runSql('BEGIN');
      followChanges();
    } catch (fault) {
      fail(fault, group);
      return;
    }
    // This thread also makes the commits, so none can happen in between.
    const synced = unsynced();
    const endAt = performance.now() + ROUND_MS;
    let done = 0;
    for (const { read, resolve, reject } of group) {
      try {
        const found = read();
        resolve((synced ? answerAfter(synced, found) : found) as never);
      } catch (fault) {
        reject(reasonOf(fault));
      }
      done++;
      if (performance.now() > endAt) break;
    }
    const left = group.slice(done);
    try {
      db.runSql('COMMIT');
    } catch (fault) {
      // COMMIT fails after a read that met a damaged page.
      fail(fault, left);
      return;
    }
    if (left.length === 0) return;
    waiting = left;
    setImmediate(readAll);
  };
  const followChanges = () => {
    const [found] = db.row<[number]>('PRAGMA data_version')!;
    if (found === version) return;
    onChange();
    version = found;
  };
  const fail = (fault: unknown, group: readonly QueuedRead[]) => {
    const reason = reasonOf(fault);
    for (const { reject } of group) reject(reason);
    try {
      if (db.connection.isOpen && db.connection.isTransaction) db.runSql('ROLLBACK');
    } catch {
      // The first fault has already been reported.
    }
  };
  return {
    /** Runs a read in the next snapshot. A promise that it returns is awaited after the snapshot. */
    readInRound: <T>(read: () => T | Promise<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        waiting.push({ read, resolve, reject });
        if (waiting.length === 1) setImmediate(readAll);
      }),
    /** Waits for the reads that have arrived. */
    async close() {
      do await nextRound();
      while (waiting.length > 0);
    },
  };
}

const answerAfter = async (synced: Promise<void>, found: unknown): Promise<unknown> =>
  (await Promise.all([found, synced]))[0];
