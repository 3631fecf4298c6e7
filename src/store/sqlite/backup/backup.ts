/**
 * Backs up the embedded store while the service runs, with SQLite's own backup, because a plain copy of a live file
 * lacks its log. Restores a backup after checking every file.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { refuseCommand } from '../../../errors.ts';
import { VERSION } from '../../../assets.ts';
import { checkStore, type CheckResult } from '../../check/check.ts';
import { openCheck } from '../files/check-store.ts';
import { faultOf, sqliteVersion, withDatabase, type Database } from '../files/database.ts';
import { DATA_FOLDER, isFileThere, LOCK, lockFolder, makeStoreFolder, restoreMarkerOf, sync } from '../files/folder.ts';
import {
  findOtherOwner,
  findUnknown,
  isNewest,
  migrate,
  schemaOf,
  SCHEMAS,
  type Owner,
  type SqliteSchema,
} from '../files/migrate.ts';
import { listOwned, UNFINISHED, type OwnedFile } from '../files/tenant-files.ts';
import { copyDatabase, faultsOfFile, hashFile, isOutOfReach, READ } from '../files/whole-files.ts';

/** More changes than there can be since a backup. */
const CHANGES_SKIPPED = 100_000_000_000;
const MANIFEST = 'storeroom-backup.json';

export interface BackupResult {
  readonly files: string[];
  /** Why the request log was not copied. */
  readonly notes: string[];
}

interface Manifest {
  /** The SHA-256 of each file. SQLite does not detect a changed value or an empty file. */
  readonly files: Readonly<Record<string, string>>;
  readonly sqlite: string;
  readonly identity: string;
  /** Version of Storeroom. */
  readonly version: string;
  readonly schemas: Readonly<Record<SqliteSchema, number>>;
  /** UTC ISO 8601. */
  readonly madeAt: string;
  readonly tenants: number;
  readonly orders: number;
}

/** Returns whether a folder of scheduled backups has one, of any store. */
export const hasBackups = (folder: string): boolean =>
  folder !== '' && globSync(join('*', MANIFEST), { cwd: folder }).length > 0;

/**
 * Copies a store and returns the copied files. It copies the control file first, so a tenant that is created during the
 * backup is in the next one. Throws COMMAND_REFUSED if the target is not empty, or, after copying all other files, if a
 * file cannot be copied. Of `requests.db`, which is less important than all others, it only notes that.
 */
