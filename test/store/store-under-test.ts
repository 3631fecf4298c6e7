/** Functions that the parts of the contract share. They use only the ports, so they work with every store. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { after } from 'node:test';
import { Refusal, type ErrorCode, type Outcome } from '../../src/errors.ts';
import type { Filter } from '../../src/pims/reads/query.ts';
import { parseRecords, type Values } from '../../src/pims/rules/values.ts';
import type { CustomField, Dictionaries, KeyedType, RecordType } from '../../src/pims/rules/fields.ts';
import { textOf, type Json } from '../../src/pims/rules/json.ts';
import type { Idempotency, Script } from '../../src/pims/writes/script.ts';
import type { ImportResult, ImportRow } from '../../src/pims/import.ts';
import type { LookupOptions, NumberedMovement, PimsStore, QueryRequest } from '../../src/pims/pims-port.ts';
import type { StorefrontLookup, StorefrontOrder } from '../../src/pims/reads/storefront.ts';
import { PATIENT } from '../kit/caller.ts';
import { advanceOrder, type OrderTransition } from '../kit/invoices.ts';
import { writeBatch, WRITES, type BatchStep } from '../../src/pims/batch.ts';
import * as writes from '../../src/pims/writes/writes.ts';
import type { WriteContext, WriteOptions, Written } from '../../src/pims/writes/writes.ts';
import type { SessionStore, UserStore } from '../../src/account/account-port.ts';
import type { AuditStore, AuditEntry } from '../../src/audit/audit.ts';
import type { Tenant, TenantStore, UsageStore } from '../../src/tenant/tenant-port.ts';
import type { RequestStore } from '../../src/request-log/request-log-port.ts';
import type { WebhookStore } from '../../src/webhooks/webhooks-port.ts';

/** An open store with all its ports. */
export interface OpenedStore {
  readonly tenants: TenantStore;
  readonly usage: UsageStore;
  readonly requests: RequestStore;
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly audit: AuditStore;
  readonly webhooks: WebhookStore;
  pims(tenant: Tenant): PimsStore;
  nextChange(tenant: Tenant, ended: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the store at a place, such as a folder or a database. Opening a place again is what another process does.
 */
export type OpenStore = (place: string) => OpenedStore | Promise<OpenedStore>;
/** Starts another process that opens the store at a place (see processes.ts). */
export type RunProcess = (place: string, script: string) => Promise<ChildProcess>;

export const NOW = '2026-11-20T09:30:00.000Z';
export const write = (more: Partial<WriteOptions> = {}): WriteOptions => ({ now: NOW, strict: false, ...more });
/** Returns an entry for the audit log. */
export function entry(more: Partial<AuditEntry> = {}): AuditEntry {
  const {
    at = NOW,
    actor = 'ann@example.com',
    action = 'test.done',
    target = 'something',
    client = '192.0.2.1',
    detail = {},
  } = more;
  return { at, actor, action, target, client, detail };
}
export const idempotency = (key: string, more: Partial<Idempotency> = {}): WriteOptions =>
  write({ idempotency: { key, operation: 'createOrder', bodyHash: 'a'.repeat(64), keptMs: 86_400_000, ...more } });

export class StoreUnderTest {
  readonly #open: () => OpenedStore | Promise<OpenedStore>;
  /** Starts another process with a script. */
  readonly runProcess: (script: string) => Promise<ChildProcess>;
  readonly #opened: OpenedStore[] = [];
  #first: Promise<OpenedStore> | undefined;
  #tenants = 0;

  constructor(openStore: OpenStore, runProcess: RunProcess, place: string) {
    this.#open = () => openStore(place);
    this.runProcess = (script) => runProcess(place, script);
    after(async () => {
      for (const store of this.#opened) await store.close();
    });
  }

  /** Returns the store that all tests of a part share. */
  first(): Promise<OpenedStore> {
    return (this.#first ??= this.openAgain());
  }

  /** Opens the place again, as another process does, or the same one after it died without closing the store. */
  async openAgain(): Promise<OpenedStore> {
    const store = await this.#open();
    this.#opened.push(store);
    return store;
  }

  /** Works with the tenant's inventory system as a process that has just started, which ends after the work. */
  async withProcess(tenant: Tenant, work: (pims: Pims) => Promise<void>): Promise<void> {
    const opened = await this.#open();
    await work(new Pims(opened.pims(tenant)));
    await opened.close();
  }

  /** Returns the tenant's inventory system as another process sees it. */
  async reopened(tenant: Tenant): Promise<Pims> {
    return new Pims((await this.openAgain()).pims(tenant));
  }

  /** Makes a tenant. Returns it with its inventory system. */
  async newTenant(): Promise<{ tenant: Tenant; pims: Pims }> {
    const store = await this.first();
    const tenant = accepted(await store.tenants.createTenant(`team-${++this.#tenants}`, 'A tenant', NOW));
    return { tenant, pims: new Pims(store.pims(tenant)) };
  }
}

export function accepted<T>(outcome: Outcome<T>): T {
  if (outcome instanceof Refusal) throw new Error(`It was refused: ${outcome.code} ${outcome.message}`);
  return outcome;
}

export function assertRefused(outcome: unknown, code: ErrorCode, field?: string): void {
  assert.ok(outcome instanceof Refusal, `${code} was expected, not ${JSON.stringify(outcome)}`);
  assert.equal(outcome.code, code, outcome.message);
  if (field !== undefined) assert.equal(outcome.field, field);
}

export const lineOf = (outcome: Outcome<Written>): Values => JSON.parse(accepted(outcome).data) as Values;

const context = (options: WriteOptions): WriteContext => ({ defaultStage: 'worksheet', ...options });
type Writing = Promise<Outcome<Written>>;

/** A tenant's inventory system, with short functions to write, import and read. A refused write returns its refusal. */
export class Pims {
  readonly port: PimsStore;
  constructor(port: PimsStore) {
    this.port = port;
  }

  #write(options: WriteOptions, script: (dictionaries: Dictionaries) => Script<Json>): Writing {
    return this.port.write((dictionaries) => writes.runOnce(script(dictionaries), options), options.idempotency);
  }

  createRecord(recordType: 'orders' | 'customers', values: Values, options = write()): Writing {
    const create = recordType === 'orders' ? WRITES.createOrder : WRITES.createCustomer;
    return this.#write(options, (dictionaries) => create(dictionaries, values, context(options)));
  }

  updateCustomer(CUSTOMER_CODE: string, change: Values, options = write()): Writing {
    const values = { CUSTOMER_CODE, ...change };
    return this.#write(options, (dictionaries) => WRITES.updateCustomer(dictionaries, values, options));
  }

  addLine(ORDER_NUMBER: string, line: Values, options = write()): Writing {
    const values = { ORDER_NUMBER, ...line };
    return this.#write(options, (dictionaries) => WRITES.addLineItem(dictionaries, values, options));
  }

  updateLine(ORDER_NUMBER: string, LINE_REF_LOCK_CODE: string, change: Values, options = write()): Writing {
    const values = { ORDER_NUMBER, LINE_REF_LOCK_CODE, ...change };
    return this.#write(options, (dictionaries) => WRITES.updateLineItem(dictionaries, values, options));
  }

  updateOrder(ORDER_NUMBER: string, change: Values, options = write()): Writing {
    const values = { ORDER_NUMBER, ...change };
    return this.#write(options, (dictionaries) => WRITES.updateOrder(dictionaries, values, options));
  }

  cancelOrder(ORDER_NUMBER: string, options = write()): Writing {
    return this.#write(options, (dictionaries) => WRITES.cancelOrder(dictionaries, { ORDER_NUMBER }, options));
  }

  /** Writes a batch. Each step has an operation and a body. */
  batch(steps: readonly (readonly [BatchStep['operation'], Values])[], options = write()): Writing {
    const all = steps.map(([operation, body]) => ({ operation, body, refusal: undefined }));
    return this.#write(options, (dictionaries) => writeBatch(dictionaries, all, context(options)));
  }

  advanceOrder(orderNumber: string, transition: OrderTransition, options = write()): Writing {
    return this.#write(options, (dictionaries) => advanceOrder(dictionaries, orderNumber, transition, options));
  }

  addField(field: CustomField): Promise<Outcome<string>> {
    return this.port.write((dictionaries) => writes.addField(dictionaries, field));
  }

  /** Creates an order and returns its number. */
  async createOrder(values: Values = {}, options = write()): Promise<string> {
    return JSON.parse(accepted(await this.createRecord('orders', values, options)).data) as string;
  }

  /** Creates a customer and returns its code. */
  async createCustomer(values: Values = {}, options = write()): Promise<string> {
    return JSON.parse(accepted(await this.createRecord('customers', values, options)).data) as string;
  }

  /** Adds a line and returns it as the write does. */
  async newLine(order: string, values: Values, options = write()): Promise<Values> {
    return lineOf(await this.addLine(order, values, options));
  }

  /** Reads an order with its lines. */
  async readOrder(orderNumber: string): Promise<{ order: Values; lines: Values[] }> {
    const found = accepted(await this.port.getOrder(orderNumber));
    assert.ok(found, `There is no order ${orderNumber}.`);
    const lines = found.lines === null ? [] : (JSON.parse(textOf(found.lines)) as { ORDER_LINEITEMS: Values }[]);
    return { order: JSON.parse(found.order) as Values, lines: lines.map((line) => line.ORDER_LINEITEMS) };
  }

  async readRecord(recordType: KeyedType, key: string): Promise<Values | undefined> {
    const found = await this.port.getRecord(recordType, key);
    return found === undefined ? undefined : (JSON.parse(found.record) as Values);
  }

  /** Returns the orders of a storefront lookup. */
  async viewOrders(referenceNumber: string, options: LookupOptions = PATIENT): Promise<StorefrontOrder[]> {
    const view = textOf(accepted(await this.port.viewOrders(referenceNumber, options)));
    return (JSON.parse(view) as StorefrontLookup).orders;
  }

  /** Reads every record of a type, as names and values. */
  async readAll(recordType: RecordType): Promise<Values[]> {
    const names = [...(await this.port.dictionaries())[recordType].keys()];
    const chunks = await Array.fromAsync(this.port.exportRows(recordType, names));
    return chunks.flatMap((cells) => parseRecords(cells, names));
  }

  /** Reads the value of a field in every record of a type. */
  async readField(recordType: RecordType, name: string): Promise<string[]> {
    return (await this.readAll(recordType)).map((record) => record[name]!);
  }

  /** Reads all records of the tenant. */
  async readEverything(): Promise<Record<RecordType, Values[]>> {
    const [orders, lines] = [await this.readAll('orders'), await this.readAll('lines')];
    return { orders, lines, customers: await this.readAll('customers'), inventory: await this.readAll('inventory') };
  }

  /** Reads the movements of parts, the newest first. */
  async readLedger(partCodes: readonly string[]): Promise<NumberedMovement[]> {
    const rows: NumberedMovement[] = [];
    for (const part of partCodes)
      rows.push(
        ...accepted(await this.port.look('movements', PATIENT.signal, part, 'before', Number.MAX_SAFE_INTEGER, 1000)),
      );
    return rows;
  }

  /** Reads a page of a query. */
  async ask(
    recordType: RecordType,
    filters: readonly Filter[],
    { limit = 1000, after: from = '', bytesMax = PATIENT.bytesMax, sort }: Partial<QueryRequest> = {},
  ): Promise<{ records: Values[]; next: string | null }> {
    const request = { ...PATIENT, filters, limit, after: from, bytesMax, sort };
    const { records, next } = accepted(await this.port.queryRecords(recordType, request));
    return { records: JSON.parse(textOf(records)) as Values[], next };
  }

  /** Imports rows in batches, and returns the sum of the results. */
  async importRows(
    recordType: RecordType,
    rows: readonly Values[],
    { atomic = false, updates = false, size = 1000 } = {},
  ): Promise<ImportResult> {
    const sum: ImportResult = { imported: 0, updated: 0, rejected: [] };
    const results = this.port.importRows(recordType, batches(rows, size), { now: NOW, atomic, updates });
    for await (const { imported, updated, rejected } of results) {
      sum.imported += imported;
      sum.updated += updated;
      sum.rejected.push(...rejected);
    }
    return sum;
  }

  /** Imports rows of which none may be rejected. */
  async importAll(recordType: RecordType, rows: readonly Values[]): Promise<void> {
    const { imported, rejected } = await this.importRows(recordType, rows);
    const messages = rejected.map(({ reason }) => reason.message);
    assert.deepEqual({ imported, rejected: messages }, { imported: rows.length, rejected: [] });
  }
}

/** Splits rows into batches. Rows are numbered like the lines of a file with a header. */
export async function* batches(rows: readonly Values[], size = 1000): AsyncGenerator<ImportRow[]> {
  for (let from = 0; from < rows.length; from += size)
    yield rows.slice(from, from + size).map((row, index) => ({ lineNumber: from + index + 2, values: { ...row } }));
}
