/**
 * Installs the package `@storeroom/server` from a registry as a new user does: by `npm install --global` and by `npx`,
 * in an empty folder, with only the machine's Node. Run by `npm run test:release`, after `npm run build:npm`. Downloads
 * Node and a registry.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { globSync, lstatSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import { REAL_TIME } from '../kit/clock.ts';
import { readUntil } from '../kit/printed.ts';
import { temporaryFolder } from '../kit/service.ts';
import { until } from '../kit/wait.ts';
import { machinePath, Registry } from './registry.ts';

const ROOT = join(import.meta.dirname, '../..');
const NAME = '@storeroom/server';
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const ARCHIVE = join(ROOT, `build/storeroom-server-${version}.tgz`);
/** Maximum size of the unpacked package without Node. */
const PACKAGE_MB_MAX = 20;
/** Printed addresses, which work without a password. The printed commands contain one. */
const ADDRESSES = /^ {2}(?:Dashboard|Guides|Reference) +(\S+)/gm;
const COMMANDS = /^ {2}curl -u '([^']+)' '([^']+)'/gm;

const folder = temporaryFolder();
const prefix = join(folder, 'prefix');
const installed = join(prefix, 'lib/node_modules', NAME);
let registry: Registry;
let environment: Record<string, string>;

before(async () => {
  registry = await Registry.start(temporaryFolder());
  registry.publish(ARCHIVE);
  environment = registry.environment();
});
after(() => registry?.stop());

/** Starts the service in a new empty folder, calls the addresses that it prints, and ends it with the signal. */
async function tryDemo(context: TestContext, command: string, words: string[], signal: NodeJS.Signals): Promise<void> {
  const cwd = temporaryFolder();
  const env = { ...environment, STOREROOM_PORT: '0' };
  const child = spawn(command, words, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  context.after(() => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // All processes of the group have ended.
    }
  });
  const ended = once(child, 'exit');
  const printed = await readUntil(child, /curl.*\n.*curl.*\n/);
  assert.ok(printed.startsWith(`Storeroom ${version} is ready.`), printed);
  const addresses = [...printed.matchAll(ADDRESSES)].map(([, url = '']) => url);
  const commands = [...printed.matchAll(COMMANDS)];
  assert.deepEqual([addresses.length, commands.length], [3, 2]);
  for (const url of addresses) assert.equal((await fetch(url)).status, 200, url);
  for (const [, user = '', url = ''] of commands) {
    const answer = await fetch(url, { headers: { authorization: `Basic ${btoa(user)}` } });
    assert.equal(answer.status, 200, url);
  }
  // A terminal sends SIGINT to every process of a command; other programs send a signal to the one they started.
  if (signal === 'SIGINT') process.kill(-child.pid!, signal);
  else child.kill(signal);
  await ended;
  // Further processes of the command may end after the first.
  const isGone = async (): Promise<boolean> => (await fetch(addresses[0]!).catch(() => undefined)) === undefined;
  await until(isGone);
}

function sizeOf(path: string): number {
  const files = globSync('**/*', { cwd: path }).map((name) => lstatSync(join(path, name)));
  return files.reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0) / 1e6;
}

test('npm install --global installs only the package and one Node', (context) => {
  mkdirSync(prefix, { recursive: true });
  const words = ['install', '--global', '--prefix', prefix, '--loglevel=error', NAME];
  execFileSync('npm', words, { cwd: temporaryFolder(), env: environment, stdio: ['ignore', 'ignore', 'inherit'] });
  const others = globSync('node_modules/*', { cwd: installed });
  assert.equal(others.length, 1, others.join());
  const [whole, node] = [sizeOf(prefix), sizeOf(join(installed, 'node_modules'))];
  context.diagnostic(`${whole.toFixed(0)} MB, of them Node ${node.toFixed(0)} MB`);
  assert.ok(whole - node < PACKAGE_MB_MAX, `${whole - node} MB`);
  const ran = spawnSync(join(prefix, 'bin/storeroom'), ['--version'], { env: environment, encoding: 'utf8' });
  assert.deepEqual([ran.stdout.split(/\s/, 1)[0], ran.stderr, ran.status], [version, '', 0]);
  const { stdout } = spawnSync('node', ['--version'], { env: { PATH: machinePath }, encoding: 'utf8' });
  context.diagnostic(`the machine's Node is ${stdout.trim()}`);
});

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`the installed command serves the demo from an empty folder, until ${signal}`, (context) =>
    tryDemo(context, join(prefix, 'bin/storeroom'), ['serve'], signal));
  test(`npx ${NAME} serve serves it too, until ${signal}`, (context) =>
    tryDemo(context, 'npx', ['--yes', NAME, 'serve'], signal));
}

test('the API suite passes against the installed package', () => {
  const files = globSync('test/api/*.test.ts', { cwd: ROOT });
  const env = { ...process.env, ...REAL_TIME, STOREROOM_TEST_PROGRAM: join(installed, 'bin/storeroom.js') };
  const ran = spawnSync(process.execPath, ['test/run.ts', ...files], { cwd: ROOT, env, encoding: 'utf8' });
  assert.equal(ran.status, 0, ran.stdout.slice(-3000));
  assert.match(ran.stdout, /tests [1-9]\d\d/);
});
