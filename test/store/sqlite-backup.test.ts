/** Tests backup and restore of the embedded store: a backup has one complete state, also while writes continue. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import { passing } from '../kit/clock.ts';
import { backupStore, restoreBackup } from '../../src/store/sqlite/backup/backup.ts';
import { CHANGED_TYPES, listChanges } from '../../src/pims/changes.ts';
import { makeScheduledBackups } from '../../src/store/sqlite/backup/scheduled-backups.ts';
import type { SqliteStore } from '../../src/store/sqlite/store.ts';
import type { Tenant } from '../../src/tenant/tenant-port.ts';
import { times } from '../kit/lists.ts';
import { assertRefusedBy } from './refused-by.ts';
import { newFolder, openFolder } from './sqlite-folder.ts';
import { NOW, accepted, assertRefused, entry, write, Pims } from './store-under-test.ts';

const DAY = { teamId: 'team', day: '2026-11-20', operation: 'getOrder', calls: 7 };

const READER = { apiId: 'reader', secretHash: new Uint8Array(32).fill(2), name: 'reports', scope: 'read' } as const;

type BackUp = (target: string) => Promise<string[]>;

/** Makes a store with a tenant, its keys, its usage and some records. */
async function makeStore(folder = newFolder()): Promise<{ store: SqliteStore; tenant: Tenant; backUp: BackUp }> {
  const store = openFolder(folder);
  const tenant = accepted(await store.tenants.createTenant('team', 'A tenant', NOW));
  await store.tenants.replaceKeys('team', { apiId: 'id', secretHash: new Uint8Array(32).fill(1) }, NOW, entry());
  const byKey = { teamId: 'team', month: '2026-11', apiId: 'id', name: 'default', calls: 7, usedAt: NOW };
  await store.usage.addUsage([DAY], [byKey]);
  accepted(await store.tenants.createKeys('team', READER, '', entry()));
  const pims = new Pims(store.pims(tenant));
  accepted(await pims.addField({ recordType: 'orders', name: 'COLOUR', type: 'text' }));
  const order = await pims.createOrder({ COLOUR: 'red' });
  accepted(
    await pims.addLine(
      order,
      { QUANTITY: '1' },
      write({ idempotency: { key: 'k', operation: 'addLineItem', bodyHash: 'h', keptMs: 1000 } }),
    ),
  );
  return { store, tenant, backUp: async (target) => (await backupStore(folder, target, NOW)).files };
}

