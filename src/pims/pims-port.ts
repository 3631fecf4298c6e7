/**
 * Port: one tenant's inventory system, implemented under store/. A PimsStore reaches no other tenant. One method is one
 * transaction; what a write answers is on disk. Expected outcomes are returned, faults are thrown.
 */
import type { Outcome } from '../errors.ts';
import type { Dictionaries, KeyedType, RecordType } from './rules/fields.ts';
import type { ImportBatches, ImportResults } from './import.ts';
import type { Idempotency, Json, Rendered, Write } from './writes/script.ts';
import type { Filter } from './reads/filter.ts';

export interface QueryRequest {
  readonly filters: readonly Filter[];
  /** `FIELD` or `-FIELD`; the order of the keys without it. */
  readonly sort?: string | undefined;
  readonly limit: number;
  /** The page ends before the record that would make its records larger than this. It has one record at least. */
  readonly bytesMax: number;
  readonly signal: () => AbortSignal;
  /** Position of the last record of the page before: its sort key, or as sort.ts has it; '' begins. */
  readonly after: string;
  /** Names of the only fields to answer, in this order. Without it, all. */
  readonly fields?: readonly string[] | undefined;
  /** Whether the lines of orders come too. They count as bytes of the page. */
  readonly hasLines?: boolean | undefined;
  /** Whether to count all records that match. */
  readonly isCounted?: boolean | undefined;
}

export interface Page {
  readonly records: Rendered;
  /** Where lines were asked for: those of all its orders, as in OrderFound. */
  readonly lines?: Rendered | null | undefined;
  /** Where it was asked for: how many records match, on all pages together. */
  readonly count?: number | undefined;
  /** Position to go on after; null when this was the last page. */
  readonly next: string | null;
}

/**
 * What stands for everything that a single read answers, and for nothing else: every change of it changes the tag. As
 * the header ETag has it, with quotes.
 */
interface Tagged {
  readonly tag: string;
}

export interface RecordFound extends Tagged {
  readonly record: Json;
}

/** The tag covers the lines. */
export interface OrderFound extends Tagged {
  readonly order: Json;
  readonly lines: Rendered | null;
}

export interface LookupOptions {
  readonly recordsMax: number;
  readonly signal: () => AbortSignal;
}

export interface ImportOptions {
  /** CREATE_DATE and MODIFIED_DATE of the rows without one. */
  readonly now: string;
  readonly atomic: boolean;
}

export interface PimsStore {
  /** The field dictionaries as they stand now, also when another process has just added a field. */
  dictionaries(): Promise<Dictionaries>;
  /** `lines` is a list of `{"ORDER_LINEITEMS": line}`, null when there are none. Without a signal the caller stays. */
  getOrder(orderNumber: string, signal?: () => AbortSignal): Promise<Outcome<OrderFound | undefined>>;
  getRecord(recordType: KeyedType, key: string): Promise<RecordFound | undefined>;
  /**
   * One page of matching records in the order of their keys. QUERY_TOO_COSTLY when the time budget is used up,
   * TOO_MANY_QUERIES when too many of the tenant are waiting, RESULT_TOO_LARGE for an order with more lines than one
   * answer holds.
   */
  queryRecords(recordType: KeyedType, request: QueryRequest): Promise<Outcome<Page>>;
  /** The orders with this REFERENCE_NUMBER, as storefront.ts views them. RESULT_TOO_LARGE beyond `recordsMax`. */
  viewOrders(referenceNumber: string, options: LookupOptions): Promise<Outcome<Rendered>>;
  /** The same for each of these numbers, as a list in their order. RESULT_TOO_LARGE beyond `recordsMax` of all. */
  viewOrdersOfEach(referenceNumbers: readonly string[], options: LookupOptions): Promise<Outcome<Rendered>>;
  /**
   * Runs a write in one transaction. IDEMPOTENCY_KEY_RUNNING while another one under its key is under way. `size`: how
   * many single writes it is like.
   */
  write<T>(write: Write<T>, idempotency?: Idempotency, size?: number): Promise<Outcome<T>>;
  /** Imports rows, a batch a transaction; all or nothing when atomic. Reports each batch as it is done. */
  importRows(recordType: RecordType, batches: ImportBatches, options: ImportOptions): ImportResults;
  /**
   * All records of a type at one moment, by their keys, in chunks of up to 500: values in dictionary order, each with a
   * NUL behind it, which no value has.
   */
  exportRows(recordType: RecordType): AsyncIterable<Uint8Array>;
}
