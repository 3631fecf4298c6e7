/**
 * Kills restores: no command opens what a killed restore has left, and the same command, repeated, makes it whole.
 * STOREROOM_TEST_RESTORE_KILLS sets how often.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { before, test } from 'node:test';
import { times } from '../kit/lists.ts';
import { newDatabase } from '../kit/postgres.ts';
import { PROGRAM } from '../kit/program.ts';
import { placeVariables, runCommand, Service, temporaryFolder, type CommandResult } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';
import { until } from '../kit/wait.ts';

const KILLS = trials('RESTORE_KILLS', { quick: 3, all: 12 });
const TENANTS = 6;
const CUSTOMERS = 400;
const MARKER = 'restore-unfinished';
const UNFINISHED = /A restore into .* is unfinished\. Run `storeroom restore` again/;

const backup = join(temporaryFolder(), 'backup');
let exported: string[];
let size: number;

const sizeOf = (folder: string): number =>
  globSync('**', { cwd: folder }).reduce(
    (sum, path) => sum + (statSync(join(folder, path), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );

async function succeed(running: Promise<CommandResult>): Promise<string> {
  const { code, stdout, stderr } = await running;
  assert.equal(code, 0, stderr);
  return stdout;
}

/** Returns the content of a data folder: its tenants, and the customers of each. */
async function exportAll(folder: string): Promise<string[]> {
  const all = [await succeed(runCommand(folder, ['tenant', 'list', '--json']))];
  for (const team of times(TENANTS, String))
    all.push(await succeed(runCommand(folder, ['export', `t${team}`, 'customers'])));
  return all;
}

before(async () => {
  const folder = temporaryFolder();
  const csv = join(temporaryFolder(), 'customers.csv');
  writeFileSync(csv, ['CUSTOMER_CODE,CUSTOMER_NAME', ...times(CUSTOMERS, (one) => `C${one},Name ${one}`)].join('\n'));
  for (const team of times(TENANTS, String)) {
    await succeed(runCommand(folder, ['tenant', 'create', `t${team}`, '--create']));
    await succeed(runCommand(folder, ['import', `t${team}`, 'customers', csv]));
  }
  await succeed(runCommand(folder, ['backup', backup]));
  exported = await exportAll(folder);
  size = sizeOf(backup);
});

/** Begins a restore and kills it once the folder has this many bytes. */
async function killRestore(folder: string, bytes: number): Promise<void> {
  const [program, ...words] = PROGRAM;
  const env = { ...process.env, ...placeVariables(folder) };
  const child = spawn(program, [...words, 'restore', backup], { env, stdio: 'ignore' });
  const ended = once(child, 'exit');
  await until(() => child.exitCode !== null || (readdirSync(folder).includes(MARKER) && sizeOf(folder) >= bytes));
  child.kill('SIGKILL');
  await ended;
}

test(`killed ${KILLS} times, it is never served, and ends whole when it is repeated`, async (context) => {
  let unfinished = 0;
  const database = await newDatabase();
  for (let kill = 0; kill < KILLS; kill++) {
    const folder = temporaryFolder();
    await killRestore(folder, (kill / KILLS) * size);
    if (readdirSync(folder).includes(MARKER)) {
      unfinished++;
      await assert.rejects(Service.start({ place: folder }), UNFINISHED);
      for (const words of [
        ['tenant', 'list'],
        ['check'],
        ['backup', join(temporaryFolder(), 'other')],
        ['move', '--to', database],
      ]) {
        const { code, stderr } = await runCommand(folder, words);
        assert.notEqual(code, 0, words.join(' '));
        assert.match(stderr, UNFINISHED);
      }
      await succeed(runCommand(folder, ['restore', backup]));
    }
    assert.deepEqual(await exportAll(folder), exported);
    await succeed(runCommand(folder, ['check']));
  }
  context.diagnostic(`${unfinished} of ${KILLS} were unfinished`);
  assert.ok(unfinished > 0);
});

test('an unfinished restore refuses a move to its folder, and stays unfinished after an invalid backup', async () => {
  const [folder, source] = [temporaryFolder(), temporaryFolder()];
  await killRestore(folder, 0);
  await succeed(runCommand(source, ['tenant', 'create', 'other', '--create']));
  const { code, stderr } = await runCommand(source, ['move', '--to', `sqlite:${folder}`]);
  assert.equal(code, 1);
  assert.match(stderr, UNFINISHED);
  assert.equal((await runCommand(folder, ['restore', source])).code, 1);
  assert.ok(readdirSync(folder).includes(MARKER));
});

test('while one restore works on a folder, another is refused and changes nothing', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'tenants'));
  writeFileSync(join(folder, MARKER), '');
  const files = (): string[] => globSync('**', { cwd: folder }).toSorted();
  const other = new DatabaseSync(join(folder, 'serve.lock'));
  other.exec('PRAGMA locking_mode=EXCLUSIVE; BEGIN IMMEDIATE');
  const found = files();
  const { code, stderr } = await runCommand(folder, ['restore', backup]);
  assert.equal(code, 1);
  assert.match(stderr, /Another service, move or restore is using /);
  assert.deepEqual(files(), found);
  other.close();
  await succeed(runCommand(folder, ['restore', backup]));
  assert.deepEqual(await exportAll(folder), exported);
});
