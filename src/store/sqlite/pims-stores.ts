/**
 * The tenants' inventory systems of an open embedded store: opens and upgrades their files, bounds how many are open
 * and their memory for pages, sets tenants with unusable files apart, and wakes callers that wait for a change. Source:
 * decisions 0015 and 0062.
 */
import { readFileSync, utimesSync, watch } from 'node:fs';
import { totalmem } from 'node:os';
import { setImmediate as nextRound } from 'node:timers/promises';
import { Refusal, refuseForNow } from '../../errors.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import type { Tenant } from '../../tenant/tenant-port.ts';
import { makeChangeWaiters } from '../sql/change-waiters.ts';
import { describeUpgrade } from '../control/control.ts';
import { faultOf, findBar, nameFile, requireWritable, type OnFatal } from './files/database.ts';
import { isFileThere } from './files/folder.ts';
import { deleteTenantFiles, teamOf, tenantFileOf } from './files/tenant-files.ts';
import { openPimsStore, type PimsStoreOptions, type SqlitePimsStore } from './pims-store.ts';
import { makeKeptAnswers } from './tenant-reads.ts';
import { isUpgradeNeeded, makeUpgrades } from './upgrades.ts';
import { makeWorkerPool, type WorkerPool } from './workers/worker-pool.ts';

/** Receives an event, and its level if it is no warning. */
export type Report = (event: string, level?: 'info' | 'error') => void;

export interface PimsStoresOptions extends Pick<PimsStoreOptions, 'queryBudgetMs' | 'clock'> {
  readonly folder: string;
  /** Time to wait for another process's transaction: 0 for the service, which must not block. */
  readonly busyTimeoutMs: number;
  readonly workers: number;
  /** Maximum open tenants. Without it, or if it is 0, memory and file handles decide. */
  readonly openTenantsMax?: number;
  /** Receives events for the operator, such as an upgraded or unusable file. */
  readonly report?: Report | undefined;
}

/** When all cores are busy, the event loop comes first: every call needs it. */
const QUERY_NICENESS = 10;

export function openPimsStores(
  options: PimsStoresOptions,
  { identity, ...shared }: Pick<PimsStoreOptions, 'turns' | 'checkpoint'> & { readonly identity: string },
) {
  const { folder, busyTimeoutMs, clock, report = () => undefined } = options;
  const fileOf = (storeId: string) => tenantFileOf(folder, storeId);
  const ownerOf = (storeId: string) => ({ identity, teamId: teamOf(storeId) });
  // One more thread than the running queries may use, for tenants without a running query.
  const workers = makeWorkerPool(options.workers + 1, QUERY_NICENESS, clock);
  // Threads for upgrades and for examining files. While one upgrades a large file, the other upgrades files of called
  // tenants.
  const aside = makeWorkerPool(2, QUERY_NICENESS, clock);
  const upgrades = makeUpgrades(aside, clock);
  const kept = makeKeptAnswers();
  const waiters = makeChangeWaiters((storeId) => watchFile(fileOf(storeId), () => waiters.wake(storeId)));
  /** Wakes callers that wait for a change. A command changes the time of the file, which wakes those in the service. */
  const noteCommit = (storeId: string) => {
    waiters.wake(storeId);
    const seconds = clock.now() / 1000;
    if (busyTimeoutMs > 0) utimesSync(fileOf(storeId), seconds, seconds);
  };

  const open = makeOpenTenants({
    most: options.openTenantsMax ?? 0,
    openTenant(storeId, onFatal: OnFatal) {
      if (!isFileThere(fileOf(storeId))) throw new Error('it is missing, or empty');
      requireWritable(fileOf(storeId));
      const onCommit = () => noteCommit(storeId);
      const own = { owner: ownerOf(storeId), onFatal, onCommit };
      return openPimsStore(fileOf(storeId), { ...options, ...shared, ...own, workers, kept });
    },
    onSetApart: makeApartReport(fileOf, aside, report),
  });
  const getStore = ({ storeId }: Pick<Tenant, 'storeId'>) => open.get(storeId);
  return {
    open,
    pims: getStore,
    pools: [workers, aside],
    nextChange: ({ storeId }: Tenant, ended: AbortSignal): Promise<void> => waiters.waitForWake(storeId, ended),
    /**
     * Returns the tenant's store for a service. A file with an older schema is first upgraded in a thread. The call
     * waits for a moment, and is then refused with SERVICE_BUSY.
     */
    pimsOnceUpgraded: (tenant: Tenant): PimsStore | Promise<PimsStore> => {
      if (open.has(tenant.storeId)) return getStore(tenant);
      const file = fileOf(tenant.storeId);
      return isUpgradeNeeded(file)
        ? upgrades.waitForUpgrade(file, ownerOf(tenant.storeId)).then(() => getStore(tenant))
        : getStore(tenant);
    },
    /**
     * Upgrades the files of an older schema, one after the other. Sets tenants apart whose files are lost or read-only.
     */
    async upgradeTenants(tenants: readonly Tenant[]) {
      const startedAt = clock.elapsed();
      for (const tenant of tenants) {
        await nextRound();
        const file = fileOf(tenant.storeId);
        if (isUpgradeNeeded(file)) await upgrades.upgradeOnce(file, ownerOf(tenant.storeId));
        if (isFileThere(file) && !isUpgradeNeeded(file) && findBar(file) === undefined) continue;
        try {
          getStore(tenant);
        } catch {
          // The fault has already been reported.
        }
      }
      if (upgrades.upgraded > 0) report(describeUpgrade(upgrades.upgraded, clock.elapsed() - startedAt), 'info');
    },
    *openTenants(): Iterable<string> {
      for (const storeId of open.storeIds()) if (open.has(storeId)) yield storeId;
    },
    /** Deletes the file of a tenant, and with `others` all files that `tenant restore` has left of the tenant. */
    async delete(storeId: string, others = false) {
      await open.close(storeId);
      deleteTenantFiles(folder, (id) => id === storeId || (others && teamOf(id) === teamOf(storeId)));
    },
  };
}

