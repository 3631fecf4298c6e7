/**
 * PostgreSQL's PimsStore: one tenant's inventory system in one schema. Reads by key that wait together go out
 * together; writes go through the group commit. Source: decision 0020.
 */
import type { Clock } from '../../clock.ts';
import { orThrow, Refusal, type Outcome } from '../../errors.ts';
import { buildDictionaries, ofKeyedTypes } from '../../pims/rules/fields.ts';
import type { CustomField, Dictionaries, KeyedType, RecordType } from '../../pims/rules/fields.ts';
import type { ImportBatches, ImportResult, ImportResults } from '../../pims/import.ts';
import { refuseLargeOrder } from '../../pims/rules/line-item.ts';
import { ORDER_CHARACTERS_MAX } from '../../pims/rules/record-bounds.ts';
import type { ImportOptions, LookupOptions, OrderFound, Page, PimsStore } from '../../pims/pims-port.ts';
import type { QueryRequest, RecordFound } from '../../pims/pims-port.ts';
import type { Idempotency, Json, NumberedType, Rendered, Write } from '../../pims/writes/script.ts';
import type { Turn, Turns } from '../../tenant/turns.ts';
import { formatPosition } from '../../pims/reads/sort.ts';
import { sortKey } from '../../pims/rules/values.ts';
import { PageFiller } from '../pims/page.ts';
import { parseWithFields, ScriptRunner, type StartedScript } from '../pims/script-runner.ts';
import { CANCELED, sqlStateOf, type Connection, type StatementValues } from './connection/connection.ts';
import type { CutOptions } from './connection/cut-statement.ts';
import { KeyBatch } from './reads/key-batch.ts';
import { PageBatch } from './reads/page-batch.ts';
import { LargeOrders } from './reads/large-orders.ts';
import { Lookups } from './reads/lookups.ts';
import { OrderRows } from './reads/order-rows.ts';
import { buildPimsSql, joinCells, LARGE, type LargeRow, type PostgresPimsSql } from './reads/pims-sql.ts';
import type { Pool } from './connection/pool.ts';
import type { SharedConnection } from './connection/shared-connection.ts';
import { WriteGroup, type Locked } from './writes/write-group.ts';
import { PostgresWriteQueue } from './writes/write-queue.ts';

export interface PimsConnections {
  /** Reads by key. */
  readonly reader: SharedConnection;
  readonly writers: Pool;
  /** Short queries. */
  readonly pages: readonly SharedConnection[];
  readonly queries: Pool;
  readonly turns: Turns;
  /** Cancels what runs in a process of the server. */
  readonly cancel: CutOptions['cancel'];
  /** Opens a connection of one's own without time limits, for what takes long. */
  readonly openOwn: () => Promise<Connection>;
  /** Which of a pool's connections has most likely seen this tenant before. */
  readonly place: number;
  readonly queryBudgetMs: number;
  readonly clock: Clock;
}

type Fields = [RecordType, string, CustomField['type']];
/** A key, the record, its lines where they were asked for, the version of the dictionaries, the tag of a single record. */
type KeyedRow = [key: string, record: Json, lines: Json | null, fieldsVersion: number, tag?: string];

/** See PageQuery. */
type LoadedRow = [
  sortKey: string,
  record: Json | null,
  fieldsVersion: number,
  lines?: Json | null,
  count?: number,
  value?: string,
];

const EXPORT_ROWS = 500;
/** The version of a tenant without custom fields, and its dictionaries. */
const FIELDS_VERSION_FIRST = 1;
const BUILT_IN = buildDictionaries([]);

/** Long orders of a statement, and of how many orders the size is known. */
const LONG_ORDERS_MAX = 4;
const SIZES_MAX = 1000;

const neverGone = (): AbortSignal => new AbortController().signal;
const mapOf = (rows: readonly KeyedRow[]): ReadonlyMap<string, KeyedRow> => new Map(rows.map((row) => [row[0], row]));
/** A line as the answer has it. */
const wrapLine = (line: Json): Json => `{"ORDER_LINEITEMS":${line}}`;

