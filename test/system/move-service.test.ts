/** Moves a service to PostgreSQL and back, and compares what its callers and its operator see. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createOrder } from '../kit/orders.ts';
import { newDatabase } from '../kit/postgres.ts';
import { Shop, succeed, type Values } from '../kit/records.ts';
import { runCommand, Service, temporaryFolder, type Keys } from '../kit/service.ts';
import { countRows, moveAll, newFolder } from './moving.ts';
import { cut, fill, ODD, OWN_FIELDS } from './odd-shop.ts';

const TYPES = ['orders', 'lines', 'customers', 'inventory'];
const started: Service[] = [];
async function start(place: string): Promise<Service> {
  const service = await Service.start({ place });
  started.push(service);
  return service;
}
after(async () => {
  for (const service of started) await service.stop(); // services of tests that failed
});

const IDEMPOTENT = { 'idempotency-key': 'once-and-only-once' };

/** Returns what a caller reads, as the texts of the answers. */
async function readAll(service: Service, keys: Keys): Promise<string[]> {
  const answers: string[] = [];
  const read = async (
    method: string,
    path: string,
    options: { query?: Record<string, string>; body?: unknown },
  ): Promise<Values[]> => {
    const { status, headers, text, body } = await service.call(keys, method, path, options);
    assert.equal(status, 200, text);
    const page = [headers.get('x-has-more'), headers.get('x-next-cursor')];
    answers.push(JSON.stringify([method, path, options, page, text]));
    return (Array.isArray(body.data) ? body.data : []) as Values[];
  };
  const lists = { orders: 'REFERENCE_NUMBER', customers: 'CUSTOMER_NAME', inventory: 'PART_DESCRIPTION' };
  for (const [list, searched] of Object.entries(lists)) {
    await read('POST', `/${list}/query`, { body: [], query: { maxReturn: '3' } });
    for (const text of ODD)
      for (const part of [text, cut(text, 0, 4).toUpperCase(), cut(text, 2, 6).toLowerCase()])
        await read('POST', `/${list}/query`, { body: [{ field: searched, value: part, contains: true }] });
  }
  for (const { ORDER_NUMBER = '', REFERENCE_NUMBER = '' } of await read('POST', '/orders/query', { body: [] })) {
    await read('GET', '/orders/single', { query: { orderNum: ORDER_NUMBER } });
    if (REFERENCE_NUMBER)
      await read('GET', '/orders/by_storefront_reference', { query: { storefront_order_number: REFERENCE_NUMBER } });
  }
  for (const { CUSTOMER_CODE = '' } of await read('POST', '/customers/query', { body: [] }))
    await read('GET', '/customers/single', { query: { customerCode: CUSTOMER_CODE } });
  for (const { PART_CODE = '' } of await read('POST', '/inventory/query', { body: [] }))
    await read('GET', '/inventory/single', { query: { partCode: PART_CODE } });
  return answers;
}

/** Returns what the operator reads. */
async function readCommands(place: string, team: string): Promise<string[]> {
  const commands = [
    ['tenant', 'list', '--json'],
    ['usage', team, '--json'],
    ['fields', 'list', team, '--json'],
    ...TYPES.map((type) => ['export', team, type]),
  ];
  const outputs: string[] = [];
  for (const words of commands) {
    const { code, stdout, stderr } = await runCommand(place, words);
    assert.equal(code, 0, stderr);
    outputs.push(stdout);
  }
  return outputs;
}

test('a service moved to PostgreSQL and back gives the same responses, byte for byte, and continues', async () => {
  const folder = temporaryFolder();
  let service = await start(folder);
  const settings = '--default-stage quote --strict on --quota 123456789012 --rate 999.125';
  const shop = await Shop.open(service, 'Acme', ...settings.split(' '));
  await fill(shop);
  await shop.run('order', 'invoice', 'Acme', 'B', '--line', '1=2');
  const other = await service.makeTenant('beta');
  const keys = (await service.command('keys', 'replace', 'Acme', '--overlap', '24h', '--json')).json() as Keys;
  const create = () => createOrder(service, keys, { NOTES: 'ärger' }, IDEMPOTENT);
  const created = await create();
  assert.equal(created.status, 200, created.text);
  const before = await readAll(service, shop.keys);
  assert.ok(before.length > 100 && before.some((answer) => answer.includes('cancelled')));
  await service.stop();
  const commands = await readCommands(folder, 'Acme');

  const database = await newDatabase();
  const { tenants, tables } = await moveAll(folder, database);
  assert.equal(tenants, 2);
  const rows = countRows(tables.filter(({ team }) => team !== 'beta'));
  const control = { TENANTS: 2, API_KEYS: 3, CUSTOM_FIELDS: OWN_FIELDS.length };
  const records = { COUNTERS: 2, IDEMPOTENCY: 1, ORDERS: 12, ORDER_LINEITEMS: 20 };
  assert.deepEqual(rows, { ...rows, ...control, ...records });
  assert.ok(tables.every(({ sha256 }) => /^[0-9a-f]{64}$/.test(sha256)));
  assert.deepEqual(await readCommands(database, 'Acme'), commands);

  service = await start(database);
  assert.deepEqual(await readAll(service, shop.keys), before);
  const { text: orders } = await service.call(other, 'POST', '/orders/query', { body: [] });
  assert.equal(orders, '{"status":"success","data":[],"subRecords":null}');
  assert.equal((await create()).text, created.text);
  const next = String(Number(created.body.data) + 1);
  assert.equal(await succeed<unknown>(createOrder(service, keys)), next);
  const there = await readAll(service, keys);
  await service.stop();
  const commandsThere = await readCommands(database, 'Acme');

  const back = await newFolder();
  await moveAll(database, back);
  assert.deepEqual(await readCommands(back, 'Acme'), commandsThere);
  service = await start(back);
  assert.deepEqual(await readAll(service, shop.keys), there);
  assert.equal((await create()).text, created.text);
  await service.stop();
});
