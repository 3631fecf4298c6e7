/** Installs the TypeScript client as npm would: its compiled files, and the files that are published with them. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

export const CLIENT = join(import.meta.dirname, '../../client');
const TSC = join(import.meta.dirname, '../../node_modules/.bin/tsc');

/** Installs the client where programs in this folder find it, and returns the folder of the package. */
export function installClient(folder: string): string {
  const installed = join(folder, 'node_modules/@storeroom/client');
  mkdirSync(installed, { recursive: true });
  for (const file of ['package.json', 'README.md', 'LICENSE']) cpSync(join(CLIENT, file), join(installed, file));
  execFileSync(TSC, ['-p', CLIENT, '--outDir', join(installed, 'dist')]);
  return installed;
}
