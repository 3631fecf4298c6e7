/**
 * Reads that arrive in one turn of the event loop share one snapshot, opened at the turn's end: after all of them arrived, so that each sees
 * everything acknowledged before it was sent, and the locks of a transaction are paid once. Never writes. Source: decision 0009.
 */
import type { Database } from './database.ts';

interface Waiting {
  readonly read: () => unknown;
  readonly resolve: (result: never) => void;
  readonly reject: (fault: unknown) => void;
}

export class TurnReader {
  readonly #db: Database;
  readonly #onSnapshot: () => void;
  #waiting: Waiting[] = [];

  /** `onSnapshot` runs at the start of each snapshot, inside it. */
  constructor(db: Database, onSnapshot: () => void = () => undefined) {
    this.#db = db;
    this.#onSnapshot = onSnapshot;
  }

  read<T>(read: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ read, resolve, reject });
      if (this.#waiting.length === 1) setImmediate(() => this.#readAll());
    });
  }

  #readAll(): void {
    const group = this.#waiting;
    this.#waiting = [];
    try {
      this.#db.run('BEGIN');
      this.#onSnapshot();
    } catch (fault) {
      for (const { reject } of group) reject(fault);
      return;
    }
    for (const { read, resolve, reject } of group) {
      try {
        resolve(read() as never);
      } catch (fault) {
        reject(fault);
      }
    }
    this.#db.run('COMMIT');
  }
}
