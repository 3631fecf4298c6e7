/** Copies, hashes and checks complete database files, even while they are in use. */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { backup } from 'node:sqlite';
import { Database, errcodeOf, faultOf, withDatabase } from './database.ts';

const PAGES_PER_STEP = 1000;
/**
 * Maximum number of faults that are reported for a file. One is enough to restore it, and more show the extent of the
 * damage.
 */
const FAULTS_TOLD = 5;
/** Options for reading a file that a service may be writing to, or that is on a read-only disk. */
export const READ = { mode: 'read', busyTimeoutMs: 5000, mayBeFrozen: true } as const;
const CHUNK_BYTES = 1024 * 1024;
const SQLITE_READONLY = 8;
const SQLITE_CANTOPEN = 14;

/** Copies a database. The open read holds the snapshot, because otherwise every commit would restart the copy. */
export async function copyDatabase(source: string, target: string): Promise<void> {
  using db = new Database(source, READ);
  db.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
  await backup(db.connection, target, { rate: PAGES_PER_STEP });
}

/** Returns the SHA-256 in hexadecimal. */
export function hashFile(file: string): string {
  const sum = createHash('sha256');
  const chunk = Buffer.alloc(CHUNK_BYTES);
  const descriptor = openSync(file, 'r');
  for (let bytes = readSync(descriptor, chunk); bytes > 0; bytes = readSync(descriptor, chunk))
    sum.update(chunk.subarray(0, bytes));
  closeSync(descriptor);
  return sum.digest('hex');
}

/**
 * The beginning of the fault of a file that may be intact, because its disk is full or read-only, or this user may not
 * open it.
 */
export const NOT_CHECKED = 'it could not be checked';

/** Returns whether the file exists and may be intact, although it cannot be opened. */
export function isOutOfReach(file: string, fault: unknown): boolean {
  const code = Number(errcodeOf(fault)) & 0xff;
  const isShut = code === SQLITE_CANTOPEN || code === SQLITE_READONLY || faultOf(fault) === 'full';
  return isShut && statSync(file, { throwIfNoEntry: false })?.isFile() === true;
}

/** Returns the faults that SQLite or `findFault` finds in a file, or none if it is intact. */
export function faultsOfFile(file: string, findFault?: (db: Database) => string | undefined): string[] {
  try {
    return withDatabase(file, READ, (db) => {
      const rows = db.rows<[string]>(`PRAGMA integrity_check(${FAULTS_TOLD})`).map(([answer]) => answer);
      return [...rows.filter((answer) => answer !== 'ok'), findFault?.(db) ?? []].flat();
    });
  } catch (fault) {
    if (faultOf(fault) === 'busy') throw fault;
    const { message } = fault as Error;
    return [isOutOfReach(file, fault) ? `${NOT_CHECKED}: ${message}` : message];
  }
}
