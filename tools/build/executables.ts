/**
 * `npm run build:executables` makes an executable for each platform from build/server, which runs without Node, with
 * Node's support for single executables. Node's binaries come from npm and are checked against the lockfile. Arguments
 * choose platforms: `npm run build:executables -- linux-x64`.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NODE_PACKAGES } from './platforms.ts';
import { stripElf } from './strip-elf.ts';

const ROOT = join(import.meta.dirname, '../..');
const SERVER = join(ROOT, 'build/server');
const WORK = join(ROOT, 'build/node');
/** The options with which src/main.ts restarts Node for `serve`. */
const NODE_OPTIONS = ['--max-semi-space-size=16', '--expose-gc'];

interface LockedPackage {
  readonly version: string;
  readonly integrity: string;
}

if (!existsSync(SERVER)) {
  console.error('build/server is missing. Run `npm run build` first.');
  process.exit(1);
}
mkdirSync(WORK, { recursive: true });
const chosen = process.argv.slice(2);
for (const platform of chosen.length > 0 ? chosen : Object.keys(NODE_PACKAGES)) makeExecutable(platform);

function makeExecutable(platform: string): void {
  const packageName = NODE_PACKAGES[platform];
  if (packageName === undefined) throw new Error(`There is no ${platform}: ${Object.keys(NODE_PACKAGES).join(', ')}.`);
  const binary = unpackNode(packageName);
  const executable = join(WORK, platform);
  const output = join(ROOT, `build/storeroom-${platform}`);
  for (const file of [executable, output]) rmSync(file, { force: true });
  writeFileSync(executable, platform.startsWith('linux') ? stripElf(binary) : binary, { mode: 0o755 });
  const names = globSync('**/*.*', { cwd: SERVER }).filter((name) => name !== 'main.js' && !name.endsWith('.map'));
  const files = names.filter((name) => statSync(join(SERVER, name)).isFile()).toSorted();
  const configuration = {
    // The path is relative to ROOT, because the executable contains it.
    main: 'build/server/main.js',
    mainFormat: 'module',
    executable,
    output,
    disableExperimentalSEAWarning: true,
    // Compiled code would have different bytes in every build.
    useCodeCache: false,
    execArgv: NODE_OPTIONS,
    assets: Object.fromEntries(files.map((name) => [name, join(SERVER, name)])),
  };
  const file = `${executable}.json`;
  writeFileSync(file, JSON.stringify(configuration));
  execFileSync(process.execPath, ['--build-sea', file], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
  process.stdout.write(`build/storeroom-${platform}: ${(statSync(output).size / 1e6).toFixed(1)} MB\n`);
}

/** Returns the Node of an npm package. Throws unless its bytes match the lockfile. */
function unpackNode(packageName: string): Buffer {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage | undefined>;
  };
  const { version, integrity } = lock.packages[`node_modules/${packageName}`]!;
  const archive = join(WORK, `${packageName}-${version}.tgz`);
  if (!isIntact(archive, integrity)) {
    const words = ['pack', `${packageName}@${version}`, '--pack-destination', WORK, '--silent'];
    execFileSync('npm', words, { stdio: ['ignore', 'ignore', 'inherit'] });
  }
  if (!isIntact(archive, integrity)) throw new Error(`${archive} is not what package-lock.json names. Remove it.`);
  return execFileSync('tar', ['-xzOf', archive, 'package/bin/node'], { maxBuffer: 1 << 30 });
}

function isIntact(file: string, integrity: string): boolean {
  const bytes = statSync(file, { throwIfNoEntry: false }) && readFileSync(file);
  return bytes !== undefined && `sha512-${createHash('sha512').update(bytes).digest('base64')}` === integrity;
}
