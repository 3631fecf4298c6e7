/**
 * PostgreSQL's PimsStore: one tenant's inventory system in one schema. Waiting reads by key share a statement, and
 * writes go through the group commit. Source: decision 0020.
 */
import type { Clock } from '../../clock.ts';
import { orThrow, Refusal, type Outcome } from '../../errors.ts';
import {
  buildDictionaries,
  ofKeyedTypes,
  RECORD_TYPES,
  type CustomField,
  type Dictionaries,
  type KeyedType,
  type RecordType,
} from '../../pims/rules/fields.ts';
import type { ImportBatches, ImportResult, ImportResults } from '../../pims/import.ts';
import { refuseLargeOrder } from '../../pims/rules/order.ts';
import { ORDER_CHARACTERS_MAX } from '../../pims/rules/record-bounds.ts';
import type {
  ChangeRows,
  ImportOptions,
  OrderFound,
  Page,
  PimsStore,
  QueryRequest,
  RecordFound,
} from '../../pims/pims-port.ts';
import { textOf, type Json } from '../../pims/rules/json.ts';
import type { NumberedType } from '../../pims/writes/script.ts';
import type { Turns } from '../../tenant/turns.ts';
import { sortKey } from '../../pims/rules/values.ts';
import { LookRows, makeLook, readChangeRows, type ChangesAsked } from '../pims/look-sql.ts';
import { makeScriptRunner, parseWithFields, type ScriptRunner, type StartedScript } from '../pims/script-runner.ts';
import { CANCELED, sqlStateOf, type Connection, type StatementValues } from './connection/connection.ts';
import type { CutOptions, Pool, SharedConnection } from './connection/shared-connection.ts';
import { KeyBatch, PageBatch, PageRows } from './reads/shared-reads.ts';
import { LookupRows, makeLookups } from './reads/lookups.ts';
import type { LoadedRow } from './reads/page-sql.ts';
import { buildPimsSql, joinCells, LARGE, type PostgresPimsSql } from './reads/pims-sql.ts';
import { WriteGroup, type Locked } from './writes/write-group.ts';
import { PostgresWriteQueue } from './writes/write-queue.ts';

export interface PimsConnections {
  /** The connection for reads by key. */
  readonly reader: SharedConnection;
  readonly writers: Pool;
  /** The connections for writes that change the schema. */
  readonly schemaWriters: Pool;
  /** The connections for short queries. */
  readonly pages: readonly SharedConnection[];
  readonly queries: Pool;
  readonly turns: Turns;
  /** Cancels the statement that runs in a server process. */
  readonly cancel: CutOptions['cancel'];
  /** Resolves once the tenant's schema is the newest. */
  readonly ready: Promise<unknown>;
  /** Opens a separate connection without time limits, for long work, once the tenant is ready. */
  readonly openOwn: () => Promise<Connection>;
  /** Called when writes are committed. */
  readonly onCommit: () => void;
  /** The place of the pool's connection that has most likely served this tenant before. */
  readonly place: number;
  readonly queryBudgetMs: number;
  readonly clock: Clock;
}

type Fields = [RecordType, string, CustomField['type']];
/**
 * A record, its lines if they were requested, and the version of the dictionaries. A record found by key has its tag.
 */
type KeyedRow = [key: string, record: Json, lines: Json | null, fieldsVersion: number, tag?: string];

/** Collects rows. `takeRow` returns false once there are enough. */
interface RowReader {
  /** Whether the rows have no version of the dictionaries. */
  readonly isPlain?: boolean;
  takeRow(row: LoadedRow): boolean;
}
interface RowsQuery {
  readonly sql: string;
  readonly values: StatementValues;
}
type BuildSql<T> = (sql: PostgresPimsSql) => T;

const EXPORT_ROWS = 500;
/** The version of a tenant without custom fields, and its dictionaries. */
const FIELDS_VERSION_FIRST = 1;
const BUILT_IN = buildDictionaries([]);

/** Maximum number of orders kept as too large to be read together with others. */
const LARGE_ORDERS_MAX = 1000;

