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
import type { OrderWithLines } from '../../pims/storefront.ts';
import { sortKey, type Values } from '../../pims/values.ts';
import { ScriptRunner, settle } from '../pims/script-runner.ts';
import { Database, faultOf, runWriting } from './database.ts';
import { migrate } from './migrate.ts';
import { buildPimsSql, type SqlitePimsSql } from './pims-sql.ts';
import { runPage } from './query.ts';
import { TurnReader } from './turn-reader.ts';
import type { WorkerPool } from './worker-pool.ts';
import { SqliteWriteQueue } from './write-queue.ts';

export interface PimsStoreOptions {
  readonly workers: WorkerPool;
  readonly checkpoint: (file: string) => Promise<void>;
  readonly busyTimeoutMs: number;
  readonly queryBudgetMs: number;
  readonly onFatal: (fault: unknown) => void;
}

/** A query led by an index gets this long on the event loop, then goes to a worker. Larger pages go there at once. */
const LOOP_BUDGET_MS = 5;
const LOOP_RECORDS_MAX = 500;
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
    return this.#reader.read(() => {
      const row = this.#readerDb.row<[string, string]>(this.#sql.orderWithLines, orderNumber, sortKey(orderNumber));
      return row && { order: row[0], lines: row[1] === '[]' ? null : row[1] };
    });
  }

  getRecord(recordType: KeyedType, key: string): Promise<Json | undefined> {
    return this.#reader.read(() => this.#readerDb.row<[string]>(this.#sql.records[recordType], sortKey(key))?.[0]);
  }

  async queryRecords(recordType: KeyedType, request: QueryRequest): Promise<Outcome<Page>> {
    const { workers, queryBudgetMs } = this.#options;
    const read = await this.#reader.read(() =>
      settle(() => {
        const { indexLed, ...query } = this.#sql.page(recordType, request);
        const onLoop = indexLed && request.limit <= LOOP_RECORDS_MAX;
        return { query, page: onLoop ? runPage(this.#readerDb, query, LOOP_BUDGET_MS) : undefined };
      }),
    );
    if (read instanceof Refusal) return read;
    if (read.page) return read.page;
    const { query } = read;
    const job = { kind: 'query', file: this.#readerDb.file, query, budgetMs: queryBudgetMs } as const;
    const page = await workers.run<Page | undefined>(job);
    if (page) return page;
    const message = `The query did not finish within ${queryBudgetMs} ms. Add an exact filter on an indexed field.`;
    return new Refusal('QUERY_TOO_COSTLY', message);
  }

  findOrders(referenceNumber: string, { recordsMax }: LookupOptions): Promise<OrderWithLines[]> {
    return this.#reader.read(() =>
      this.#readerDb.rows<[string]>(this.#sql.ordersByReference, referenceNumber, recordsMax + 1).map(([json]) => {
        const order = JSON.parse(json) as Values;
        const lines = this.#sql.script.loads.lines(order['ORDER_NUMBER']!);
        return { order, lines: lines.parse(this.#readerDb.rows(lines.sql, ...lines.values)) };
      }),
    );
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
