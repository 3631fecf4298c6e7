/**
 * What the parts of the contract share: a store opened by whoever runs the contract, tenants in it, and short ways to
 * write, import and read back. Speaks the ports alone, so that it fits every store.
 */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { Refusal, type ErrorCode, type Outcome } from '../../src/errors.ts';
import type { Filter } from '../../src/pims/filter.ts';
import { parseValues, type Values } from '../../src/pims/values.ts';
import type { CustomField, Dictionaries, KeyedType, RecordType } from '../../src/pims/fields.ts';
import type { Idempotency, Json, Script } from '../../src/pims/script.ts';
import type { OrderTransition } from '../../src/pims/lifecycle.ts';
import type { ImportResult, ImportRow } from '../../src/pims/import.ts';
import type { PimsStore } from '../../src/pims/port.ts';
import * as writes from '../../src/pims/writes.ts';
import type { WriteContext, WriteOptions, Written } from '../../src/pims/writes.ts';
import type { SessionStore, UserStore } from '../../src/account/port.ts';
import type { AuditStore } from '../../src/audit/port.ts';
import type { AuditEntry } from '../../src/audit/entry.ts';
import type { Tenant, TenantStore, UsageStore } from '../../src/tenant/port.ts';
import type { RequestStore } from '../../src/request-log/port.ts';

/** A store as a whole, opened. */
export interface OpenedStore {
  readonly tenants: TenantStore;
  readonly usage: UsageStore;
  readonly requests: RequestStore;
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly audit: AuditStore;
  pims(tenant: Tenant): PimsStore;
  close(): Promise<void>;
}

/**
 * Opens the store at a place: a folder, a database. Opening a place that is open already is what another process does.
 */
export type OpenStore = (place: string) => OpenedStore | Promise<OpenedStore>;

export const NOW = '2026-11-20T09:30:00.000Z';
export const write = (more: Partial<WriteOptions> = {}): WriteOptions => ({ now: NOW, strict: false, ...more });
/** Something for the audit log. */
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
  readonly #opened: OpenedStore[] = [];
  #first: Promise<OpenedStore> | undefined;
  #tenants = 0;

  constructor(openStore: OpenStore, place: string) {
    this.#open = () => openStore(place);
    after(async () => {
      for (const store of this.#opened) await store.close();
    });
  }

  /** The store; the same for all tests of a part. */
  first(): Promise<OpenedStore> {
    return (this.#first ??= this.openAgain());
  }

  /** The same place once more, as another process opens it, or the same one after it died without closing. */
  async openAgain(): Promise<OpenedStore> {
    const store = await this.#open();
    this.#opened.push(store);
    return store;
  }

  /** A tenant nobody has used yet, and its inventory system. */
  async newTenant(): Promise<{ tenant: Tenant; pims: PimsStore }> {
    const store = await this.first();
    const tenant = accepted(await store.tenants.createTenant(`team-${++this.#tenants}`, 'A tenant', NOW));
    return { tenant, pims: store.pims(tenant) };
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

/** The number or code a write answered. */
export const numberOf = (outcome: Outcome<Written>): string => JSON.parse(accepted(outcome).data) as string;
export const lineOf = (outcome: Outcome<Written>): Values => JSON.parse(accepted(outcome).data) as Values;

const context = (options: WriteOptions): WriteContext => ({ defaultStage: 'worksheet', ...options });
const writeOnce = (
  pims: PimsStore,
  options: WriteOptions,
  script: (dictionaries: Dictionaries) => Script<Json>,
): Promise<Outcome<Written>> =>
  pims.write((dictionaries) => writes.once(script(dictionaries), options), options.idempotency);

// The writes as the port answers them: what is refused is given back.
export const createRecord = (
  pims: PimsStore,
  recordType: 'orders' | 'customers',
  values: Values,
  options: WriteOptions,
): Promise<Outcome<Written>> =>
  writeOnce(pims, options, (dictionaries) =>
    (recordType === 'orders' ? writes.createOrder : writes.createCustomer)(dictionaries, values, context(options)),
  );
export const updateCustomer = (
  pims: PimsStore,
  CUSTOMER_CODE: string,
  change: Values,
  options: WriteOptions,
): Promise<Outcome<Written>> =>
  writeOnce(pims, options, (dictionaries) =>
    writes.updateCustomer(dictionaries, { CUSTOMER_CODE, ...change }, options),
  );
export const addLine = (
  pims: PimsStore,
  ORDER_NUMBER: string,
  values: Values,
  options: WriteOptions,
): Promise<Outcome<Written>> =>
  writeOnce(pims, options, (dictionaries) => writes.addLineItem(dictionaries, { ORDER_NUMBER, ...values }, options));
export const updateLine = (
  pims: PimsStore,
  ORDER_NUMBER: string,
  LINE_REF_LOCK_CODE: string,
  change: Values,
  options: WriteOptions,
): Promise<Outcome<Written>> =>
  writeOnce(pims, options, (dictionaries) =>
    writes.updateLineItem(dictionaries, { ORDER_NUMBER, LINE_REF_LOCK_CODE, ...change }, options),
  );
export const advanceOrder = (
  pims: PimsStore,
  orderNumber: string,
  transition: OrderTransition,
  options: WriteOptions,
): Promise<Outcome<Written>> => writeOnce(pims, options, () => writes.advanceOrder(orderNumber, transition, options));
export const addField = (pims: PimsStore, field: CustomField): Promise<Outcome<void>> =>
  pims.write((dictionaries) => writes.addField(dictionaries, field));

/** A line as it was answered. */
export const newLine = async (pims: PimsStore, order: string, values: Values): Promise<Values> =>
  lineOf(await addLine(pims, order, values, write()));

export async function createOrder(pims: PimsStore, values: Values = {}): Promise<string> {
  return numberOf(await createRecord(pims, 'orders', values, write()));
}

/** An order as a reader finds it. */
export async function readOrder(pims: PimsStore, orderNumber: string): Promise<{ order: Values; lines: Values[] }> {
  const found = await pims.getOrder(orderNumber);
  assert.ok(found, `There is no order ${orderNumber}.`);
  const lines = found.lines === null ? [] : (JSON.parse(found.lines) as { ORDER_LINEITEMS: Values }[]);
  return { order: JSON.parse(found.order) as Values, lines: lines.map((line) => line.ORDER_LINEITEMS) };
}

export async function readRecord(pims: PimsStore, recordType: KeyedType, key: string): Promise<Values | undefined> {
  const found = await pims.getRecord(recordType, key);
  return found === undefined ? undefined : (JSON.parse(found) as Values);
}

/** Every record of a type, as names and values. */
export async function readAll(pims: PimsStore, recordType: RecordType): Promise<Values[]> {
  const names = [...(await pims.dictionaries())[recordType].keys()];
  const chunks = await Array.fromAsync(pims.exportRows(recordType));
  return chunks.flat().map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]!])));
}

