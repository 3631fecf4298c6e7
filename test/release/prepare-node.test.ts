/** Tests what npm runs after an install (tools/prepare-node.js), in a small separate tree. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../kit/service.ts';

const ROOT = join(import.meta.dirname, '../..');
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  optionalDependencies: Record<string, string>;
};
const folder = temporaryFolder();
const packages = Object.keys(manifest.optionalDependencies).map((name) => join(folder, 'node_modules', name));

function prepare() {
  return spawnSync(process.execPath, [join(folder, 'tools/prepare-node.js')], { encoding: 'utf8' });
}

test('an install keeps the Node of the lockfile and removes its headers', () => {
  for (const path of ['package.json', 'bin', 'tools/prepare-node.js'])
    cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  for (const path of packages) {
    for (const name of ['bin', 'include/node']) mkdirSync(join(path, name), { recursive: true });
    writeFileSync(join(path, 'package.json'), '{}');
    writeFileSync(join(path, 'include/node/node.h'), '');
    symlinkSync(process.execPath, join(path, 'bin/node'));
  }
  assert.deepEqual([prepare().status, prepare().stderr], [0, '']);
  const kept = packages.filter((path) => existsSync(join(path, 'include')));
  assert.equal(kept.length, packages.length - 1, 'that of this platform, and no other');
  assert.ok(packages.every((path) => existsSync(join(path, 'bin/node'))));
});

test('after an install npm scripts run the Node of the lockfile, also where npm did not link it', () => {
  const link = join(folder, 'node_modules/.bin/node');
  assert.equal(realpathSync(link), realpathSync(process.execPath));
  rmSync(link);
  symlinkSync('../node-of-another-platform/bin/node', link);
  assert.deepEqual([prepare().status, prepare().stderr], [0, '']);
  assert.equal(realpathSync(link), realpathSync(process.execPath));
});

test('an install on a machine without a library of Node fails and says which, and how to install it', () => {
  const said = 'node: error while loading shared libraries: libatomic.so.1: cannot open shared object file';
  for (const path of packages) {
    rmSync(join(path, 'bin/node'));
    writeFileSync(join(path, 'bin/node'), `#!/bin/sh\necho '${said}' >&2\nexit 127\n`);
    chmodSync(join(path, 'bin/node'), 0o755);
  }
  const { status, stderr } = prepare();
  assert.equal(status, 1);
  assert.match(stderr, /libatomic\.so\.1 is missing.*apt-get install libatomic1/);
});

test('an install without the Node of the lockfile fails and says what to run', () => {
  for (const path of packages) rmSync(path, { recursive: true });
  const { status, stderr } = prepare();
  assert.equal(status, 1);
  assert.match(stderr, /Run "npm ci --include=optional"/);
});
