/**
 * A registry of npm packages on this machine: Verdaccio, which npm installs into a temporary folder. It keeps published
 * packages and fetches all others from the registry that npm is configured to use.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { findFreePort } from '../kit/raw-http.ts';
import { until } from '../kit/wait.ts';

const VERDACCIO = '6.10.4';
/** Versions of packages that Verdaccio asks for by a tag that not every registry has. */
const OVERRIDES = { 'node-fetch': '2.7.0' };

/** PATH without the programs of this checkout. The Node of the machine may be older than 26. */
export const machinePath = process.env['PATH']!.split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(delimiter);

export class Registry {
  readonly origin: string;
  readonly #folder: string;
  readonly #process: ChildProcess;

  private constructor(origin: string, folder: string, started: ChildProcess) {
    this.origin = origin;
    this.#folder = folder;
    this.#process = started;
  }

  /** Starts a registry in an empty folder. */
  static async start(folder: string): Promise<Registry> {
    const npm = (...words: string[]): string => execFileSync('npm', words, { cwd: folder, encoding: 'utf8' });
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, overrides: OVERRIDES }));
    npm('install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', `verdaccio@${VERDACCIO}`);
    const config = {
      storage: join(folder, 'storage'),
      uplinks: { above: { url: npm('config', 'get', 'registry').trim(), maxage: '1d', timeout: '120s' } },
      packages: {
        '@storeroom/*': { access: '$all', publish: '$all' },
        '**': { access: '$all', proxy: 'above' },
      },
      max_body_size: '100mb',
      log: { type: 'stdout', format: 'pretty', level: 'error' },
    };
    writeFileSync(join(folder, 'config.yaml'), JSON.stringify(config)); // JSON is also YAML
    const origin = `http://127.0.0.1:${await findFreePort()}`;
    const words = [join(folder, 'node_modules/verdaccio/bin/verdaccio'), '-c', 'config.yaml', '-l', origin];
    const started = spawn(process.execPath, words, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
    process.once('exit', () => started.kill('SIGKILL'));
    const registry = new Registry(origin, folder, started);
    await until(async () => {
      assert.equal(started.exitCode, null, 'Verdaccio ended; what it printed is above');
      return (await fetch(`${origin}/-/ping`).catch(() => undefined))?.ok ?? false;
    });
    return registry;
  }

  /** Returns the environment of a user who has only npm and the machine's Node, and installs from this registry. */
  environment(): Record<string, string> {
    const home = join(this.#folder, 'home');
    mkdirSync(home, { recursive: true });
    return {
      PATH: machinePath,
      HOME: home,
      npm_config_registry: this.origin,
      npm_config_cache: join(home, '.npm'),
      npm_config_update_notifier: 'false',
    };
  }

  /** Publishes the archive of a package. */
  publish(archive: string): void {
    const { host } = new URL(this.origin);
    const env = { ...this.environment(), [`npm_config_//${host}/:_authToken`]: 'anybody' };
    execFileSync('npm', ['publish', archive, '--loglevel=error'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  }

  async stop(): Promise<void> {
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
  }
}
