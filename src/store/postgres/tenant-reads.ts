/**
 * The reads of one tenant's records. Reads by key and short queries that wait at the same moment share a statement. All
 * others run in the tenant's turn and arrive row by row. Source: decision 0036.
 */
import type { Clock } from '../../clock.ts';
import { Refusal, type Outcome } from '../../errors.ts';
import { ofKeyedTypes, RECORD_TYPES, type KeyedType, type RecordType } from '../../pims/rules/fields.ts';
import { refuseLargeOrder } from '../../pims/rules/order.ts';
import { ORDER_CHARACTERS_MAX } from '../../pims/rules/record-bounds.ts';
import { refuseSlowQuery } from '../../pims/reads/query.ts';
import { renderStorefrontOrders } from '../../pims/reads/storefront.ts';
import type { ChangeRows, OrderFound, Page, PimsStore, QueryRequest } from '../../pims/pims-port.ts';
import { textOf, type Json } from '../../pims/rules/json.ts';
import type { Turns } from '../../tenant/turns.ts';
import { sortKey } from '../../pims/rules/values.ts';
import { LookRows, makeLook, readChangeRows, type ChangesAsked } from '../pims/look-sql.ts';
import { makeLookups, parseOrder, TOO_LARGE } from '../pims/lookups.ts';
import { parseWithFields } from '../pims/script-runner.ts';
import { CANCELED, sqlStateOf, type StatementValues } from './connection/connection.ts';
import type { CutOptions, Pool, SharedConnection } from './connection/shared-connection.ts';
import { makeKeyBatch, makePageBatch } from './reads/shared-reads.ts';
import { LookupRows, PageRows } from './reads/row-readers.ts';
import type { LoadedRow } from './reads/page-sql.ts';
import { LARGE, SMALL_ORDERS, type PostgresPimsSql, type SqlFollower } from './reads/pims-sql.ts';

export interface ReadConnections {
  /** The connection for reads by key. */
  readonly reader: SharedConnection;
  /** The connections for short queries. */
  readonly pages: readonly SharedConnection[];
  readonly queries: Pool;
  readonly turns: Turns;
  /** Cancels the statement that runs in a server process. */
  readonly cancel: CutOptions['cancel'];
  /** Resolves once the tenant's schema is the newest. */
  readonly ready: Promise<unknown>;
  /** The place of the pool's connection that has most likely served this tenant before. */
  readonly place: number;
  readonly queryBudgetMs: number;
  readonly clock: Clock;
}

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

/** Maximum number of orders kept as too large to be read together with others. */
const LARGE_ORDERS_MAX = 1000;

const neverGone = (): AbortSignal => new AbortController().signal;

function makeRowReads(
  schema: string,
  { reader, queries, turns, place, queryBudgetMs, cancel, ready }: ReadConnections,
  { sql, isOutdated }: SqlFollower,
) {
  /** Reads rows by their keys, and again if the SQL is outdated. */
  const readByKeys = async (build: BuildSql<string>, keys: string[]): Promise<KeyedRow[]> => {
    await ready;
    const used = sql();
    const rows = await reader.askRows<KeyedRow>(build(used), [keys]);
    return rows[0] && (await isOutdated(used, rows[0][3])) ? readByKeys(build, keys) : rows;
  };
  return {
    readByKeys,
    /**
     * Reads row by row until the reader has enough, on a connection for queries, in the tenant's turn. Reads again if
     * its SQL is outdated.
     */
    readInTurn: async <Reader extends RowReader>(
      signal: QueryRequest['signal'],
      build: BuildSql<RowsQuery>,
      begin: () => Reader,
    ): Promise<Outcome<Reader>> => {
      await ready;
      return turns.runInTurn(schema, signal, async (turn) => {
        try {
          for (;;) {
            const used = sql();
            let [rows, version] = [begin(), 0];
            const startRows = () => {
              rows = begin();
              return (row: LoadedRow): boolean => {
                if (!rows.isPlain) version = row[2];
                return rows.takeRow(row);
              };
            };
            await queries.use(place, (connection) => connection.askUntil(build(used), startRows, { turn, cancel }));
            if (!(await isOutdated(used, version))) return rows;
          }
        } catch (fault) {
          if (fault instanceof Refusal && fault.code === 'SERVICE_BUSY') return fault;
          if (sqlStateOf(fault) !== CANCELED) throw fault;
          return refuseSlowQuery(queryBudgetMs);
        }
      });
    },
  };
}

