/** The embedded store, or a backup of it, opened for a check: its files one by one, read alone. */
import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { refuseCommand } from '../../errors.ts';
import type { Findings } from '../check/findings.ts';
import type { CheckedDatabase, CheckedPart, CheckedStore } from '../check/port.ts';
import type { Row } from '../writing.ts';
import { Database, faultOf } from './database.ts';
import { isNewest, type SqliteSchema } from './migrate.ts';

const BUSY_TIMEOUT_MS = 5000;
/** Of a file. One is enough to restore it, and more tell how bad it is. */
const FAULTS_TOLD = 5;
const SQL_ERROR = 1;
const CHUNK_BYTES = 1024 * 1024;
const OTHER_BACKUP = 'Use another backup.';
const SEARCHED = ['ORDERS', 'CUSTOMER', 'INVENTORY'];

/** What SQLite finds in a file; empty when it is whole. */
export function faultsOfFile(file: string): string[] {
  try {
    const db = new Database(file, { mode: 'read', busyTimeoutMs: BUSY_TIMEOUT_MS });
    try {
      const rows = db.rows<[string]>(`PRAGMA integrity_check(${FAULTS_TOLD})`);
      return rows.map(([answer]) => answer).filter((answer) => answer !== 'ok');
    } finally {
      db.close();
    }
  } catch (fault) {
    if (faultOf(fault) !== 'fatal') throw fault;
    return [(fault as Error).message];
  }
}

export function hashFile(file: string): string {
  const sum = createHash('sha256');
  const chunk = Buffer.alloc(CHUNK_BYTES);
  const descriptor = openSync(file, 'r');
  for (let bytes = readSync(descriptor, chunk); bytes > 0; bytes = readSync(descriptor, chunk))
    sum.update(chunk.subarray(0, bytes));
  closeSync(descriptor);
  return sum.digest('hex');
}

export class SqliteCheckStore implements CheckedStore {
  readonly #folder: string;
  readonly #hashes: Readonly<Record<string, string>>;
  readonly #unreadable = new Set<string>();

  /** `hashes`: the files of a backup and their SHA-256. COMMAND_REFUSED when there is no store in the folder. */
  constructor(folder: string, hashes: Readonly<Record<string, string>> = {}) {
    this.#folder = folder;
    this.#hashes = hashes;
    if (Object.keys(hashes).length === 0 && !existsSync(join(folder, 'control.db')))
      throw refuseCommand(`There is no data in ${folder}.`);
  }

  async checkItself(findings: Findings): Promise<string[]> {
    for (const [name, hash] of Object.entries(this.#hashes)) {
      const file = join(this.#folder, name);
      if (existsSync(file) && hashFile(file) === hash) continue;
      findings.addDamage(name, existsSync(file) ? 'it is not as it was written' : 'it is missing', OTHER_BACKUP);
      this.#unreadable.add(name);
    }
    for (const part of ['control', 'usage', 'requests'] as const) this.#checkFile(part, findings);
    if (!this.#unreadable.has('control.db'))
      await this.read('control', async ({ read }) => {
        for (const [storeId] of await read<[string]>('SELECT "STORE_ID" FROM "TENANTS" ORDER BY "TEAM_ID"'))
          this.#checkFile({ storeId }, findings);
      });
    return [];
  }

  async read(part: CheckedPart, work: (db: CheckedDatabase) => Promise<void>): Promise<void> {
    const { name, schema } = fileOf(part);
    const file = join(this.#folder, name);
    // A tenant that was never called has no file yet, and a removed one has none any more.
    if (this.#unreadable.has(name) || !existsSync(file)) return;
    const db = new Database(file, { mode: 'read', busyTimeoutMs: BUSY_TIMEOUT_MS });
    try {
      if (!isNewest(db, schema))
        throw refuseCommand(
          `${file} is of another version of Storeroom. Check it with that version, or start this one.`,
        );
      db.exec('BEGIN');
      await work({
        schema: '',
        read: async (sql, ...values) => db.rows(sql, ...values),
        each: async <R extends Row>(sql: string, take: (row: R) => void) => {
          for (const row of db.iterate<R>(sql)) take(row);
        },
      });
    } finally {
      db.close();
    }
  }

  /** A table that is missing from a file of this version is damage too. */
  damageOf(fault: unknown): string | undefined {
    const isDamage = faultOf(fault) === 'fatal' || (fault as { errcode?: number }).errcode === SQL_ERROR;
    return isDamage ? (fault as Error).message : undefined;
  }

  async close(): Promise<void> {
    // Every file was closed when it was read.
  }

  #checkFile(part: CheckedPart, findings: Findings): void {
    const { name } = fileOf(part);
    const file = join(this.#folder, name);
    if (this.#unreadable.has(name) || !existsSync(file)) return;
    const faults = faultsOfFile(file);
    for (const fault of faults) findings.addDamage(name, fault);
    if (faults.length > 0) return void this.#unreadable.add(name);
    const db = new Database(file, { mode: 'read', busyTimeoutMs: BUSY_TIMEOUT_MS });
    try {
      const [first] = db.rows<[string]>('PRAGMA foreign_key_check');
      if (first) findings.addDamage(name, `a row of ${first[0]} belongs to nothing that is there`);
      if (typeof part === 'object') checkSearch(db, name, findings);
    } finally {
      db.close();
    }
  }
}

/** Each record has its row in the search index. */
function checkSearch(db: Database, place: string, findings: Findings): void {
  for (const table of SEARCHED) {
    const unlike = `SELECT count(*) FROM (SELECT ID FROM ${table} EXCEPT SELECT id FROM ${table}_SEARCH_docsize)`;
    const [count] = db.row<[number]>(unlike) ?? [0];
    if (count > 0) findings.addDamage(place, `${count} rows of ${table} are not in its search index`);
  }
}

function fileOf(part: CheckedPart): { readonly name: string; readonly schema: SqliteSchema } {
  if (typeof part === 'string') return { name: `${part}.db`, schema: part };
  return { name: join('tenants', `${part.storeId}.db`), schema: 'pims' };
}
