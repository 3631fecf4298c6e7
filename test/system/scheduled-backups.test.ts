/**
 * Tests backups that the service makes by itself: each one that exists is whole and verified, even if the service was
 * killed, and calls continue meanwhile. test/store tests when a backup is due and what follows if one fails.
 */
import assert from 'node:assert/strict';
import { cpSync, globSync, mkdirSync, readdirSync, statSync, truncateSync } from 'node:fs';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test, type TestContext } from 'node:test';
import { timeAt } from '../kit/clock.ts';
import { readMetrics, sumOf } from '../kit/metrics.ts';
import { createOrder, getOrder } from '../kit/orders.ts';
import { runCommand, Service, temporaryFolder } from '../kit/service.ts';
import { until } from '../kit/wait.ts';

const GOOD = /^storeroom-(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\dZ)$/;
const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000];
/** Time from the start to the first backup, if there is none or the last one is too old. */
const FIRST_MS = 2000;
/** Interval at which the service checks whether a backup is due. */
const LOOK_MS = 30_000;
const MADE = 'was made and verified';

async function start(context: TestContext, dataFolder: string, env: Record<string, string>): Promise<Service> {
  const service = await Service.start({ dataFolder, env });
  context.after(() => service.stop('SIGKILL'));
  return service;
}

/** Moves the clock by `ms`, and waits until `count` backups have been made. */
async function makeBackup(service: Service, ms: number, count = 1): Promise<void> {
  await service.move(ms);
  await service.said((output) => output.split(MADE).length > count);
}

const list = (folder: string): string[] => readdirSync(folder).filter((name) => !name.startsWith('.'));
const nameOf = (time: string): string => `storeroom-${time.slice(0, 19).replaceAll(':', '-')}Z`;
/** Returns the time in the name of a backup, in seconds. */
const timeOf = (name: string): number => Date.parse(name.replace(GOOD, '$1$2:$3:$4')) / 1000;

async function readBackups(service: Service): Promise<{ failures: number; success: number }> {
  const { samples } = await readMetrics(service);
  const read = (name: string): number => sumOf(samples, `storeroom_backup_${name}`)!;
  return { failures: read('failures_total'), success: Math.floor(read('last_success_timestamp_seconds')) };
}

/** Makes a data folder with a tenant and its orders. The largest file is the tenant's. */
async function makeData(): Promise<string> {
  const folder = temporaryFolder();
  const rows = Array.from({ length: 3000 }, (_, index) => `${index + 20_000},note ${index}`);
  const orders = join(temporaryFolder(), 'orders.csv');
  writeFileSync(orders, `ORDER_NUMBER,NOTES\n${rows.join('\n')}\n`);
  assert.equal((await runCommand(folder, ['tenant', 'create', 'shop', '--create'])).code, 0);
  assert.equal((await runCommand(folder, ['import', 'shop', 'orders', orders])).code, 0);
  return folder;
}

const data = await makeData();

/** Copies the data for one test. */
function copyData(): { folder: string; file: string } {
  const folder = join(temporaryFolder(), 'data');
  cpSync(data, folder, { recursive: true });
  return { folder, file: join(folder, globSync('tenants/*.db', { cwd: folder })[0]!) };
}

/** Makes a folder look like a backup of this data. */
function addManifest(folder: string, backup: string): void {
  const control = new DatabaseSync(join(folder, 'control.db'), { readOnly: true });
  const found = control.prepare("SELECT VALUE FROM INSTALLATION WHERE NAME = 'identity'").get()!;
  control.close();
  writeFileSync(join(backup, 'storeroom-backup.json'), JSON.stringify({ files: {}, identity: found['VALUE'] }));
}

