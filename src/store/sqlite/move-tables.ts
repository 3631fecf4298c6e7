/**
 * The embedded store as a move sees it: the rows of its files as they are, in and out, beside the ports that make tenants and fields. A file in the
 * folder says that a move into it is unfinished. Never reads or writes a row in any other form than the rest of the adapter.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Values } from '../../pims/values.ts';
import type { PimsStore } from '../../pims/port.ts';
import type { Tenant, TenantStore } from '../../tenant/port.ts';
import { buildInsert } from '../pims/write-sql.ts';
import {
  refuseUnfinished,
  buildConflict,
  buildReads,
  type Table,
  type TableRow,
  type TableStore,
} from '../move/tables.ts';
import { Database } from './database.ts';
import { migrate } from './migrate.ts';
import { SqliteStore } from './store.ts';
import { writerDialect } from './pims-sql.ts';

const BUSY_TIMEOUT_MS = 5000;
const QUERY_BUDGET_MS = 60_000;
const PAGES_PER_CHECKPOINT = 4000;
const REQUEST_TABLES = ['REQUESTS', 'REFUSALS', 'KEY_USES'];

const markerOf = (folder: string): string => join(folder, 'move-unfinished');

/** Nothing but the move itself opens a folder that is half full. */
export function refuseUnfinishedFolder(folder: string): void {
  if (existsSync(markerOf(folder))) throw refuseUnfinished(folder);
}

export class SqliteTables implements TableStore {
  readonly #folder: string;
  readonly #store: SqliteStore;
  #isAlone = false;
  #fatal: unknown;
  /** The file read or written last; tables come file by file. */
  #open: Database | undefined;

  constructor(folder: string) {
    this.#folder = folder;
    const onFatal = (fault: unknown): void => void (this.#fatal ??= fault);
    this.#store = new SqliteStore({
      folder,
      busyTimeoutMs: BUSY_TIMEOUT_MS,
      queryBudgetMs: QUERY_BUDGET_MS,
      workers: 1,
      onFatal,
    });
  }

  get tenants(): TenantStore {
    return this.#store.tenants;
  }

  pims(tenant: Tenant): PimsStore {
    return this.#store.pims(tenant);
  }

  /** Holds the lock of the service until it is closed. */
  async takeAlone(): Promise<void> {
    if (!this.#isAlone) this.#store.lock();
    this.#isAlone = true;
  }

  async unfinishedMove(): Promise<string | undefined> {
    const marker = markerOf(this.#folder);
    return existsSync(marker) ? readFileSync(marker, 'utf8') : undefined;
  }

  /** On disk, under its name, before anything is written. */
  async beginMove(source: string): Promise<void> {
    mkdirSync(this.#folder, { recursive: true });
    const marker = markerOf(this.#folder);
    writeFileSync(`${marker}.new`, source, { flush: true });
    renameSync(`${marker}.new`, marker);
    this.#syncFolder();
  }

  /** Indexes are measured when the tenants' files are closed. */
  async finishMove(): Promise<void> {
    rmSync(markerOf(this.#folder));
    this.#syncFolder();
  }

  async countRows(table: Table): Promise<number> {
    return this.#file(table).row<[number]>(buildReads(table, `"${table.name}"`).count)![0];
  }

  async lastKey(table: Table): Promise<TableRow | undefined> {
    return this.#file(table).row<TableRow>(buildReads(table, `"${table.name}"`).last);
  }

  async loadRows(table: Table, after: TableRow | undefined, limit: number): Promise<TableRow[]> {
    const { first, next } = buildReads(table, `"${table.name}"`);
    return this.#file(table).rows<TableRow>(after ? next : first, ...(after ?? []), limit);
  }

  async insertRows(table: Table, rows: readonly TableRow[]): Promise<void> {
    const db = this.#file(table);
    const write = writer(db, table);
    db.run('BEGIN IMMEDIATE');
    try {
      for (const row of rows) write(row);
      db.run('COMMIT');
    } catch (fault) {
      db.run('ROLLBACK');
      throw fault;
    }
  }

  async close(): Promise<void> {
    this.#open?.close();
    await this.#store.close();
    if (this.#fatal !== undefined) throw this.#fatal;
  }

  #file({ tenant, name }: Table): Database {
    const beside = REQUEST_TABLES.includes(name) ? 'requests' : name.startsWith('USAGE') ? 'usage' : 'control';
    const file = join(this.#folder, tenant ? join('tenants', `${tenant.storeId}.db`) : `${beside}.db`);
    if (this.#open?.file === file) return this.#open;
    this.#open?.close();
    this.#open = new Database(file, { mode: 'write', busyTimeoutMs: BUSY_TIMEOUT_MS });
    this.#open.exec(`PRAGMA wal_autocheckpoint=${PAGES_PER_CHECKPOINT}`);
    // Where nothing was logged the file is not there yet.
    if (beside === 'requests') migrate(this.#open, beside);
    return this.#open;
  }

  #syncFolder(): void {
    const descriptor = openSync(this.#folder, 'r');
    fsyncSync(descriptor);
    closeSync(descriptor);
  }
}

/** Writes a row of a table; one that is searched with its place in the search index, as every other write does. */
function writer(db: Database, table: Table): (row: TableRow) => void {
  const { name, columns, recordType, dictionary } = table;
  if (!recordType || !dictionary || recordType === 'lines') {
    const insert = buildInsert(`"${name}"`, columns) + buildConflict(table);
    return (row) => void db.run(insert, ...row);
  }
  const insertRecord = writerDialect.insertRecord(recordType, dictionary);
  return ([sortKey, ...values]) => {
    const record: Values = {};
    let column = 1;
    for (const value of values) record[columns[column++]!] = value as string;
    for (const { sql, values: bound } of insertRecord(sortKey as string, record)) db.run(sql, ...bound);
  };
}
