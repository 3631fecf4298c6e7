/**
 * The embedded store's PimsStore: one tenant's inventory system in one SQLite file. One connection reads what is
 * committed; the other writes through the group commit.
 */
import { orThrow, Refusal, type Outcome } from '../../errors.ts';
import { buildDictionaries } from '../../pims/fields.ts';
import type { CustomField, Dictionaries, KeyedType, RecordType } from '../../pims/fields.ts';
import type { ImportBatches, ImportResults } from '../../pims/import.ts';
import type { ImportOptions, LookupOptions, OrderFound, Page, PimsStore, QueryRequest } from '../../pims/port.ts';
import type { Idempotency, Json, Write } from '../../pims/script.ts';
import { sortKey } from '../../pims/values.ts';
import type { Turns } from '../../tenant/admission.ts';
import { ScriptRunner, settle } from '../pims/script-runner.ts';
import { CUT_SHORT, Database, faultOf, runWriting } from './database.ts';
import { migrate } from './migrate.ts';
import { buildPimsSql, type SqlitePimsSql } from './pims-sql.ts';
import { runRead, type FoundBy, type Read } from './query.ts';
import { TurnReader } from './turn-reader.ts';
import type { WorkerPool } from './worker-pool.ts';
import { SqliteWriteQueue } from './write-queue.ts';

export interface PimsStoreOptions {
  readonly workers: WorkerPool;
  readonly turns: Turns;
  readonly checkpoint: (file: string) => Promise<void>;
  readonly busyTimeoutMs: number;
  readonly queryBudgetMs: number;
  readonly onFatal: (fault: unknown) => void;
}

/** What is probably small gets this long on the event loop, then goes to a worker. Larger pages go there at once. */
const LOOP_BUDGET = { ms: 2, isEnded: () => false };
const LOOP_RECORDS_MAX = 500;
const neverGone = (): AbortSignal => new AbortController().signal;
const EXPORT_ROWS = 500;

export class SqlitePimsStore implements PimsStore {
  readonly #readerDb: Database;
  readonly #reader: TurnReader;
  readonly #writerDb: Database;
  readonly #queue: SqliteWriteQueue;
  readonly #scripts: ScriptRunner;
  readonly #options: PimsStoreOptions;
  #sql: SqlitePimsSql;
  #schemaVersion = -1;

