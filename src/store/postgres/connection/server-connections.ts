/** The connections of a node to one database server, by purpose, and whether the server can be used. */
import type { Clock } from '../../../clock.ts';
import { makeAvailability, type AvailabilityOptions, type Servers } from './servers.ts';
import { ConnectionLost, openConnection, reasonOf, type ConnectionOptions } from './connection.ts';
import { makePool, shareConnection } from './shared-connection.ts';

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

export type ServerConnections = ReturnType<typeof connectTo>;

export function connectTo(servers: Servers, options: ServerConnectionsOptions) {
  const { kinds, connections, clock, onLost } = options;
  const availability = makeAvailability(servers, kinds.short, {
    ...options,
    onLost() {
      for (const one of all) one.destroy();
      onLost?.();
    },
  });
  const makeShared = (kind: ConnectionOptions) => shareConnection(kind, availability);
  const openMany = (kind: ConnectionOptions) => Array.from({ length: connections }, () => makeShared(kind));
  const [readers, pages] = [openMany(kinds.short), openMany(kinds.walks)];
  const writers = makePool(openMany(kinds.short), clock);
  // One further connection is for tenants without a running query.
  const queries = makePool([...openMany(kinds.long), makeShared(kinds.long)], clock);
  const all = [...readers, ...pages, writers, queries];
  return {
    readers,
    pages,
    writers,
    queries,
    isAvailable: availability.isUsable,
    /** Makes one more connection, for keys or counts. */
    share() {
      const shared = makeShared(kinds.control);
      all.push(shared);
      return shared;
    },
    /** Opens an unshared connection without time limits, for long work. */
    openOwn: () =>
      openConnection(kinds.own, servers.url).catch((fault: unknown) => {
        throw new ConnectionLost(reasonOf(fault));
      }),
    async close() {
      availability.close();
      await Promise.all(all.map((one) => one.close()));
    },
  };
}
