/** Finds the Python interpreters of this machine that the Python client supports: 3.9 and newer, each version once. */
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { userInfo } from 'node:os';
import { delimiter } from 'node:path';

const MINOR_LEAST = 9;

export interface Python {
  /** The version, such as `3.11`. */
  readonly version: string;
  readonly program: string;
}

/** Returns only python3 in `npm test`, and all interpreters that it finds in `npm run test:all`. */
export function pythons(): Python[] {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), `${userInfo().homedir}/.pyenv/versions/*/bin`];
  const others = folders.flatMap((folder) => globSync(`${folder}/python3.*[0-9]`));
  const found = new Map<string, string>();
  for (const program of ['python3', ...(process.env['STOREROOM_TEST_ALL'] ? others : [])]) {
    const version = versionOf(program);
    if (Number(version?.split('.')[1]) >= MINOR_LEAST && !found.has(version!)) found.set(version!, program);
  }
  if (found.size === 0) throw new Error(`The Python client needs python3, 3.${MINOR_LEAST} or newer, to be tested.`);
  return [...found].map(([version, program]) => ({ version, program }));
}

/** Returns undefined if the program does not start, such as a program of pyenv whose version is not selected. */
function versionOf(program: string): string | undefined {
  try {
    const words = ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])'];
    return execFileSync(program, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}
