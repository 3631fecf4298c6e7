/**
 * npm runs this script after every install (`prepare`). Scripts of the checkout use the Node of the lockfile, or the
 * machine's if only that has all security fixes. If there is neither, the script fails and says what to do, because the
 * first sign would otherwise be a syntax error from an old Node. It removes the headers of the lockfile's Node, 67 MB
 * that only compilers read, and links node_modules/.bin/node, because npm 9 makes no such link if several packages have
 * the command `node`. The script is plain JavaScript because it has to run with an old Node.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  chooseNode,
  describeRisk,
  findNode,
  isSafe,
  packageName,
  platform,
  platforms,
  running,
} from '../bin/node-26.js';

const { optionalDependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const wanted = optionalDependencies[packageName];
const MISSING_LIBRARY = /error while loading shared libraries: (\S+): /;

const installed = findNode();
const fault = findFault();
const node = chooseNode(fault === undefined ? [installed, running] : [running]);
if (fault !== undefined && !isSafe(running.version)) {
  console.error(`\nStoreroom runs on Node 26, which npm installs with it. ${fault}\n`);
  process.exit(1);
}
const risk = describeRisk(node);
if (risk !== undefined) console.error(`\n${risk}\n`);
if (installed !== undefined) rmSync(join(dirname(installed.path), '../include'), { recursive: true, force: true });
linkNode(node.path);

/** Returns a message about the fault of the Node that npm installs, or undefined if it works. */
function findFault() {
  if (packageName === undefined) {
    if (chooseNode([running]) !== undefined) return undefined;
    return `There is no Node 26 on npm for ${platform} (there is for ${platforms.join(', ')}). Install Node 26 or newer yourself, then run "npm ci" again.`;
  }
  if (installed === undefined)
    return `The package ${packageName}@${wanted} is not in node_modules. Run "npm ci --include=optional"; if that does not help, the registry npm uses lacks it.`;
  const { stdout, stderr, error } = spawnSync(installed.path, ['--version'], { encoding: 'utf8' });
  if (stdout?.trim() === `v${wanted}`) return undefined;
  const library = MISSING_LIBRARY.exec(stderr)?.[1];
  if (library !== undefined)
    return `That Node does not start, because the library ${library} is missing. Install it (libatomic.so.1 on Debian and Ubuntu: "apt-get install libatomic1"), then run "npm ci" again.`;
  const found = error?.message ?? (stdout.trim() || stderr.trim() || 'no answer');
  return `${installed.path} should be Node ${wanted}, but: ${found}. Run "npm ci"; on a system without glibc (Alpine) it cannot run.`;
}

function linkNode(program) {
  const link = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url));
  const target = relative(dirname(link), program);
  if (readLink(link) === target) return;
  mkdirSync(dirname(link), { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(target, link);
}

function readLink(link) {
  try {
    return readlinkSync(link);
  } catch {
    return undefined;
  }
}
