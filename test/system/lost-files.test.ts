/**
 * Loses or damages each file of the data folder in turn. Only the tenant of a lost file is set apart, and a shared file
 * is never created again. No command reports that all is well, and no number is given out twice.
 */
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { readMetrics, sumOf } from '../kit/metrics.ts';
import { createOrder } from '../kit/orders.ts';
import { IS_THOROUGH } from '../kit/trials.ts';
import { ownService, runCommand, Service, temporaryFolder, type Answer, type Keys } from '../kit/service.ts';

const ORDERS = 40;
/** A note so long that orders fill separate pages of the file. */
const NOTES = 'A note. '.repeat(400);

const ALL_DAMAGES: Record<string, (file: string) => void> = {
  removed: (file) => rmSync(file),
  'cut to nothing': (file) => truncateSync(file, 0),
  'cut in half': (file) => truncateSync(file, Math.floor(statSync(file).size / 2)),
  'without its header': (file) => writeFileSync(file, readFileSync(file).fill(0, 0, 100)),
  'with noise from its middle on': (file) => {
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.fill(0xa5, Math.floor(bytes.length / 2)));
  },
  'a folder': (file) => {
    rmSync(file);
    mkdirSync(file);
  },
};
const GONE = ['removed', 'cut to nothing'];
const MOST_UNLIKE = ['removed', 'with noise from its middle on'];
/** Returns all damages, or in `npm test` those with these names. */
const choose = (names: readonly string[]): [string, (file: string) => void][] =>
  Object.entries(ALL_DAMAGES).filter(([how]) => IS_THOROUGH || names.includes(how));

const whole = temporaryFolder();
const keys: Record<string, Keys> = {};

before(async () => {
  const service = await ownService({ place: whole });
  for (const team of ['good', 'bad']) {
    keys[team] = await service.makeTenant(team);
    for (let order = 0; order < ORDERS; order++) await createOrder(service, keys[team], { NOTES });
  }
  await service.stop();
});

const fileOf = (folder: string): string => globSync('tenants/bad.*.db', { cwd: folder })[0]!;

function copied(): string {
  const folder = temporaryFolder();
  cpSync(whole, folder, { recursive: true });
  return folder;
}

function damaged(file: string, damage: (file: string) => void): string {
  const folder = copied();
  damage(join(folder, file));
  return folder;
}

const query = (service: Service, team: string): Promise<Answer> =>
  service.call(keys[team]!, 'POST', '/orders/query', { body: [], query: { maxReturn: '500' } });

/** Checks that `storeroom check` finds a place, with a remedy that restores the file and reverts no other writes. */
async function expectFound(folder: string, place: string, remedy: string): Promise<void> {
  const { code, stdout } = await runCommand(folder, ['check']);
  assert.equal(code, 1, stdout);
  const found = stdout.split('\n').findIndex((line) => line.startsWith(place));
  assert.ok(found >= 0 && stdout.split('\n').some((line, at) => at > found && line.includes(remedy)), stdout);
}

/** Checks that a backup is refused, or that the check of the backup finds the damage. */
async function expectNoGoodBackup(folder: string): Promise<void> {
  const backup = join(temporaryFolder(), 'backup');
  const { code } = await runCommand(folder, ['backup', backup]);
  assert.ok(code !== 0 || (await runCommand(folder, ['check', '--backup', backup])).code !== 0);
}

