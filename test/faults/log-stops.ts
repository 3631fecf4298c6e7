/**
 * A disk that fills up: the request log stops before any write is refused, says so, and goes on by itself once there is
 * room. Part of `npm run test:faults`.
 */
import assert from 'node:assert/strict';
import { globSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Visitor } from '../dashboard/visitor.ts';
import { HttpClient } from '../kit/http-client.ts';
import { Service, temporaryFolder, type Keys } from '../kit/service.ts';
import { runTool } from './lossy-disk.ts';

const MIB = 1024 * 1024;
const DISK_MIB = 256;
/** Less than the 64 MiB below which the log stops and the service is not ready. */
const LEFT_MIB = 24;
const FLOOD_MS = 3000;
const CONNECTIONS = 32;
const SOON_MS = 5000;

const disk = join(temporaryFolder(), 'disk');
const data = join(disk, 'data');
const ballast = join(disk, 'ballast');
let service: Service;
let client: HttpClient;
let [flood, writer]: Keys[] = [];
before(async () => {
  mkdirSync(disk);
  runTool('mount', '-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'tmpfs', disk);
  service = await Service.start({ dataFolder: data, env: { STOREROOM_REQUEST_LOG_RATE: '100000' } });
  client = await HttpClient.open(service, CONNECTIONS + 1);
  [flood, writer] = [await service.makeTenant('flood'), await service.makeTenant('writer')];
});
after(async () => {
  await service?.stop('SIGKILL');
  runTool('umount', '--lazy', disk);
});

const logBytes = (): number =>
  globSync('requests.db*', { cwd: data }).reduce((sum, name) => sum + statSync(join(data, name)).size, 0);
const isReady = async (): Promise<boolean> => (await fetch(`${service.origin}/readyz`)).status === 200;

async function waitUntil(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + SOON_MS;
  while (!(await isSo())) {
    assert.ok(performance.now() < giveUpAt, what);
    await sleep(20);
  }
}

test('a flood of refused calls on a disk that fills up stops the log and no write, until there is room', async () => {
  const owner = await Visitor.make(service, 'flood', 'owner');
  const freeMib = DISK_MIB - LEFT_MIB;
  writeFileSync(ballast, Buffer.alloc(freeMib * MIB - logBytes() - 4 * MIB, 1));
  await waitUntil('the service stayed ready', async () => !(await isReady()));
  assert.match(service.output, /The request log stops/);
  const bytes = logBytes();
  const query = Object.fromEntries(['a', 'b', 'c'].map((name) => [name, 'x'.repeat(1000)]));
  const endsAt = performance.now() + FLOOD_MS;
  let refused = 0;
  const work = async (): Promise<void> => {
    for (; performance.now() < endsAt; refused++) await client.call(flood!, 'GET', '/orders/single', { query });
  };
  const write = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      const { status, text } = await client.call(writer!, 'PUT', '/orders/create', { body: {} });
      assert.equal(status, 200, text);
    }
  };
  await Promise.all([write(), ...Array.from({ length: CONNECTIONS }, work)]);
  assert.equal(logBytes(), bytes, 'the log has written');
  rmSync(ballast);
  await waitUntil('the service did not become ready again', isReady);
  // What waited in memory goes first, and may leave no room for the first calls.
  await waitUntil('the log did not go on', async () => {
    refused++;
    const { headers } = await client.call(flood!, 'GET', '/orders/single', { query });
    return (await owner.get('/requests/single', { requestID: headers.get('x-request-id')! })).status === 200;
  });
  assert.match(service.output, /The request log goes on/);
  assert.equal(await service.usageOf('flood'), refused);
});
