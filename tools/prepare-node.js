/**
 * Run by npm after every install (`prepare`): fails, with a sentence that says what to do, when the Node the lockfile names is not there.
 * Without it the first sign would be a syntax error from an old Node. Removes that Node's headers, 67 MB that only compilers read.
 * Plain JavaScript: it has to run under an old Node.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findNode, isNewEnough, packageName, platform, platforms } from '../bin/node-26.js';

const { optionalDependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const wanted = optionalDependencies[packageName];

/** Says what is wrong, or nothing. */
function findFault() {
  if (packageName === undefined) {
    if (isNewEnough) return undefined;
    return `There is no Node 26 on npm for ${platform} (there is for ${platforms.join(', ')}). Install Node 26 or newer yourself, then run "npm ci" again.`;
  }
  const node = findNode();
  if (node === undefined) {
    return `The package ${packageName}@${wanted} is not in node_modules. Run "npm ci --include=optional"; if that does not help, the registry npm uses lacks it.`;
  }
  const { stdout, error } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  if (stdout?.trim() === `v${wanted}`) return undefined;
  const found = error?.message ?? (stdout.trim() || 'no answer');
  return `${node} should be Node ${wanted}, but: ${found}. Run "npm ci"; on a system without glibc (Alpine) it cannot run.`;
}

const fault = findFault();
if (fault !== undefined) {
  console.error(`\nStoreroom runs on Node 26, which npm installs with it. ${fault}\n`);
  process.exit(1);
}

const node = findNode();
if (node !== undefined) rmSync(join(dirname(node), '../include'), { recursive: true, force: true });