export class PostgresPimsStore implements PimsStore {
  readonly #connections: PimsConnections;
  readonly #schema: string;
  readonly #scripts: ScriptRunner;
  /** With lines: small orders, and long ones. */
  readonly #orders: readonly KeyBatch<KeyedRow>[];
  /** The place in `#orders` of those that are not small. Behind the last: read by themselves. */
  readonly #sizes = new Map<string, number>();
  readonly #records: Readonly<Record<KeyedType, KeyBatch<KeyedRow>>>;
  readonly #lookups: Lookups;
  readonly #fieldsVersions: KeyBatch<number>;
  readonly #pages: PageBatch;
  #sql: PostgresPimsSql;
  #fieldsVersion = FIELDS_VERSION_FIRST;

  constructor(schema: string, connections: PimsConnections) {
    this.#connections = connections;
    this.#schema = schema;
    this.#sql = buildPimsSql(schema, BUILT_IN);
    const { writers, place } = connections;
    const queue = new PostgresWriteQueue(writers, place, {
      lock: (connection) => this.#lock(connection),
      clock: connections.clock,
    });
    this.#scripts = new ScriptRunner({
      sql: () => this.#sql.script(),
      refresh: () => this.dictionaries(),
      commit: (begin, size) => queue.run(begin, size),
    });
    const byKey = (sql: () => string): KeyBatch<KeyedRow> =>
      new KeyBatch(async (keys) => mapOf(await this.#read(sql, keys)));
    const longOrders = new KeyBatch((keys: string[]) => this.#readLong(keys), LONG_ORDERS_MAX);
    this.#orders = [byKey(() => this.#sql.ordersWithLines()), longOrders];
    this.#records = ofKeyedTypes((recordType) => byKey(() => this.#sql.records[recordType]()));
    const ordersByReference = new KeyBatch(async (keys: string[]) =>
      Map.groupBy(await this.#read(() => this.#sql.ordersByReference(), keys), ([key]) => key),
    );
    this.#lookups = new Lookups({
      readSmall: async (number) => (await ordersByReference.ask(number)) ?? [],
      readLarge: (values, start, signal) => this.#loadLarge('largeOrdersByReference', values, start, signal),
    });
    this.#pages = new PageBatch(connections.pages, (version) => this.#follow(version), connections.clock);
    this.#fieldsVersions = new KeyBatch(
      async () => new Map([['', (await connections.reader.ask<[number]>(this.#sql.fieldsVersion, []))[0]![0]]]),
    );
  }

  async dictionaries(): Promise<Dictionaries> {
    await this.#follow((await this.#fieldsVersions.ask(''))!);
    return this.#sql.dictionaries;
  }

  async getOrder(orderNumber: string, signal = neverGone): Promise<Outcome<OrderFound | undefined>> {
    const key = sortKey(orderNumber);
    for (let size = this.#sizes.get(key) ?? 0; size < this.#orders.length; size++) {
      const found = await this.#orders[size]!.ask(key);
      if (found?.[2] !== LARGE) return found && { order: found[1], lines: found[2], tag: found[4]! };
      if (this.#sizes.size >= SIZES_MAX) this.#sizes.clear();
      this.#sizes.set(key, size + 1);
    }
    const take = { order: (record: Json) => record, line: wrapLine };
    const start = (): LargeOrders<Json, Json> => new LargeOrders(1, ORDER_CHARACTERS_MAX, take);
    const read = await this.#loadLarge('largeOrder', [key, 1], start, signal);
    if (read instanceof Refusal) return read;
    if (read.isTooLarge) return refuseLargeOrder();
    const [large] = read.list();
    return large && { order: large.order, lines: `[${large.lines.join(',')}]`, tag: large.tag };
  }

  async getRecord(recordType: KeyedType, key: string): Promise<RecordFound | undefined> {
    const found = await this.#records[recordType].ask(sortKey(key));
    return found && { record: found[1], tag: found[4]! };
  }

  async queryRecords(recordType: KeyedType, request: QueryRequest): Promise<Outcome<Page>> {
    const query = await parseWithFields({ sql: () => this.#sql, refresh: () => this.dictionaries() }, (sql) =>
      sql.page(recordType, request),
    );
    if (query instanceof Refusal) return query;
    const page = query.together && (await this.#pages.ask(query.together));
    return (
      page ??
      this.#readLarge(request.signal, (connection, turn) => this.#loadPage(connection, recordType, request, turn))
    );
  }

  viewOrders(referenceNumber: string, options: LookupOptions): Promise<Outcome<Rendered>> {
    return this.#lookups.view(referenceNumber, options);
  }

  viewOrdersOfEach(referenceNumbers: readonly string[], options: LookupOptions): Promise<Outcome<Rendered>> {
    return this.#lookups.viewEach(referenceNumbers, options);
  }

  write<T>(write: Write<T>, idempotency?: Idempotency, size = 1): Promise<Outcome<T>> {
    return this.#scripts.run(write, idempotency, size);
  }

  async *importRows(recordType: RecordType, batches: ImportBatches, { now, atomic }: ImportOptions): ImportResults {
    yield* atomic ? this.#importAtOnce(recordType, batches, now) : this.#scripts.importEach(recordType, batches, now);
    // The next query is planned by what is there now.
    const connection = await this.#connections.openOwn();
    try {
      await connection.execute(this.#sql.measure(recordType));
    } finally {
      await connection.close();
    }
  }

  async *exportRows(recordType: RecordType): AsyncIterable<Uint8Array> {
    const connection = await this.#connections.openOwn();
    try {
      await connection.execute('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      await this.#followOn(connection, this.#sql.fieldsVersion);
      await connection.execute(`DECLARE everything NO SCROLL CURSOR FOR ${this.#sql.rows(recordType)}`);
      const fetchRows = (): Promise<[string][]> => {
        const rows = connection.queryOnce<[string]>(`FETCH ${EXPORT_ROWS} FROM everything`);
        // Its fault is thrown when its turn comes, if it does.
        rows.catch(() => undefined);
        return rows;
      };
      for (let ahead = fetchRows(); ;) {
        const rows = await ahead;
        if (rows.length === 0) return;
        // The server works on the next ones while these are used.
        ahead = fetchRows();
        yield joinCells(rows.map(([record]) => record));
      }
    } finally {
      await connection.close();
    }
  }

  /** Reads on a connection for queries, in the tenant's turn. */
  #readLarge<T>(
    signal: QueryRequest['signal'],
    read: (connection: SharedConnection, turn: Turn) => Promise<Outcome<T>>,
  ): Promise<Outcome<T>> {
    const { queries, turns, place, queryBudgetMs } = this.#connections;
    return turns.run(this.#schema, signal, async (turn) => {
      try {
        return await queries.use(place, (connection) => read(connection, turn));
      } catch (fault) {
        if (fault instanceof Refusal && fault.code === 'SERVICE_BUSY') return fault;
        if (sqlStateOf(fault) !== CANCELED) throw fault;
        const message = `The query did not finish within ${queryBudgetMs} ms. Add an exact filter on an indexed field.`;
        return new Refusal('QUERY_TOO_COSTLY', message);
      }
    });
  }

  /** A page, and again where the dictionaries it was asked with no longer hold. */
  async #loadPage(
    connection: SharedConnection,
    recordType: KeyedType,
    request: QueryRequest,
    turn: Turn,
  ): Promise<Outcome<Page>> {
    const { limit, bytesMax, hasLines, isCounted, after } = request;
    const { alone, isByField } = this.#sql.page(recordType, request);
    let filler = new PageFiller(limit, bytesMax);
    let orders = new OrderRows(limit, bytesMax);
    let [version, count] = [0, 0];
    const begin = () => {
      filler = new PageFiller(limit, bytesMax);
      orders = new OrderRows(limit, bytesMax);
      return ([key, record, fieldsVersion, lines = null, counted, value]: LoadedRow): boolean => {
        version = fieldsVersion;
        count = counted ?? 0;
        const position = isByField ? formatPosition(value!, key) : key;
        return hasLines ? orders.take(position, record, lines) : filler.take(position, record!) || filler.isLong;
      };
    };
    await connection.askUntil(alone, begin, { turn, cancel: this.#connections.cancel });
    if (await this.#follow(version)) return this.#loadPage(connection, recordType, request, turn);
    if (orders.isTooLarge) return refuseLargeOrder('include');
    const page = hasLines ? orders.page : filler.page;
    if (!isCounted) return page;
    if (version > 0 || after === '') return { ...page, count };
    // Nothing is left behind the cursor, so no row has brought the count.
    const first = await this.#loadPage(connection, recordType, { ...request, limit: 1, after: '' }, turn);
    return first instanceof Refusal ? first : { ...page, count: first.count };
  }

  /** Orders and their lines, in the tenant's turn. */
  #loadLarge<Order, Line>(
    name: 'largeOrder' | 'largeOrdersByReference',
    values: StatementValues,
    start: () => LargeOrders<Order, Line>,
    signal: QueryRequest['signal'],
  ): Promise<Outcome<LargeOrders<Order, Line>>> {
    return this.#readLarge(signal, async (connection, turn) => {
      for (;;) {
        let orders = start();
        const begin = (): ((row: LargeRow) => boolean) => {
          orders = start();
          return (row) => orders.take(row);
        };
        const options = { turn, cancel: this.#connections.cancel };
        await connection.askUntil({ sql: this.#sql[name](), values }, begin, options);
        // Again where the dictionaries they were asked with no longer hold.
        if (!(await this.#follow(orders.fieldsVersion))) return orders;
      }
    });
  }

  /** Rows by their keys, and again where the dictionaries they were asked with no longer hold. */
  async #read(sql: () => string, keys: string[], connection = this.#connections.reader): Promise<KeyedRow[]> {
    const rows = await connection.ask<KeyedRow>(sql(), [keys]);
    return rows[0] && (await this.#follow(rows[0][3])) ? this.#read(sql, keys, connection) : rows;
  }

  /** Long orders. They keep reads by key waiting no more than short queries do, and what takes longer is LARGE. */
  async #readLong(keys: string[]): Promise<ReadonlyMap<string, KeyedRow>> {
    try {
      return mapOf(await this.#read(() => this.#sql.longOrders(), keys, this.#connections.pages[0]));
    } catch (fault) {
      if (!(fault instanceof Refusal && fault.code === 'SERVICE_BUSY')) throw fault;
      return mapOf(keys.map((key) => [key, '', LARGE, 0]));
    }
  }

  async *#importAtOnce(recordType: RecordType, batches: ImportBatches, now: string): ImportResults {
    const connection = await this.#connections.openOwn();
    try {
      connection.begin();
      let locked = this.#lock(connection);
      let rejected = 0;
      for await (const rows of batches) {
        const begin = (): StartedScript<ImportResult> => this.#scripts.importBatch(recordType, rows, now);
        const group = new WriteGroup(connection, [begin]);
        const [outcome] = await group.runScripts(locked);
        locked = Promise.resolve({ isOld: false, next: group.next });
        const imported = orThrow(outcome as Outcome<ImportResult>);
        rejected += imported.rejected.length;
        yield imported;
      }
      if (rejected === 0) await connection.commit();
    } catch (fault) {
      throw connection.sentFault ?? fault;
    } finally {
      // Also reached when the reader of the results stops. An open transaction ends with its connection.
      await connection.close();
    }
  }

  async #lock(connection: Connection): Promise<Locked> {
    const version = this.#fieldsVersion;
    const [, next] = await Promise.all([
      this.#followOn(connection, this.#sql.lock),
      connection.query<[NumberedType, number]>(this.#sql.counters),
    ]);
    // A read may have been the first to find the change.
    return { isOld: this.#fieldsVersion !== version, next: new Map(next) };
  }

  async #followOn(connection: Connection, versionSql: string): Promise<boolean> {
    const [version] = await connection.query<[number]>(versionSql);
    return this.#follow(version![0], connection);
  }

  /** Builds the SQL anew when any node has added a field. True when one has. */
  async #follow(version: number, connection?: Connection): Promise<boolean> {
    if (version <= this.#fieldsVersion) return false;
    const sql = this.#sql.customFields;
    const fields = await (connection ? connection.query<Fields>(sql) : this.#connections.reader.ask<Fields>(sql, []));
    const dictionaries = buildDictionaries(fields.map(([recordType, name, type]) => ({ recordType, name, type })));
    this.#sql = buildPimsSql(this.#schema, dictionaries);
    this.#fieldsVersion = version;
    return true;
  }
}
