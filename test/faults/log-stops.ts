/**
 * Fills a disk: the request log stops before any write is refused, reports that, and continues by itself once there is
 * room. Part of `npm run test:faults`.
 */
import assert from 'node:assert/strict';
import { globSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { expectOk, Visitor, type Reply } from '../dashboard/visitor.ts';
import { HttpClient } from '../kit/http-client.ts';
import { Service, temporaryFolder, type Keys } from '../kit/service.ts';
import { runTool } from './lossy-disk.ts';

const MIB = 1024 * 1024;
const DISK_MIB = 256;
/** Free space that is less than the 64 MiB below which the log stops and the service is not ready. */
const LEFT_MIB = 24;
/** Number of refused calls. It is greater than the number of lines in memory at which the log saves at once. */
const FLOOD = 8000;
/** Number of writes that are made one after another during the flood. */
const WRITES = 200;
/** Interval at which the service measures the disk. */
const MEASURE_MS = 1000;
const CONNECTIONS = 32;

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

test('a flood of refused calls on a disk that fills up stops the log and no write, until there is room', async () => {
  const owner = await Visitor.make(service, 'flood', 'owner');
  const query = Object.fromEntries(['a', 'b', 'c'].map((name) => [name, 'x'.repeat(1000)]));
  let refused = 0;
  const call = async (): Promise<string> => {
    refused++;
    const { headers } = await client.call(flood!, 'GET', '/orders/single', { query });
    return headers.get('x-request-id')!;
  };
  /** Finds a call in the log. The log first tries to save all waiting lines. */
  const find = (requestID: string): Promise<Reply> => owner.get('/requests/single', { requestID });
  await expectOk(find(await call()));
  const freeMib = DISK_MIB - LEFT_MIB;
  writeFileSync(ballast, Buffer.alloc(freeMib * MIB - logBytes() - 4 * MIB, 1));
  await service.move(MEASURE_MS);
  await service.said((output) => output.includes('The request log stops'));
  assert.equal(await isReady(), false);
  const bytes = logBytes();
  const work = async (): Promise<void> => {
    for (let count = 0; count < FLOOD / CONNECTIONS; count++) await call();
  };
  const write = async (): Promise<void> => {
    for (let count = 0; count < WRITES; count++) {
      const { status, text } = await client.call(writer!, 'PUT', '/orders/create', { body: {} });
      assert.equal(status, 200, text);
    }
  };
  await Promise.all([write(), ...Array.from({ length: CONNECTIONS }, work)]);
  await service.move(MEASURE_MS);
  assert.notEqual((await find(await call())).status, 200);
  assert.equal(logBytes(), bytes, 'the log has written');
  rmSync(ballast);
  await service.move(MEASURE_MS);
  await service.said((output) => output.includes('The request log continues'));
  assert.ok(await isReady());
  // The lines in memory are saved first, and may leave no room for this call.
  await find(await call());
  assert.ok(logBytes() > bytes, 'the log did not continue');
  await expectOk(find(await call()));
  assert.equal(await service.usageOf('flood'), refused);
});
