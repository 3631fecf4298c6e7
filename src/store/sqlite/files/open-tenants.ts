/**
 * The tenants whose files are open: how many there may be, how they share memory for pages, which one is closed when
 * another is called, and which are set apart, as their files cannot be used. Source: decisions 0015 and 0062.
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
  /** In the list of open tenants. */
  place: number;
}

export interface OpenTenantsOptions {
  /** 0: as many as memory and file handles allow. */
  readonly most: number;
  readonly open: (storeId: string, onFatal: OnFatal) => SqlitePimsStore;
  /** Told once that a tenant is set apart. */
  readonly onSetApart: (storeId: string, fault: unknown) => void;
}

const MIB = 1024 * 1024;
const CLOSING_ASIDE_MOST = 32;
/** What two connections take beside their pages, and how many handles: file and log twice, and the shared index. */
const TENANT_BYTES = MIB;
const TENANT_HANDLES = 5;
const MOST_DERIVED = 4000;
const LEAST_DERIVED = 32;
/** Where the system does not tell. */
const HANDLES_ASSUMED = 1024;
/** A connection's memory for pages: as much as one ever has, and the least it works well with. */
const CACHE_KIB_MOST = 4096;
const CACHE_KIB_LEAST = 64;
const CACHES_BYTES_MOST = 256 * MIB;

export class OpenTenants {
  readonly #options: OpenTenantsOptions;
  readonly #most: number;
  readonly #cachesKib: number;
  readonly #byId = new Map<string, OpenTenant>();
  readonly #all: OpenTenant[] = [];
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
   * The tenant's store. Use it at once: after a later call it may be closed, once what it was asked is done.
   * Throws TENANT_UNAVAILABLE, STORAGE_FULL.
   */
  get(storeId: string): SqlitePimsStore {
    const open = this.#byId.get(storeId) ?? this.#add(storeId);
    open.calledAt = ++this.#calls;
    return open.store;
  }

  has(storeId: string): boolean {
    return this.#byId.has(storeId);
  }

  get size(): number {
    return this.#all.length;
  }

  /** Bytes of the longest write-ahead log. */
  get longestLog(): number {
    return this.#all.reduce((most, { store }) => Math.max(most, store.logBytes), 0);
  }

  /** How many tenants are set apart. */
  get apart(): number {
    return this.#apart.size;
  }

  /** Resolves when nothing has the tenant's files open. */
  async close(storeId: string): Promise<void> {
    this.#apart.delete(storeId);
    const open = this.#byId.get(storeId);
    if (open) this.#remove(open);
    await Promise.all(this.#closing);
  }

  async closeAll(): Promise<void> {
    while (this.#all.length > 0) this.#remove(this.#all.at(-1)!);
    await Promise.all(this.#closing);
  }

  #add(storeId: string): OpenTenant {
    if (this.#apart.get(storeId) === true) throw unavailable();
    // Where files close slower than they open, the event loop waits with them.
    while (this.#all.length >= this.#most) this.#remove(this.#chooseOne(), this.#closing.size < CLOSING_ASIDE_MOST);
    const open = { storeId, store: this.#open(storeId), calledAt: 0, place: this.#all.length };
    this.#byId.set(storeId, open);
    this.#all.push(open);
    this.#shareCaches(open.store);
    return open;
  }

  #open(storeId: string): SqlitePimsStore {
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

  /** The tenant's former file, too, which another has replaced. */
  #forgive(storeId: string): void {
    const teamOf = (id: string): string => id.slice(0, id.lastIndexOf('.'));
    for (const apart of this.#apart.keys()) if (teamOf(apart) === teamOf(storeId)) this.#apart.delete(apart);
  }

  /** What is damaged is not closed either: that would write to it, and only a new process reads its log anew. */
  #setApart(storeId: string, fault: unknown, isDamaged: boolean): Refusal {
    const isNew = !this.#apart.has(storeId);
    this.#apart.set(storeId, isDamaged);
    const open = this.#byId.get(storeId);
    if (open) this.#drop(open);
    if (isNew) this.#options.onSetApart(storeId, fault);
    return unavailable();
  }

  /**
   * Of two at random the one called longer ago. The one called longest ago would be the next to be called where more
   * tenants than are open are called in turn.
   */
  #chooseOne(): OpenTenant {
    const pick = (): OpenTenant => this.#all[Math.floor(Math.random() * this.#all.length)]!;
    const [one, other] = [pick(), pick()];
    return one.calledAt < other.calledAt ? one : other;
  }

  #remove(open: OpenTenant, aside = false): void {
    this.#drop(open);
    const closing = open.store
      .close(aside)
      .catch((fault: unknown) => void this.#setApart(open.storeId, fault, true))
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  #drop(open: OpenTenant): void {
    this.#byId.delete(open.storeId);
    const last = this.#all.pop()!;
    if (last === open) return;
    this.#all[open.place] = last;
    last.place = open.place;
  }

  /** All get the same, halved whenever twice as many are open, so that few calls pay for it. */
  #shareCaches(added: SqlitePimsStore): void {
    const doubled = 2 ** Math.ceil(Math.log2(this.#all.length));
    const share = Math.floor(this.#cachesKib / (2 * doubled));
    const cacheKib = Math.max(Math.min(share, CACHE_KIB_MOST), CACHE_KIB_LEAST);
    if (cacheKib < this.#cacheKib) for (const { store } of this.#all) store.limitCaches(cacheKib);
    else added.limitCaches(cacheKib);
    this.#cacheKib = cacheKib;
  }
}

const unavailable = (): Refusal => new Refusal('TENANT_UNAVAILABLE', undefined, { retryAfterSeconds: 30 });

/** A quarter of the memory and half of the handles are for tenants. */
const deriveMost = (memory: number, handles: number): number =>
  Math.max(Math.floor(Math.min(memory / 4 / TENANT_BYTES, handles / 2 / TENANT_HANDLES, MOST_DERIVED)), LEAST_DERIVED);

/** Bytes that the process may use: of the machine, or of its control group. */
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
