/** Tests stopping and starting: signals, a folder or port that is in use, and what survives. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, join } from 'node:path';
import { suite, test, type TestContext } from 'node:test';
import { createOrder, getOrder } from '../kit/orders.ts';
import { newPlace, placeVariables, runCommand, Service, STORE } from '../kit/service.ts';
import { IS_THOROUGH, trials } from '../kit/trials.ts';
import { HttpClient } from '../kit/http-client.ts';
import { until } from '../kit/wait.ts';
import { MixedLoad } from './mixed-load.ts';

const ROOT = join(import.meta.dirname, '../..');
const BIN = join(ROOT, 'bin/storeroom.js');
const CONNECTIONS = trials('CONNECTIONS', { quick: 16, all: 64 });
/** Number of acknowledged writes before the signal. */
const WORK = trials('WORK', { quick: 100, all: 500 });

async function start(context: TestContext, options: Parameters<typeof Service.start>[0] = {}): Promise<Service> {
  const service = await Service.start(options);
  context.after(() => service.stop('SIGKILL'));
  return service;
}

test('SIGTERM, and SIGINT, SIGTERM, SIGINT, under load: code 0, no acknowledged write lost', async (context) => {
  const service = await start(context);
  const client = await HttpClient.open(service, CONNECTIONS);
  const load = await MixedLoad.open(client, service);
  for (const signals of [['SIGTERM'], ['SIGINT', 'SIGTERM', 'SIGINT']] as NodeJS.Signals[][]) {
    const wanted = load.acknowledged + WORK;
    let exiting: Promise<number | null> | undefined;
    await load.run(CONNECTIONS, () => {
      if (load.acknowledged >= wanted && !exiting) {
        exiting = service.stop(signals[0]);
        for (const signal of signals.slice(1)) process.kill(service.pid, signal);
      }
      return service.hasExited;
    });
    assert.equal(await exiting, 0);
    // A query that still runs a second after the signal is ended with SERVICE_BUSY.
    const others = new Set(load.statuses.keys()).difference(new Set([200, 400, '503 SERVICE_BUSY']));
    assert.deepEqual(others, new Set(), 'no caller got a fault');
    await service.restart();
    await load.repeatUnanswered();
  }
  await load.check(service);
});

/** PATH without Node 26, so that storeroom.js must start Node 26 itself if the machine's Node is older. */
const ownPath = process.env['PATH']!.split(delimiter).filter((folder) => !folder.includes('node_modules'));

if (STORE === 'sqlite')
  suite('a signal reaches the service', { concurrency: true }, () => {
    const starts: [name: string, words: string[], path: string][] = [
      ['npm start', ['npm', 'start'], process.env['PATH']!],
    ];
    // `npm test` runs the program itself under both Nodes instead, which tests the same.
    if (IS_THOROUGH)
      for (const [node, path] of [
        ['Node 26', process.env['PATH']!],
        ['the Node of the machine', ownPath.join(delimiter)],
      ] as const)
        starts.push([`npx --no storeroom serve and ${node}`, ['npx', '--no', 'storeroom', 'serve'], path]);
    for (const [name, [command, ...words], PATH] of starts)
      test(`through ${name}`, async (context) => {
        const env = { ...process.env, ...placeVariables(await newPlace()), STOREROOM_PORT: '0', PATH };
        const npm = spawn(command!, words, { cwd: ROOT, env, detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
        context.after(() => {
          try {
            process.kill(-npm.pid!, 'SIGKILL');
          } catch {
            // All processes of the group have ended.
          }
        });
        let printed = '';
        npm.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
        while (!/Base URL.*\n/.test(printed)) await once(npm.stdout, 'data');
        const { origin } = new URL(/Base URL\s+(\S+)/.exec(printed)![1]!);
        assert.equal((await fetch(`${origin}/healthz`)).status, 200);
        npm.kill('SIGTERM');
        await once(npm, 'exit');
        // npm may end before the service, which has work to finish.
        await until(async () => !(await fetch(`${origin}/healthz`).catch(() => undefined)));
      });

    test('directly, and its exit code is returned', async (context) => {
      const env = { ...process.env, ...placeVariables(await newPlace()), STOREROOM_PORT: '0' };
      for (const PATH of [process.env['PATH']!, ownPath.join(delimiter)]) {
        const bin = spawn('node', [BIN, 'serve'], { env: { ...env, PATH }, stdio: ['ignore', 'pipe', 'ignore'] });
        context.after(() => bin.kill('SIGKILL'));
        await once(bin.stdout, 'data');
        bin.kill('SIGTERM');
        assert.deepEqual(await once(bin, 'exit'), [0, null]);
        const wrong = spawn('node', [BIN, 'no-command'], { env: { ...env, PATH }, stdio: 'ignore' });
        assert.deepEqual(await once(wrong, 'exit'), [2, null]);
      }
    });
  });

test('a folder or port in use is refused; records, keys and usage survive a restart', async (context) => {
  const service = await start(context);
  const keys = await service.makeTenant('shop');
  const { body } = await createOrder(service, keys, { REFERENCE_NUMBER: '#1', BNAME: 'Zoë' });
  await service.call(keys, 'PUT', '/orders/line_item', { body: { ORDER_NUMBER: body.data, DESCRIPTION: 'a line' } });
  const read = () => getOrder(service, keys, body.data as string);
  const before = await read();

  const { port } = new URL(service.origin);
  const refusals: [place: string, port: string, says: RegExp][] = [
    [await newPlace(), port, new RegExp(`STOREROOM_PORT is ${port}, and another program listens`)],
  ];
  if (STORE === 'sqlite') refusals.push([service.dataFolder, '0', /: Another service, move or restore is using /]);
  for (const [place, at, says] of refusals) {
    const env = { STOREROOM_DEMO: 'off' };
    const { code, stdout, stderr } = await runCommand(place, ['serve', '--port', at], { env });
    assert.equal(`${code} ${stdout}`, '1 ');
    assert.match(stderr, /^storeroom: .*\n$/);
    assert.match(stderr, says);
  }
  assert.equal((await fetch(`${service.origin}/readyz`)).status, 200);

  assert.equal(await service.stop(), 0);
  await service.restart();
  const after = await read();
  assert.equal(after.text, before.text);
  assert.equal(after.headers.get('x-month-requests'), String(Number(before.headers.get('x-month-requests')) + 1));
});
