/** Opens the embedded store, or a backup of it, for a check, which only reads its files, one after the other. */
import { existsSync, mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { refuseCommand } from '../../errors.ts';
import type { CheckedPart, CheckedStore, Findings } from '../check/checked-store.ts';
import type { Row } from '../writing.ts';
import { Database, errcodeOf, faultOf, withDatabase } from './files/database.ts';
import { isFileThere } from './files/folder.ts';
import { isNewest, migrate, type SqliteSchema } from './files/migrate.ts';
import { mayLackFiles } from './files/tenant-files.ts';
import { copyDatabase, faultsOfFile, hashFile, NOT_CHECKED, READ } from './files/whole-files.ts';

const SQL_ERROR = 1;
const OTHER_BACKUP = 'Use another backup.';
const LOST = 'Storeroom does not recreate this file. Restore it from the last good backup.';
const OPEN_IT =
  'The file may be intact. Give it the same owner and mode as the other files, or free space on the disk. Check again.';
/** The remedy for one file, so that no one undoes the writes to all others. */
const OF_PART = {
  control: undefined,
  tenant: 'Run `storeroom tenant restore` to restore it from the last backup that passes `storeroom check --backup`.',
  usage:
    'Stop the service, move the file and its -wal away, and copy it from the last good backup. Later counts are lost.',
  requests: 'Stop the service, move the file and its -wal away, and start the service. Only the request log is lost.',
};
const SEARCHED = ['ORDERS', 'CUSTOMER', 'INVENTORY'];

/**
 * Opens the store in a folder. `hashes` has the SHA-256 of each file of a backup. Throws COMMAND_REFUSED if the folder
 * contains no store.
 */
export function openCheck(folder: string, hashes: Readonly<Record<string, string>> = {}): CheckedStore {
  const isBackup = Object.keys(hashes).length > 0;
  if (!isBackup && !existsSync(join(folder, 'control.db'))) throw refuseCommand(`There is no data in ${folder}.`);
  const unreadable = new Set<string>();

  const checkFile = async (part: CheckedPart, mayLack: boolean, findings: Findings): Promise<void> => {
    const { name } = fileOf(part);
    if (unreadable.has(name)) return;
    const file = join(folder, name);
    const isThere = isFileThere(file);
    if (!isThere && mayLack) return;
    const faults = isThere ? faultsOfFile(file) : ['it is missing, or empty'];
    const isShut = faults[0]?.startsWith(NOT_CHECKED) === true;
    const ownRemedy = isBackup ? OTHER_BACKUP : OF_PART[typeof part === 'string' ? part : 'tenant'];
    const remedy = isShut ? OPEN_IT : (ownRemedy ?? (isThere ? undefined : LOST));
    for (const fault of faults) findings.addDamage(name, fault, remedy);
    if (faults.length > 0) return void unreadable.add(name);
    await readFile(folder, part, (db) => {
      const [first] = db.rows<[string]>('PRAGMA foreign_key_check');
      if (first) findings.addDamage(name, `a row of ${first[0]} refers to a row that does not exist`, remedy);
      if (typeof part === 'object') checkSearch(db, name, findings, remedy);
    });
  };

  return {
    async checkItself(findings) {
      for (const [name, hash] of Object.entries(hashes)) {
        const file = join(folder, name);
        if (existsSync(file) && hashFile(file) === hash) continue;
        findings.addDamage(name, existsSync(file) ? 'it differs from what was written' : 'it is missing', OTHER_BACKUP);
        unreadable.add(name);
      }
      for (const part of ['control', 'usage', 'requests'] as const)
        await checkFile(part, part === 'requests', findings);
      if (unreadable.has('control.db')) return;
      const [mayLack, tenants] = withDatabase(
        join(folder, 'control.db'),
        READ,
        (control) =>
          [mayLackFiles(control), control.rows<[string]>('SELECT STORE_ID FROM TENANTS ORDER BY TEAM_ID')] as const,
      );
      for (const [storeId] of tenants) await checkFile({ storeId }, mayLack, findings);
    },
    async read(part, work) {
      const { name } = fileOf(part);
      if (unreadable.has(name) || !existsSync(join(folder, name))) return;
      await readFile(folder, part, (db) => {
        db.exec('BEGIN');
        return work({
          schema: '',
          read: async (sql, ...values) => db.rows(sql, ...values),
          each: async <R extends Row>(sql: string, take: (row: R) => void) => {
            for (const row of db.iterate<R>(sql)) take(row);
          },
        });
      });
    },
    /** In a file of this version, a missing table is also damage. */
    damageOf(fault) {
      const isDamage = faultOf(fault) === 'fatal' || errcodeOf(fault) === SQL_ERROR;
      return isDamage ? (fault as Error).message : undefined;
    },
  };
}

/** Opens a file for reading; if its schema is older, opens a copy that it migrates. */
async function readFile(
  folder: string,
  part: CheckedPart,
  work: (db: Database) => void | Promise<void>,
): Promise<void> {
  const { name, schema } = fileOf(part);
  const file = join(folder, name);
  {
    using db = new Database(file, READ);
    if (isNewest(db, schema)) return await work(db);
  }
  using copies = mkdtempDisposableSync(join(tmpdir(), 'storeroom-check-'));
  const copy = join(copies.path, `${schema}.db`);
  await copyDatabase(file, copy);
  using copied = new Database(copy, { ...READ, mode: 'write' });
  migrate(copied, schema);
  await work(copied);
}

/** Checks that each record has its row in the search index. */
function checkSearch(db: Database, place: string, findings: Findings, remedy?: string): void {
  for (const table of SEARCHED) {
    const unlike = `SELECT count(*) FROM (SELECT ID FROM ${table} EXCEPT SELECT id FROM ${table}_SEARCH_docsize)`;
    const [count] = db.row<[number]>(unlike) ?? [0];
    if (count > 0) findings.addDamage(place, `${count} rows of ${table} are not in its search index`, remedy);
  }
}

function fileOf(part: CheckedPart): { readonly name: string; readonly schema: SqliteSchema } {
  if (typeof part === 'string') return { name: `${part}.db`, schema: part };
  return { name: join('tenants', `${part.storeId}.db`), schema: 'pims' };
}
