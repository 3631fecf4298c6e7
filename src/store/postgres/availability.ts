/**
 * Whether the database answers, as one node knows it: lost at the first sign, found again by asking again and again. While it is gone every caller is
 * refused at once instead of waiting for it. Never runs anything but the question whether the server is there and takes writes.
 */
import { Connection, ConnectionLost, reasonOf, type ConnectionOptions } from './connection.ts';

const ASK_WHEN_LOST_MS = 250;
const ASK_WHEN_WELL_MS = 1000;

export class Availability {
  readonly #options: ConnectionOptions;
  readonly #onLost: () => void;
  readonly #report: (event: string) => void;
  #lostAt = 0;
  #isUsable = true;
  #connection: Connection | undefined;
  #next: NodeJS.Timeout | undefined;
  #isClosed = false;
  #isAsking = false;

  /** `onLost` lets go of every connection, so that nobody waits for an answer that does not come. `report` tells the operator. */
  constructor(options: ConnectionOptions, onLost: () => void, report: (event: string) => void) {
    this.#options = options;
    this.#onLost = onLost;
    this.#report = report;
    this.#askAfter(ASK_WHEN_WELL_MS);
  }

  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** Throws STORE_UNAVAILABLE while the database is gone. */
  check(): void {
    if (!this.#isUsable) throw new ConnectionLost('the database is gone');
  }

  /** Somebody could not connect: asks at once, since a busy machine can make one connection fail and keep the others. */
  suspect(): void {
    if (this.#isUsable) this.#askAfter(0);
  }

  /** Somebody met a silent server, or one that takes no writes. */
  lose(reason: string): void {
    if (!this.#isUsable || this.#isClosed) return;
    this.#isUsable = false;
    this.#lostAt = performance.now();
    this.#report(`The database is gone: ${reason}. Calls are answered 503 until it is back.`);
    this.#onLost();
    this.#askAfter(ASK_WHEN_LOST_MS);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#next);
    this.#connection?.destroy('it was closed');
  }

  #askAfter(ms: number): void {
    clearTimeout(this.#next);
    if (!this.#isClosed) this.#next = setTimeout(() => void this.#ask(), ms).unref();
  }

  /** A standby answers too, and takes no writes: what points to one is not usable until it is promoted. */
  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      if (!this.#connection?.isOpen) this.#connection = await Connection.open(this.#options);
      // What was being opened when it was closed would keep the process for ever.
      if (this.#isClosed) return this.#connection.destroy('it was closed');
      const [answer] = await this.#connection.query<[boolean]>('SELECT pg_is_in_recovery()');
      if (answer?.[0] === false) this.#find();
      else this.lose('it is a standby');
    } catch (fault) {
      // One connection may be ended by an administrator; only when a new one cannot be had either is the server gone.
      if (this.#isUsable && fault instanceof ConnectionLost && !fault.isSilent) return this.#askAfter(0);
      this.lose(reasonOf(fault));
    } finally {
      this.#isAsking = false;
    }
    this.#askAfter(this.#isUsable ? ASK_WHEN_WELL_MS : ASK_WHEN_LOST_MS);
  }

  #find(): void {
    if (!this.#isUsable)
      this.#report(`The database is back after ${((performance.now() - this.#lostAt) / 1000).toFixed(1)} s.`);
    this.#isUsable = true;
  }
}
