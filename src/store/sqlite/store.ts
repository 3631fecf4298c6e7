/**
 * Begin here: the embedded store, which is control.db, usage.db, requests.db and tenants/<store>.db in a folder. The
 * files, reads, writes, threads and backups are in the folders beside this file.
 */
import { join } from 'node:path';
import { orThrow, refuseForNow } from '../../errors.ts';
import type { AuditEntry } from '../../audit/audit.ts';
import type { Tenant } from '../../tenant/tenant-port.ts';
import { Turns, type TakeTurn } from '../../tenant/turns.ts';
import { selectInstallation } from '../control/control.ts';
import { makeControlStores } from '../control/stores.ts';
import type { StoreMeasures } from '../sql/measures.ts';
import { copyTenant } from './backup/backup.ts';
import { makeOwnTenants, newStoreId, openControl, openUsage, replaceStore } from './control-database.ts';
import { Database, nameFile, requireWritable, sqliteVersion } from './files/database.ts';
import * as files from './files/folder.ts';
import { deleteTenantFiles, makeTenantFile, teamOf, tenantFileOf, UNFINISHED } from './files/tenant-files.ts';
import { syncOf } from './write-queue.ts';
import { openPimsStores, type PimsStoresOptions } from './pims-stores.ts';
import { openRequests } from './request-store.ts';
import { makeWorkerPool } from './workers/worker-pool.ts';

export interface OpenStoreOptions extends PimsStoresOptions {
  /** Maximum running and waiting queries of each tenant. */
  readonly queriesRunningMax: number;
  readonly queriesWaitingMax: number;
  readonly onFatal: (fault: unknown) => void;
  /** Name of the folder in messages, when it is opened for a move. */
  readonly movedAs?: string;
}

const SQLITE_OLDEST = [3, 51, 3];

export type SqliteStore = ReturnType<typeof openSqlite>;

export function openSqlite(options: OpenStoreOptions) {
  checkVersion();
  const { folder, clock, report = () => undefined } = options;
  const { queriesRunningMax: tenantRunning, queriesWaitingMax: tenantWaiting } = options;
  files.refuseUnfinishedRestore(folder);
  files.refuseLostFiles(folder);
  files.makeStoreFolder(folder, options.movedAs ?? files.DATA_FOLDER);
  const fileOf = (storeId: string) => tenantFileOf(folder, storeId);
  const turns = new Turns({ running: options.workers, tenantRunning, tenantWaiting }, clock);
  // A thread for checkpoints only: writes wait for it, so it must not wait for long queries.
  const checkpoints = makeWorkerPool(1, 0, clock);
  const checkpoint = async (file: string) => void (await checkpoints.askWorker({ kind: 'checkpoint', file }));
  const { usage, control, requests, identity } = openSharedFiles(options, checkpoint);
  const { open, pools, ...stores } = openPimsStores(options, { identity, turns, checkpoint });
  const ownTenants = makeOwnTenants(control, {
    makeFile: (storeId) => makeTenantFile(fileOf(storeId), { identity, teamId: teamOf(storeId) }),
    deleteFiles: (...of) => stores.delete(...of),
    async deleteCounts(teamId) {
      await usage.deleteUsage(teamId);
      await requests.deleteRequests(teamId);
    },
  });
  const takeTurn: TakeTurn = ({ storeId }, signal, work) => turns.runInTurn(fileOf(storeId), signal, work);
  const endQueries = () => turns.close();
  const shared = makeControlStores(control, ownTenants, usage, requests);
  let lock: Database | undefined;
  return {
    ...stores,
    ...shared,
    identity,
    upgradeTenants: async () => stores.upgradeTenants(await shared.tenants.listTenants()),
    takeTurn,
    endQueries,
    /** Locks the folder for one service or move, and deletes what interrupted commands have left. */
    lock: () => {
      lock = files.lockFolder(folder);
      for (const path of deleteTenantFiles(folder, (_, found) => found.includes(UNFINISHED)))
        report(`Deleted ${path}, which an interrupted command had left.`);
    },
    measure(): StoreMeasures {
      const { longestLog, ...tenantsOpen } = open.measure();
      const own = { control: control.log.bytes, usage: usage.log.bytes, requests: requests.logBytes };
      const logBytes = { ...own, tenants: longestLog };
      return { queries: turns.measureTurns(), logBytes, ...tenantsOpen };
    },
    isUsable: () => control.isReadable(),
    /**
     * Restores a tenant's records from a backup while services run, into a new file that replaces the old one at once.
     * Returns the old file, which is kept, if it exists. If it throws COMMAND_REFUSED, nothing has changed.
     */
    async restoreTenant(tenant: Tenant, source: string, entry: AuditEntry): Promise<string | null> {
      const old = fileOf(tenant.storeId);
      const storeId = newStoreId(tenant.teamId);
      copyTenant(source, { identity, teamId: tenant.teamId }, fileOf(storeId), old);
      orThrow(await control.transaction(() => replaceStore({ ...tenant, storeId }, entry)));
      return files.isFileThere(old) ? old : null;
    },
    async close() {
      endQueries();
      await open.closeAll();
      await usage.close();
      await requests.close();
      await control.close();
      lock?.close();
      await Promise.all([checkpoints, ...pools].map((pool) => pool.close()));
    },
  };
}

function openSharedFiles(
  { folder, busyTimeoutMs, onFatal, clock, report = () => undefined }: OpenStoreOptions,
  checkpoint: (file: string) => Promise<void>,
) {
  const options = ({ file }: Database) => ({
    checkpoint,
    clock,
    sync: syncOf(busyTimeoutMs),
    onFatal(fault: unknown) {
      onFatal(nameFile(fault, file));
      return refuseForNow('STORE_UNAVAILABLE');
    },
  });
  const busyMs = Math.max(busyTimeoutMs, 1000);
  const controlDb = new Database(join(folder, 'control.db'), { mode: 'make', busyTimeoutMs: busyMs });
  const control = openControl(controlDb, options(controlDb));
  const [identity] = controlDb.row<[string]>(selectInstallation(''), 'identity')!;
  const owner = { identity, teamId: '' };
  const usageDb = new Database(join(folder, 'usage.db'), { mode: 'make', busyTimeoutMs });
  const usage = openUsage(usageDb, owner, options(usageDb));
  const log = join(folder, 'requests.db');
  requireWritable(log);
  const requests = openRequests(log, { owner, checkpoint, busyTimeoutMs, report, clock });
  return { usage, control, requests, identity };
}

/** Throws if SQLite is older than the first release that no longer loses a write when the log is restarted. */
function checkVersion(): void {
  const version = sqliteVersion().split('.').map(Number);
  const place = SQLITE_OLDEST.findIndex((part, index) => part !== version[index]);
  if (place >= 0 && (version[place] ?? 0) < SQLITE_OLDEST[place]!)
    throw new Error(`SQLite ${sqliteVersion()} is too old. Use ${SQLITE_OLDEST.join('.')} or newer.`);
}
