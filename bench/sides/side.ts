/**
 * Begin here: a side of a comparison is a server under load, with its dialect. Each kind of server is asked for the
 * same records in its dialect, and the answers are compared before anything is measured.
 */
import { BUILT_IN_FIELDS, type KeyedType } from '../../src/pims/rules/fields.ts';
import type { Keys } from '../../test/kit/service.ts';
import { callOf, type LoadRequest } from './calls.ts';
import type { Server } from './servers.ts';

export type Values = Readonly<Record<string, string>>;

export interface Filter {
  readonly field: string;
  readonly value: string;
  readonly contains?: true;
  readonly conjunction?: 'AND' | 'OR';
}

/** The requests of a kind of server. Fields have the names of PIMS. */
export interface Dialect {
  /** Requests an order with its lines. */
  readonly getOrder: (orderNumber: string) => LoadRequest;
  /** Requests records, sorted by key. */
  readonly query: (recordType: KeyedType, filters: readonly Filter[], limit: number) => LoadRequest;
  readonly createOrder: (values: Values) => LoadRequest;
  readonly addLine: (values: Values) => LoadRequest;
  readonly updateCustomer: (code: string, values: Values) => LoadRequest;
  /** Requests every order with a storefront number, each with its lines. Only Storeroom has this call. */
  readonly lookUp?: (reference: string) => LoadRequest;
}

export interface Side {
  readonly name: string;
  readonly server: Server;
  readonly dialect: Dialect;
  /** The URL of the side's PostgreSQL database, if it has one. */
  readonly databaseUrl?: string | undefined;
}

export function ourDialect(keys: Keys): Dialect {
  const call = callOf(keys);
  return {
    getOrder: (orderNum) => call('GET', '/orders/single', { orderNum }),
    query: (type, filters, limit) => call('POST', `/${type}/query`, { maxReturn: String(limit) }, filters),
    createOrder: (values) => call('PUT', '/orders/create', {}, values),
    addLine: (values) => call('PUT', '/orders/line_item', {}, values),
    updateCustomer: (code, values) => call('POST', '/customers/update', {}, { CUSTOMER_CODE: code, ...values }),
    lookUp: (reference) => call('GET', '/orders/by_storefront_reference', { storefront_order_number: reference }),
  };
}

const bare = (name: string): string => name.replaceAll('_', '').toUpperCase();
const FIELDS = new Map(
  Object.values(BUILT_IN_FIELDS)
    .flat()
    .map(({ name }) => [bare(name), name]),
);

/**
 * Returns the records of an answer at any depth: their values that are not empty, by their names in PIMS. A line has no
 * order number here, because not every server repeats it in lines.
 */
export function recordsOf(answer: unknown): Values[] {
  if (Array.isArray(answer)) return answer.flatMap(recordsOf);
  if (typeof answer !== 'object' || answer === null) return [];
  const members = Object.entries(answer);
  const values = members.flatMap(([name, value]) => {
    const field = FIELDS.get(bare(name));
    return field === undefined || value === null || typeof value === 'object' || value === ''
      ? []
      : [[field, String(value)] as const];
  });
  const { ORDER_NUMBER, ...others } = Object.fromEntries(values.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const isLine = others['LINE_NUMBER'] !== undefined;
  const own = isLine || ORDER_NUMBER === undefined ? others : { ORDER_NUMBER, ...others };
  return [...(values.length === 0 ? [] : [own]), ...members.flatMap(([, value]) => recordsOf(value))];
}
