/**
 * Tests `storeroom move` as an operator sees it: everything is moved, a killed and repeated move ends like an
 * undisturbed one, and a move that is not allowed is refused and changes nothing. STOREROOM_TEST_MOVE_ORDERS sets the
 * number of orders in the killed moves.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { before as prepare, suite, test } from 'node:test';
import { openStore, type Store } from '../../src/store/open-store.ts';
import type { SqliteStore } from '../../src/store/sqlite/store.ts';
import { TURNS } from '../kit/caller.ts';
import { times } from '../kit/lists.ts';
import { newDatabase, runStatement } from '../kit/postgres.ts';
import { PROGRAM } from '../kit/program.ts';
import type { Values } from '../kit/records.ts';
import { IS_THOROUGH, trials } from '../kit/trials.ts';
import { placeVariables, runCommand, temporaryFolder, type CommandResult } from '../kit/service.ts';
import { bytes, newSession, plain, readChain } from '../store/people.ts';
import { accepted, entry, NOW, Pims } from '../store/store-under-test.ts';
import { addressOf, countRows, move, moveAll, newFolder, type Report } from './moving.ts';
import { ODD } from './odd-shop.ts';
import { passing } from '../kit/clock.ts';
import { until } from '../kit/wait.ts';

const ORDERS = trials('MOVE_ORDERS', { quick: 400, all: 3000 });
const KILLS = trials('KILLS', { quick: 1, all: 5 });

async function messageOf(running: Promise<CommandResult>): Promise<string> {
  const { code, stdout, stderr } = await running;
  assert.equal(code, 1, stdout + stderr);
  assert.equal(stdout, '');
  return (JSON.parse(stderr) as { error: { message: string } }).error.message;
}

const refuses = async (running: Promise<CommandResult>, says: RegExp): Promise<void> =>
  assert.match(await messageOf(running), says);
/** Runs a command at a place with --json. */
const runOn = (place: string, ...words: string[]): Promise<CommandResult> => runCommand(place, [...words, '--json']);

/** Begins a move and kills it once `isSoFar` returns true. Returns false if the move ended before. */
async function killMove(from: string, to: string, isSoFar: () => boolean | Promise<boolean>): Promise<boolean> {
  const [program, ...before] = PROGRAM;
  const child = spawn(program, [...before, 'move', '--to', addressOf(to)], {
    env: { ...process.env, ...placeVariables(from) },
    stdio: 'ignore',
  });
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const hasEnded = (): boolean => child.exitCode !== null;
  await until(async () => hasEnded() || (await isSoFar()));
  child.kill('SIGKILL');
  const [code] = await ended;
  assert.ok(code === null || code === 0, `the move ended with ${code}`);
  return code === null;
}

/** Returns whether the first orders are in a database. */
const hasOrders = async (url: string): Promise<boolean> => (await sizeOf(url)) > 0;

/** Returns the size of a database in orders and lines, or of a folder in bytes. */
async function sizeOf(place: string): Promise<number> {
  if (!place.startsWith('postgres'))
    return globSync('**', { cwd: place })
      .map((path) => statSync(join(place, path), { throwIfNoEntry: false })?.size ?? 0)
      .reduce((sum, size) => sum + size, 0);
  const schema = await findSchema(place);
  if (schema === undefined) return 0;
  const count = (table: string): string => `(SELECT count(*) FROM "${schema}"."${table}")`;
  return Number((await runStatement(place, `SELECT ${count('ORDERS')} + ${count('ORDER_LINEITEMS')} AS n`))[0]!['n']);
}