export function makeTenantReads(schema: string, connections: ReadConnections, follower: SqlFollower) {
  const { reader, ready } = connections;
  const { sql } = follower;
  const { readByKeys, readInTurn } = makeRowReads(schema, connections, follower);
  const byKey = (build: BuildSql<string>) =>
    makeKeyBatch(async (keys) => new Map((await readByKeys(build, keys)).map((row) => [row[0], row])));
  const askRecord = ofKeyedTypes((recordType) => byKey(({ records }) => records[recordType]()));
  const askReference = makeKeyBatch(async (keys: string[]) =>
    Map.groupBy(await readByKeys(({ ordersByReference }) => ordersByReference(), keys), ([key]) => key),
  );
  // Calls that wait for a change mostly ask the same question.
  const readChanges = async (question: string): Promise<[string, ChangeRows]> => {
    const asked = JSON.parse(question) as ChangesAsked;
    return [question, readChangeRows(await reader.askRows(sql().changes, asked), asked)];
  };
  const askChanges = makeKeyBatch(async (questions) => new Map(await Promise.all(questions.map(readChanges))));
  const askVersion = makeKeyBatch(
    async () => new Map([['', (await reader.askRows<[number]>(sql().fieldsVersion, []))[0]![0]]]),
  );
  const dictionaries = async () => {
    await ready;
    await follower.follow((await askVersion(''))!);
    return sql().dictionaries;
  };
  const readPage = (recordType: RecordType, request: QueryRequest) =>
    readInTurn(
      request.signal,
      (newest) => newest.buildPageSql(recordType, request).alone,
      () => new PageRows(request),
    );
  return {
    dictionaries,
    getOrder: makeOrderRead(
      byKey(({ ordersWithLines }) => ordersWithLines()),
      readPage,
    ),
    async getRecord(recordType: KeyedType, key: string) {
      const found = await askRecord[recordType](sortKey(key));
      return found && { record: found[1], tag: found[4]! };
    },
    queryRecords: makePageRead(connections, { ...follower, dictionaries }, readPage),
    ...makeLookups(async (numbers, { recordsMax, signal }) => {
      const [number, next] = numbers;
      if (next === undefined) {
        const found = (await askReference(number!)) ?? [];
        if (found.length > recordsMax) return TOO_LARGE;
        if (found.length <= SMALL_ORDERS && found.every(([, , lines]) => lines !== LARGE)) {
          const orders = found.map(([, order, lines]) => parseOrder(order, lines ?? '[]'));
          return [renderStorefrontOrders(number!, orders)];
        }
      }
      const rows = await readInTurn(
        signal,
        ({ lookup }) => ({ sql: lookup(), values: [numbers, recordsMax + 1] }),
        () => new LookupRows(recordsMax),
      );
      if (rows instanceof Refusal) return rows;
      return rows.isTooLarge ? TOO_LARGE : rows.listResults(numbers);
    }),
    look: makeLook(
      () => sql().script().looks,
      (query, signal) =>
        readInTurn(
          signal,
          () => query,
          () => new LookRows(),
        ),
    ),
    async readChanges(...asked) {
      await ready;
      return (await askChanges(JSON.stringify(asked)))!;
    },
  } satisfies Partial<PimsStore>;
}

type ReadPage = (recordType: RecordType, request: QueryRequest) => Promise<Outcome<PageRows>>;

function makeOrderRead(
  askOrder: (key: string) => Promise<KeyedRow | undefined>,
  readPage: ReadPage,
): PimsStore['getOrder'] {
  const largeOrders = new Set<string>();
  return async (orderNumber, signal = neverGone): Promise<Outcome<OrderFound | undefined>> => {
    const key = sortKey(orderNumber);
    if (!largeOrders.has(key)) {
      const found = await askOrder(key);
      if (found?.[2] !== LARGE) return found && { order: found[1], lines: found[2], tag: found[4]! };
      if (largeOrders.size >= LARGE_ORDERS_MAX) largeOrders.clear();
      largeOrders.add(key);
    }
    const filters = [{ field: RECORD_TYPES.orders.key, value: orderNumber }];
    const request = { filters, hasLines: true, limit: 1, bytesMax: ORDER_CHARACTERS_MAX, after: '', signal };
    const rows = await readPage('orders', request);
    if (rows instanceof Refusal || !rows.last) return rows instanceof Refusal ? rows : undefined;
    if (rows.isTooLarge) return refuseLargeOrder();
    const { records, lines = null } = rows.page;
    return { order: textOf(records).slice(1, -1), lines, tag: rows.last[6]! };
  };
}

function makePageRead(
  { pages, ready, clock }: ReadConnections,
  { sql, isOutdated, dictionaries }: SqlFollower & Pick<PimsStore, 'dictionaries'>,
  readPage: ReadPage,
): PimsStore['queryRecords'] {
  const askPage = makePageBatch(pages, isOutdated, clock);
  const queryRecords = async (recordType: RecordType, request: QueryRequest): Promise<Outcome<Page>> => {
    const query = await parseWithFields({ sql, refresh: dictionaries }, (newest) =>
      newest.buildPageSql(recordType, request),
    );
    if (query instanceof Refusal) return query;
    await ready;
    const found = query.together && (await askPage(query.together));
    if (found === null) return queryRecords(recordType, request);
    if (found) return found;
    const rows = await readPage(recordType, request);
    if (rows instanceof Refusal) return rows;
    if (rows.isTooLarge) return refuseLargeOrder('include');
    if (!request.isCounted) return rows.page;
    // Each row has the count. If there is no row after the cursor, the first row of the query has it.
    const isEnd = !rows.last && request.after !== '';
    const counted = isEnd ? await readPage(recordType, { ...request, limit: 1, after: '' }) : rows;
    return counted instanceof Refusal ? counted : { ...rows.page, count: counted.last?.[4] ?? 0 };
  };
  return queryRecords;
}
