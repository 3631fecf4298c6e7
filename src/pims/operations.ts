/**
 * The twelve operations over the port, and what an operator does beside them. Each calls the store once, and throws a
 * Refusal when it does not succeed. Source: specification section 4.
 */
import { orThrow, Refusal } from '../errors.ts';
import { RECORD_TYPES, type CustomField, type Dictionaries, type KeyedType, type RecordType } from './fields.ts';
import type { OrderTransition } from './lifecycle.ts';
import type { Stage } from './stages.ts';
import type { LookupOptions, OrderFound, Page, PimsStore, QueryRequest } from './port.ts';
import type { Json, Rendered, Script, Write } from './script.ts';
import type { Body, WriteContext, WriteOptions, Written } from './writes.ts';
import { writeBatch as writeSteps, type BatchStep } from './batch.ts';
import { checkText } from './values.ts';
import * as writes from './writes.ts';

export async function getOrder(store: PimsStore, orderNumber: string, signal: () => AbortSignal): Promise<OrderFound> {
  checkText('orderNum', orderNumber);
  return orThrow(await store.getOrder(orderNumber, signal)) ?? notFound('orders', orderNumber, 'orderNum');
}

export const getCustomer = (store: PimsStore, customerCode: string): Promise<Json> =>
  getRecord(store, 'customers', customerCode, 'customerCode');

export const getInventoryItem = (store: PimsStore, partCode: string): Promise<Json> =>
  getRecord(store, 'inventory', partCode, 'partCode');

async function getRecord(store: PimsStore, recordType: KeyedType, key: string, parameter: string): Promise<Json> {
  checkText(parameter, key);
  return (await store.getRecord(recordType, key)) ?? notFound(recordType, key, parameter);
}

function notFound(recordType: RecordType, key: string, field: string): never {
  throw new Refusal('NOT_FOUND', `There is no ${RECORD_TYPES[recordType].noun} '${key.slice(0, 64)}'.`, { field });
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

const writeOf =
  (write: (dictionaries: Dictionaries, body: Body, context: WriteContext) => Script<Json>) =>
  async (store: PimsStore, body: Body, context: WriteContext): Promise<Written> => {
    const writeOnce: Write<Written> = (dictionaries) => writes.once(write(dictionaries, body, context), context);
    return orThrow(await store.write(writeOnce, context.idempotency));
  };
export const createOrder = writeOf(writes.createOrder);
export const addLineItem = writeOf(writes.addLineItem);
export const updateLineItem = writeOf(writes.updateLineItem);
export const createCustomer = writeOf(writes.createCustomer);
export const updateCustomer = writeOf(writes.updateCustomer);

/** All steps, or none. */
export async function writeBatch(
  store: PimsStore,
  steps: readonly BatchStep[],
  context: WriteContext,
): Promise<Written> {
  const writeOnce: Write<Written> = (dictionaries) => writes.once(writeSteps(dictionaries, steps, context), context);
  return orThrow(await store.write(writeOnce, context.idempotency));
}

/** Approves or invoices an order. `backorder`: the number of the sales order a partial invoice leaves, or null. */
export async function advanceOrder(
  store: PimsStore,
  orderNumber: string,
  transition: OrderTransition,
  options: WriteOptions,
): Promise<{ stage: Stage; backorder: string | null }> {
  const data = orThrow(await store.write(() => writes.advanceOrder(orderNumber, transition, options)));
  const { backorder } = JSON.parse(data) as { backorder: string | null };
  return { stage: 'approve' in transition ? 'sales_order' : 'invoice', backorder };
}

/** Adds a custom field to the tenant's dictionaries. COMMAND_REFUSED when its name cannot be one. */
export const addField = async (store: PimsStore, field: CustomField): Promise<void> =>
  orThrow(await store.write((dictionaries) => writes.addField(dictionaries, field)));
