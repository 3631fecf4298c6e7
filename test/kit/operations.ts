/**
 * One valid call of each operation, on a small tenant that has a record of every kind. Every record of the tenant
 * contains `mark`, and no other tenant's record does, so a record shows whose it is. No answer is checked here.
 */
import { Shop, succeed } from './records.ts';
import { BASE_PATH, type Answer, type Keys, type Service } from './service.ts';

export interface GoodCall {
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly kind: 'single' | 'query' | 'write' | 'batch';
  readonly query: Record<string, string>;
  /** The body of a query. */
  readonly filters?: Record<string, string>[];
  /** The body of a write. */
  readonly fields?: Record<string, unknown>;
  /** The body of a batch. */
  readonly steps?: { readonly operation: string; readonly body: Record<string, string> }[];
  /** The body of a lookup of several numbers. */
  readonly numbers?: string[];
}

export interface StockedShop {
  readonly shop: Shop;
  readonly keys: Keys;
  /** One call of each operation but `batch` and those in `reads` and `office`. */
  readonly calls: GoodCall[];
  readonly batch: GoodCall;
  /** Calls of the reading operations that are not in `calls`. */
  readonly reads: GoodCall[];
  /** Calls of the operations that need the scope `office`. */
  readonly office: GoodCall[];
  call(operation: string): GoodCall;
}

/** Makes a tenant with a part, a customer, an order with a line, and an order without lines. */
export async function stockShop(service: Service, mark: string, ...settings: string[]): Promise<StockedShop> {
  const shop = await Shop.open(service, mark, ...settings);
  await shop.load('inventory', [
    { PART_CODE: `part-${mark}`, PART_DESCRIPTION: `description of ${mark}`, QTY_ONHAND: '9' },
  ]);
  await shop.load('orders', [
    { ORDER_NUMBER: `order-${mark}`, ORDER_TYPE: 'quote', REFERENCE_NUMBER: `#${mark}`, BNAME: `buyer of ${mark}` },
    { ORDER_NUMBER: `order-of-nobody-${mark}`, ORDER_TYPE: 'quote' },
  ]);
  await succeed(shop.createCustomer({ CUSTOMER_CODE: `customer-${mark}`, CUSTOMER_NAME: `name of ${mark}` }));
  const line = await succeed(
    shop.addLineItem({ ORDER_NUMBER: `order-${mark}`, PART_CODE: `part-${mark}`, QUANTITY: '2' }),
  );
  const calls = writeCalls(mark, line['LINE_REF_LOCK_CODE']!);
  const call = (operation: string): GoodCall => calls.find((one) => one.operation === operation)!;
  return {
    shop,
    keys: shop.keys,
    calls,
    batch: batchOf(mark),
    reads: readsOf(mark),
    office: officeOf(mark, line['LINE_REF_LOCK_CODE']!),
    call,
  };
}

const readsOf = (mark: string): GoodCall[] => {
  const reference = '/orders/by_storefront_reference';
  return [
    { operation: 'listFields', method: 'GET', path: '/fields', kind: 'single', query: { type: 'orders' } },
    { operation: 'listChanges', method: 'GET', path: '/changes', kind: 'single', query: { after: '0' } },
    { operation: 'getUsage', method: 'GET', path: '/usage', kind: 'single', query: {} },
    {
      operation: 'findOrdersByStorefrontReferences',
      method: 'POST',
      path: reference,
      kind: 'query',
      query: {},
      numbers: [`#${mark}`],
    },
  ];
};

const officeOf = (mark: string, lockCode: string): GoodCall[] => {
  const [order, part] = [{ ORDER_NUMBER: `order-${mark}` }, { PART_CODE: `part-${mark}` }];
  const calls: [operation: string, method: 'POST' | 'PUT', path: string, fields: Record<string, unknown>][] = [
    ['approveOrder', 'POST', '/orders/approve', order],
    ['invoiceOrder', 'POST', '/orders/invoice', order],
    ['voidInvoice', 'POST', '/orders/void', order],
    ['returnOrder', 'PUT', '/orders/return', { ...order, lines: [{ LINE_REF_LOCK_CODE: lockCode, QUANTITY: '1' }] }],
    ['createPart', 'PUT', '/inventory/create', { PART_CODE: `another-part-${mark}` }],
    ['updatePart', 'POST', '/inventory/update', { ...part, BARCODE: `code of ${mark}` }],
    ['receiveStock', 'POST', '/stock/receive', { ...part, QUANTITY: '1' }],
    ['countStock', 'POST', '/stock/count', { ...part, QUANTITY: '9' }],
    ['adjustStock', 'POST', '/stock/adjust', { ...part, QUANTITY: '-1', REASON: `reason of ${mark}` }],
  ];
  return calls.map(([operation, method, path, fields]) => ({
    operation,
    method,
    path,
    kind: 'write',
    query: {},
    fields,
  }));
};

