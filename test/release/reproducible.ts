/**
 * Tests `npm run release` in clones of this checkout: what it refuses, what a dry run leaves unchanged, what a release
 * commits, and that every run on a commit makes the same bytes. Part of `npm run test:release`.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../kit/service.ts';

const ROOT = join(import.meta.dirname, '../..');

/** A clone with its own packages, so that all paths are inside it. */
class Clone {
  readonly folder: string;

  constructor(...path: string[]) {
    this.folder = join(temporaryFolder(), ...path);
    mkdirSync(this.folder, { recursive: true });
    execFileSync('git', ['clone', '--quiet', '--no-tags', ROOT, this.folder]);
    this.git('checkout', '--quiet', '-B', 'main');
    this.git('config', 'user.name', 'Releaser');
    this.git('config', 'user.email', 'releaser@example.com');
    // Hard links take no space, but they cannot lead to another disk.
    const packages = realpathSync(join(ROOT, 'node_modules'));
    const copy = `cp -al '${packages}' node_modules 2>/dev/null || cp -a '${packages}' node_modules`;
    execFileSync('sh', ['-c', copy], { cwd: this.folder });
    // Copies the downloads for the executables, so that they are made only once.
    if (existsSync(join(ROOT, 'build/node')))
      cpSync(join(ROOT, 'build/node'), join(this.folder, 'build/node'), { recursive: true });
  }

  git(...words: string[]): string {
    return execFileSync('git', words, { cwd: this.folder, encoding: 'utf8' }).trim();
  }

  release(words: string[], { env = {}, umask = '022' } = {}) {
    const command = `umask ${umask} && exec node tools/release/run.ts "$@"`;
    return spawnSync('sh', ['-c', command, 'sh', '--platform', PLATFORM, ...words], {
      cwd: this.folder,
      env: { ...process.env, ...env },
      encoding: 'utf8',
    });
  }

  read(name: string): Buffer {
    return readFileSync(join(this.folder, name));
  }

  /** Returns what a dry run must leave unchanged. */
  state(): string[] {
    return [
      this.git('rev-parse', 'HEAD'),
      this.git('tag'),
      this.git('status', '--porcelain'),
      this.git('worktree', 'list'),
    ];
  }
}

/** The one executable that is built. It represents all. */
const PLATFORM = 'linux-x64';
const first = new Clone('a');
const second = new Clone('another', 'much longer', 'path');
let sums = '';

function makeSums(clone: Clone, words: string[], options = {}): string {
  const { status, stderr } = clone.release(words, options);
  assert.equal(status, 0, stderr);
  return clone.read('build/release/SHA256SUMS').toString();
}

test('a checkout with changes is not released', () => {
  const changelog = first.read('CHANGELOG.md');
  writeFileSync(join(first.folder, 'CHANGELOG.md'), `${changelog.toString()}\n`);
  const { status, stderr } = first.release(['--dry-run']);
  assert.deepEqual([status, stderr], [1, 'The release failed. The checkout has changes: commit them first.\n']);
  first.git('checkout', '--quiet', '.');
});

test('two dry runs in two places, times and masks make the same bytes and change nothing', () => {
  const before = [first.state(), second.state()];
  sums = makeSums(first, ['--dry-run']);
  assert.equal(makeSums(second, ['--dry-run'], { env: { TZ: 'Asia/Tokyo', LC_ALL: 'C' }, umask: '077' }), sums);
  assert.deepEqual([first.state(), second.state()], before);

  const lines = sums.trim().split('\n');
  for (const end of [
    '-server-',
    '-client-',
    '-mcp-',
    `-${PLATFORM}.tar.gz`,
    '.cdx.json',
    'THIRD-PARTY-LICENSES.txt',
    'RELEASE-NOTES.md',
  ])
    assert.ok(
      lines.some((line) => line.includes(end)),
      `${end} is missing: ${sums}`,
    );
  for (const line of lines) {
    const [sum, name] = line.split('  ') as [string, string];
    const bytes = first.read(`build/release/${name}`);
    assert.equal(createHash('sha256').update(bytes).digest('hex'), sum);
    assert.ok(!bytes.includes(first.folder), `${name} holds a path of this machine`);
  }
});

test('the SBOM lists Node, its contents, and every package of the bundle', () => {
  const [name = ''] = /\S+\.cdx\.json/.exec(sums) ?? [];
  const bom = JSON.parse(first.read(`build/release/${name}`).toString()) as {
    components: { name: string; version: string; components?: { name: string; version: string }[] }[];
  };
  const node = bom.components.find((one) => one.name === 'node');
  assert.equal(node?.version, process.versions.node);
  assert.ok(node.components?.some((one) => one.name === 'sqlite' && one.version === process.versions['sqlite']));
  const names = new Set(bom.components.map((one) => one.name));
  for (const wanted of ['fastify', 'pg', 'pino', 'preact']) assert.ok(names.has(wanted), wanted);
});

test('a commit that has not passed the checks of a release is not released', () => {
  const { status, stderr } = second.release([]);
  assert.deepEqual([status, /has not passed the checks.*--check$/m.test(stderr)], [1, true], stderr);
  writeFileSync(join(second.folder, 'build/release-checked'), second.git('rev-parse', 'HEAD'));
});

test('a release commits the version and the closed section, tags it, and makes the bytes of the dry run', () => {
  assert.equal(makeSums(second, []), sums);
  const versionOf = (file: string): string => (JSON.parse(second.read(file).toString()) as { version: string }).version;
  const version = versionOf('package.json');
  for (const folder of ['client', 'mcp']) assert.equal(versionOf(`${folder}/package.json`), version);
  const lock = JSON.parse(second.read('package-lock.json').toString()) as { packages: { mcp: { version: string } } };
  assert.equal(lock.packages.mcp.version, version);
  assert.match(second.read('client-python/storeroom.py').toString(), new RegExp(`^__version__ = "${version}"$`, 'm'));
  assert.equal(second.git('describe', '--exact-match'), `v${version}`);
  assert.equal(second.git('log', '-1', '--format=%s'), `Release ${version}`);
  assert.equal(second.git('status', '--porcelain'), '');
  assert.match(second.read('CHANGELOG.md').toString(), new RegExp(`## \\[Unreleased\\]\\n\\n## \\[${version}\\] - 20`));
  assert.match(second.read('openapi.json').toString(), new RegExp(`"version": "${version}"`));
});

test('on the tag of a release it makes the same bytes', () => {
  assert.equal(makeSums(second, ['--dry-run']), sums);
});

test('without an entry under Unreleased nothing is released', () => {
  second.git('commit', '--quiet', '--allow-empty', '--message', 'Nothing that users notice');
  const { status, stderr } = second.release(['--dry-run']);
  assert.equal(status, 1);
  assert.match(stderr, /has no entry under Unreleased/);
});
