/** Tests the demo tenant of a first start. A database gets none, so these tests use only the embedded store. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import { ownService, placeVariables, runCommand, temporaryFolder, type Keys, type Service } from '../kit/service.ts';
import { PROGRAM } from '../kit/program.ts';
import { until } from '../kit/wait.ts';

/** 830 orders of Northwind, and those of the dealer. */
const DEMO_ORDERS = 830 + 14;

async function teamsOf(service: Service): Promise<string[]> {
  const { tenants } = (await service.command('tenant', 'list', '--json')).json() as { tenants: Keys[] };
  return tenants.map(({ teamID }) => teamID);
}

/** Checks that the keys that the service printed are valid, and that every order is there. */
async function expectWholeDemo(service: Service): Promise<void> {
  const [, apiID, apiSecret] = /-u '([^:]+):([^']+)'/.exec(service.output) ?? [];
  assert.ok(apiID && apiSecret, 'no start has told the keys');
  const { status, body } = await service.call({ teamID: 'demo', apiID, apiSecret }, 'POST', '/orders/query', {
    query: { maxReturn: '5000' },
    body: [],
  });
  assert.equal(status, 200);
  assert.equal(body.data.length, DEMO_ORDERS);
}

suite('the demo tenant', () => {
  const DEMO = { STOREROOM_DEMO: 'on' };

  test('is made by the first start that gets a port; its curl lines are printed once and work', async (context) => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    context.after(() => taken.close());
    const dataFolder = temporaryFolder();
    const port = String((taken.address() as AddressInfo).port);
    assert.equal((await runCommand(dataFolder, ['serve', '--port', port])).code, 1);
    const service = await ownService({ dataFolder, env: DEMO });
    await expectWholeDemo(service);
    assert.deepEqual(await teamsOf(service), ['demo']);
    const lines = service.output.split('\n').filter((line) => line.trimStart().startsWith('curl '));
    assert.equal(lines.length, 2);
    const [order, lookup] = await Promise.all(
      lines.map(async (line) => JSON.parse((await promisify(execFile)('sh', ['-c', line])).stdout)),
    );
    assert.equal(order.data.ORDER_NUMBER, '10248');
    assert.equal(order.subRecords.length, 3);
    assert.equal(lookup.storefront_order_number, '#1001');
    const stages = lookup.orders.map((one: { order_type: string }) => one.order_type);
    assert.deepEqual(stages, ['invoice', 'sales_order']);
    const told = service.output.length;
    await service.stop();
    await service.restart();
    assert.doesNotMatch(service.output.slice(told), /curl|sr_/);
    assert.deepEqual(await teamsOf(service), ['demo']);
  });

  test('is not made beside other tenants', async () => {
    const dataFolder = temporaryFolder();
    assert.equal((await runCommand(dataFolder, ['tenant', 'create', 'acme', '--create'])).code, 0);
    const service = await ownService({ dataFolder, env: DEMO });
    assert.deepEqual(await teamsOf(service), ['acme']);
    assert.doesNotMatch(service.output, /curl|sr_/);
  });

  test('is made whole by the next start if the first was killed while making it', async () => {
    const dataFolder = await killOverDemo();
    const service = await ownService({ dataFolder, env: DEMO });
    await expectWholeDemo(service);
  });
});

/** Kills a start while it makes the demo tenant, and returns its folder. Starts that are too fast are repeated. */
async function killOverDemo(): Promise<string> {
  for (;;) {
    const dataFolder = temporaryFolder();
    const env = { ...process.env, ...placeVariables(dataFolder) };
    const [program, ...before] = PROGRAM;
    const first = spawn(program, [...before, 'serve', '--port', '0'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let told = '';
    first.stdout.setEncoding('utf8').on('data', (text: string) => (told += text));
    await until(() => first.exitCode !== null || globSync('tenants/*.db', { cwd: dataFolder }).length > 0);
    first.kill('SIGKILL');
    const [code] = (await once(first, 'close')) as [number | null];
    assert.equal(code, null, 'it ended by itself');
    if (told === '') return dataFolder;
  }
}