/** Makes the function that reports that a file cannot be used, and then what SQLite finds wrong with it. */
function makeApartReport(fileOf: (storeId: string) => string, pool: WorkerPool, report: Report) {
  return (storeId: string, fault: unknown): void => {
    const file = fileOf(storeId);
    const { message } = nameFile(fault, file) as Error;
    const what = message.replace(/\.$/, '');
    report(`The calls of a tenant are refused, because its file cannot be used. ${what}.`, 'error');
    const tell = (faults: readonly string[]) =>
      faults.forEach((found) => report(`Found in ${file}: ${found}.`, 'error'));
    if (isFileThere(file))
      void pool.askWorker<string[]>({ kind: 'examine', file }).then(tell as never, () => undefined);
  };
}

/** Watches a file. If that is impossible, waiting callers see the commits of commands when their time is up. */
function watchFile(file: string, onChange: () => void): () => void {
  try {
    const watcher = watch(file, { persistent: false }, onChange);
    watcher.on('error', () => watcher.close());
    return () => watcher.close();
  } catch {
    return () => undefined;
  }
}

interface OpenTenant {
  readonly storeId: string;
  readonly store: SqlitePimsStore;
  /** The number of the last call. */
  calledAt: number;
}

interface OpenTenantsOptions {
  /** Maximum number of open tenants. 0 means as many as memory and file handles allow. */
  readonly most: number;
  readonly openTenant: (storeId: string, onFatal: OnFatal) => SqlitePimsStore;
  /** Called once for each tenant that is set apart. */
  readonly onSetApart: (storeId: string, fault: unknown) => void;
}

const MIB = 1024 * 1024;
const CLOSING_ASIDE_MAX = 32;
/**
 * Memory of two connections without their pages, and their handles: two for the file, two for the log, and one for the
 * shared index.
 */
const TENANT_BYTES = MIB;
const TENANT_HANDLES = 5;
const DERIVED_MAX = 4000;
const DERIVED_LEAST = 32;
/** The limit that is assumed if the system does not report one. */
const HANDLES_ASSUMED = 1024;
/** Memory of a connection for pages: the maximum for one connection, and the minimum with which it works well. */
const CACHE_KIB_MAX = 4096;
const CACHE_KIB_LEAST = 64;
const CACHES_BYTES_MAX = 256 * MIB;

/**
 * Manages the tenants whose files are open: their number, their shares of the memory for pages, and which one closes
 * when another is called.
 */
