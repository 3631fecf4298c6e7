/**
 * The crash and fault tests can fail: each is run on a copy of the tree with one promise broken on purpose, and has to say which. Part of
 * `npm run test:faults`.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../service.ts';

const ROOT = join(import.meta.dirname, '../..');
const TRIALS = { STOREROOM_TEST_KILLS: '20', STOREROOM_TEST_POWER_LOSSES: '20', STOREROOM_TEST_FULL_DISKS: '3' };

/** A lost record may be missed first where it is read, written to, or numbered anew. */
const LOSS = /was acknowledged.* and is lost|given twice|has QUANTITY|There is no order|has no line/;

interface Break {
  readonly promise: string;
  readonly test: string;
  readonly file: string;
  readonly good: string;
  readonly broken: string;
  /** What the test has to say. */
  readonly says: RegExp;
}

const BREAKS: Break[] = [
  {
    promise: 'counts are synced before the answer',
    test: 'faults/power-loss.ts',
    file: 'store/sqlite/usage-store.ts',
    good: 'syncAfterCommit: true',
    broken: 'syncAfterCommit: false',
    says: /usage \d+ is not between/,
  },
  {
    promise: 'records are synced before the answer',
    test: 'faults/power-loss.ts',
    file: 'store/sqlite/pims-store.ts',
    good: "new Database(file, { mode: 'write', ",
    broken: "new Database(file, { mode: 'write', sync: 'deferred', ",
    says: LOSS,
  },
  {
    promise: 'the answer comes after the commit',
    test: 'system/kill.test.ts',
    file: 'store/sqlite/write-queue.ts',
    good: "      this.#db.run('COMMIT');\n",
    broken: "      for (const item of group) item.resolve(item.result as never);\n      await sleep(5);\n      this.#db.run('COMMIT');\n",
    says: LOSS,
  },
  {
    promise: 'reads are counted on a full disk',
    test: 'faults/disk-full.ts',
    file: 'store/sqlite/write-queue.ts',
    good: "faultOf(fault) === 'full' && !isLastTry",
    broken: 'false as boolean',
    says: /STORAGE_FULL[^]*503 !== 200/,
  },
];

for (const { promise, test: file, file: source, good, broken, says } of BREAKS)
  test(`${file} fails where it does not hold that ${promise}`, async () => {
    const copy = temporaryFolder();
    for (const part of ['src', 'test', 'package.json']) cpSync(join(ROOT, part), join(copy, part), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
    const path = join(copy, 'src', source);
    const text = readFileSync(path, 'utf8');
    assert.equal(text.split(good).length, 2, `${source} has what is to be broken once`);
    writeFileSync(path, text.replace(good, broken));

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
    assert.match(said, says);
  });
