/**
 * Opens the store the settings name: PostgreSQL where it has an address, else the embedded store in its folder. The one place that knows both; what it
 * gives is the ports and what any store can do.
 */
import type { SessionStore, UserStore } from '../account/port.ts';
import type { AuditStore } from '../audit/port.ts';
import type { PimsStore } from '../pims/port.ts';
import type { Tenant, TenantStore, UsageStore } from '../tenant/port.ts';
import type { RequestStore } from '../request-log/port.ts';
import { SqliteStore } from './sqlite/store.ts';
import { refuseUnfinishedFolder, SqliteMoveStore } from './sqlite/move-store.ts';
import type { MoveStore } from './move/tables.ts';

export interface Store {
  readonly tenants: TenantStore;
  readonly usage: UsageStore;
  readonly requests: RequestStore;
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly audit: AuditStore;
  /** The inventory system of a tenant. */
  pims(tenant: Tenant): PimsStore;
  /** Whether it answers, as far as is known now. */
  isUsable(): boolean;
  close(): Promise<void>;
}

export interface StorePlace {
  /** Folder of the embedded store. */
  readonly data: string;
  /** Address of PostgreSQL; '' for the embedded store. */
  readonly databaseUrl: string;
}

export interface OpenStoreSettings extends StorePlace {
  readonly databaseConnections: number;
  readonly queryBudgetMs: number;
  readonly queryThreads: number;
}

export interface StoreUser {
  /** How it is called where the store lists who uses it. */
  readonly name: string;
  /** The service never blocks on another process's transaction; a command waits for it. */
  readonly busyTimeoutMs: number;
  readonly onFatal: (fault: unknown) => void;
  /** Told when a database is gone and when it is back, and when the request log cannot be used. */
  readonly report?: (event: string) => void;
}

/** Opens the store. Throws a refusal that says what is wrong with a database that cannot be used. */
export async function openStore(settings: OpenStoreSettings, user: StoreUser): Promise<Store> {
  const { databaseUrl, databaseConnections, queryBudgetMs } = settings;
  if (databaseUrl === '') return openEmbedded(settings, user);
  // The driver is loaded only where it is used: the embedded store starts without waiting for it.
  const { PostgresStore } = await import('./postgres/store.ts');
  return PostgresStore.open({
    url: databaseUrl,
    connections: databaseConnections,
    queryBudgetMs,
    name: user.name,
    report: user.report,
  });
}

export function openEmbedded(
  { data, queryBudgetMs, queryThreads }: OpenStoreSettings,
  { busyTimeoutMs, onFatal, report }: StoreUser,
): SqliteStore {
  refuseUnfinishedFolder(data);
  return new SqliteStore({ folder: data, busyTimeoutMs, queryBudgetMs, workers: queryThreads, onFatal, report });
}

/** Opens a store for a move out of it or into it; people are told of it by this name. */
export async function openMoveStore({ data, databaseUrl }: StorePlace, name: string): Promise<MoveStore> {
  if (databaseUrl === '') return new SqliteMoveStore(data);
  const { PostgresMoveStore } = await import('./postgres/move-store.ts');
  return PostgresMoveStore.open(databaseUrl, name);
}
