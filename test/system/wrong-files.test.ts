/**
 * Puts a wrong file in the place of each file of the data folder, or of a backup, and compares what the service and the
 * commands say with a table. None says that all is well, and no tenant ever gets the data of another.
 */
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { before, suite, test } from 'node:test';
import { createOrder } from '../kit/orders.ts';
import { readMetrics, sumOf } from '../kit/metrics.ts';
import { IS_THOROUGH } from '../kit/trials.ts';
import { runCommand, Service, temporaryFolder, type CommandResult, type Keys } from '../kit/service.ts';

/** Root may do what a mode forbids, so as root the program runs as this user. */
const NOBODY = 65_534;
const isRoot = process.getuid!() === 0;
const AS_NOBODY = isRoot ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : [];
/** The program that starts the commands and the service: only modes and owners need another user than root. */
let under: readonly string[] = [];

/** Each mark is in the notes of the only order of a tenant. */
const MARKS = { one: 'MARK-ONE', two: 'MARK-TWO', other: 'MARK-OTHER' };
type Tenant = 'one' | 'two';

const places = { mine: '', backup: '', other: '', otherBackup: '' };
let keys: Record<Tenant, Keys>;

const tenantFile = (folder: string, team: Tenant): string => globSync(`tenants/${team}.*.db`, { cwd: folder })[0]!;
/** Returns the path of a file in a folder. The name `tenant` means the file of the tenant `one`. */
const pathOf = (folder: string, file: string): string =>
  join(folder, file === 'tenant' ? tenantFile(folder, 'one') : file);

/** Gives a folder to the user that runs the program. */
function give(folder: string): string {
  if (under.length > 0)
    for (const name of ['.', ...globSync('**', { cwd: folder })]) chownSync(join(folder, name), NOBODY, NOBODY);
  return folder;
}

function copyOf(folder: string): string {
  const copy = temporaryFolder();
  cpSync(folder, copy, { recursive: true });
  return give(copy);
}

const run = (place: string, ...words: string[]): Promise<CommandResult> => runCommand(place, words, { under });

async function succeed(place: string, ...words: string[]): Promise<CommandResult> {
  const done = await runCommand(place, words);
  assert.equal(done.code, 0, done.stderr);
  return done;
}

async function makeStore(
  marks: Partial<Record<Tenant, string>>,
): Promise<[folder: string, backup: string, Record<string, Keys>]> {
  const service = await Service.start({ place: temporaryFolder() });
  const made: Record<string, Keys> = {};
  for (const [team, NOTES] of Object.entries(marks)) {
    made[team] = await service.makeTenant(team);
    await createOrder(service, made[team], { NOTES });
  }
  await service.stop();
  const backup = join(temporaryFolder(), 'backup');
  await succeed(service.place, 'backup', backup);
  return [service.place, backup, made];
}

before(async () => {
  const [mine, backup, made] = await makeStore({ one: MARKS.one, two: MARKS.two });
  const [other, otherBackup] = await makeStore({ one: MARKS.other });
  Object.assign(places, { mine, backup, other, otherBackup });
  keys = made;
});

/** Ways to spoil a file. `folder` is a copy of `places.mine` or of its backup, and `from` the folder of a like store. */
const FAULTS: Record<string, (file: string, path: string, from: string) => void> = {
  removed: (_, path) => rmSync(path),
  'cut in half': (_, path) => truncateSync(path, Math.floor(statSync(path).size / 2 / 4096) * 4096),
  'of another user': (_, path) => {
    if (isRoot) chownSync(path, 0, 0);
    chmodSync(path, isRoot ? 0o644 : 0o444);
  },
  'read-only': (_, path) => chmodSync(path, 0o400),
  "another store's": (file, path, from) => copyFileSync(pathOf(from, file), path),
  "another tenant's": (_, path) =>
    copyFileSync(path.replace(basename(path), basename(tenantFile(join(path, '../..'), 'two'))), path),
};

const PERMISSIONS = ['of another user', 'read-only'];

/** Returns a spoilt copy of the store, or of its backup. */
function spoil(of: 'mine' | 'backup', file: string, fault: string): string {
  const folder = copyOf(places[of]);
  FAULTS[fault]!(file, pathOf(folder, file), of === 'mine' ? places.other : places.otherBackup);
  return folder;
}