suite('backup', () => {
  test('contains everything: records, fields, keys, usage, counters and idempotency keys', async () => {
    const [backup, restored] = [newFolder(), newFolder()];
    const { store, tenant, backUp } = await makeStore();
    const files = await backUp(backup);
    const expected = await new Pims(store.pims(tenant)).readEverything();
    await store.close();
    assert.deepEqual(restoreBackup(backup, restored), files);
    const copy = openFolder(restored);
    assert.deepEqual(await copy.tenants.listTenants(), [tenant]);
    assert.ok(await copy.tenants.findCaller('team', 'id', NOW));
    const { total, byKey } = await copy.usage.loadUsage('team', '2026-11');
    assert.deepEqual([total, byKey], [7, [{ apiId: 'id', name: 'default', calls: 7 }]]);
    const reader = await copy.tenants.findCaller('team', READER.apiId, NOW);
    assert.deepEqual(reader!.key, { apiId: READER.apiId, name: 'reports', scope: 'read' });
    const pims = new Pims(copy.pims(tenant));
    assert.deepEqual(await pims.readEverything(), expected);
    assert.equal(expected.orders[0]!['COLOUR'], 'red');
    const repeated = await pims.addLine(
      '10001',
      { QUANTITY: '1' },
      write({ idempotency: { key: 'k', operation: 'addLineItem', bodyHash: 'h', keptMs: 1000 } }),
    );
    assert.equal(accepted(repeated).replayed, true);
    assert.equal(await pims.createOrder(), '10002');
    await copy.close();
  });

  // Holds S11.5, S11.7.
  test('restores the tags of its responses, and never one that has identified another response since', async () => {
    const [folder, backup, restored] = [newFolder(), newFolder(), newFolder()];
    const { store, tenant, backUp } = await makeStore(folder);
    const live = new Pims(store.pims(tenant));
    const [kept, changed] = [await live.createCustomer(), await live.createCustomer()];
    const tagOf = async (pims: Pims, code: string): Promise<string> =>
      (await pims.port.getRecord('customers', code))!.tag;
    const tags = [await tagOf(live, kept), await tagOf(live, changed)];
    await backUp(backup);
    const note = (pims: Pims, NOTES: string): Promise<unknown> => pims.updateCustomer(changed, { NOTES });
    await note(live, 'live');
    const later = await tagOf(live, changed);
    await store.close();
    restoreBackup(backup, restored);
    const copy = openFolder(restored);
    const pims = new Pims(copy.pims(tenant));
    assert.deepEqual([await tagOf(pims, kept), await tagOf(pims, changed)], tags);
    await note(pims, 'restored');
    assert.ok(![...tags, later].includes(await tagOf(pims, changed)));
    await copy.close();
  });

  test('of a store that is being written ends, and has all writes up to one moment', { timeout: 30_000 }, async () => {
    const backup = newFolder();
    const { store, tenant, backUp } = await makeStore();
    const pims = new Pims(store.pims(tenant));
    const note = 'x'.repeat(8000);
    const orders = times(5000, () => ({ NOTES: note }));
    await pims.importAll('orders', orders);
    const written: string[] = [];
    const over = new AbortController();
    const repeat = async (work: () => Promise<unknown>): Promise<void> => {
      while (!over.signal.aborted) await work();
    };
    const writing = [
      repeat(async () => written.push(await pims.createCustomer({}))),
      repeat(() => store.usage.addUsage([DAY])),
    ];
    while (written.length < 20) await new Promise((resolve) => setImmediate(resolve));
    const before = written.length;
    await backUp(backup);
    const after = written.length;
    over.abort();
    await Promise.all(writing);
    await store.close();
    assert.ok(after > before, 'writes continued meanwhile');

    const restored = newFolder();
    restoreBackup(backup, restored);
    const copy = openFolder(restored);
    const copied = new Pims(copy.pims(tenant));
    const codes = (await copied.readAll('customers')).map((customer) => customer['CUSTOMER_CODE']!);
    assert.deepEqual(codes, written.slice(0, codes.length));
    assert.ok(
      codes.length >= before && codes.length <= after + 1,
      `${codes.length} customers, of ${before} before and ${after} after`,
    );
    assert.equal((await copied.readAll('orders')).length, 5001);
    assert.equal(await copied.createCustomer({}), String(10001 + codes.length), 'the counter is of the same moment');
    await copy.close();
  });

  // Holds S6.27.
  test('restarts the feed of a tenant or of the whole store: readers get an error for their position', async () => {
    const [backup, whole] = [newFolder(), newFolder()];
    const { store, tenant, backUp } = await makeStore();
    const pims = new Pims(store.pims(tenant));
    // The writes of `makeStore` are not in the feed, but imports are.
    await pims.importAll('customers', [{ CUSTOMER_CODE: 'A' }]);
    await backUp(backup);
    await pims.importAll('customers', [{ CUSTOMER_CODE: 'B' }]);
    const known = await listChanges(pims.port, { types: CHANGED_TYPES, limit: 9, after: 0 });
    assert.equal(known.next, 2);
    restoreBackup(backup, whole);
    await store.restoreTenant(tenant, backup, entry());
    for (const restored of [store, openFolder(whole)]) {
      const own = new Pims(restored.pims((await restored.tenants.findTenant('team'))!));
      await own.importAll('customers', [{ CUSTOMER_CODE: 'C' }]);
      for (const after of [0, 1, known.next])
        await assertRefusedBy(listChanges(own.port, { types: CHANGED_TYPES, limit: 9, after }), 'CHANGES_GONE');
      await restored.close();
    }
  });

  test('assigns no number again that a tenant has assigned since the backup', async () => {
    const backup = newFolder();
    const { store, tenant, backUp } = await makeStore();
    await backUp(backup);
    assert.equal(await new Pims(store.pims(tenant)).createOrder(), '10002');
    await store.restoreTenant(tenant, backup, entry());
    const restored = (await store.tenants.findTenant('team'))!;
    assert.equal(await new Pims(store.pims(restored)).createOrder(), '10003');
    await store.close();
  });

  test('is written to an empty folder only', async () => {
    const { store, backUp } = await makeStore();
    const full = newFolder();
    mkdirSync(full);
    writeFileSync(join(full, 'mine.txt'), 'mine');
    const outcome = await backUp(full).catch((fault: unknown) => fault);
    assertRefused(outcome, 'COMMAND_REFUSED');
    assert.deepEqual(readdirSync(full), ['mine.txt']);
    await store.close();
  });

  test('has a tenant that was never called', async () => {
    const { store, backUp } = await makeStore();
    const never = accepted(await store.tenants.createTenant('never', 'Never called', NOW));
    const [backup, restored] = [newFolder(), newFolder()];
    assert.equal((await backUp(backup)).length, 4);
    await store.close();
    restoreBackup(backup, restored);
    const copy = openFolder(restored);
    assert.equal(await new Pims(copy.pims(never)).createOrder(), '10001');
    await copy.close();
  });
});

