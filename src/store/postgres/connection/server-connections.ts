/** The connections of a node to one database server, by purpose, and whether the server can be used. */
import type { Clock } from '../../../clock.ts';
import { Availability, type AvailabilityOptions, type Servers } from './servers.ts';
import { Connection, ConnectionLost, reasonOf, type ConnectionOptions } from './connection.ts';
import { Pool, SharedConnection } from './shared-connection.ts';

/** How the connections for each kind of statement are opened. */
export interface ConnectionKinds {
  /** Keys and counts. */
  readonly control: ConnectionOptions;
  /** Reads by key, and writes. */
  readonly short: ConnectionOptions;
  /** Short queries, which walk indexes. */
  readonly walks: ConnectionOptions;
  /** Long queries. */
  readonly long: ConnectionOptions;
  /** Long work, without time limits. */
  readonly own: ConnectionOptions;
}

export interface ServerConnectionsOptions extends Omit<AvailabilityOptions, 'onLost'> {
  readonly kinds: ConnectionKinds;
  /** The number of connections for each of reads by key, short queries, long queries and writes. */
  readonly connections: number;
  /** Called after the connections were destroyed, because the server is gone or replaced. */
  readonly onLost?: (() => void) | undefined;
  readonly clock: Clock;
}

export class ServerConnections {
  readonly readers: readonly SharedConnection[];
  readonly pages: readonly SharedConnection[];
  readonly writers: Pool;
  readonly queries: Pool;
  readonly #servers: Servers;
  readonly #availability: Availability;
  readonly #kinds: ConnectionKinds;
  readonly #shared: SharedConnection[] = [];

  constructor(servers: Servers, options: ServerConnectionsOptions) {
    const { kinds, connections, clock, onLost } = options;
    this.#servers = servers;
    this.#kinds = kinds;
    this.#availability = new Availability(servers, kinds.short, {
      ...options,
      onLost: () => {
        for (const one of [...this.#shared, this.writers, this.queries]) one.destroy();
        onLost?.();
      },
    });
    const makeShared = (kind: ConnectionOptions) => new SharedConnection(kind, this.#availability);
    const openMany = (kind: ConnectionOptions) => Array.from({ length: connections }, () => makeShared(kind));
    this.readers = openMany(kinds.short);
    this.pages = openMany(kinds.walks);
    this.#shared.push(...this.readers, ...this.pages);
    this.writers = new Pool(openMany(kinds.short), clock);
    // One further connection is for tenants without a running query.
    this.queries = new Pool([...openMany(kinds.long), makeShared(kinds.long)], clock);
  }

  get isAvailable(): boolean {
    return this.#availability.isAvailable;
  }

  /** Makes one more connection, for keys or counts. */
  share(): SharedConnection {
    const shared = new SharedConnection(this.#kinds.control, this.#availability);
    this.#shared.push(shared);
    return shared;
  }

  /** Opens an unshared connection without time limits, for long work. */
  async openOwn(): Promise<Connection> {
    try {
      return await Connection.open(this.#kinds.own, this.#servers.url);
    } catch (fault) {
      throw new ConnectionLost(reasonOf(fault));
    }
  }

  async close(): Promise<void> {
    this.#availability.close();
    await Promise.all([...this.#shared, this.writers, this.queries].map((one) => one.close()));
  }
}
