/** Database files as a whole: copies while they are in use, their hashes, and what SQLite finds wrong with them. */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { backup } from 'node:sqlite';
import { Database, faultOf } from './database.ts';

const PAGES_PER_STEP = 1000;
/** Of a file. One is enough to restore it, and more tell how bad it is. */
const FAULTS_TOLD = 5;
const READ = { mode: 'read', busyTimeoutMs: 5000 } as const;
const CHUNK_BYTES = 1024 * 1024;

/** The open read holds the snapshot: without it every commit of the service would restart the copy. */
export async function copyDatabase(source: string, target: string): Promise<void> {
  const db = new Database(source, READ);
  try {
    db.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
    await backup(db.connection, target, { rate: PAGES_PER_STEP });
  } finally {
    db.close();
  }
}

/** The SHA-256 in hexadecimal. */
export function hashFile(file: string): string {
  const sum = createHash('sha256');
  const chunk = Buffer.alloc(CHUNK_BYTES);
  const descriptor = openSync(file, 'r');
  for (let bytes = readSync(descriptor, chunk); bytes > 0; bytes = readSync(descriptor, chunk))
    sum.update(chunk.subarray(0, bytes));
  closeSync(descriptor);
  return sum.digest('hex');
}

/** What SQLite finds in a file; empty when it is whole. */
export function faultsOfFile(file: string): string[] {
  try {
    const db = new Database(file, READ);
    try {
      const rows = db.rows<[string]>(`PRAGMA integrity_check(${FAULTS_TOLD})`);
      return rows.map(([answer]) => answer).filter((answer) => answer !== 'ok');
    } finally {
      db.close();
    }
  } catch (fault) {
    if (faultOf(fault) === 'busy') throw fault;
    return [(fault as Error).message];
  }
}
