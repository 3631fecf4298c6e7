/** Tests what runs of tests rely on: a folder for each run, a browser for all, and services that may fail to start. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { postgresUrl } from './kit/postgres.ts';
import { temporaryFolder } from './kit/service.ts';
import { share } from './kit/shared.ts';

const RUN = join(import.meta.dirname, 'run.ts');
const CHROMIUM = new URL('kit/chromium.ts', import.meta.url).href;
const POSTGRES = new URL('kit/postgres.ts', import.meta.url).href;
const SHARED = new URL('kit/shared.ts', import.meta.url).href;
/** Number of processes that unpack the browser at once. */
const BROWSERS = 3;

interface Run {
  readonly child: ChildProcess;
  /** Folder in which the run makes its folder. */
  readonly place: string;
  readonly output: () => string;
}

/** Starts a run of one test file with this source. An alone one has a private folder, and starts a PostgreSQL. */
function startRun(source: string, { isAlone = false } = {}): Run {
  const folder = temporaryFolder();
  chmodSync(folder, isAlone ? 0o700 : 0o711);
  const place = join(folder, 'place');
  mkdirSync(place);
  const file = join(folder, 'example.test.mjs');
  writeFileSync(
    file,
    `import { test } from 'node:test';\nimport fs from 'node:fs';\nimport os from 'node:os';\n${source}`,
  );
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const child = spawn(process.execPath, [RUN, file], {
    env: { ...environment, TMPDIR: place, HOME: '/nowhere', STOREROOM_TEST_DATABASE_URL: isAlone ? '' : postgresUrl() },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  return { child, place, output: () => output };
}

suite('a run', () => {
  test('gives its tests an empty TMPDIR and an empty HOME in one folder, and removes it', async () => {
    const { child, place, output } = startRun(`
      test('empty', (context) => {
        context.diagnostic(JSON.stringify([os.tmpdir(), os.homedir()].map((path) => [path, fs.readdirSync(path)])));
      });`);
    assert.deepEqual(await once(child, 'close'), [0, null], output());
    const folders = JSON.parse(/ℹ (\[.+\])/.exec(output())![1]!) as [path: string, names: string[]][];
    for (const [path, names] of folders) {
      assert.ok(path.startsWith(`${place}/`), path);
      assert.deepEqual(names, []);
    }
    assert.deepEqual(readdirSync(place), []);
  });

  test('succeeds even if the user of PostgreSQL cannot enter the folder of TMPDIR', async () => {
    const { child, place, output } = startRun(
      `test('works', async (context) => {
        context.diagnostic('in ' + os.tmpdir());
        const { postgresUrl, runStatement } = await import(${JSON.stringify(POSTGRES)});
        await runStatement(postgresUrl(), 'SELECT 1');
      });`,
      { isAlone: true },
    );
    assert.deepEqual(await once(child, 'close'), [0, null], output());
    const isRoot = process.getuid?.() === 0;
    assert.equal(/ℹ in (.+)/.exec(output())![1]!.startsWith(`${place}/`), !isRoot);
    assert.deepEqual(readdirSync(place), []);
  });

  test('fails when a test leaves something in TMPDIR, names it, and removes it', async () => {
    const { child, place, output } = startRun(`
      test('forgets', () => fs.writeFileSync(os.tmpdir() + '/forgotten', ''));`);
    assert.deepEqual(await once(child, 'close'), [1, null], output());
    assert.match(output(), /^The tests left in their temporary folder: forgotten$/m);
    assert.deepEqual(readdirSync(place), []);
  });

  test('ends with the faults of the failed tests', async () => {
    const { child, output } = startRun(`
      test('breaks', () => { throw new Error('the reason'); });
      test('goes on', () => undefined);`);
    assert.deepEqual(await once(child, 'close'), [1, null], output());
    assert.match(
      output(),
      /^Not good:\n.*example\.test\.mjs on \w+: a test failed.*\n[^]*✖ breaks[^]*the reason[^]*ℹ tests 2$/m,
    );
  });

  test('fails when a resource that its files share cannot be ended, and says why', async () => {
    const { child, output } = startRun(`
      import { whenOver } from ${JSON.stringify(SHARED)};
      whenOver(() => Promise.reject(new Error('the reason')));
      test('goes on', () => undefined);`);
    assert.deepEqual(await once(child, 'close'), [1, null], output());
    assert.match(output(), /^Not good:\nAfter .*example\.test\.mjs: Error: the reason\n/m);
  });

  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    test(`that ${signal} interrupts fails, and removes its folder`, async () => {
      const { child, place, output } = startRun(`
        test('goes on', async () => {
          fs.writeFileSync(os.tmpdir() + '/made', '');
          console.log('begun');
          await new Promise((resolve) => process.stdin.once('never', resolve).resume());
        });`);
      while (!output().includes('begun')) await once(child.stdout!, 'data');
      child.kill(signal);
      assert.deepEqual(await once(child, 'close'), [1, null], output());
      assert.match(output(), /^The run was cut short\.$/m);
      assert.deepEqual(readdirSync(place), []);
    });
});

test('processes that need the browser at once, before it was ever unpacked, all get it', async () => {
  const place = temporaryFolder();
  const source = `
    const { execFileSync } = await import('node:child_process');
    const { unpackChromium } = await import(${JSON.stringify(CHROMIUM)});
    const { executablePath, env } = await unpackChromium(${JSON.stringify(place)});
    console.log(String(execFileSync(executablePath, ['--version'], { env })));`;
  const children = Array.from({ length: BROWSERS }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['ignore', 'pipe', 'inherit'] }),
  );
  const printed = children.map(async (child) => {
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    return [await once(child, 'close'), output] as const;
  });
  for (const [ended, output] of await Promise.all(printed)) {
    assert.deepEqual(ended, [0, null]);
    assert.match(output, /^Chromium \d+\./);
  }
  assert.equal(readdirSync(place).length, 1, 'one of them, whole, and nothing half unpacked');
});

test('a shared resource that could not be started is started again for the next file', async () => {
  const outcomes = ['fault', 'made'];
  const open = share(
    async () => {
      const outcome = outcomes.shift()!;
      if (outcome === 'fault') throw new Error('It was not ready.');
      return outcome;
    },
    () => Promise.resolve(),
  );
  await Promise.all([assert.rejects(open(), /not ready/), assert.rejects(open(), /not ready/)]);
  assert.deepEqual([await open(), await open(), outcomes], ['made', 'made', []]);
});
