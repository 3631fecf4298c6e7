/**
 * The data and the requests of the benchmark: 100,000 orders with three lines each, 100,000 customers, 1,000 parts, and workloads W1 to W7 over them.
 * Every name and number is made from a counter, so that two runs measure the same thing.
 */
import type { ImportRow, PimsStore } from '../src/pims/port.ts';
import { openStore } from '../src/store/open.ts';
import { BASE_PATH, placeVariables, runCommand, type Keys } from '../test/kit/service.ts';
import type { LoadRequest } from './load.ts';

export const ORDERS = 100_000;
const CUSTOMERS = 100_000;
const PARTS = 1000;
const LINES_EACH = 3;
const FIRST_ORDER = 100_000;
const TEAM = 'bench';
const BATCH = 2000;
const REQUESTS = 5000;

const address = (side: 'B' | 'S', i: number): Record<string, string> =>
  Object.fromEntries(
    Object.entries({
      NAME: `${i} ${label(i)}`,
      ADDRESS1: `${i % 999} High Street`,
      CITY: `City ${i % 700}`,
      STATE: 'ME',
      ZIPCODE: String(10_000 + (i % 5000)),
      COUNTRY: 'USA',
      PHONE: `555-${i}`,
      EMAIL: `u${i}@example.com`,
    }).map(([name, value]) => [side + name, value]),
  );

/** Six letters that scatter, for substring searches: three of them are found in about a dozen of 100,000 names. */
const label = (i: number): string =>
  [...Array(6).keys()]
    .map((place) => 'abcdefghjkmnpqrstuvwxyzABCDEFGH'[(Math.imul(i + 1, 2_654_435_761 + place * 40_503) >>> 9) % 23])
    .join('');

const MAKERS = {
  customers: {
    count: CUSTOMERS,
    make: (i: number) => ({ CUSTOMER_CODE: `C${i}`, CUSTOMER_NAME: `Firm ${label(i)}`, ...address('B', i) }),
  },
  inventory: {
    count: PARTS,
    make: (i: number) => ({
      PART_CODE: `P${i}`,
      PART_DESCRIPTION: `Part number ${i}`,
      QTY_ONHAND: '100',
      UNIT_PRICE: '9.95',
    }),
  },
  orders: {
    count: ORDERS,
    make: (i: number) => ({
      ORDER_NUMBER: String(FIRST_ORDER + i),
      ORDER_TYPE: 'quote',
      REFERENCE_NUMBER: `#${i}`,
      CUSTOMER_CODE: `C${i % 1000}`,
      ORDER_DATE: '11/20/2026',
      ORDER_STATUS: Math.floor(i / 1000) % 2 === 0 ? 'OPEN' : 'DONE',
      ...address('B', i),
      ...address('S', i),
    }),
  },
  lines: {
    count: ORDERS * LINES_EACH,
    make: (i: number) => ({
      ORDER_NUMBER: String(FIRST_ORDER + Math.floor(i / LINES_EACH)),
      PART_CODE: `P${i % PARTS}`,
      DESCRIPTION: `Part number ${i % PARTS}`,
      QUANTITY: '2',
      UNIT_PRICE: '9.95',
      CARE_PLAN: 'N',
    }),
  },
};

/** Makes the tenant with its keys in a data folder or a database, and fills it through the store's import. */
export async function seed(place: string): Promise<Keys> {
  await runCommand(place, ['tenant', 'create', TEAM, '--name', 'Bench']);
  const keys = (await runCommand(place, ['keys', 'replace', TEAM, '--json'])).json() as Keys;
  const { STOREROOM_DATA: data, STOREROOM_DATABASE_URL: databaseUrl } = placeVariables(place);
  const onFatal = (fault: unknown): never => {
    throw fault;
  };
  const settings = { data, databaseUrl, databaseConnections: 1, queryBudgetMs: 5000, queryThreads: 1 };
  const store = await openStore(settings, { name: 'storeroom bench', busyTimeoutMs: 5000, onFatal });
  const pims = store.pims((await store.tenants.findTenant(TEAM))!);
  for (const recordType of ['customers', 'inventory', 'orders', 'lines'] as const) await fill(pims, recordType);
  await store.close();
  return keys;
}

