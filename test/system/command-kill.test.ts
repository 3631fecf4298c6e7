/**
 * Kills commands that write files: a backup is whole or refused, a tenant is as before or as in the backup, and an
 * upgrade continues where it stopped. STOREROOM_TEST_COMMAND_KILLS sets how often. restore-kill.test.ts and
 * move.test.ts kill the other commands.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, globSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { times } from '../kit/lists.ts';
import { APPENDED, makeTestedVersion } from '../kit/next-version.ts';
import { PROGRAM } from '../kit/program.ts';
import { placeVariables, runCommand, temporaryFolder } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';
import { until } from '../kit/wait.ts';

const KILLS = trials('COMMAND_KILLS', { quick: 2, all: 5 });
const TENANTS = 5;
const CUSTOMERS = 2000;

const store = temporaryFolder();
const backup = join(temporaryFolder(), 'backup');
/** The customers of each tenant in the backup. */
let saved: string[];

const sizeOf = (folder: string): number =>
  globSync('**', { cwd: folder })
    .map((path) => statSync(join(folder, path), { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, size) => sum + size, 0);

async function succeed(folder: string, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(folder, words);
  assert.equal(code, 0, `${words.join(' ')}: ${stdout}${stderr}`);
  return stdout;
}

const exportAll = (folder: string): Promise<string[]> =>
  Promise.all(times(TENANTS, (team) => succeed(folder, 'export', `t${team}`, 'customers')));

function copied(): string {
  const folder = temporaryFolder();
  cpSync(store, folder, { recursive: true });
  return folder;
}

/** Kills a command once the files of `watched` have grown by `bytes`. Returns whether it was still at work. */
async function killCommand(
  folder: string,
  words: readonly string[],
  watched: string,
  bytes: number,
  program = PROGRAM,
): Promise<boolean> {
  const [first, ...options] = program;
  const begun = sizeOf(watched);
  const child = spawn(first, [...options, ...words], {
    env: { ...process.env, ...placeVariables(folder) },
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  await until(() => child.exitCode !== null || sizeOf(watched) - begun >= bytes);
  child.kill('SIGKILL');
  const [code] = (await ended) as [number | null];
  assert.ok(code === null || code === 0, `${words.join(' ')} ended with ${code}`);
  return code === null;
}

/** Calls `kill` repeatedly, each time for a little more growth. At least one command must be killed at work. */
async function killOften(grows: number, kill: (bytes: number) => Promise<boolean>): Promise<string> {
  let killed = 0;
  for (let count = 0; count < KILLS; count++) if (await kill(1 + Math.floor((count / KILLS) * grows))) killed++;
  assert.ok(killed > 0);
  return `${killed} of ${KILLS} were killed at work`;
}

before(async () => {
  const csv = join(temporaryFolder(), 'customers.csv');
  const rows = times(CUSTOMERS, (one) => `C${one},Name ${one}`);
  writeFileSync(csv, ['CUSTOMER_CODE,CUSTOMER_NAME', ...rows].join('\n'));
  for (const team of times(TENANTS, String)) {
    await succeed(store, 'tenant', 'create', `t${team}`, '--create');
    await succeed(store, 'import', `t${team}`, 'customers', csv);
  }
  await succeed(store, 'backup', backup);
  saved = await exportAll(store);
});

test(`a backup that is killed, ${KILLS} times, is whole or refused, and the store continues`, async (context) => {
  const killed = await killOften(sizeOf(backup), async (bytes) => {
    const [folder, target] = [temporaryFolder(), join(temporaryFolder(), 'backup')];
    const isKilled = await killCommand(store, ['backup', target], join(target, '..'), bytes);
    const { code } = await runCommand(store, ['check', '--backup', target]);
    const restored = await runCommand(folder, ['restore', target]);
    assert.equal(restored.code === 0, code === 0, 'what is restored is what is found whole');
    if (code === 0) assert.deepEqual(await exportAll(folder), saved);
    await succeed(store, 'check');
    return isKilled;
  });
  context.diagnostic(killed);
});

test(`a tenant's restore that is killed, ${KILLS} times, leaves the previous data or the backup`, async (context) => {
  const newer = copied();
  const csv = join(temporaryFolder(), 'more.csv');
  writeFileSync(csv, 'CUSTOMER_CODE,CUSTOMER_NAME\nNEW,New');
  await succeed(newer, 'import', 't1', 'customers', csv);
  const [, changed] = await exportAll(newer);
  const words = ['tenant', 'restore', 't1', '--from', backup, '--yes'];
  const grows = Math.max(...globSync('tenants/*.db', { cwd: backup }).map((file) => statSync(join(backup, file)).size));
  const killed = await killOften(grows, async (bytes) => {
    const folder = temporaryFolder();
    cpSync(newer, folder, { recursive: true });
    const isKilled = await killCommand(folder, words, join(folder, 'tenants'), bytes);
    const [, found] = await exportAll(folder);
    assert.ok(found === saved[1] || found === changed, 'neither of the two');
    await succeed(folder, 'check');
    await succeed(folder, ...words);
    assert.deepEqual(await exportAll(folder), saved);
    await succeed(folder, 'check');
    return isKilled;
  });
  context.diagnostic(killed);
});

test(`an upgrade that is killed, ${KILLS} times, continues from there when it is repeated`, async (context) => {
  const program = makeTestedVersion('sqlite');
  const succeedNext = async (folder: string, ...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCommand(folder, words, { program });
    assert.equal(code, 0, `${words.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  };
  const whole = copied();
  await succeedNext(whole, 'upgrade');
  const customers = await succeedNext(whole, 'export', 't0', 'customers');
  assert.equal(customers.split(APPENDED).length, CUSTOMERS + 1);
  const killed = await killOften(sizeOf(whole) - sizeOf(store), async (bytes) => {
    const folder = copied();
    const isKilled = await killCommand(folder, ['upgrade'], folder, bytes, program);
    assert.match(await succeedNext(folder, 'check'), /all is well/);
    await succeedNext(folder, 'upgrade');
    assert.match(await succeedNext(folder, 'upgrade', '--dry-run'), /All files have the schemas of this version/);
    assert.equal(await succeedNext(folder, 'export', 't0', 'customers'), customers);
    return isKilled;
  });
  context.diagnostic(killed);
});
