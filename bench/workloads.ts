/**
 * The requests of the workloads W1 to W9, over the records of records.ts, for every kind of server.
 */
import type { LoadRequest } from './load-generator.ts';
import * as records from './records.ts';
import type { Dialect, Values } from './side.ts';

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
  /** Whether it is for Storeroom and the bare server alone. */
  readonly isOwn?: true;
  /** For writes: a request that reads what the n-th one wrote, and the values it sent. */
  readonly written?: (dialect: Dialect, n: number) => { readonly read: LoadRequest; readonly sent: Values };
}

/** The record that the n-th request is for. */
const nth = (n: number, count: number): number => (n * 7919 + 5) % count;

/** Makes requests for `count` records, in no order. */
const spread = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: Math.min(count, REQUESTS_MAX) }, (_, n) => make(nth(n, count)));

const newOrder = (i: number, orders: number): Values => {
  const { ORDER_NUMBER: _, ORDER_TYPE: __, ...values } = records.orderRecord(i, orders);
  return { ...values, REFERENCE_NUMBER: `#new${i}` };
};

function newLine(i: number, orders: number): Values {
  // Invoices take no more lines.
  const order = records.isSalesOrder(i) ? i : i ^ 2;
  const { NUMBER_SHIPPED: _, ...values } = records.lineRecord(order, i % records.LINES_EACH, orders);
  return { ...values, DESCRIPTION: `Added ${i}` };
}

const change = (i: number): Values => ({ BPHONE: `555-${i % 9973}`, NOTES: 'called' });

export function buildWorkloads(orders: number): Workload[] {
  const load = { connections: CONNECTIONS };
  const cities = (dialect: Dialect): LoadRequest[] =>
    spread(2 * records.CITIES, (i) => {
      const city = i % records.CITIES;
      const filter = { field: 'BCITY', value: records.cityName(city) };
      return i < records.CITIES
        ? dialect.query(
            'customers',
            [
              { field: 'BSTATE', value: records.stateOf(city) },
              { ...filter, conjunction: 'AND' },
            ],
            PAGE,
          )
        : dialect.query(
            'customers',
            [filter, { field: 'BSTATE', value: records.stateOf(city + 7), conjunction: 'OR' }],
            PAGE,
          );
    });
  const readNewOrder = ({ query }: Dialect, n: number): { read: LoadRequest; sent: Values } => {
    const sent = newOrder(nth(n, orders), orders);
    return { read: query('orders', [{ field: 'REFERENCE_NUMBER', value: sent['REFERENCE_NUMBER']! }], PAGE), sent };
  };
  return [
    {
      ...load,
      name: 'W1',
      title: 'order and its 3 lines',
      requestsOf: ({ getOrder }) => spread(orders, (i) => getOrder(records.orderNumber(i))),
    },
    {
      ...load,
      name: 'W1 hot',
      title: 'the same, of 1,000 orders',
      isOwn: true,
      requestsOf: ({ getOrder }) => spread(HOT_ORDERS, (i) => getOrder(records.orderNumber(i))),
    },
    {
      ...load,
      name: 'W2',
      title: 'customer by exact e-mail',
      requestsOf: ({ query }) =>
        spread(orders, (i) => query('customers', [{ field: 'BEMAIL', value: records.emailOf(i) }], PAGE)),
    },
    { ...load, name: 'W3', title: '50 customers by city AND / OR state', requestsOf: cities },
    {
      ...load,
      name: 'W4',
      title: '12 customers by 6 letters',
      requestsOf: ({ query }) =>
        spread(orders, (i) =>
          query(
            'customers',
            [{ field: 'CUSTOMER_NAME', value: records.sharedLetters(i, orders), contains: true }],
            PAGE,
          ),
        ),
    },
    {
      ...load,
      name: 'W5',
      title: 'create an order',
      requestsOf: ({ createOrder }) => spread(orders, (i) => createOrder(newOrder(i, orders))),
      written: readNewOrder,
    },
    {
      ...load,
      name: 'W6',
      title: 'create an order, then 3 lines',
      requestsOf: ({ createOrder, addLine }) =>
        spread(orders, (i) => [
          createOrder(newOrder(i, orders)),
          ...[1, 2, 3].map(() => addLine(newLine(i, orders))),
        ]).flat(),
      written: (dialect, n) => {
        const sent = newLine(nth(Math.floor(n / 4), orders), orders);
        return n % 4 === 0 ? readNewOrder(dialect, n / 4) : { read: dialect.getOrder(sent['ORDER_NUMBER']!), sent };
      },
    },
    {
      ...load,
      name: 'W7',
      title: 'update a customer',
      requestsOf: ({ updateCustomer }) => spread(orders, (i) => updateCustomer(records.customerCode(i), change(i))),
      written: ({ query }, n) => {
        const i = nth(n, orders);
        const value = records.customerCode(i);
        return { read: query('customers', [{ field: 'CUSTOMER_CODE', value }], PAGE), sent: change(i) };
      },
    },
    {
      ...load,
      name: 'W8',
      title: '4 orders of a storefront number',
      isOwn: true,
      requestsOf: ({ lookUp }) => spread(orders, (i) => lookUp!(records.storefrontNumber(i))),
    },
    {
      name: 'W9',
      title: 'order with 500 lines, 1 connection',
      connections: 1,
      isOwn: true,
      requestsOf: ({ getOrder }) => spread(records.LARGE_ORDERS, (i) => getOrder(records.orderNumber(orders + i))),
    },
  ];
}