const neverGone = (): AbortSignal => new AbortController().signal;

export class PostgresPimsStore implements PimsStore {
  readonly #connections: PimsConnections;
  readonly #schema: string;
  readonly #scripts: ScriptRunner;
  readonly #orders: KeyBatch<KeyedRow>;
  readonly #largeOrders = new Set<string>();
  readonly #records: Readonly<Record<KeyedType, KeyBatch<KeyedRow>>>;
  readonly viewOrders: PimsStore['viewOrders'];
  readonly viewOrdersOfEach: PimsStore['viewOrdersOfEach'];
  readonly look: PimsStore['look'];
  readonly write: PimsStore['write'];
  readonly #fieldsVersions: KeyBatch<number>;
  readonly #changes: KeyBatch<ChangeRows>;
  readonly #pages: PageBatch;
  /** The newest SQL. A read compares the version in its rows with the SQL that it was sent with. */
  #sql: PostgresPimsSql;

  constructor(schema: string, connections: PimsConnections) {
    this.#connections = connections;
    this.#schema = schema;
    this.#sql = buildPimsSql(schema, BUILT_IN, FIELDS_VERSION_FIRST);
    const { ready } = connections;
    const queue = new PostgresWriteQueue({ ...connections, lock: (connection) => this.#lock(connection) });
    this.#scripts = makeScriptRunner({
      sql: () => this.#sql.script(),
      refresh: () => this.dictionaries(),
      commitScript: async (begin, size) => {
        await ready;
        return queue.enqueueScript(begin, size);
      },
    });
    this.write = this.#scripts.runWrite;
    const byKey = (build: BuildSql<string>): KeyBatch<KeyedRow> =>
      new KeyBatch(async (keys) => new Map((await this.#readByKeys(build, keys)).map((row) => [row[0], row])));
    this.#orders = byKey(({ ordersWithLines }) => ordersWithLines());
    this.#records = ofKeyedTypes((recordType) => byKey(({ records }) => records[recordType]()));
    const ordersByReference = new KeyBatch(async (keys: string[]) =>
      Map.groupBy(await this.#readByKeys((newest) => newest.ordersByReference(), keys), ([key]) => key),
    );
    const lookups = makeLookups({
      readSmall: async (number) => (await ordersByReference.askKey(number)) ?? [],
      readLarge: (numbers, recordsMax, signal) =>
        this.#readInTurn(
          signal,
          ({ lookup }) => ({ sql: lookup(), values: [numbers, recordsMax + 1] }),
          () => new LookupRows(recordsMax),
        ),
    });
    this.viewOrders = lookups.viewOrders;
    this.viewOrdersOfEach = lookups.viewOrdersOfEach;
    this.#pages = new PageBatch(connections.pages, (...of) => this.#isOutdated(...of), connections.clock);
    this.look = makeLook(
      () => this.#sql.script().looks,
      (query, signal) =>
        this.#readInTurn(
          signal,
          () => query,
          () => new LookRows(),
        ),
    );
    // Calls that wait for a change mostly ask the same question.
    const readChanges = async (question: string): Promise<[string, ChangeRows]> => {
      const asked = JSON.parse(question) as ChangesAsked;
      return [question, readChangeRows(await connections.reader.askRows(this.#sql.changes, asked), asked)];
    };
    this.#changes = new KeyBatch(async (questions) => new Map(await Promise.all(questions.map(readChanges))));
    this.#fieldsVersions = new KeyBatch(
      async () => new Map([['', (await connections.reader.askRows<[number]>(this.#sql.fieldsVersion, []))[0]![0]]]),
    );
  }

  async dictionaries(): Promise<Dictionaries> {
    await this.#connections.ready;
    await this.#follow((await this.#fieldsVersions.askKey(''))!);
    return this.#sql.dictionaries;
  }

  async getOrder(orderNumber: string, signal = neverGone): Promise<Outcome<OrderFound | undefined>> {
    const key = sortKey(orderNumber);
    if (!this.#largeOrders.has(key)) {
      const found = await this.#orders.askKey(key);
      if (found?.[2] !== LARGE) return found && { order: found[1], lines: found[2], tag: found[4]! };
      if (this.#largeOrders.size >= LARGE_ORDERS_MAX) this.#largeOrders.clear();
      this.#largeOrders.add(key);
    }
    const filters = [{ field: RECORD_TYPES.orders.key, value: orderNumber }];
    const request = { filters, hasLines: true, limit: 1, bytesMax: ORDER_CHARACTERS_MAX, after: '', signal };
    const rows = await this.#readPage('orders', request);
    if (rows instanceof Refusal || !rows.last) return rows instanceof Refusal ? rows : undefined;
    if (rows.isTooLarge) return refuseLargeOrder();
    const { records, lines = null } = rows.page;
    return { order: textOf(records).slice(1, -1), lines, tag: rows.last[6]! };
  }

  async getRecord(recordType: KeyedType, key: string): Promise<RecordFound | undefined> {
    const found = await this.#records[recordType].askKey(sortKey(key));
    return found && { record: found[1], tag: found[4]! };
  }

  async queryRecords(recordType: RecordType, request: QueryRequest): Promise<Outcome<Page>> {
    const query = await parseWithFields({ sql: () => this.#sql, refresh: () => this.dictionaries() }, (sql) =>
      sql.buildPageSql(recordType, request),
    );
    if (query instanceof Refusal) return query;
    await this.#connections.ready;
    const found = query.together && (await this.#pages.askPage(query.together));
    if (found === null) return this.queryRecords(recordType, request);
    if (found) return found;
    const rows = await this.#readPage(recordType, request);
    if (rows instanceof Refusal) return rows;
    if (rows.isTooLarge) return refuseLargeOrder('include');
    if (!request.isCounted) return rows.page;
    // Each row has the count. If there is no row after the cursor, the first row of the query has it.
    const isEnd = !rows.last && request.after !== '';
    const counted = isEnd ? await this.#readPage(recordType, { ...request, limit: 1, after: '' }) : rows;
    return counted instanceof Refusal ? counted : { ...rows.page, count: counted.last?.[4] ?? 0 };
  }

  async *importRows(recordType: RecordType, batches: ImportBatches, options: ImportOptions): ImportResults {
    yield* options.atomic
      ? this.#importAtOnce(recordType, batches, options)
      : this.#scripts.importEach(recordType, batches, options);
    // Updates the statistics, so that the next query is planned for the new rows.
    await using connection = await this.#connections.openOwn();
    await connection.execute(this.#sql.measure(recordType));
  }

  async *exportRows(recordType: RecordType, names: readonly string[]): AsyncIterable<Uint8Array> {
    await using connection = await this.#connections.openOwn();
    await connection.execute('BEGIN READ ONLY');
    await connection.execute(`DECLARE everything NO SCROLL CURSOR FOR ${this.#sql.rows(recordType, names)}`);
    const fetchRows = (): Promise<[string][]> => {
      const rows = connection.query<[string]>(`FETCH ${EXPORT_ROWS} FROM everything`);
      // The loop throws this fault when it awaits the rows.
      rows.catch(() => undefined);
      return rows;
    };
    for (let ahead = fetchRows(); ;) {
      const rows = await ahead;
      if (rows.length === 0) return;
      // The server reads the next rows while these are used.
      ahead = fetchRows();
      yield joinCells(rows.map(([record]) => record));
    }
  }

  async readChanges(after: number | null, limit: number): Promise<ChangeRows> {
    await this.#connections.ready;
    return (await this.#changes.askKey(JSON.stringify([after, limit])))!;
  }

  #readPage(recordType: RecordType, request: QueryRequest): Promise<Outcome<PageRows>> {
    return this.#readInTurn(
      request.signal,
      (sql) => sql.buildPageSql(recordType, request).alone,
      () => new PageRows(request),
    );
  }

  /**
   * Reads row by row until the reader has enough, on a connection for queries, in the tenant's turn. Reads again if its
   * SQL is outdated.
   */
  async #readInTurn<Reader extends RowReader>(
    signal: QueryRequest['signal'],
    build: BuildSql<RowsQuery>,
    begin: () => Reader,
  ): Promise<Outcome<Reader>> {
    const { queries, turns, place, queryBudgetMs, cancel, ready } = this.#connections;
    await ready;
    return turns.runInTurn(this.#schema, signal, async (turn) => {
      try {
        for (;;) {
          const sql = this.#sql;
          let [reader, version] = [begin(), 0];
          const startRows = () => {
            reader = begin();
            return (row: LoadedRow): boolean => {
              if (!reader.isPlain) version = row[2];
              return reader.takeRow(row);
            };
          };
          await queries.use(place, (connection) => connection.askUntil(build(sql), startRows, { turn, cancel }));
          if (!(await this.#isOutdated(sql, version))) return reader;
        }
      } catch (fault) {
        if (fault instanceof Refusal && fault.code === 'SERVICE_BUSY') return fault;
        if (sqlStateOf(fault) !== CANCELED) throw fault;
        const message = `The query did not finish within ${queryBudgetMs} ms. Add an exact filter on an indexed field.`;
        return new Refusal('QUERY_TOO_COSTLY', message);
      }
    });
  }

  /** Reads rows by their keys, and again if the SQL is outdated. */
  async #readByKeys(build: BuildSql<string>, keys: string[]): Promise<KeyedRow[]> {
    const { reader, ready } = this.#connections;
    await ready;
    const sql = this.#sql;
    const rows = await reader.askRows<KeyedRow>(build(sql), [keys]);
    return rows[0] && (await this.#isOutdated(sql, rows[0][3])) ? this.#readByKeys(build, keys) : rows;
  }

  async *#importAtOnce(recordType: RecordType, batches: ImportBatches, options: ImportOptions): ImportResults {
    // An open transaction ends with its connection, even if the reader of the results stops.
    await using connection = await this.#connections.openOwn();
    try {
      connection.beginTransaction();
      let locked = this.#lock(connection);
      let rejected = 0;
      for await (const rows of batches) {
        const startBatch = (): StartedScript<ImportResult> => this.#scripts.importBatch(recordType, rows, options);
        const group = new WriteGroup(connection, [startBatch]);
        const [outcome] = await group.runScripts(locked);
        locked = Promise.resolve({ ...(await locked), next: group.next });
        const imported = orThrow(outcome as Outcome<ImportResult>);
        rejected += imported.rejected.length;
        yield imported;
      }
      if (rejected > 0) return;
      await connection.commitTransaction();
      this.#connections.onCommit();
    } catch (fault) {
      throw connection.sentFault ?? fault;
    }
  }

  async #lock(connection: Connection): Promise<Locked> {
    const versions = connection.query<[number]>(this.#sql.lock);
    const counters = connection.query<[NumberedType, number]>(this.#sql.counters);
    // If the lock failed, report the fault of the lock, because this fault is only its consequence.
    counters.catch(() => undefined);
    await this.#follow((await versions)[0]![0], connection);
    return { sql: this.#sql.script(), next: new Map(await counters) };
  }

  /** Returns whether rows of this version were read with older SQL. By then, the newest SQL is not older. */
  async #isOutdated(sql: { version: number }, version: number): Promise<boolean> {
    if (version <= sql.version) return false;
    await this.#follow(version);
    return true;
  }

  /** Builds newer SQL if a node has added a field since the newest was built. */
  async #follow(version: number, connection?: Connection): Promise<void> {
    if (version <= this.#sql.version) return;
    const sql = this.#sql.customFields;
    const fields = await (connection
      ? connection.query<Fields>(sql)
      : this.#connections.reader.askRows<Fields>(sql, []));
    // Another call may have followed a newer version in the meantime.
    if (version <= this.#sql.version) return;
    const dictionaries = buildDictionaries(fields.map(([recordType, name, type]) => ({ recordType, name, type })));
    this.#sql = buildPimsSql(this.#schema, dictionaries, version);
  }
}
