/** Opens the store of the settings for a service, with what only one kind of store has: no caller asks for the kind. */
import type { PimsStore } from '../pims/pims-port.ts';
import type { Tenant } from '../tenant/tenant-port.ts';
import { openEmbedded, openStore, type OpenStoreSettings, type Store, type StoreUser } from './open-store.ts';
import { makeScheduledBackups, type BackupOptions, type ScheduledBackups } from './sqlite/backup/scheduled-backups.ts';
import { observeDisk, type DiskBounds } from './sqlite/files/folder.ts';

type ServedStoreSettings = OpenStoreSettings &
  DiskBounds &
  Pick<BackupOptions, 'backupDir' | 'backupHours' | 'backupKeep'>;

/** The parts of a store that run while it is served. */
interface Upkeep {
  /** The disk of the store. The disk of PostgreSQL is not known. */
  readonly disk?: ReturnType<typeof observeDisk>;
  readonly backups?: ScheduledBackups | undefined;
}

export interface ServedStore {
  readonly store: Store;
  /** The name of the database system, for traces. */
  readonly system: 'sqlite' | 'postgresql';
  /** Whether no other node uses the store. */
  readonly isAlone: boolean;
  /**
   * Returns the inventory system of a tenant. Rejects with SERVICE_BUSY if it is being upgraded for more than a moment.
   */
  pims(tenant: Tenant): PimsStore | Promise<PimsStore>;
  /** Locks the store for this service, if no other node may use it. */
  lock(): void;
  startUpkeep(): Promise<Upkeep>;
  /** Upgrades the tenants that are not upgraded yet. */
  upgradeTenants(): Promise<void>;
}

export async function openServedStore(settings: ServedStoreSettings, user: StoreUser): Promise<ServedStore> {
  if (settings.databaseUrl === '') return serveEmbedded(settings, user);
  const store = await openStore(settings, user);
  return {
    store,
    system: 'postgresql',
    isAlone: false,
    pims: (tenant) => store.pims(tenant),
    lock: () => undefined,
    startUpkeep: async () => ({}),
    upgradeTenants: async () => undefined,
  };
}

function serveEmbedded(settings: ServedStoreSettings, user: StoreUser): ServedStore {
  const store = openEmbedded(settings, user);
  const { data: folder, backupDir } = settings;
  const { clock, report = () => undefined } = user;
  const tellBackup = (event: string, isFault: boolean) => report(event, isFault ? 'error' : 'info');
  return {
    store,
    system: 'sqlite',
    isAlone: true,
    pims: (tenant) => store.pimsOnceUpgraded(tenant),
    lock: () => store.lock(),
    async startUpkeep() {
      const disk = observeDisk(folder, settings, { report, clock });
      if (backupDir === '') return { disk };
      const own = { folder, identity: store.identity, report: tellBackup, clock };
      return { disk, backups: makeScheduledBackups({ ...settings, ...own }).startBackups() };
    },
    upgradeTenants: () => store.upgradeTenants(),
  };
}
