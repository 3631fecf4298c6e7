/**
 * The records of the benchmarks. Each is a function of its number alone, so that two runs measure the same thing. There
 * are as many customers and parts as orders; an order has three lines, and ten more orders have 500 lines.
 */
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordType } from '../../src/pims/rules/fields.ts';
import { times } from '../../test/kit/lists.ts';

export const TEAM = 'bench';
const FIRST_ORDER = 100_000;
export const LINES_EACH = 3;
export const LARGE_ORDERS = 10;
const LINES_OF_LARGE = 500;
/** Orders with the same storefront number: two sales orders and two invoices. */
const ORDERS_EACH_REFERENCE = 4;
/** Number of customers that have the same six letters in their name. It does not depend on the number of customers. */
const SHARING = 12;
const ROWS_A_WRITE = 10_000;
export const CITIES = 200;
const STATES =
  'AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY'.split(
    ' ',
  );
const LETTERS = 'abcdefghjkmnpqrstuvwxyz';
const LABEL_LETTERS = 6;
const LABELS = LETTERS.length ** LABEL_LETTERS;

type Record = Readonly<globalThis.Record<string, string>>;

/** Returns a number that is scattered over 32 bits. */
function scatterOf(i: number, salt: number): number {
  let mixed = Math.imul(i + 1, 0x9e_37_79_b1) ^ Math.imul(salt + 1, 0x85_eb_ca_6b);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21_f0_aa_ad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x73_5a_2d_97);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}

/** Returns six letters, different for every number. */
function labelOf(i: number): string {
  let rest = (i * 16_180_339) % LABELS;
  let label = '';
  for (let place = 0; place < LABEL_LETTERS; place++) {
    label += LETTERS[rest % LETTERS.length];
    rest = Math.floor(rest / LETTERS.length);
  }
  return label;
}

const pad = (i: number): string => String(i).padStart(7, '0');
export const customerCode = (i: number): string => `C${pad(i)}`;
const partCode = (i: number): string => `P${pad(i)}`;
export const orderNumber = (i: number): string => String(FIRST_ORDER + i);
export const storefrontNumber = (i: number): string => `#${Math.floor(i / ORDERS_EACH_REFERENCE)}`;
export const cityName = (city: number): string => `City ${city}`;
export const stateOf = (city: number): string => STATES[city % STATES.length]!;
export const emailOf = (i: number): string => `u${i}@example.com`;
/** Returns six letters that twelve customers have in their name. */
export const sharedLetters = (i: number, customers: number): string => labelOf(i % Math.ceil(customers / SHARING));
/** Returns whether an order is a sales order. In turn, two orders are sales orders and two are invoices. */
export const isSalesOrder = (i: number): boolean => i % ORDERS_EACH_REFERENCE < 2;

const address = (side: 'B' | 'S', i: number): Record => {
  const city = scatterOf(i, 1) % CITIES;
  const parts = {
    NAME: `Person ${i}`,
    ADDRESS1: `${i % 999} High Street`,
    CITY: cityName(city),
    STATE: stateOf(city),
    ZIPCODE: String(10_000 + (scatterOf(i, 2) % 80_000)),
    COUNTRY: 'USA',
    PHONE: `555-${pad(i)}`,
    EMAIL: side === 'B' ? emailOf(i) : `s${i}@example.com`,
  };
  return Object.fromEntries(Object.entries(parts).map(([name, value]) => [side + name, value]));
};

export const orderRecord = (i: number, customers: number): Record => ({
  ORDER_NUMBER: orderNumber(i),
  ORDER_TYPE: isSalesOrder(i) ? 'sales_order' : 'invoice',
  REFERENCE_NUMBER: storefrontNumber(i),
  CUSTOMER_CODE: customerCode(scatterOf(i, 3) % customers),
  ORDER_DATE: `${String(1 + (i % 12)).padStart(2, '0')}/${String(1 + (i % 28)).padStart(2, '0')}/2026`,
  ORDER_STATUS: ['OPEN', 'PICKED', 'SHIPPED', 'CLOSED'][scatterOf(i, 4) % 4]!,
  ...address('B', i),
  ...address('S', i),
});

