/**
 * Checks that the crash and fault tests can fail: each runs on a copy of the tree in which one promise is broken on
 * purpose, and must report that. Part of `npm run test:faults`.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../kit/service.ts';
import { BREAKS, breakPromise } from './breaks.ts';

const ROOT = join(import.meta.dirname, '../..');
const TRIALS = {
  STOREROOM_TEST_ALL: 'on',
  STOREROOM_TEST_KILLS: '20',
  STOREROOM_TEST_RESTARTS: '3',
  STOREROOM_TEST_CUTS: '20',
  STOREROOM_TEST_POWER_LOSSES: '20',
  STOREROOM_TEST_DATABASE_POWER_LOSSES: '10',
  STOREROOM_TEST_FULL_DISKS: '3',
  STOREROOM_TEST_FUZZ_CALLS: '10000',
};

for (const [file, breaks] of Object.entries(BREAKS))
  for (const [promise, one] of Object.entries(breaks))
    test(`${file} fails where it does not hold that ${promise}`, async () => {
      const copy = temporaryFolder();
      for (const part of ['src', 'mcp', 'test', 'package.json', 'openapi.json'])
        cpSync(join(ROOT, part), join(copy, part), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
      const path = join(copy, 'src', one.file);
      writeFileSync(path, breakPromise(readFileSync(path, 'utf8'), one));

      const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
      const run = spawn(process.execPath, ['test/run.ts', `test/${file}`], {
        cwd: copy,
        env: { ...environment, ...TRIALS },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let said = '';
      run.stdout.setEncoding('utf8').on('data', (part: string) => (said += part));
      const [code] = (await once(run, 'close')) as [number | null];
      assert.equal(code, 1, `it passed:\n${said}`);
      assert.match(said, one.says);
    });