suite('scheduled backups', () => {
  test('the first is made after the start, whole, and can be restored; the oldest is deleted', async (context) => {
    const { folder } = copyData();
    const backups = join(temporaryFolder(), 'made', 'by', 'the service');
    mkdirSync(backups, { recursive: true });
    const old = [3, 2].map((days) => nameOf(timeAt(-days * DAY_MS)));
    for (const name of [...old, 'not ours']) mkdirSync(join(backups, name));
    for (const name of old) addManifest(folder, join(backups, name));
    const service = await start(context, folder, { STOREROOM_BACKUP_DIR: backups, STOREROOM_BACKUP_KEEP: '2' });
    await makeBackup(service, FIRST_MS);
    const backup = list(backups).toSorted().at(-1)!;
    assert.match(backup, GOOD);
    assert.deepEqual(list(backups).toSorted(), ['not ours', old[1]!, backup]);
    const { code, json, stderr } = await runCommand(folder, ['check', '--backup', join(backups, backup), '--json']);
    assert.deepEqual([code, (json() as { orders: number }).orders], [0, 3000], stderr);
    assert.deepEqual(await readBackups(service), { failures: 0, success: timeOf(backup) });
    const restored = join(temporaryFolder(), 'restored');
    assert.equal((await runCommand(restored, ['restore', join(backups, backup)])).code, 0);
    assert.equal((await runCommand(restored, ['check'])).code, 0);
  });

  test('a kill leaves no partial backup; the next start makes one, and another an hour later', async (context) => {
    const { folder, file } = copyData();
    const backups = temporaryFolder();
    // A backup waits for a file that another process has locked.
    const holder = new DatabaseSync(file);
    holder.exec('PRAGMA locking_mode=EXCLUSIVE; BEGIN IMMEDIATE; UPDATE COUNTERS SET NEXT = NEXT; COMMIT');
    const service = await start(context, folder, { STOREROOM_BACKUP_DIR: backups, STOREROOM_BACKUP_HOURS: '1' });
    await service.move(FIRST_MS);
    await until(() => globSync('.unfinished-*/usage.db', { cwd: backups }).length > 0);
    await service.stop('SIGKILL');
    assert.deepEqual(list(backups), []);
    assert.match(readdirSync(backups)[0]!, /^\.unfinished-/);
    holder.close();
    await service.restart();
    await makeBackup(service, FIRST_MS);
    const [backup = ''] = readdirSync(backups);
    assert.match(backup, GOOD);
    await service.stop();
    const told = service.output.length;
    await service.restart();
    const due = new Date(timeOf(backup) * 1000 + HOUR_MS).toISOString();
    await service.said((output) => output.slice(told).includes(`is due at ${due}.`));
    assert.equal((await readBackups(service)).success, timeOf(backup), 'the success is known after a restart');
    assert.deepEqual(readdirSync(backups), [backup]);
    await makeBackup(service, HOUR_MS + LOOK_MS, 2);
    assert.equal(readdirSync(backups).length, 2);
  });

  test('one made by hand counts too: the service sees it, and makes the next when it is due', async (context) => {
    const { folder } = copyData();
    const env = { STOREROOM_BACKUP_DIR: temporaryFolder(), STOREROOM_BACKUP_HOURS: '1' };
    const made = await runCommand(folder, ['backup', '--scheduled-now'], { env });
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stdout, /The backup storeroom-.*Z was made and verified/);
    const service = await start(context, folder, env);
    await service.move(FIRST_MS);
    const [backup = ''] = list(env.STOREROOM_BACKUP_DIR);
    assert.deepEqual(await readBackups(service), { failures: 0, success: timeOf(backup) });
    assert.deepEqual(readdirSync(env.STOREROOM_BACKUP_DIR), [backup]);
    for (const words of [['backup'], ['backup', folder, '--scheduled-now']]) {
      const { code, stderr } = await runCommand(folder, words, { env });
      assert.deepEqual([code, /Give a folder, or --scheduled-now/.test(stderr)], [1, true]);
    }
  });

  test('a damaged file is reported and counted, and no backup of it is kept', async (context) => {
    const { folder, file } = copyData();
    const descriptor = openSync(file, 'r+');
    writeSync(descriptor, Buffer.alloc(4096, 7), 0, 4096, Math.floor(statSync(file).size / 8192) * 4096);
    closeSync(descriptor);
    const backups = temporaryFolder();
    const service = await start(context, folder, { STOREROOM_BACKUP_DIR: backups });
    await service.move(FIRST_MS);
    await service.said((output) => /"level":50.*No backup was made in .*tenants\/shop.*\.db: /.test(output));
    assert.deepEqual([readdirSync(backups), await readBackups(service)], [[], { failures: 1, success: 0 }]);
    assert.equal((await runCommand(folder, ['check'])).code, 1);
  });

  test('calls continue meanwhile, and the service can be stopped', async (context) => {
    const { folder } = copyData();
    const backups = temporaryFolder();
    const service = await start(context, folder, { STOREROOM_BACKUP_DIR: backups });
    const keys = await service.makeTenant('other');
    await service.move(FIRST_MS);
    const { status, body } = await createOrder(service, keys);
    assert.equal(status, 200);
    assert.equal((await getOrder(service, keys, body.data as string)).status, 200);
    assert.equal(await service.stop(), 0);
    assert.ok(
      readdirSync(backups).every((name) => GOOD.test(name)),
      'no unfinished one stays',
    );
  });

  test('are refused with PostgreSQL, with an alternative', async () => {
    const env = { STOREROOM_BACKUP_DIR: temporaryFolder() };
    const { code, stderr } = await runCommand('postgres://shop:x@127.0.0.1:1/none', ['serve'], { env });
    assert.equal(code, 78);
    assert.match(stderr, /STOREROOM_BACKUP_DIR is for the embedded store.*pg_basebackup/);
  });
});

suite('check --backup', () => {
  test('finds a changed, shortened or missing file, and a folder that is not a backup', async () => {
    const { folder } = copyData();
    const backup = join(temporaryFolder(), 'backup');
    assert.equal((await runCommand(folder, ['backup', backup])).code, 0);
    assert.equal((await runCommand(folder, ['check', '--backup', backup])).code, 0);
    const [tenant] = globSync('tenants/*.db', { cwd: backup });
    for (const [damage, expected] of [
      [
        (copy: string) => truncateSync(join(copy, 'usage.db'), 5000),
        /^usage\.db: it differs from what was written\.$/m,
      ],
      [
        (copy: string) => truncateSync(join(copy, tenant!), 0),
        /^tenants\/shop.*: it differs from what was written\.$/m,
      ],
    ] as const) {
      const copy = join(temporaryFolder(), 'copy');
      cpSync(backup, copy, { recursive: true });
      damage(copy);
      const { code, stdout } = await runCommand(folder, ['check', '--backup', copy]);
      assert.equal(code, 1);
      assert.match(stdout, expected);
    }
    const { code, stderr } = await runCommand(folder, ['check', '--backup', folder]);
    assert.equal(code, 2);
    assert.match(stderr, /is not a backup/);
  });
});
