/** A separate cluster of Citus, whose servers a test may kill. Needs a PostgreSQL with Citus on this machine. */
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { PostgresServer, spread, type ServerOptions } from '../kit/postgres.ts';

const LIBRARIES = ['/usr/lib/postgresql/*/lib/citus.so', '/usr/pgsql-*/lib/citus.so'];

/** Finds the folder with the `bin` of the newest PostgreSQL with Citus on this machine. */
export function findCitus(): string | undefined {
  const newest = globSync(LIBRARIES).toSorted().at(-1);
  return newest === undefined ? undefined : resolve(newest, '../..');
}

/** Returns the options of a server that loads Citus. */
export const citusServer = (): ServerOptions => ({
  programs: findCitus(),
  settings: {
    shared_preload_libraries: 'citus',
    wal_level: 'logical',
    'citus.node_conninfo': 'sslmode=prefer',
    max_worker_processes: '100', // Citus keeps one for each database
    max_logical_replication_workers: '10',
    max_connections: '1000',
  },
});

export interface Cluster {
  readonly coordinator: PostgresServer;
  readonly workers: readonly PostgresServer[];
}

export async function startCluster(workers: number): Promise<Cluster> {
  const [coordinator, ...others] = await Promise.all(
    Array.from({ length: workers + 1 }, () => PostgresServer.start(citusServer())),
  );
  return { coordinator: coordinator!, workers: others };
}

/** Makes an empty database that spreads its tenants over the workers. */
export async function newSpreadDatabase({ coordinator, workers }: Cluster): Promise<string> {
  const url = await coordinator.newDatabase();
  await spread(
    url,
    workers.map((worker) => worker.url),
  );
  return url;
}
