/**
 * Backup of the embedded store while the service runs, by SQLite's backup, since a plain copy of a live file misses its
 * log; and restore, which checks every file first.
 */
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { backup } from 'node:sqlite';
import { refuseCommand, type Refusal } from '../../errors.ts';
import { checkStore, type CheckResult } from '../check/check.ts';
import { faultsOfFile, hashFile, SqliteCheckStore } from './check-store.ts';
import { Database, sqliteVersion } from './database.ts';
import { DATA_FOLDER, makeStoreFolder, restoreMarkerOf, sync } from './folder.ts';

const MANIFEST = 'storeroom-backup.json';
const PAGES_PER_STEP = 1000;

interface Manifest {
  /** The SHA-256 of each file. SQLite does not detect a changed value or an empty file. */
  readonly files: Readonly<Record<string, string>>;
  readonly sqlite: string;
}

/** Answers the copied files. The control file is first: a tenant made meanwhile is in the next backup. */
export async function backupStore(folder: string, target: string): Promise<string[]> {
  requireEmpty(target, 'a backup goes into an empty folder');
  makeStoreFolder(target, 'The folder of the backup');
  await copyDatabase(join(folder, 'control.db'), join(target, 'control.db'));
  const copied = new Database(join(target, 'control.db'), { mode: 'read', busyTimeoutMs: 0 });
  const tenants = copied
    .rows<[string]>('SELECT STORE_ID FROM TENANTS ORDER BY TEAM_ID')
    .map(([storeId]) => join('tenants', `${storeId}.db`));
  copied.close();
  // A tenant that was never called has no file yet, and a removed one has none any more.
  const others = ['usage.db', 'requests.db', ...tenants].filter((file) => existsSync(join(folder, file)));
  for (const file of others) await copyDatabase(join(folder, file), join(target, file));
  const files = ['control.db', ...others];
  const hashes = Object.fromEntries(files.map((file) => [file, hashFile(join(target, file))]));
  const manifest: Manifest = { files: hashes, sqlite: sqliteVersion() };
  writeFileSync(join(target, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, { flush: true });
  return files;
}

/**
 * Copies a backup into a data folder and answers its files, all of them on disk. The folder is empty, or has what a
 * restore that was cut short has left, which goes. Until the last file is there, nothing else opens the folder.
 * COMMAND_REFUSED changes nothing, but where a copy differs from the backup: then the restore is unfinished.
 */
export function restoreBackup(source: string, folder: string): string[] {
  const hashes = readManifest(source).files;
  const marker = restoreMarkerOf(folder);
  const [isThere, isBegun] = [existsSync(folder), existsSync(marker)];
  if (!isBegun) requireEmpty(folder, 'a backup is restored into an empty data folder');
  makeStoreFolder(folder, DATA_FOLDER, marker);
  try {
    for (const [file, hash] of Object.entries(hashes)) checkDatabase(join(source, file), hash);
  } catch (fault) {
    if (!isBegun)
      for (const made of isThere ? [join(folder, 'tenants'), marker] : [folder]) rmSync(made, { recursive: true });
    throw fault;
  }
  copyFiles(source, folder, hashes);
  rmSync(marker);
  sync(folder);
  return Object.keys(hashes);
}

function copyFiles(source: string, folder: string, hashes: Manifest['files']): void {
  const tenants = join(folder, 'tenants');
  for (const left of ['control.db', 'usage.db', 'requests.db']) rmSync(join(folder, left), { force: true });
  for (const left of readdirSync(tenants)) rmSync(join(tenants, left));
  for (const [file, hash] of Object.entries(hashes)) {
    const copy = join(folder, file);
    copyFileSync(join(source, file), copy);
    sync(copy);
    if (hashFile(copy) !== hash) throw refuseCommand(`${copy} is not as it was written; look at its disk.`);
  }
  sync(tenants);
}

/** Checks a backup as `storeroom check` does a store: each file is as it was written, and all of it agrees. */
export const checkBackup = (folder: string): Promise<CheckResult> =>
  checkStore(new SqliteCheckStore(folder, readManifest(folder).files));

/** COMMAND_REFUSED when the folder is no backup. */
function readManifest(folder: string): Manifest {
  const file = join(folder, MANIFEST);
  if (!existsSync(file)) throw refuseCommand(`${folder} is not a backup: ${MANIFEST} is missing.`);
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Manifest;
  } catch {
    throw refuseCommand(`${file} is damaged (it is no JSON); use another backup.`);
  }
}

function requireEmpty(folder: string, why: string): void {
  const isFolder = statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isFolder && readdirSync(folder).length > 0) throw refuseCommand(`${folder} is not empty; ${why}.`);
}

/** The open read holds the snapshot: without it every commit of the service would restart the copy. */
async function copyDatabase(source: string, target: string): Promise<void> {
  const db = new Database(source, { mode: 'read', busyTimeoutMs: 5000 });
  try {
    db.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
    await backup(db.connection, target, { rate: PAGES_PER_STEP });
  } finally {
    db.close();
  }
}

function checkDatabase(file: string, hash: string): void {
  const damaged = (how: string): Refusal => refuseCommand(`${file} is damaged (${how}); use another backup.`);
  if (!existsSync(file)) throw damaged('it is missing');
  if (hashFile(file) !== hash) throw damaged('it is not as it was written');
  const [fault] = faultsOfFile(file);
  if (fault !== undefined) throw damaged(fault);
}
