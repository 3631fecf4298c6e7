/**
 * `npm run test:fresh` runs the first commands of the README and the tests, in a clone of this commit, on a Debian with
 * only the packages that the README names, as root and as another user. Needs Linux, root and debootstrap, downloads
 * about 500 MB and takes minutes. The output of the tests stays in build/fresh-….log.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, suite, test, type TestContext } from 'node:test';
import { loadBlocks } from '../kit/documents.ts';
import { findFreePort } from '../kit/raw-http.ts';
import { Debian, type User } from './debian.ts';

const ROOT = join(import.meta.dirname, '../..');
const SUITE = 'trixie';
const LOGS = join(ROOT, 'build');
const START = 'npm ci && npm start';
const TEST = 'npm ci && npm test';
const ROOT_USER: User = { name: 'root', home: '/root', id: 0 };
const USERS: readonly User[] = [ROOT_USER, { name: 'ann', home: '/home/ann', id: 1000 }];
/** Names that may be in a home afterwards: the cache of npm and the clone. A new home also has the files of shells. */
const KEPT = new Set(['.npm', 'storeroom']);

const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const packages = /`(apt-get install [\w .+-]+)`/.exec(readme)![1]!;
const parent = mkdtempSync(join(tmpdir(), 'storeroom-fresh-'));
process.once('exit', () => rmSync(parent, { recursive: true, force: true }));
let debian: Debian;

const git = (...words: string[]): string =>
  execFileSync('git', ['-c', 'safe.directory=*', ...words], { encoding: 'utf8' });
const namesIn = (folder: string): string[] => readdirSync(join(debian.root, folder)).toSorted();

async function runWell(user: User, folder: string, command: string, env: Record<string, string> = {}): Promise<string> {
  const { code, output } = await debian.run(user, folder, command, { env });
  assert.equal(code, 0, `${user.name}: ${command}\n${output.slice(-6000)}`);
  return output;
}

before(async () => {
  mkdirSync(LOGS, { recursive: true });
  debian = await Debian.make(join(parent, 'root'), SUITE);
  for (const { name } of USERS.slice(1)) await runWell(ROOT_USER, '/', `useradd --create-home ${name}`);
  const install = packages.replace('install', 'install --yes --no-install-recommends');
  await runWell(ROOT_USER, '/', `apt-get update && ${install}`);
});

/** Runs `npm ci && npm start`, then the calls of the README in another shell. */
async function startAndCall(context: TestContext, user: User, folder: string): Promise<void> {
  const env = { STOREROOM_PORT: String(await findFreePort()) }; // the README's port may be in use on this machine
  const ready = Promise.withResolvers<string>();
  const ended = debian.run(user, folder, START, {
    env,
    told: (output, child) => {
      if (!/Base URL[^]*\n\n/.test(output)) return;
      context.after(() => child.kill('SIGKILL'));
      ready.resolve(output);
    },
  });
  void ended.then(({ output }) => ready.reject(new Error(`${user.name}: ${START} ended:\n${output.slice(-6000)}`)));
  const printed = await ready.promise;
  const read = (name: string): string => RegExp(`${name} +(\\S+)`).exec(printed)![1]!;
  const variables = {
    ...env,
    BASE: read('Base URL'),
    KEYS: `${read('API ID')}:${read('API Secret')}`,
  };
  for (const { text, line } of loadBlocks(readme).filter(({ language }) => language === 'sh')) {
    const answer = await runWell(user, folder, text, variables);
    assert.match(answer, /"status":\s*"success"/, `README.md:${line}`);
  }
}

for (const user of USERS)
  suite(`for ${user.name}, on a Debian with nothing but: ${packages}`, () => {
    const folder = `${user.home}/storeroom`;
    let namesBefore: readonly string[];

    test(`${START} starts a service that accepts the calls of the README`, async (context) => {
      const made = join(debian.root, folder);
      git('clone', '--quiet', '--no-hardlinks', ROOT, made);
      execFileSync('chown', ['-R', `${user.id}:${user.id}`, made]);
      context.diagnostic(`commit ${git('-C', made, 'rev-parse', '--short', 'HEAD').trim()}`);
      context.diagnostic(
        (await runWell(user, folder, 'id; node --version; npm --version')).trim().replaceAll('\n', ' '),
      );
      await startAndCall(context, user, folder);
      namesBefore = namesIn('/tmp');
    });

    test(`${TEST} succeeds, and leaves no file outside the clone`, async (context) => {
      const { code, output } = await debian.run(user, folder, TEST);
      const log = join(LOGS, `fresh-${user.name}.log`);
      writeFileSync(log, output);
      const summary = output.slice(output.search(/^(Good|Not good)/m));
      for (const line of summary.trim().split('\n')) context.diagnostic(line);
      assert.equal(code, 0, `${log}\n${output.slice(-6000)}`);
      assert.deepEqual(namesIn('/tmp'), namesBefore);
      const left = namesIn(user.home).filter((name) => !KEPT.has(name) && !/^\.(bash|profile)/.test(name));
      assert.deepEqual(left, []);
      assert.equal(git('-C', join(debian.root, folder), 'status', '--porcelain'), '', 'the clone is as it was');
    });
  });