suite('the file of a tenant', () => {
  for (const [how, damage] of choose(MOST_UNLIKE))
    // Holds S3.15.
    test(`${how}: its calls get TENANT_UNAVAILABLE, and those of other tenants succeed`, async () => {
      const file = fileOf(whole);
      const service = await ownService({ place: damaged(file, damage) });
      const refused = [await query(service, 'bad'), await createOrder(service, keys['bad']!)];
      for (const { status, body, headers } of refused) {
        assert.deepEqual([status, body.code], [503, 'TENANT_UNAVAILABLE']);
        assert.equal(headers.get('retry-after'), '30');
      }
      assert.equal((await createOrder(service, keys['good']!)).body.data, String(10_001 + ORDERS));
      assert.equal(JSON.parse((await query(service, 'good')).text).data.length, ORDERS + 1);
      assert.equal(await service.usageOf('bad'), ORDERS + refused.length, 'they are counted');
      await service.said((output) =>
        output.includes(`refused, because its file cannot be used. ${service.place}/${file}: `),
      );
      if (how.startsWith('with')) await service.said((output) => output.includes(`Found in ${service.place}/${file}`));
      assert.equal(sumOf((await readMetrics(service)).samples, 'storeroom_tenants_unavailable'), 1);
      await expectFound(service.place, file, '`storeroom tenant restore`');
      await expectNoGoodBackup(service.place);
      assert.equal(await service.stop(), 0);
      await expectFound(service.place, file, '`storeroom tenant restore`');
    });
});

test('a file that cannot be opened may be whole: neither check nor tenant restore replaces it', async () => {
  const folder = copied();
  const file = join(folder, fileOf(folder));
  mkdirSync(`${file}-wal`);
  await expectFound(folder, fileOf(folder), 'The file may be intact');
  const backup = join(temporaryFolder(), 'backup');
  rmSync(`${file}-wal`, { recursive: true });
  assert.equal((await runCommand(folder, ['backup', backup])).code, 0);
  mkdirSync(`${file}-wal`);
  const { code, stderr } = await runCommand(folder, ['tenant', 'restore', 'bad', '--from', backup, '--yes']);
  assert.deepEqual([code, /cannot be opened .*may be intact/.test(stderr)], [1, true], stderr);
  rmSync(`${file}-wal`, { recursive: true });
  assert.equal((await runCommand(folder, ['check'])).code, 0);
});

suite('a file removed while the service has it open', () => {
  const removeAll = (service: Service, pattern: string): void => {
    for (const name of globSync(pattern, { cwd: service.place })) rmSync(join(service.place, name));
  };

  for (const pattern of ['tenants/bad.*.db*', 'tenants/bad.*.db', 'tenants/bad.*.db-wal'])
    test(`${pattern}: writes of its tenant are refused, and writes of others succeed`, async () => {
      const service = await ownService({ place: copied() });
      const last = (await createOrder(service, keys['bad']!)).body.data as string;
      assert.equal(last, String(10_001 + ORDERS));
      removeAll(service, pattern);
      for (const { status, body } of [
        await createOrder(service, keys['bad']!),
        await createOrder(service, keys['bad']!),
      ])
        assert.deepEqual([status, body.code], [503, 'TENANT_UNAVAILABLE']);
      assert.equal((await createOrder(service, keys['good']!)).status, 200);
      await service.said((output) => output.includes('it was removed while it was open'));
      assert.equal(sumOf((await readMetrics(service)).samples, 'storeroom_tenants_unavailable'), 1);
    });

  test('usage.db: the process ends, and no start creates it again', async () => {
    const service = await ownService({ place: copied() });
    assert.equal((await createOrder(service, keys['good']!)).status, 200);
    removeAll(service, 'usage.db*');
    await createOrder(service, keys['good']!).catch(() => undefined);
    await service.said((output) => /usage\.db: it was removed while it was open/.test(output));
    await assert.rejects(Service.start({ place: service.place }), /usage\.db is lost/);
  });
});

