/**
 * The records of the benchmarks, made from counters, so that two runs measure the same thing: 100,000 orders with three
 * lines each, 100,000 customers, 1,000 parts. `seed` brings them in through the command line.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder, type Keys } from '../test/kit/service.ts';
import { runStoreroom, THIS_CHECKOUT } from './servers.ts';

export const TEAM = 'bench';
export const ORDERS = 100_000;
export const CUSTOMERS = 100_000;
export const PARTS = 1000;
export const FIRST_ORDER = 100_000;
const LINES_EACH = 3;

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
export const label = (i: number): string =>
  [...Array(6).keys()]
    .map((place) => 'abcdefghjkmnpqrstuvwxyzABCDEFGH'[(Math.imul(i + 1, 2_654_435_761 + place * 40_503) >>> 9) % 23])
    .join('');

export const orderRecord = (i: number): Record<string, string> => ({
  ORDER_NUMBER: String(FIRST_ORDER + i),
  ORDER_TYPE: 'quote',
  REFERENCE_NUMBER: `#${i}`,
  CUSTOMER_CODE: `C${i % 1000}`,
  ORDER_DATE: '11/20/2026',
  ORDER_STATUS: Math.floor(i / 1000) % 2 === 0 ? 'OPEN' : 'DONE',
  ...address('B', i),
  ...address('S', i),
});

/** In the order they have to be imported in. */
const FILES: readonly { type: string; count: number; record: (i: number) => Record<string, string> }[] = [
  {
    type: 'customers',
    count: CUSTOMERS,
    record: (i) => ({ CUSTOMER_CODE: `C${i}`, CUSTOMER_NAME: `Firm ${label(i)}`, ...address('B', i) }),
  },
  {
    type: 'inventory',
    count: PARTS,
    record: (i) => ({
      PART_CODE: `P${i}`,
      PART_DESCRIPTION: `Part number ${i}`,
      QTY_ONHAND: '100',
      UNIT_PRICE: '9.95',
    }),
  },
  { type: 'orders', count: ORDERS, record: orderRecord },
  {
    type: 'lines',
    count: ORDERS * LINES_EACH,
    record: (i) => ({
      ORDER_NUMBER: String(FIRST_ORDER + Math.floor(i / LINES_EACH)),
      PART_CODE: `P${i % PARTS}`,
      DESCRIPTION: `Part number ${i % PARTS}`,
      QUANTITY: '2',
      UNIT_PRICE: '9.95',
      CARE_PLAN: 'N',
    }),
  },
];

/**
 * Makes the tenant with its keys in a data folder or a database and imports its records, by the commands of a checkout.
 */
export async function seed(place: string, checkout = THIS_CHECKOUT): Promise<Keys> {
  const run = async (...words: string[]): Promise<string> => (await runStoreroom(place, words, { checkout })).stdout;
  await run('tenant', 'create', TEAM, '--name', 'Bench');
  const keys = JSON.parse(await run('keys', 'replace', TEAM, '--json')) as Keys;
  const folder = temporaryFolder();
  for (const { type, count, record } of FILES) {
    const file = join(folder, `${type}.csv`);
    // No value has a comma or a quote in it.
    const rows = Array.from({ length: count }, (_, i) => Object.values(record(i)).join(','));
    writeFileSync(file, [Object.keys(record(0)).join(','), ...rows, ''].join('\n'));
    await run('import', TEAM, type, file);
  }
  return keys;
}
