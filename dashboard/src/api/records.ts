/**
 * The kinds of records, and functions that load them with the API's operations below /dashboard/api/records, which are
 * not metered.
 */
import type { StorefrontLookup } from '../../../client/src/contract.ts';
import type { Values } from '../../../src/pims/rules/values.ts';
import { FILTERS_MAX, KEY_CHARACTERS_MAX } from '../../../src/pims/rules/record-bounds.ts';
import type { RECORD_TYPES, RecordType } from '../../../src/pims/rules/fields.ts';
import { fetchOperation } from './client.ts';
import type { ApiCallText } from './call-text.ts';
import { toFilterBody, where, type RecordFilter } from './filters.ts';
import { pathOf } from '../router.tsx';

export type Kind = Exclude<RecordType, 'lines'>;

interface KindView<Name extends Kind> {
  readonly label: string;
  readonly noun: string;
  /** The field that identifies a record, and its parameter. */
  readonly key: (typeof RECORD_TYPES)[Name]['key'];
  readonly parameter: string;
  /** The default columns. */
  readonly columns: readonly string[];
  /** The `sort` of its lists. Undefined sorts by the key. */
  readonly sort?: string;
}

export const KINDS: { readonly [Name in Kind]: KindView<Name> } = {
  orders: {
    label: 'Orders',
    noun: 'order',
    key: 'ORDER_NUMBER',
    parameter: 'orderNum',
    columns: ['ORDER_NUMBER', 'ORDER_DATE', 'REFERENCE_NUMBER', 'BNAME', 'ORDER_TYPE', 'ORDER_TOTAL'],
    sort: '-CREATE_DATE', // ORDER_DATE may be empty
  },
  customers: {
    label: 'Customers',
    noun: 'customer',
    key: 'CUSTOMER_CODE',
    parameter: 'customerCode',
    columns: ['CUSTOMER_CODE', 'CUSTOMER_NAME', 'BCITY', 'BCOUNTRY', 'BEMAIL', 'BPHONE'],
  },
  inventory: {
    label: 'Inventory',
    noun: 'part',
    key: 'PART_CODE',
    parameter: 'partCode',
    columns: `PART_CODE PART_DESCRIPTION QTY_ONHAND QTY_COMMITTED QTY_AVAILABLE QTY_ONORDER UNIT_PRICE`.split(' '),
  },
};

export const isKind = (kind: string): kind is Kind => Object.hasOwn(KINDS, kind);
export const recordPath = (kind: Kind, key: string): string => pathOf('/records/:kind/:key', { kind, key });

export const singleCall = (kind: Kind, key: string): ApiCallText => ({
  method: 'GET',
  path: `/${kind}/single`,
  query: { [KINDS[kind].parameter]: key },
});
export const lookupCall = (number: string): ApiCallText => ({
  method: 'GET',
  path: '/orders/by_storefront_reference',
  query: { storefront_order_number: number },
});

interface SingleAnswer {
  data: Values;
  subRecords: { ORDER_LINEITEMS: Values }[] | null;
}
export interface LoadedRecord {
  readonly values: Values;
  /** Lines of an order. */
  readonly lines: readonly Values[];
  /** The version, for If-Match. */
  readonly tag: string;
}

/** Throws NOT_FOUND. */
export async function loadRecord(kind: Kind, key: string, signal?: AbortSignal): Promise<LoadedRecord> {
  const { path, query } = singleCall(kind, key);
  const { body, headers } = await fetchOperation<SingleAnswer>('GET', path, query, undefined, { signal });
  const lines = (body.subRecords ?? []).map((line) => line.ORDER_LINEITEMS);
  return { values: body.data, lines, tag: headers.get('etag') ?? '' };
}

export interface LoadedPage {
  readonly rows: readonly Values[];
  /** The cursor of the next page, or null on the last page. */
  readonly next: string | null;
}

export async function queryRecords(
  kind: Kind,
  filters: readonly RecordFilter[],
  page: { maxReturn: number; cursor?: string | undefined; sort?: string | undefined },
  signal?: AbortSignal,
): Promise<LoadedPage> {
  const { body, headers } = await fetchOperation<{ data: Values[] }>(
    'POST',
    `/${kind}/query`,
    { ...page, sort: page.sort ?? KINDS[kind].sort },
    toFilterBody(filters),
    { signal },
  );
  return { rows: body.data, next: headers.get('x-next-cursor') };
}

/** Returns how many records match. */
export async function countRecords(
  kind: Kind,
  filters: readonly RecordFilter[],
  signal?: AbortSignal,
): Promise<number> {
  const query = { maxReturn: 1, fields: KINDS[kind].key, count: 'exact' };
  const { headers } = await fetchOperation('POST', `/${kind}/query`, query, toFilterBody(filters), { signal });
  return Number(headers.get('x-total-count'));
}

export async function lookUp(number: string, signal?: AbortSignal): Promise<StorefrontLookup> {
  const { path, query } = lookupCall(number);
  return (await fetchOperation<StorefrontLookup>('GET', path, query, undefined, { signal })).body;
}

export interface Stock {
  readonly onHand: string;
  readonly committed: string;
  readonly available: string;
}

/** Returns the stock of these parts, without those that the inventory does not have. */
export async function loadStock(parts: readonly string[], signal?: AbortSignal): Promise<Map<string, Stock>> {
  const codes = [...new Set(parts)].filter((code) => code !== '' && code.length <= KEY_CHARACTERS_MAX);
  const stock = new Map<string, Stock>();
  for (let from = 0; from < codes.length; from += FILTERS_MAX) {
    const filters = codes.slice(from, from + FILTERS_MAX).map((code) => where('PART_CODE', 'eq', code, 'OR'));
    const { rows } = await queryRecords('inventory', filters, { maxReturn: FILTERS_MAX }, signal);
    for (const { PART_CODE = '', QTY_ONHAND = '', QTY_COMMITTED = '', QTY_AVAILABLE = '' } of rows)
      stock.set(PART_CODE, { onHand: QTY_ONHAND, committed: QTY_COMMITTED, available: QTY_AVAILABLE });
  }
  return stock;
}
