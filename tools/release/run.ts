/**
 * Begin here. `npm run release` makes the next release of this checkout in build/release, commits and tags it, if
 * --check has run well on this commit. With --dry-run it changes only build/, with --publish it publishes the packages
 * on npm, and with --platform NAME it makes only that executable. With --raise VERSION it only sets the version of this
 * checkout. On a tagged commit it makes the same files again. All runs on a commit make the same bytes, on any machine.
 */
import { execFileSync, type StdioOptions } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeArtifacts, type Release } from './artifacts.ts';
import { chooseVersion, closeUnreleased, readSection, readUnreleased } from './changelog.ts';
import { checkOwnNode, choosePlatforms } from './node-security.ts';
import { isOwn } from './shipped.ts';
import { RELEASE_TESTS } from './tests.ts';

interface Plan extends Release {
  /** The version in package.json. */
  readonly last: string;
  /** Whether the commit is already the release's commit. */
  readonly isMade: boolean;
}

const ROOT = join(import.meta.dirname, '../..');
const OUT = join(ROOT, 'build/release');
/** The folder in which the release is committed and built. The checkout stays unchanged until all files are made. */
const TREE = join(ROOT, 'build/release-tree');
/** The file with the commit on which --check has run well. */
const CHECKED = join(ROOT, 'build/release-checked');
/** Files with the version as a member. */
const MANIFESTS = ['package.json', 'package-lock.json', 'client/package.json', 'mcp/package.json'];

/** Other files that name the version in their text. */
const NAMING = [
  'client-python/storeroom.py',
  'client-python/pyproject.toml',
  'Dockerfile',
  'compose.yaml',
  'compose.cluster.yaml',
  'deploy/kubernetes/one-node/kustomization.yaml',
  'deploy/kubernetes/several-nodes/kustomization.yaml',
];

/** Lets programs print to the terminal, between our own lines. */
const LOUD = ['ignore', 'inherit', 'inherit'] satisfies StdioOptions;

const { values: options } = parseArgs({
  options: {
    check: { type: 'boolean' },
    'dry-run': { type: 'boolean' },
    publish: { type: 'boolean' },
    version: { type: 'string' },
    raise: { type: 'string' },
    platform: { type: 'string', multiple: true, default: [] },
  },
});

removeTree();
try {
  if (options.check) check();
  else if (options.raise === undefined) release();
  else setVersions(ROOT, readVersion(), parseVersion(options.raise));
} catch (error) {
  console.error(`The release failed. ${(error as Error).message}`);
  process.exitCode = 1;
} finally {
  removeTree();
}

/** Runs what `.ci/run` leaves out. Throws if this fails; otherwise notes the commit. */
function check(): void {
  refuseChanges();
  for (const script of ['upkeep', ...RELEASE_TESTS]) {
    console.log(`npm run ${script}`);
    execFileSync('npm', ['run', '--silent', script], { cwd: ROOT, stdio: LOUD });
  }
  refuseChanges();
  mkdirSync(join(ROOT, 'build'), { recursive: true });
  writeFileSync(CHECKED, git('rev-parse', 'HEAD'));
}

function release(): void {
  checkOwnNode(ROOT);
  const platforms = choosePlatforms(ROOT, options.platform);
  const plan = planRelease();
  const tag = `v${plan.version}`;
  console.log(`${plan.isMade ? 'Making again' : 'Making'} ${tag}${options['dry-run'] ? ', a dry run' : ''}.`);
  const commit = prepareTree(plan);
  rmSync(OUT, { recursive: true, force: true });
  mkdirSync(OUT, { recursive: true });
  makeArtifacts(plan, join(ROOT, 'build/node'), platforms);
  const names = writeSums();
  if (options['dry-run']) return;
  if (!plan.isMade) {
    git('merge', '--quiet', '--ff-only', commit);
    git('tag', '--annotate', '--message', `Storeroom ${plan.version}`, tag, commit);
    console.log(`Committed and tagged. To show it: git push origin main ${tag}`);
  }
  if (options.publish)
    for (const name of names.filter((one) => one.endsWith('.tgz')))
      execFileSync('npm', ['publish', join(OUT, name), '--access', 'public'], { stdio: 'inherit' });
}

