/**
 * Tests an upgrade of the embedded store to a version with migrations: checks and backups do not change the store,
 * `storeroom upgrade` migrates its tenants, and a start migrates them while they are called.
 */
import assert from 'node:assert/strict';
import { cpSync, globSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { before, test } from 'node:test';
import { times } from '../kit/lists.ts';
import { APPENDED, makeTestedVersion, newestSchema, NEXT_VERSION } from '../kit/next-version.ts';
import { createOrder, getOrder } from '../kit/orders.ts';
import { ownService, runCommand, temporaryFolder, type Answer, type Keys, type Service } from '../kit/service.ts';
import { until } from '../kit/wait.ts';

const TENANTS = 5;
const BACKUP_AFTER_MS = 2000;

const program = makeTestedVersion('sqlite');
const old = temporaryFolder();
const keys: Keys[] = [];
/** The tag of each tenant's order before the upgrade. */
const tags: (string | null)[] = [];

const createCustomer = (service: Service, one: Keys, CUSTOMER_CODE: string, NOTES: string): Promise<Answer> =>
  service.call(one, 'PUT', '/customers/create', { body: { CUSTOMER_CODE, NOTES } });
const getCustomer = (service: Service, one: Keys, customerCode: string): Promise<Answer> =>
  service.call(one, 'GET', '/customers/single', { query: { customerCode } });
const notesOf = ({ body }: Answer): string => (body as { data: { NOTES: string } }).data.NOTES;

before(async () => {
  const service = await ownService({ place: old });
  for (const team of times(TENANTS, (at) => `t${at}`)) {
    const one = await service.makeTenant(team);
    keys.push(one);
    await createCustomer(service, one, 'A', `of ${team}`);
    assert.equal((await createOrder(service, one)).body.data, '10001');
    tags.push((await getOrder(service, one, '10001')).headers.get('etag'));
  }
  await service.stop();
});

function copied(): string {
  const folder = temporaryFolder();
  cpSync(old, folder, { recursive: true });
  return folder;
}

/** Gives a file another schema, and returns the one that it had. */
function renumber(file: string, version: number): number {
  using db = new DatabaseSync(file);
  const { user_version: known } = db.prepare('PRAGMA user_version').get()!;
  db.exec(`PRAGMA user_version=${version}`);
  return Number(known);
}

async function succeed(folder: string, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(folder, words, { program });
  assert.equal(code, 0, stdout + stderr);
  return stdout;
}

test('a store of the previous version and its backup pass a check, which changes nothing', async () => {
  const folder = copied();
  const bytes = (): Buffer[] =>
    globSync('{*,tenants/*}.db', { cwd: folder })
      .toSorted()
      .map((file) => readFileSync(join(folder, file)));
  const as = bytes();
  assert.match(await succeed(folder, 'check'), new RegExp(`Checked ${TENANTS} orders .*: all is well`));
  const backup = join(temporaryFolder(), 'backup');
  await succeed(folder, 'backup', backup);
  assert.match(await succeed(folder, 'check', '--backup', backup), new RegExp(`Checked ${TENANTS} orders`));
  const planned = JSON.parse(await succeed(folder, 'upgrade', '--dry-run', '--json')) as {
    files: { from: number; to: number }[];
  };
  const [control, pims] = (['control', 'pims'] as const).map((kind) => newestSchema({ store: 'sqlite', kind }));
  assert.deepEqual(
    planned.files.map(({ from, to }) => [from, to]),
    [[control, control! + 1], ...times(TENANTS, () => [pims, pims! + 2])],
  );
  assert.deepEqual(bytes(), as);
});

test('`storeroom upgrade` runs each migration once for each tenant, in order, and finds a lost file', async () => {
  const folder = copied();
  await succeed(folder, 'upgrade');
  assert.match(await succeed(folder, 'upgrade', '--dry-run'), /All files have the schemas of this version/);
  for (const team of times(TENANTS, (at) => `t${at}`))
    assert.match(await succeed(folder, 'export', team, 'customers'), new RegExp(`of ${team}${APPENDED}\\b`));
  assert.match(await succeed(folder, 'check'), /all is well/);
  const [lost] = globSync('tenants/*.db', { cwd: folder });
  rmSync(join(folder, lost!));
  const { code, stderr } = await runCommand(folder, ['upgrade'], { program });
  assert.match(`${code} ${stderr}`, new RegExp(`^1 .*calls of a tenant are refused.*${lost!}: it is missing`, 's'));
});

test('a file of an unknown schema stops the upgrade of its tenant, and of no other', async () => {
  const folder = copied();
  const [unknown] = globSync('tenants/*.db', { cwd: folder });
  renumber(join(folder, unknown!), 999);
  const says = `${unknown!} was written by a newer version of Storeroom`;
  const planned = await runCommand(folder, ['upgrade', '--dry-run'], { program });
  assert.match(`${planned.code} ${planned.stderr}`, new RegExp(`^1 .*${says}`, 's'));
  const { code, stdout, stderr } = await runCommand(folder, ['upgrade'], { program });
  assert.match(`${code} ${stderr}`, new RegExp(`^1 .*calls of a tenant are refused.*${says}`, 's'));
  assert.equal(stdout.match(/tenants\//g)?.length, TENANTS - 1);
});

test('an unknown schema of a file that all tenants share stops the upgrade before it begins', async () => {
  for (const name of ['control.db', 'usage.db', 'requests.db']) {
    const folder = copied();
    const known = renumber(join(folder, name), 999);
    const { code, stderr } = await runCommand(folder, ['upgrade'], { program });
    assert.match(`${code} ${stderr}`, new RegExp(`^1 .*${name} was written by a newer version of Storeroom`, 's'));
    renumber(join(folder, name), known);
    assert.equal((await succeed(folder, 'upgrade', '--dry-run')).match(/tenants\//g)?.length, TENANTS);
  }
});

test('a backup of the previous version, and a tenant from it, are restored with all migrations', async () => {
  const [folder, backup] = [copied(), join(temporaryFolder(), 'backup')];
  assert.equal((await runCommand(folder, ['backup', backup])).code, 0);
  await succeed(folder, 'tenant', 'restore', 't1', '--from', backup, '--yes');
  const restored = temporaryFolder();
  await succeed(restored, 'restore', backup);
  for (const place of [folder, restored])
    assert.match(await succeed(place, 'export', 't1', 'customers'), new RegExp(`of t1${APPENDED}\\b`));
});

test('a start upgrades the store, also tenants without calls, and its first backup is good', async () => {
  const backups = temporaryFolder();
  const place = copied();
  // A reader of a file keeps the upgrade in the log of that file.
  using reader = new DatabaseSync(join(place, globSync('tenants/*.db', { cwd: place })[0]!));
  reader.exec('PRAGMA journal_mode = wal; BEGIN; SELECT count(*) FROM sqlite_schema');
  const service = await ownService({ place, program, env: { STOREROOM_BACKUP_DIR: backups } });
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
  for (const [at, one] of keys.entries()) {
    assert.equal((await getOrder(service, one, '10001')).headers.get('etag'), tags[at]);
    assert.equal(notesOf(await getCustomer(service, one, 'A')), `of t${at}${APPENDED}`);
    assert.equal((await createCustomer(service, one, 'B', 'new')).status, 200);
    assert.equal(notesOf(await getCustomer(service, one, 'B')), 'new');
  }
  assert.match(await succeed(service.place, 'upgrade', '--dry-run'), /All files have the schemas/);

  const { code, stderr } = await runCommand(place, ['tenant', 'list']);
  assert.match(`${code} ${stderr}`, new RegExp(`^1 .*newer version.*Install Storeroom ${NEXT_VERSION} or newer`, 's'));
});
