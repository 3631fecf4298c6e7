/**
 * Tests what a service prints when it starts: the next step if there is no tenant, what is open to others, and that its
 * store is of a newer version. Also tests where the links of commands lead.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { before, suite, test } from 'node:test';
import { describeExposure } from '../../src/cli/service-address.ts';
import { createOrder } from '../kit/orders.ts';
import { runStatement } from '../kit/postgres.ts';
import { newPlace, ownService, runCommand, Service, STORE, temporaryFolder } from '../kit/service.ts';

suite('the messages of a start and the addresses of links', async () => {
  const service = await ownService();
  const { origin } = service;
  const told = service.output;

  test('without a tenant a start prints commands that create one and work; with one it does not', async () => {
    assert.match(
      told,
      STORE === 'postgres' ? /created only in the embedded store.*STOREROOM_DATABASE_URL/ : /STOREROOM_DATA /,
    );
    assert.doesNotMatch(told, /curl|sr_/, 'no demo tenant is made with STOREROOM_DEMO=off');
    const commands = [...told.matchAll(/^ {2}storeroom (.*?)(?: {2}.*)?$/gm)].map(([, command]) => command!);
    assert.equal(commands.length, 3, told);
    for (const command of commands) {
      const { code, stderr } = await runCommand(service.place, command.split(' '));
      assert.match(`${code} ${stderr}`, /^0 Store: [^\n]+\n$/, command);
    }
    await service.stop();
    await service.restart();
    assert.doesNotMatch(service.output.slice(told.length), /no tenant/);
  });

  test('links of commands have the served address, not one of other settings or an earlier start', async () => {
    assert.notEqual(service.origin, origin);
    await service.makeTenant('links');
    const linkOf = async (command: string, env: Record<string, string> = {}): Promise<string> => {
      const { code, stdout, json } = await runCommand(service.place, [...command.split(' '), '--json'], { env });
      assert.equal(code, 0, stdout);
      return new URL((json() as { link: string }).link).origin;
    };
    const create = 'user create links ann@example.com --role owner';
    assert.equal(await linkOf(create, { STOREROOM_PORT: '8080' }), service.origin);
    const publicUrl = 'https://pims.example.com';
    assert.equal(await linkOf('user link links ann@example.com', { STOREROOM_PUBLIC_URL: publicUrl }), publicUrl);
  });
});

suite('a store that was moved away', () => {
  const told = async (place: string, words: readonly string[], env: Record<string, string>): Promise<string> => {
    const { code, stdout, stderr } = await runCommand(place, words, { env: { STOREROOM_DEMO: 'off', ...env } });
    assert.equal(`${code} ${stdout}`, '1 ');
    assert.match(stderr, /^storeroom: [^\n]+\n$/);
    return stderr;
  };
  const serve = ['serve', '--port', '0'];
  const create = ['tenant', 'create', 'acme'];

  test('is not replaced by an empty one if STOREROOM_CREATE is off, except with --create', async () => {
    const place = await newPlace();
    const env = { STOREROOM_CREATE: 'off' };
    for (const words of [serve, create])
      assert.match(await told(place, words, env), /There is no data in .*tenant create --create/);
    if (STORE === 'sqlite') assert.deepEqual(readdirSync(place), []);
    assert.equal((await runCommand(place, [...create, '--create'], { env })).code, 0);
    const service = await ownService({ place, env });
    await service.stop();
  });

  if (STORE === 'sqlite')
    test('is not replaced by an empty one beside its backups, which stay', async () => {
      const backups = temporaryFolder();
      const env = { STOREROOM_BACKUP_DIR: backups };
      // Without the setting, so that the service does not also make a backup.
      const service = await ownService();
      await service.makeTenant('acme');
      assert.equal((await service.commandWith(env, 'backup', '--scheduled-now')).code, 0);
      await service.stop();
      const kept = readdirSync(backups);
      const [backup] = kept;
      const place = temporaryFolder();
      for (const words of [serve, create])
        assert.match(await told(place, words, env), /There is no data in .* move it back, or run `storeroom restore`/);
      assert.deepEqual([readdirSync(place), readdirSync(backups)], [[], kept]);
      assert.equal((await runCommand(place, ['restore', join(backups, backup!)])).code, 0);
      const restored = await ownService({ place, env });
      assert.equal((await restored.command('tenant', 'list', '--json')).json().tenants.length, 1);
      await restored.stop();
      const fresh = await ownService({ env: { ...env, STOREROOM_CREATE: 'always' } });
      assert.equal((await fresh.command('tenant', 'list', '--json')).json().tenants.length, 0);
    });
});

suite('an address that others reach without TLS', () => {
  test('causes one warning at the start, with what to do', async () => {
    const service = await ownService({ env: { STOREROOM_HOST: '0.0.0.0' } });
    await service.said((output) => output.includes('without TLS'));
    assert.equal(service.output.match(/without TLS/g)?.length, 1);
    assert.match(service.output, /"level":40.*STOREROOM_PUBLIC_URL.*STOREROOM_TRUSTED_PROXIES.*127\.0\.0\.1/);
  });

  const HOSTS = { '0.0.0.0': true, '::': true, '10.0.0.1': true, 'box.local': true };
  const LOOPBACKS = { '127.0.0.1': false, '127.1.2.3': false, '::1': false, localhost: false };
  test('is not one that only this machine reaches, nor one behind a proxy with TLS', () => {
    for (const [host, isOpen] of Object.entries({ ...HOSTS, ...LOOPBACKS })) {
      const isWarned = (publicUrl: string, ...trustedProxies: string[]): boolean =>
        describeExposure({ host, publicUrl, trustedProxies }) !== undefined;
      assert.equal(isWarned(''), isOpen, host);
      assert.equal(isWarned('http://pims.example.com'), isOpen, host);
      assert.equal(isWarned('https://pims.example.com'), false, host);
      assert.equal(isWarned('', '10.0.0.0/8'), false, host);
    }
  });
});

suite('a store of a newer version, or from before the first release', () => {
  /** Gives the schemas of a store this number, by SQL. */
  async function renumber(place: string, schema: 'control' | 'pims', number: number): Promise<void> {
    const version = '99.1.0';
    if (STORE === 'postgres') {
      const [table, set] = schema === 'control' ? ['SCHEMA', 'VERSION'] : ['TENANTS', 'SCHEMA_VERSION'];
      await runStatement(place, `UPDATE storeroom."${table}" SET "${set}" = ${number}`);
      await runStatement(place, `UPDATE storeroom."INSTALLATION" SET "VALUE" = '${version}' WHERE "NAME" = 'version'`);
      return;
    }
    const tenants = join(place, 'tenants');
    const file = schema === 'control' ? join(place, 'control.db') : join(tenants, readdirSync(tenants)[0]!);
    using control = new DatabaseSync(join(place, 'control.db'));
    control.prepare(`UPDATE INSTALLATION SET VALUE = ? WHERE NAME = 'version'`).run(version);
    using db = new DatabaseSync(file);
    db.exec(`PRAGMA user_version=${number}`);
  }

  let place: string;
  before(async () => {
    const service = await Service.start();
    place = service.place;
    await createOrder(service, await service.makeTenant('acme'));
    await service.stop();
  });

  const SAYS = {
    999: /newer version of Storeroom \(schema 999; .*\)\. Install Storeroom 99\.1\.0 or newer, or restore a backup/,
    1: /Storeroom before its first release \(schema 1; .*\)\. Export its records with the version .* import them into/,
  };
  // The tenant's file is first, because a command that cannot use the control file looks no further.
  for (const [schema, number] of [
    ['pims', 999],
    ['pims', 1],
    ['control', 999],
    ['control', 1],
  ] as const)
    test(`is refused in one line with what to do (${schema}, ${number})`, async () => {
      await renumber(place, schema, number);
      const says = SAYS[number];
      // The embedded store opens a tenant's file only when the tenant is used.
      const commands = schema === 'pims' && STORE === 'sqlite' ? [] : ['tenant list', 'serve --port 0'];
      for (const command of ['export acme orders', ...commands]) {
        const { code, stdout, stderr } = await runCommand(place, command.split(' '));
        assert.equal(`${code} ${stdout}`, '1 ', command);
        assert.match(stderr, /^(Store: [^\n]+\n)?storeroom: [^\n]+\n$/);
        assert.match(stderr, says);
      }
    });
});
