/**
 * Begin here: the embedded store, which is control.db, usage.db, requests.db and tenants/<store>.db in a folder. The
 * files, reads, writes, threads and backups are in the folders beside this file.
 */
import { rmSync, utimesSync, watch } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import { orThrow, Refusal } from '../../errors.ts';
import type { AuditEntry } from '../../audit/entry.ts';
import type { SessionStore, UserStore } from '../../account/account-port.ts';
import type { AuditStore } from '../../audit/audit-port.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import type { RequestStore } from '../../request-log/request-log-port.ts';
import type { Tenant, TenantStore, UsageStore } from '../../tenant/tenant-port.ts';
import { Turns, type TakeTurn } from '../../tenant/turns.ts';
import type { WebhookStore } from '../../webhooks/webhooks-port.ts';
import { makeAuditStore } from '../control/audit.ts';
import { loadSecret } from '../control/control.ts';
import { makeInstallation, type Installation } from '../control/installation.ts';
import { makeRequestStore } from '../control/requests.ts';
import { makeSessionStore } from '../control/sessions.ts';
import { makeTenantStore } from '../control/tenants.ts';
import { makeUsageStore } from '../control/usage.ts';
import { makeUserStore } from '../control/users.ts';
import { makeWebhookStore } from '../control/webhooks.ts';
import { makeChangeWaiters } from '../change-waiters.ts';
import type { StoreMeasures } from '../measures.ts';
import { backupStore, copyTenant } from './backup/backup.ts';
import { openControl, type SqliteControl } from './control-database.ts';
import { Database, nameFile, sqliteVersion, type OnFatal } from './files/database.ts';
import {
  DATA_FOLDER,
  isFileThere,
  lockFolder,
  makeStoreFolder,
  refuseLostFiles,
  refuseUnfinishedRestore,
} from './files/folder.ts';
import { makeKeptAnswers } from './reads/kept-answers.ts';
import { OpenTenants } from './files/open-tenants.ts';
import { SqlitePimsStore } from './pims-store.ts';
import { openRequests, type SqliteRequests } from './request-store.ts';
import { makeLackingFiles, makeTenantFile, tenantFileOf } from './files/tenant-files.ts';
import { makeOwnTenants, newStoreId, replaceStore } from './tenant-store.ts';
import { isUpgradeNeeded, makeUpgrades } from './files/upgrades.ts';
import { openUsage, type SqliteUsage } from './usage-store.ts';
import { makeWorkerPool, type WorkerPool } from './workers/worker-pool.ts';

export type Report = (event: string, isFault?: boolean) => void;

export interface OpenStoreOptions {
  readonly folder: string;
  /** Time to wait for another process's transaction: 0 for the service, which must not block. */
  readonly busyTimeoutMs: number;
  readonly queryBudgetMs: number;
  readonly workers: number;
  /** Bounds of each tenant. */
  readonly queriesRunningMost: number;
  readonly queriesWaitingMost: number;
  /** Maximum open tenants. Without it, or if it is 0, memory and file handles decide. */
  readonly openTenantsMost?: number;
  readonly onFatal: (fault: unknown) => void;
  /** Name of the folder in messages, when it is opened for a move. */
  readonly movedAs?: string;
  /** Called when a part of the store cannot be used. */
  readonly report?: Report | undefined;
  readonly clock: Clock;
}

const SQLITE_OLDEST = [3, 51, 3];
/** When all cores are busy, the event loop comes first: every call needs it. */
const QUERY_NICENESS = 10;

export class SqliteStore {
  readonly #options: OpenStoreOptions;
  readonly #control: SqliteControl;
  readonly #workers: WorkerPool;
  readonly #turns: Turns;
  /** Threads for checkpoints only: writes wait for them, so they must not wait for long queries. */
  readonly #checkpoints: WorkerPool;
  /**
   * Threads for upgrades and for examining files. While one upgrades a large file, the others upgrade files of called
   * tenants.
   */
  readonly #aside: WorkerPool;
  readonly #kept = makeKeptAnswers();
  readonly #waiters = makeChangeWaiters((storeId) => this.#watchFile(storeId));
  readonly #open: OpenTenants;
  readonly #upgrades: ReturnType<typeof makeUpgrades>;
  readonly #usage: SqliteUsage;
  readonly #requests: SqliteRequests;
  #lock: Database | undefined;
  readonly tenants: TenantStore;
  readonly usage: UsageStore;
  readonly requests: RequestStore;
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly audit: AuditStore;
  readonly webhooks: WebhookStore;
  readonly installation: Installation;

