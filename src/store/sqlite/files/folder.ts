/**
 * Creates the folders of stores and backups, or explains why a folder cannot be used. Checks the disk of a store once a
 * second: its free space, and whether it can be written to. The request log stops at a bound, long before writes are
 * refused (decision 0022).
 */
import {
  access,
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  globSync,
  mkdirSync,
  openSync,
  statfs,
  statfsSync,
  statSync,
  writeFileSync,
  type StatsFs,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { every, type Clock } from '../../../clock.ts';
import { refuseCommand, type Refusal } from '../../../errors.ts';
import { Database, faultOf, requireWritable } from './database.ts';

/** The setting of the data folder, for messages. */
export const DATA_FOLDER = 'STOREROOM_DATA';

/**
 * Creates a folder for databases, with `tenants` in it. Throws COMMAND_REFUSED if it cannot be created or written to;
 * `name` is the setting or the argument that chose it. A `marker` becomes the first file, empty and on disk.
 */
export function makeStoreFolder(folder: string, name: string, marker?: string): void {
  try {
    makeFolder(resolve(folder));
    if (marker !== undefined) {
      writeFileSync(marker, '');
      sync(folder);
    }
    makeFolder(join(resolve(folder), 'tenants'));
    const control = join(folder, 'control.db');
    for (const place of [folder, join(folder, 'tenants')])
      accessSync(place, constants.R_OK | constants.W_OK | constants.X_OK);
    // Opens the file, because `access` does not see that the kernel has made a disk read-only after a fault.
    if (statSync(control, { throwIfNoEntry: false })?.isFile()) closeSync(openSync(control, 'r+'));
  } catch (fault) {
    const { code, path } = fault as NodeJS.ErrnoException;
    if (code === 'EACCES' && path !== folder && existsSync(path!)) requireWritable(path!);
    throw refuseFolder(folder, name, code);
  }
}

/** Creates a folder and its parents. Node's own function never ends if the kernel creates none, as in /proc. */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (fault) {
    // Another process may have created it in the meantime.
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw fault;
  }
}

/** Name of the file that is locked. */
export const LOCK = 'serve.lock';

/** Returns the file that exists from the first file of a restore until the last is on disk. */
export const restoreMarkerOf = (folder: string): string => join(folder, 'restore-unfinished');

/** Throws COMMAND_REFUSED if a restore into the folder is unfinished, because only a restore may open it. */
export function refuseUnfinishedRestore(folder: string): void {
  if (existsSync(restoreMarkerOf(folder)))
    throw refuseCommand(`A restore into ${folder} is unfinished. Run \`storeroom restore\` again.`);
}

/**
 * Throws COMMAND_REFUSED if there are tenants, but a file that they share is lost. A new file would make a store
 * without them or without their counts.
 */
export function refuseLostFiles(folder: string): void {
  if (globSync('tenants/*.db', { cwd: folder }).length === 0) return;
  for (const name of ['control.db', 'usage.db'])
    if (!isFileThere(join(folder, name)))
      throw refuseCommand(
        `${join(folder, name)} is lost. Remove its -wal and -shm if they exist, copy it from the last good backup, ` +
          'and start again.',
      );
}

/** Returns whether a file exists and is not empty: for SQLite, an empty file is an empty database. */
export function isFileThere(file: string): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  return found !== undefined && !(found.isFile() && found.size === 0);
}

/**
 * Locks a folder for one service, move or restore, until the database that it returns is closed; the operating system
 * unlocks it when the process ends. Throws COMMAND_REFUSED if another process has locked it.
 */
export function lockFolder(folder: string): Database {
  let lock: Database | undefined;
  try {
    lock = new Database(join(folder, LOCK), { mode: 'make', busyTimeoutMs: 0, openingTimeoutMs: 0 });
    lock.exec('PRAGMA locking_mode=EXCLUSIVE; BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS HELD (ID)');
    lock.exec('COMMIT; BEGIN IMMEDIATE');
    return lock;
  } catch (fault) {
    lock?.close();
    if (faultOf(fault) !== 'busy') throw fault;
    throw refuseCommand(`Another service, move or restore is using ${folder}. Stop it, or use another folder.`);
  }
}

/** Syncs a file, or the names in a folder, to the disk. */
export function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission to write there',
  EPERM: 'this user has no permission to write there',
  EROFS: 'its disk is read-only',
  ENOSPC: 'its disk is full',
  EDQUOT: "this user's disk quota is used up",
  ENOTDIR: 'it is a file, or is below a file',
  EEXIST: 'it is a file, or is below a file',
  ENOENT: 'no folder can be created there',
};

function refuseFolder(folder: string, name: string, code = ''): Refusal {
  const reason = `${REASONS[code] ?? 'it cannot be used'} (${code})`;
  return refuseCommand(`${name} is '${folder}': ${reason}. Choose a folder that this user can write to.`);
}

const MEASURE_MS = 1000;
const MIB = 1024 * 1024;
/** Lowest bound: the log writes less than this between two measurements. */
const BOUND_LEAST = 64 * MIB;

export interface DiskBounds {
  /** The request log stops when the free space is below the smaller of these two, or below 64 MiB. */
  readonly diskFreeMb: number;
  readonly diskFreePercent: number;
  /** The service is not ready when the free space is below this. */
  readonly readyFreeMb: number;
}

export interface DiskObserver {
  /** Reports that the request log stops, or that it continues. */
  readonly report: (event: string) => void;
  readonly clock: Clock;
}

/** Measures now, and then once a second until the process ends. */
export function observeDisk(
  folder: string,
  { diskFreeMb, diskFreePercent, readyFreeMb }: DiskBounds,
  { report, clock }: DiskObserver,
) {
  let isReadOnly = false;
  const disk = {
    freeBytes: Infinity,
    sizeBytes: 0,
    /** The free bytes below which the request log stops. */
    lowBytes: 0,
    /** Whether the request log has to stop. */
    isLow: false,
    /** Whether writes are refused, or will be soon. */
    get isUnfit() {
      return isReadOnly || disk.freeBytes < readyFreeMb * MIB;
    },
  };
  const note = ({ bavail, blocks, bsize }: StatsFs) => {
    const [freeBytes, sizeBytes, wasLow] = [bavail * bsize, blocks * bsize, disk.isLow];
    const lowBytes = Math.max(BOUND_LEAST, Math.min(diskFreeMb * MIB, (sizeBytes * diskFreePercent) / 100));
    Object.assign(disk, { freeBytes, sizeBytes, lowBytes, isLow: freeBytes < lowBytes });
    if (disk.isLow !== wasLow)
      report(
        wasLow ? 'The request log continues.' : `The request log stops, because only ${freeBytes} bytes are free.`,
      );
  };
  note(statfsSync(folder));
  every(clock, MEASURE_MS, () => {
    statfs(folder, (fault, stats) => void (fault ?? note(stats)));
    access(folder, constants.W_OK, (fault) => void (isReadOnly = fault !== null));
  });
  return disk;
}
