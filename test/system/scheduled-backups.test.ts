/**
 * Backups that the service makes by itself: each is whole and verified when it is there, one is made when it is due and
 * none twice, whatever kills the service; what is damaged is never kept as a backup, and pushes no good one out.
 */
import assert from 'node:assert/strict';
import { cpSync, existsSync, globSync, mkdirSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createOrder, getOrder } from '../kit/orders.ts';
import { runCommand, Service, temporaryFolder } from '../kit/service.ts';

const SOON_MS = 30_000;
const GOOD = /^storeroom-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/;
const DAY_MS = 86_400_000;

async function until<T>(what: string, look: () => T | undefined | false): Promise<T> {
  const giveUpAt = performance.now() + SOON_MS;
  for (;;) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    assert.ok(performance.now() < giveUpAt, `${what} within ${SOON_MS} ms`);
    await sleep(2);
  }
}

async function start(context: TestContext, dataFolder: string, env: Record<string, string>): Promise<Service> {
  const service = await Service.start({ dataFolder, env });
  context.after(() => service.stop('SIGKILL'));
  return service;
}

const list = (folder: string): string[] => readdirSync(folder).filter((name) => !name.startsWith('.'));
const good = (folder: string): string[] => list(folder).filter((name) => GOOD.test(name));
const nameOf = (ms: number): string => `storeroom-${new Date(ms).toISOString().slice(0, 19).replaceAll(':', '-')}Z`;
const readMetric = async ({ origin }: Service, name: string): Promise<number> =>
  Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await (await fetch(`${origin}/metrics`)).text())![1]);
const readFailures = (service: Service): Promise<number> => readMetric(service, 'storeroom_backup_failures_total');
const readSuccess = (service: Service): Promise<number> =>
  readMetric(service, 'storeroom_backup_last_success_timestamp_seconds');

/** A data folder with a tenant and an order. The largest file is the tenant's. */
async function makeData(): Promise<string> {
  const folder = temporaryFolder();
  const service = await Service.start({ dataFolder: folder });
  const keys = await service.makeTenant('shop');
  const rows = Array.from({ length: 3000 }, (_, index) => `${index + 20_000},note ${index}`);
  const orders = join(temporaryFolder(), 'orders.csv');
  writeFileSync(orders, `ORDER_NUMBER,NOTES\n${rows.join('\n')}\n`);
  assert.equal((await service.command('import', 'shop', 'orders', orders)).code, 0);
  assert.equal((await createOrder(service, keys)).status, 200);
  await service.stop();
  return folder;
}

const data = await makeData();

/** A copy of it for one test. */
function copyData(): { folder: string; file: string } {
  const folder = join(temporaryFolder(), 'data');
  cpSync(data, folder, { recursive: true });
  return { folder, file: join(folder, globSync('tenants/*.db', { cwd: folder })[0]!) };
}

