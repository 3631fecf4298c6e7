/**
 * `npm run test:executable` tests the executable as in a container: as process 1, in a root with nothing but its
 * libraries. It starts in an empty folder, the calls that it prints succeed, and signals end it. Needs Linux and root.
 */
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { readUntil } from '../kit/printed.ts';

const EXECUTABLE = join(import.meta.dirname, `../../build/storeroom-linux-${process.arch}`);
const BYTES_MAX = 130e6;
/** Maximum memory without the pages of the executable, whose number the kernel varies and which processes share. */
const OWN_BYTES_MAX = 80e6;

const root = mkdtempSync(join(tmpdir(), 'storeroom-root-'));
after(() => rmSync(root, { recursive: true }));
copyFileSync(EXECUTABLE, join(root, 'storeroom'));
for (const [file] of execFileSync('ldd', [EXECUTABLE], { encoding: 'utf8' }).matchAll(/\/\S+/g)) {
  mkdirSync(join(root, dirname(file)), { recursive: true });
  copyFileSync(file, join(root, file));
}

interface Started {
  readonly ended: Promise<[code: number | null]>;
  /** The process ID of the service outside its namespace. */
  readonly pid: number;
  readonly output: string;
}

/** Starts `storeroom serve` in a folder of the root, as process 1, with nothing in its environment. */
async function serve(context: { after: (work: () => void) => void }, folder: string): Promise<Started> {
  mkdirSync(join(root, folder), { recursive: true });
  const isolated = ['--pid', '--fork', '--kill-child', `--root=${root}`, `--wd=${folder}`];
  const child = spawn('unshare', [...isolated, '/storeroom', 'serve', '--port', '0'], { env: {} });
  context.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const output = await readUntil(child, /Base URL[^]*\n\n/);
  const pid = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim());
  return { ended, pid, output };
}

test('the executable is one file of less than 130 MB', (context) => {
  const bytes = statSync(EXECUTABLE).size;
  context.diagnostic(`${(bytes / 1e6).toFixed(1)} MB`);
  assert.ok(bytes < BYTES_MAX);
});

test('in an empty folder of a bare root it makes the demo, and the calls it prints succeed', async (context) => {
  const { output, pid } = await serve(context, '/empty');
  assert.match(output, /^Storeroom \d+\.\d+\.\d+ is ready\.\n/);
  const lines = output.split('\n').filter((line) => line.trimStart().startsWith('curl '));
  assert.equal(lines.length, 2);
  const answers = await Promise.all(
    lines.map(async (line) => JSON.parse((await promisify(execFile)('sh', ['-c', `${line} -sS`])).stdout)),
  );
  assert.equal(answers[0].data.ORDER_NUMBER, '10248');
  assert.equal(answers[1].storefront_order_number, '#1001');
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [all, own] = ['VmRSS', 'RssAnon'].map(
    (name) => Number(RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)![1]) * 1024,
  );
  context.diagnostic(`${all! / 1e6} MB resident, ${own! / 1e6} MB its own`);
  assert.ok(own! < OWN_BYTES_MAX, `${own} bytes`);

  const { origin } = new URL(/Base URL\s+(\S+)/.exec(output)![1]!);
  for (const path of ['/docs/', '/docs/js/scalar.js', '/dashboard/', '/openapi.json', '/metrics'])
    assert.equal((await fetch(origin + path)).status, 200, path);
});

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  test(`${signal} ends it in order when it is process 1`, async (context) => {
    const { ended, pid } = await serve(context, `/${signal}`);
    process.kill(pid, signal);
    assert.deepEqual((await ended)[0], 0);
  });
