/**
 * The servers of a database: which is the primary, and whether it responds and accepts writes. While the database is
 * lost, calls are refused. Source: decision 0020.
 */
import type { Timer } from '../../../clock.ts';
import {
  ConnectionLost,
  IS_STANDBY,
  openConnection,
  reasonOf,
  type Connection,
  type ConnectionOptions,
} from './connection.ts';

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

export type Servers = ReturnType<typeof makeServers>;

/**
 * Parses an address with one server or several: `postgres://user:password@one:5432,two:5432/database`. `confirm` runs
 * before each search. It throws if the servers must not be used.
 */
export function makeServers(address: string, confirm?: () => Promise<void>) {
  const { before, hosts, after } = split(address);
  const urls = hosts.split(',').map((host) => before + host + after);
  let [primary, newest] = [0, 0];
  const hostAt = (place: number) => new URL(urls[place]!).host;
  const checkRole = async (connection: Connection): Promise<number> => {
    const [[isReadOnly, timeline] = [true, null]] = await connection.query<[boolean, number | null]>(READ_ROLE);
    if (timeline === null) throw new ConnectionLost(IS_STANDBY);
    if (isReadOnly) throw new ConnectionLost('it accepts no writes');
    if (timeline < newest) throw new ConnectionLost('another server was promoted in its place');
    return timeline;
  };
  const describeAnswers = (answers: readonly PromiseSettledResult<void>[]): string => {
    const reasons = answers.map((answer) => reasonOf((answer as PromiseRejectedResult).reason));
    if (reasons.length === 1) return reasons[0]!;
    return reasons.map((reason, place) => `${hostAt(place)}: ${reason}`).join('; ');
  };
  return {
    /** The address of the server that was the primary at the last search. */
    get url() {
      return urls[primary]!;
    },
    get host() {
      return hostAt(primary);
    },
    /**
     * Asks all servers at the same time and remembers the primary. If two accept writes, it is the one that was promoted
     * last. Throws ConnectionLost with the response of each server.
     */
    async findPrimary(options: ConnectionOptions): Promise<Connection> {
      await confirm?.();
      const found: Primary[] = [];
      const first = Promise.withResolvers<void>();
      const asking = urls.map(async (url, place) => {
        const connection = await openConnection(options, url);
        try {
          found.push({ place, connection, timeline: await checkRole(connection) });
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
      if (!best) throw new ConnectionLost(describeAnswers(await all));
      [primary, newest] = [best.place, best.timeline];
      return best.connection;
    },
    /** Returns the address of the same database on another server, `host:port`. */
    urlAt: (host: string) => before + host + after,
    /** Throws ConnectionLost if the server accepts no writes, or another one was promoted instead of it. */
    async checkPrimary(connection: Connection) {
      newest = await checkRole(connection);
    },
  };
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

export type Availability = ReturnType<typeof makeAvailability>;

/** Tracks whether the database responds and accepts writes, and on which server. */
export function makeAvailability(
  servers: Servers,
  connections: ConnectionOptions,
  { subject, onLost, report }: AvailabilityOptions,
) {
  const { clock } = connections;
  let [lostAt, isUsable, isClosed, isAsking] = [0, true, false, false];
  let connection: Connection | undefined;
  let next: Timer | undefined;
  const askAfter = (ms: number) => {
    next?.close();
    if (!isClosed) next = clock.after(ms, () => void askPrimary());
  };
  /** Asks the server. A standby responds but accepts no writes, so it is not usable until it is promoted. */
  const askPrimary = async () => {
    if (isAsking) return;
    isAsking = true;
    const { url } = servers;
    const open = connection?.isOpen ? connection : undefined;
    try {
      if (open) await servers.checkPrimary(open);
      else connection = await servers.findPrimary(connections);
      // A connection that opens after close() would keep the process alive.
      if (isClosed) return connection?.destroy('the connection was closed');
      if (servers.url !== url) onLost();
      if (!isUsable) {
        const seconds = ((clock.elapsed() - lostAt) / 1000).toFixed(1);
        report(`${subject} is back after ${seconds} s, on ${servers.host}.`);
      }
      isUsable = true;
    } catch (fault) {
      // An administrator can end one connection. The server is gone when a new one fails too.
      const isEnded = open?.isOpen === false && !(fault instanceof ConnectionLost && fault.isSilent);
      if (isUsable && isEnded) return askAfter(0);
      lose(reasonOf(fault));
    } finally {
      isAsking = false;
    }
    askAfter(isUsable ? ASK_WHILE_USABLE_MS : ASK_WHILE_LOST_MS);
  };
  /** Refuses calls from now on, because the server fell silent or accepts no writes. */
  const lose = (reason: string) => {
    if (!isUsable || isClosed) return;
    isUsable = false;
    lostAt = clock.elapsed();
    report(`${subject} is unavailable: ${reason}. Calls that need it get 503 until it is back.`);
    connection?.destroy('the database is unavailable');
    onLost();
    askAfter(ASK_WHILE_LOST_MS);
  };
  askAfter(ASK_WHILE_USABLE_MS);
  return {
    lose,
    isUsable: () => isUsable,
    /** Returns the last known address of the primary. */
    url: () => servers.url,
    /** Throws STORE_UNAVAILABLE while the database is gone, and after `close`: a new connection would stay open. */
    requireAvailable() {
      if (!isUsable || isClosed) throw new ConnectionLost('the database is unavailable');
    },
    /**
     * Asks the server at once after a connection failed to open. On a busy machine, this can happen while other
     * connections work.
     */
    suspect() {
      if (isUsable) askAfter(0);
    },
    close() {
      isClosed = true;
      next?.close();
      connection?.destroy('the connection was closed');
    },
  };
}
