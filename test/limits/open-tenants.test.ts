/** Tests that the service serves more tenants than may be open: it closes and reopens their files under load. */
import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { test } from 'node:test';
import { times, valuesOf } from '../kit/lists.ts';
import { Shop, succeed, type Values } from '../kit/records.ts';
import { ownService } from '../kit/service.ts';
import { until } from '../kit/wait.ts';

const TENANTS = 8;
const OPEN_MAX = 3;
const ROUNDS = 8;
/** The reader, the writer and four threads each have the file and its WAL open; they share the index of the WAL. */
const HANDLES_EACH = 13;

/** Lists the open tenant files of a process. A service on PostgreSQL has none. */
function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((name) => {
    try {
      const file = readlinkSync(`${folder}/${name}`);
      return file.includes('/tenants/') ? [file] : [];
    } catch {
      // The file was closed meanwhile.
      return [];
    }
  });
}

const tenantsOf = (files: readonly string[]): number => new Set(files.map((file) => file.replace(/\.db.*/, ''))).size;

test(`200 ${TENANTS} tenants in turn, with room for ${OPEN_MAX}: no write is lost, no file stays open`, async () => {
  const service = await ownService({ env: { STOREROOM_OPEN_TENANTS_MAX: String(OPEN_MAX) } });
  const shops = [];
  for (const index of times(TENANTS, (place) => place)) shops.push(await Shop.open(service, `many-${index}`));
  const made = new Map(shops.map((shop) => [shop, new Set<string>()]));
  const work = async (shop: Shop, round: number): Promise<void> => {
    const reference = `#${round}`;
    const number = await succeed<string>(shop.createOrder({ REFERENCE_NUMBER: reference, NOTES: 'Some note' }));
    made.get(shop)!.add(`${number} ${reference}`);
    const { body } = await shop.getOrder(number);
    assert.equal(body.data?.REFERENCE_NUMBER, reference);
    // A search without an index runs in a thread, which opens the file as well.
    if (round % 4 === 0) await succeed(shop.queryOrders([{ field: 'NOTES', value: 'note', contains: true }]));
  };
  for (const round of times(ROUNDS, (place) => place)) await Promise.all(shops.map((shop) => work(shop, round)));
  await until(() => tenantsOf(openFiles(service.pid)) <= OPEN_MAX);
  const files = openFiles(service.pid);
  for (const shop of shops) {
    const orders = await succeed<Values[]>(shop.queryOrders([]));
    const found = orders.map((order) => `${order['ORDER_NUMBER']} ${order['REFERENCE_NUMBER']}`);
    assert.deepEqual(new Set(found), made.get(shop));
    assert.equal(new Set(valuesOf(orders, 'ORDER_NUMBER')).size, ROUNDS);
  }
  assert.ok(files.every((file) => !file.endsWith('(deleted)')));
  assert.ok(files.length <= OPEN_MAX * HANDLES_EACH, `${files.length} handles`);
});
