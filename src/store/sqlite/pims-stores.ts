/**
 * The tenants' inventory systems of an open embedded store: opens and upgrades their files, wakes those who wait for a
 * change, and reports files that cannot be used.
 */
import { rmSync, utimesSync, watch } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PimsStore } from '../../pims/pims-port.ts';
import type { Tenant } from '../../tenant/tenant-port.ts';
import { makeChangeWaiters } from '../change-waiters.ts';
import { nameFile, type OnFatal } from './files/database.ts';
import { isFileThere } from './files/folder.ts';
import { makeOpenTenants } from './files/open-tenants.ts';
import { tenantFileOf } from './files/tenant-files.ts';
import { isUpgradeNeeded, makeUpgrades } from './files/upgrades.ts';
import { openPimsStore, type PimsStoreOptions } from './pims-store.ts';
import { makeKeptAnswers } from './reads/kept-answers.ts';
import { makeWorkerPool } from './workers/worker-pool.ts';

export type Report = (event: string, isFault?: boolean) => void;

export interface PimsStoresOptions extends Pick<PimsStoreOptions, 'queryBudgetMs' | 'clock'> {
  readonly folder: string;
  /** Time to wait for another process's transaction: 0 for the service, which must not block. */
  readonly busyTimeoutMs: number;
  readonly workers: number;
  /** Maximum open tenants. Without it, or if it is 0, memory and file handles decide. */
  readonly openTenantsMost?: number;
  /** Called when a part of the store cannot be used. */
  readonly report?: Report | undefined;
}

/** When all cores are busy, the event loop comes first: every call needs it. */
const QUERY_NICENESS = 10;

export function openPimsStores(options: PimsStoresOptions, shared: Pick<PimsStoreOptions, 'turns' | 'checkpoint'>) {
  const { folder, busyTimeoutMs, clock, report = () => undefined } = options;
  const fileOf = (storeId: string) => tenantFileOf(folder, storeId);
  // One more thread than the running queries may use, for tenants without a running query.
  const workers = makeWorkerPool(options.workers + 1, QUERY_NICENESS, clock);
  // Threads for upgrades and for examining files. While one upgrades a large file, the other upgrades files of called
  // tenants.
  const aside = makeWorkerPool(2, QUERY_NICENESS, clock);
  const upgrades = makeUpgrades(aside, clock, report);
  const kept = makeKeptAnswers();
  const waiters = makeChangeWaiters((storeId) => watchFile(fileOf(storeId), () => waiters.wake(storeId)));
  /** Wakes those who wait for a change. A command changes the time of the file, which wakes those in the service. */
  const noteCommit = (storeId: string) => {
    waiters.wake(storeId);
    const seconds = clock.now() / 1000;
    if (busyTimeoutMs > 0) utimesSync(fileOf(storeId), seconds, seconds);
  };

  const open = makeOpenTenants({
    most: options.openTenantsMost ?? 0,
    open(storeId, onFatal: OnFatal) {
      if (!isFileThere(fileOf(storeId))) throw new Error('it is missing, or empty');
      const onCommit = () => noteCommit(storeId);
      return openPimsStore(fileOf(storeId), { ...options, ...shared, workers, kept, onFatal, onCommit });
    },
    /** Reports that a file cannot be used, and then what SQLite finds wrong with it. */
    onSetApart(storeId, fault) {
      const file = fileOf(storeId);
      const { message } = nameFile(fault, file) as Error;
      report(`A tenant is set apart, because its file cannot be used. ${message}.`, true);
      const tell = (faults: readonly string[]) =>
        faults.forEach((found) => report(`Found in ${file}: ${found}.`, true));
      if (isFileThere(file)) void aside.run<string[]>({ kind: 'examine', file }).then(tell as never, () => undefined);
    },
  });
  const pims = ({ storeId }: Pick<Tenant, 'storeId'>) => open.get(storeId);
  return {
    open,
    pims,
    pools: [workers, aside],
    nextChange: ({ storeId }: Tenant, ended: AbortSignal): Promise<void> => waiters.wait(storeId, ended),
    /**
     * Returns the tenant's store for a service. A file with an older schema is first upgraded in a thread. The call waits
     * for a moment, and is then refused with SERVICE_BUSY.
     */
    pimsOnceUpgraded(tenant: Tenant): PimsStore | Promise<PimsStore> {
      const file = fileOf(tenant.storeId);
      if (open.has(tenant.storeId) || !isUpgradeNeeded(file)) return pims(tenant);
      return upgrades.wait(file).then(() => pims(tenant));
    },
    /** Upgrades the files of an older schema, one after the other. Sets tenants apart whose files are lost. */
    async upgradeTenants(tenants: readonly Tenant[]) {
      for (const tenant of tenants) {
        await nextTurn();
        const file = fileOf(tenant.storeId);
        if (isUpgradeNeeded(file)) await upgrades.run(file);
        if (isFileThere(file) && !isUpgradeNeeded(file)) continue;
        try {
          pims(tenant);
        } catch {
          // The fault has already been reported.
        }
      }
    },
    *openTenants(): Iterable<string> {
      for (const storeId of open.storeIds()) if (open.has(storeId)) yield storeId;
    },
    async delete(storeId: string) {
      await open.close(storeId);
      for (const suffix of ['', '-wal', '-shm']) rmSync(fileOf(storeId) + suffix, { force: true });
    },
  };
}

/** Where files cannot be watched, those who wait see the commits of commands when their time is up. */
function watchFile(file: string, onChange: () => void): () => void {
  try {
    const watcher = watch(file, { persistent: false }, onChange);
    watcher.on('error', () => watcher.close());
    return () => watcher.close();
  } catch {
    return () => undefined;
  }
}