async function fill(pims: PimsStore, recordType: keyof typeof MAKERS): Promise<void> {
  const { count, make } = MAKERS[recordType];
  async function* batches(): AsyncGenerator<ImportRow[]> {
    for (let i = 0; i < count; i += BATCH)
      yield Array.from({ length: Math.min(BATCH, count - i) }, (_, j) => ({
        lineNumber: i + j + 1,
        values: make(i + j),
      }));
  }
  for await (const { rejected } of pims.importRows(recordType, batches(), {
    now: new Date().toISOString(),
    atomic: false,
  }))
    if (rejected[0]) throw rejected[0].reason;
}

export interface Workload {
  readonly name: string;
  readonly requests: LoadRequest[];
}

/** The workloads; the yardstick answers the bytes of the very first request. */
export function makeWorkloads(keys: Keys): Workload[] {
  const headers = {
    authorization: `Basic ${Buffer.from(`${keys.apiID}:${keys.apiSecret}`).toString('base64')}`,
    'content-type': 'application/json',
  };
  const call = (method: string, path: string, query: string, body?: unknown): LoadRequest => {
    const request = { method, path: `${BASE_PATH}${path}?teamID=${TEAM}${query}`, headers };
    return body === undefined ? request : { ...request, body: JSON.stringify(body) };
  };
  const some = <T>(count: number, make: (i: number) => T): T[] =>
    Array.from({ length: REQUESTS }, (_, n) => make((n * 7919 + 5) % count));
  const order = (i: number): LoadRequest => call('GET', '/orders/single', `&orderNum=${FIRST_ORDER + i}`);
  const create = (i: number): LoadRequest =>
    call('PUT', '/orders/create', '', {
      ...MAKERS.orders.make(i),
      ORDER_NUMBER: undefined,
      ORDER_TYPE: 'worksheet',
      REFERENCE_NUMBER: `#new${i}`,
    });
  const line = (i: number): LoadRequest =>
    call('PUT', '/orders/line_item', '', {
      ORDER_NUMBER: String(FIRST_ORDER + i),
      PART_CODE: `P${i % PARTS}`,
      QUANTITY: '2',
      UNIT_PRICE: '9.95',
    });
  return [
    { name: 'W1 same order', requests: [order(5)] },
    { name: 'W1 random orders', requests: some(ORDERS, order) },
    {
      name: 'W2 exact e-mail',
      requests: some(CUSTOMERS, (i) =>
        call('POST', '/customers/query', '', [{ field: 'BEMAIL', value: `u${i}@example.com` }]),
      ),
    },
    {
      name: 'W3 two fields, 50 records',
      requests: some(1000, (i) =>
        call('POST', '/orders/query', '&maxReturn=50', [
          { field: 'CUSTOMER_CODE', value: `C${i}` },
          { field: 'ORDER_STATUS', value: 'OPEN', conjunction: 'AND' },
        ]),
      ),
    },
    {
      name: 'W4 substring, few hits',
      requests: some(CUSTOMERS, (i) =>
        call('POST', '/customers/query', '', [{ field: 'CUSTOMER_NAME', value: label(i).slice(0, 4), contains: true }]),
      ),
    },
    { name: 'W5 create order', requests: some(ORDERS, create) },
    { name: 'W6 order and 3 lines', requests: some(ORDERS, (i) => [create(i), line(i), line(i), line(i)]).flat() },
    {
      name: 'W7 update customer',
      requests: some(CUSTOMERS, (i) =>
        call('POST', '/customers/update', '', { CUSTOMER_CODE: `C${i}`, BPHONE: `555-${i + 1}`, NOTES: 'called' }),
      ),
    },
  ];
}
