/**
 * Reads the files that are part of the program: its version, migrations, dashboard, demo data and threads. A file has
 * the same name in the checkout, in the bundle of tools/build (beside main.js), and inside the single executable.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { getAsset, getAssetKeys, isSea } from 'node:sea';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/** Whether this is the single executable, which has no other files and accepts no Node options. */
export const isExecutable = isSea();
const isCompiled = isExecutable || import.meta.url.endsWith('.js');
const ROOT = fileURLToPath(new URL(isCompiled ? './' : '../', import.meta.url));

/** The folder in which compiled code is kept between starts. */
export const CACHE_FOLDER = `${ROOT}node_modules/.cache/storeroom`;

/** Reads the file with this name, a path from the root of the repository. Throws if it does not exist. */
export const readAsset = (name: string): Buffer =>
  isExecutable ? Buffer.from(getAsset(name)) : readFileSync(ROOT + name);

/** Lists the names of all files below a folder, sorted. The name of a folder ends with a slash. */
export function listAssets(folder: string): string[] {
  if (isExecutable)
    return getAssetKeys()
      .filter((name) => name.startsWith(folder))
      .toSorted();
  if (!existsSync(ROOT + folder)) return [];
  const files = globSync('**/*.*', { cwd: ROOT + folder });
  return files.map((file) => folder + file.replaceAll('\\', '/')).toSorted();
}

/** Starts a thread from its source: `startThread(new URL('thread.ts', import.meta.url), {})`. */
export function startThread(source: URL, options: WorkerOptions): Worker {
  if (!isCompiled) return new Worker(source, options);
  const name = basename(source.pathname, '.ts') + '.js';
  if (isExecutable) return new Worker(readAsset(name).toString(), { ...options, eval: true });
  return new Worker(ROOT + name, options);
}

/** The version in package.json, and the commit, which only a build has. */
export const { version: VERSION, commit: COMMIT } = JSON.parse(readAsset('package.json').toString()) as {
  readonly version: string;
  readonly commit?: string;
};
