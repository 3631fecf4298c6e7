/**
 * The requests of the workloads W1 to W9, for the records of records.ts and every kind of server.
 */
import type { LoadRequest } from '../sides/calls.ts';
import * as records from './records.ts';
import type { Dialect, Filter, Values } from '../sides/side.ts';

const REQUESTS_MAX = 50_000;
const PAGE = 50;
const CONNECTIONS = 64;
const HOT_ORDERS = 1000;

export interface Workload {
  readonly name: string;
  /** The requests in a few words, for a table. */
  readonly title: string;
  readonly connections: number;
  readonly requestsOf: (dialect: Dialect) => LoadRequest[];
  /** Whether the workload is only for Storeroom and the bare server. */
  readonly isOwn?: true;
  /** For writes: returns a request that reads the record of the n-th write, and the values that the write sent. */
  readonly written?: (dialect: Dialect, n: number) => { readonly read: LoadRequest; readonly sent: Values };
}

/** Returns the number of the record for the n-th request. */
const nth = (n: number, count: number): number => (n * 7919 + 5) % count;

/** Makes requests for `count` records, in scattered order. */
const spread = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: Math.min(count, REQUESTS_MAX) }, (_, n) => make(nth(n, count)));

const newOrder = (i: number, orders: number): Values => {
  const { ORDER_NUMBER: _, ORDER_TYPE: __, ...values } = records.orderRecord(i, orders);
  return { ...values, REFERENCE_NUMBER: `#new${i}` };
};

function newLine(i: number, orders: number): Values {
  // An invoice accepts no more lines.
  const order = records.isSalesOrder(i) ? i : i ^ 2;
  const { NUMBER_SHIPPED: _, ...values } = records.lineRecord(order, i % records.LINES_EACH, orders);
  return { ...values, DESCRIPTION: `Added ${i}` };
}

const change = (i: number): Values => ({ BPHONE: `555-${i % 9973}`, NOTES: 'called' });

export function buildWorkloads(orders: number): Workload[] {
  const findCustomers = ({ query }: Dialect, ...filters: readonly Filter[]): LoadRequest =>
    query('customers', filters, PAGE);
  const readNewOrder = ({ query }: Dialect, n: number): { read: LoadRequest; sent: Values } => {
    const sent = newOrder(nth(n, orders), orders);
    return { read: query('orders', [{ field: 'REFERENCE_NUMBER', value: sent['REFERENCE_NUMBER']! }], PAGE), sent };
  };
  const workload = (
    name: string,
    title: string,
    requestOf: (dialect: Dialect, i: number) => LoadRequest | LoadRequest[],
    { count = orders, connections = CONNECTIONS, ...more }: Partial<Workload & { count: number }> = {},
  ): Workload => {
    const requestsOf = (dialect: Dialect): LoadRequest[] => spread(count, (i) => requestOf(dialect, i)).flat();
    return { name, title, connections, requestsOf, ...more };
  };
  const getOrder = (dialect: Dialect, i: number): LoadRequest => dialect.getOrder(records.orderNumber(i));
  return [
    workload('W1', 'order and its 3 lines', getOrder),
    workload('W1 hot', 'the same, of 1,000 orders', getOrder, { count: HOT_ORDERS, isOwn: true }),
    workload('W2', 'customer by exact email', (dialect, i) =>
      findCustomers(dialect, { field: 'BEMAIL', value: records.emailOf(i) }),
    ),
    workload(
      'W3',
      '50 customers by city AND / OR state',
      (dialect, i) => {
        const number = i % records.CITIES;
        const city = { field: 'BCITY', value: records.cityName(number) };
        const isAnd = i < records.CITIES;
        const state = { field: 'BSTATE', value: records.stateOf(isAnd ? number : number + 7) };
        return isAnd
          ? findCustomers(dialect, state, { ...city, conjunction: 'AND' })
          : findCustomers(dialect, city, { ...state, conjunction: 'OR' });
      },
      { count: 2 * records.CITIES },
    ),
    workload('W4', '12 customers by 6 letters', (dialect, i) =>
      findCustomers(dialect, { field: 'CUSTOMER_NAME', value: records.sharedLetters(i, orders), contains: true }),
    ),
    workload('W5', 'create an order', ({ createOrder }, i) => createOrder(newOrder(i, orders)), {
      written: readNewOrder,
    }),
    workload(
      'W6',
      'create an order, then 3 lines',
      ({ createOrder, addLine }, i) => [
        createOrder(newOrder(i, orders)),
        ...[1, 2, 3].map(() => addLine(newLine(i, orders))),
      ],
      {
        written: (dialect, n) => {
          const sent = newLine(nth(Math.floor(n / 4), orders), orders);
          return n % 4 === 0 ? readNewOrder(dialect, n / 4) : { read: dialect.getOrder(sent['ORDER_NUMBER']!), sent };
        },
      },
    ),
    workload('W7', 'update a customer', ({ updateCustomer }, i) => updateCustomer(records.customerCode(i), change(i)), {
      written: (dialect, n) => {
        const i = nth(n, orders);
        const read = findCustomers(dialect, { field: 'CUSTOMER_CODE', value: records.customerCode(i) });
        return { read, sent: change(i) };
      },
    }),
    workload('W8', '4 orders of a storefront number', ({ lookUp }, i) => lookUp!(records.storefrontNumber(i)), {
      isOwn: true,
    }),
    workload('W9', 'order with 500 lines, 1 connection', (dialect, i) => getOrder(dialect, orders + i), {
      count: records.LARGE_ORDERS,
      connections: 1,
      isOwn: true,
    }),
  ];
}
