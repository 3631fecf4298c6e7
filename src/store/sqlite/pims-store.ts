/**
 * The embedded store's PimsStore: one tenant's inventory system in one SQLite file. One connection reads what is
 * committed; the other writes through the group commit, and is opened by the first write.
 */
import type { Clock } from '../../clock.ts';
import { orThrow, Refusal, type Outcome } from '../../errors.ts';
import { buildDictionaries } from '../../pims/fields.ts';
import type { CustomField, Dictionaries, KeyedType, RecordType } from '../../pims/fields.ts';
import type { ImportBatches, ImportResults } from '../../pims/import.ts';
import type { ImportOptions, LookupOptions, OrderFound, Page, PimsStore } from '../../pims/port.ts';
import type { QueryRequest, RecordFound } from '../../pims/port.ts';
import type { Idempotency, Json, Rendered, Write } from '../../pims/script.ts';
import { sortKey } from '../../pims/values.ts';
import type { Turns } from '../../tenant/admission.ts';
import { runScript, ScriptRunner, settle } from '../pims/script-runner.ts';
import { CUT_SHORT, Database, faultOf, runWriting, syncLog, type OnFatal } from './files/database.ts';
import { EntryCounts } from './reads/entry-counts.ts';
import type { KeptAnswers } from './reads/kept-answers.ts';
import { Lookups, remember } from './reads/lookups.ts';
import { isNewest, migrate } from './files/migrate.ts';
import { buildPimsSql, type SqlitePimsSql } from './reads/pims-sql.ts';
import { readOrder, runRead, type FoundBy, type Read } from './reads/query.ts';
import { TurnReader } from './reads/turn-reader.ts';
import type { WorkerPool } from './workers/worker-pool.ts';
import { SqliteWriteQueue } from './writes/write-queue.ts';

export interface PimsStoreOptions {
  readonly workers: WorkerPool;
  readonly turns: Turns;
  readonly kept: KeptAnswers;
  readonly checkpoint: (file: string) => Promise<void>;
  readonly busyTimeoutMs: number;
  readonly queryBudgetMs: number;
  readonly onFatal: OnFatal;
  readonly clock: Clock;
}

/** What is probably small gets this long and so many records on the event loop; else it is begun anew in a worker. */
const LOOP_BUDGET = { ms: 5, isEnded: () => false };
const LOOP_RECORDS_MAX = 100;
/** An order with more characters of lines is read in a worker from then on. */
const LOOP_CHARACTERS_MAX = 256 * 1024;
/** Longer pages would push out all else: of two filters there are thousands. */
const KEPT_PAGE_CHARACTERS_MAX = 8 * 1024;
const neverGone = (): AbortSignal => new AbortController().signal;
/** A chunk has no more records, and ends with the record that makes it longer. */
const EXPORT_ROWS = 500;
const EXPORT_CHARACTERS = 256 * 1024;
/** Of a command. A batch changes pages of every index: those that find no place are written and read again. */
const IMPORT_CACHE_KIB = 48 * 1024;

export class SqlitePimsStore implements PimsStore {
  readonly #readerDb: Database;
  readonly #reader: TurnReader;
  readonly #scripts: ScriptRunner;
  readonly #counts: EntryCounts;
  readonly #options: PimsStoreOptions;
  /** Keys of what was read on the event loop once and turned out large. */
  readonly #largeOrders = new Set<string>();
  readonly #lookups: Lookups;
  #sql: SqlitePimsSql;
  #schemaVersion = -1;
  #cacheKib: number | undefined;
  #writer: { readonly db: Database; readonly queue: SqliteWriteQueue } | undefined;
  #isClosed = false;
  #hasReadLarge = false;
  #largeReads = 0;
  /** The version of the file in the snapshot, and what stands for it with kept answers. */
  #dataVersion = -1;
  #epoch = 0;
  /** Stands for the tenant in the keys of kept answers: shorter than its file. */
  readonly #tenant: number;

