/**
 * The embedded store's PimsStore: one tenant's inventory system in one SQLite file. One connection reads committed
 * data. The other, which the first write opens, writes through the group commit.
 */
import type { Clock } from '../../clock.ts';
import { orThrow, Refusal, settle, type Outcome } from '../../errors.ts';
import { buildDictionaries } from '../../pims/rules/fields.ts';
import type { CustomField, Dictionaries, KeyedType, RecordType } from '../../pims/rules/fields.ts';
import type { ImportBatches, ImportResults } from '../../pims/import.ts';
import type { ChangeRows, ImportOptions, LookupOptions, OrderFound, Page, PimsStore } from '../../pims/pims-port.ts';
import type { Looks, QueryRequest, RecordFound } from '../../pims/pims-port.ts';
import type { Idempotency, Rendered, Write } from '../../pims/writes/script.ts';
import { joinLookups, refuseLargeList, refuseLargeLookup } from '../../pims/reads/storefront.ts';
import type { Turns } from '../../tenant/turns.ts';
import { buildChanges, readChangeRows, type ChangesAsked } from '../pims/changes-sql.ts';
import type { Query } from '../pims/load-sql.ts';
import { makeScriptRunner, runScript, type ScriptRunner } from '../pims/script-runner.ts';
import { CUT_SHORT, Database, faultOf, syncLog, type OnFatal } from './files/database.ts';
import { makeEntryCounts, type EntryCounts } from './reads/entry-counts.ts';
import type { KeptAnswers } from './reads/kept-answers.ts';
import { isNewest, migrate } from './files/migrate.ts';
import { buildPimsSql, type SqlitePimsSql } from './reads/pims-sql.ts';
import { countCharacters, runRead, TOO_LARGE, TOO_LONG, type FoundBy, type Read } from './reads/query.ts';
import { makeTurnReader, type TurnReader } from './reads/turn-reader.ts';
import type { WorkerPool } from './workers/worker-pool.ts';
import { runWriting } from './writes/run-writing.ts';
import { SqliteWriteQueue } from './writes/write-queue.ts';

export interface PimsStoreOptions {
  readonly workers: WorkerPool;
  readonly turns: Turns;
  readonly kept: KeptAnswers;
  readonly checkpoint: (file: string) => Promise<void>;
  readonly busyTimeoutMs: number;
  readonly queryBudgetMs: number;
  readonly onFatal: OnFatal;
  /** Called when writes are on disk. */
  readonly onCommit: () => void;
  readonly clock: Clock;
}

/** Budget of a read on the event loop. A read that needs more is repeated in a thread. */
const LOOP_BUDGET = { ms: 5, isEnded: () => false };
/** An order with more characters is read in a thread the next time. */
const LOOP_CHARACTERS_MAX = 256 * 1024;
/** Longer pages would displace everything else, because even two filters have thousands of pages. */
const KEPT_PAGE_CHARACTERS_MAX = 8 * 1024;
const CHANGES = buildChanges('"CHANGES"');
const neverGone = (): AbortSignal => new AbortController().signal;
/** Maximum number of records in a chunk, and the number of characters after which a chunk ends. */
const EXPORT_ROWS = 500;
const EXPORT_CHARACTERS = 256 * 1024;
/**
 * Memory for pages of a command. An import changes pages of every index, and pages that do not fit are written early.
 */
const IMPORT_CACHE_KIB = 48 * 1024;

export class SqlitePimsStore implements PimsStore {
  readonly #readerDb: Database;
  readonly #reader: TurnReader;
  readonly #scripts: ScriptRunner;
  readonly #counts: EntryCounts;
  readonly #options: PimsStoreOptions;
  #sql: SqlitePimsSql;
  #schemaVersion = -1;
  #cacheKib: number | undefined;
  #writer: { readonly db: Database; readonly queue: SqliteWriteQueue } | undefined;
  #isClosed = false;
  #largeReads = 0;
  /** Number of the file's state in the last snapshot. */
  #epoch = 0;
  /** Number of this tenant in the keys of kept responses. It is shorter than the name of the file. */
  readonly #tenant: number;

