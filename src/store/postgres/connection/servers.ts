/** The servers of a database, and which of them is the primary. Source: decision 0020. */
import { Connection, ConnectionLost, IS_STANDBY, reasonOf, type ConnectionOptions } from './connection.ts';

interface Primary {
  readonly place: number;
  readonly connection: Connection;
  /** The timeline. Each promotion begins a new one. */
  readonly timeline: number;
}

/** Time for the other servers to answer once one has said that it is the primary. */
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
  async find(options: ConnectionOptions): Promise<Connection> {
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
    // Some servers respond too late.
    void all.then(() => found.forEach((one) => one !== best && one.connection.destroy('it is not the primary')));
    if (!best) throw new ConnectionLost(this.#describe(await all));
    this.#place = best.place;
    this.#timeline = best.timeline;
    return best.connection;
  }

  /** The address of the same database on another server, `host:port`. */
  urlAt(host: string): string {
    const { before, after } = split(this.url);
    return before + host + after;
  }

  /** Throws ConnectionLost if the server accepts no writes, or another one was promoted instead of it. */
  async check(connection: Connection): Promise<void> {
    this.#timeline = await this.#checkRole(connection);
  }

  async #checkRole(connection: Connection): Promise<number> {
    const [[isReadOnly, timeline] = [true, null]] = await connection.query<[boolean, number | null]>(READ_ROLE);
    if (timeline === null) throw new ConnectionLost(IS_STANDBY);
    if (isReadOnly) throw new ConnectionLost('it accepts no writes');
    if (timeline < this.#timeline) throw new ConnectionLost('another server was promoted in its place');
    return timeline;
  }

  #describe(answers: readonly PromiseSettledResult<void>[]): string {
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
