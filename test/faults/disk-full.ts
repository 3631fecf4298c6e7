/**
 * Fills a disk again and again: writes are refused with 503 STORAGE_FULL, reads continue, nothing acknowledged is lost,
 * and writes resume by themselves once there is space. Part of `npm run test:faults`.
 */
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Service, temporaryFolder, type Keys } from '../kit/service.ts';
import { createOrder, getOrder } from '../kit/orders.ts';
import { HttpClient } from '../kit/http-client.ts';
import { MixedLoad } from '../system/mixed-load.ts';
import { untilAnswered } from './load-moments.ts';
import { runTool } from './lossy-disk.ts';

const ROUNDS = Number(process.env['STOREROOM_TEST_FULL_DISKS'] ?? 5);
const CONNECTIONS = 64;
const DISK_MIB = 48;
/** Successful writes of a round before the disk is full, and refused ones while it is full. */
const WRITES = 50;
const READS = 50;

const disk = join(temporaryFolder(), 'disk');
let service: Service;
let client: HttpClient;
let keys: Keys[];
/** Keys that only read while the disk is full. All their calls must succeed. */
let reader: Keys;
let writer: Keys;
before(async () => {
  mkdirSync(disk);
  runTool('mount', '-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'tmpfs', disk);
  service = await Service.start({ dataFolder: join(disk, 'data') });
  client = await HttpClient.open(service, CONNECTIONS);
  keys = [await service.makeTenant('one'), await service.makeTenant('two')];
  reader = await service.makeTenant('reader');
  writer = await service.makeTenant('writer');
  await createOrder(client, writer);
});
after(async () => {
  await service?.stop('SIGKILL');
  runTool('umount', '--lazy', disk);
});

const ballast = join(disk, 'ballast');

/** Fills the disk to the last page. */
function fillDisk(): void {
  for (let bytes = 1 << 20; bytes >= 4096; bytes >>= 1)
    try {
      for (;;) appendFileSync(ballast, Buffer.alloc(bytes, 1));
    } catch (fault) {
      assert.equal((fault as NodeJS.ErrnoException).code, 'ENOSPC');
    }
}

test(`${ROUNDS} times full: writes are refused, reads continue, nothing is lost, writes resume`, async (context) => {
  const load = new MixedLoad(client, keys);
  const orderNum = (await createOrder(client, reader)).body.data as string;
  let isOver = false;
  // Ends the load of a failed round too, which would otherwise keep this process running forever.
  context.after(() => void (isOver = true));
  for (let round = 0; round < ROUNDS; round++) {
    isOver = false;
    const working = load.run(CONNECTIONS, () => isOver || service.hasExited);
    const countRefused = (): number => load.statuses.get('503 STORAGE_FULL') ?? 0;
    const old = { acknowledged: load.acknowledged, refused: countRefused() };
    await untilAnswered(client, working, () => load.acknowledged >= old.acknowledged + WRITES);
    fillDisk();
    await untilAnswered(client, working, () => countRefused() >= old.refused + WRITES);
    assert.equal(service.hasExited, false, 'the service ended');
    for (let call = 0; call < READS; call++) {
      const { status, text } = await getOrder(client, reader, orderNum);
      assert.equal(status, 200, text);
    }
    // A log that starts over has room for a few more writes.
    let refused = await createOrder(client, writer);
    while (refused.status === 200) refused = await createOrder(client, writer);
    assert.equal(refused.body.code, 'STORAGE_FULL');
    rmSync(ballast);
    const { status, text } = await createOrder(client, writer);
    assert.equal(status, 200, text);
    isOver = true;
    await working;
    await load.check(service);
  }
  assert.equal(await service.usageOf('reader'), 1 + ROUNDS * READS);
  context.diagnostic(`${load.acknowledged} acknowledged writes; answers ${JSON.stringify([...load.statuses])}`);
});