/** Everything a tenant has. */
export async function readEverything(pims: PimsStore): Promise<Record<RecordType, Values[]>> {
  return {
    orders: await readAll(pims, 'orders'),
    lines: await readAll(pims, 'lines'),
    customers: await readAll(pims, 'customers'),
    inventory: await readAll(pims, 'inventory'),
  };
}

/** One page. */
export async function ask(
  pims: PimsStore,
  recordType: KeyedType,
  filters: readonly Filter[],
  { limit = 1000, after: from = '' } = {},
): Promise<{ records: Values[]; next: string | null }> {
  const { records, next } = accepted(await pims.queryRecords(recordType, { filters, limit, after: from }));
  return { records: JSON.parse(records) as Values[], next };
}

/** Rows in batches, numbered as the lines of a file with a header are. */
export async function* batches(rows: readonly Values[], size = 1000): AsyncGenerator<ImportRow[]> {
  for (let from = 0; from < rows.length; from += size)
    yield rows
      .slice(from, from + size)
      .map((values, index) => ({ lineNumber: from + index + 2, values: { ...values } }));
}

/** Imports rows and gives what came of them, batch by batch. */
export async function importRows(
  pims: PimsStore,
  recordType: RecordType,
  rows: readonly Values[],
  { atomic = false, size = 1000 } = {},
): Promise<ImportResult> {
  const sum: ImportResult = { imported: 0, rejected: [] };
  for await (const { imported, rejected } of pims.importRows(recordType, batches(rows, size), { now: NOW, atomic })) {
    sum.imported += imported;
    sum.rejected.push(...rejected);
  }
  return sum;
}

/** Imports rows of which none may be rejected. */
export async function importAll(pims: PimsStore, recordType: RecordType, rows: readonly Values[]): Promise<void> {
  const { imported, rejected } = await importRows(pims, recordType, rows);
  assert.deepEqual(
    { imported, rejected: rejected.map(({ reason }) => reason.message) },
    { imported: rows.length, rejected: [] },
  );
}

/** Fields as a caller of the API writes them, read by the tenant's dictionary. */
export async function fields(pims: PimsStore, recordType: RecordType, body: Values): Promise<Values> {
  return parseValues((await pims.dictionaries())[recordType], recordType, body);
}
