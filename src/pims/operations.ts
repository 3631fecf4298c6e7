/**
 * Begin here: every operation of the API and the command line, written against the port. A function calls the store and
 * throws the Refusal that the store returns.
 */
import { orThrow, refuseField } from '../errors.ts';
import {
  pickFields,
  RECORD_TYPES,
  viewField,
  type CustomField,
  type Dictionaries,
  type KeyedType,
  type RecordType,
} from './rules/fields.ts';
import type { OrderTransition } from './rules/order.ts';
import type { Stage } from './rules/stages.ts';
import type { LookupOptions, OrderFound, Page, PimsStore, QueryRequest, RecordFound } from './pims-port.ts';
import { recordChanges } from './writes/changed-records.ts';
import type { Json, Rendered } from './rules/json.ts';
import type { FieldChange, Script, Write } from './writes/script.ts';
import type { Body, WriteContext, WriteOptions, Written } from './writes/writes.ts';
import { writeBatch as writeSteps, type BatchOperation, type BatchStep } from './batch.ts';
import { parseNumbers } from './reads/storefront.ts';
import { checkText, complete, type Values } from './rules/values.ts';
import { addDecimals, compareDecimals, subtractDecimals } from './rules/decimal.ts';
import type { StockAction } from './rules/stock.ts';
import * as orderWrites from './writes/order-writes.ts';
import * as stock from './writes/stock-writes.ts';
import * as writes from './writes/writes.ts';

/** Names of the fields to return, in this order. Undefined returns all fields. */
type FieldNames = readonly string[] | undefined;

export async function getOrder(
  store: PimsStore,
  orderNumber: string,
  signal: () => AbortSignal,
  fields?: FieldNames,
): Promise<OrderFound> {
  checkText('orderNum', orderNumber);
  const pick = fields && (await pickerOf(store, 'orders', fields));
  const found = orThrow(await store.getOrder(orderNumber, signal)) ?? notFound('orders', orderNumber, 'orderNum');
  return pick ? { ...found, order: pick(found.order) } : found;
}

export const getCustomer = (store: PimsStore, customerCode: string, fields?: FieldNames): Promise<RecordFound> =>
  getRecord(store, 'customers', customerCode, 'customerCode', fields);

export const getInventoryItem = (store: PimsStore, partCode: string, fields?: FieldNames): Promise<RecordFound> =>
  getRecord(store, 'inventory', partCode, 'partCode', fields);

async function getRecord(
  store: PimsStore,
  recordType: KeyedType,
  key: string,
  parameter: string,
  fields: FieldNames,
): Promise<RecordFound> {
  checkText(parameter, key);
  const pick = fields && (await pickerOf(store, recordType, fields));
  const found = (await store.getRecord(recordType, key)) ?? notFound(recordType, key, parameter);
  return pick ? { ...found, record: pick(found.record) } : found;
}

/** Returns a function that picks these fields of a record. Throws UNKNOWN_FIELD. */
async function pickerOf(
  store: PimsStore,
  recordType: KeyedType,
  fields: readonly string[],
): Promise<(record: Json) => Json> {
  const names = [...pickFields((await store.dictionaries())[recordType], recordType, fields).keys()];
  return (record) => JSON.stringify(complete(names, JSON.parse(record) as Values));
}

function notFound(recordType: RecordType, key: string, field: string): never {
  throw refuseField('NOT_FOUND', field, `There is no ${RECORD_TYPES[recordType].noun} '${key.slice(0, 64)}'.`);
}

const queryOf =
  (recordType: KeyedType) =>
  async (store: PimsStore, request: QueryRequest): Promise<Page> =>
    orThrow(await store.queryRecords(recordType, request));
export const queryOrders = queryOf('orders');
export const queryCustomers = queryOf('customers');
export const queryInventoryItems = queryOf('inventory');

export async function findOrdersByStorefrontReference(
  store: PimsStore,
  reference: string,
  options: LookupOptions,
): Promise<Rendered> {
  checkText('storefront_order_number', reference);
  return orThrow(await store.viewOrders(reference, options));
}

export async function findOrdersByStorefrontReferences(
  store: PimsStore,
  body: unknown,
  options: LookupOptions,
): Promise<Rendered> {
  return orThrow(await store.viewOrdersOfEach(parseNumbers(body), options));
}

/** Runs a write once for its idempotency key. `size` is the number of single writes that it counts as. */
export async function writeOnce(
  store: PimsStore,
  script: (dictionaries: Dictionaries) => Script<Json>,
  options: WriteOptions,
  size?: number,
): Promise<Written> {
  const runForKey: Write<Written> = (dictionaries) => writes.runOnce(script(dictionaries), options);
  const written = orThrow(await store.write(runForKey, options.idempotency, size));
  options.report?.(written);
  return written;
}

const writeOf =
  (operation: BatchOperation, write: typeof writes.createOrder) =>
  (store: PimsStore, body: Body, context: WriteContext): Promise<Written> =>
    writeOnce(store, (dictionaries) => recordChanges(write(dictionaries, body, context), operation, context), context);
export const createOrder = writeOf('createOrder', writes.createOrder);
export const addLineItem = writeOf('addLineItem', writes.addLineItem);
export const updateLineItem = writeOf('updateLineItem', writes.updateLineItem);
export const updateOrder = writeOf('updateOrder', orderWrites.updateOrder);
export const cancelOrder = writeOf('cancelOrder', orderWrites.cancelOrder);
export const createCustomer = writeOf('createCustomer', writes.createCustomer);
export const updateCustomer = writeOf('updateCustomer', writes.updateCustomer);

export const writeBatch = (store: PimsStore, steps: readonly BatchStep[], context: WriteContext): Promise<Written> =>
  writeOnce(store, (dictionaries) => writeSteps(dictionaries, steps, context), context, steps.length);

