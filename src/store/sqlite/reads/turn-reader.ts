/**
 * Reads that arrive in one turn of the event loop share one snapshot, which is opened at the end of the turn. Each read
 * sees everything that was acknowledged before it was sent, and all share the cost of a transaction. Source: decisions
 * 0009, 0029 and 0037.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { faultOf, type Database, type OnFatal } from '../files/database.ts';

/** Time after which the remaining reads wait for the next turn, so that other work can run in between. */
const TURN_MS = 4;

interface QueuedRead {
  readonly read: () => unknown;
  readonly resolve: (result: never) => void;
  readonly reject: (fault: unknown) => void;
}

export interface TurnReaderOptions {
  /** Runs inside the first snapshot, and inside each one that shows a commit of another connection. */
  readonly onChange: () => void;
  /**
   * Returns a promise while a snapshot contains data that is not yet on disk. Without this function, every commit is
   * synced.
   */
  readonly unsynced?: () => Promise<void> | undefined;
  readonly onFatal: OnFatal;
}

export class TurnReader {
  readonly #db: Database;
  readonly #options: TurnReaderOptions;
  #waiting: QueuedRead[] = [];
  /** Changes with every commit of another connection. */
  #version = -1;

  constructor(db: Database, options: TurnReaderOptions) {
    this.#db = db;
    this.#options = options;
  }

  /** Runs a read in the next snapshot. A promise that it returns is awaited after the snapshot. */
  read<T>(read: () => T | Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ read, resolve, reject });
      if (this.#waiting.length === 1) setImmediate(this.#readAll);
    });
  }

  /** Waits for the reads that have arrived. */
  async close(): Promise<void> {
    do await nextTurn();
    while (this.#waiting.length > 0);
  }

  readonly #readAll = (): void => {
    const group = this.#waiting;
    this.#waiting = [];
    try {
      this.#db.run('BEGIN');
      this.#followChanges();
    } catch (fault) {
      this.#fail(fault, group);
      return;
    }
    // This thread also makes the commits, so none can happen in between.
    const unsynced = this.#options.unsynced?.();
    const endAt = performance.now() + TURN_MS;
    let done = 0;
    for (const { read, resolve, reject } of group) {
      try {
        const found = read();
        resolve((unsynced ? answerAfter(unsynced, found) : found) as never);
      } catch (fault) {
        reject(this.#reasonOf(fault));
      }
      done++;
      if (performance.now() > endAt) break;
    }
    const left = group.slice(done);
    try {
      this.#db.run('COMMIT');
    } catch (fault) {
      // COMMIT fails after a read that met a damaged page.
      this.#fail(fault, left);
      return;
    }
    if (left.length === 0) return;
    this.#waiting = left;
    setImmediate(this.#readAll);
  };

  #followChanges(): void {
    const [version] = this.#db.row<[number]>('PRAGMA data_version')!;
    if (version === this.#version) return;
    this.#options.onChange();
    this.#version = version;
  }

  #fail(fault: unknown, group: readonly QueuedRead[]): void {
    const reason = this.#reasonOf(fault);
    for (const { reject } of group) reject(reason);
    try {
      const { connection } = this.#db;
      if (connection.isOpen && connection.isTransaction) this.#db.run('ROLLBACK');
    } catch {
      // The first fault has already been reported.
    }
  }

  #reasonOf(fault: unknown): unknown {
    return faultOf(fault) === 'fatal' ? this.#options.onFatal(fault) : fault;
  }
}

const answerAfter = async (unsynced: Promise<void>, found: unknown): Promise<unknown> =>
  (await Promise.all([found, unsynced]))[0];
