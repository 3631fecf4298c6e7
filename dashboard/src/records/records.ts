/**
 * The kinds of records, and functions that load and write them with the API's operations below /dashboard/api/records,
 * which are not metered. Begin here.
 */
import { useRef } from 'preact/hooks';
import type { StorefrontLookup } from '../../../client/src/contract.ts';
import type { RECORD_TYPES, RecordType } from '../../../src/pims/rules/fields.ts';
import { FILTERS_MAX, KEY_CHARACTERS_MAX } from '../../../src/pims/rules/record-bounds.ts';
import type { Values } from '../../../src/pims/rules/values.ts';
import type { ApiCallText } from '../api/call-text.ts';
import { ApiError, fetchOperation, hasCode } from '../api/client.ts';
import { useLoad } from '../api/use-load.ts';
import { toFilterBody, where, type RecordFilter } from './filters.ts';
import { pathOf } from '../browser/router.tsx';
import { labelOf } from './label.ts';
import { formatDate } from '../ui/text/text.tsx';

export type Kind = Exclude<RecordType, 'lines'>;

interface KindView<Name extends Kind> {
  readonly label: string;
  readonly noun: string;
  /** The field that identifies a record, and its parameter. */
  readonly key: (typeof RECORD_TYPES)[Name]['key'];
  readonly parameter: string;
  readonly columns: readonly string[];
  /** The `sort` of lists of this type. Undefined sorts by the key. */
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

interface WithLines<Data> {
  data: Data;
  /** Lines of the order, or of all orders on a page. */
  subRecords: { ORDER_LINEITEMS: Values }[] | null;
}
const linesOf = ({ subRecords }: WithLines<unknown>) => (subRecords ?? []).map((line) => line.ORDER_LINEITEMS);

export type LoadedRecord = Awaited<ReturnType<typeof loadRecord>>;
/** Loads a record. Throws NOT_FOUND. `tag` is the version, for If-Match. */
export async function loadRecord(kind: Kind, key: string, signal?: AbortSignal) {
  const { path, query } = singleCall(kind, key);
  const { body, headers } = await fetchOperation<WithLines<Values>>('GET', path, query, undefined, { signal });
  return { values: body.data, lines: linesOf(body), tag: headers.get('etag') ?? '' };
}

export type LoadedPage = Awaited<ReturnType<typeof queryRecords>>;
/**
 * Loads a page of records, with `include` also the lines of its orders. `next` is the cursor of the next page, or null
 * on the last page.
 */
export async function queryRecords(
  kind: Kind,
  filters: readonly RecordFilter[],
  page: { maxReturn: number; cursor?: string | undefined; sort?: string | undefined; include?: 'lines' },
  signal?: AbortSignal,
) {
  const { body, headers } = await fetchOperation<WithLines<Values[]>>(
    'POST',
    `/${kind}/query`,
    { ...page, sort: page.sort ?? KINDS[kind].sort },
    toFilterBody(filters),
    { signal },
  );
  return { rows: body.data, lines: linesOf(body), next: headers.get('x-next-cursor') };
}

export async function countRecords(
  kind: Kind,
  filters: readonly RecordFilter[],
  signal?: AbortSignal,
): Promise<number> {
  const query = { maxReturn: 1, fields: KINDS[kind].key, count: 'exact' };
  const { headers } = await fetchOperation('POST', `/${kind}/query`, query, toFilterBody(filters), { signal });
  return Number(headers.get('x-total-count'));
}

export async function lookUp(number: string, signal?: AbortSignal) {
  const { path, query } = lookupCall(number);
  return (await fetchOperation<StorefrontLookup>('GET', path, query, undefined, { signal })).body;
}

export type Stock = Readonly<Record<'onHand' | 'committed' | 'available', string>>;

/** Returns the stock of these parts. Parts that are not in the inventory are missing. */
export async function loadStock(parts: readonly string[], signal?: AbortSignal) {
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

type Step = { readonly operation: string; readonly body: Values };

export async function write<T>(
  method: 'POST' | 'PUT',
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<T> {
  return (await fetchOperation<{ data: T }>(method, path, {}, body, { headers })).body.data;
}

/** An order in its next stage. `BACKORDER_NUMBER` is the sales order with the open units, or `''`. */
export type AdvancedOrder = Readonly<Record<'ORDER_NUMBER' | 'ORDER_TYPE' | 'BACKORDER_NUMBER', string>>;

/** Sends several writes as one: all happen, or none. Returns their data. */
export async function writeBatch(steps: readonly Step[]): Promise<unknown[]> {
  const done = await write<{ data: unknown }[]>('POST', '/batch', steps);
  return done.map(({ data }) => data);
}

/**
 * Returns the record with which a dialog was opened and, after a change in another tab, the current record, which the
 * page below the dialog shows then too.
 */
export function useCurrent(kind: Kind, opened: LoadedRecord): LoadedRecord {
  const loads = useRef(0);
  const load = async (signal: AbortSignal) =>
    loads.current++ === 0 ? opened : loadRecord(kind, opened.values[KINDS[kind].key] ?? '', signal);
  return useLoad('', load).data ?? opened;
}

/**
 * Returns a function that sends changed fields of a record if no one has changed it since it was read. If someone has,
 * it reads the record again and throws an error that names what else changed, so that the form can be sent again.
 */
export function useSave(kind: Kind, record: LoadedRecord): (path: string, body: unknown) => Promise<void> {
  /** The record that the form began with. After a conflict it is the current record. */
  const known = useRef(record);
  return async (path, body) => {
    const { values: before, tag } = known.current;
    try {
      await write('POST', path, body, { 'if-match': tag });
    } catch (fault) {
      if (!hasCode(fault, 'RECORD_CHANGED')) throw fault;
      known.current = await loadRecord(kind, before[KINDS[kind].key] ?? '');
      const what = Object.entries(known.current.values)
        .filter(([name, value]) => value !== before[name] && name !== 'MODIFIED_DATE')
        .map(([name, value]) => `${labelOf(name)} is now “${name === 'ORDER_DATE' ? formatDate(value) : value}”.`)
        .join(' ');
      const message = `This was changed in the meantime. ${what} Your changes are kept here; save again to apply them.`;
      throw new ApiError(fault.code, message, 412);
    }
  };
}