export function lineRecord(order: number, line: number, parts: number): Record {
  const part = scatterOf(order * LINES_EACH + line, 5) % parts;
  return {
    ORDER_NUMBER: orderNumber(order),
    PART_CODE: partCode(part),
    DESCRIPTION: describePart(part),
    QUANTITY: '2',
    NUMBER_SHIPPED: isSalesOrder(order) ? '0' : '2',
    UNIT_PRICE: '9.95',
    CARE_PLAN: 'N',
  };
}

const customerRecord = (i: number, customers: number): Record => ({
  CUSTOMER_CODE: customerCode(i),
  CUSTOMER_NAME: `Firm ${sharedLetters(i, customers)}`,
  ...address('B', i),
  ...address('S', i),
});

const describePart = (i: number): string => `Bracket ${labelOf(i)} ${i % 90} mm`;

const partRecord = (i: number): Record => ({
  PART_CODE: partCode(i),
  PART_DESCRIPTION: describePart(i),
  BARCODE: String(700_000_000 + i),
  CATEGORY: `Category ${i % 40}`,
  LOCATION_CODE: `L${i % 7}`,
  QTY_ONHAND: '100',
  UNIT_PRICE: '9.95',
});

export interface RecordFile {
  readonly name: string;
  readonly recordType: RecordType;
  readonly file: string;
  readonly count: number;
}

/** Writes `count` records of a type as a CSV file. No value may contain a comma or a quote. */
export function writeRecords(
  folder: string,
  name: string,
  recordType: RecordType,
  count: number,
  recordOf: (i: number) => Record,
): RecordFile {
  const file = join(folder, `${name.replaceAll(' ', '-')}.csv`);
  writeFileSync(file, `${Object.keys(recordOf(0)).join(',')}\n`);
  for (let from = 0; from < count; from += ROWS_A_WRITE) {
    const some = times(Math.min(ROWS_A_WRITE, count - from), (k) => recordOf(from + k));
    appendFileSync(file, some.map((record) => `${Object.values(record).join(',')}\n`).join(''));
  }
  return { name, recordType, file, count };
}

/** Writes the records as CSV files. Returns the files in the order in which they must be imported. */
export function writeRecordFiles(folder: string, orders: number): RecordFile[] {
  const half = orders / 2;
  /** Returns the k-th line of sales orders (`first` is 0) or of invoices. */
  const lineOf = (first: number) => (k: number) => {
    const nth = Math.floor(k / LINES_EACH);
    return lineRecord(first + Math.floor(nth / 2) * ORDERS_EACH_REFERENCE + (nth % 2), k % LINES_EACH, orders);
  };
  /** Returns one of the ten large orders, which come last and are invoices. */
  const largeOrder = (k: number): Record => ({
    ...orderRecord(orders + k, orders),
    ORDER_TYPE: 'invoice',
    REFERENCE_NUMBER: `#large${k}`,
  });
  return [
    writeRecords(folder, 'customers', 'customers', orders, (i) => customerRecord(i, orders)),
    writeRecords(folder, 'parts', 'inventory', orders, partRecord),
    writeRecords(folder, 'orders', 'orders', orders + LARGE_ORDERS, (i) =>
      i < orders ? orderRecord(i, orders) : largeOrder(i - orders),
    ),
    writeRecords(folder, 'lines of sales orders', 'lines', half * LINES_EACH, lineOf(0)),
    writeRecords(folder, 'lines of invoices', 'lines', half * LINES_EACH, lineOf(2)),
    writeRecords(folder, 'lines of large orders', 'lines', LARGE_ORDERS * LINES_OF_LARGE, (k) => ({
      ...lineRecord(orders + Math.floor(k / LINES_OF_LARGE), k % LINES_OF_LARGE, orders),
      NUMBER_SHIPPED: '2',
    })),
  ];
}
