/** Refuses a release whose Node lacks the fixes of the last security release, which bin/node-26.js names. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isSafe, running, SECURITY_RELEASE } from '../../bin/node-26.js';
import { NODE_PACKAGES } from '../build/platforms.ts';
import { listNodePackages } from './shipped.ts';

/** The platforms for which npm gets new versions of Node months late. Without them, there is no executable. */
const LATE = ['macos-arm64'];
const RELEASE = /^## (\d{4}-\d\d-\d\d), Version (\d+\.\d+\.\d+) [^\n]*\s+This is a security release\./m;
const FIXES = `the security fixes of Node ${SECURITY_RELEASE.version} (${SECURITY_RELEASE.date})`;

/** Returns the last security release in a change log of Node. */
export function findSecurityRelease(changelog: string): { readonly version: string; readonly date: string } {
  const [, date, version] = RELEASE.exec(changelog) ?? [];
  if (date === undefined || version === undefined) throw new Error('The change log of Node names no security release.');
  return { version, date };
}

/** Returns the platforms for which to make executables. Throws if the Node of another one lacks security fixes. */
export function choosePlatforms(root: string, chosen: readonly string[]): string[] {
  const versions = new Map(listNodePackages(root).map(({ name, version }) => [name, version]));
  const fit = Object.entries(NODE_PACKAGES).flatMap(([platform, name]) => {
    const version = versions.get(name)!;
    if (isSafe(version)) return [platform];
    if (chosen.includes(platform) || !LATE.includes(platform))
      throw new Error(`${name} ${version} lacks ${FIXES}: update it in package.json.`);
    if (chosen.length === 0)
      console.log(`No executable for ${platform}: ${name} ${version} lacks ${FIXES}, and npm has no newer one.`);
    return [];
  });
  return chosen.length > 0 ? [...chosen] : fit;
}

/** Throws unless this Node has the version of the lockfile, and its change log names SECURITY_RELEASE. */
export function checkOwnNode(root: string): void {
  const path = join(root, 'node_modules', NODE_PACKAGES[`${process.platform}-${process.arch}`] ?? '');
  const installed = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as { version: string };
  if (installed.version !== running.version)
    throw new Error(`This is Node ${running.version}, not ${installed.version} of the lockfile: run it through npm.`);
  const last = findSecurityRelease(readFileSync(join(path, 'CHANGELOG.md'), 'utf8'));
  if (last.version !== SECURITY_RELEASE.version || last.date !== SECURITY_RELEASE.date)
    throw new Error(`The last security release of Node is ${last.version} (${last.date}): name it in bin/node-26.js.`);
}
