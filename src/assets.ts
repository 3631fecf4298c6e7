/**
 * The files that come with the program: its version, migrations, dashboard, demo data and threads. They have one name
 * in the checkout, in the bundle of tools/build, which keeps them beside main.js, and inside the single executable.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { getAsset, getAssetKeys, isSea } from 'node:sea';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/** Whether this is the single executable: it has no files, and no Node options on its command line. */
export const isExecutable = isSea();
const isCompiled = isExecutable || import.meta.url.endsWith('.js');
const ROOT = fileURLToPath(new URL(isCompiled ? './' : '../', import.meta.url));

/** Where compiled code is kept between starts. */
export const CACHE_FOLDER = `${ROOT}node_modules/.cache/storeroom`;

/** The file with this name, a path from the root of the repository. Throws when there is none. */
export const readAsset = (name: string): Buffer =>
  isExecutable ? Buffer.from(getAsset(name)) : readFileSync(ROOT + name);

/** The names of all files below a folder, sorted. A folder's name ends with a slash. */
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

/** Version in package.json; the build adds the commit it was made from. */
export const { version: VERSION, commit: COMMIT } = JSON.parse(readAsset('package.json').toString()) as {
  readonly version: string;
  readonly commit?: string;
};
