/** Opens the embedded store for a move. A marker file in the folder says that a move into it is unfinished. */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { USAGE_TABLES } from '../control/calls.ts';
import { buildInserter, QUERIES, refuseUnfinished, type MoveStore, type Table } from '../move/tables.ts';
import { Database } from './files/database.ts';
import { sync } from './files/folder.ts';
import { migrate } from './files/migrate.ts';
import { scriptDialect } from './reads/pims-sql.ts';
import { openSqlite } from './store.ts';

const BUSY_TIMEOUT_MS = 5000;
const PAGES_PER_CHECKPOINT = 4000;
const REQUEST_TABLES = ['REQUESTS', 'REFUSALS', 'KEY_USES'];

const markerOf = (folder: string) => join(folder, 'move-unfinished');

/** Throws COMMAND_REFUSED if a move into the folder is unfinished, because only the move may open it. */
export function refuseUnfinishedFolder(folder: string): void {
  if (existsSync(markerOf(folder))) throw refuseUnfinished(folder);
}

/** Opens the store in a folder, which messages call `movedAs`. */
export function openMove(folder: string, movedAs: string, clock: Clock): MoveStore {
  let fatal: unknown;
  const onFatal = (fault: unknown) => void (fatal ??= fault);
  const options = { ...QUERIES, folder, busyTimeoutMs: BUSY_TIMEOUT_MS, workers: 1, onFatal, movedAs, clock };
  const store = openSqlite(options);
  const marker = markerOf(folder);
  let isAlone = false;
  /** The file that was used last. A move works through one file after the other. */
  let open: Database | undefined;
  const fileOf = (table: Table) => {
    if (open?.file === nameFile(folder, table)) return open;
    open?.close();
    return (open = openFile(folder, table, store.identity));
  };
  return {
    tenants: store.tenants,
    pims: (tenant) => store.pims(tenant),

    /** Holds the lock of the service until the store is closed. */
    async takeAlone() {
      if (!isAlone) store.lock();
      isAlone = true;
    },
    isUnfinished: async () => existsSync(marker),
    /** Writes the marker to disk before anything is inserted. */
    async beginMove() {
      writeFileSync(marker, '');
      sync(folder);
    },
    async finishMove() {
      rmSync(marker);
      sync(folder);
    },

    readTable: async (table, build, values) => fileOf(table).rows(build(`"${table.name}"`), ...values),
    async clearTable(table) {
      // The two tables of months are views of one on SQLite.
      const name = ['USAGE_MONTHS', 'KEY_USAGE'].includes(table.name) ? 'MONTH_USAGE' : table.name;
      fileOf(table).runSql(`DELETE FROM "${name}"`);
    },
    async insertRows(table, rows) {
      const db = fileOf(table);
      const insert = buildInserter(table, `"${table.name}"`, scriptDialect);
      db.inTransaction(() => {
        for (const row of rows) for (const { sql, values } of insert(row)) db.runSql(sql, ...values);
      });
    },
    async close() {
      open?.close();
      await store.close();
      if (fatal !== undefined) throw fatal;
    },
  };
}

const kindOf = ({ name }: Table): 'requests' | 'usage' | 'control' =>
  REQUEST_TABLES.includes(name) ? 'requests' : USAGE_TABLES.includes(name) ? 'usage' : 'control';

const nameFile = (folder: string, table: Table) =>
  join(folder, table.tenant ? join('tenants', `${table.tenant.storeId}.db`) : `${kindOf(table)}.db`);

/** Opens the file of a table. The request log does not exist if nothing was logged. */
function openFile(folder: string, table: Table, identity: string): Database {
  const isLog = kindOf(table) === 'requests';
  const db = new Database(nameFile(folder, table), { mode: isLog ? 'make' : 'write', busyTimeoutMs: BUSY_TIMEOUT_MS });
  db.exec(`PRAGMA wal_autocheckpoint=${PAGES_PER_CHECKPOINT}`);
  if (isLog) migrate(db, 'requests', { identity, teamId: '' });
  return db;
}