suite('restore', () => {
  function flipBit(bytes: Buffer): Buffer {
    bytes[bytes.length - 5]! ^= 1;
    return bytes;
  }

  function refused(source: string, folder: string, says = /./): void {
    let outcome: unknown;
    try {
      outcome = restoreBackup(source, folder);
    } catch (fault) {
      outcome = fault;
    }
    assertRefused(outcome, 'COMMAND_REFUSED');
    assert.match((outcome as Error).message, says);
  }

  test('refuses a damaged backup, and leaves the folder unchanged', async () => {
    const { store, backUp } = await makeStore();
    const backup = newFolder();
    const files = await backUp(backup);
    await store.close();
    const damages: Record<string, (file: string) => void> = {
      'cut in half': (file) => truncateSync(file, Math.floor(readFileSync(file).length / 2)),
      'cut to nothing': (file) => truncateSync(file, 0),
      'without its first bytes': (file) => writeFileSync(file, readFileSync(file).fill(0, 0, 100)),
      'with a page of noise': (file) => writeFileSync(file, readFileSync(file).fill(0xa5, 4096, 8192)),
      'with one bit changed': (file) => writeFileSync(file, flipBit(readFileSync(file))),
      missing: (file) => rmSync(file),
    };
    for (const file of files)
      for (const [how, damage] of Object.entries(damages)) {
        const damaged = newFolder();
        cpSync(backup, damaged, { recursive: true });
        damage(join(damaged, file));
        const folder = newFolder();
        try {
          refused(damaged, folder);
        } catch (fault) {
          throw new Error(`${file} ${how} was restored`, { cause: fault });
        }
        assert.ok(!existsSync(folder), `${file} ${how}`);
      }
  });

  /** Makes a store with each kind of file, and closes it. */
  async function makeWhole(): Promise<{ place: string; backup: string; files: string[] }> {
    const [place, backup] = [newFolder(), newFolder()];
    const { store, backUp } = await makeStore(place);
    await store.requests.addRequests([], [DAY], []);
    const files = await backUp(backup);
    await store.close();
    assert.equal(files.length, 4);
    return { place, backup, files };
  }

  /** Gives a file of a folder another schema. */
  function renumber(folder: string, name: string, version: number): void {
    const db = new DatabaseSync(join(folder, name));
    db.exec(`PRAGMA user_version=${version}`);
    db.close();
  }

  /** Makes an altered file of a backup the one that was written. */
  function rehash(backup: string, name: string): void {
    const place = join(backup, 'storeroom-backup.json');
    const manifest = JSON.parse(readFileSync(place, 'utf8')) as { files: Record<string, string> };
    manifest.files[name] = hash('sha256', readFileSync(join(backup, name)));
    writeFileSync(place, JSON.stringify(manifest));
  }

  test('refuses a backup with a file of an unknown schema, and leaves the folder unchanged', async () => {
    const { backup, files } = await makeWhole();
    for (const name of files)
      for (const version of [1, 999]) {
        const [altered, folder] = [newFolder(), newFolder()];
        cpSync(backup, altered, { recursive: true });
        renumber(altered, name, version);
        rehash(altered, name);
        refused(altered, folder, new RegExp(`${name} was written by .*\\(schema ${version};`));
        assert.ok(!existsSync(folder), `${name} ${version}`);
      }
  });

  test('a backup of a store with a file of an unknown schema is not complete, and lacks that file alone', async () => {
    const { place, files } = await makeWhole();
    for (const name of files) {
      const [old, backup] = [newFolder(), newFolder()];
      cpSync(place, old, { recursive: true });
      renumber(old, name, 999);
      const made = backupStore(old, backup, NOW);
      if (name === 'requests.db') {
        const { notes } = await made;
        assert.match(notes.join(), /^Not copied: .*requests\.db: its schema 999 is unknown to this version\.$/);
      } else {
        const says =
          name === 'control.db' ? /\(schema 999;/ : /is not a complete backup\. .*: its schema 999 is unknown/;
        await assert.rejects(made, says);
      }
      const copied = files.filter((file) => existsSync(join(backup, file)));
      assert.deepEqual(copied, name === 'control.db' ? [name] : files.filter((file) => file !== name));
    }
  });

  test('restores no tenant from a file of an unknown schema, and names that file', async () => {
    const { store, tenant, backUp } = await makeStore();
    const backup = newFolder();
    const files = await backUp(backup);
    const name = files.find((file) => file.startsWith('tenants'))!;
    renumber(backup, name, 999);
    rehash(backup, name);
    await assert.rejects(store.restoreTenant(tenant, backup, entry()), ({ message }: Error) =>
      message.startsWith(`${join(backup, name)} was written by a newer version`),
    );
    await store.close();
  });

  test('refuses a folder that is not a backup, and a target that is not empty', async () => {
    const { store, backUp } = await makeStore();
    const [backup, used] = [newFolder(), newFolder()];
    await backUp(backup);
    await store.close();
    refused(newFolder(), newFolder());
    mkdirSync(used);
    writeFileSync(join(used, 'mine.txt'), 'mine');
    refused(backup, used);
    refused(used, newFolder());
    assert.deepEqual(readdirSync(used), ['mine.txt']);
    const disk = newFolder();
    mkdirSync(join(disk, 'lost+found'), { recursive: true });
    assert.ok(restoreBackup(backup, disk).includes('control.db'));
  });
});

suite('backups that the service makes by itself', () => {
  const addBackup = (folder: string): void => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'storeroom-backup.json'), JSON.stringify({ files: {}, identity: 'own' }));
  };

  test('after a start the newest consistent one is the last good one; the newest of all sets the next time', async () => {
    const backupDir = newFolder();
    for (const name of ['2026-03-15T00-00-00Z', '2026-03-16T00-00-00Z', '2026-03-18T00-00-00Z-disagrees'])
      addBackup(join(backupDir, `storeroom-${name}`));
    const reported: string[] = [];
    const backups = makeScheduledBackups({
      clock: passing,
      folder: newFolder(),
      backupDir,
      backupHours: 24,
      backupKeep: 2,
      readyFreeMb: 1,
      identity: 'own',
      report: (event) => reported.push(event),
    }).startBackups();
    const { lastSuccessSeconds, failures } = backups.reading;
    await backups.close();
    assert.equal(new Date(lastSuccessSeconds * 1000).toISOString(), '2026-03-16T00:00:00.000Z');
    assert.equal(failures, 0);
    assert.deepEqual(reported, [`The next backup into ${backupDir} is due at 2026-03-19T00:00:00.000Z.`]);
  });
});
