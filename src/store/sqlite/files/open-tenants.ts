/**
 * Manages the tenants whose files are open: their number, their shares of the memory for pages, which one closes when
 * another is called, and which are set apart because their files cannot be used. Source: decisions 0015 and 0062.
 */
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { Refusal } from '../../../errors.ts';
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

export class OpenTenants {
  readonly #options: OpenTenantsOptions;
  readonly #most: number;
  readonly #cachesKib: number;
  readonly #open = new Map<string, OpenTenant>();
  /** Whether a tenant that is set apart stays so until the process ends. */
  readonly #apart = new Map<string, boolean>();
  readonly #closing = new Set<Promise<void>>();
  #calls = 0;
  #cacheKib = CACHE_KIB_MOST;

  constructor(options: OpenTenantsOptions) {
    const memory = memoryOfProcess();
    this.#options = options;
    this.#most = options.most || deriveMost(memory, handlesOfProcess());
    this.#cachesKib = Math.min(memory / 8, CACHES_BYTES_MOST) / 1024;
  }

  /**
   * Returns the tenant's store. Use it at once, because a later call may close it when its running work is done. Throws
   * TENANT_UNAVAILABLE or STORAGE_FULL.
   */
  get(storeId: string): SqlitePimsStore {
    const open = this.#open.get(storeId) ?? this.#add(storeId);
    open.calledAt = ++this.#calls;
    return open.store;
  }

  has(storeId: string): boolean {
    return this.#open.has(storeId);
  }

  get size(): number {
    return this.#open.size;
  }

  get storeIds(): readonly string[] {
    return [...this.#open.keys()];
  }

  /** Bytes of the longest write-ahead log. */
  get longestLog(): number {
    return Math.max(0, ...this.#open.values().map(({ store }) => store.logBytes));
  }

  /** The number of tenants that are set apart. */
  get apart(): number {
    return this.#apart.size;
  }

  /** Resolves when the tenant's files are closed. */
  async close(storeId: string): Promise<void> {
    this.#apart.delete(storeId);
    const open = this.#open.get(storeId);
    if (open) this.#remove(open);
    await Promise.all(this.#closing);
  }

  async closeAll(): Promise<void> {
    for (const open of this.#open.values()) this.#remove(open);
    await Promise.all(this.#closing);
  }

  #add(storeId: string): OpenTenant {
    if (this.#apart.get(storeId) === true) throw unavailable();
    // If files close more slowly than they open, the event loop closes them itself, so that they cannot pile up.
    while (this.#open.size >= this.#most) this.#remove(this.#chooseOne(), this.#closing.size < CLOSING_ASIDE_MOST);
    const open = { storeId, store: this.#openStore(storeId), calledAt: 0 };
    this.#open.set(storeId, open);
    this.#shareCaches(open.store);
    return open;
  }

  #openStore(storeId: string): SqlitePimsStore {
    try {
      const store = this.#options.open(storeId, (fault) => this.#setApart(storeId, fault, true));
      if (this.#apart.size > 0) this.#forgive(storeId);
      return store;
    } catch (fault) {
      const kind = faultOf(fault);
      if (kind === 'full') throw new Refusal('STORAGE_FULL', undefined, { retryAfterSeconds: 30 });
      throw kind === 'busy' ? fault : this.#setApart(storeId, fault, kind === 'fatal');
    }
  }

  /** Uses the tenant's file again, even if a former file was set apart that this one has replaced. */
  #forgive(storeId: string): void {
    const teamOf = (id: string): string => id.slice(0, id.lastIndexOf('.'));
    for (const apart of this.#apart.keys()) if (teamOf(apart) === teamOf(storeId)) this.#apart.delete(apart);
  }

  /** Does not close a damaged file, because that would write to it. Only a new process reads its log again. */
  #setApart(storeId: string, fault: unknown, isDamaged: boolean): Refusal {
    const isNew = !this.#apart.has(storeId);
    this.#apart.set(storeId, isDamaged);
    this.#open.delete(storeId);
    if (isNew) this.#options.onSetApart(storeId, fault);
    return unavailable();
  }

  /**
   * Returns the one of two random tenants that was called longer ago. The one called longest ago would be the next to
   * be called when more tenants than can be open are called in turn.
   */
  #chooseOne(): OpenTenant {
    const all = [...this.#open.values()];
    const pick = (): OpenTenant => all[Math.floor(Math.random() * all.length)]!;
    const [one, other] = [pick(), pick()];
    return one.calledAt < other.calledAt ? one : other;
  }

  #remove(open: OpenTenant, aside = false): void {
    this.#open.delete(open.storeId);
    const closing = open.store
      .close(aside)
      .catch((fault: unknown) => void this.#setApart(open.storeId, fault, true))
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  /**
   * Gives all tenants equal shares. The shares are halved only when the number of open tenants has doubled, so that few
   * calls pay for the change.
   */
  #shareCaches(added: SqlitePimsStore): void {
    const doubled = 2 ** Math.ceil(Math.log2(this.#open.size));
    const share = Math.floor(this.#cachesKib / (2 * doubled));
    const cacheKib = Math.max(Math.min(share, CACHE_KIB_MOST), CACHE_KIB_LEAST);
    if (cacheKib < this.#cacheKib) for (const { store } of this.#open.values()) store.limitCaches(cacheKib);
    else added.limitCaches(cacheKib);
    this.#cacheKib = cacheKib;
  }
}

const unavailable = (): Refusal => new Refusal('TENANT_UNAVAILABLE', undefined, { retryAfterSeconds: 30 });

/** Derives the maximum number of open tenants, which may use a quarter of the memory and half of the handles. */
const deriveMost = (memory: number, handles: number): number =>
  Math.max(Math.floor(Math.min(memory / 4 / TENANT_BYTES, handles / 2 / TENANT_HANDLES, MOST_DERIVED)), LEAST_DERIVED);

/** Returns the bytes that the process may use, which are those of its control group or of the machine. */
const memoryOfProcess = (): number => Math.min(process.constrainedMemory() || Infinity, totalmem());

function handlesOfProcess(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const [, soft] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
    return Number(soft ?? HANDLES_ASSUMED);
  } catch {
    return HANDLES_ASSUMED;
  }
}
