/** Contract: a query returns the same pages as the model in plain JavaScript, also after every write. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Filter } from '../../src/pims/reads/query.ts';
import type { Values } from '../../src/pims/rules/values.ts';
import type { FieldType, KeyedType, RecordType } from '../../src/pims/rules/fields.ts';
import { times, valuesOf } from '../kit/lists.ts';
import { trials } from '../kit/trials.ts';
import { compareKeys, filtersOver, queryModel, smallDate, smallKey, smallNumber, smallText } from './query-model.ts';
import { type StoreUnderTest, accepted, Pims } from './store-under-test.ts';

const QUERIES = trials('QUERIES', { quick: 60, all: 300 });
const typesOf = (texts: string, others: Record<string, FieldType>): Record<string, FieldType> => ({
  ...Object.fromEntries(texts.split(' ').map((name) => [name, 'text'])),
  ...others,
});
const FIELDS: Record<KeyedType, { key: string; types: Record<string, FieldType> }> = {
  orders: {
    key: 'ORDER_NUMBER',
    types: typesOf('ORDER_NUMBER REFERENCE_NUMBER ORDER_STATUS NOTES COLOUR', {
      ORDER_DATE: 'date',
      ORDER_TOTAL: 'number',
      DROP_SHIP: 'flag',
    }),
  },
  customers: {
    key: 'CUSTOMER_CODE',
    types: typesOf('CUSTOMER_CODE CUSTOMER_NAME BNAME BCITY NOTES', { CREDIT_LIMIT: 'number' }),
  },
  inventory: {
    key: 'PART_CODE',
    types: typesOf('PART_CODE PART_DESCRIPTION BARCODE CATEGORY', { UNIT_PRICE: 'number', SERIALIZED: 'flag' }),
  },
};
const VALUES: Record<FieldType, fc.Arbitrary<string>> = {
  text: smallText,
  number: fc.oneof(fc.constant(''), smallNumber),
  date: fc.oneof(fc.constant(''), smallDate),
  flag: fc.constantFrom('', 'Y', 'N'),
  timestamp: fc.constant(''),
};

/** Makes records with values as the store keeps them. Every run of the tests makes the same ones. */
function makeRecords(recordType: KeyedType, count: number): Values[] {
  const { key, types } = FIELDS[recordType];
  const record = fc.record({
    ...Object.fromEntries(Object.entries(types).map(([name, type]) => [name, VALUES[type]])),
    [key]: smallKey,
  }) as fc.Arbitrary<Values>;
  const records = fc.uniqueArray(record, {
    selector: (one) => one[key],
    minLength: count,
    maxLength: count,
    size: 'max',
  });
  return fc.sample(records, { numRuns: 1, seed: 7 })[0]!;
}

/** Reads all pages of a query, one after the other. */
async function askAll(
  pims: Pims,
  recordType: RecordType,
  filters: readonly Filter[],
  limit: number,
): Promise<Values[]> {
  const found: Values[] = [];
  let after: string | null = '';
  while (after !== null) {
    const { records, next }: { records: Values[]; next: string | null } = await pims.ask(recordType, filters, {
      limit,
      after,
    });
    assert.ok(
      next === null ? records.length <= limit : records.length === limit,
      'a page that is not the last is full',
    );
    assert.ok(after === '' || records.length > 0, 'where more was promised, there is more');
    found.push(...records);
    after = next;
  }
  return found;
}

