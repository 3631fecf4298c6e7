/**
 * The embedded store's PimsStore: one tenant's inventory system in one SQLite file. One connection reads committed
 * data. The other, which the first write opens, writes through the group commit.
 */
import type { Clock } from '../../clock.ts';
import { orThrow, Refusal } from '../../errors.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import { buildChanges, readChangeRows } from '../pims/look-sql.ts';
import { toDictionaries, type FieldRow } from '../pims/row-sql.ts';
import { makeScriptRunner, runScript } from '../pims/script-runner.ts';
import { Database, syncLog } from './files/database.ts';
import { isNewest, migrate, type Owner } from './files/migrate.ts';
import { buildPimsSql, type SqlitePimsSql } from './reads/pims-sql.ts';
import { makeTenantReads, type TenantReadsOptions } from './tenant-reads.ts';
import { makeRoundReader } from './reads/round-reader.ts';
import { makeWriteQueue, runWriting, runWritingInSteps, syncOf, type SqliteWriteQueue } from './write-queue.ts';

export interface PimsStoreOptions extends TenantReadsOptions {
  readonly owner: Owner;
  readonly checkpoint: (file: string) => Promise<void>;
  readonly busyTimeoutMs: number;
  /** Called when writes are on disk. */
  readonly onCommit: () => void;
  readonly clock: Clock;
}

export interface SqlitePimsStore extends PimsStore {
  /** Bounds the memory of each connection for pages. */
  limitCaches(kib: number): void;
  /** Bytes of the write-ahead log. */
  readonly logBytes: number;
  /** Waits for the running calls. With `aside`, a thread checkpoints the file, so that other tenants do not wait. */
  close(aside?: boolean): Promise<void>;
}

interface Writer {
  readonly db: Database;
  readonly queue: SqliteWriteQueue;
  readonly followSchema: () => SqlitePimsSql;
}

const CHANGES = buildChanges('"CHANGES"');
/** Maximum number of records in a chunk, and the number of characters after which a chunk ends. */
const EXPORT_ROWS = 500;
const EXPORT_CHARACTERS = 256 * 1024;
/**
 * Memory for pages of a command. An import changes pages of every index, and pages that do not fit are written early.
 */
const IMPORT_CACHE_KIB = 48 * 1024;

export function openPimsStore(file: string, options: PimsStoreOptions): SqlitePimsStore {
  const { busyTimeoutMs, checkpoint, onCommit } = options;
  const connection = openTenantFile(file, options);
  const { db: readerDb, reader, sql, openWriter } = connection;
  const { close: closeReads, ...reads } = makeTenantReads(connection, options);
  const dictionaries = () => reader.readInRound(() => sql().dictionaries);
  const scripts = makeScriptRunner({
    sql: () => sql().script,
    refresh: dictionaries,
    commitScript(begin) {
      const { db, queue, followSchema } = openWriter();
      return queue.enqueueSteps((late) => {
        const { script } = followSchema();
        return runWritingInSteps(
          db,
          runScript(() => begin(script)),
          late,
        );
      });
    },
  });
  return {
    ...reads,
    dictionaries,
    write: scripts.runWrite,
    async *importRows(recordType, batches, importOptions) {
      const { db, queue, followSchema } = openWriter();
      if (busyTimeoutMs > 0) db.limitCache(IMPORT_CACHE_KIB);
      if (!importOptions.atomic) {
        yield* scripts.importEach(recordType, batches, importOptions);
        return;
      }
      db.runSql('BEGIN IMMEDIATE');
      let isGood = false;
      try {
        const { script: scriptSql } = followSchema();
        let rejected = 0;
        for await (const rows of batches) {
          const script = runScript(() => scripts.importBatch(recordType, rows, importOptions, scriptSql));
          const result = orThrow(runWriting(db, script));
          rejected += result.rejected.length;
          yield result;
        }
        isGood = rejected === 0;
      } finally {
        // If the reader of the results stops early, the import is undone.
        db.runSql(isGood ? 'COMMIT' : 'ROLLBACK');
      }
      await queue.log.sync();
      onCommit();
    },
    readChanges: (...asked) => reader.readInRound(() => readChangeRows(readerDb.rows(CHANGES, ...asked), asked)),
    exportRows: (...of) => exportRows(readerDb, sql().rows(...of)),
    limitCaches: connection.limitCaches,
    get logBytes() {
      return connection.writer()?.queue.log.bytes ?? 0;
    },
    async close(aside = false) {
      await reader.close();
      const writer = connection.writer();
      await writer?.queue.close();
      closeReads();
      // Otherwise SQLite does this on the event loop when the last connection closes.
      if (writer && aside) await checkpoint(file);
      readerDb.close();
    },
  };
}

