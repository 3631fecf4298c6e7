/**
 * Tests a store of an older version: checks and backups do not change it, `storeroom upgrade` upgrades its tenants, and
 * a start upgrades them while they are called.
 */
import assert from 'node:assert/strict';
import { cpSync, globSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { before, test } from 'node:test';
import { times } from '../kit/lists.ts';
import { getOrder } from '../kit/orders.ts';
import { ownService, runCommand, temporaryFolder, type Keys } from '../kit/service.ts';
import { until } from '../kit/wait.ts';
import { makeOld, OLD_SCHEMA as OLD } from './old-store.ts';

const TENANTS = 3;
const ORDERS = 50;
const BACKUP_AFTER_MS = 2000;

const old = temporaryFolder();
const keys: Keys[] = [];

before(async () => {
  const service = await ownService({ place: old });
  for (const team of times(TENANTS, (at) => `t${at}`)) keys.push(await service.makeTenant(team));
  await service.stop();
  for (const file of globSync('tenants/*.db', { cwd: old })) makeOld(join(old, file), ORDERS);
});

function copied(): string {
  const folder = temporaryFolder();
  cpSync(old, folder, { recursive: true });
  return folder;
}

async function succeed(folder: string, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(folder, words);
  assert.equal(code, 0, stdout + stderr);
  return stdout;
}

test('is found whole, and so is a backup of it, and nothing of it is changed', async () => {
  const folder = copied();
  const bytes = (): Buffer[] =>
    globSync('tenants/*.db', { cwd: folder })
      .toSorted()
      .map((file) => readFileSync(join(folder, file)));
  const as = bytes();
  assert.match(await succeed(folder, 'check'), new RegExp(`Checked ${TENANTS * ORDERS} orders .*: all is well`));
  const backup = join(temporaryFolder(), 'backup');
  await succeed(folder, 'backup', backup);
  assert.match(await succeed(folder, 'check', '--backup', backup), new RegExp(`Checked ${TENANTS * ORDERS} orders`));
  const planned = JSON.parse(await succeed(folder, 'upgrade', '--dry-run', '--json')) as { files: { from: number }[] };
  assert.deepEqual(
    planned.files.map(({ from }) => from),
    times(TENANTS, () => OLD),
  );
  assert.deepEqual(bytes(), as);
  await succeed(folder, 'upgrade');
  assert.match(await succeed(folder, 'upgrade', '--dry-run'), /All files have the schemas of this version/);
  const [lost] = globSync('tenants/*.db', { cwd: folder });
  rmSync(join(folder, lost!));
  const { code, stderr } = await runCommand(folder, ['upgrade']);
  assert.match(`${code} ${stderr}`, new RegExp(`^1 .*calls of a tenant are refused.*${lost!}: it is missing`, 's'));
});

test('is upgraded by a start, tenants that nobody calls too, and its first backup is good', async () => {
  const backups = temporaryFolder();
  const place = copied();
  // A reader of a file keeps the upgrade in the log of that file.
  using reader = new DatabaseSync(join(place, globSync('tenants/*.db', { cwd: place })[0]!));
  reader.exec('PRAGMA journal_mode = wal; BEGIN; SELECT count(*) FROM sqlite_schema');
  const service = await ownService({ place, env: { STOREROOM_BACKUP_DIR: backups } });
  const answer = async (one: Keys): Promise<number> => {
    const { status, body } = await getOrder(service, one, '10001');
    if (status === 503) assert.equal(body.code, 'SERVICE_BUSY');
    return status;
  };
  await until(async () => (await answer(keys.at(-1)!)) === 200);
  const told = /"level":(\d+).*Upgraded the store to the schemas of this version \(tenants: (\d+)\) in [\d.]+ s\./g;
  await service.said((output) => output.search(told) >= 0);
  const lines = [...service.output.matchAll(told)].map(([, level, tenants]) => [level, tenants]);
  assert.deepEqual(lines, [['30', String(TENANTS)]], 'one line for all files');
  await service.move(BACKUP_AFTER_MS);
  await service.said((output) => /was made and verified|No backup was made/.test(output));
  assert.doesNotMatch(service.output, /No backup was made/);
  const [backup] = globSync('storeroom-*', { cwd: backups });
  await succeed(service.place, 'check', '--backup', join(backups, backup!));
  for (const one of keys) assert.equal(await answer(one), 200);
  assert.match(await succeed(service.place, 'upgrade', '--dry-run'), /All files have the schemas/);
});
