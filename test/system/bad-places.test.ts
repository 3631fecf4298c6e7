/**
 * Tests that a folder, address or port that cannot be used ends a command with one line: the setting, its value, what
 * is wrong with it, and what to do.
 */
import assert from 'node:assert/strict';
import { chownSync, readdirSync, symlinkSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { describeListenFault } from '../../src/cli/service-address.ts';
import { openCommandLine } from '../kit/cli-process.ts';
import { newPlace, runCommand, STORE, temporaryFolder } from '../kit/service.ts';

/** Checks that a command printed one line on standard error and nothing else. */
function assertTold({ code, stdout, stderr }: { code: number | null; stdout: string; stderr: string }, says: RegExp) {
  assert.equal(`${code} ${stdout}`, '1 ');
  assert.match(stderr, /^storeroom: [^\n]+\n$/);
  assert.match(stderr, says);
}

suite('STOREROOM_DATA', () => {
  const { file } = openCommandLine();
  const plain = file('a-file', 'x');
  const FOLDERS: [what: string, folder: string, reason: RegExp][] = [
    [
      'where the kernel makes no folder',
      '/proc/foo',
      /(no folder can be created there|no permission to write|read-only)/,
    ],
    ['below that', '/proc/foo/bar/data', /(no folder can be created there|no permission to write|read-only)/],
    ['that is a file', plain, /it is a file/],
    ['below a file', join(plain, 'data'), /is below a file/],
    ['whose name is too long', `/tmp/${'x'.repeat(300)}`, /it cannot be used \(ENAMETOOLONG\)/],
  ];
  const create = ['tenant', 'create', 'acme', '--name', 'Acme', '--create'];
  for (const [what, folder, reason] of FOLDERS)
    for (const words of what === FOLDERS[0]![0] ? [create, ['serve', '--port', '0']] : [create])
      test(`a folder ${what} ends \`${words[0]}\` with its name and a remedy`, async () => {
        const ended = await runCommand(folder, words, { env: { STOREROOM_DATABASE_URL: '' } });
        assertTold(
          ended,
          new RegExp(`STOREROOM_DATA is '${folder}': .*Choose a folder that this user can write to\\.`),
        );
        assert.match(ended.stderr, reason);
      });

  // Only root can give a folder away. The system keeps other users out of folders that are not theirs.
  if (process.getuid!() === 0)
    test('a folder of another user is refused to root, who would leave files there that the service cannot use', async () => {
      const folder = temporaryFolder();
      chownSync(folder, 65_534, 65_534);
      for (const words of [create, ['serve', '--port', '0'], ['tenant', 'list']]) {
        const ended = await runCommand(folder, words, { env: { STOREROOM_DATABASE_URL: '' } });
        assertTold(
          ended,
          /which belongs to the user with the ID 65534\. Run it as that user, with `sudo -u '#65534' …`/,
        );
      }
      assert.deepEqual(readdirSync(folder), []);
    });

  // Root may enter every folder, so a link to itself is used as one that a user may not enter.
  test('a folder that cannot be entered is reported as such, and not as one without data', async () => {
    const folder = join(temporaryFolder(), 'data');
    symlinkSync(folder, folder);
    for (const command of ['tenant list', 'check']) {
      const ended = await runCommand(folder, command.split(' '), { env: { STOREROOM_DATABASE_URL: '' } });
      assert.match(ended.stderr, /^storeroom: ELOOP: [^\n]+\n$/, command);
      assert.notEqual(ended.code, 0);
    }
  });

  test('a backup into such a folder names the folder', async () => {
    const line = openCommandLine();
    await line.ask('tenant create acme --name Acme --create');
    for (const folder of ['/proc/foo', plain])
      assert.match((await line.refused('backup', folder)).message, /^The folder of the backup is '.*Choose a folder/);
  });
});

suite(`host and port, with ${STORE}`, () => {
  const serve = async (...words: string[]) => runCommand(await newPlace(), ['serve', ...words]);

  test('an error names a used port with the setting that changes it', async (context) => {
    const other = createServer().listen(0, '127.0.0.1');
    context.after(() => other.close());
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    const told = new RegExp(`STOREROOM_PORT is ${port}, and another program listens on it at 127\\.0\\.0\\.1 .*--port`);
    assertTold(await serve('--port', String(port)), told);
  });

  test('an error names a host that is not an address of the machine, and a valid one', async () => {
    const told = /STOREROOM_HOST is '192\.0\.2\.1', which is not an address of this machine .*127\.0\.0\.1/;
    assertTold(await serve('--port', '0', '--host', '192.0.2.1'), told);
    for (const code of ['ENOTFOUND', 'EAI_AGAIN', 'EINVAL'])
      assert.match(describeListenFault({ host: 'nowhere', port: 80 }, code)!, /STOREROOM_HOST is 'nowhere'/);
  });

  test('an error names a port that this user may not use with the setting; other faults do not mention it', () => {
    const told = describeListenFault({ host: '127.0.0.1', port: 80 }, 'EACCES');
    assert.match(told!, /^STOREROOM_PORT is 80, but this user has no permission to listen .*Set STOREROOM_PORT/);
    assert.equal(describeListenFault({ host: '127.0.0.1', port: 80 }, 'EOTHER'), undefined);
  });
});
