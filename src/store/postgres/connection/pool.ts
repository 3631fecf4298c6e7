/** A pool lends each shared connection to one user at a time. Its queue of waiting users is bounded. */
import type { Clock, Timer } from '../../../clock.ts';
import { Refusal, refuseForNow } from '../../../errors.ts';
import type { PoolMeasures } from '../../measures.ts';
import type { SharedConnection } from './shared-connection.ts';

const WAITING_MAX = 200;
const WAIT_MS = 800;

interface Borrower {
  readonly take: (connection: SharedConnection) => void;
  readonly giveUp: Timer;
}

export class Pool {
  readonly #all: readonly SharedConnection[];
  readonly #free: SharedConnection[];
  readonly #waiting = new Set<Borrower>();
  readonly #clock: Clock;

  constructor(connections: readonly SharedConnection[], clock: Clock) {
    this.#clock = clock;
    this.#all = connections;
    this.#free = [...connections];
  }

  /**
   * Lends a connection, preferably the one at `place`, which knows the tenant. Throws SERVICE_BUSY if too many users
   * wait or one waits too long.
   */
  async use<T>(place: number, work: (connection: SharedConnection) => Promise<T>): Promise<T> {
    const connection = this.#takeFree(place) ?? (await this.#wait());
    try {
      return await work(connection);
    } finally {
      const [next] = this.#waiting;
      if (next) {
        this.#waiting.delete(next);
        next.giveUp.close();
        next.take(connection);
      } else this.#free.push(connection);
    }
  }

  get load(): PoolMeasures {
    const size = this.#all.filter(({ isOpen }) => isOpen).length;
    return { size, inUse: this.#all.length - this.#free.length, waiting: this.#waiting.size };
  }

  destroy(): void {
    for (const connection of this.#all) connection.destroy();
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((connection) => connection.close()));
  }

  #takeFree(place: number): SharedConnection | undefined {
    const preferred = this.#free.indexOf(this.#all[place % this.#all.length]!);
    return preferred >= 0 ? this.#free.splice(preferred, 1)[0] : this.#free.pop();
  }

  #wait(): Promise<SharedConnection> {
    const busy = (): Refusal => refuseForNow('SERVICE_BUSY', 'All connections to the database are in use.');
    if (this.#waiting.size >= WAITING_MAX) throw busy();
    return new Promise((take, reject) => {
      const giveUp = this.#clock.after(WAIT_MS, () => {
        this.#waiting.delete(waiting);
        reject(busy());
      });
      const waiting: Borrower = { take, giveUp };
      this.#waiting.add(waiting);
    });
  }
}