export function describeQueries(store: StoreUnderTest): void {
  for (const recordType of ['orders', 'customers', 'inventory'] as const)
    test(`${recordType}: any filters find the matching records, by key, in pages of any size`, async () => {
      const { pims } = await store.newTenant();
      const { key, types } = FIELDS[recordType];
      if (recordType === 'orders') accepted(await pims.addField({ recordType, name: 'COLOUR', type: 'text' }));
      const records = makeRecords(recordType, 150);
      await pims.importAll(recordType, records);
      let found = 0;
      await fc.assert(
        fc.asyncProperty(
          filtersOver(records, types),
          fc.constantFrom(1, 3, 10, 149, 150, 1000),
          async (filters, limit) => {
            const expected = queryModel(records, types, key, filters).map((record) => record[key]);
            if (expected.length > 20 && limit === 1) return;
            found += expected.length;
            assert.deepEqual(valuesOf(await askAll(pims, recordType, filters, limit), key), expected);
          },
        ),
        { numRuns: QUERIES },
      );
      assert.ok(found > QUERIES * 3, `the filters found ${found} records; fewer prove nothing`);
    });

  test('lines: any filters find the matching lines, by order and number, in pages of any size', async () => {
    const { pims } = await store.newTenant();
    const types = typesOf('ORDER_NUMBER PART_CODE DESCRIPTION LINE_REF_LOCK_CODE', { QUANTITY: 'number' });
    const orders = makeRecords('orders', 60).map(({ ORDER_NUMBER = '' }) => ({ ORDER_NUMBER, ORDER_TYPE: 'quote' }));
    const texts = makeRecords('inventory', 150);
    const lines = texts.map(({ PART_CODE = '', PART_DESCRIPTION = '', UNIT_PRICE = '' }, at) => ({
      PART_CODE,
      DESCRIPTION: PART_DESCRIPTION,
      CARE_PLAN: 'N',
      QUANTITY: UNIT_PRICE || '0',
      ORDER_NUMBER: orders[at % 60]!.ORDER_NUMBER,
      LINE_NUMBER: String(1 + at),
      // Lines of different orders can have one lock code.
      LINE_REF_LOCK_CODE: `lock ${Math.floor(at / 60)}`,
    }));
    await pims.importAll('orders', orders);
    await pims.importAll('lines', lines);
    const nameOf = ({ ORDER_NUMBER, LINE_NUMBER }: Values): string => `${ORDER_NUMBER} ${LINE_NUMBER}`;
    let found = 0;
    await fc.assert(
      fc.asyncProperty(filtersOver(lines, types), fc.constantFrom(3, 10, 149, 1000), async (filters, limit) => {
        // Lines of one order are in the order of their numbers before and after they are sorted.
        const expected = queryModel(lines, types, 'ORDER_NUMBER', filters).map(nameOf);
        found += expected.length;
        assert.deepEqual((await askAll(pims, 'lines', filters, limit)).map(nameOf), expected);
      }),
      { numRuns: QUERIES },
    );
    assert.ok(found > QUERIES * 3, `the filters found ${found} lines; fewer prove nothing`);
  });

  test('of several bounds of one field the tightest apply, in any order of the filters and of the page', async () => {
    const { pims } = await store.newTenant();
    await pims.importAll(
      'orders',
      times(40, (n) => ({ ORDER_NUMBER: String(n + 1), ORDER_TYPE: 'quote' })),
    );
    const bounds = (
      [
        ['ge', '5'],
        ['le', '30'],
        ['lt', '20'],
        ['gt', '9'],
      ] as const
    ).map(([op, value]) => ({ field: 'ORDER_NUMBER', op, value }));
    for (const turn of bounds.keys())
      for (const sort of [undefined, 'ORDER_NUMBER', '-ORDER_NUMBER']) {
        const filters = [...bounds.slice(turn), ...bounds.slice(0, turn)];
        const { records } = await pims.ask('orders', filters, sort === undefined ? {} : { sort });
        const found = valuesOf(records, 'ORDER_NUMBER').map(Number);
        const expected = times(10, (n) => n + 10);
        assert.deepEqual(found, sort?.startsWith('-') ? expected.toReversed() : expected, JSON.stringify(filters));
      }
  });

  test('a day that is excluded from the sorted field excludes its records only', async () => {
    const { pims } = await store.newTenant();
    const days = times(5, (n) => `2026-01-0${n + 1}`);
    await pims.importAll(
      'customers',
      days.map((day) => ({ MODIFIED_DATE: `${day}T00:00:00.000Z` })),
    );
    const { records } = await pims.ask('customers', [{ field: 'MODIFIED_DATE', op: 'ne', value: days[2]! }], {
      sort: 'MODIFIED_DATE',
    });
    assert.deepEqual(
      valuesOf(records, 'MODIFIED_DATE').map((time) => time.slice(0, 10)),
      days.toSpliced(2, 1),
    );
  });

  test('any fifty filters get a result', async () => {
    const { pims } = await store.newTenant();
    const records = makeRecords('customers', 60);
    const { key, types } = FIELDS.customers;
    await pims.importAll('customers', records);
    for (const contains of [true, false])
      for (const conjunction of ['OR', 'AND', undefined])
        for (const name of ['CUSTOMER_NAME', 'NOTES', 'CUSTOMER_CODE']) {
          const filters = records
            .slice(0, 50)
            .map((record) => ({ field: name, value: record[name]!, contains, ...(conjunction && { conjunction }) }));
          const expected = queryModel(records, types, key, filters).map((record) => record[key]);
          assert.deepEqual(valuesOf(await askAll(pims, 'customers', filters, 7), key), expected);
        }
  });

  test('pages continue where they stopped even if records are written in between', async () => {
    const { pims } = await store.newTenant();
    const keys = times(40, (index) => String(index * 10));
    const inventory = keys.map((PART_CODE) => ({ PART_CODE, CATEGORY: 'x' }));
    await pims.importAll('inventory', inventory);
    for (const filters of [
      [],
      [{ field: 'CATEGORY', value: 'x' }],
      [{ field: 'CATEGORY', value: 'X', contains: true }],
    ]) {
      const seen: string[] = [];
      let after: string | null = '';
      for (let page = 0; after !== null; page++) {
        const { records, next }: { records: Values[]; next: string | null } = await pims.ask('inventory', filters, {
          limit: 7,
          after,
        });
        seen.push(...records.map((record) => record['PART_CODE']!));
        const behind = String(Number(seen.at(-1)) - 1);
        if (page < 3 && filters.length === 0) await pims.importAll('inventory', [{ PART_CODE: behind, CATEGORY: 'x' }]);
        after = next;
      }
      const found = seen.filter((key) => keys.includes(key));
      assert.deepEqual(found, keys);
      assert.deepEqual(seen, seen.toSorted(compareKeys));
      assert.equal(new Set(seen).size, seen.length);
    }
  });

  test('equal filters get a separate result for another size, start or type, and after a write', async () => {
    const { pims } = await store.newTenant();
    const filters = [{ field: 'LOCATION_CODE', value: 'L' }];
    await pims.importAll(
      'inventory',
      [1, 2, 3].map((code) => ({ PART_CODE: String(code), LOCATION_CODE: 'L' })),
    );
    await pims.importAll('orders', [{ ORDER_NUMBER: '7', LOCATION_CODE: 'L' }]);
    const count = async (recordType: KeyedType, ask: Parameters<Pims['ask']>[2]): Promise<number> =>
      (await pims.ask(recordType, filters, ask)).records.length;
    const { next } = await pims.ask('inventory', filters, { limit: 1 });
    for (const expected of [3, 3, 4]) {
      if (expected === 4) await pims.importAll('inventory', [{ PART_CODE: '4', LOCATION_CODE: 'L' }]);
      assert.equal(await count('inventory', { limit: 10 }), expected);
      assert.equal(await count('inventory', { limit: 10, after: next! }), expected - 1);
      assert.equal(await count('inventory', { limit: 2 }), 2);
      assert.equal(await count('inventory', { limit: 10, bytesMax: 1 }), 1);
      assert.equal(await count('orders', { limit: 10 }), 1);
    }
  });

  test('a page ends at its maximum of bytes, has at least one record, and the next one continues', async () => {
    const { pims } = await store.newTenant();
    const notes = ['x'.repeat(8000), 'é'.repeat(4000), 'x'.repeat(100), 'x'.repeat(100), 'x'.repeat(100)];
    await pims.importAll(
      'customers',
      notes.map((NOTES, index) => ({ CUSTOMER_CODE: String(index), CUSTOMER_NAME: 'customer', NOTES })),
    );
    for (const filters of [[], [{ field: 'CUSTOMER_NAME', value: 'custom', contains: true }]]) {
      const pages: number[] = [];
      for (let next: string | null = ''; next !== null;) {
        const page = await pims.ask('customers', filters, { bytesMax: 6000, after: next });
        pages.push(page.records.length);
        next = page.next;
      }
      assert.deepEqual(pages, [1, 1, 3]);
    }
  });

  test('a record renamed is found by its new text and not by its old', async () => {
    const { pims } = await store.newTenant();
    const code = await pims.createCustomer({ CUSTOMER_NAME: 'Bergström & Söhne', BNAME: 'Unverändert' });
    const find = async (value: string): Promise<number> =>
      (await pims.ask('customers', [{ field: 'CUSTOMER_NAME', value, contains: true }])).records.length;
    assert.equal(await find('STRÖM & S'), 1);
    accepted(await pims.updateCustomer(code, { CUSTOMER_NAME: 'Лесной Берег' }));
    assert.equal(await find('STRÖM & S'), 0);
    assert.equal(await find('лЕСНОЙ бЕ'), 1);
    const got = (await pims.ask('customers', [{ field: 'BNAME', value: 'UNVERÄND', contains: true }])).records.length;
    assert.equal(got, 1);
    accepted(await pims.updateCustomer(code, { CUSTOMER_NAME: '' }));
    assert.equal(await find('берег'), 0);
    assert.equal((await pims.ask('customers', [{ field: 'CUSTOMER_NAME', value: '' }])).records.length, 1);
  });

  test('text of one field is never found in another, nor across two', async () => {
    const { pims } = await store.newTenant();
    await pims.importAll('customers', [{ CUSTOMER_CODE: 'C', CUSTOMER_NAME: 'alpha', BNAME: 'beta' }]);
    for (const [field, value] of [
      ['BNAME', 'alpha'],
      ['CUSTOMER_NAME', 'beta'],
      ['CUSTOMER_NAME', 'alpha\nbeta'],
      ['BNAME', 'pha\nbet'],
      ['CUSTOMER_NAME', 'alpha\n'],
    ])
      assert.deepEqual(
        (await pims.ask('customers', [{ field: field!, value: value!, contains: true }])).records,
        [],
        `${field} ${value}`,
      );
  });

  test('an ß is found by ss and the other way round, because both have the same uppercase form', async () => {
    const { pims } = await store.newTenant();
    await pims.importAll('customers', [
      { CUSTOMER_CODE: '1', CUSTOMER_NAME: 'Großhandel', NOTES: 'Straße' },
      { CUSTOMER_CODE: '2', CUSTOMER_NAME: 'GROSSHANDEL', NOTES: 'STRASSE' },
    ]);
    for (const [field, needles] of [
      ['CUSTOMER_NAME', ['großh', 'GROSSH', 'sshan', 'ẞH']],
      ['NOTES', ['aße', 'ASSE', 'ss']],
    ] as const)
      for (const value of needles)
        assert.equal((await pims.ask('customers', [{ field, value, contains: true }])).records.length, 2, value);
  });

  test('after any run of creates and updates, queries find the current records', async () => {
    const { pims } = await store.newTenant();
    const change = fc.record({ CUSTOMER_NAME: smallText, BCITY: smallText, NOTES: smallText }, { requiredKeys: [] });
    const step = fc.record({ which: fc.nat(8), change });
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 12 }),
        filtersOver([{}], { CUSTOMER_NAME: 'text', BCITY: 'text', NOTES: 'text' }),
        async (steps, chosen) => {
          const run = `run ${++runs}`;
          const model: Values[] = [];
          for (const { which, change: values } of steps) {
            const record = model[which];
            if (record) {
              accepted(await pims.updateCustomer(record['CUSTOMER_CODE']!, values));
              Object.assign(record, values);
            } else {
              const code = await pims.createCustomer({ ...values, TERMS_CODE: run });
              model.push({ ...values, CUSTOMER_CODE: code, TERMS_CODE: run });
            }
          }
          const types = { CUSTOMER_NAME: 'text', BCITY: 'text', NOTES: 'text', TERMS_CODE: 'text' } as const;
          const ofRun: Filter = { field: 'TERMS_CODE', value: run };
          const pieces = model.flatMap((record) =>
            Object.keys(types).map((field): Filter => ({ field, value: record[field] ?? '', contains: true })),
          );
          for (const filter of [...chosen, ...pieces].slice(0, 8)) {
            const filters = [ofRun, { ...filter, conjunction: 'AND' }];
            const expected = queryModel(model, types, 'CUSTOMER_CODE', filters).map(
              (record) => record['CUSTOMER_CODE'],
            );
            assert.deepEqual(valuesOf((await pims.ask('customers', filters)).records, 'CUSTOMER_CODE'), expected);
          }
        },
      ),
      { numRuns: QUERIES / 5 },
    );
  });
}