export async function backupStore(folder: string, target: string, madeAt: string): Promise<BackupResult> {
  requireEmpty(target, 'Give the backup an empty folder');
  makeStoreFolder(target, 'The folder of the backup');
  await copyDatabase(join(folder, 'control.db'), join(target, 'control.db'));
  const owned = readControl(target);
  const files = ['control.db'];
  const lost: string[] = [];
  const notes: string[] = [];
  for (const [file, found] of owned) {
    const [isLog, path] = [found.schema === 'requests', join(folder, file)];
    if (isLog && !isFileThere(path)) continue;
    const fault = await copyOwn(path, join(target, file), found);
    if (fault === undefined) files.push(file);
    else if (isLog) notes.push(`Not copied: ${path}: ${fault}.`);
    else lost.push(`${path}: ${fault}.`);
  }
  const hashes = Object.fromEntries(files.map((file) => [file, hashFile(join(target, file))]));
  const tenants = files.filter((file) => file.startsWith('tenants'));
  const orders = tenants.reduce((sum, file) => sum + countOrders(join(target, file)), 0);
  const schemas = Object.fromEntries(SCHEMAS.map((schema) => [schema, schemaOf(schema).newest])) as Manifest['schemas'];
  const about = { identity: identityOf(owned), version: VERSION, schemas, madeAt, tenants: tenants.length, orders };
  const manifest: Manifest = { files: hashes, sqlite: sqliteVersion(), ...about };
  writeFileSync(join(target, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, { flush: true });
  if (lost.length > 0) throw refuseCommand(`${target} is not a complete backup. ${lost.join(' ')}`);
  return { files, notes };
}

/** Copies a file, and returns why the copy cannot be used. Such a copy is deleted. */
async function copyOwn(source: string, target: string, { schema, owner }: OwnedFile): Promise<string | undefined> {
  if (!isFileThere(source)) return 'it is missing or empty';
  let fault: string | undefined;
  try {
    await copyDatabase(source, target);
    fault = withDatabase(target, READ, (db) => findUnknown(db, schema) ?? findOtherOwner(db, schema, owner));
    if (schema === 'requests') fault ??= faultsOfFile(target)[0];
  } catch (thrown) {
    if (['busy', 'full'].includes(faultOf(thrown))) throw thrown;
    fault = (thrown as Error).message;
  }
  if (fault !== undefined) rmSync(target, { force: true });
  return fault;
}

/**
 * Copies a backup into a data folder and returns its files, all of them on disk. The folder is empty, or has only the
 * files of an interrupted restore, which are deleted. Until the last file is there, nothing else opens the folder.
 * If it throws COMMAND_REFUSED, nothing has changed, unless a copy differs from the backup. The restore is then
 * unfinished.
 */
export function restoreBackup(source: string, folder: string): string[] {
  const hashes = readManifest(source).files;
  const marker = restoreMarkerOf(folder);
  const [isThere, isBegun] = [existsSync(folder), existsSync(marker)];
  if (!isBegun) requireEmpty(folder, 'Restore the backup into an empty data folder');
  makeStoreFolder(folder, DATA_FOLDER, marker);
  const lock = lockFolder(folder);
  try {
    for (const [file, hash] of Object.entries(hashes)) checkDatabase(join(source, file), hash);
    for (const [file, { schema, owner }] of readControl(source))
      if (file in hashes) withDatabase(join(source, file), READ, (db) => isNewest(db, schema, owner));
  } catch (fault) {
    lock.close();
    const made = [join(folder, 'tenants'), marker, join(folder, LOCK)];
    if (!isBegun) for (const path of isThere ? made : [folder]) rmSync(path, { recursive: true });
    throw fault;
  }
  try {
    copyFiles(source, folder, hashes);
    rmSync(marker);
    sync(folder);
    return Object.keys(hashes);
  } finally {
    lock.close();
  }
}

function copyFiles(source: string, folder: string, hashes: Manifest['files']): void {
  const owned = readControl(source);
  const tenants = join(folder, 'tenants');
  for (const left of ['control.db', 'usage.db', 'requests.db']) rmSync(join(folder, left), { force: true });
  for (const left of readdirSync(tenants)) rmSync(join(tenants, left));
  for (const [file, hash] of Object.entries(hashes)) {
    const copy = join(folder, file);
    copyWritable(join(source, file), copy);
    sync(copy);
    if (hashFile(copy) !== hash)
      throw refuseCommand(`${copy} is damaged, although the backup is intact. Check its disk.`);
    const found = owned.get(file);
    if (found?.schema !== 'pims') continue;
    withDatabase(copy, { ...READ, mode: 'write' }, (db) => beginFeed(db, found.owner));
    sync(copy);
  }
  sync(tenants);
}

/** Copies a file of a backup, which may be read-only. */
function copyWritable(source: string, target: string): void {
  copyFileSync(source, target);
  chmodSync(target, 0o600);
}

/** Restarts the change feed at a number that no reader has, because readers know changes from after the backup. */
function beginFeed(db: Database, owner: Owner): void {
  migrate(db, 'pims', owner);
  db.exec(`BEGIN;
    INSERT INTO CHANGES SELECT seq, seq, '', '[]' FROM (SELECT coalesce(max(SEQ), 0) + ${CHANGES_SKIPPED} seq FROM CHANGES);
    DELETE FROM CHANGES WHERE SEQ < (SELECT max(SEQ) FROM CHANGES); COMMIT`);
}

/**
 * Copies the file of one tenant from a backup to `file`, which is on disk on return. Numbers that `old` has given out
 * since the backup are not given out again, if `old` can still be read. Throws COMMAND_REFUSED, without a `file`,
 * if the backup is of another store, does not have the tenant or is damaged.
 */
export function copyTenant(source: string, owner: Owner, file: string, old: string): void {
  const hashes = readManifest(source).files;
  checkDatabase(join(source, 'control.db'), hashes['control.db']!);
  const owned = readControl(source);
  if (identityOf(owned) !== owner.identity)
    throw refuseCommand(
      `${source} is a backup of another store. Use a backup of this one. \`storeroom export\` and \`import\` copy ` +
        'records between stores.',
    );
  const [name] = [...owned].find(([path, found]) => found.owner.teamId === owner.teamId && path in hashes) ?? [];
  if (name === undefined) throw refuseCommand(`There is no data of ${owner.teamId} in ${source}.`);
  checkDatabase(join(source, name), hashes[name]!);
  withDatabase(join(source, name), READ, (db) => isNewest(db, 'pims', owner));
  const numbers = readNextNumbers(old, owner);
  const copy = file.replace(/\.db$/, UNFINISHED);
  try {
    copyWritable(join(source, name), copy);
    withDatabase(copy, { ...READ, mode: 'write' }, (db) => {
      beginFeed(db, owner);
      for (const [counter, next] of numbers)
        db.runSql('UPDATE COUNTERS SET NEXT = max(NEXT, ?) WHERE NAME = ?', next, counter);
    });
    if (faultsOfFile(copy).length > 0) throw refuseCommand(`${copy} differs from what was written. Check its disk.`);
    sync(copy);
    renameSync(copy, file);
    sync(dirname(file));
  } catch (fault) {
    rmSync(copy, { force: true });
    throw fault;
  }
}

/**
 * Reads the next numbers of a file, or none if it is lost, damaged or of another tenant. If it may be intact, throws
 * COMMAND_REFUSED.
 */
function readNextNumbers(file: string, owner: Owner): [counter: string, next: number][] {
  try {
    return withDatabase(file, READ, (db) =>
      findOtherOwner(db, 'pims', owner) === undefined ? db.rows('SELECT NAME, NEXT FROM COUNTERS') : [],
    );
  } catch (fault) {
    if (isOutOfReach(file, fault))
      throw refuseCommand(
        `${file} cannot be opened (${(fault as Error).message}), but may be intact. Without it, used numbers would ` +
          'be assigned again. Give it the same owner and mode as the other files, or move it away.',
      );
    return [];
  }
}

/** Reads from the control.db of a store or a backup which files it has. Refuses an unknown schema: COMMAND_REFUSED. */
export const readControl = (folder: string) =>
  withDatabase(join(folder, 'control.db'), READ, (db) => {
    isNewest(db, 'control');
    return listOwned(db);
  });

export const identityOf = (owned: ReadonlyMap<string, OwnedFile>): string => owned.get('usage.db')!.owner.identity;

/** Checks that the files of a backup are unchanged, and then checks it like a store. */
export const checkBackup = (folder: string): Promise<CheckResult> =>
  checkStore(openCheck(folder, readManifest(folder).files));

const countOrders = (file: string) =>
  withDatabase(file, READ, (db) => db.row<[number]>('SELECT count(*) FROM ORDERS')![0]);

/** Returns the identity of the store that was backed up, if it can be read. */
export function readIdentity(folder: string): string | undefined {
  try {
    return readManifest(folder).identity;
  } catch {
    return undefined;
  }
}

/** Throws COMMAND_REFUSED if the folder is not a backup. */
function readManifest(folder: string): Manifest {
  const file = join(folder, MANIFEST);
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Manifest;
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException;
    if (code === undefined) throw refuseCommand(`${file} is damaged (it is not JSON). Use another backup.`);
    const reason = code === 'ENOENT' ? 'is missing' : `cannot be read (${code})`;
    throw refuseCommand(`${folder} is not a backup: ${MANIFEST} ${reason}.`);
  }
}

function requireEmpty(folder: string, why: string): void {
  const isFolder = statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  // The root of a disk contains the folder lost+found.
  if (isFolder && readdirSync(folder).some((name) => name !== 'lost+found'))
    throw refuseCommand(`${folder} is not empty. ${why}.`);
}

function checkDatabase(file: string, hash: string): void {
  const damaged = (how: string) => refuseCommand(`${file} is damaged (${how}). Use another backup.`);
  if (!existsSync(file)) throw damaged('it is missing');
  if (hashFile(file) !== hash) throw damaged('it differs from what was written');
  const [fault] = faultsOfFile(file);
  if (fault !== undefined) throw damaged(fault);
}