/** Says what the service does: it is refused, or it sets the tenant `one` apart, or continues without its request log. */
async function tryService(place: string, file: string): Promise<string> {
  const name = basename(file === 'tenant' ? tenantFile(places.mine, 'one') : file);
  const service = await Service.start({ place, under }).catch((fault: Error) => {
    const lines = fault.message.split('\n').filter((line) => line.startsWith('storeroom: '));
    assert.ok(lines.length === 1 && lines[0]!.includes(name), fault.message);
    return undefined;
  });
  if (!service) return 'refused';
  try {
    const of = (team: Tenant) => service.call(keys[team], 'POST', '/orders/query', { body: [] });
    const [one, two] = [await of('one'), await of('two')];
    for (const [{ text }, own] of [
      [one, MARKS.one],
      [two, MARKS.two],
    ] as const)
      for (const mark of Object.values(MARKS)) assert.ok(mark === own || !text.includes(mark), text);
    if (one.status >= 500 && two.status >= 500) return 'refused';
    assert.equal(two.status, 200, two.text);
    assert.ok(two.text.includes(MARKS.two));
    if (file === 'requests.db' && !service.output.includes('The request log')) await createOrder(service, keys.two);
    if (one.status === 200) {
      assert.ok(one.text.includes(MARKS.one));
      assert.equal((await createOrder(service, keys.one)).status, 200);
      if (file !== 'requests.db') return 'served';
      await service.stop();
      return service.output.includes('requests.db cannot be used') ? 'no log' : 'served';
    }
    assert.deepEqual([one.status, one.body.code], [503, 'TENANT_UNAVAILABLE']);
    await service.said((output) => output.includes(name));
    assert.equal(sumOf((await readMetrics(service)).samples, 'storeroom_tenants_unavailable'), 1);
    return 'apart';
  } finally {
    await service.stop();
  }
}

/** Says what a check finds. A finding names the file. */
async function tryCheck(place: string, file: string, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(place, 'check', ...words);
  if (code === 0) return 'well';
  assert.ok(`${stdout}${stderr}`.includes(basename(file)), stdout + stderr);
  return 'found';
}

/** Says what a backup is: refused, whole, or without the request log. */
async function tryBackup(place: string, file: string): Promise<string> {
  const backup = join(give(temporaryFolder()), 'backup');
  const { code, stdout, stderr } = await run(place, 'backup', backup);
  if (code !== 0) {
    assert.ok(stderr.includes(basename(file)), stderr);
    return 'refused';
  }
  if ((await run(place, 'check', '--backup', backup)).code !== 0) return 'found';
  const isWithout = stdout.includes('Not copied: ');
  assert.equal(existsSync(join(backup, 'requests.db')), existsSync(join(place, 'requests.db')) && !isWithout);
  return isWithout ? 'no log' : 'whole';
}

/** Says whether a backup is restored, whole and with no other data. */
async function tryRestore(backup: string): Promise<string> {
  const folder = join(give(temporaryFolder()), 'data');
  const { code } = await run(folder, 'restore', backup);
  if (code !== 0) {
    assert.ok(!existsSync(join(folder, 'control.db')));
    return 'refused';
  }
  assert.equal((await run(folder, 'check')).code, 0);
  return 'whole';
}

/** Says whether a tenant is restored, and checks that the tenant has its own order before and after. */
async function tryTenantRestore(backup: string): Promise<string> {
  const place = copyOf(places.mine);
  const { code, stderr } = await run(place, 'tenant', 'restore', 'one', '--from', backup, '--yes');
  const { stdout } = await run(place, 'export', 'one', 'orders');
  assert.ok(
    stdout.includes(MARKS.one) && !stdout.includes(MARKS.two) && !stdout.includes(MARKS.other),
    stdout + stderr,
  );
  return code === 0 ? 'whole' : 'refused';
}

/** Outcomes of the service, `check`, `backup`, `restore` and `tenant restore` for a file with a fault. */
const TABLE: [file: string, fault: string, said: string][] = [
  ['control.db', 'removed', 'refused, found, refused, refused, refused'],
  ['control.db', 'cut in half', 'refused, found, refused, refused, refused'],
  ['control.db', 'of another user', 'refused, found, whole, whole, whole'],
  ['control.db', 'read-only', 'refused, found, whole, whole, whole'],
  ['control.db', "another store's", 'refused, found, refused, refused, refused'],
  ['usage.db', 'removed', 'refused, found, refused, refused, whole'],
  ['usage.db', 'cut in half', 'refused, found, refused, refused, whole'],
  ['usage.db', 'of another user', 'refused, found, whole, whole, whole'],
  ['usage.db', 'read-only', 'refused, found, whole, whole, whole'],
  ['usage.db', "another store's", 'refused, found, refused, refused, whole'],
  ['requests.db', 'removed', 'served, well, whole, refused, whole'],
  ['requests.db', 'cut in half', 'no log, found, no log, refused, whole'],
  ['requests.db', 'of another user', 'refused, found, whole, whole, whole'],
  ['requests.db', 'read-only', 'refused, found, whole, whole, whole'],
  ['requests.db', "another store's", 'no log, found, no log, refused, whole'],
  ['tenant', 'removed', 'apart, found, refused, refused, refused'],
  ['tenant', 'cut in half', 'apart, found, refused, refused, refused'],
  ['tenant', 'of another user', 'apart, found, whole, whole, whole'],
  ['tenant', 'read-only', 'apart, found, whole, whole, whole'],
  ['tenant', "another store's", 'apart, found, refused, refused, refused'],
  ['tenant', "another tenant's", 'apart, found, refused, refused, refused'],
];

/** The rows of `npm test`. */
const QUICK = [
  "usage.db, another store's",
  "tenant, another tenant's",
  'tenant, read-only',
  'requests.db, cut in half',
];

