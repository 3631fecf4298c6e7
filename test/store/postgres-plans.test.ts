/** Tests that PostgreSQL uses the intended index for each operator and each sort. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Client } from 'pg';
import { buildDictionaries, type RecordType } from '../../src/pims/rules/fields.ts';
import type { Filter } from '../../src/pims/reads/query.ts';
import { buildPimsSql } from '../../src/store/postgres/reads/pims-sql.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import { PATIENT, TURNS } from '../kit/caller.ts';
import { times } from '../kit/lists.ts';
import { newDatabase } from '../kit/postgres.ts';
import { accepted, NOW, Pims } from './store-under-test.ts';
import { passing } from '../kit/clock.ts';

const ORDERS = 3000;
const url = await newDatabase();
const store = await openPostgres({
  ...TURNS,
  clock: passing,
  url,
  connections: 1,
  queryBudgetMs: 9000,
  name: 'storeroom test',
});
const tenant = accepted(await store.tenants.createTenant('team', 'A tenant', NOW));
const dayOf = (at: number): string => `0${1 + (at % 9)}/${10 + (at % 19)}/20${10 + (at % 15)}`;
await new Pims(store.pims(tenant)).importAll(
  'orders',
  times(ORDERS, (at) => {
    const time = `2026-01-01T00:${String(10 + (at % 50))}:00.${String(at % 1000).padStart(3, '0')}Z`;
    const dates = { ORDER_DATE: dayOf(at), CREATE_DATE: time, MODIFIED_DATE: time };
    return { ORDER_NUMBER: String(at), REFERENCE_NUMBER: `#${at}`, BEMAIL: `${at % 700}@b.de`, ...dates };
  }),
);
await new Pims(store.pims(tenant)).importAll(
  'lines',
  times(ORDERS, (at) => ({
    ORDER_NUMBER: String(at),
    PART_CODE: `P${at % 500}`,
    QUANTITY: '2',
    LINE_REF_LOCK_CODE: `lock ${at}`,
    SERIAL_NUMBERS: `S${at},T${at}`,
  })),
);
await store.close();
const client = new Client(url);
await client.connect();
// PostgreSQL often reads such a small table as a whole, although it has indexes.
await client.query('SET enable_seqscan = off');
after(() => client.end());
const sql = buildPimsSql(tenant.storeId, buildDictionaries([]), 1);

async function explain(filters: Filter[], sort?: string, recordType: RecordType = 'orders'): Promise<string> {
  const { alone } = sql.buildPageSql(recordType, { ...PATIENT, filters, sort, limit: 50, after: '' });
  let place = 0;
  const text = alone.sql.replaceAll('?', () => `$${++place}`);
  const { rows } = await client.query<string[]>({
    text: `EXPLAIN ${text}`,
    values: [...alone.values],
    rowMode: 'array',
  });
  return rows.flat().join('\n');
}

const REFERENCE = { field: 'REFERENCE_NUMBER', value: '#77' };
const TIME = '2026-01-01T00:58:00.000Z';

for (const [index, filters] of Object.entries({
  ORDERS_REFERENCE_NUMBER: [
    REFERENCE,
    { ...REFERENCE, op: 'in', value: ['#1', '#2'] },
    { ...REFERENCE, op: 'lt', value: '#10' },
    { ...REFERENCE, op: 'le', value: '#10' },
    { ...REFERENCE, op: 'gt', value: '#998' },
    { ...REFERENCE, op: 'ge', value: '#998' },
    { ...REFERENCE, op: 'starts_with', value: '#299' },
    { ...REFERENCE, op: 'empty', value: undefined },
  ],
  ORDERS_ORDER_DAY: [
    { field: 'ORDER_DATE', op: 'gt', value: '09/20/2024' },
    { field: 'ORDER_DATE', op: 'lt', value: '01/02/2010' },
  ],
  ORDERS_ORDER_DATE: [
    { field: 'ORDER_DATE', value: '01/10/2010' },
    { field: 'ORDER_DATE', op: 'in', value: ['01/10/2010', '02/11/2011'] },
  ],
  ORDERS_CREATE_DATE: [
    { field: 'CREATE_DATE', op: 'ge', value: TIME },
    { field: 'CREATE_DATE', value: TIME },
  ],
  ORDERS_MODIFIED_pkey: [
    { field: 'MODIFIED_DATE', op: 'ge', value: TIME },
    { field: 'MODIFIED_DATE', value: TIME },
  ],
} satisfies Record<string, object[]>))
  for (const { value, ...filter } of filters as Filter[]) {
    const asked = { ...filter, ...(value !== undefined && { value }) };
    test(`${index} finds ${JSON.stringify(asked)}`, async () => {
      const plan = await explain([asked]);
      assert.match(plan, new RegExp(`(Scan|Scan Backward)( using| on) "${index}"[^]*?Index Cond: `));
      assert.doesNotMatch(plan, /Seq Scan on [\w".]*"ORDERS"/);
    });
  }

for (const [sort, index] of Object.entries({
  REFERENCE_NUMBER: 'ORDERS_REFERENCE_NUMBER',
  ORDER_DATE: 'ORDERS_ORDER_DAY',
  CREATE_DATE: 'ORDERS_CREATE_DATE',
  MODIFIED_DATE: 'ORDERS_MODIFIED_pkey',
}))
  test(`${index} is walked in both directions for sort=${sort}, and no more is sorted than the page`, async () => {
    for (const sign of ['', '-']) {
      const plan = await explain([], sign + sort);
      const direction = sign === '' ? 'Scan' : 'Scan Backward';
      assert.match(plan, new RegExp(`${direction} using "${index}"`));
      assert.doesNotMatch(plan, /Seq Scan on [\w".]*"ORDERS"/);
      for (const [, rows] of plan.matchAll(/Sort {2}\(cost=\S+ rows=(\d+)/g)) assert.ok(Number(rows) <= 2 * 51, plan);
    }
  });

for (const [index, filters] of Object.entries({
  ORDER_LINEITEMS_pkey: [
    { field: 'ORDER_NUMBER', value: '77' },
    { field: 'ORDER_NUMBER', op: 'in', value: ['77', '78'] },
  ],
  ORDER_LINEITEMS_SORT_KEY_key: [
    { field: 'ORDER_NUMBER', op: 'gt', value: '2990' },
    { field: 'SERIAL_NUMBERS', value: 'S77' },
    { field: 'SERIAL_NUMBERS', op: 'in', value: ['S77', 'T78'] },
  ],
  LINE_SERIALS_pkey: [{ field: 'SERIAL_NUMBERS', value: 'S77' }],
  ORDER_LINEITEMS_PART_CODE: [{ field: 'PART_CODE', value: 'P7' }],
  ORDER_LINEITEMS_LINE_REF_LOCK_CODE: [{ field: 'LINE_REF_LOCK_CODE', value: 'lock 7' }],
} satisfies Record<string, Filter[]>))
  for (const filter of filters)
    test(`${index} finds lines by ${JSON.stringify(filter)}`, async () => {
      await client.query('SET enable_seqscan = on');
      const plan = await explain([filter], undefined, 'lines');
      await client.query('SET enable_seqscan = off');
      assert.match(plan, new RegExp(`(Scan|Scan Backward)( using| on) "${index}"[^]*?Index Cond: `));
      assert.doesNotMatch(plan, /Seq Scan on [\w".]*"(ORDER_LINEITEMS|LINE_SERIALS)"/);
    });

test('ORDER_LINEITEMS_PART_CODE is walked for sort=PART_CODE of lines', async () => {
  for (const sign of ['', '-'])
    assert.match(await explain([], `${sign}PART_CODE`, 'lines'), /Scan (Backward )?using "ORDER_LINEITEMS_PART_CODE"/);
});
