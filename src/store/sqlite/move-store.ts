/** The embedded store opened for a move. A marker file in the folder says that a move into it is unfinished. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import type { Values } from '../../pims/rules/values.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import type { Tenant, TenantStore } from '../../tenant/tenant-port.ts';
import { USAGE_TABLES } from '../control/usage-store.ts';
import { buildInsert } from '../pims/row-sql.ts';
import { buildConflict, QUERIES, refuseUnfinished, type MoveStore, type Table, type TableRow } from '../move/tables.ts';
import { Database } from './files/database.ts';
import { sync } from './files/folder.ts';
import { migrate } from './files/migrate.ts';
import { SqliteStore } from './store.ts';
import { scriptDialect } from './reads/pims-sql.ts';

const BUSY_TIMEOUT_MS = 5000;
const PAGES_PER_CHECKPOINT = 4000;
const REQUEST_TABLES = ['REQUESTS', 'REFUSALS', 'KEY_USES'];

const markerOf = (folder: string): string => join(folder, 'move-unfinished');

/** COMMAND_REFUSED when a move into the folder is unfinished: only the move may open it. */
export function refuseUnfinishedFolder(folder: string): void {
  if (existsSync(markerOf(folder))) throw refuseUnfinished(folder);
}

export class SqliteMoveStore implements MoveStore {
  readonly #folder: string;
  readonly #store: SqliteStore;
  #isAlone = false;
  #fatal: unknown;
  /** The file used last. Tables come file by file. */
  #open: Database | undefined;

  /** Messages call the folder `movedAs`. */
  constructor(folder: string, movedAs: string, clock: Clock) {
    this.#folder = folder;
    const onFatal = (fault: unknown): void => void (this.#fatal ??= fault);
    const options = { ...QUERIES, folder, busyTimeoutMs: BUSY_TIMEOUT_MS, workers: 1, onFatal, movedAs, clock };
    this.#store = new SqliteStore(options);
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

  /** The marker is on disk before anything is inserted. */
  async beginMove(source: string): Promise<void> {
    mkdirSync(this.#folder, { recursive: true });
    const marker = markerOf(this.#folder);
    writeFileSync(`${marker}.new`, source, { flush: true });
    renameSync(`${marker}.new`, marker);
    sync(this.#folder);
  }

  /** Closing the tenants' files updates their statistics. */
  async finishMove(): Promise<void> {
    rmSync(markerOf(this.#folder));
    sync(this.#folder);
  }

  async read<R extends TableRow>(table: Table, build: (from: string) => string, values: TableRow): Promise<R[]> {
    return this.#file(table).rows<R>(build(`"${table.name}"`), ...values);
  }

  async insertRows(table: Table, rows: readonly TableRow[]): Promise<void> {
    const db = this.#file(table);
    const insert = buildInserter(db, table);
    db.run('BEGIN IMMEDIATE');
    try {
      for (const row of rows) insert(row);
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
    const kind = REQUEST_TABLES.includes(name) ? 'requests' : USAGE_TABLES.includes(name) ? 'usage' : 'control';
    const file = join(this.#folder, tenant ? join('tenants', `${tenant.storeId}.db`) : `${kind}.db`);
    if (this.#open?.file === file) return this.#open;
    this.#open?.close();
    // The request log is missing when nothing was logged.
    const mode = kind === 'requests' ? 'make' : 'write';
    this.#open = new Database(file, { mode, busyTimeoutMs: BUSY_TIMEOUT_MS });
    this.#open.exec(`PRAGMA wal_autocheckpoint=${PAGES_PER_CHECKPOINT}`);
    if (kind === 'requests') migrate(this.#open, kind);
    return this.#open;
  }
}

/** Inserts a row; one of a searched table also into the search index. */
function buildInserter(db: Database, table: Table): (row: TableRow) => void {
  const { name, columns, recordType, dictionary } = table;
  if (!recordType || !dictionary || recordType === 'lines') {
    const insert = buildInsert(`"${name}"`, columns)([]).sql + buildConflict(table);
    return (row) => void db.run(insert, ...row);
  }
  const insertRecord = scriptDialect.insertRecord(recordType, dictionary);
  return ([sortKey, version, ...values]) => {
    const record: Values = {};
    let column = 2;
    for (const value of values) record[columns[column++]!] = value as string;
    for (const { sql, values: bound } of insertRecord(sortKey as string, record, version as string))
      db.run(sql, ...bound);
  };
}