  constructor(file: string, options: PimsStoreOptions) {
    this.#options = options;
    this.#tenant = options.kept.newEpoch();
    this.#readerDb = new Database(file, { mode: 'read', busyTimeoutMs: options.busyTimeoutMs });
    if (!isNewest(this.#readerDb, 'pims')) migrate(this.#openWriter().db, 'pims');
    this.#reader = new TurnReader(this.#readerDb, {
      onSnapshot: () => this.#followChanges(),
      unsynced: () => this.#writer?.queue.unsynced,
      onFatal: options.onFatal,
    });
    this.#sql = this.#followSchema(this.#readerDb);
    this.#counts = new EntryCounts(this.#readerDb);
    this.#lookups = new Lookups({
      sql: () => this.#sql.ordersByReference,
      find: (key) => this.#options.kept.find(this.#keyOf('reference', key), this.#epoch),
      keep: (key, answer, length) => options.kept.keep(this.#keyOf('reference', key), this.#epoch, answer, length),
      readSmall: (read, signal) => this.#readSmall(read, signal),
      readLarge: (read, signal) => this.#readLarge(read, signal),
    });
    this.#scripts = new ScriptRunner({
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
    return this.#reader.read(() => {
      const key = this.#keyOf('order', orderNumber);
      const kept = this.#options.kept.find(key, this.#epoch) as OrderFound | undefined;
      if (kept) return kept;
      const order = { kind: 'order', sql: this.#sql.orderWithLines, orderNumber } as const;
      if (this.#largeOrders.has(orderNumber)) return this.#readLarge(order, signal);
      const found = readOrder(this.#readerDb, order);
      if (found instanceof Refusal) remember(this.#largeOrders, orderNumber);
      else if (found) {
        const characters = found.lines?.length ?? 0;
        if (characters > LOOP_CHARACTERS_MAX) remember(this.#largeOrders, orderNumber);
        this.#options.kept.keep(key, this.#epoch, found, found.order.length + characters);
      }
      return found;
    });
  }

  getRecord(recordType: KeyedType, key: string): Promise<RecordFound | undefined> {
    return this.#reader.read(() => {
      const keptKey = this.#keyOf(recordType, key);
      const kept = this.#options.kept.find(keptKey, this.#epoch) as RecordFound | undefined;
      if (kept) return kept;
      const row = this.#readerDb.row<[Json, string]>(this.#sql.records[recordType], sortKey(key));
      if (!row) return undefined;
      const found = { record: row[0], tag: row[1] };
      this.#options.kept.keep(keptKey, this.#epoch, found, found.record.length);
      return found;
    });
  }

  queryRecords(recordType: KeyedType, request: QueryRequest): Promise<Outcome<Page>> {
    return this.#reader.read(() => {
      const { filters, sort, limit, bytesMax, after, signal, fields, hasLines, isCounted } = request;
      const asked = [recordType, filters, limit, bytesMax, after, fields, hasLines, isCounted, sort];
      const key = this.#keyOf('page', JSON.stringify(asked));
      const kept = this.#options.kept.find(key, this.#epoch) as Page | undefined;
      if (kept) return kept;
      const query = settle(() => this.#sql.page(recordType, request, this.#counts));
      if (query instanceof Refusal) return query;
      const { read, isShort } = query;
      if (
        !isShort ||
        (filters.length === 0 && limit > LOOP_RECORDS_MAX && this.#hasMany(recordType, sort === undefined ? after : ''))
      )
        return this.#readLarge(read, signal);
      const few = { ...read, limit: Math.min(limit, LOOP_RECORDS_MAX) };
      const page = runRead(this.#readerDb, few, 'rows', LOOP_BUDGET);
      if (page instanceof Refusal) return page;
      if (page === CUT_SHORT || (page.next && few.limit < limit)) return this.#readLarge(read, signal);
      const characters = page.records.length + (page.lines?.length ?? 0) + key.length;
      if (characters <= KEPT_PAGE_CHARACTERS_MAX) this.#options.kept.keep(key, this.#epoch, page, characters);
      return page;
    });
  }

  viewOrders(referenceNumber: string, options: LookupOptions): Promise<Outcome<Rendered>> {
    return this.#reader.read(() => this.#lookups.view(referenceNumber, options));
  }

  viewOrdersOfEach(referenceNumbers: readonly string[], options: LookupOptions): Promise<Outcome<Rendered>> {
    return this.#reader.read(() => this.#lookups.viewEach(referenceNumbers, options));
  }

  write<T>(write: Write<T>, idempotency?: Idempotency, size = 1): Promise<Outcome<T>> {
    return this.#scripts.run(write, idempotency, size);
  }

  async *importRows(recordType: RecordType, batches: ImportBatches, { now, atomic }: ImportOptions): ImportResults {
    const { db, queue } = this.#openWriter();
    if (this.#options.busyTimeoutMs > 0) db.limitCache(IMPORT_CACHE_KIB);
    if (!atomic) {
      yield* this.#scripts.importEach(recordType, batches, now);
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
            runScript(() => this.#scripts.importBatch(recordType, rows, now)),
          ),
        );
        rejected += result.rejected.length;
        yield result;
      }
      isGood = rejected === 0;
    } finally {
      // Also reached when the reader of the results stops: then nothing is kept.
      db.run(isGood ? 'COMMIT' : 'ROLLBACK');
    }
    await queue.sync();
  }

