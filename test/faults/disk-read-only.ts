/**
 * Tests disks that become read-only: one in which the kernel finds a fault, on a real ext4, and one that is read-only
 * at the data folder alone. Writes are refused, the service is not ready or ends, no service can start on the
 * disk, and nothing acknowledged is lost. Part of `npm run test:faults`.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { HttpClient } from '../kit/http-client.ts';
import { createOrder } from '../kit/orders.ts';
import { ownService, runCommand, Service, temporaryFolder } from '../kit/service.ts';
import { until } from '../kit/wait.ts';
import { MixedLoad } from '../system/mixed-load.ts';
import { untilAnswered } from './load-moments.ts';
import { runTool } from './lossy-disk.ts';

const CONNECTIONS = 16;
const WRITES = 200;
const DISK_MIB = 512;

test('a fault of the disk: writes are refused until it is repaired, and no acknowledged write is lost', async () => {
  const disk = join(temporaryFolder(), 'disk');
  const image = `${disk}.img`;
  const folder = join(disk, 'data');
  const mount = (): void => runTool('mount', '-o', 'loop,errors=remount-ro', image, disk);
  mkdirSync(disk);
  runTool('truncate', '-s', `${DISK_MIB}M`, image);
  runTool('mkfs.ext4', '-q', '-F', image);
  mount();
  after(() => {
    runTool('umount', '--lazy', disk);
    rmSync(image);
  });
  const service = await Service.start({ dataFolder: folder });
  after(() => service.stop('SIGKILL'));
  const client = await HttpClient.open(service, CONNECTIONS);
  const load = new MixedLoad(client, [await service.makeTenant('one'), await service.makeTenant('two')]);
  const working = load.run(CONNECTIONS, () => service.hasExited);
  await untilAnswered(client, working, () => load.acknowledged >= WRITES);

  const device = execFileSync('findmnt', ['-no', 'SOURCE', disk], { encoding: 'utf8' }).trim();
  writeFileSync(`/sys/fs/ext4/${basename(device)}/trigger_fs_error`, 'found by a test');
  await working;
  await until(() => service.hasExited);
  const answers = [...load.statuses.keys()].filter((status) => String(status).startsWith('5'));
  assert.deepEqual(
    answers.filter((status) => !/^503 (TENANT_UNAVAILABLE|STORE_UNAVAILABLE)$/.test(String(status))),
    [],
  );
  assert.match(service.output, /"level":60,.*data\/[^ ]+\.db: .*(i\/o|I\/O|read-?only)/);
  const { code, stderr } = await runCommand(folder, ['serve', '--port', '0']);
  assert.equal(code, 1);
  assert.equal(
    stderr,
    `storeroom: STOREROOM_DATA is '${folder}': its disk is read-only (EROFS). Choose a folder that this user can write to.\n`,
  );

  runTool('umount', disk);
  mount();
  await service.restart();
  await load.check(service);
});

test('on a read-only disk, check reads everything, and a backup to another disk is whole', async () => {
  const service = await ownService({ place: temporaryFolder() });
  assert.equal((await createOrder(service, await service.makeTenant('shop'))).status, 200);
  await service.stop();
  runTool('mount', '--bind', service.place, service.place);
  try {
    runTool('mount', '-o', 'remount,bind,ro', service.place);
    const backup = join(temporaryFolder(), 'backup');
    for (const words of [['check'], ['backup', backup], ['check', '--backup', backup]]) {
      const { code, stdout, stderr } = await runCommand(service.place, words);
      assert.equal(code, 0, stdout + stderr);
    }
    assert.match((await runCommand(service.place, ['tenant', 'list'])).stderr, /its disk is read-only \(EROFS\)/);
  } finally {
    runTool('umount', service.place);
  }
});

test('a service whose folder becomes read-only is not ready and blames the disk, until it is writable', async () => {
  const service = await ownService({ place: temporaryFolder() });
  const readiness = async (): Promise<string> => (await fetch(`${service.origin}/readyz`)).text();
  assert.equal((await createOrder(service, await service.makeTenant('shop'))).status, 200);
  assert.equal(await readiness(), '{"status":"ok"}');
  // The kernel keeps a disk writable while files are open for writing, so another disk is mounted over it.
  runTool('mount', '-t', 'tmpfs', '-o', 'ro,size=1g', 'tmpfs', service.place);
  try {
    await until(async () => (await readiness()) === '{"status":"unavailable","reason":"disk"}');
    assert.equal((await fetch(`${service.origin}/healthz`)).status, 200);
  } finally {
    runTool('umount', service.place);
  }
  await until(async () => (await readiness()) === '{"status":"ok"}');
});
