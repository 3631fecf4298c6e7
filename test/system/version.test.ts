/** Tests that the version is the one of package.json wherever a person or a program looks for it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommand, sharedService } from '../kit/service.ts';

const manifest = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8');
const { version } = JSON.parse(manifest) as { version: string };

test('storeroom --version prints the version of package.json and nothing else', async () => {
  const { code, stdout, stderr } = await runCommand('', ['--version']);
  assert.deepEqual([code, stdout, stderr], [0, `${version}\n`, '']);
});

test('the first line of serve, /metrics, the contract and the dashboard have the same version', async () => {
  const { origin, output } = await sharedService();
  const read = async (path: string): Promise<string> => (await fetch(origin + path)).text();
  assert.equal(output.split('\n', 1)[0], `Storeroom ${version} is ready.`);
  assert.match(await read('/metrics'), new RegExp(`^storeroom_build_info\\{version="${version}"[^}]*\\} 1$`, 'm'));
  assert.equal((JSON.parse(await read('/openapi.json')) as { info: { version: string } }).info.version, version);
  const page = await read('/dashboard/');
  const scripts = [...page.matchAll(/(?:src|href)="([^"]+\.js)"/g)].map(([, path]) => path!);
  const sources = await Promise.all(scripts.map(read));
  const shown = new RegExp(`Storeroom .{0,3}${version}`);
  assert.ok(
    sources.some((source) => shown.test(source)),
    'no script of the page has it',
  );
});
