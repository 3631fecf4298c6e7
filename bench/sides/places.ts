/**
 * The places for the data of the sides: folders, or databases of a PostgreSQL that runs only for the benchmark.
 */
import { cpSync, rmSync } from 'node:fs';
import { PostgresServer, runStatement } from '../../test/kit/postgres.ts';
import { temporaryFolder } from '../../test/kit/service.ts';

export const STORES = ['sqlite', 'postgres'] as const;
export type StoreName = (typeof STORES)[number];

const POSTGRES_SETTINGS = { shared_buffers: '1GB', effective_cache_size: '4GB', max_wal_size: '8GB' };

export interface Places {
  /** Makes an empty data folder or database. */
  readonly make: () => Promise<string>;
  /** Copies a place under a name. Nothing may be connected to the place. */
  readonly copy: (place: string, name: string) => Promise<string>;
  readonly drop: (place: string) => Promise<void>;
  /** Writes pending data to disk, so that no round pays for it. */
  readonly settle: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function openPlaces(store: StoreName): Promise<Places> {
  if (store === 'sqlite')
    return {
      make: () => Promise.resolve(temporaryFolder()),
      copy: (place) => {
        const folder = temporaryFolder();
        cpSync(place, folder, { recursive: true });
        return Promise.resolve(folder);
      },
      drop: (place) => Promise.resolve(rmSync(place, { recursive: true })),
      settle: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
  const server = await PostgresServer.start({ settings: POSTGRES_SETTINGS });
  return {
    make: () => server.newDatabase(),
    copy: async (place, name) => {
      await runStatement(server.url, `CREATE DATABASE ${name} TEMPLATE ${new URL(place).pathname.slice(1)}`);
      return Object.assign(new URL(server.url), { pathname: name }).href;
    },
    drop: async (place) => {
      await runStatement(server.url, `DROP DATABASE ${new URL(place).pathname.slice(1)}`);
    },
    settle: async () => {
      await runStatement(server.url, 'CHECKPOINT');
    },
    close: () => server.remove(),
  };
}
