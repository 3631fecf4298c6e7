/**
 * Creates the files of tenants, and upgrades those of an older schema off the event loop. Opening a tenant creates no
 * file, so a missing or empty file was lost. Source: decision 0062.
 */
import { globSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../../../clock.ts';
import { orThrow, refuseForNow } from '../../../errors.ts';
import type { WorkerPool } from '../workers/worker-pool.ts';
import { withDatabase, type Database } from './database.ts';
import { isFileThere, sync } from './folder.ts';
import { migrate, plannedUpgrade, type SqliteSchema, type Upgrade } from './migrate.ts';

/** The schema of control.db since which each tenant has a file. Before it, the first call created the file. */
const FILES_SINCE = 7;

export const tenantFileOf = (folder: string, storeId: string): string => join(folder, 'tenants', `${storeId}.db`);

/** Creates the file of a tenant, which is on disk on return. */
export function makeTenantFile(file: string): void {
  withDatabase(file, { mode: 'make', busyTimeoutMs: 0 }, (db) => migrate(db, 'pims'));
  sync(dirname(file));
}

/** Returns whether a tenant of this control.db may have no file because it was never called. */
export function mayLackFiles(control: Database): boolean {
  const [version] = control.row<[number]>('PRAGMA user_version')!;
  return version > 0 && version < FILES_SINCE;
}

/** Creates the files that tenants of an older version lack. Call it before control.db is migrated. */
export function makeLackingFiles(control: Database, folder: string, report: (event: string) => void): void {
  if (!mayLackFiles(control)) return;
  for (const [storeId] of control.rows<[string]>('SELECT STORE_ID FROM TENANTS')) {
    const file = tenantFileOf(folder, storeId);
    if (isFileThere(file)) continue;
    makeTenantFile(file);
    report(`Created ${file}, which was missing because the older version created it on the tenant's first call.`);
  }
}

/** Time that a call waits while its tenant is being upgraded. */
const WAIT_MS = 50;

/** Returns whether a file has to be upgraded. If it cannot be read, opening it shows the reason. */
export function isUpgradeNeeded(file: string): boolean {
  try {
    return plannedUpgrade(file, 'pims') !== undefined;
  } catch {
    return false;
  }
}

export function makeUpgrades(pool: WorkerPool, clock: Clock) {
  const running = new Map<string, Promise<void>>();
  let upgraded = 0;
  /** Upgrades a file, and resolves at the end. If the upgrade failed, opening the file shows the reason. */
  const run = (file: string) =>
    running.getOrInsertComputed(file, () =>
      pool
        .run<Upgrade | undefined>({ kind: 'upgrade', file })
        .then((upgrade) => void (orThrow(upgrade) && upgraded++))
        .catch(() => undefined)
        .finally(() => running.delete(file)),
    );
  return {
    run,
    /** The number of files upgraded so far. */
    get upgraded() {
      return upgraded;
    },
    /** Resolves when the file has been upgraded. Rejects with SERVICE_BUSY when that takes longer than a moment. */
    async wait(file: string) {
      const tooLong = clock.sleep(WAIT_MS).then(() => true);
      if ((await Promise.race([run(file), tooLong])) === true)
        throw refuseForNow('SERVICE_BUSY', "The tenant's data is being upgraded.");
    },
  };
}

/** Lists the files of a store whose schemas are not those of this version, with their bytes. */
export function listUpgrades(folder: string): (Upgrade & { readonly file: string; readonly bytes: number })[] {
  const tenants = globSync('tenants/*.db', { cwd: folder }).toSorted();
  const files: (readonly [file: string, schema: SqliteSchema])[] = [
    ...(['control', 'usage', 'requests'] as const).map((schema) => [`${schema}.db`, schema] as const),
    ...tenants.map((file) => [file, 'pims'] as const),
  ];
  return files.flatMap(([file, schema]) => {
    const path = join(folder, file);
    const upgrade = isFileThere(path) ? plannedUpgrade(path, schema) : undefined;
    return upgrade ? [{ file, ...upgrade, bytes: statSync(path).size }] : [];
  });
}
