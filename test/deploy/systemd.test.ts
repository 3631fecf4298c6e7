/**
 * Tests `storeroom service`: the files that it writes, and what systemd-analyze reports about its unit, which is never
 * started here. Needs Debian's package systemd.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { SETTINGS } from '../../src/config.ts';
import { runProcess } from '../kit/commands.ts';
import { temporaryFolder } from '../kit/service.ts';

const EXPOSURE_MAX = 2.0;
const UNIT = 'etc/systemd/system/storeroom.service';
const SETTINGS_FILE = 'etc/storeroom/storeroom.env';

const runService = (...words: string[]) => runProcess({ words: ['service', ...words], env: process.env });

function analyze(...words: string[]): { status: number | null; text: string } {
  const { status, stdout, stderr, error } = spawnSync('systemd-analyze', words, { encoding: 'utf8' });
  assert.equal(error, undefined, 'This test runs systemd-analyze (Debian: apt-get install systemd).');
  return { status, text: stdout + stderr };
}

/** Installs the unit below an empty folder, and returns its path. */
async function installUnit(): Promise<string> {
  const root = temporaryFolder();
  const { exitCode, err } = await runService('install', '--root', root);
  assert.equal(exitCode, 0, err);
  return join(root, UNIT);
}

suite('storeroom service', () => {
  test('installs a unit in which systemd-analyze finds no fault', async () => {
    const { status, text } = analyze('verify', await installUnit());
    assert.deepEqual([status, text], [0, '']);
  });

  test(`its unit has an exposure of at most ${EXPOSURE_MAX.toFixed(1)} of 10`, async () => {
    const unit = await installUnit();
    const { status, text } = analyze('security', '--offline=true', `--threshold=${EXPOSURE_MAX * 10}`, unit);
    const [, exposure] = /Overall exposure level for storeroom\.service: ([\d.]+)/.exec(text) ?? [];
    assert.ok(Number(exposure) <= EXPOSURE_MAX, text);
    assert.equal(status, 0, text);
  });

  test('the unit has the program that wrote it, and only existing settings', async () => {
    const unit = readFileSync(await installUnit(), 'utf8');
    const [, start = ''] = /^ExecStart=(.+) serve$/m.exec(unit) ?? [];
    const { status, stdout } = spawnSync('sh', ['-c', `${start} service print`], { encoding: 'utf8' });
    assert.equal(status, 0);
    assert.equal(stdout, unit);
    assert.match(unit, / STOREROOM_CREATE=off /, 'systemd makes the folder of a store that was moved away');
    const known = new Set(Object.values(SETTINGS).map(({ variable }): string => variable));
    for (const [variable] of unit.matchAll(/STOREROOM_[A-Z_]+/g)) assert.ok(known.has(variable), variable);
  });

  test('only root can read the settings; a second install and an uninstall leave them unchanged', async () => {
    const root = temporaryFolder();
    const file = join(root, SETTINGS_FILE);
    await runService('install', '--root', root);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    for (const line of readFileSync(file, 'utf8').trim().split('\n')) assert.match(line, /^#/, 'it sets nothing');
    writeFileSync(file, 'STOREROOM_PORT=9000\n');
    assert.equal((await runService('install', '--root', root)).exitCode, 0);
    assert.equal((await runService('uninstall', '--root', root)).exitCode, 0);
    assert.equal(readFileSync(file, 'utf8'), 'STOREROOM_PORT=9000\n');
    assert.throws(() => statSync(join(root, UNIT)), { code: 'ENOENT' });
  });

  test('a wrong setting ends the service with 78 and one sentence, which the journal shows as an error', () => {
    const file = join(temporaryFolder(), 'journal');
    const descriptor = openSync(file, 'w');
    const { dev, ino } = fstatSync(descriptor);
    const env = { ...process.env, STOREROOM_PORT: 'nine', JOURNAL_STREAM: `${dev}:${ino}` };
    const words = [join(import.meta.dirname, '../../src/main.ts'), 'serve'];
    const { status } = spawnSync(process.execPath, words, { env, stdio: ['ignore', 'ignore', descriptor] });
    closeSync(descriptor);
    assert.equal(status, 78);
    assert.match(readFileSync(file, 'utf8'), /^<3>storeroom: STOREROOM_PORT must be [^\n]+, not 'nine'\.\n$/);
  });

  test('installing is refused for a program that the service could not read', () => {
    const folder = mkdtempSync('/tmp/storeroom-node-');
    try {
      copyFileSync(process.execPath, join(folder, 'node'));
      const words = [join(import.meta.dirname, '../../src/main.ts'), 'service', 'install'];
      const { status, stderr } = spawnSync(join(folder, 'node'), words, { encoding: 'utf8' });
      assert.equal(status, 1);
      assert.ok(stderr.includes(`The service cannot read ${folder}/node.`), stderr);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
