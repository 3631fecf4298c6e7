/** Copies what the Dockerfile's COPY gets from this checkout: the files that git tracks and .dockerignore lets through. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readText, ROOT } from './texts.ts';

/** Returns the files that git tracks in these folders of the checkout. */
export const listTracked = (...folders: readonly string[]): string[] =>
  execFileSync('git', ['-C', ROOT, 'ls-files', '--', ...folders], { encoding: 'utf8' })
    .trim()
    .split('\n');

/** Returns whether .dockerignore lets a file through. As in Docker, the last line that names it or its folder decides. */
function isLetThrough(file: string): boolean {
  const lines = readText('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const last = lines.findLast((line) => {
    const pattern = line.replace(/^!/, '');
    assert.match(pattern, /^(\*|[\w./-]+)$/, 'a pattern that this does not know');
    return pattern === '*' || file === pattern || file.startsWith(`${pattern}/`);
  });
  return last?.startsWith('!') ?? true;
}

/** Copies a file, or the tree of `.`, into a folder. Fails if .dockerignore leaves the file out. */
export function copyContext(word: string, target: string): void {
  const files = listTracked(word).filter(isLetThrough);
  assert.ok(files.length > 0, `.dockerignore leaves out ${word}`);
  for (const file of files) {
    assert.ok(statSync(join(ROOT, file)).isFile(), file);
    const copied = join(target, word === '.' ? file : basename(file));
    cpSync(join(ROOT, file), copied);
    chmodSync(copied, 0o644);
  }
}
