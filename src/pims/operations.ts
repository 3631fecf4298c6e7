/**
 * Begin here: every operation of the API, the dashboard and the command line, written against the port. A function
 * calls the store and throws the Refusal that the store returns.
 */
import { orThrow, refuseField, startOf } from '../errors.ts';
import {
  pickFields,
  RECORD_TYPES,
  viewField,
  type CustomField,
  type Dictionaries,
  type KeyedType,
  type RecordType,
} from './rules/fields.ts';
import type { LookupOptions, OrderFound, PimsStore, RecordFound } from './pims-port.ts';
import { recordChanges } from './writes/changed-records.ts';
import type { Json, Rendered } from './rules/json.ts';
import type { FieldChange, Script, Write } from './writes/script.ts';
import type { Body, WriteContext, WriteOptions, Written } from './writes/writes.ts';
import { writeBatch as writeSteps, WRITES, type BatchOperation, type BatchStep } from './batch.ts';
import { parseNumbers } from './reads/storefront.ts';
import { checkText, complete, type Values } from './rules/values.ts';
import { addDecimals, compareDecimals, subtractDecimals } from './rules/decimal.ts';
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

/** Returns the customer or the part whose key is in the parameter. */
export async function getRecord(
  store: PimsStore,
  recordType: KeyedType,
  parameter: string,
  key: string,
  fields?: FieldNames,
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
  throw refuseField('NOT_FOUND', field, `There is no ${RECORD_TYPES[recordType].noun} '${startOf(key)}'.`);
}

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

/** Runs the write of a record that has this name. */
export function writeRecord(
  store: PimsStore,
  operation: BatchOperation,
  body: Body,
  context: WriteContext,
): Promise<Written> {
  const runAndRecord = (dictionaries: Dictionaries) => WRITES[operation](dictionaries, body, context);
  return writeOnce(store, (dictionaries) => recordChanges(runAndRecord(dictionaries), operation, context), context);
}

export const writeBatch = (store: PimsStore, steps: readonly BatchStep[], context: WriteContext): Promise<Written> =>
  writeOnce(store, (dictionaries) => writeSteps(dictionaries, steps, context), context, steps.length);

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
  const { record } = await getRecord(store, 'inventory', 'partCode', partCode);
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

/** Lists the movements of a part after a NUMBER, and says whether more follow. Throws NOT_FOUND. */
export async function listMovements(
  store: PimsStore,
  partCode: string,
  { after, limit }: { readonly after: number; readonly limit: number },
  signal: () => AbortSignal,
): Promise<{ movements: Values[]; next: number; hasMore: boolean }> {
  checkText('partCode', partCode);
  const rows = orThrow(await store.look('movements', signal, partCode, 'after', after, limit));
  if (rows.length === 0) await getRecord(store, 'inventory', 'partCode', partCode);
  const movements = rows.map(({ NUMBER, SERIALS, PART_CODE: _code, NEWEST: _newest, ...others }) => ({
    NUMBER: String(NUMBER),
    ...others,
    SERIAL_NUMBERS: SERIALS,
  }));
  const last = rows.at(-1);
  return { movements, next: last?.NUMBER ?? after, hasMore: last !== undefined && last.NUMBER < last.NEWEST };
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
