/**
 * Manages the tenants whose files are open: their number, their shares of the memory for pages, which one closes when
 * another is called, and which are set apart because their files cannot be used. Source: decisions 0015 and 0062.
 */
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { refuseForNow } from '../../../errors.ts';
import { faultOf, type OnFatal } from './database.ts';
import type { SqlitePimsStore } from '../pims-store.ts';

interface OpenTenant {
  readonly storeId: string;
  readonly store: SqlitePimsStore;
  /** The number of the last call. */
  calledAt: number;
}

export interface OpenTenantsOptions {
  /** Maximum number of open tenants. 0 means as many as memory and file handles allow. */
  readonly most: number;
  readonly open: (storeId: string, onFatal: OnFatal) => SqlitePimsStore;
  /** Called once for each tenant that is set apart. */
  readonly onSetApart: (storeId: string, fault: unknown) => void;
}

const MIB = 1024 * 1024;
const CLOSING_ASIDE_MOST = 32;
/**
 * Memory of two connections without their pages, and their handles: two for the file, two for the log, and one for the
 * shared index.
 */
const TENANT_BYTES = MIB;
const TENANT_HANDLES = 5;
const MOST_DERIVED = 4000;
const LEAST_DERIVED = 32;
/** The limit that is assumed if the system does not report one. */
const HANDLES_ASSUMED = 1024;
/** Memory of a connection for pages: the maximum for one connection, and the minimum with which it works well. */
const CACHE_KIB_MOST = 4096;
const CACHE_KIB_LEAST = 64;
const CACHES_BYTES_MOST = 256 * MIB;

export function makeOpenTenants({ most, open: openStore, onSetApart }: OpenTenantsOptions) {
  const memory = memoryOfProcess();
  const mostOpen = most || deriveMost(memory, handlesOfProcess());
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
    return unavailable();
  };
  const tryOpen = (storeId: string) => {
    try {
      const store = openStore(storeId, (fault) => setApart(storeId, fault, true));
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
  const add = (storeId: string) => {
    if (apart.get(storeId) === true) throw unavailable();
    // If files close more slowly than they open, the event loop closes them itself, so that they cannot pile up.
    while (tenants.size >= mostOpen) remove(chooseOne([...tenants.values()]), closing.size < CLOSING_ASIDE_MOST);
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
      const called = tenants.get(storeId) ?? add(storeId);
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
 * Returns the one of two random tenants that was called longer ago. The one called longest ago would be the next to be
 * called when more tenants than can be open are called in turn.
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
  const cachesKib = Math.min(memory / 8, CACHES_BYTES_MOST) / 1024;
  let shared = CACHE_KIB_MOST;
  return (open: ReadonlyMap<string, OpenTenant>, added: SqlitePimsStore): void => {
    const doubled = 2 ** Math.ceil(Math.log2(open.size));
    const share = Math.floor(cachesKib / (2 * doubled));
    const cacheKib = Math.max(Math.min(share, CACHE_KIB_MOST), CACHE_KIB_LEAST);
    if (cacheKib < shared) for (const { store } of open.values()) store.limitCaches(cacheKib);
    else added.limitCaches(cacheKib);
    shared = cacheKib;
  };
}

const teamOf = (storeId: string) => storeId.slice(0, storeId.lastIndexOf('.'));
const unavailable = () => refuseForNow('TENANT_UNAVAILABLE', undefined, 30);

/** Derives the maximum number of open tenants, which may use a quarter of the memory and half of the handles. */
const deriveMost = (memory: number, handles: number) =>
  Math.max(Math.floor(Math.min(memory / 4 / TENANT_BYTES, handles / 2 / TENANT_HANDLES, MOST_DERIVED)), LEAST_DERIVED);

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