  constructor(file: string, options: PimsStoreOptions) {
    this.#options = options;
    this.#tenant = options.kept.newEpoch();
    this.#readerDb = new Database(file, { mode: 'read', busyTimeoutMs: options.busyTimeoutMs });
    if (!isNewest(this.#readerDb, 'pims')) migrate(this.#openWriter().db, 'pims');
    this.#reader = makeTurnReader(this.#readerDb, {
      onChange: () => {
        this.#followSchema(this.#readerDb);
        this.#epoch = options.kept.newEpoch();
      },
      unsynced: () => this.#writer?.queue.unsynced,
      onFatal: options.onFatal,
    });
    this.#sql = this.#followSchema(this.#readerDb);
    this.#counts = makeEntryCounts(this.#readerDb);
    this.#scripts = makeScriptRunner({
      sql: () => this.#sql.script,
      refresh: () => this.dictionaries(),
      commit: (begin) => {
        const { db, queue } = this.#openWriter();
        return queue.run((late) => {
          this.#followSchema(db);
          return runWriting(db, runScript(begin), late);
        });
      },
    });
  }

  dictionaries(): Promise<Dictionaries> {
    return this.#reader.read(() => this.#sql.dictionaries);
  }

  getOrder(orderNumber: string, signal = neverGone): Promise<Outcome<OrderFound | undefined>> {
    const build = () => ({ kind: 'order', sql: this.#sql.orderWithLines, key: orderNumber }) as const;
    return this.#read(`order ${orderNumber}`, build, signal);
  }

  getRecord(recordType: KeyedType, key: string): Promise<RecordFound | undefined> {
    const build = () => ({ kind: 'record', sql: this.#sql.records[recordType], key }) as const;
    return this.#read(`${recordType} ${key}`, build, neverGone).then(orThrow);
  }

  queryRecords(recordType: KeyedType, request: QueryRequest): Promise<Outcome<Page>> {
    const { signal, ...asked } = request;
    const build = () => this.#sql.page(recordType, request, this.#counts);
    return this.#read(`page ${recordType} ${JSON.stringify(asked)}`, build, signal);
  }

  async viewOrders(referenceNumber: string, options: LookupOptions): Promise<Outcome<Rendered>> {
    const found = await this.#lookUp([referenceNumber], options);
    if (found instanceof Refusal) return found;
    return found === TOO_LARGE ? refuseLargeLookup(options.recordsMax) : found[0]!.json;
  }

  async viewOrdersOfEach(referenceNumbers: readonly string[], options: LookupOptions): Promise<Outcome<Rendered>> {
    const { recordsMax } = options;
    const numbers = [...new Set(referenceNumbers)];
    const found = await this.#lookUp(numbers, options);
    if (found instanceof Refusal) return found;
    if (found === TOO_LARGE) return refuseLargeList(recordsMax);
    return joinLookups(referenceNumbers, new Map(numbers.map((number, at) => [number, found[at]!])), recordsMax);
  }

  write<T>(write: Write<T>, idempotency?: Idempotency, size = 1): Promise<Outcome<T>> {
    return this.#scripts.run(write, idempotency, size);
  }

  async *importRows(recordType: RecordType, batches: ImportBatches, options: ImportOptions): ImportResults {
    const { db, queue } = this.#openWriter();
    if (this.#options.busyTimeoutMs > 0) db.limitCache(IMPORT_CACHE_KIB);
    if (!options.atomic) {
      yield* this.#scripts.importEach(recordType, batches, options);
      return;
    }
    db.run('BEGIN IMMEDIATE');
    let isGood = false;
    try {
      this.#followSchema(db);
      let rejected = 0;
      for await (const rows of batches) {
        const result = orThrow(
          runWriting(
            db,
            runScript(() => this.#scripts.importBatch(recordType, rows, options)),
          ),
        );
        rejected += result.rejected.length;
        yield result;
      }
      isGood = rejected === 0;
    } finally {
      // If the reader of the results stops early, the import is undone.
      db.run(isGood ? 'COMMIT' : 'ROLLBACK');
    }
    await queue.sync();
    this.#options.onCommit();
  }

  look<Name extends keyof Looks>(name: Name, ...args: Parameters<Looks[Name]>): Promise<ReturnType<Looks[Name]>> {
    const build = this.#sql.script.looks[name] as (...of: unknown[]) => Query<ReturnType<Looks[Name]>>;
    const query = build(...args);
    return this.#reader.read(() => query.parse(this.#readerDb.rows(query.sql, ...query.values)));
  }

  readChanges(...asked: ChangesAsked): Promise<ChangeRows> {
    return this.#reader.read(() => readChangeRows(this.#readerDb.rows(CHANGES, ...asked), asked));
  }

  async *exportRows(recordType: RecordType): AsyncIterable<Uint8Array> {
    const rows = this.#readerDb.iterate<[string]>(this.#followSchema(this.#readerDb).rows(recordType));
    let [cells, count, isSynced] = ['', 0, false];
    for (const [row] of rows) {
      // The snapshot is open. The service may have committed but not yet synced something in it.
      if (!isSynced) await syncLog(this.#readerDb.file);
      isSynced = true;
      cells += row;
      if (++count < EXPORT_ROWS && cells.length < EXPORT_CHARACTERS) continue;
      yield Buffer.from(cells);
      [cells, count] = ['', 0];
    }
    if (count > 0) yield Buffer.from(cells);
  }

  /** Bounds the memory of each connection for pages. */
  limitCaches(kib: number): void {
    this.#cacheKib = kib;
    this.#readerDb.limitCache(kib);
    this.#writer?.db.limitCache(kib);
  }

  /** Returns the bytes of its write-ahead log. */
  get logBytes(): number {
    return this.#writer?.queue.logBytes ?? 0;
  }

  /** Waits for the running calls. With `aside`, a thread checkpoints the file, so that other tenants do not wait. */
  async close(aside = false): Promise<void> {
    await this.#reader.close();
    const writer = this.#writer;
    await writer?.queue.close();
    this.#isClosed = true;
    this.#releaseThreads();
    // Otherwise SQLite does this on the event loop when the last connection closes.
    if (writer && aside) await this.#options.checkpoint(writer.db.file);
    this.#readerDb.close();
    writer?.db.close();
  }

  #openWriter(): { readonly db: Database; readonly queue: SqliteWriteQueue } {
    if (this.#writer) return this.#writer;
    const { busyTimeoutMs, checkpoint, onFatal, onCommit, clock } = this.#options;
    // Only the service commits before its log is synced, because only it waits for the sync before it answers reads.
    const isService = busyTimeoutMs === 0;
    const sync = isService ? 'deferred' : 'full';
    const db = new Database(this.#readerDb.file, { mode: 'write', sync, busyTimeoutMs });
    if (this.#cacheKib !== undefined) db.limitCache(this.#cacheKib);
    const on = { checkpoint, onFatal, onCommit, clock };
    const queue = new SqliteWriteQueue(db, { gather: 'turn', syncAfterCommit: isService, ...on });
    this.#writer = { db, queue };
    return this.#writer;
  }

  #lookUp(referenceNumbers: readonly string[], { recordsMax, signal }: LookupOptions) {
    const build = () => ({ kind: 'lookup', sql: this.#sql.ordersByReference, referenceNumbers, recordsMax }) as const;
    return this.#read(`lookup ${recordsMax} ${referenceNumbers.join('\0')}`, build, signal);
  }

  /**
   * Returns the kept response of an earlier read with this key, or reads: on the event loop if the response is probably
   * small, and in a thread if it was large the last time.
   */
  #read<R extends Read>(ofTenant: string, build: () => R, signal: () => AbortSignal): Promise<Outcome<FoundBy<R>>> {
    const { kept } = this.#options;
    const key = `${this.#tenant} ${ofTenant}`;
    return this.#reader.read(() => {
      const answer = kept.find(key, this.#epoch);
      if (answer !== undefined) return answer as FoundBy<R>;
      const read = settle(build);
      if (read instanceof Refusal) return read;
      if ((read.kind === 'page' && !read.isShort) || kept.large.has(key)) return this.#readLarge(read, signal);
      const found = runRead(this.#readerDb, read, 'loop', LOOP_BUDGET);
      const isUnfinished = found === CUT_SHORT || found === TOO_LONG;
      const characters = isUnfinished ? 0 : countCharacters(found);
      // A page that was cut short is not remembered as large: the event loop may have waited for a processor.
      const isLarge = found === TOO_LONG || (found === CUT_SHORT && read.kind === 'lookup');
      if (isLarge || characters > LOOP_CHARACTERS_MAX) kept.large.add(key);
      if (isUnfinished) return this.#readLarge(read, signal);
      if (found !== undefined && (read.kind !== 'page' || characters + key.length <= KEPT_PAGE_CHARACTERS_MAX))
        kept.keep(key, this.#epoch, found, characters);
      return found;
    });
  }

  /** Reads in a thread when it is the tenant's turn. */
  async #readLarge<R extends Read>(read: R, signal: () => AbortSignal): Promise<Outcome<FoundBy<R>>> {
    const { turns, workers, queryBudgetMs: budgetMs } = this.#options;
    const { file } = this.#readerDb;
    this.#largeReads++;
    try {
      const found = await turns.run(file, signal, (turn) =>
        workers.run<FoundBy<R>>({ kind: 'read', file, read, budgetMs }, turn),
      );
      await this.#writer?.queue.unsynced;
      return found;
    } catch (fault) {
      throw faultOf(fault) === 'fatal' ? this.#options.onFatal(fault) : fault;
    } finally {
      this.#largeReads--;
      this.#releaseThreads();
    }
  }

  /** Lets the threads close the file when it is closed here and they have no more work. */
  #releaseThreads(): void {
    if (this.#isClosed && this.#largeReads === 0) this.#options.workers.forget(this.#readerDb.file);
  }

  /** Builds the SQL again when the schema has changed, because a process has added a field. */
  #followSchema(db: Database): SqlitePimsSql {
    const [version] = db.row<[number]>('PRAGMA schema_version')!;
    if (version !== this.#schemaVersion) {
      const fields = db.rows<[RecordType, string, CustomField['type']]>(
        'SELECT RECORD_TYPE, NAME, TYPE FROM CUSTOM_FIELDS ORDER BY RECORD_TYPE, rowid',
      );
      this.#sql = sqlOf(fields.map(([recordType, name, type]) => ({ recordType, name, type })));
      this.#schemaVersion = version;
    }
    return this.#sql;
  }
}

let sqlOfBuiltIn: SqlitePimsSql | undefined;

/** Builds the SQL of a tenant. Tenants without custom fields share it. */
function sqlOf(customFields: readonly CustomField[]): SqlitePimsSql {
  if (customFields.length > 0) return buildPimsSql(buildDictionaries(customFields));
  sqlOfBuiltIn ??= buildPimsSql(buildDictionaries([]));
  return sqlOfBuiltIn;
}
