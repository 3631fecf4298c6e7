/** Whether the database answers and takes writes. Lost at the first sign; callers are refused until it is back. */
import { Connection, ConnectionLost, reasonOf, type ConnectionOptions } from './connection.ts';

const ASK_WHILE_LOST_MS = 250;
const ASK_WHILE_USABLE_MS = 1000;

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

  /** `onLost` destroys the connections, so that nobody waits for them. `report` tells the operator. */
  constructor(options: ConnectionOptions, onLost: () => void, report: (event: string) => void) {
    this.#options = options;
    this.#onLost = onLost;
    this.#report = report;
    this.#askAfter(ASK_WHILE_USABLE_MS);
  }

  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** Throws STORE_UNAVAILABLE while the database is gone. */
  check(): void {
    if (!this.#isUsable) throw new ConnectionLost('the database is gone');
  }

  /** A connection failed to open. Asks at once, since on a busy machine one can fail while the others work. */
  suspect(): void {
    if (this.#isUsable) this.#askAfter(0);
  }

  /** The server fell silent, or takes no writes. */
  lose(reason: string): void {
    if (!this.#isUsable || this.#isClosed) return;
    this.#isUsable = false;
    this.#lostAt = performance.now();
    this.#report(`The database is gone: ${reason}. Calls are answered 503 until it is back.`);
    this.#onLost();
    this.#askAfter(ASK_WHILE_LOST_MS);
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

  /** A standby answers and takes no writes, so it is not usable until it is promoted. */
  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      if (!this.#connection?.isOpen) this.#connection = await Connection.open(this.#options);
      // A connection that opens after close() would keep the process alive.
      if (this.#isClosed) return this.#connection.destroy('it was closed');
      const [answer] = await this.#connection.query<[boolean]>('SELECT pg_is_in_recovery()');
      if (answer?.[0] === false) this.#find();
      else this.lose('it is a standby');
    } catch (fault) {
      // An administrator can end one connection. The server is gone when a new one fails too.
      if (this.#isUsable && fault instanceof ConnectionLost && !fault.isSilent) return this.#askAfter(0);
      this.lose(reasonOf(fault));
    } finally {
      this.#isAsking = false;
    }
    this.#askAfter(this.#isUsable ? ASK_WHILE_USABLE_MS : ASK_WHILE_LOST_MS);
  }

  #find(): void {
    if (!this.#isUsable)
      this.#report(`The database is back after ${((performance.now() - this.#lostAt) / 1000).toFixed(1)} s.`);
    this.#isUsable = true;
  }
}
