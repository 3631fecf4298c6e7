/**
 * Tracks whether the database responds and accepts writes, and on which server. While it is lost, calls are refused.
 */
import type { Timer } from '../../../clock.ts';
import { ConnectionLost, reasonOf, type Connection, type ConnectionOptions } from './connection.ts';
import type { Servers } from './servers.ts';

const ASK_WHILE_LOST_MS = 250;
const ASK_WHILE_USABLE_MS = 1000;

export interface AvailabilityOptions {
  /** The subject of its reports, such as "The database". */
  readonly subject: string;
  /** Destroys the connections, so that no one waits for them. */
  readonly onLost: () => void;
  /** Informs the operator. */
  readonly report: (event: string) => void;
}

export class Availability {
  readonly #servers: Servers;
  readonly #connections: ConnectionOptions;
  readonly #options: AvailabilityOptions;
  #lostAt = 0;
  #isUsable = true;
  #connection: Connection | undefined;
  #next: Timer | undefined;
  #isClosed = false;
  #isAsking = false;

  constructor(servers: Servers, connections: ConnectionOptions, options: AvailabilityOptions) {
    this.#servers = servers;
    this.#connections = connections;
    this.#options = options;
    this.#askAfter(ASK_WHILE_USABLE_MS);
  }

  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** The last known address of the primary. */
  get url(): string {
    return this.#servers.url;
  }

  /** Throws STORE_UNAVAILABLE while the database is gone. */
  check(): void {
    if (!this.#isUsable) throw new ConnectionLost('the database is gone');
  }

  /**
   * Asks the server at once after a connection failed to open. On a busy machine, this can happen while the others
   * work.
   */
  suspect(): void {
    if (this.#isUsable) this.#askAfter(0);
  }

  /** Refuses calls from now on, because the server fell silent or accepts no writes. */
  lose(reason: string): void {
    if (!this.#isUsable || this.#isClosed) return;
    this.#isUsable = false;
    this.#lostAt = this.#connections.clock.elapsed();
    const { subject, report } = this.#options;
    report(`${subject} is gone: ${reason}. The service answers calls that need it with 503 until it is back.`);
    this.#connection?.destroy('the database is gone');
    this.#options.onLost();
    this.#askAfter(ASK_WHILE_LOST_MS);
  }

  close(): void {
    this.#isClosed = true;
    this.#next?.close();
    this.#connection?.destroy('it was closed');
  }

  #askAfter(ms: number): void {
    this.#next?.close();
    if (!this.#isClosed) this.#next = this.#connections.clock.after(ms, () => void this.#ask());
  }

  /** A standby responds but accepts no writes, so it is not usable until it is promoted. */
  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const { url } = this.#servers;
    const open = this.#connection?.isOpen ? this.#connection : undefined;
    try {
      if (open) await this.#servers.check(open);
      else this.#connection = await this.#servers.find(this.#connections);
      // A connection that opens after close() would keep the process alive.
      if (this.#isClosed) return this.#connection?.destroy('it was closed');
      if (this.#servers.url !== url) this.#options.onLost();
      this.#find();
    } catch (fault) {
      // An administrator can end one connection. The server is gone when a new one fails too.
      const isEnded = open?.isOpen === false && !(fault instanceof ConnectionLost && fault.isSilent);
      if (this.#isUsable && isEnded) return this.#askAfter(0);
      this.lose(reasonOf(fault));
    } finally {
      this.#isAsking = false;
    }
    this.#askAfter(this.#isUsable ? ASK_WHILE_USABLE_MS : ASK_WHILE_LOST_MS);
  }

  #find(): void {
    if (!this.#isUsable) {
      const seconds = ((this.#connections.clock.elapsed() - this.#lostAt) / 1000).toFixed(1);
      this.#options.report(`${this.#options.subject} is back after ${seconds} s, on ${this.#servers.host}.`);
    }
    this.#isUsable = true;
  }
}