suite('a wrong file', () => {
  for (const [file, fault, said] of TABLE.filter(([one, how]) => IS_THOROUGH || QUICK.includes(`${one}, ${how}`)))
    // Holds S3.15.
    test(`${file}, ${fault}: ${said}`, async () => {
      under = PERMISSIONS.includes(fault) ? AS_NOBODY : [];
      const place = spoil('mine', file, fault);
      const name = pathOf(places.mine, file);
      const backup = spoil('backup', file, fault);
      const found = [await tryCheck(place, name), await tryBackup(place, name)];
      found.push(await tryRestore(backup), await tryTenantRestore(backup));
      assert.equal([await tryService(place, file), ...found].join(', '), said);
    });
});

suite('a file of another owner', () => {
  test('tenant restore refuses a backup of another store, or with a file of another tenant, even with --yes', async () => {
    const place = copyOf(places.mine);
    const restore = (from: string) => runCommand(place, ['tenant', 'restore', 'one', '--from', from, '--yes']);
    const files = globSync('**', { cwd: place }).toSorted();
    const foreign = await restore(places.otherBackup);
    assert.match(foreign.stderr, /is a backup of another store\. Use a backup of this one\./);

    const swapped = spoil('backup', 'tenant', "another tenant's");
    const manifest = join(swapped, 'storeroom-backup.json');
    const written = JSON.parse(readFileSync(manifest, 'utf8')) as { files: Record<string, string> };
    const name = tenantFile(swapped, 'one');
    written.files[name] = createHash('sha256')
      .update(readFileSync(join(swapped, name)))
      .digest('hex');
    writeFileSync(manifest, JSON.stringify(written));
    assert.match((await restore(swapped)).stderr, /it belongs to the tenant two\. Put this store's own file there/);
    assert.notEqual((await tryRestoreWhole(swapped)).code, 0);
    assert.match((await runCommand(place, ['check', '--backup', swapped])).stdout, /it belongs to the tenant two/);
    assert.deepEqual(globSync('**', { cwd: place }).toSorted(), files);
    assert.match((await succeed(place, 'export', 'one', 'orders')).stdout, new RegExp(MARKS.one));
  });

  test('a copied folder, a restored one and a file copied by hand from a backup are its own', async () => {
    const place = temporaryFolder();
    await succeed(join(place, 'data'), 'restore', places.backup);
    for (const folder of [join(place, 'data'), copyOf(places.mine)]) {
      for (const file of ['usage.db', 'requests.db', 'tenant'])
        copyFileSync(pathOf(places.backup, file), pathOf(folder, file));
      await succeed(folder, 'check');
      await succeed(folder, 'tenant', 'restore', 'one', '--from', places.backup, '--yes');
      const { stdout } = await succeed(folder, 'check');
      assert.match(stdout, /^No tenant uses tenants\/one\..*\.db\. /m);
      assert.match((await succeed(folder, 'export', 'one', 'orders')).stdout, new RegExp(MARKS.one));
    }
  });
});

const tryRestoreWhole = (backup: string): Promise<CommandResult> =>
  runCommand(join(temporaryFolder(), 'data'), ['restore', backup]);

suite('remains of commands', () => {
  const filesOf = (folder: string, team: string): string[] => globSync(`tenants/${team}.*`, { cwd: folder });

  test('tenant remove deletes the former files of the tenant too, and of no tenant with a longer name', async () => {
    const place = copyOf(places.mine);
    for (let round = 0; round < 2; round++)
      await succeed(place, 'tenant', 'restore', 'one', '--from', places.backup, '--yes');
    await succeed(place, 'tenant', 'create', 'one.more');
    const left = filesOf(place, 'one').find((path) => !path.includes('one.more'))!;
    copyFileSync(join(place, left), join(place, left.replace(/\.db$/, '.db-unfinished')));
    const { stdout } = await succeed(place, 'check');
    assert.equal(stdout.match(/^No tenant uses tenants\/one\./gm)?.length, 3, stdout);
    await succeed(place, 'tenant', 'remove', 'one', '--yes');
    assert.deepEqual(filesOf(place, 'one'), filesOf(place, 'one.more'));
    assert.equal(filesOf(place, 'two').length, 1);
    assert.doesNotMatch((await succeed(place, 'check')).stdout, /No tenant uses/);
  });

  test('a start deletes the remains of a killed tenant restore, and says so', async () => {
    const place = copyOf(places.mine);
    const left = tenantFile(place, 'one').replace(/\.[^.]+\.db$/, '.00000000.db-unfinished');
    for (const end of ['', '-wal', '-shm']) writeFileSync(join(place, left + end), 'left');
    const service = await Service.start({ place });
    await service.said((output) => output.includes(`Deleted ${left}, which an interrupted command had left.`));
    await service.stop();
    assert.deepEqual(
      filesOf(place, 'one').filter((path) => path.includes('unfinished')),
      [],
    );
    assert.doesNotMatch((await succeed(place, 'check')).stdout, /No tenant uses/);
  });
});
