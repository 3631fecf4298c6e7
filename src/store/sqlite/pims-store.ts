/**
 * The embedded store's PimsStore: one tenant's inventory system in one SQLite file, with a connection that reads what is committed and one that
 * writes through the group commit. Holds no rules. Source: docs/architecture.md.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Refusal, type Outcome } from '../../errors.ts';
import { sortKey, type Values } from '../../pims/values.ts';
import { buildDictionaries, type CustomField, type Dictionaries, type RecordType } from '../../pims/fields.ts';
import type { ImportResult, ImportRow, Json, KeyedType, Page, PageRequest, PimsStore } from '../../pims/port.ts';
import type { OrderWithLines } from '../../pims/storefront.ts';
import { PimsImport } from '../pims/import.ts';
import { PimsWriter } from '../pims/writer.ts';
import { PimsWrites } from '../pims/transactions.ts';
import type { Writing } from '../writing.ts';
import { Database, faultOf, runWriting } from './database.ts';
import { migrate } from './migrate.ts';
import { buildPimsSql, type PimsSql } from './pims-sql.ts';
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

/** Queries led by an index get this long on the event loop before they go to a worker; larger pages go there at once. */
const LOOP_BUDGET_MS = 5;
const LOOP_RECORDS_MAX = 500;
const EXPORT_ROWS = 500;

export class SqlitePimsStore extends PimsWrites implements PimsStore {
  readonly #readerDb: Database;
  readonly #reader: TurnReader;
  readonly #writerDb: Database;
  protected readonly writer: PimsWriter;
  readonly #queue: SqliteWriteQueue;
  readonly #options: PimsStoreOptions;
  #sql: PimsSql;
  #schemaVersion = -1;

  constructor(file: string, options: PimsStoreOptions) {
    super();
    this.#options = options;
    this.#writerDb = new Database(file, { mode: 'write', busyTimeoutMs: options.busyTimeoutMs });
    migrate(this.#writerDb, 'pims');
    this.#readerDb = new Database(file, { mode: 'read', busyTimeoutMs: options.busyTimeoutMs });
    this.#reader = new TurnReader(this.#readerDb, options.onFatal, () => this.#followSchema(this.#readerDb));
    this.#sql = this.#followSchema(this.#readerDb);
    this.writer = new PimsWriter(() => this.#sql);
    const { checkpoint, onFatal } = options;
    this.#queue = new SqliteWriteQueue(this.#writerDb, { gather: 'turn', syncAfterCommit: false, checkpoint, onFatal });
  }

  dictionaries(): Promise<Dictionaries> {
    return this.#reader.read(() => this.#sql.dictionaries);
  }

  getOrder(orderNumber: string): Promise<{ order: Json; lines: Json | null } | undefined> {
    return this.#reader.read(() => {
      const row = this.#readerDb.row<[string, string]>(this.#sql.orderWithLines, orderNumber, sortKey(orderNumber));
      return row && { order: row[0], lines: row[1] === '[]' ? null : row[1] };
    });
  }

  getRecord(recordType: KeyedType, key: string): Promise<Json | undefined> {
    return this.#reader.read(() => this.#readerDb.row<[string]>(this.#sql.record[recordType], sortKey(key))?.[0]);
  }

