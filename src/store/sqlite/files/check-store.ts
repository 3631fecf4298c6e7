/** Opens the embedded store, or a backup of it, for a check, which only reads its files, one after the other. */
import { BY_KEY } from '../../pims/lines-of.ts';
import { existsSync, mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { refuseCommand } from '../../../errors.ts';
import type { CheckedStore, Findings } from '../../check/checked-store.ts';
import type { Row } from '../../sql/writing.ts';
import { Database, errcodeOf, faultOf, findBar, OWN_IT, READ_ONLY_DISK, withDatabase } from './database.ts';
import { isFileThere } from './folder.ts';
import { BELONGS, findOtherOwner, isNewest, migrate, PUT_BACK, type Owner, type SqliteSchema } from './migrate.ts';
import { listOwned, listTenantFiles } from './tenant-files.ts';
import { copyDatabase, faultsOfFile, hashFile, NOT_CHECKED, READ } from './whole-files.ts';

const SQL_ERROR = 1;
const OTHER_BACKUP = 'Use another backup.';
const LOST = 'Storeroom does not recreate this file. Restore it from the last good backup.';
const OPEN_IT =
  'The file may be intact. Give it the same owner and mode as the other files, or free space on the disk. Check again.';
/** The remedy for one file, so that no one undoes the writes to all others. */
const OF_FILE = {
  control: undefined,
  pims: 'Run `storeroom tenant restore` to restore it from the last backup that passes `storeroom check --backup`.',
  usage:
    'Stop the service, move the file and its -wal away, and copy it from the last good backup. Later counts are lost.',
  requests: 'Stop the service, move the file and its -wal away, and start the service. Only the request log is lost.',
};
const UNUSED =
  'A `tenant restore` has kept it, or an interrupted command has left it. Delete it when you no longer need it.';
interface CheckedFile {
  readonly schema: SqliteSchema;
  /** Undefined if control.db cannot be read. */
  readonly owner?: Owner | undefined;
}

/** The files besides control.db that every store has. */
const SHARED: ReadonlyMap<string, CheckedFile> = new Map([
  ['usage.db', { schema: 'usage' }],
  ['requests.db', { schema: 'requests' }],
]);
const SEARCHED = ['ORDERS', 'CUSTOMER', 'INVENTORY'];

/**
 * Opens the store in a folder. `hashes` has the SHA-256 of each file of a backup. Throws COMMAND_REFUSED if the folder
 * contains no store.
 */
export function openCheck(folder: string, hashes: Readonly<Record<string, string>> = {}): CheckedStore {
  const isBackup = Object.keys(hashes).length > 0;
  if (!isBackup && !existsSync(join(folder, 'control.db'))) throw refuseCommand(`There is no data in ${folder}.`);
  const unreadable = new Set<string>();
  let owned: ReadonlyMap<string, CheckedFile> = SHARED;

  /** In a file of this version, a missing table is also damage. */
  const damageOf = (fault: unknown): string | undefined =>
    faultOf(fault) === 'fatal' || errcodeOf(fault) === SQL_ERROR ? (fault as Error).message : undefined;
  const checkFile = async (name: string, { schema, owner }: CheckedFile, findings: Findings): Promise<void> => {
    if (unreadable.has(name)) return;
    const file = join(folder, name);
    const isThere = isFileThere(file);
    if (!isThere && schema === 'requests') return;
    const faults = isThere
      ? faultsOfFile(file, (db) => owner && findOtherOwner(db, schema, owner))
      : ['it is missing, or empty'];
    const isShut = faults[0]?.startsWith(NOT_CHECKED) === true;
    const ownRemedy = isBackup ? OTHER_BACKUP : OF_FILE[schema];
    let remedy = isShut ? OPEN_IT : (ownRemedy ?? (isThere ? undefined : LOST));
    if (faults[0]?.startsWith(BELONGS) === true && !isBackup) remedy = PUT_BACK;
    for (const fault of faults) findings.addDamage(name, fault, remedy);
    if (faults.length > 0) return void unreadable.add(name);
    const bar = isBackup ? undefined : findBar(file);
    if (bar?.endsWith(READ_ONLY_DISK) === false) findings.addFinding(name, bar, OWN_IT);
    try {
      await readFile(file, { schema, owner }, (db) => {
        const [first] = db.rows<[string]>('PRAGMA foreign_key_check');
        if (first) findings.addDamage(name, `a row of ${first[0]} refers to a row that does not exist`, remedy);
        if (schema === 'pims') checkSearch(db, name, findings, remedy);
      });
    } catch (fault) {
      const damage = damageOf(fault);
      if (damage === undefined) throw fault;
      findings.addDamage(name, damage, remedy);
      unreadable.add(name);
    }
  };

  return {
    async checkItself(findings) {
      for (const [name, hash] of Object.entries(hashes)) {
        const file = join(folder, name);
        if (existsSync(file) && hashFile(file) === hash) continue;
        findings.addDamage(name, existsSync(file) ? 'it differs from what was written' : 'it is missing', OTHER_BACKUP);
        unreadable.add(name);
      }
      // Lists the files first, because a tenant can be created meanwhile.
      const files = listTenantFiles(folder);
      await checkFile('control.db', { schema: 'control' }, findings);
      if (!unreadable.has('control.db')) {
        owned = withDatabase(join(folder, 'control.db'), READ, listOwned);
        for (const path of files)
          if (!owned.has(path.replace(/-(wal|shm)$/, ''))) findings.addNote(`No tenant uses ${path}. ${UNUSED}`);
      }
      for (const [name, file] of owned) await checkFile(name, file, findings);
    },
    async readPart(part, work) {
      const name = typeof part === 'string' ? `${part}.db` : join('tenants', `${part.storeId}.db`);
      const file = owned.get(name) ?? { schema: 'control' };
      if (unreadable.has(name) || !existsSync(join(folder, name))) return;
      await readFile(join(folder, name), file, (db) => {
        db.exec('BEGIN');
        return work({
          schema: '',
          linesOf: BY_KEY,
          readRows: async (sql, ...values) => db.rows(sql, ...values),
          each: async <R extends Row>(sql: string, take: (row: R) => void) => {
            for (const row of db.iterate<R>(sql)) take(row);
          },
        });
      });
    },
    damageOf,
  };
}

/** Opens a file for reading; if its schema is older, opens a copy that it migrates. */
async function readFile(
  file: string,
  { schema, owner }: CheckedFile,
  work: (db: Database) => void | Promise<void>,
): Promise<void> {
  {
    using db = new Database(file, READ);
    if (isNewest(db, schema, owner)) return await work(db);
  }
  using copies = mkdtempDisposableSync(join(tmpdir(), 'storeroom-check-'));
  const copy = join(copies.path, `${schema}.db`);
  await copyDatabase(file, copy);
  using copied = new Database(copy, { ...READ, mode: 'write' });
  migrate(copied, schema, owner);
  await work(copied);
}

/** Checks that the search index has a row for each record, and no other. */
function checkSearch(db: Database, place: string, findings: Findings, remedy?: string): void {
  for (const table of SEARCHED) {
    const [records, found] = [`SELECT ID FROM ${table}`, `SELECT id FROM ${table}_SEARCH_docsize`];
    const unlike = `SELECT count(*) FROM (SELECT * FROM (${records} EXCEPT ${found})
      UNION ALL SELECT * FROM (${found} EXCEPT ${records}))`;
    const [count] = db.row<[number]>(unlike) ?? [0];
    if (count > 0) findings.addDamage(place, `${count} rows are only in ${table}, or only in its search index`, remedy);
  }
}
