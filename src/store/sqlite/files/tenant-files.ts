/**
 * Creates the files of tenants. Nothing else creates them, so a file that is missing or empty was lost. Source:
 * decision 0062.
 */
import { dirname, join } from 'node:path';
import { withDatabase, type Database } from './database.ts';
import { isFileThere, sync } from './folder.ts';
import { migrate } from './migrate.ts';

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
