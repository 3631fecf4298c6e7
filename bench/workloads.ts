/**
 * The requests of the workloads W1 to W8, over the records of seed-data.ts.
 */
import { BASE_PATH, type Keys } from '../test/kit/service.ts';
import type { LoadRequest } from './load-generator.ts';
import { CUSTOMERS, FIRST_ORDER, label, ORDERS, orderRecord, PARTS, TEAM } from './seed-data.ts';

const REQUESTS = 5000;

export interface Workload {
  readonly name: string;
  readonly requests: LoadRequest[];
}

export function buildWorkloads(keys: Keys): Workload[] {
  const headers = { ...authorize(keys), 'content-type': 'application/json' };
  const call = (method: string, path: string, query: string, body?: unknown): LoadRequest => {
    const request = { method, path: `${BASE_PATH}${path}?teamID=${TEAM}${query}`, headers };
    return body === undefined ? request : { ...request, body: JSON.stringify(body) };
  };
  const getOrder = (i: number): LoadRequest => call('GET', '/orders/single', `&orderNum=${FIRST_ORDER + i}`);
  const queryCustomers = (filter: object): LoadRequest => call('POST', '/customers/query', '', [filter]);
  const createOrder = (i: number): LoadRequest =>
    call('PUT', '/orders/create', '', {
      ...orderRecord(i),
      ORDER_NUMBER: undefined,
      ORDER_TYPE: 'worksheet',
      REFERENCE_NUMBER: `#new${i}`,
    });
  const addLine = (i: number): LoadRequest =>
    call('PUT', '/orders/line_item', '', {
      ORDER_NUMBER: String(FIRST_ORDER + i),
      PART_CODE: `P${i % PARTS}`,
      QUANTITY: '2',
      UNIT_PRICE: '9.95',
    });
  return [
    { name: 'W1 same order', requests: [getOrder(5)] },
    { name: 'W1 random orders', requests: scatter(ORDERS, getOrder) },
    {
      name: 'W2 exact e-mail',
      requests: scatter(CUSTOMERS, (i) => queryCustomers({ field: 'BEMAIL', value: `u${i}@example.com` })),
    },
    {
      name: 'W3 two fields, 50 records',
      requests: scatter(1000, (i) =>
        call('POST', '/orders/query', '&maxReturn=50', [
          { field: 'CUSTOMER_CODE', value: `C${i}` },
          { field: 'ORDER_STATUS', value: 'OPEN', conjunction: 'AND' },
        ]),
      ),
    },
    {
      name: 'W4 substring, few hits',
      requests: scatter(CUSTOMERS, (i) =>
        queryCustomers({ field: 'CUSTOMER_NAME', value: label(i).slice(0, 4), contains: true }),
      ),
    },
    { name: 'W5 create order', requests: scatter(ORDERS, createOrder) },
    {
      name: 'W6 order and 3 lines',
      requests: scatter(ORDERS, (i) => [createOrder(i), addLine(i), addLine(i), addLine(i)]).flat(),
    },
    {
      name: 'W7 update customer',
      requests: scatter(CUSTOMERS, (i) =>
        call('POST', '/customers/update', '', { CUSTOMER_CODE: `C${i}`, BPHONE: `555-${i + 1}`, NOTES: 'called' }),
      ),
    },
    {
      name: 'W8 storefront order',
      requests: scatter(ORDERS, (i) =>
        call('GET', '/orders/by_storefront_reference', `&storefront_order_number=%23${i}`),
      ),
    },
  ];
}

export const authorize = ({ apiID, apiSecret }: Keys): { authorization: string } => ({
  authorization: `Basic ${Buffer.from(`${apiID}:${apiSecret}`).toString('base64')}`,
});

/** Requests that are spread over so many records. */
const scatter = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: REQUESTS }, (_, n) => make((n * 7919 + 5) % count));
