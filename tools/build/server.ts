/**
 * Begin here. `npm run build` makes build/server, the compiled program with every file that it needs, from src and the
 * built pages. The same checkout gives the same bytes. Files keep the names by which src/assets.ts finds them. An
 * argument names another folder.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const ROOT = join(import.meta.dirname, '../..');
const OUT = resolve(process.argv[2] ?? join(ROOT, 'build/server'));
/** The program and its threads. Each becomes one file, because the executable cannot import files. */
const ENTRIES = ['src/main.ts', 'src/store/sqlite/backup/backup-worker.ts', 'src/store/sqlite/workers/store-worker.ts'];
const ASSETS = [
  '{dashboard,docs}/dist/**/*.*',
  'demo/**/*.csv',
  'src/store/*/migrations/*.sql',
  'src/cli/serve/*.{service,env}',
  'openapi.json',
];

process.chdir(ROOT);
rmSync(OUT, { recursive: true, force: true });
for (const entry of ENTRIES) await compile(entry);
for (const file of globSync(ASSETS)) {
  mkdirSync(join(OUT, dirname(file)), { recursive: true });
  cpSync(file, join(OUT, file));
}
if (globSync('{dashboard,docs}/dist/index.html').length < 2)
  throw new Error('The pages were not built: run `npm run build`.');
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const manifest = { name: '@storeroom/server', version, type: 'module', commit: findCommit() };
writeFileSync(join(OUT, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);

async function compile(entry: string): Promise<void> {
  const bundle = await rolldown({
    input: entry,
    platform: 'node',
    // Without symbolic links, the paths in the bundle are the same wherever node_modules is.
    resolve: { symlinks: false },
    onLog: (_level, { message }) => {
      throw new Error(message);
    },
  });
  await bundle.write({
    dir: OUT,
    entryFileNames: '[name].js',
    format: 'esm',
    codeSplitting: false,
    comments: { legal: true, jsdoc: false, annotation: false },
    minify: 'dce-only',
    sourcemap: true,
    sourcemapExcludeSources: true,
  });
  await bundle.close();
  const file = join(OUT, entry.replace(/.*\/(.*)\.ts$/, '$1.js'));
  writeFileSync(file, escapeUnicode(readFileSync(file, 'utf8')));
}

/** Writes code in ASCII: with any other character, V8 keeps two bytes for each. Lines stay the same for source maps. */
function escapeUnicode(code: string): string {
  return code.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Returns the name of the commit, or undefined outside of a checkout. */
function findCommit(): string | undefined {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}
