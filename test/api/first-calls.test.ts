/**
 * Tests the first calls of a tenant after a start, sent at once, while the node learns the tenant's custom fields.
 * STOREROOM_TEST_STARTS and _TEAMS set how often.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times } from '../kit/lists.ts';
import { Shop, succeed } from '../kit/records.ts';
import { ownService, type Answer } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';

const STARTS = trials('STARTS', { quick: 1, all: 6 });
const TEAMS = trials('TEAMS', { quick: 3, all: 6 });
/** The number of a tenant's first order. */
const FIRST = '10001';
/** The field that each type of record gets. */
const OWN = { orders: 'GIFT_NOTE', lines: 'ENGRAVING', customers: 'SHOE_SIZE', inventory: 'COLOUR' };

const node = await ownService();

/** Makes a tenant with a custom field of each type of record, and records with a value in it. */
async function openShop(teamID: string): Promise<Shop> {
  const shop = await Shop.open(node, teamID);
  for (const [recordType, name] of Object.entries(OWN))
    await shop.run('fields', 'add', teamID, recordType, name, '--type', 'text');
  await shop.load('inventory', [{ PART_CODE: 'P', COLOUR: 'red' }]);
  await succeed(shop.createCustomer({ CUSTOMER_CODE: 'C', SHOE_SIZE: '42' }));
  const numbers: string[] = [];
  for (const GIFT_NOTE of ['one', 'two']) {
    const ORDER_NUMBER = await shop.newOrder({ REFERENCE_NUMBER: '#1', NOTES: GIFT_NOTE, GIFT_NOTE });
    await succeed(shop.addLineItem({ ORDER_NUMBER, PART_CODE: 'P', QUANTITY: '1', ENGRAVING: GIFT_NOTE }));
    numbers.push(ORDER_NUMBER);
  }
  assert.deepEqual(numbers, [FIRST, '10002']);
  return shop;
}

/** Every operation that reads, by name. */
const READS: Record<string, (shop: Shop) => Promise<Answer>> = {
  ...Object.fromEntries(times(5, (index) => [`query ${index}`, (shop: Shop) => shop.queryOrders([])])),
  changes: ({ service, keys }) => service.call(keys, 'GET', '/changes', { query: { after: '0', include: 'records' } }),
  order: (shop) => shop.getOrder(FIRST),
  lookup: (shop) => shop.findOrdersByStorefrontReference('#1'),
  lookups: ({ service, keys }) => service.call(keys, 'POST', '/orders/by_storefront_reference', { body: ['#1', '#2'] }),
  lines: (shop) => shop.queryOrders([], { include: 'lines' }),
  sorted: (shop) => shop.queryOrders([], { sort: '-MODIFIED_DATE' }),
  counted: (shop) => shop.queryOrders([], { count: 'exact' }),
  picked: (shop) => shop.queryOrders([], { fields: 'GIFT_NOTE,ORDER_NUMBER' }),
  filtered: (shop) => shop.queryOrders([{ field: 'GIFT_NOTE', value: 'two' }]),
  contains: (shop) => shop.queryOrders([{ field: 'GIFT_NOTE', value: 'W', contains: true }]),
  empty: (shop) => shop.queryCustomers([{ field: 'SHOE_SIZE', value: '' }]),
  indexed: (shop) => shop.queryOrders([{ field: 'REFERENCE_NUMBER', value: '#1' }]),
  customer: (shop) => shop.getCustomer('C'),
  customers: (shop) => shop.queryCustomers([]),
  part: (shop) => shop.getInventoryItem('P'),
  parts: (shop) => shop.queryInventoryItems([]),
  fields: ({ service, keys }) => service.call(keys, 'GET', '/fields', { query: { type: 'orders' } }),
};

const seen = ({ status, headers, body }: Answer): unknown => [status, headers.get('etag'), body.data, body.subRecords];

// Holds S5.4.
test(`the first calls that a node gets, at once, have every field: ${STARTS} starts, ${TEAMS} teams`, async () => {
  const shops: { readonly shop: Shop; readonly expected: Record<string, unknown> }[] = [];
  for (let team = 0; team < TEAMS; team++) {
    const shop = await openShop(`team-${team}`);
    const expected: Record<string, unknown> = {};
    for (const [name, read] of Object.entries(READS)) expected[name] = seen(await read(shop));
    assert.equal((await shop.order(FIRST))['GIFT_NOTE'], 'one');
    shops.push({ shop, expected });
  }
  const wrong: string[] = [];
  for (let start = 0; start < STARTS; start++) {
    await node.stop('SIGKILL');
    await node.restart();
    for (const { shop, expected } of shops) {
      const reads = Object.entries(READS);
      const answers = await Promise.all(reads.map(([, read]) => read(shop)));
      const bad = reads.flatMap(([name], index) => {
        const found = seen(answers[index]!);
        return JSON.stringify(found) === JSON.stringify(expected[name]) ? [] : [name];
      });
      if (bad.length > 0) wrong.push(`start ${start}, ${shop.keys.teamID}: ${bad.join(', ')}`);
    }
  }
  assert.deepEqual(wrong, [], `${wrong.length} of ${STARTS * TEAMS} first meetings`);
});
