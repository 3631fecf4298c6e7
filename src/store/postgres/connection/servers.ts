/**
 * The servers of a database: which is the primary, and whether it responds and accepts writes. While the database is
 * lost, calls are refused. Source: decision 0020.
 */
import type { Timer } from '../../../clock.ts';
import { Connection, ConnectionLost, IS_STANDBY, reasonOf, type ConnectionOptions } from './connection.ts';

interface Primary {
  readonly place: number;
  readonly connection: Connection;
  /** The timeline. Each promotion begins a new one. */
  readonly timeline: number;
}

/** Time for the other servers to respond after one has reported that it is the primary. */
const OTHERS_MS = 200;
/** Every user may run these functions. The last one would fail on a standby, which writes no log. */
const READ_ROLE = `SELECT current_setting('transaction_read_only') = 'on', CASE WHEN NOT pg_is_in_recovery()
  THEN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END`;

export class Servers {
  readonly #urls: readonly string[];
  readonly #confirm: (() => Promise<void>) | undefined;
  #place = 0;
  #timeline = 0;

  /**
   * Parses an address with one server or several: `postgres://user:password@one:5432,two:5432/database`. `confirm` runs
   * before each search. It throws if the servers must not be used.
   */
  constructor(url: string, confirm?: () => Promise<void>) {
    const { before, hosts, after } = split(url);
    this.#urls = hosts.split(',').map((host) => before + host + after);
    this.#confirm = confirm;
  }

  /** The address of the server that was the primary at the last search. */
  get url(): string {
    return this.#urls[this.#place]!;
  }

  get host(): string {
    return this.#hostAt(this.#place);
  }

  /**
   * Asks all servers at the same time and remembers the primary. If two accept writes, it is the one that was promoted
   * last. Throws ConnectionLost with the response of each server.
   */
  async findPrimary(options: ConnectionOptions): Promise<Connection> {
    await this.#confirm?.();
    const found: Primary[] = [];
    const first = Promise.withResolvers<void>();
    const asking = this.#urls.map(async (url, place) => {
      const connection = await Connection.open(options, url);
      try {
        found.push({ place, connection, timeline: await this.#checkRole(connection) });
        first.resolve();
      } catch (fault) {
        connection.destroy('it is not the primary');
        throw fault;
      }
    });
    const all = Promise.allSettled(asking);
    const others = first.promise.then(() => new Promise<void>((go) => void options.clock.after(OTHERS_MS, go)));
    await Promise.race([all, others]);
    const [best, ...rest] = found.toSorted((a, b) => b.timeline - a.timeline || a.place - b.place);
    for (const { connection } of rest) connection.destroy('it is not the primary');
    // Closes connections to servers that respond too late.
    void all.then(() => found.forEach((one) => one !== best && one.connection.destroy('it is not the primary')));
    if (!best) throw new ConnectionLost(this.#describeAnswers(await all));
    this.#place = best.place;
    this.#timeline = best.timeline;
    return best.connection;
  }

  /** Returns the address of the same database on another server, `host:port`. */
  urlAt(host: string): string {
    const { before, after } = split(this.url);
    return before + host + after;
  }

  /** Throws ConnectionLost if the server accepts no writes, or another one was promoted instead of it. */
  async checkPrimary(connection: Connection): Promise<void> {
    this.#timeline = await this.#checkRole(connection);
  }

  async #checkRole(connection: Connection): Promise<number> {
    const [[isReadOnly, timeline] = [true, null]] = await connection.query<[boolean, number | null]>(READ_ROLE);
    if (timeline === null) throw new ConnectionLost(IS_STANDBY);
    if (isReadOnly) throw new ConnectionLost('it accepts no writes');
    if (timeline < this.#timeline) throw new ConnectionLost('another server was promoted in its place');
    return timeline;
  }

  #describeAnswers(answers: readonly PromiseSettledResult<void>[]): string {
    const reasons = answers.map((answer) => reasonOf((answer as PromiseRejectedResult).reason));
    if (reasons.length === 1) return reasons[0]!;
    return reasons.map((reason, place) => `${this.#hostAt(place)}: ${reason}`).join('; ');
  }

  #hostAt(place: number): string {
    return new URL(this.#urls[place]!).host;
  }
}

function split(url: string): { readonly before: string; readonly hosts: string; readonly after: string } {
  const [, before = '', hosts = '', after = ''] = /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(url) ?? [];
  return { before, hosts, after };
}

const ASK_WHILE_LOST_MS = 250;
const ASK_WHILE_USABLE_MS = 1000;

export interface AvailabilityOptions {
  /** The subject of the reports, such as "The database". */
  readonly subject: string;
  /** Destroys the connections, so that no one waits for them. */
  readonly onLost: () => void;
  readonly report: (event: string) => void;
}

/** Tracks whether the database responds and accepts writes, and on which server. */
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

  get isAvailable(): boolean {
    return this.#isUsable;
  }

  /** The last known address of the primary. */
  get url(): string {
    return this.#servers.url;
  }

  /**
   * Throws STORE_UNAVAILABLE while the database is gone, and after `close`, because a new connection would stay open.
   */
  requireAvailable(): void {
    if (!this.#isUsable || this.#isClosed) throw new ConnectionLost('the database is unavailable');
  }

  /**
   * Asks the server at once after a connection failed to open. On a busy machine, this can happen while other
   * connections work.
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
    report(`${subject} is unavailable: ${reason}. Calls that need it get 503 until it is back.`);
    this.#connection?.destroy('the database is unavailable');
    this.#options.onLost();
    this.#askAfter(ASK_WHILE_LOST_MS);
  }

  close(): void {
    this.#isClosed = true;
    this.#next?.close();
    this.#connection?.destroy('the connection was closed');
  }

  #askAfter(ms: number): void {
    this.#next?.close();
    if (!this.#isClosed) this.#next = this.#connections.clock.after(ms, () => void this.#askPrimary());
  }

  /** Asks the server. A standby responds but accepts no writes, so it is not usable until it is promoted. */
  async #askPrimary(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const { url } = this.#servers;
    const open = this.#connection?.isOpen ? this.#connection : undefined;
    try {
      if (open) await this.#servers.checkPrimary(open);
      else this.#connection = await this.#servers.findPrimary(this.#connections);
      // A connection that opens after close() would keep the process alive.
      if (this.#isClosed) return this.#connection?.destroy('the connection was closed');
      if (this.#servers.url !== url) this.#options.onLost();
      this.#reportBack();
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

  #reportBack(): void {
    if (!this.#isUsable) {
      const seconds = ((this.#connections.clock.elapsed() - this.#lostAt) / 1000).toFixed(1);
      this.#options.report(`${this.#options.subject} is back after ${seconds} s, on ${this.#servers.host}.`);
    }
    this.#isUsable = true;
  }
}