  constructor(options: OpenStoreOptions) {
    checkVersion();
    this.#options = options;
    const { folder, busyTimeoutMs, clock, report = () => undefined } = options;
    refuseUnfinishedRestore(folder);
    refuseLostFiles(folder);
    makeStoreFolder(folder, options.movedAs ?? DATA_FOLDER);
    // One more thread than the running queries may use, for tenants without a running query.
    this.#workers = makeWorkerPool(options.workers + 1, QUERY_NICENESS, clock);
    this.#checkpoints = makeWorkerPool(1, 0, clock);
    this.#aside = makeWorkerPool(2, QUERY_NICENESS, clock);
    this.#upgrades = makeUpgrades(this.#aside, clock, report);
    const { queriesRunningMost: tenantRunning, queriesWaitingMost: tenantWaiting } = options;
    this.#turns = new Turns({ running: options.workers, tenantRunning, tenantWaiting }, clock);
    const checkpoint = this.#checkpoint;
    this.#open = new OpenTenants({
      most: options.openTenantsMost ?? 0,
      open: (storeId, onFatal) => this.#openPims(storeId, onFatal),
      onSetApart: (storeId, fault) => this.#reportApart(this.#file(storeId), fault),
    });
    const usage = new Database(join(folder, 'usage.db'), { mode: 'make', sync: 'deferred', busyTimeoutMs });
    this.#usage = openUsage(usage, { checkpoint, onFatal: this.#endWith(usage), clock });
    const busyMs = Math.max(busyTimeoutMs, 1000);
    const control = new Database(join(folder, 'control.db'), { mode: 'make', busyTimeoutMs: busyMs });
    makeLackingFiles(control, folder, report);
    this.#control = openControl(control, { checkpoint, onFatal: this.#endWith(control), clock });
    this.usage = makeUsageStore(this.#usage);
    this.#requests = openRequests(join(folder, 'requests.db'), { checkpoint, busyTimeoutMs, report, clock });
    this.requests = makeRequestStore(this.#requests);
    const tenants = makeOwnTenants(this.#control, {
      makeFile: (storeId) => makeTenantFile(this.#file(storeId)),
      deleteFile: (storeId) => this.#deletePims(storeId),
      deleteCounts: async (teamId) => {
        await this.#usage.deleteUsage(teamId);
        await this.#requests.deleteRequests(teamId);
      },
    });
    this.tenants = makeTenantStore(this.#control, tenants);
    this.users = makeUserStore(this.#control);
    this.sessions = makeSessionStore(this.#control);
    this.audit = makeAuditStore(this.#control);
    this.webhooks = makeWebhookStore(this.#control);
    this.installation = makeInstallation(this.#control);
  }

  pims({ storeId }: Pick<Tenant, 'storeId'>): PimsStore {
    return this.#open.get(storeId);
  }

  /**
   * Returns the tenant's store for a service. A file with an older schema is first upgraded in a thread. The call waits
   * for a moment, and is then refused with SERVICE_BUSY.
   */
  pimsOnceUpgraded(tenant: Tenant): PimsStore | Promise<PimsStore> {
    if (this.#open.has(tenant.storeId)) return this.pims(tenant);
    const file = this.#file(tenant.storeId);
    if (!isUpgradeNeeded(file)) return this.pims(tenant);
    return this.#upgrades.wait(file).then(() => this.pims(tenant));
  }

  /** Upgrades the files of an older schema, one after the other. Sets tenants apart whose files are lost. */
  async upgradeTenants(): Promise<void> {
    for (const tenant of await this.tenants.listTenants()) {
      await nextTurn();
      const file = this.#file(tenant.storeId);
      if (isUpgradeNeeded(file)) await this.#upgrades.run(file);
      if (isFileThere(file) && !isUpgradeNeeded(file)) continue;
      try {
        this.pims(tenant);
      } catch {
        // The fault has already been reported.
      }
    }
  }

  /** Locks the folder for one service. */
  lock(): void {
    this.#lock = lockFolder(this.#options.folder);
  }

  nextChange({ storeId }: Tenant, ended: AbortSignal): Promise<void> {
    return this.#waiters.wait(storeId, ended);
  }

  *openTenants(): Iterable<string> {
    for (const storeId of this.#open.storeIds) if (this.#open.has(storeId)) yield storeId;
  }

  readonly takeTurn: TakeTurn = ({ storeId }, signal, work) => this.#turns.run(this.#file(storeId), signal, work);

  loadCursorKey(): Promise<Uint8Array> {
    return loadSecret(this.#control, 'cursors');
  }

  measure(): StoreMeasures {
    const [control, usage, requests] = [this.#control, this.#usage, this.#requests].map(({ logBytes }) => logBytes);
    const { size: openTenants, apart: apartTenants, longestLog: tenants } = this.#open;
    const logBytes = { control: control!, usage: usage!, requests: requests!, tenants };
    return { queries: this.#turns.measure(), logBytes, openTenants, apartTenants };
  }

  isUsable(): boolean {
    return this.#control.isUsable();
  }

  /** Copies everything into an empty folder while the service runs. Returns the files. */
  backup(target: string): Promise<string[]> {
    return backupStore(this.#options.folder, target, new Date(this.#options.clock.now()).toISOString());
  }

  /**
   * Restores a tenant's records from a backup while services run: into a new file, which replaces the old one at once.
   * Returns the old file, which is kept, if it exists. COMMAND_REFUSED changes nothing.
   */
  async restoreTenant(tenant: Tenant, source: string, entry: AuditEntry): Promise<string | null> {
    const old = this.#file(tenant.storeId);
    const storeId = newStoreId(tenant.teamId);
    copyTenant(source, tenant.teamId, this.#file(storeId), old);
    orThrow(await this.#control.transaction(() => replaceStore({ ...tenant, storeId }, entry)));
    return isFileThere(old) ? old : null;
  }

  endQueries(): void {
    this.#turns.close();
  }

  async close(): Promise<void> {
    this.endQueries();
    await this.#open.closeAll();
    await this.#usage.close();
    await this.#requests.close();
    await this.#control.close();
    this.#lock?.close();
    await Promise.all([this.#workers, this.#checkpoints, this.#aside].map((pool) => pool.close()));
  }

  /** Reports a fatal fault of a file that all tenants need. */
  #endWith({ file }: Database): OnFatal {
    return (fault) => {
      this.#options.onFatal(nameFile(fault, file));
      return new Refusal('STORE_UNAVAILABLE', undefined, { retryAfterSeconds: 1 });
    };
  }

  readonly #checkpoint = async (file: string): Promise<void> =>
    void (await this.#checkpoints.run({ kind: 'checkpoint', file }));

  #openPims(storeId: string, onFatal: OnFatal): SqlitePimsStore {
    const file = this.#file(storeId);
    if (!isFileThere(file)) throw new Error('it is missing, or empty');
    const [workers, turns, kept, checkpoint] = [this.#workers, this.#turns, this.#kept, this.#checkpoint];
    const onCommit = (): void => this.#noteCommit(storeId);
    return new SqlitePimsStore(file, { ...this.#options, workers, turns, kept, checkpoint, onFatal, onCommit });
  }

  /** Wakes those who wait for a change. A command changes the time of the file, which wakes those in the service. */
  #noteCommit(storeId: string): void {
    this.#waiters.wake(storeId);
    const { busyTimeoutMs, clock } = this.#options;
    const seconds = clock.now() / 1000;
    if (busyTimeoutMs > 0) utimesSync(this.#file(storeId), seconds, seconds);
  }

  /** Where files cannot be watched, those who wait see the commits of commands when their time is up. */
  #watchFile(storeId: string): () => void {
    try {
      const watcher = watch(this.#file(storeId), { persistent: false }, () => this.#waiters.wake(storeId));
      watcher.on('error', () => watcher.close());
      return () => watcher.close();
    } catch {
      return () => undefined;
    }
  }

  /** Reports that a file cannot be used, and then what SQLite finds wrong with it. */
  #reportApart(file: string, fault: unknown): void {
    const { report = () => undefined } = this.#options;
    const { message } = nameFile(fault, file) as Error;
    report(`A tenant is set apart, because its file cannot be used. ${message}.`, true);
    const tell = (faults: readonly string[]): void =>
      faults.forEach((found) => report(`Found in ${file}: ${found}.`, true));
    if (isFileThere(file))
      void this.#aside.run<string[]>({ kind: 'examine', file }).then(tell as never, () => undefined);
  }

  async #deletePims(storeId: string): Promise<void> {
    await this.#open.close(storeId);
    for (const suffix of ['', '-wal', '-shm']) rmSync(this.#file(storeId) + suffix, { force: true });
  }

  #file(storeId: string): string {
    return tenantFileOf(this.#options.folder, storeId);
  }
}

/** Throws if SQLite is older than the release that no longer loses a write when the log is restarted. */
function checkVersion(): void {
  const version = sqliteVersion().split('.').map(Number);
  const place = SQLITE_OLDEST.findIndex((part, index) => part !== version[index]);
  if (place >= 0 && (version[place] ?? 0) < SQLITE_OLDEST[place]!)
    throw new Error(`SQLite ${sqliteVersion()} is too old; ${SQLITE_OLDEST.join('.')} is needed.`);
}