/** Returns the plan of the release. Throws if this checkout cannot be released. */
function planRelease(): Plan {
  refuseChanges();
  const time = Number(git('log', '-1', '--format=%ct'));
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
  const last = readVersion();
  const fixed = { tree: TREE, out: OUT, last, time };
  if (git('tag', '--points-at', 'HEAD').split('\n').includes(`v${last}`))
    return { ...fixed, version: last, notes: readSection(changelog, `## [${last}]`), isMade: true };
  if (!options['dry-run']) {
    if (git('branch', '--show-current') !== 'main') throw new Error('Releases are made on main.');
    if (!existsSync(CHECKED) || readFileSync(CHECKED, 'utf8') !== git('rev-parse', 'HEAD'))
      throw new Error('This commit has not passed the checks of a release: npm run release -- --check');
  }
  const notes = readUnreleased(changelog);
  const version = parseVersion(options.version ?? chooseVersion(last, changelog));
  if (git('tag', '--list', `v${version}`) !== '') throw new Error(`The tag v${version} is there already.`);
  return { ...fixed, version, notes, isMade: false };
}

function refuseChanges(): void {
  if (git('status', '--porcelain') !== '') throw new Error('The checkout has changes: commit them first.');
}

/** Checks out and makes the release's commit. It has the time of its parent, so that each run makes the same commit. */
function prepareTree({ last, version, isMade, time }: Plan): string {
  git('worktree', 'add', '--quiet', '--detach', TREE, 'HEAD');
  symlinkSync(join(ROOT, 'node_modules'), join(TREE, 'node_modules'));
  if (isMade) return git('rev-parse', 'HEAD');
  setVersions(TREE, last, version);
  const day = new Date(time * 1000).toISOString().slice(0, 10);
  edit(join(TREE, 'CHANGELOG.md'), (text) => closeUnreleased(text, version, day));
  execFileSync(process.execPath, ['tools/generate.ts'], { cwd: TREE, stdio: LOUD });
  const date = `${time} +0000`;
  const env = { ...process.env, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
  const words = ['commit', '--quiet', '--all', '--no-gpg-sign', '--no-verify', '--message', `Release ${version}`];
  execFileSync('git', words, { cwd: TREE, env, stdio: LOUD });
  return git('-C', TREE, 'rev-parse', 'HEAD');
}

function setVersions(tree: string, last: string, version: string): void {
  if (version === last) return;
  for (const file of MANIFESTS) edit(join(tree, file), (text) => setVersion(text, version));
  for (const file of NAMING) edit(join(tree, file), (text) => renameVersion(file, text, last, version));
}

function readVersion(): string {
  return (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;
}

function parseVersion(text: string): string {
  if (!/^\d+\.\d+\.\d+$/.test(text)) throw new Error(`${text} is not a version such as 1.2.3.`);
  return text;
}

function edit(path: string, change: (text: string) => string): void {
  writeFileSync(path, change(readFileSync(path, 'utf8')));
}

/** Sets the version. The lockfile has it for itself and for each folder of this repository. */
function setVersion(text: string, version: string): string {
  const manifest = JSON.parse(text) as { version: string; packages?: Record<string, { version: string }> };
  manifest.version = version;
  for (const [path, locked] of Object.entries(manifest.packages ?? {})) if (isOwn(path)) locked.version = version;
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}

function renameVersion(file: string, text: string, last: string, version: string): string {
  const renamed = text.replaceAll(new RegExp(`(?<![\\d.])${RegExp.escape(last)}(?![\\d.])`, 'g'), version);
  if (renamed === text) throw new Error(`${file} does not name ${last}.`);
  return renamed;
}

/** Writes the checksums of all files of the release and returns the files' names. */
function writeSums(): string[] {
  const names = readdirSync(OUT).toSorted();
  const lines = names.map((name) => {
    const sum = hash('sha256', readFileSync(join(OUT, name)));
    return `${sum}  ${name}\n`;
  });
  writeFileSync(join(OUT, 'SHA256SUMS'), lines.join(''));
  console.log(`build/release:\n${lines.join('')}`);
  return names;
}

function git(...words: string[]): string {
  return execFileSync('git', words, { cwd: ROOT, encoding: 'utf8' }).trim();
}

/** Removes the tree of this release, or one that an interrupted release has left. */
function removeTree(): void {
  rmSync(TREE, { recursive: true, force: true });
  git('worktree', 'prune');
}