for (const file of ['control.db', 'usage.db'])
  suite(file, () => {
    for (const [how, damage] of choose(MOST_UNLIKE))
      test(`${how}: every call is refused, and no file is created again`, async () => {
        const folder = damaged(file, damage);
        const service = await Service.start({ place: folder }).catch((fault: Error) => {
          assert.ok(fault.message.includes(file), fault.message);
          return undefined;
        });
        if (service) {
          const answer = await createOrder(service, keys['good']!).catch(() => undefined);
          assert.ok(answer === undefined || answer.status >= 500, JSON.stringify(answer));
          await service.stop();
        }
        if (GONE.includes(how)) assert.ok(!existsSync(join(folder, file)) || statSync(join(folder, file)).size === 0);
        const { code, stdout } = await runCommand(folder, ['check']);
        assert.notEqual(code, 0);
        if (file === 'usage.db' && !GONE.includes(how))
          assert.match(stdout, /^usage\.db: [^]*\n {2}.* copy it from the last good backup\. Later counts/m);
        await expectNoGoodBackup(folder);
      });
  });

suite('requests.db', () => {
  for (const [how, damage] of choose(['with noise from its middle on']))
    test(`${how}: calls still succeed and are counted`, async () => {
      const service = await ownService({ place: damaged('requests.db', damage) });
      assert.equal((await createOrder(service, keys['good']!)).body.data, String(10_001 + ORDERS));
      assert.equal(await service.usageOf('good'), ORDERS + 1);
      assert.equal(await service.stop(), 0);
      if (!GONE.includes(how)) await expectFound(service.place, 'requests.db', 'Only the request log is lost');
    });
});

suite('tenant restore', () => {
  const last = 10_000 + ORDERS;
  const numbersOf = async (service: Service): Promise<string[]> =>
    ((await query(service, 'bad')).body.data as { ORDER_NUMBER: string }[]).map(({ ORDER_NUMBER }) => ORDER_NUMBER);
  const create = async (service: Service): Promise<string> => (await createOrder(service, keys['bad']!)).body.data;

  test('restores one tenant while the service runs, and assigns no number again', async () => {
    const service = await ownService({ place: copied() });
    const backup = join(temporaryFolder(), 'backup');
    const restore = (): ReturnType<Service['command']> =>
      service.command('tenant', 'restore', 'bad', '--from', backup, '--yes');
    assert.equal((await service.command('backup', backup)).code, 0);
    const wanted = await numbersOf(service);
    assert.equal(await create(service), String(last + 1));
    assert.match((await restore()).stdout, /^Restored bad\. Its former file is kept: \S+\. Delete it/);
    assert.deepEqual(await numbersOf(service), wanted);
    assert.equal(await create(service), String(last + 2));

    await service.stop();
    for (const file of globSync('tenants/bad.*.db', { cwd: service.place })) rmSync(join(service.place, file));
    await service.restart();
    assert.equal((await query(service, 'bad')).status, 503);
    assert.equal((await restore()).stdout.trim(), 'Restored bad.', 'no former file is there to delete');
    assert.deepEqual(await numbersOf(service), wanted);
    assert.equal(sumOf((await readMetrics(service)).samples, 'storeroom_tenants_unavailable'), 0);
    assert.equal((await createOrder(service, keys['good']!)).status, 200);
    const { stdout, code } = await service.command('check');
    assert.equal(code, 0, stdout);
    assert.match((await service.command('audit', 'list', 'bad')).stdout, /tenant restored/);
  });

  test('refuses a backup without the tenant, and a damaged one, and changes nothing', async () => {
    const service = await ownService({ place: copied() });
    const backup = join(temporaryFolder(), 'backup');
    await service.makeTenant('later');
    assert.equal((await service.command('backup', backup)).code, 0);
    await service.makeTenant('latest');
    const file = fileOf(backup);
    truncateSync(join(backup, file), 8192);
    const files = globSync('tenants/*.db', { cwd: service.place }).toSorted();
    for (const [team, said] of [
      ['latest', /There is no data of latest in/],
      ['bad', /is damaged/],
    ] as const) {
      const { code, stderr } = await service.command('tenant', 'restore', team, '--from', backup, '--yes');
      assert.equal(code, 1);
      assert.match(stderr, said);
    }
    assert.deepEqual(globSync('tenants/*.db', { cwd: service.place }).toSorted(), files);
    assert.equal(await create(service), String(last + 1));
  });
});
