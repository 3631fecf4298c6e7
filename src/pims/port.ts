/**
 * Port: what the rules need of one tenant's inventory system. Implemented under store/; whoever holds a PimsStore cannot reach another tenant.
 * One method is one transaction and one durable fact: what a write returns is on disk. Expected outcomes are returned, only faults are thrown.
 * Types only.
 */
import type { Outcome } from '../errors.ts';
import type { FilterTree } from './filter.ts';
import type { OrderTransition } from './lifecycle.ts';
import type { Values } from './values.ts';
import type { CustomField, Dictionaries, RecordType } from './fields.ts';
import type { OrderWithLines } from './storefront.ts';

/** The record types with a key of their own; lines belong to their order. */
export type KeyedType = Exclude<RecordType, 'lines'>;

/** A record, or a list of records, as the JSON text that goes out. */
export type Json = string;

/** Repeating a write with the same key answers the same without writing again. Kept with the write, in its transaction, for `keptMs` at least. */
export interface Idempotency {
  readonly key: string;
  readonly operation: string;
  /** SHA-256 of what was asked, hex: the same key with another one is refused. */
  readonly bodyHash: string;
  readonly keptMs: number;
}

export interface WriteOptions {
  /** Time of the write, UTC ISO 8601: becomes CREATE_DATE and MODIFIED_DATE. */
  readonly now: string;
  /** Whether codes must exist in their tables (tenant setting). */
  readonly strict: boolean;
  readonly idempotency?: Idempotency | undefined;
}

/** What a write answers: the data as JSON, e.g. `"10248"` or a line object. */
export interface Written {
  readonly data: Json;
  readonly replayed: boolean;
}

export interface PageRequest {
  readonly filters: FilterTree;
  readonly limit: number;
  /** Sort key of the last record of the page before; '' begins. */
  readonly after: string;
}

export interface Page {
  readonly records: Json;
  /** Sort key to go on after; null when this was the last page. */
  readonly next: string | null;
}

export interface ImportRow {
  readonly lineNumber: number;
  readonly values: Values;
}

export interface ImportResult {
  imported: number;
  rejected: { lineNumber: number; reason: Error }[];
}

export interface PimsStore {
  /** The field dictionaries as they stand now, also when another process has just added a field. */
  dictionaries(): Promise<Dictionaries>;
  /** An order and its lines, or undefined. `lines` is a list of `{"ORDER_LINEITEMS": line}`, null when there are none. */
  getOrder(orderNumber: string): Promise<{ order: Json; lines: Json | null } | undefined>;
  getRecord(recordType: KeyedType, key: string): Promise<Json | undefined>;
  /** One page of matching records in the order of their keys. QUERY_TOO_COSTLY when the time budget is used up. */
  queryRecords(recordType: KeyedType, request: PageRequest): Promise<Outcome<Page>>;
  findOrders(field: 'REFERENCE_NUMBER' | 'ORDER_NUMBER', value: string): Promise<OrderWithLines[]>;
  /** Gives out the number and writes the record. Data is the number as a JSON string. */
  createRecord(recordType: 'orders' | 'customers', values: Values, options: WriteOptions): Promise<Outcome<Written>>;
  updateCustomer(customerCode: string, change: Values, options: WriteOptions): Promise<Outcome<Written>>;
  addLine(orderNumber: string, values: Values, options: WriteOptions): Promise<Outcome<Written>>;
  updateLine(orderNumber: string, lockCode: string, change: Values, options: WriteOptions): Promise<Outcome<Written>>;
  /** Carries an order to its next stage by the rules of lifecycle.ts. Data is `{"ORDER_NUMBER": …, "backorder": … or null}`. */
  advanceOrder(orderNumber: string, step: OrderTransition, options: WriteOptions): Promise<Outcome<Written>>;
  addField(field: CustomField): Promise<Outcome<void>>;
  /** Writes rows as they are given, a batch a transaction; all or nothing when atomic. Reports each batch as it is done. */
  importRows(
    recordType: RecordType,
    batches: AsyncIterable<ImportRow[]>,
    options: { now: string; atomic: boolean },
  ): AsyncIterable<ImportResult>;
  /** Every record of a type as of one moment, in the order of its key, as values in the order of the dictionary; in chunks of up to 500. */
  exportRows(recordType: RecordType): AsyncIterable<string[][]>;
}
