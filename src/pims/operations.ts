/**
 * The twelve operations, a function each, and the step of an order to its next stage, over the port: checks what was asked against the tenant's field dictionary, calls the store once, and
 * throws a Refusal where the answer is not a success. Knows nothing of HTTP and has no clock. Source: specification section 4.
 */
import { orThrow, Refusal } from '../errors.ts';
import { parseFilters, type Filter } from './filter.ts';
import type { OrderTransition } from './lifecycle.ts';
import { FIRST_STAGES, type Stage } from './stages.ts';
import { checkText, parseValues, type RawValue, type Values } from './values.ts';
import { RECORD_TYPES, type RecordType } from './fields.ts';
import type { Json, KeyedType, Page, PimsStore, WriteOptions, Written } from './port.ts';
import { viewStorefrontOrders, type StorefrontLookup } from './storefront.ts';

export type Body = Readonly<Record<string, RawValue>>;

export interface QueryRequest {
  readonly filters: readonly Filter[];
  readonly limit: number;
  readonly after: string;
}

/** What a write needs beside its body: time, strictness, repeatability. */
export type WriteContext = WriteOptions & { readonly defaultStage: Stage };

export async function getOrder(store: PimsStore, orderNumber: string): Promise<{ order: Json; lines: Json | null }> {
  checkText('orderNum', orderNumber);
  return (await store.getOrder(orderNumber)) ?? notFound('orders', orderNumber, 'orderNum');
}

export const queryOrders = (store: PimsStore, request: QueryRequest): Promise<Page> =>
  queryRecords(store, 'orders', request);
export const queryCustomers = (store: PimsStore, request: QueryRequest): Promise<Page> =>
  queryRecords(store, 'customers', request);
export const queryInventoryItems = (store: PimsStore, request: QueryRequest): Promise<Page> =>
  queryRecords(store, 'inventory', request);

/** Data is the new order number. The order begins as the stage it sends in ORDER_TYPE, or the tenant's default. */
export async function createOrder(store: PimsStore, body: Body, context: WriteContext): Promise<Written> {
  const values = parseValues((await store.dictionaries()).orders, 'orders', body);
  const stage = values['ORDER_TYPE'] || context.defaultStage;
  if (!FIRST_STAGES.some((first) => first === stage))
    throw new Refusal(
      'INVALID_VALUE',
      `ORDER_TYPE of a new order is ${FIRST_STAGES.join(', ')}, not '${stage.slice(0, 64)}'.`,
      { field: 'ORDER_TYPE' },
    );
  return orThrow(await store.createRecord('orders', { ...values, ORDER_TYPE: stage }, context));
}

/** Data is the new line with LINE_NUMBER, NUMBER_SHIPPED 0 and its LINE_REF_LOCK_CODE. */
export async function addLineItem(store: PimsStore, body: Body, context: WriteContext): Promise<Written> {
  const { key: orderNumber, fields } = takeKey(body, 'ORDER_NUMBER');
  const values = parseValues((await store.dictionaries()).lines, 'lines', fields, ['NUMBER_SHIPPED']);
  return orThrow(await store.addLine(orderNumber, values, context));
}

/** Data is the line as it is now. */
export async function updateLineItem(store: PimsStore, body: Body, context: WriteContext): Promise<Written> {
  const { key: orderNumber, fields } = takeKey(body, 'ORDER_NUMBER');
  const { key: lockCode, fields: change } = takeKey(fields, 'LINE_REF_LOCK_CODE');
  return orThrow(
    await store.updateLine(
      orderNumber,
      lockCode,
      parseValues((await store.dictionaries()).lines, 'lines', change),
      context,
    ),
  );
}

/** Approves or invoices an order, as the PIMS's own users do. `backorder`: the sales order that what is still open has become. */
export async function advanceOrder(
  store: PimsStore,
  orderNumber: string,
  step: OrderTransition,
  options: WriteOptions,
): Promise<{ stage: Stage; backorder: string | null }> {
  checkText('ORDER_NUMBER', orderNumber);
  if ('invoice' in step) {
    for (const serial of [...step.invoice.serials.values()].flat()) checkText('SERIAL_NUMBERS', serial);
    for (const number of step.invoice.tracking) checkText('TRACKING_NUMBERS', number);
  }
  const { data } = orThrow(await store.advanceOrder(orderNumber, step, options));
  const { backorder } = JSON.parse(data) as { backorder: string | null };
  return { stage: 'approve' in step ? 'sales_order' : 'invoice', backorder };
}

export async function findOrdersByStorefrontReference(
  store: PimsStore,
  storefrontNumber: string,
): Promise<StorefrontLookup> {
  checkText('storefront_order_number', storefrontNumber);
  return viewStorefrontOrders(storefrontNumber, await store.findOrders('REFERENCE_NUMBER', storefrontNumber));
}

export const getCustomer = (store: PimsStore, customerCode: string): Promise<Json> =>
  getRecord(store, 'customers', customerCode, 'customerCode');

/** Data is the CUSTOMER_CODE: the caller's own if it is free, else one PIMS assigns. */
export async function createCustomer(store: PimsStore, body: Body, context: WriteContext): Promise<Written> {
  return orThrow(
    await store.createRecord(
      'customers',
      parseValues((await store.dictionaries()).customers, 'customers', body),
      context,
    ),
  );
}

/** Data is the CUSTOMER_CODE. */
export async function updateCustomer(store: PimsStore, body: Body, context: WriteContext): Promise<Written> {
  const { key: customerCode, fields } = takeKey(body, 'CUSTOMER_CODE');
  return orThrow(
    await store.updateCustomer(
      customerCode,
      parseValues((await store.dictionaries()).customers, 'customers', fields),
      context,
    ),
  );
}

export const getInventoryItem = (store: PimsStore, partCode: string): Promise<Json> =>
  getRecord(store, 'inventory', partCode, 'partCode');

async function getRecord(store: PimsStore, recordType: KeyedType, key: string, parameter: string): Promise<Json> {
  checkText(parameter, key);
  return (await store.getRecord(recordType, key)) ?? notFound(recordType, key, parameter);
}

async function queryRecords(
  store: PimsStore,
  recordType: KeyedType,
  { filters, limit, after }: QueryRequest,
): Promise<Page> {
  const tree = parseFilters((await store.dictionaries())[recordType], recordType, filters);
  return orThrow(await store.queryRecords(recordType, { filters: tree, limit, after }));
}

/** Takes the field that names the record out of the body. */
function takeKey(body: Body, name: string): { key: string; fields: Body } {
  const { [name]: raw, ...fields } = body;
  if (raw === undefined || raw === null || raw === '')
    throw new Refusal('MISSING_FIELD', `${name} is missing: it names what to write to.`, { field: name });
  const key = String(raw);
  checkText(name, key);
  return { key, fields };
}

function notFound(recordType: RecordType, key: string, field: string): never {
  throw new Refusal('NOT_FOUND', `There is no ${RECORD_TYPES[recordType].noun} '${key.slice(0, 64)}'.`, { field });
}

/** Values in the order of a dictionary, for a line of CSV. */
export const listValues = (names: readonly string[], values: Values): string[] =>
  names.map((name) => values[name] ?? '');