  async queryRecords(recordType: KeyedType, request: PageRequest): Promise<Outcome<Page>> {
    const { indexLed, ...query } = this.#sql.page(recordType, request);
    const onLoop = indexLed && request.limit <= LOOP_RECORDS_MAX;
    const page =
      (onLoop ? await this.#reader.read(() => runPage(this.#readerDb, query, LOOP_BUDGET_MS)) : undefined) ??
      (await this.#options.workers.run<Page | undefined>({
        kind: 'query',
        file: this.#readerDb.file,
        query,
        budgetMs: this.#options.queryBudgetMs,
      }));
    return (
      page ??
      new Refusal(
        'QUERY_TOO_COSTLY',
        `The query did not finish within ${this.#options.queryBudgetMs} ms. Add an exact filter on an indexed field.`,
      )
    );
  }

  findOrders(field: 'REFERENCE_NUMBER' | 'ORDER_NUMBER', value: string): Promise<OrderWithLines[]> {
    return this.#reader.read(() => {
      const sql = this.#sql;
      const rows =
        field === 'REFERENCE_NUMBER'
          ? this.#readerDb.rows<[string]>(sql.ordersByReference, value)
          : this.#readerDb.rows<[string]>(sql.record.orders, sortKey(value));
      return rows.map(([json]) => {
        const order = JSON.parse(json) as Values;
        const lines = this.#readerDb
          .rows<[string]>(sql.lines, order['ORDER_NUMBER'] ?? '')
          .map(([line]) => JSON.parse(line) as Values);
        return { order, lines };
      });
    });
  }

  async *importRows(
    recordType: RecordType,
    batches: AsyncIterable<ImportRow[]>,
    { now, atomic }: { now: string; atomic: boolean },
  ): AsyncIterable<ImportResult> {
    const importer = new PimsImport(this.writer, now);
    if (!atomic) {
      yield* this.importEach(recordType, batches, importer);
      return;
    }
    this.#writerDb.run('BEGIN IMMEDIATE');
    let isGood = false;
    try {
      this.#followSchema(this.#writerDb);
      let rejected = 0;
      for await (const batch of batches) {
        const result = runWriting(this.#writerDb, importer.writeBatch(recordType, batch));
        rejected += result.rejected.length;
        yield result;
      }
      isGood = rejected === 0;
    } finally {
      // Also reached when whoever reads the results stops reading: then nothing is kept.
      this.#writerDb.run(isGood ? 'COMMIT' : 'ROLLBACK');
    }
  }

  async *exportRows(recordType: RecordType): AsyncIterable<string[][]> {
    const rows = this.#readerDb.iterate<string[]>(this.#followSchema(this.#readerDb).rows[recordType]);
    let chunk: string[][] = [];
    for (const row of rows) {
      if (chunk.push(row) < EXPORT_ROWS) continue;
      yield chunk;
      chunk = [];
    }
    if (chunk.length > 0) yield chunk;
  }

  /** Waits for the calls under way, which look into the dictionaries first and come back a moment later. */
  async close(): Promise<void> {
    do {
      await this.#queue.close();
      await nextTurn();
    } while (this.#reader.isWaiting || this.#queue.isWorking);
    this.#options.workers.forget(this.#readerDb.file);
    this.#readerDb.close();
    this.#measureIndexes();
    this.#writerDb.close();
  }

  /** Lets SQLite measure its indexes, so that the most selective one leads a query. Done another time when somebody else writes or the disk is full. */
  #measureIndexes(): void {
    try {
      this.#writerDb.exec('PRAGMA analysis_limit=400; PRAGMA optimize=0x10002');
    } catch (fault) {
      if (faultOf(fault) !== 'busy' && faultOf(fault) !== 'full') throw fault;
    }
  }

  protected commit<T>(work: () => Writing<Outcome<T>>): Promise<Outcome<T>> {
    return this.#queue.run(() => {
      this.#followSchema(this.#writerDb);
      return runWriting(this.#writerDb, work());
    });
  }

  /** Writes the SQL anew when the schema has changed; another process may have added a field. */
  #followSchema(db: Database): PimsSql {
    const [version] = db.row<[number]>('PRAGMA schema_version')!;
    if (version !== this.#schemaVersion) {
      const fields = db.rows<[RecordType, string, CustomField['type']]>(
        'SELECT RECORD_TYPE, NAME, TYPE FROM CUSTOM_FIELDS ORDER BY RECORD_TYPE, rowid',
      );
      this.#sql = buildPimsSql(
        buildDictionaries(fields.map(([recordType, name, type]) => ({ recordType, name, type }))),
      );
      this.#schemaVersion = version;
    }
    return this.#sql;
  }
}