/** Finds the schema of the only tenant in a database. */
async function findSchema(url: string): Promise<string | undefined> {
  const [schema] = await runStatement(url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'pims%'");
  return schema?.['nspname'] as string | undefined;
}

/** Returns whether the first key is in a folder. */
function hasKey(folder: string): boolean {
  try {
    using control = new DatabaseSync(join(folder, 'control.db'), { readOnly: true });
    return control.prepare('SELECT 1 FROM API_KEYS').get() !== undefined;
  } catch {
    return false; // The file does not exist yet, or is just being made.
  }
}

/** Returns a target whose move was killed after it had begun. */
async function moveHalf(
  from: string,
  makeTarget: () => Promise<string>,
  hasBegun: (target: string) => boolean | Promise<boolean>,
): Promise<string> {
  for (;;) {
    const target = await makeTarget();
    if (await killMove(from, target, () => hasBegun(target))) return target;
  }
}

/** Calls `work` with the store at a place, opened as by a command, or under another name. */
async function withStore<T>(place: string, work: (store: Store) => Promise<T>, name = 'storeroom command'): Promise<T> {
  const databaseUrl = place.startsWith('postgres') ? place : '';
  const bounds = { ...TURNS, databaseConnections: 1, queryBudgetMs: 2000, queryThreads: 1, openTenantsMax: 0 };
  const settings = { ...bounds, data: place, databaseUrl };
  const store = await openStore(settings, { name, busyTimeoutMs: 5000, onFatal: assert.ifError, clock: passing });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Returns what a search by index finds in the tenant `big`. */
const search = (place: string): Promise<Values[]> =>
  withStore(place, async (store) => {
    const pims = new Pims(store.pims((await store.tenants.findTenant('big'))!));
    const { records } = await pims.ask('orders', [{ field: 'BNAME', value: 'SÖHNE 1', contains: true }]);
    assert.ok(records.some(({ BNAME }) => BNAME === 'Müller & Söhne 10'));
    return records;
  });

test('people, second factors, keys with calls and the audit log are moved; people sign in again', async () => {
  const [folder, back] = [temporaryFolder(), await newFolder()];
  const database = await newDatabase();
  const name = { teamId: 'acme', email: 'ann@example.com' };
  const ann = { ...name, role: 'owner', createdAt: NOW, linkHash: bytes(1), linkEndsAt: NOW } as const;
  const bob = { ...ann, email: 'bob@example.com', role: 'viewer', linkHash: bytes(2), linkEndsAt: NOW } as const;
  const detail = Object.fromEntries(ODD.map((text, index) => [text, `${index}`]));
  const session = newSession(name);
  await withStore(folder, async ({ tenants, usage, users, sessions }) => {
    accepted(await tenants.createTenant('acme', 'Acme', NOW));
    accepted(await users.createUser(ann, entry()));
    accepted(await users.createUser(bob, entry({ detail })));
    const set = { passwordHash: '$argon2id$…', passwordSetAt: NOW, sealedSecret: bytes(3), lastStep: 59_000_000 };
    const change = { set: { ...set, linkHash: null, linkEndsAt: '' }, recoveryHashes: [bytes(4), bytes(5)] };
    accepted(await users.updateUser(name, change, entry()));
    await tenants.replaceKeys('acme', { apiId: 'id', secretHash: bytes(6) }, NOW, entry());
    const reader = { apiId: 'reader', secretHash: bytes(7), name: 'reports', scope: 'read' } as const;
    accepted(await tenants.createKeys('acme', reader, '2030-01-01T00:00:00.000Z', entry()));
    const byKey = { teamId: 'acme', month: '2026-11', apiId: 'reader', name: 'reports', calls: 7, usedAt: NOW };
    await usage.addUsage([{ teamId: 'acme', day: '2026-11-20', operation: 'getOrder', calls: 7 }], [byKey]);
    await sessions.openSession(session, entry());
  });
  const read = (place: string): Promise<unknown[]> =>
    withStore(place, async ({ tenants, usage, users, audit }) => {
      const people = (await users.listUsers('acme')).map(plain);
      const codes = await users.countRecoveryCodes(name);
      const keys = [await tenants.listKeys('acme', NOW), await usage.loadUsage('acme', '2026-11')];
      return [people, codes, keys, await readChain(audit, 'acme')];
    });
  const there = await read(folder);
  assert.equal((there[3] as unknown[]).length, 6);
  const { tables } = await moveAll(folder, database);
  const rows = countRows(tables);
  assert.deepEqual(rows, { ...rows, USERS: 2, RECOVERY_CODES: 2, AUDIT: 6, AUDIT_HEADS: 1, API_KEYS: 2, KEY_USAGE: 1 });
  assert.deepEqual(await read(database), there);
  assert.equal(await withStore(database, ({ sessions }) => sessions.findSession(session.tokenHash)), undefined);
  await withStore(database, ({ audit }) => audit.appendAudit('acme', entry({ target: 'after the move' })));
  const later = await read(database);
  await moveAll(database, back);
  assert.deepEqual(await read(back), later);
  assert.ok(await withStore(back, ({ users }) => users.useRecoveryCode(name, bytes(5))));
});

suite('a move', () => {
  let folder: string;
  let database: string;
  let whole: Report;
  let found: Values[];
  prepare(async () => {
    folder = temporaryFolder();
    await withStore(folder, async (store) => {
      const pims = new Pims(store.pims(accepted(await store.tenants.createTenant('big', 'Big', NOW))));
      const text = (index: number): string => ODD[index % ODD.length]!;
      const order = (index: number): Values => {
        return { ORDER_NUMBER: `${index}`, BNAME: `${text(index)} ${index}`, REFERENCE_NUMBER: `#${index}` };
      };
      const line = (index: number): Values => {
        return { ORDER_NUMBER: `${index % ORDERS}`, DESCRIPTION: text(index), QUANTITY: '1' };
      };
      await store.tenants.replaceKeys('big', { apiId: 'id', secretHash: bytes(6) }, NOW, entry());
      await pims.importAll('orders', times(ORDERS, order));
      await pims.importAll('lines', times(ORDERS * 3, line));
    });
    found = await search(folder);
    database = await newDatabase();
    whole = await moveAll(folder, database);
  });

  const directions: [string, () => [from: string, makeTarget: () => Promise<string>]][] = [
    ['into PostgreSQL', () => [folder, newDatabase]],
    ['into a folder', () => [database, newFolder]],
  ];
  // Both directions use the same code, so `npm test` kills moves in one of them.
  for (const [direction, choose] of IS_THOROUGH ? directions : directions.slice(0, 1))
    test(`${direction}, killed ${KILLS} times, ends whole, and the target is closed until then`, async (context) => {
      const [from, makeTarget] = choose();
      let target = await makeTarget();
      for (let kills = 0; kills < KILLS;) {
        const all = await sizeOf(target.startsWith('postgres') ? database : folder);
        const size = Math.min(1, Math.random() * 1.2) * all; // also after everything has arrived, while it is compared
        if (!(await killMove(from, target, async () => (await sizeOf(target)) >= size))) {
          target = await makeTarget();
          continue;
        }
        const opened = await runOn(target, 'tenant', 'list');
        // The move was killed before it began, so the target does not even have its mark.
        if (/There is no data in/.test(opened.stderr)) continue;
        if (opened.code === 0) {
          // A move into a database was killed before it began, or the move was killed after its end. Try again.
          if ((opened.json() as { tenants: unknown[] }).tenants.length > 0) target = await makeTarget();
          continue;
        }
        assert.match(opened.stderr, /A move into .* is unfinished/);
        kills++;
      }
      const { tables, seconds } = await moveAll(from, target);
      context.diagnostic(`${ORDERS} orders: ${whole.seconds} s at once, the last of this one ${seconds} s`);
      assert.deepEqual(tables, whole.tables);
      assert.deepEqual(await search(target), found);
    });

  test('names the table if a row of the target differs from its source, and keeps the target closed', async () => {
    const target = await moveHalf(folder, newDatabase, hasOrders);
    // The move starts again, and the trigger changes each key that it inserts.
    const change = `BEGIN NEW."NAME" = 'other'; RETURN NEW; END`;
    const trigger = 'BEFORE INSERT ON storeroom."API_KEYS" FOR EACH ROW EXECUTE FUNCTION storeroom.change()';
    await runStatement(
      target,
      `CREATE FUNCTION storeroom.change() RETURNS trigger LANGUAGE plpgsql AS $$ ${change} $$; CREATE TRIGGER changed ${trigger}`,
    );
    const differs = /^API_KEYS differs: 1 rows .* in the source, 1 rows .* in the target/;
    await refuses(move(folder, target), differs);
    await refuses(runOn(target, 'tenant', 'list'), /A move into this database is unfinished/);
    await refuses(runOn(target, 'serve'), /A move into this database is unfinished/);
    const { code, stdout, stderr } = await runOn(target, 'check');
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /A move into this database is unfinished/);
  });

  test('notices a changed row in a folder, which no program can open before', async () => {
    const target = await moveHalf(database, newFolder, hasKey);
    for (const words of [['tenant', 'list'], ['serve'], ['backup', join(temporaryFolder(), 'backup')]])
      await refuses(runOn(target, ...words), /A move into .* is unfinished. Run the same `storeroom move` again/);
    const control = new DatabaseSync(join(target, 'control.db'));
    const change = "UPDATE API_KEYS SET ENDS_AT = '2026-01-01T00:00:00.000Z'";
    control.exec(`CREATE TRIGGER CHANGED AFTER INSERT ON API_KEYS BEGIN ${change}; END`);
    control.close();
    await refuses(move(database, target), /^API_KEYS differs: 1 rows .* in the source, 1 rows/);
  });

  test('needs an empty store, or starts an unfinished move again, from any source', async () => {
    const other = temporaryFolder();
    await runCommand(other, ['tenant', 'create', 'other', '--name', 'Other', '--create']);
    for (const [from, to] of [
      [other, folder],
      [other, database],
      [folder, database],
    ] as const) {
      const there = (await runCommand(to, ['tenant', 'list'])).stdout;
      await refuses(move(from, to), /^There are tenants in .* already\. Move into an empty store/);
      assert.equal((await runCommand(to, ['tenant', 'list'])).stdout, there);
    }
    const begun = await moveHalf(folder, newDatabase, hasOrders);
    await refuses(move(begun, temporaryFolder()), /^A move into .* is unfinished/);
    // The first source had rows that name no tenant, and rows of a removed one.
    const left = [`"UNKNOWN_NAMES" VALUES (1, '\\x00', 1, '')`, `"KEY_USES" VALUES ('gone', 'sr_id_1', '', '', '')`];
    for (const row of left) await runStatement(begun, `INSERT INTO storeroom.${row}`);
    const { tables } = await moveAll(other, begun);
    assert.deepEqual(new Set(tables.map(({ team }) => team)), new Set([null, 'other']));
    const half = await moveHalf(database, newFolder, hasKey);
    for (const [file, sql] of [
      ['control.db', "INSERT INTO UNKNOWN_NAMES VALUES (1, x'00', 1, '')"],
      ['usage.db', "INSERT INTO MONTH_USAGE VALUES ('gone', '2026-01', '', '', 1, '')"],
    ] as const) {
      const db = new DatabaseSync(join(half, file));
      db.exec(sql);
      db.close();
    }
    await moveAll(database, half);
    assert.deepEqual(
      (await runCommand(begun, ['tenant', 'list'])).stdout,
      (await runCommand(other, ['tenant', 'list'])).stdout,
    );
  });

  test('does not wait: it is refused while a service uses one of the two stores', async () => {
    await withStore(folder, async (store) => {
      (store as SqliteStore).lock(); // as a service does
      await refuses(move(folder, await newDatabase()), /^Another service, move or restore is using/);
    });
    const isRunning = /^A service or a command is running on .*storeroom serve/;
    const target = await newDatabase();
    for (const [from, to, used] of [
      [database, await newFolder(), database],
      [folder, target, target],
    ] as const)
      await withStore(
        used,
        async (store) => {
          const [tenant] = await store.tenants.listTenants();
          const ended = new AbortController();
          // A caller that waits for changes makes the service listen to the database, which takes a lock in it.
          const waiting = tenant && store.nextChange(tenant, ended.signal);
          const locks = `SELECT 1 FROM pg_locks JOIN pg_database d ON d.oid = database
            WHERE datname = current_database() AND locktype = 'advisory' AND mode = 'ShareLock'`;
          await until(async () => !tenant || (await runStatement(used, locks)).length > 0);
          await refuses(move(from, to), isRunning);
          ended.abort();
          await waiting;
        },
        'storeroom serve',
      );
  });

  test('without a source or a target is refused, and no password is shown', async () => {
    const nowhere = join(temporaryFolder(), 'none');
    await refuses(move(nowhere, temporaryFolder()), /^There is no data in/);
    await refuses(move(await newDatabase(), temporaryFolder()), /^There is no data in the database/);
    await refuses(move(folder, folder), /^The source and the target are both /);
    const wrong = ['mysql://u:hidden@h/d', 'postgres://u:hidden@h:99999999/d', 'sqlite:', folder];
    for (const to of wrong) {
      const { code, stdout, stderr } = await runCommand(folder, ['move', '--to', to]);
      assert.equal(code, 2, stderr);
      assert.doesNotMatch(stdout + stderr, /hidden/);
    }
    assert.equal((await runCommand(folder, ['move'])).code, 2);
    const unreachable = await runCommand(folder, ['move', '--to', 'postgres://u:hidden@127.0.0.1:1/d']);
    assert.equal(unreachable.code, 1);
    assert.match(unreachable.stderr, /postgres:\/\/u:…@127\.0\.0\.1:1\/d cannot be used/);
    assert.doesNotMatch(unreachable.stderr, /hidden/);
  });
});
