/**
 * Reads that arrive in one turn of the event loop share one snapshot, opened at the turn's end. Each sees everything
 * that was acknowledged before it was sent, and a transaction is paid once. Source: decisions 0009, 0030.
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

export class TurnReader {
  readonly #db: Database;
  readonly #onSnapshot: () => void;
  readonly #onFatal: (fault: unknown) => void;
  #waiting: QueuedRead[] = [];

  /** `onSnapshot` runs at the start of each snapshot, inside it; `onFatal` when the file can no longer be trusted. */
  constructor(db: Database, onFatal: (fault: unknown) => void, onSnapshot: () => void = () => undefined) {
    this.#db = db;
    this.#onFatal = onFatal;
    this.#onSnapshot = onSnapshot;
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
      this.#onSnapshot();
    } catch (fault) {
      const { connection } = this.#db;
      if (connection.isOpen && connection.isTransaction) this.#db.run('ROLLBACK');
      for (const { reject } of group) this.#fail(fault, reject);
      return;
    }
    const endAt = performance.now() + TURN_MS;
    let done = 0;
    for (const { read, resolve, reject } of group) {
      try {
        resolve(read() as never);
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
    if (faultOf(fault) === 'fatal') this.#onFatal(fault);
    reject(fault);
  }
}
