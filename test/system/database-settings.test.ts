/**
 * Tests that a database that could lose acknowledged writes is refused at the start, with the name of the setting and
 * without the password of the address.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { PostgresServer, runStatement } from '../kit/postgres.ts';
import { join } from 'node:path';
import { runProcess } from '../kit/commands.ts';
import { placeVariables, runCommand, temporaryFolder } from '../kit/service.ts';

let server: PostgresServer;
let url: string;
let ownUrl: string;
const PASSWORD = 'correct-horse-battery';
before(async () => {
  server = await PostgresServer.start();
  url = await server.newDatabase();
  await runStatement(url, `CREATE ROLE shop SUPERUSER LOGIN PASSWORD '${PASSWORD}'`);
  const own = new URL(url);
  own.username = 'shop';
  own.password = PASSWORD;
  ownUrl = own.href;
});
after(() => server?.remove());

/**
 * Checks that opening a store at this address fails with one sentence that says what is wrong. A command opens it here,
 * as a node does.
 */
async function expectRefusal(address: string, says: RegExp, command = 'tenant list'): Promise<void> {
  const { code, stdout, stderr } = await runCommand(address, command.split(' '));
  assert.equal(`${code} ${stdout}`, '1 ', 'it has started');
  assert.match(stderr, /^storeroom: [^\n]+\n$/);
  assert.match(stderr, says);
  assert.ok(!stderr.includes(PASSWORD), 'the password is shown');
}

/** Changes a setting of the server, a database or a role. For the server, waits until the change applies. */
async function alter(what: string, setting: string, change: 'off' | 'reset'): Promise<void> {
  await runStatement(url, `ALTER ${what} ${change === 'off' ? `SET ${setting} = off` : `RESET ${setting}`}`);
  if (what !== 'SYSTEM') return;
  await runStatement(url, 'SELECT pg_reload_conf()');
  while ((await runStatement(url, `SHOW ${setting}`))[0]![setting] === (change === 'off' ? 'on' : 'off'));
}

const databaseName = (): string => new URL(url).pathname.slice(1);
const WAYS: [setting: string, where: string, altered: () => string][] = [
  ['fsync', 'of the server', () => 'SYSTEM'],
  ['full_page_writes', 'of the server itself', () => 'SYSTEM'],
  ['synchronous_commit', 'of the whole server', () => 'SYSTEM'],
  ['synchronous_commit', 'of the database', () => `DATABASE ${databaseName()}`],
  ['synchronous_commit', 'of the role', () => 'ROLE shop'],
  ['synchronous_commit', 'of the role in the database', () => `ROLE shop IN DATABASE ${databaseName()}`],
];

for (const [setting, where, altered] of WAYS)
  test(`${setting}=off ${where} is refused`, async () => {
    await alter(altered(), setting, 'off');
    try {
      await expectRefusal(ownUrl, new RegExp(`\\b${setting}\\b`));
    } finally {
      await alter(altered(), setting, 'reset');
    }
  });

test('synchronous_commit=off in the address itself is refused, to a service too', async () => {
  const address = new URL(ownUrl);
  address.searchParams.set('options', '-c synchronous_commit=off');
  for (const command of ['tenant list', 'serve --port 0'])
    await expectRefusal(address.href, /\bsynchronous_commit\b/, command);
});

test('a wrong password and a missing database or server are reported in one sentence', async () => {
  const [wrong, nowhere, gone] = [new URL(ownUrl), new URL(ownUrl), new URL(ownUrl)];
  wrong.password = `${PASSWORD}s`;
  nowhere.pathname = '/nowhere';
  gone.port = '1';
  await expectRefusal(wrong.href, /password/);
  await expectRefusal(nowhere.href, /nowhere/);
  await expectRefusal(gone.href, /ECONNREFUSED/);
});

test('only `serve` or --create makes a store in an empty database, and messages hide the password', async () => {
  const name = 'empty';
  await runStatement(url, `CREATE DATABASE ${name}`);
  const address = new URL(ownUrl);
  address.pathname = name;
  const create = 'tenant create acme';
  for (const command of ['tenant list', create])
    await expectRefusal(address.href, /There is no data in the database of STOREROOM_DATABASE_URL.*--create/, command);
  const { code, stderr } = await runCommand(address.href, [...create.split(' '), '--create']);
  assert.equal(code, 0, stderr);
  assert.equal(stderr, `Store: ${address.href.replace(PASSWORD, '…')} (PostgreSQL)\n`);
});

suite('a command ends by itself, with one sentence,', () => {
  const FOREIGN = 'CREATE SCHEMA storeroom; CREATE TABLE storeroom.orders (id int)';
  const SECRET = `CREATE SCHEMA storeroom; CREATE TABLE storeroom."SCHEMA" ("VERSION" int);
    CREATE ROLE guest LOGIN PASSWORD '${PASSWORD}'`;
  const KINDS: [name: string, what: string, made: string][] = [
    ['unused', 'that Storeroom has never used', 'SELECT 1'],
    ['others', 'whose schema `storeroom` is of another program', FOREIGN],
    ['secret', 'whose tables its role may not read', SECRET],
  ];
  for (const [name, what, made] of KINDS)
    test(`on a database ${what}`, async () => {
      await runStatement(url, `CREATE DATABASE ${name}`);
      const address = new URL(ownUrl);
      address.pathname = name;
      await runStatement(address.href, made);
      if (name === 'secret') address.username = 'guest';
      for (const command of ['tenant list', `move --to sqlite:${join(temporaryFolder(), 'moved')}`])
        await expectRefusal(address.href, /There is no data in|cannot be used: permission denied/, command);
      // The process that other commands share would hide a connection that stays open.
      const env = { ...process.env, ...placeVariables(address.href) };
      const { exitCode, err } = await runProcess({ words: ['check'], env });
      assert.equal(exitCode, 2);
      assert.match(err, /^Store: [^\n]+\nstoreroom: [^\n]+\n$/);
    });
});
