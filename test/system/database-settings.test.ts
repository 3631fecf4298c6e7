/**
 * A database that could lose what was acknowledged is refused at the start, with the name of the setting and without
 * the password of the address.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PostgresServer, runStatement } from '../kit/postgres.ts';
import { runCommand } from '../kit/service.ts';

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
 * Whatever opens a store on this address ends with one sentence on what is wrong: here a command, which opens it as a
 * node does.
 */
async function expectRefusal(
  address: string,
  says: RegExp,
  words: readonly string[] = ['tenant', 'list'],
): Promise<void> {
  const { code, stdout, stderr } = await runCommand(address, words);
  assert.equal(`${code} ${stdout}`, '1 ', 'it has started');
  assert.match(stderr, /^storeroom: [^\n]+\n$/);
  assert.match(stderr, says);
  assert.ok(!stderr.includes(PASSWORD), 'the password is told');
}

const alterServer =
  (setting: string) =>
  async (change: 'off' | 'reset'): Promise<void> => {
    await runStatement(url, change === 'off' ? `ALTER SYSTEM SET ${setting} = off` : `ALTER SYSTEM RESET ${setting}`);
    await runStatement(url, 'SELECT pg_reload_conf()');
    while ((await runStatement(url, `SHOW ${setting}`))[0]![setting] === (change === 'off' ? 'on' : 'off'));
  };
const alter =
  (what: string) =>
  async (change: 'off' | 'reset'): Promise<void> =>
    void (await runStatement(
      url,
      `ALTER ${what} ${change === 'off' ? 'SET synchronous_commit = off' : 'RESET synchronous_commit'}`,
    ));

const WAYS: Record<string, { setting: string; turn: (change: 'off' | 'reset') => Promise<void> }> = {
  'of the server': { setting: 'fsync', turn: alterServer('fsync') },
  'of the server itself': { setting: 'full_page_writes', turn: alterServer('full_page_writes') },
  'of the whole server': { setting: 'synchronous_commit', turn: alterServer('synchronous_commit') },
  'of the database': {
    setting: 'synchronous_commit',
    turn: (change) => alter(`DATABASE ${new URL(url).pathname.slice(1)}`)(change),
  },
  'of the role': { setting: 'synchronous_commit', turn: alter('ROLE shop') },
  'of the role in the database': {
    setting: 'synchronous_commit',
    turn: (change) => alter(`ROLE shop IN DATABASE ${new URL(url).pathname.slice(1)}`)(change),
  },
};

for (const [where, { setting, turn }] of Object.entries(WAYS))
  test(`${setting}=off ${where} is refused`, async () => {
    await turn('off');
    try {
      await expectRefusal(ownUrl, new RegExp(`\\b${setting}\\b`));
    } finally {
      await turn('reset');
    }
  });

test('synchronous_commit=off in the address itself is refused, to a service too', async () => {
  const address = new URL(ownUrl);
  address.searchParams.set('options', '-c synchronous_commit=off');
  for (const words of [
    ['tenant', 'list'],
    ['serve', '--port', '0'],
  ])
    await expectRefusal(address.href, /\bsynchronous_commit\b/, words);
});

test('a wrong password and a database or server that is not there are told in one sentence', async () => {
  const [wrong, nowhere, gone] = [new URL(ownUrl), new URL(ownUrl), new URL(ownUrl)];
  wrong.password = `${PASSWORD}s`;
  nowhere.pathname = '/nowhere';
  gone.port = '1';
  await expectRefusal(wrong.href, /password/);
  await expectRefusal(nowhere.href, /nowhere/);
  await expectRefusal(gone.href, /ECONNREFUSED/);
});
