/**
 * Creates, lists and deletes the files of tenants. Opening a tenant creates no file, so a missing or empty file was
 * lost. Source: decision 0062.
 */
import { globSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { selectInstallation } from '../../control/control.ts';
import { withDatabase, type Database } from './database.ts';
import { isFileThere, sync } from './folder.ts';
import {
  migrate,
  plannedUpgrade,
  refuseUnknown,
  schemaOf,
  type Owner,
  type SqliteSchema,
  type Upgrade,
} from './migrate.ts';

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

/**
 * Lists the files of a store with older schemas, with their bytes. Throws COMMAND_REFUSED for an unknown schema. Only a
 * tenant's file with one is left to the upgrade, which sets that tenant apart.
 */
export function listUpgrades(
  folder: string,
  dryRun: boolean,
): (Upgrade & { readonly file: string; readonly bytes: number })[] {
  const tenants = globSync('tenants/*.db', { cwd: folder }).toSorted();
  const files: (readonly [file: string, schema: SqliteSchema])[] = [
    ...(['control', 'usage', 'requests'] as const).map((schema) => [`${schema}.db`, schema] as const),
    ...tenants.map((file) => [file, 'pims'] as const),
  ];
  return files.flatMap(([file, schema]) => {
    const path = join(folder, file);
    const upgrade = isFileThere(path) ? plannedUpgrade(path, schema) : undefined;
    if (!upgrade) return [];
    const isKnown = schemaOf(schema).knows(upgrade.from);
    if (!isKnown && (dryRun || schema !== 'pims')) throw refuseUnknown(path, schema, upgrade.from);
    return !isKnown ? [] : [{ file, ...upgrade, bytes: statSync(path).size }];
  });
}