/** Approves or invoices an order. `backorder` is the number of the order that a partial invoice leaves, or null. */
export async function advanceOrder(
  store: PimsStore,
  orderNumber: string,
  transition: OrderTransition,
  options: WriteOptions,
): Promise<{ stage: Stage; backorder: string | null }> {
  const operation = 'approve' in transition ? 'approveOrder' : 'invoiceOrder';
  const advance = () => orderWrites.advanceOrder(orderNumber, transition, options);
  const { backorder } = await writeInOffice<{ backorder: string | null }>(store, operation, options, advance);
  return { stage: 'approve' in transition ? 'sales_order' : 'invoice', backorder };
}

export const listFields = async (store: PimsStore, recordType: RecordType): Promise<Json> =>
  JSON.stringify([...(await store.dictionaries())[recordType].values()].map(viewField));

/** Adds a custom field to the tenant's dictionaries. Throws COMMAND_REFUSED if its name is not allowed. */
export async function addField(
  store: PimsStore,
  field: CustomField,
  options: WriteOptions = { now: '', strict: false },
): Promise<void> {
  await writeOnce(store, (dictionaries) => writes.addField(dictionaries, field), options);
}

/** Runs a write of the back office, which the change feed names by its operation. Returns the parsed result. */
async function writeInOffice<T>(
  store: PimsStore,
  operation: string,
  options: WriteOptions,
  script: (dictionaries: Dictionaries) => Script<Json>,
): Promise<T> {
  const runAndRecord = (dictionaries: Dictionaries) => recordChanges(script(dictionaries), operation, options);
  return JSON.parse((await writeOnce(store, runAndRecord, options)).data) as T;
}

/** Voids an invoice: its units and serial numbers are in stock again. Throws ORDER_NOT_FOUND or STAGE_NOT_ALLOWED. */
export const voidInvoice = (
  store: PimsStore,
  orderNumber: string,
  reason: string,
  options: WriteOptions,
): Promise<{ ORDER_NUMBER: string }> =>
  writeInOffice(store, 'voidInvoice', options, () => orderWrites.voidInvoice(orderNumber, reason, options));

const STOCK_OPERATIONS = { received: 'receiveStock', counted: 'countStock', adjusted: 'adjustStock' } as const;

/**
 * Receives, counts or adjusts a part. Throws NOT_FOUND, QUANTITY_NOT_ALLOWED, SERIALS_NOT_ALLOWED, or MISSING_FIELD for
 * an adjustment without a reason.
 */
export const actOnStock = (
  store: PimsStore,
  partCode: string,
  action: StockAction,
  options: WriteOptions,
): Promise<{ QTY_ONHAND: string }> =>
  writeInOffice(store, STOCK_OPERATIONS[action.kind], options, () => stock.actOnStock(partCode, action, options));

/** Sets QTY_ONORDER of a part. Throws NOT_FOUND or QUANTITY_NOT_ALLOWED. */
export const setOnOrder = (
  store: PimsStore,
  partCode: string,
  quantity: string,
  options: WriteOptions,
): Promise<{ QTY_ONORDER: string }> =>
  writeInOffice(store, 'setOnOrder', options, () => stock.setOnOrder(partCode, quantity, options));

export const createPart = (store: PimsStore, body: Body, options: WriteOptions): Promise<string> =>
  writeInOffice(store, 'createPart', options, (dictionaries) => stock.createPart(dictionaries, body, options));

export const updatePart = (store: PimsStore, body: Body, options: WriteOptions): Promise<string> =>
  writeInOffice(store, 'updatePart', options, (dictionaries) => stock.updatePart(dictionaries, body, options));

/** Maximum orders that are shown as waiting for a part. */
const WAITING_MAX = 100;
export interface WaitingOrder {
  readonly order: Values;
  readonly quantity: string;
  /** Whether the units on hand are enough for this order after the older ones that can be filled. */
  readonly canFill: boolean;
}

/** Lists the sales orders that wait for a part, the oldest first. */
export async function listWaiting(
  store: PimsStore,
  partCode: string,
  signal: () => AbortSignal,
): Promise<WaitingOrder[]> {
  const { record } = await getInventoryItem(store, partCode);
  let left = (JSON.parse(record) as Values)['QTY_ONHAND'] ?? '';
  const lines = orThrow(await store.look('waiting', signal, partCode));
  const ofOrders = [...Map.groupBy(lines, (line) => line['ORDER_NUMBER']).values()];
  return ofOrders.slice(0, WAITING_MAX).map((those) => {
    const { QUANTITY: _, ...order } = those[0]!;
    const quantity = those.map((line) => line['QUANTITY'] ?? '').reduce(addDecimals);
    const canFill = compareDecimals(quantity, left) <= 0;
    if (canFill) left = subtractDecimals(left, quantity);
    return { order, quantity, canFill };
  });
}

const ENTRIES_MAX = 100;
export interface HistoryEntry {
  readonly at: string;
  readonly by: string;
  readonly operation: string;
  readonly changes: readonly FieldChange[];
}

/** Lists the changes of a record, newest first, as far as the change feed goes back and the bounds allow. */
export async function listHistory(
  store: PimsStore,
  recordType: KeyedType,
  key: string,
  signal: () => AbortSignal,
): Promise<{ entries: HistoryEntry[]; isWhole: boolean }> {
  const found = orThrow(await store.look('history', signal, recordType, key, ENTRIES_MAX));
  const created = found.findIndex(([, [, , change]]) => change === 'created');
  const isWhole = created >= 0;
  const entries = found
    .slice(0, isWhole ? created + 1 : undefined)
    .map(([at, [, , , operation, by, changes]]) => ({ at, by, operation, changes }));
  return { entries, isWhole };
}