suite('scheduled backups', () => {
  test('the first is made soon after the start, is whole, and can be restored; the oldest goes', async (context) => {
    const { folder } = copyData();
    const backups = join(temporaryFolder(), 'made', 'by', 'the service');
    mkdirSync(backups, { recursive: true });
    const old = [3, 2].map((days) => nameOf(Date.now() - days * DAY_MS));
    for (const name of [...old, 'not ours']) mkdirSync(join(backups, name));
    const service = await start(context, folder, { STOREROOM_BACKUP_DIR: backups, STOREROOM_BACKUP_KEEP: '2' });
    const backup = await until('a backup', () => good(backups).find((name) => !old.includes(name)));
    await until('the oldest to go', () => !existsSync(join(backups, old[0]!)));
    assert.deepEqual(list(backups).toSorted(), ['not ours', old[1]!, backup].toSorted());
    const { code, json, stderr } = await runCommand(folder, ['check', '--backup', join(backups, backup), '--json']);
    assert.deepEqual([code, (json() as { orders: number }).orders], [0, 3001], stderr);
    assert.ok(Math.abs((await readSuccess(service)) - Date.now() / 1000) < SOON_MS / 1000);
    assert.equal(await readFailures(service), 0);
    const restored = join(temporaryFolder(), 'restored');
    assert.equal((await runCommand(restored, ['restore', join(backups, backup)])).code, 0);
    assert.equal((await runCommand(restored, ['check'])).code, 0);
  });

  test('killed in the middle leaves nothing that looks like a backup; started again makes one, and then none', async (context) => {
    const { folder } = copyData();
    const backups = temporaryFolder();
    const env = { STOREROOM_BACKUP_DIR: backups };
    const service = await start(context, folder, env);
    await until('the beginning of a backup', () => readdirSync(backups).length > 0);
    await service.stop('SIGKILL');
    assert.deepEqual(list(backups), []);
    assert.match(readdirSync(backups)[0]!, /^\.unfinished-/);
    await service.restart();
    const [backup] = await until('a backup', () => good(backups).length > 0 && good(backups));
    await until('that the thread has ended', () => service.output.includes('was made and verified'));
    assert.deepEqual(readdirSync(backups), [backup]);
    await service.stop();
    const told = service.output.length;
    await service.restart();
    const [, due] = await until(
      'the next date',
      () => /is due at (\S+)\./.exec(service.output.slice(told)) ?? undefined,
    );
    assert.ok(Date.parse(due!) > Date.now() + DAY_MS / 2, `the next is due at ${due}`);
    assert.ok((await readSuccess(service)) > 0, 'the success is known after a restart');
    assert.deepEqual(readdirSync(backups), [backup]);
  });

  test('an overdue one is made at the start, and one that is not due is not', async (context) => {
    const { folder } = copyData();
    const backups = temporaryFolder();
    const last = nameOf(Date.now() - 3 * 3_600_000);
    mkdirSync(join(backups, last));
    await start(context, folder, { STOREROOM_BACKUP_DIR: backups, STOREROOM_BACKUP_HOURS: '2' });
    await until('a backup', () => good(backups).length === 2);
  });

  test('a damaged file is found: no backup is kept of it, none goes for it, and it is counted', async (context) => {
    const { folder, file } = copyData();
    const descriptor = openSync(file, 'r+');
    writeSync(descriptor, Buffer.alloc(4096, 7), 0, 4096, Math.floor(statSync(file).size / 8192) * 4096);
    closeSync(descriptor);
    const backups = temporaryFolder();
    const old = nameOf(Date.now() - 2 * DAY_MS);
    mkdirSync(join(backups, old));
    const service = await start(context, folder, { STOREROOM_BACKUP_DIR: backups, STOREROOM_BACKUP_KEEP: '1' });
    await until('the failure', () => /No backup was made in .*tenants\/shop.*\.db: /.test(service.output));
    assert.deepEqual([readdirSync(backups), await readFailures(service)], [[old], 1]);
    assert.equal((await runCommand(folder, ['check'])).code, 1);
  });

  test('records that disagree are told: the copy is kept under another name, and pushes no good one out', async (context) => {
    const { folder, file } = copyData();
    const db = new DatabaseSync(file);
    db.exec("UPDATE COUNTERS SET NEXT = 1 WHERE NAME = 'orders'");
    db.close();
    const backups = temporaryFolder();
    const old = nameOf(Date.now() - 2 * DAY_MS);
    mkdirSync(join(backups, old));
    const service = await start(context, folder, { STOREROOM_BACKUP_DIR: backups, STOREROOM_BACKUP_KEEP: '1' });
    await until('the finding', () => /Records disagree .*numbers of shop/.test(service.output));
    const [kept, copy] = list(backups).toSorted();
    assert.equal(kept, old);
    assert.match(copy!, /Z-disagrees$/);
    assert.equal(await readFailures(service), 1);
    assert.ok(
      (await readSuccess(service)) < Date.now() / 1000 - 1.9 * (DAY_MS / 1000),
      'the last good one is the old one',
    );
  });

  test('a disk that has not enough room, and a folder that cannot be written, are told and counted', async (context) => {
    const { folder } = copyData();
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    for (const [env, reason] of [
      [
        { STOREROOM_BACKUP_DIR: temporaryFolder(), STOREROOM_READY_FREE_MB: '999999999' },
        /has \d+ free bytes, and \d+ are needed/,
      ],
      [{ STOREROOM_BACKUP_DIR: join(file, 'below') }, /ENOTDIR|EEXIST/],
    ] as const) {
      const service = await start(context, folder, env);
      await until('the failure', () => reason.test(service.output));
      assert.ok((await readFailures(service)) >= 1);
      assert.equal(await readSuccess(service), 0);
      await service.stop();
    }
  });

  test('calls go on meanwhile, and a service that is told to stop does so', async (context) => {
    const { folder } = copyData();
    const backups = temporaryFolder();
    const service = await start(context, folder, { STOREROOM_BACKUP_DIR: backups });
    const keys = await service.makeTenant('other');
    await until('the beginning of a backup', () => readdirSync(backups).length > 0);
    assert.equal((await createOrder(service, keys)).status, 200);
    assert.equal((await getOrder(service, keys, '10001')).status, 200);
    assert.equal(await service.stop(), 0);
    assert.ok(
      readdirSync(backups).every((name) => GOOD.test(name)),
      'no unfinished one stays',
    );
  });

  test('are refused with PostgreSQL, with what to use instead', async () => {
    const env = { STOREROOM_BACKUP_DIR: temporaryFolder() };
    const { code, stderr } = await runCommand('postgres://shop:x@127.0.0.1:1/none', ['serve'], { env });
    assert.equal(code, 1);
    assert.match(stderr, /STOREROOM_BACKUP_DIR is for the embedded store.*pg_basebackup/);
  });
});

suite('check --backup', () => {
  test('finds a file that was changed, cut, or is missing, and what is no backup', async () => {
    const { folder } = copyData();
    const backup = join(temporaryFolder(), 'backup');
    assert.equal((await runCommand(folder, ['backup', backup])).code, 0);
    assert.equal((await runCommand(folder, ['check', '--backup', backup])).code, 0);
    const [tenant] = globSync('tenants/*.db', { cwd: backup });
    for (const [damage, expected] of [
      [(copy: string) => truncateSync(join(copy, 'usage.db'), 5000), /^usage\.db: it is not as it was written\.$/m],
      [(copy: string) => truncateSync(join(copy, tenant!), 0), /^tenants\/shop.*: it is not as it was written\.$/m],
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
