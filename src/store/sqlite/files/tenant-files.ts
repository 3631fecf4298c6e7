/**
 * Creates the files of tenants, and upgrades those of an older schema off the event loop. Opening a tenant creates no
 * file, so a missing or empty file was lost. Source: decision 0062.
 */
import { globSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../../../clock.ts';
import { orThrow, refuseForNow } from '../../../errors.ts';
import { selectInstallation } from '../../control/control.ts';
import type { WorkerPool } from '../workers/worker-pool.ts';
import { withDatabase, type Database } from './database.ts';
import { isFileThere, sync } from './folder.ts';
import { migrate, plannedUpgrade, schemaOf, type Owner, type SqliteSchema, type Upgrade } from './migrate.ts';

export const tenantFileOf = (folder: string, storeId: string): string => join(folder, 'tenants', `${storeId}.db`);

/** Lists the files of tenants with their logs, also those that no tenant uses, by their paths in the folder. */
export const listTenantFiles = (folder: string): string[] => globSync('tenants/*.db{,-*}', { cwd: folder }).toSorted();

/** Deletes the files of tenants that are chosen by their store IDs or paths, and returns their paths. */
export function deleteTenantFiles(folder: string, isChosen: (storeId: string, path: string) => boolean): string[] {
  const chosen = listTenantFiles(folder).filter((path) =>
    isChosen(basename(path.slice(0, path.lastIndexOf('.db'))), path),
  );
  for (const path of chosen) rmSync(join(folder, path), { force: true });
  return chosen;
}

/** The end of the name of a copy that `tenant restore` is making. */
export const UNFINISHED = '.db-unfinished';

/** Returns the team ID that begins a store ID. */
export const teamOf = (storeId: string): string => storeId.slice(0, storeId.lastIndexOf('.'));

/** Creates the file of a tenant, which is on disk on return. */
export function makeTenantFile(file: string, owner: Owner): void {
  withDatabase(file, { mode: 'make', busyTimeoutMs: 0 }, (db) => migrate(db, 'pims', owner));
  sync(dirname(file));
}

export interface OwnedFile {
  readonly schema: SqliteSchema;
  readonly owner: Owner;
}

/** Returns the files of a store besides control.db, by their paths in its folder. */
export function listOwned(control: Database): ReadonlyMap<string, OwnedFile> {
  const [identity] = control.row<[string]>(selectInstallation(''), 'identity') ?? [''];
  const own = (path: string, schema: SqliteSchema, teamId = '') =>
    [path, { schema, owner: { identity, teamId } }] as const;
  const tenants = control.rows<[string, string]>('SELECT STORE_ID, TEAM_ID FROM TENANTS ORDER BY TEAM_ID');
  const ofTenants = tenants.map(([storeId, teamId]) => own(join('tenants', `${storeId}.db`), 'pims', teamId));
  return new Map([own('usage.db', 'usage'), own('requests.db', 'requests'), ...ofTenants]);
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
  const run = (file: string, owner: Owner) =>
    running.getOrInsertComputed(file, () =>
      pool
        .run<Upgrade | undefined>({ kind: 'upgrade', file, owner })
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
    async wait(file: string, owner: Owner) {
      const tooLong = clock.sleep(WAIT_MS).then(() => true);
      if ((await Promise.race([run(file, owner), tooLong])) === true)
        throw refuseForNow('SERVICE_BUSY', "The tenant's data is being upgraded.");
    },
  };
}

/** Lists the files of a store with older schemas, with their bytes. Throws COMMAND_REFUSED for an unknown schema. */
export function listUpgrades(folder: string): (Upgrade & { readonly file: string; readonly bytes: number })[] {
  const tenants = globSync('tenants/*.db', { cwd: folder }).toSorted();
  const files: (readonly [file: string, schema: SqliteSchema])[] = [
    ...(['control', 'usage', 'requests'] as const).map((schema) => [`${schema}.db`, schema] as const),
    ...tenants.map((file) => [file, 'pims'] as const),
  ];
  return files.flatMap(([file, schema]) => {
    const path = join(folder, file);
    const upgrade = isFileThere(path) ? plannedUpgrade(path, schema) : undefined;
    if (!upgrade) return [];
    const { knows, refuse } = schemaOf(schema);
    if (!knows(upgrade.from)) throw refuse(path, upgrade.from);
    return [{ file, ...upgrade, bytes: statSync(path).size }];
  });
}