/** Opens the connection that reads, and upgrades the file if its schema is older. */
function openTenantFile(file: string, options: PimsStoreOptions) {
  const { owner, kept, checkpoint, busyTimeoutMs, onFatal, onCommit, clock } = options;
  const db = new Database(file, { mode: 'read', busyTimeoutMs });
  let writer: Writer | undefined;
  let cacheKib: number | undefined;
  let built: { readonly of: string; readonly sql: SqlitePimsSql } | undefined;
  /**
   * Makes the function that returns the SQL of the schema that a connection sees. While a transaction adds a field,
   * only its own connection sees it.
   */
  const makeFollower = (followed: Database) => {
    let schemaVersion = -1;
    let sql: SqlitePimsSql;
    return () => {
      const [version] = followed.row<[number]>('PRAGMA schema_version')!;
      if (version === schemaVersion) return sql;
      const select = 'SELECT RECORD_TYPE, NAME, TYPE FROM CUSTOM_FIELDS ORDER BY RECORD_TYPE, rowid';
      const fields = followed.rows<FieldRow>(select);
      const of = JSON.stringify(fields);
      if (built?.of !== of) built = { of, sql: sqlOf(fields) };
      schemaVersion = version;
      return (sql = built.sql);
    };
  };
  const openToWrite = () => {
    try {
      return new Database(file, { mode: 'write', busyTimeoutMs });
    } catch (fault) {
      throw fault instanceof Refusal ? onFatal(fault) : fault;
    }
  };
  const openWriter = () => {
    if (writer) return writer;
    const writerDb = openToWrite();
    if (cacheKib !== undefined) writerDb.limitCache(cacheKib);
    const queue = makeWriteQueue(writerDb, {
      gather: 'round',
      sync: syncOf(busyTimeoutMs),
      checkpoint,
      onFatal,
      onCommit,
      clock,
    });
    return (writer = { db: writerDb, queue, followSchema: makeFollower(writerDb) });
  };
  if (!isNewest(db, 'pims', owner)) migrate(openWriter().db, 'pims', owner);

  const followSchema = makeFollower(db);
  let sql = followSchema();
  let epoch = 0;
  const onChange = () => {
    sql = followSchema();
    epoch = kept.newEpoch();
  };
  return {
    db,
    reader: makeRoundReader(db, { onChange, unsynced: () => writer?.queue.log.unsynced, onFatal }),
    sql: () => sql,
    epoch: () => epoch,
    writer: () => writer,
    openWriter,
    limitCaches: (kib: number): void => {
      cacheKib = kib;
      db.limitCache(kib);
      writer?.db.limitCache(kib);
    },
  };
}

/** `sql` selects the cells of a record as one text. */
async function* exportRows(db: Database, sql: string): AsyncGenerator<Uint8Array> {
  let [cells, count, isSynced] = ['', 0, false];
  for (const [row] of db.iterate<[string]>(sql)) {
    // The snapshot is open, and may have commits that the service has not synced yet.
    if (!isSynced) await syncLog(db.file);
    isSynced = true;
    cells += row;
    if (++count < EXPORT_ROWS && cells.length < EXPORT_CHARACTERS) continue;
    yield Buffer.from(cells);
    [cells, count] = ['', 0];
  }
  if (count > 0) yield Buffer.from(cells);
}

let sqlOfBuiltIn: SqlitePimsSql | undefined;

/** Builds the SQL of a tenant. Tenants without custom fields share it. */
const sqlOf = (fields: readonly FieldRow[]): SqlitePimsSql =>
  fields.length > 0 ? buildPimsSql(toDictionaries(fields)) : (sqlOfBuiltIn ??= buildPimsSql(toDictionaries([])));