  constructor(file: string, options: PimsStoreOptions) {
    this.#options = options;
    this.#writerDb = new Database(file, { mode: 'write', busyTimeoutMs: options.busyTimeoutMs });
    migrate(this.#writerDb, 'pims');
    this.#readerDb = new Database(file, { mode: 'read', busyTimeoutMs: options.busyTimeoutMs });
    this.#reader = new TurnReader(this.#readerDb, options.onFatal, () => this.#followSchema(this.#readerDb));
    this.#sql = this.#followSchema(this.#readerDb);
    const { checkpoint, onFatal } = options;
    this.#queue = new SqliteWriteQueue(this.#writerDb, { gather: 'turn', syncAfterCommit: false, checkpoint, onFatal });
    this.#scripts = new ScriptRunner({
      sql: () => this.#sql.script,
      refresh: () => this.dictionaries(),
      commit: (work) =>
        this.#queue.run(() => {
          this.#followSchema(this.#writerDb);
          return runWriting(this.#writerDb, work());
        }),
    });
  }

  dictionaries(): Promise<Dictionaries> {
    return this.#reader.read(() => this.#sql.dictionaries);
  }

  getOrder(orderNumber: string): Promise<Outcome<OrderFound | undefined>> {
    return this.#reader.read(() =>
      this.#readSmall({ kind: 'order', sql: this.#sql.orderWithLines, orderNumber }, neverGone),
    );
  }

  getRecord(recordType: KeyedType, key: string): Promise<Json | undefined> {
    return this.#reader.read(() => this.#readerDb.row<[string]>(this.#sql.records[recordType], sortKey(key))?.[0]);
  }

  queryRecords(recordType: KeyedType, request: QueryRequest): Promise<Outcome<Page>> {
    return this.#reader.read(() => {
      const query = settle(() => this.#sql.page(recordType, request));
      if (query instanceof Refusal) return query;
      const { read, indexLed } = query;
      const isSmall = indexLed && request.limit <= LOOP_RECORDS_MAX;
      return isSmall ? this.#readSmall(read, request.signal) : this.#readLarge(read, request.signal);
    });
  }

  viewOrders(referenceNumber: string, { recordsMax, signal }: LookupOptions): Promise<Outcome<Json>> {
    return this.#reader.read(() => {
      const { ordersByReference: ordersSql, linesOfOrder: linesSql } = this.#sql;
      return this.#readSmall({ kind: 'lookup', ordersSql, linesSql, referenceNumber, recordsMax }, signal);
    });
  }

  write<T>(write: Write<T>, idempotency?: Idempotency): Promise<Outcome<T>> {
    return this.#scripts.run(write, idempotency);
  }

  async *importRows(recordType: RecordType, batches: ImportBatches, { now, atomic }: ImportOptions): ImportResults {
    if (!atomic) {
      yield* this.#scripts.importEach(recordType, batches, now);
      return;
    }
    this.#writerDb.run('BEGIN IMMEDIATE');
    let isGood = false;
    try {
      this.#followSchema(this.#writerDb);
      let rejected = 0;
      for await (const rows of batches) {
        const result = orThrow(runWriting(this.#writerDb, this.#scripts.importBatch(recordType, rows, now)));
        rejected += result.rejected.length;
        yield result;
      }
      isGood = rejected === 0;
    } finally {
      // Also reached when the reader of the results stops: then nothing is kept.
      this.#writerDb.run(isGood ? 'COMMIT' : 'ROLLBACK');
    }
  }

  async *exportRows(recordType: RecordType): AsyncIterable<string[][]> {
    const rows = this.#readerDb.iterate<string[]>(this.#followSchema(this.#readerDb).rows(recordType));
    let chunk: string[][] = [];
    for (const row of rows) {
      if (chunk.push(row) < EXPORT_ROWS) continue;
      yield chunk;
      chunk = [];
    }
    if (chunk.length > 0) yield chunk;
  }

  /** Waits for the calls under way. */
  async close(): Promise<void> {
    await this.#reader.close();
    await this.#queue.close();
    this.#options.workers.forget(this.#readerDb.file);
    this.#readerDb.close();
    this.#measureIndexes();
    this.#writerDb.close();
  }

  /** Reads on the event loop, and in a worker what turns out large. Small answers need no promise of their own. */
  #readSmall<R extends Read>(read: R, signal: () => AbortSignal): Outcome<FoundBy<R>> | Promise<Outcome<FoundBy<R>>> {
    const found = runRead(this.#readerDb, read, 'rows', LOOP_BUDGET);
    return found === CUT_SHORT ? this.#readLarge(read, signal) : found;
  }

  /** Reads in a worker, in the tenant's turn. */
  #readLarge<R extends Read>(read: R, signal: () => AbortSignal): Promise<Outcome<FoundBy<R>>> {
    const { turns, workers, queryBudgetMs: budgetMs } = this.#options;
    const { file } = this.#readerDb;
    return turns.run(file, signal, (turn) => workers.run<FoundBy<R>>({ kind: 'read', file, read, budgetMs }, turn));
  }

  /**
   * Lets SQLite measure its indexes, so that the most selective one leads a query. Skipped when the file is busy or
   * full.
   */
  #measureIndexes(): void {
    try {
      this.#writerDb.exec('PRAGMA analysis_limit=400; PRAGMA optimize=0x10002');
    } catch (fault) {
      if (faultOf(fault) !== 'busy' && faultOf(fault) !== 'full') throw fault;
    }
  }

  /** Builds the SQL anew when the schema has changed; another process may have added a field. */
  #followSchema(db: Database): SqlitePimsSql {
    const [version] = db.row<[number]>('PRAGMA schema_version')!;
    if (version !== this.#schemaVersion) {
      const fields = db.rows<[RecordType, string, CustomField['type']]>(
        'SELECT RECORD_TYPE, NAME, TYPE FROM CUSTOM_FIELDS ORDER BY RECORD_TYPE, rowid',
      );
      const dictionaries = buildDictionaries(fields.map(([recordType, name, type]) => ({ recordType, name, type })));
      this.#sql = buildPimsSql(dictionaries);
      this.#schemaVersion = version;
    }
    return this.#sql;
  }
}
