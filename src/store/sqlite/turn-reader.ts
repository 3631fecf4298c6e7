/**
 * Reads that arrive in one turn of the event loop share one snapshot, opened at the turn's end. Each sees everything
 * that was acknowledged before it was sent, and a transaction is paid once. Source: decisions 0009, 0030, 0037.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { faultOf, type Database } from './database.ts';

/** Reads for longer than this go on in the next turn, so that others come in between. */
const TURN_MS = 4;

interface QueuedRead {
  readonly read: () => unknown;
  readonly resolve: (result: never) => void;
  readonly reject: (fault: unknown) => void;
}

export interface TurnReaderOptions {
  /** Runs at the start of each snapshot, inside it. */
  readonly onSnapshot: () => void;
  /** Resolves when all that a snapshot shows is on disk; nothing when it is. Without it every commit is synced. */
  readonly unsynced?: () => Promise<void> | undefined;
  /** Called when the file can no longer be trusted. */
  readonly onFatal: (fault: unknown) => void;
}

export class TurnReader {
  readonly #db: Database;
  readonly #options: TurnReaderOptions;
  #waiting: QueuedRead[] = [];

  constructor(db: Database, options: TurnReaderOptions) {
    this.#db = db;
    this.#options = options;
  }

  /** What is promised is waited for outside of the snapshot. */
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
      this.#options.onSnapshot();
    } catch (fault) {
      const { connection } = this.#db;
      if (connection.isOpen && connection.isTransaction) this.#db.run('ROLLBACK');
      for (const { reject } of group) this.#fail(fault, reject);
      return;
    }
    // Commits are made on this thread too: none comes in between.
    const unsynced = this.#options.unsynced?.();
    const endAt = performance.now() + TURN_MS;
    let done = 0;
    for (const { read, resolve, reject } of group) {
      try {
        const found = read();
        resolve((unsynced ? answerAfter(unsynced, found) : found) as never);
      } catch (fault) {
        this.#fail(fault, reject);
      }
      done++;
      if (performance.now() > endAt) break;
    }
    this.#db.run('COMMIT');
    if (done === group.length) return;
    this.#waiting = group.slice(done);
    setImmediate(this.#readAll);
  };

  #fail(fault: unknown, reject: (fault: unknown) => void): void {
    if (faultOf(fault) === 'fatal') this.#options.onFatal(fault);
    reject(fault);
  }
}

const answerAfter = async (unsynced: Promise<void>, found: unknown): Promise<unknown> =>
  (await Promise.all([found, unsynced]))[0];