  async *exportRows(recordType: RecordType): AsyncIterable<Uint8Array> {
    const rows = this.#readerDb.iterate<[string]>(this.#followSchema(this.#readerDb).rows(recordType));
    let [cells, count, isSynced] = ['', 0, false];
    for (const [row] of rows) {
      // The snapshot is open. The service may have committed, and not yet synced, some of what it shows.
      if (!isSynced) await syncLog(this.#readerDb.file);
      isSynced = true;
      cells += row;
      if (++count < EXPORT_ROWS && cells.length < EXPORT_CHARACTERS) continue;
      yield Buffer.from(cells);
      [cells, count] = ['', 0];
    }
    if (count > 0) yield Buffer.from(cells);
  }

  /** What each connection may keep of pages. */
  limitCaches(kib: number): void {
    this.#cacheKib = kib;
    this.#readerDb.limitCache(kib);
    this.#writer?.db.limitCache(kib);
  }

  /** Bytes of its write-ahead log. */
  get logBytes(): number {
    return this.#writer?.queue.logBytes ?? 0;
  }

  /** Waits for the calls under way. `aside`: the event loop does not wait for the disk, nor do other tenants. */
  async close(aside = false): Promise<void> {
    await this.#reader.close();
    const writer = this.#writer;
    await writer?.queue.close();
    this.#isClosed = true;
    this.#letWorkersGo();
    // Otherwise SQLite does it here when the last connection closes.
    if (writer && aside) await this.#options.checkpoint(writer.db.file);
    this.#readerDb.close();
    writer?.db.close();
  }

  #openWriter(): { readonly db: Database; readonly queue: SqliteWriteQueue } {
    if (this.#writer) return this.#writer;
    const { busyTimeoutMs, checkpoint, onFatal, clock } = this.#options;
    // The service alone leaves its log unsynced for a moment: it alone waits before it tells what it has read.
    const isService = busyTimeoutMs === 0;
    const sync = isService ? 'deferred' : 'full';
    const db = new Database(this.#readerDb.file, { mode: 'write', sync, busyTimeoutMs });
    if (this.#cacheKib !== undefined) db.limitCache(this.#cacheKib);
    const queue = new SqliteWriteQueue(db, { gather: 'turn', syncAfterCommit: isService, checkpoint, onFatal, clock });
    this.#writer = { db, queue };
    return this.#writer;
  }

  /** Whether more records lie behind a key than the event loop reads. */
  #hasMany(recordType: KeyedType, after: string): boolean {
    return this.#readerDb.row(this.#sql.recordAhead[recordType], after, LOOP_RECORDS_MAX) !== undefined;
  }

  /** Reads on the event loop, and in a worker what turns out large. Small answers need no promise of their own. */
  #readSmall<R extends Read>(read: R, signal: () => AbortSignal): Outcome<FoundBy<R>> | Promise<Outcome<FoundBy<R>>> {
    const found = runRead(this.#readerDb, read, 'rows', LOOP_BUDGET);
    return found === CUT_SHORT ? this.#readLarge(read, signal) : found;
  }

  /** Reads in a worker, in the tenant's turn. */
  async #readLarge<R extends Read>(read: R, signal: () => AbortSignal): Promise<Outcome<FoundBy<R>>> {
    const { turns, workers, queryBudgetMs: budgetMs } = this.#options;
    const { file } = this.#readerDb;
    this.#largeReads++;
    this.#hasReadLarge = true;
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
      this.#letWorkersGo();
    }
  }

  /** Once nothing more is asked of them. */
  #letWorkersGo(): void {
    if (this.#isClosed && this.#hasReadLarge && this.#largeReads === 0)
      this.#options.workers.forget(this.#readerDb.file);
  }

  #keyOf(kind: KeyedType | 'order' | 'page' | 'reference', key: string): string {
    return `${this.#tenant} ${kind} ${key}`;
  }

  /** The number changes with every commit of another connection, and this one never writes. */
  #followChanges(): void {
    this.#followSchema(this.#readerDb);
    const [version] = this.#readerDb.row<[number]>('PRAGMA data_version')!;
    if (version === this.#dataVersion) return;
    this.#dataVersion = version;
    this.#epoch = this.#options.kept.newEpoch();
  }

  /** Builds the SQL anew when the schema has changed; another process may have added a field. */
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

/** Tenants without custom fields share theirs. */
function sqlOf(customFields: readonly CustomField[]): SqlitePimsSql {
  if (customFields.length > 0) return buildPimsSql(buildDictionaries(customFields));
  sqlOfBuiltIn ??= buildPimsSql(buildDictionaries([]));
  return sqlOfBuiltIn;
}
