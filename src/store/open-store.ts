/** Opens the store that the settings name: PostgreSQL, or the embedded store in its folder. No caller asks for the kind. */
import type { Clock } from '../clock.ts';
import type { PimsStore } from '../pims/pims-port.ts';
import type { TakeTurn } from '../tenant/turns.ts';
import type { Placement, Tenant } from '../tenant/tenant-port.ts';
import { checkStore, type CheckResult } from './check/check.ts';
import type { ControlStores } from './control/stores.ts';
import { makeScheduledBackups, type BackupOptions, type ScheduledBackups } from './sqlite/backup/scheduled-backups.ts';
import { openCheck } from './sqlite/files/check-store.ts';
import { observeDisk, type DiskBounds } from './sqlite/files/folder.ts';
import { openSqlite, type SqliteStore } from './sqlite/store.ts';
export { faultOf } from './sqlite/files/database.ts';
import type { Report } from './sqlite/pims-stores.ts';
import { openMove, refuseUnfinishedFolder } from './sqlite/move-store.ts';
import type { StoreMeasures } from './sql/measures.ts';
import type { MoveStore } from './move/tables.ts';

export interface Store extends ControlStores {
  /** The placement of tenants by Citus. Without it, all tenants are on one server. */
  readonly placement?: Placement | undefined;
  /** Returns the inventory system of a tenant. */
  readonly pims: (tenant: Pick<Tenant, 'storeId'>) => PimsStore;
  /** Resolves when a tenant's records may have changed since this call, in any process, or when the signal aborts. */
  nextChange(tenant: Tenant, ended: AbortSignal): Promise<void>;
  /** Lists the store IDs of tenants that this process has used lately, without those closed since then. */
  openTenants(): Iterable<string>;
  /** Runs expensive work that reads no records, such as a log search, in turn with the tenant's queries. */
  readonly takeTurn: TakeTurn;
  /** Returns whether the store can be used. For PostgreSQL, this is the last known state. */
  isUsable(): boolean;
  /** Measures the store. This is cheap. */
  measure(): StoreMeasures;
  /** Ends waiting and running expensive work with SERVICE_BUSY when the service stops. */
  endQueries(): void;
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
  readonly queriesRunningMax: number;
  readonly queriesWaitingMax: number;
  readonly openTenantsMax: number;
}

export interface StoreUser {
  /** The name in pg_stat_activity. */
  readonly name: string;
  /** Time to wait for another process's transaction: 0 for the service, which must not block. */
  readonly busyTimeoutMs: number;
  readonly onFatal: (fault: unknown) => void;
  /** Receives events for the operator, such as a lost database or an upgraded file. */
  readonly report?: Report;
  /** Whether to refuse a database without data. For the embedded store, the caller does. */
  readonly refusesEmpty?: boolean;
  readonly clock: Clock;
}

/** Throws COMMAND_REFUSED with the reason when the database cannot be used. */
export async function openStore(settings: OpenStoreSettings, user: StoreUser): Promise<Store> {
  const { databaseUrl, databaseConnections } = settings;
  if (databaseUrl === '') return openEmbedded(settings, user);
  // This module is loaded only when it is used, so that the embedded store starts without the driver.
  const { openPostgres } = await import('./postgres/store.ts');
  const { name, busyTimeoutMs, report, refusesEmpty, clock } = user;
  const own = { url: databaseUrl, connections: databaseConnections, isService: busyTimeoutMs === 0 };
  return openPostgres({ ...settings, ...own, name, report, refusesEmpty, clock });
}

export function openEmbedded(
  settings: OpenStoreSettings,
  { busyTimeoutMs, onFatal, report, clock }: StoreUser,
): SqliteStore {
  const { data: folder, queryThreads: workers } = settings;
  refuseUnfinishedFolder(folder);
  return openSqlite({ ...settings, folder, workers, busyTimeoutMs, onFatal, report, clock });
}

type ServedStoreSettings = OpenStoreSettings &
  DiskBounds &
  Pick<BackupOptions, 'backupDir' | 'backupHours' | 'backupKeep'>;

/** The parts of a store that run while it is served. */
interface Upkeep {
  /** The disk of the store. The disk of PostgreSQL is not known. */
  readonly disk?: ReturnType<typeof observeDisk>;
  readonly backups?: ScheduledBackups;
}

/**
 * Opens the store for a service. `isAlone` means that no other node uses it. `pims` rejects with SERVICE_BUSY while a
 * tenant is being upgraded for more than a moment. `lock` locks the store for this service, if no other node may use it.
 */
export async function openServedStore(settings: ServedStoreSettings, user: StoreUser) {
  const { databaseUrl, data: folder, backupDir } = settings;
  const { clock, report = () => undefined } = user;
  if (databaseUrl !== '') {
    const store = await openStore(settings, user);
    const upkeep: Upkeep = {};
    return {
      store,
      system: 'postgresql',
      isAlone: false,
      pims: store.pims,
      lock: () => undefined,
      startUpkeep: async () => upkeep,
      upgradeTenants: async () => undefined,
    } as const;
  }
  const store = openEmbedded(settings, user);
  const tellBackup = (event: string, isFault: boolean) => report(event, isFault ? 'error' : 'info');
  return {
    store,
    system: 'sqlite',
    isAlone: true,
    pims: store.pimsOnceUpgraded,
    lock: store.lock,
    async startUpkeep(): Promise<Upkeep> {
      const disk = observeDisk(folder, settings, { report, clock });
      if (backupDir === '') return { disk };
      const own = { folder, identity: store.identity, report: tellBackup, clock };
      return { disk, backups: makeScheduledBackups({ ...settings, ...own }).startBackups() };
    },
    upgradeTenants: store.upgradeTenants,
  } as const;
}

/** Checks the store that the settings name, even while services run. Throws when it cannot be checked. */
export async function checkPlace({ data, databaseUrl }: StorePlace, clock: Clock): Promise<CheckResult> {
  if (databaseUrl === '') return checkStore(openCheck(data));
  const postgres = await import('./postgres/check-store.ts');
  return checkStore(await postgres.openCheck(databaseUrl, clock));
}

/** Opens a store for a move out of it (`refusesEmpty`) or into it. Messages call it `name`. */
export async function openMoveStore(
  { data, databaseUrl }: StorePlace,
  name: string,
  clock: Clock,
  refusesEmpty = false,
): Promise<MoveStore> {
  if (databaseUrl === '') return openMove(data, name, clock);
  const postgres = await import('./postgres/move-store.ts');
  return postgres.openMove(databaseUrl, name, clock, refusesEmpty);
}
