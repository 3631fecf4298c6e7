/**
 * The embedded store's PimsStore: one tenant's inventory system in one SQLite file, with a connection that reads what is committed and one that
 * writes through the group commit. Holds no rules. Source: docs/architecture.md.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Refusal, type Outcome } from '../../errors.ts';
import type { InvoiceRequest } from '../../pims/lifecycle.ts';
import {
  buildDictionaries,
  checkCustomField,
  RECORD_TYPES,
  sortKey,
  type CustomField,
  type Dictionaries,
  type RecordType,
  type Values,
} from '../../pims/record.ts';
import type { ImportResult, ImportRow, Json, KeyedType, Page, PageRequest, PimsStore, WriteOptions, Written } from '../../pims/store.ts';
import type { OrderWithLines } from '../../pims/storefront.ts';
import { PimsImport } from '../pims-import.ts';
import { PimsWriter } from '../pims-writer.ts';
import type { Writing } from '../writing.ts';
import { Database, faultOf, runWriting } from './database.ts';
import { migrate } from './migrate.ts';
import { writePimsSql, type PimsSql } from './pims-sql.ts';
import { runPage } from './query.ts';
import { TurnReader } from './turn-reader.ts';
import type { WorkerPool } from './worker-pool.ts';
import { WriteQueue } from './write-queue.ts';

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

export class SqlitePimsStore implements PimsStore {
  readonly #readerDb: Database;
  readonly #reader: TurnReader;
  readonly #writerDb: Database;
  readonly #writer: PimsWriter;
  readonly #queue: WriteQueue;
  readonly #options: PimsStoreOptions;
  readonly #running = new Set<string>();
  #sql: PimsSql;
  #schemaVersion = -1;

  constructor(file: string, options: PimsStoreOptions) {
    this.#options = options;
    this.#writerDb = new Database(file, { mode: 'write', busyTimeoutMs: options.busyTimeoutMs });
    migrate(this.#writerDb, 'pims');
    this.#readerDb = new Database(file, { mode: 'read', busyTimeoutMs: options.busyTimeoutMs });
    this.#reader = new TurnReader(this.#readerDb, options.onFatal, () => this.#followSchema(this.#readerDb));
    this.#sql = this.#followSchema(this.#readerDb);
    this.#writer = new PimsWriter(() => this.#sql);
    const { checkpoint, onFatal } = options;
    this.#queue = new WriteQueue(this.#writerDb, { gather: 'turn', syncAfterCommit: false, checkpoint, onFatal });
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
      (await this.#options.workers.run<Page | undefined>({ kind: 'query', file: this.#readerDb.file, query, budgetMs: this.#options.queryBudgetMs }));
    return (
      page ?? new Refusal('QUERY_TOO_COSTLY', `The query did not finish within ${this.#options.queryBudgetMs} ms. Add an exact filter on an indexed field.`)
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
        const lines = this.#readerDb.rows<[string]>(sql.lines, order['ORDER_NUMBER'] ?? '').map(([line]) => JSON.parse(line) as Values);
        return { order, lines };
      });
    });
  }

  createRecord(recordType: 'orders' | 'customers', values: Values, options: WriteOptions): Promise<Outcome<Written>> {
    return this.#write(options, () => this.#writer.createRecord(recordType, values, options));
  }

  updateCustomer(customerCode: string, change: Values, options: WriteOptions): Promise<Outcome<Written>> {
    return this.#write(options, () => this.#writer.updateCustomer(customerCode, change, options));
  }

  addLine(orderNumber: string, values: Values, options: WriteOptions): Promise<Outcome<Written>> {
    return this.#write(options, () => this.#writer.addLine(orderNumber, values, options));
  }

  updateLine(orderNumber: string, lockCode: string, change: Values, options: WriteOptions): Promise<Outcome<Written>> {
    return this.#write(options, () => this.#writer.updateLine(orderNumber, lockCode, change, options));
  }

  advanceOrder(orderNumber: string, step: { approve: true } | { invoice: InvoiceRequest }, options: WriteOptions): Promise<Outcome<Written>> {
    return this.#write(options, () => this.#writer.advanceOrder(orderNumber, step, options));
  }

  addField(field: CustomField): Promise<Outcome<void>> {
    return this.#queue.run(() => {
      const { recordType, name, type } = field;
      checkCustomField(this.#followSchema(this.#writerDb).dictionaries[recordType], name);
      this.#writerDb.run(`ALTER TABLE ${RECORD_TYPES[recordType].table} ADD COLUMN "${name}" TEXT NOT NULL DEFAULT ''`);
      this.#writerDb.run('INSERT INTO CUSTOM_FIELDS VALUES (?, ?, ?)', recordType, name, type);
      return undefined;
    });
  }

  async *importRows(
    recordType: RecordType,
    batches: AsyncIterable<ImportRow[]>,
    { now, atomic }: { now: string; atomic: boolean },
  ): AsyncIterable<ImportResult> {
    const importer = new PimsImport(this.#writer, now);
    if (!atomic) {
      for await (const batch of batches) {
        const result = await this.#queue.run(() => {
          this.#followSchema(this.#writerDb);
          return runWriting(this.#writerDb, importer.writeBatch(recordType, batch));
        });
        if (result instanceof Refusal) throw result;
        yield result;
      }
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

  /** A key whose first request is not yet on disk is running: nothing can be said of its outcome. */
  async #write(options: WriteOptions, work: () => Writing<Outcome<string>>): Promise<Outcome<Written>> {
    const { idempotency } = options;
    const running = idempotency && `${idempotency.operation} ${idempotency.key}`;
    if (running !== undefined && this.#running.has(running)) return new Refusal('IDEMPOTENCY_KEY_RUNNING', undefined, { retryAfterSeconds: 1 });
    if (running !== undefined) this.#running.add(running);
    try {
      return await this.#queue.run(() => {
        this.#followSchema(this.#writerDb);
        return runWriting(this.#writerDb, this.#writer.once(idempotency, options.now, work()));
      });
    } finally {
      if (running !== undefined) this.#running.delete(running);
    }
  }

  /** Writes the SQL anew when the schema has changed; another process may have added a field. */
  #followSchema(db: Database): PimsSql {
    const [version] = db.row<[number]>('PRAGMA schema_version')!;
    if (version !== this.#schemaVersion) {
      const fields = db.rows<[RecordType, string, CustomField['type']]>('SELECT RECORD_TYPE, NAME, TYPE FROM CUSTOM_FIELDS ORDER BY RECORD_TYPE, rowid');
      this.#sql = writePimsSql(buildDictionaries(fields.map(([recordType, name, type]) => ({ recordType, name, type }))));
      this.#schemaVersion = version;
    }
    return this.#sql;
  }
}
