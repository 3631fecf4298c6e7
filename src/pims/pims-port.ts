/**
 * The port to the inventory system of one tenant, implemented under store/. A PimsStore reaches no other tenant. A
 * method runs in one transaction, and a write returns after it is on disk. Refusals are returned, faults are thrown.
 */
import type { Outcome } from '../errors.ts';
import type { Dictionaries, KeyedType, RecordType } from './rules/fields.ts';
import type { ImportBatches, ImportResults, RowOptions } from './import.ts';
import type { Values } from './rules/values.ts';
import type { Json, Rendered } from './rules/json.ts';
import type { ChangedRecord, FieldChange, Idempotency, LedgerRow, Write } from './writes/script.ts';
import type { Filter } from './reads/query.ts';

export interface QueryRequest {
  readonly filters: readonly Filter[];
  /** `FIELD` or `-FIELD`. Undefined sorts by the key. */
  readonly sort?: string | undefined;
  readonly limit: number;
  /** Maximum bytes of the records of a page. Only a page with a single record can be larger. */
  readonly bytesMax: number;
  readonly signal: () => AbortSignal;
  /** Position of the last record of the previous page: its sort key, or with `sort` a `formatPosition`; '' at first. */
  readonly after: string;
  /** Names of the fields to return, in this order. Undefined returns all fields. */
  readonly fields?: readonly string[] | undefined;
  /** Whether to include the lines of orders. They count towards `bytesMax`. */
  readonly hasLines?: boolean | undefined;
  /** Whether to count all matching records. */
  readonly isCounted?: boolean | undefined;
}

export interface Page {
  readonly records: Rendered;
  /** Lines of all orders on the page as in OrderFound, if the request has `hasLines`. */
  readonly lines?: Rendered | null | undefined;
  /** Number of matching records on all pages, if the request has `isCounted`. */
  readonly count?: number | undefined;
  /** Position of the last record, or null if this is the last page. */
  readonly next: string | null;
}

/** The version of a record as a tag. Every change of what a single read returns changes the tag. */
interface Tagged {
  /** Value of the header ETag, with its quotes. */
  readonly tag: string;
}

export interface RecordFound extends Tagged {
  readonly record: Json;
}

/** An order with its lines. The tag also changes when a line changes. */
export interface OrderFound extends Tagged {
  readonly order: Json;
  readonly lines: Rendered | null;
}

export interface LookupOptions {
  readonly recordsMax: number;
  readonly signal: () => AbortSignal;
}

export interface ImportOptions extends RowOptions {
  readonly atomic: boolean;
}

/**
 * Example: `{ seq: '1024', type: 'orders', key: '20015', change: 'updated', at: '2026-11-20T…Z', operation:
 * 'addLineItem', by: 'default', changes: [['line', '', '2 × CASE', '1']] }`.
 */
export interface Change {
  /** The number of the change. Numbers ascend and can have gaps. */
  readonly seq: string;
  readonly type: KeyedType;
  readonly key: string;
  readonly change: string;
  /** UTC time in ISO 8601. Writes that are committed together have the time of the last one. */
  readonly at: string;
  /** Name of the operation or command, of a batch the first one that touched the record. */
  readonly operation: string;
  /** Email address, name of a pair of keys, `command line`, or `import`. '' if it is not known. */
  readonly by: string;
  /** Fields of an updated record. Empty for a new record. */
  readonly changes: readonly FieldChange[];
}

/** Changes of the feed, and the bounds of the feed in the same snapshot. */
export interface ChangeRows {
  /** Empty if they have too many bytes to be read at once. */
  readonly changes: readonly Change[];
  /** The position before the first change that is kept, its time, and the number of the newest change. */
  readonly earliest: number;
  readonly earliestAt: string;
  readonly newest: number;
}

/** Reads that can be long, by name, with their arguments and results. One that reaches a megabyte ends early. */
export interface Looks {
  /** Returns changes of these types, and the position up to which there are no others. */
  changes(after: number, types: readonly KeyedType[], limit: number): { changes: readonly Change[]; next: number };
  /** Returns movements of a part: those after a number in ascending order, or those before it, the newest first. */
  movements(partCode: string, side: 'after' | 'before', number: number, limit: number): readonly NumberedMovement[];
  /**
   * Returns the lines that wait for a part, each with its QUANTITY and fields of its order, among the 2000 open sales
   * orders with the lowest numbers.
   */
  waiting(partCode: string): readonly Values[];
  /** Returns changes of a record, the newest first, as far back as the last 100,000 commits. */
  history(
    recordType: KeyedType,
    key: string,
    limit: number,
  ): readonly (readonly [at: string, changed: ChangedRecord])[];
  serials(serial: string): readonly Pick<LedgerRow, 'PART_CODE' | 'ORDER_NUMBER'>[];
}

export interface NumberedMovement extends LedgerRow {
  readonly NUMBER: number;
  /** The number of the part's last movement. */
  readonly NEWEST: number;
}

export interface PimsStore {
  /** Returns the current field dictionaries, even if another process has just added a field. */
  dictionaries(): Promise<Dictionaries>;
  /** Returns an order. `lines` is a list of `{"ORDER_LINEITEMS": line}`, or null. `signal` ends the read early. */
  getOrder(orderNumber: string, signal?: () => AbortSignal): Promise<Outcome<OrderFound | undefined>>;
  getRecord(recordType: KeyedType, key: string): Promise<RecordFound | undefined>;
  /**
   * Returns a page of matching records. Returns QUERY_TOO_COSTLY if the time budget is used up, TOO_MANY_QUERIES if too
   * many queries of the tenant are waiting, or RESULT_TOO_LARGE if one order has too many lines for a response.
   */
  queryRecords(recordType: RecordType, request: QueryRequest): Promise<Outcome<Page>>;
  /** Looks up orders by REFERENCE_NUMBER (see storefront.ts). Returns RESULT_TOO_LARGE above `recordsMax`. */
  viewOrders(referenceNumber: string, options: LookupOptions): Promise<Outcome<Rendered>>;
  /** Looks up several numbers and returns a list in the same order. `recordsMax` applies to all of them together. */
  viewOrdersOfEach(referenceNumbers: readonly string[], options: LookupOptions): Promise<Outcome<Rendered>>;
  /**
   * Runs a write in one transaction. Returns IDEMPOTENCY_KEY_RUNNING while another write with its key is running.
   * `size` is the number of single writes that it counts as.
   */
  write<T>(write: Write<T>, idempotency?: Idempotency, size?: number): Promise<Outcome<T>>;
  /** Imports rows, each batch in its transaction, or all in one if `atomic`. Reports each batch when it is done. */
  importRows(recordType: RecordType, batches: ImportBatches, options: ImportOptions): ImportResults;
  /** Reads in the tenant's turn. Returns QUERY_TOO_COSTLY and TOO_MANY_QUERIES as queryRecords does. */
  look<Name extends keyof Looks>(
    name: Name,
    signal: () => AbortSignal,
    ...args: Parameters<Looks[Name]>
  ): Promise<Outcome<ReturnType<Looks[Name]>>>;
  /** Returns changes after a position in ascending order; after null, the first ones. */
  readChanges(after: number | null, limit: number): Promise<ChangeRows>;
  /**
   * Exports these fields of all records of a type as of one moment, sorted by key, in chunks of up to 500. A record is
   * its values in the order of the names, each followed by a NUL, which no value contains.
   */
  exportRows(recordType: RecordType, names: readonly string[]): AsyncIterable<Uint8Array>;
}
