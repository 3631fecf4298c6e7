/**
 * `npm run build:npm` makes build/npm, the folder of the package `@storeroom/server`, from build/server, and its
 * archive beside it. The package only depends on the Node of the platform: everything else is in the bundle.
 */
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { renderLicences } from './licences.ts';
import { LAUNCHER, renderServerManifest, type RootManifest } from './manifests.ts';
import { listShipped } from './shipped.ts';
import { packTar } from './tar.ts';

const ROOT = join(import.meta.dirname, '../..');
const SERVER = join(ROOT, 'build/server');
const OUT = join(ROOT, 'build/npm');
const COPIED = [LAUNCHER, 'bin/node-26.js', 'LICENSE', 'NOTICE', 'CHANGELOG.md', 'openapi.json'];
const SOURCES = '../src/main.ts';

if (!existsSync(SERVER)) {
  console.error('build/server is missing. Run `npm run build` first.');
  process.exit(1);
}
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as RootManifest;
const shipped = listShipped(ROOT);

const files = new Map<string, Uint8Array>(COPIED.map((path) => [path, readFileSync(join(ROOT, path))]));
for (const path of globSync('**/*.*', { cwd: SERVER })) files.set(`server/${path}`, readFileSync(join(SERVER, path)));
files.set(LAUNCHER, Buffer.from(startBundle(files.get(LAUNCHER)!.toString())));
files.set('README.md', readFileSync(join(import.meta.dirname, 'server/README.md')));
files.set('THIRD-PARTY-LICENSES.txt', Buffer.from(renderLicences(ROOT, dirname(dirname(process.execPath)), shipped)));
files.set('package.json', Buffer.from(renderServerManifest(manifest)));

rmSync(OUT, { recursive: true, force: true });
for (const [path, bytes] of files) {
  mkdirSync(dirname(join(OUT, path)), { recursive: true });
  writeFileSync(join(OUT, path), bytes, { mode: path === LAUNCHER ? 0o755 : 0o644 });
}
const archive = `storeroom-server-${manifest.version}.tgz`;
writeFileSync(
  join(ROOT, 'build', archive),
  packTar(
    [...files].map(([path, bytes]) => ({ path: `package/${path}`, bytes, isProgram: path === LAUNCHER })),
    Number(process.env['SOURCE_DATE_EPOCH'] ?? 0),
  ),
);
console.log(`build/npm and build/${archive}`);

/** Returns the launcher with the path of the bundle. In the checkout, the launcher starts the sources. */
function startBundle(launcher: string): string {
  const parts = launcher.split(SOURCES);
  if (parts.length !== 3) throw new Error(`${LAUNCHER} names ${SOURCES} ${parts.length - 1} times instead of twice.`);
  return parts.join('../server/main.js').replace('src/main.ts', 'server/main.js');
}