const batchOf = (mark: string): GoodCall => ({
  operation: 'batch',
  method: 'POST',
  path: '/batch',
  kind: 'batch',
  query: {},
  steps: [
    { operation: 'updateCustomer', body: { CUSTOMER_CODE: `customer-${mark}`, NOTES: `note of ${mark}` } },
    { operation: 'addLineItem', body: { ORDER_NUMBER: `order-${mark}`, DESCRIPTION: `extra of ${mark}` } },
  ],
});

function writeCalls(mark: string, lockCode: string): GoodCall[] {
  const order = `order-${mark}`;
  const customer = `customer-${mark}`;
  const part = `part-${mark}`;
  const single = (operation: string, path: string, query: Record<string, string>): GoodCall => {
    return { operation, method: 'GET', path, kind: 'single', query };
  };
  const list = (operation: string, path: string, field: string, value: string): GoodCall => {
    return { operation, method: 'POST', path, kind: 'query', query: {}, filters: [{ field, value }] };
  };
  const write = (operation: string, method: 'PUT' | 'POST', path: string, fields: Record<string, string>): GoodCall => {
    return { operation, method, path, kind: 'write', query: {}, fields };
  };
  const line = { ORDER_NUMBER: order, LINE_REF_LOCK_CODE: lockCode };
  const reference = { storefront_order_number: `#${mark}` };
  return [
    single('getOrder', '/orders/single', { orderNum: order }),
    list('queryOrders', '/orders/query', 'ORDER_NUMBER', order),
    list('queryLines', '/lines/query', 'ORDER_NUMBER', order),
    write('createOrder', 'PUT', '/orders/create', { BNAME: `another buyer of ${mark}` }),
    write('addLineItem', 'PUT', '/orders/line_item', { ORDER_NUMBER: order, DESCRIPTION: `extra of ${mark}` }),
    write('updateLineItem', 'POST', '/orders/line_item', { ...line, DISCOUNT: '5' }),
    write('updateOrder', 'POST', '/orders/update', { ORDER_NUMBER: order, SHIP_VIA: `carrier of ${mark}` }),
    write('cancelOrder', 'POST', '/orders/cancel', { ORDER_NUMBER: `order-of-nobody-${mark}` }),
    single('findOrdersByStorefrontReference', '/orders/by_storefront_reference', reference),
    single('getCustomer', '/customers/single', { customerCode: customer }),
    list('queryCustomers', '/customers/query', 'CUSTOMER_CODE', customer),
    write('createCustomer', 'PUT', '/customers/create', { CUSTOMER_NAME: `another of ${mark}` }),
    write('updateCustomer', 'POST', '/customers/update', { CUSTOMER_CODE: customer, NOTES: `note of ${mark}` }),
    single('getInventoryItem', '/inventory/single', { partCode: part }),
    list('queryInventoryItems', '/inventory/query', 'PART_CODE', part),
    single('listMovements', '/stock/movements', { partCode: part }),
  ];
}

export const bodyOf = ({
  filters,
  fields,
  steps,
  numbers,
}: GoodCall): GoodCall['filters' | 'fields' | 'steps' | 'numbers'] => filters ?? fields ?? steps ?? numbers;

export type Way = 'Basic' | 'query' | 'body';
export type Sent = { readonly [Name in keyof Keys]?: Keys[Name] | undefined };

export const basicOf = ({ apiID = '', apiSecret = '' }: Sent): string =>
  `Basic ${Buffer.from(`${apiID}:${apiSecret}`).toString('base64')}`;

/** Sends a call with teamID and credentials in one of the three ways. Omitted parts are not sent. */
export function sendBy(
  way: Way,
  service: Service,
  call: GoodCall,
  { teamID, apiID, apiSecret }: Sent,
): Promise<Answer> {
  const { method, path, query, fields } = call;
  const body = bodyOf(call);
  const team = teamID === undefined ? {} : { teamID };
  const pair = { ...(apiID !== undefined && { apiID }), ...(apiSecret !== undefined && { apiSecret }) };
  if (way === 'body') return service.request(method, path, { query, body: { ...fields, ...team, ...pair } });
  if (way === 'query') return service.request(method, path, { query: { ...query, ...team, ...pair }, body });
  const headers =
    apiID === undefined && apiSecret === undefined ? {} : { authorization: basicOf({ apiID, apiSecret }) };
  return service.request(method, path, { query: { ...query, ...team }, body, headers });
}

/** Returns the ways in which a call can send credentials. */
export const waysOf = ({ kind }: GoodCall): Way[] =>
  kind === 'write' ? ['Basic', 'query', 'body'] : ['Basic', 'query'];

/** Returns the target of a call with teamID, for a request written by hand. */
export const targetOf = ({ path, query }: GoodCall, teamID: string): string =>
  `${BASE_PATH}${path}?${new URLSearchParams({ teamID, ...query }).toString()}`;
