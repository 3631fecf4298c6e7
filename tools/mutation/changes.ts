/** Finds the lines of src that a branch has changed, or on main the last commit, with what is not committed yet. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './units.ts';

type Lines = readonly [first: number, last: number];

const git = (...words: string[]): string =>
  execFileSync('git', words, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] });

/** Returns the commit with which the tree is compared. */
export function findBase(): string {
  const head = git('rev-parse', 'HEAD').trim();
  for (const main of ['origin/main', 'main']) {
    try {
      const base = git('merge-base', main, 'HEAD').trim();
      return base === head ? `${head}~1` : base;
    } catch {
      // There is no such branch.
    }
  }
  return `${head}~1`;
}

/** Returns the changed lines of each file of src. */
export function findChanges(base: string): Map<string, Lines[]> {
  const changes = new Map<string, Lines[]>();
  let file = '';
  for (const line of git('diff', '--unified=0', '--no-color', '--no-ext-diff', base, '--', 'src').split('\n')) {
    if (line.startsWith('+++ ')) file = line.slice('+++ b/'.length);
    const [, from, count = '1'] = /^@@ \S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
    if (from === undefined || count === '0' || !file.endsWith('.ts')) continue;
    const lines = [Number(from), Number(from) + Number(count) - 1] as const;
    changes.set(file, [...(changes.get(file) ?? []), lines]);
  }
  for (const added of git('ls-files', '--others', '--exclude-standard', 'src').split('\n'))
    if (added.endsWith('.ts')) changes.set(added, [[1, readFileSync(join(ROOT, added), 'utf8').split('\n').length]]);
  return changes;
}