function makeOpenTenants({ most, openTenant: openStore, onSetApart }: OpenTenantsOptions) {
  const memory = memoryOfProcess();
  const openMax = most || deriveMax(memory, handlesOfProcess());
  const tenants = new Map<string, OpenTenant>();
  /** Whether a tenant that is set apart stays so until the process ends. */
  const apart = new Map<string, boolean>();
  const closing = new Set<Promise<void>>();
  const shareCaches = shareMemory(memory);
  let calls = 0;
  /** Does not close a damaged file, because that would write to it. Only a new process reads its log again. */
  const setApart = (storeId: string, fault: unknown, isDamaged: boolean) => {
    const isNew = !apart.has(storeId);
    apart.set(storeId, isDamaged);
    tenants.delete(storeId);
    if (isNew) onSetApart(storeId, fault);
    return tenantUnavailable();
  };
  const tryOpen = (storeId: string) => {
    try {
      const store = openStore(storeId, (fault) => setApart(storeId, fault, !(fault instanceof Refusal)));
      // The file may replace a former one that was set apart.
      for (const id of apart.keys()) if (teamOf(id) === teamOf(storeId)) apart.delete(id);
      return store;
    } catch (fault) {
      const kind = faultOf(fault);
      if (kind === 'full') throw refuseForNow('STORAGE_FULL', undefined, 30);
      throw kind === 'busy' ? fault : setApart(storeId, fault, kind === 'fatal');
    }
  };
  const remove = ({ storeId, store }: OpenTenant, aside = false) => {
    tenants.delete(storeId);
    const closed = store
      .close(aside)
      .catch((fault: unknown) => void setApart(storeId, fault, true))
      .finally(() => closing.delete(closed));
    closing.add(closed);
  };
  const addOpened = (storeId: string) => {
    if (apart.get(storeId) === true) throw tenantUnavailable();
    // If files close more slowly than they open, the event loop closes them itself, so that they cannot pile up.
    while (tenants.size >= openMax) remove(chooseOne([...tenants.values()]), closing.size < CLOSING_ASIDE_MAX);
    const added = { storeId, store: tryOpen(storeId), calledAt: 0 };
    tenants.set(storeId, added);
    shareCaches(tenants, added.store);
    return added;
  };
  return {
    /**
     * Returns the tenant's store. Use it at once, because a later call may close it when its running work is done.
     * Throws TENANT_UNAVAILABLE or STORAGE_FULL.
     */
    get(storeId: string): SqlitePimsStore {
      const called = tenants.get(storeId) ?? addOpened(storeId);
      called.calledAt = ++calls;
      return called.store;
    },
    has: (storeId: string) => tenants.has(storeId),
    storeIds: () => [...tenants.keys()],
    measure: () => ({
      openTenants: tenants.size,
      apartTenants: apart.size,
      /** Bytes of the longest write-ahead log. */
      longestLog: Math.max(0, ...tenants.values().map(({ store }) => store.logBytes)),
    }),
    /** Resolves when the tenant's files are closed. */
    async close(storeId: string) {
      apart.delete(storeId);
      const closed = tenants.get(storeId);
      if (closed) remove(closed);
      await Promise.all(closing);
    },
    async closeAll() {
      for (const each of tenants.values()) remove(each);
      await Promise.all(closing);
    },
  };
}

/**
 * Returns the one of two random tenants that was called longer ago. When more tenants than can be open are called
 * one after the other, the one called longest ago is the next to be called.
 */
function chooseOne(all: readonly OpenTenant[]): OpenTenant {
  const pick = () => all[Math.floor(Math.random() * all.length)]!;
  const [one, other] = [pick(), pick()];
  return one.calledAt < other.calledAt ? one : other;
}

/**
 * Makes the function that gives all tenants equal shares of the memory for pages. The shares are halved only when the
 * number of open tenants has doubled, so that few calls pay for the change.
 */
function shareMemory(memory: number) {
  const cachesKib = Math.min(memory / 8, CACHES_BYTES_MAX) / 1024;
  let shared = CACHE_KIB_MAX;
  return (open: ReadonlyMap<string, OpenTenant>, added: SqlitePimsStore): void => {
    const doubled = 2 ** Math.ceil(Math.log2(open.size));
    const share = Math.floor(cachesKib / (2 * doubled));
    const cacheKib = Math.max(Math.min(share, CACHE_KIB_MAX), CACHE_KIB_LEAST);
    if (cacheKib < shared) for (const { store } of open.values()) store.limitCaches(cacheKib);
    else added.limitCaches(cacheKib);
    shared = cacheKib;
  };
}

const tenantUnavailable = () => refuseForNow('TENANT_UNAVAILABLE', undefined, 30);

/** Derives the maximum number of open tenants, which may use a quarter of the memory and half of the handles. */
const deriveMax = (memory: number, handles: number) =>
  Math.max(Math.floor(Math.min(memory / 4 / TENANT_BYTES, handles / 2 / TENANT_HANDLES, DERIVED_MAX)), DERIVED_LEAST);

/** Returns the bytes that the process may use, which are those of its control group or of the machine. */
const memoryOfProcess = () => Math.min(process.constrainedMemory() || Infinity, totalmem());

function handlesOfProcess(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const [, soft] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
    return Number(soft ?? HANDLES_ASSUMED);
  } catch {
    return HANDLES_ASSUMED;
  }
}
